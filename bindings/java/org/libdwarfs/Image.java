// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** An open image. It never changes, and any number of threads may use it. */
public final class Image implements AutoCloseable, Iterable<Entry> {
    /** The order of a walk. */
    public enum Order {
        /** A directory, then its entries, by name. */
        TREE(dwarfsConstants.DWARFS_WALK_TREE),
        /** Everything else in tree order, then files in the order of their data: reading them
         * decompresses each block once. */
        DATA(dwarfsConstants.DWARFS_WALK_DATA);

        private final int number;

        Order(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }
    }

    /** How thorough a check is. */
    public enum Check {
        /** The tables: every rule of the format. */
        METADATA(dwarfsConstants.DWARFS_CHECK_METADATA),
        /** And the fast hash of every section. */
        CHECKSUMS(dwarfsConstants.DWARFS_CHECK_CHECKSUMS),
        /** And the strong hash of every section, and every block is decompressed. */
        INTEGRITY(dwarfsConstants.DWARFS_CHECK_INTEGRITY);

        private final int number;

        Check(int number) {
            this.number = number;
        }
    }

    /**
     * What a check has found.
     *
     * @param isError whether data is lost or inconsistent; otherwise it is a warning
     * @param code    the kind of problem
     * @param section index of the section, or -1
     * @param message text for people
     */
    public record Finding(boolean isError, DwarfsException.Code code, long section,
                          String message) {
    }

    /** How an image is opened. */
    public static final class Options {
        private Context context;
        private Task task;
        private long offset = -1;

        /**
         * @param shared the context; by default the image has its own
         * @return this
         */
        public Options context(Context shared) {
            context = shared;
            return this;
        }

        /**
         * @param watcher reports and cancels the opening
         * @return this
         */
        public Options task(Task watcher) {
            task = watcher;
            return this;
        }

        /**
         * @param bytes where the image starts; by default it is searched for
         * @return this
         */
        public Options offset(long bytes) {
            offset = notNegative(bytes);
            return this;
        }
    }

    private interface Opener {
        long open(long context, long options) throws IOException;
    }

    private final Handle handle;
    private final Context context; // has the log, which the library refers to weakly
    private final Callback source; // likewise

    private Image(long pointer, Context context, Callback source) {
        this.handle = new Handle("image", pointer, dwarfsJNI::delete_dwarfs_image);
        this.context = context;
        this.source = source;
    }

    Handle handle() {
        return handle;
    }

    /** The error, with the exception of the channel that has caused it. */
    DwarfsException explain(DwarfsException error) {
        Throwable cause = source == null ? null : source.takeFailure();
        if (cause != null && error.getCause() == null) {
            error.initCause(cause);
        }
        return error;
    }

    static long notNegative(long value) {
        if (value < 0) {
            throw new IllegalArgumentException("negative value: " + value);
        }
        return value;
    }

    // -- opening

    /**
     * @param path the file, of any file system
     * @return the image
     * @throws DwarfsException with NOT_FOUND, NOT_IMAGE, CORRUPT and others
     */
    public static Image open(Path path) throws IOException {
        return open(path, new Options());
    }

    /**
     * @param path    the file, of any file system
     * @param options how
     * @return the image
     */
    public static Image open(Path path, Options options) throws IOException {
        if (path.getFileSystem() == FileSystems.getDefault()) {
            byte[] name = Names.ofSystem(path);
            return open((context, more) ->
                dwarfsJNI.dwarfs_image_open(context, name, more), options, null);
        }
        SeekableByteChannel channel = Files.newByteChannel(path);
        try {
            Image image = open(channel, options);
            image.handle.last(() -> closeQuietly(channel));
            return image;
        } catch (IOException | RuntimeException | Error failure) {
            closeQuietly(channel);
            throw failure;
        }
    }

    /**
     * @param data the bytes of an image; a copy is made
     * @return the image
     */
    public static Image open(byte[] data) throws IOException {
        return open(ByteBuffer.wrap(data), new Options());
    }

    /**
     * @param data    the bytes of an image, from the position to the limit of the buffer. A direct
     *                buffer is used in place and must not change; of others a copy is made
     * @param options how
     * @return the image
     */
    public static Image open(ByteBuffer data, Options options) throws IOException {
        ByteBuffer direct = data.isDirect() ? data.slice() :
            ByteBuffer.allocateDirect(data.remaining()).put(data.duplicate()).flip();
        return openSource(dwarfsJNI.dwarfs_io_from_memory(direct), options, null);
    }

    /**
     * @param channel read by any thread, one at a time unless it is a {@link FileChannel}. Stays
     *                the caller's, and must be open for as long as the image is used
     * @param options how
     * @return the image
     */
    public static Image open(SeekableByteChannel channel, Options options) throws IOException {
        Callback reader = new Callback() {
            @Override
            long run(long offset, long b, byte[] text, byte[] data) throws IOException {
                ByteBuffer buffer = ByteBuffer.wrap(data);
                if (channel instanceof FileChannel) {
                    return Math.max(0, ((FileChannel) channel).read(buffer, offset));
                }
                synchronized (channel) {
                    channel.position(offset);
                    return Math.max(0, channel.read(buffer));
                }
            }
        };
        return openSource(dwarfsJNI.dwarfs_java_source(reader, channel.size()), options, reader);
    }

    private static Image openSource(long io, Options options, Callback source)
        throws IOException {
        try {
            return open((context, more) ->
                dwarfsJNI.dwarfs_image_open_io(context, io, more), options, source);
        } finally {
            dwarfsJNI.delete_dwarfs_io(io);
        }
    }

    private static Image open(Opener opener, Options options, Callback source)
        throws IOException {
        Handle shared = Context.handleOf(options.context);
        long task = 0;
        long context = 0;
        long more = dwarfsJNI.dwarfs_image_options_new();
        try {
            task = Task.acquire(options.task);
            context = shared == null ? 0 : shared.acquire();
            dwarfsJNI.dwarfs_image_options_set_offset(more, options.offset);
            dwarfsJNI.dwarfs_image_options_set_task(more, task);
            Image image = new Image(opener.open(context, more), options.context, source);
            try {
                Task.throwFailure(options.task);
            } catch (RuntimeException | Error thrown) {
                image.close();
                throw thrown;
            }
            return image;
        } catch (DwarfsException error) {
            throw Callback.explain(error, source, Task.callbackOf(options.task));
        } finally {
            dwarfsJNI.delete_dwarfs_image_options(more);
            if (context != 0) {
                shared.release();
            }
            if (task != 0) {
                Task.release(options.task);
            }
        }
    }

    private static void closeQuietly(SeekableByteChannel channel) {
        try {
            channel.close();
        } catch (IOException ignored) {
            // nothing was written to it
        }
    }

    // -- entries

    /** @return the root directory */
    public Entry root() {
        return new Entry(this, 0, new byte[0]);
    }

    /**
     * Find an entry. Symbolic links are not followed.
     *
     * @param path names separated by "/", from the root
     * @return the entry
     * @throws DwarfsException with NOT_FOUND or NOT_DIR
     */
    public Entry find(String path) throws DwarfsException {
        byte[] name = Names.encode(path);
        return find(name, false);
    }

    /**
     * Find an entry and follow symbolic links; none leads out of the image.
     *
     * @param path names separated by "/", from the root
     * @return the entry, which is not a link
     * @throws DwarfsException with NOT_FOUND or NOT_DIR; with INVALID for more than 40 links
     */
    public Entry findFollowed(String path) throws DwarfsException {
        return find(Names.encode(path), true);
    }

    /**
     * As {@link #find(String)} and {@link #findFollowed}, with the bytes of the path.
     *
     * @param path   the path
     * @param follow whether symbolic links are followed
     * @return the entry
     */
    public Entry find(byte[] path, boolean follow) throws DwarfsException {
        byte[] name = Names.terminated(path);
        long pointer = handle.acquire();
        try {
            long entry = follow ? dwarfsJNI.dwarfs_find_followed(pointer, name) :
                dwarfsJNI.dwarfs_find(pointer, name);
            return new Entry(this, entry, trim(path));
        } finally {
            handle.release();
        }
    }

    /** Without slashes at both ends. */
    private static byte[] trim(byte[] path) {
        int start = 0;
        int end = path.length;
        while (start < end && path[start] == '/') {
            start++;
        }
        while (end > start && path[end - 1] == '/') {
            end--;
        }
        return Arrays.copyOfRange(path, start, end);
    }

    /**
     * @param path of a file of less than 2 GiB; symbolic links are followed
     * @return its contents
     */
    public byte[] readAllBytes(String path) throws IOException {
        return findFollowed(path).readAllBytes();
    }

    /** @return all entries, the root first. Close the stream if it is not read to its end */
    public Stream<Entry> walk() throws DwarfsException {
        return walk(root(), Order.TREE);
    }

    /**
     * @param start where to start; visited first
     * @param order in which order
     * @return the entries. An error is thrown as an UncheckedIOException
     */
    public Stream<Entry> walk(Entry start, Order order) throws DwarfsException {
        Walk walk = new Walk(start, order);
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(walk,
            Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.DISTINCT), false)
            .onClose(walk::close);
    }

    /** All entries, the root first. */
    @Override
    public Iterator<Entry> iterator() {
        try {
            return new Walk(root(), Order.TREE);
        } catch (DwarfsException error) {
            throw new UncheckedIOException(error);
        }
    }

    private final class Walk implements Iterator<Entry> {
        private final Handle walk;
        private final byte[] prefix;
        private Entry next;
        private boolean isDone;

        Walk(Entry start, Order order) throws DwarfsException {
            if (start.image() != Image.this) {
                throw new IllegalArgumentException("an entry of another image");
            }
            byte[] path = start.pathBytes();
            prefix = path.length == 0 ? path : Arrays.copyOf(path, path.length + 1);
            if (path.length > 0) {
                prefix[path.length] = '/';
            }
            long image = handle.acquire();
            try {
                walk = new Handle("walk",
                    dwarfsJNI.dwarfs_walk_new(image, start.number(), order.number),
                    dwarfsJNI::delete_dwarfs_walk, handle);
            } finally {
                handle.release();
            }
        }

        void close() {
            walk.close();
        }

        private byte[] pathOf(byte[] relative) {
            if (relative.length == 0) {
                return trim(prefix);
            }
            byte[] path = Arrays.copyOf(prefix, prefix.length + relative.length);
            System.arraycopy(relative, 0, path, prefix.length, relative.length);
            return path;
        }

        @Override
        public synchronized boolean hasNext() {
            if (next != null || isDone) {
                return next != null;
            }
            long pointer = walk.acquire();
            try {
                long entry = dwarfsJNI.dwarfs_walk_next(pointer);
                if (entry >= 0) {
                    next = new Entry(Image.this, entry,
                        pathOf(dwarfsJNI.dwarfs_walk_path(pointer)));
                } else {
                    isDone = true;
                }
            } catch (DwarfsException error) {
                isDone = true;
                throw new UncheckedIOException(explain(error));
            } finally {
                walk.release();
                if (isDone) {
                    walk.close();
                }
            }
            return next != null;
        }

        @Override
        public synchronized Entry next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Entry entry = next;
            next = null;
            return entry;
        }
    }

    // -- properties

    /** @return the largest size of a block before compression */
    public long blockSize() {
        return handle.number(dwarfsJNI::dwarfs_image_block_bytes);
    }

    /** @return how many blocks there are */
    public long blockCount() {
        return handle.number(dwarfsJNI::dwarfs_image_block_count);
    }

    /** @return how many entries there are, the root included */
    public long entryCount() {
        return handle.number(dwarfsJNI::dwarfs_image_entry_count);
    }

    /** @return how many inodes there are */
    public long inodeCount() {
        return handle.number(dwarfsJNI::dwarfs_image_inode_count);
    }

    /** @return bytes of all files and links, as the image states them */
    public long originalSize() {
        return handle.number(dwarfsJNI::dwarfs_image_original_bytes);
    }

    /** @return bytes from the start of the image to its end */
    public long size() {
        return handle.number(dwarfsJNI::dwarfs_image_bytes);
    }

    /** @return the minor version of the format; the major one is 2 */
    public int formatMinor() {
        return (int) handle.number(dwarfsJNI::dwarfs_image_format_minor);
    }

    /** @return the program that wrote the image, if it is recorded */
    public Optional<String> createdBy() {
        long pointer = handle.acquire();
        try {
            return Optional.ofNullable(dwarfsJNI.dwarfs_image_created_by(pointer))
                .map(Names::decode);
        } finally {
            handle.release();
        }
    }

    /** @return when the image was made, if it is recorded */
    public Optional<Instant> createdOn() {
        long seconds = handle.number(dwarfsJNI::dwarfs_java_created_on);
        return seconds < Instant.MIN.getEpochSecond() || seconds > Instant.MAX.getEpochSecond() ?
            Optional.empty() : Optional.of(Instant.ofEpochSecond(seconds));
    }

    /** @return whether the image can be used */
    public boolean isOpen() {
        return handle.isOpen();
    }

    // -- operations

    /**
     * Check the image, to its end, whatever is found.
     *
     * @param level how thorough
     * @param task  reports and cancels; may be null
     * @return all findings; the image is damaged if one of them is an error
     */
    public List<Finding> check(Check level, Task task) throws IOException {
        List<Finding> findings = new ArrayList<>();
        Callback add = new Callback() {
            @Override
            long run(long a, long section, byte[] text, byte[] data) {
                boolean isError = a >> 32 == dwarfsConstants.DWARFS_FINDING_ERROR;
                findings.add(new Finding(isError, DwarfsException.Code.of((int) a), section,
                    Names.decode(text)));
                return 0;
            }
        };
        long reference = dwarfsJNI.dwarfs_java_reference(add);
        long pointer = 0;
        long watcher = 0;
        try {
            pointer = handle.acquire();
            watcher = Task.acquire(task);
            dwarfsJNI.dwarfs_image_check(pointer, level.number, reference, watcher);
            Task.throwFailure(task);
        } catch (DwarfsException error) {
            boolean isCancelled = error.code() == DwarfsException.Code.CANCELLED;
            if (isCancelled || findings.stream().noneMatch(Finding::isError)) {
                throw explain(Callback.explain(error, Task.callbackOf(task), add));
            }
        } finally {
            if (watcher != 0) {
                Task.release(task);
            }
            if (pointer != 0) {
                handle.release();
            }
            dwarfsJNI.dwarfs_java_release(reference);
            Reference.reachabilityFence(add);
        }
        return findings;
    }

    private interface Work {
        void with(long image, long task) throws DwarfsException;
    }

    private void run(Task task, Work work) throws IOException {
        long watcher = 0;
        long pointer = handle.acquire();
        try {
            watcher = Task.acquire(task);
            work.with(pointer, watcher);
            Task.throwFailure(task);
        } catch (DwarfsException error) {
            throw explain(Callback.explain(error, Task.callbackOf(task)));
        } finally {
            if (watcher != 0) {
                Task.release(task);
            }
            handle.release();
        }
    }

    /**
     * Extract everything to a directory of the default file system, which is created if it is
     * missing. Nothing is overwritten.
     *
     * @param directory the directory
     * @param task      reports and cancels; may be null
     */
    public void extract(Path directory, Task task) throws IOException {
        extract(directory, new ExtractOptions(), task);
    }

    /**
     * Extract to a directory of the default file system, which is created if it is missing. An
     * entry that exists is an error, except that directories are merged.
     *
     * @param directory the directory
     * @param options   what is written, and how
     * @param task      reports and cancels; may be null
     */
    public void extract(Path directory, ExtractOptions options, Task task) throws IOException {
        byte[] name = Names.ofSystem(directory);
        run(task, (image, watcher) -> {
            long extract = dwarfsJNI.dwarfs_extract_new(image);
            try {
                options.apply(extract);
                dwarfsJNI.dwarfs_extract_set_task(extract, watcher);
                dwarfsJNI.dwarfs_extract_to_directory(extract, name);
            } finally {
                dwarfsJNI.delete_dwarfs_extract(extract);
            }
        });
    }

    /**
     * Write an archive to a file of the default file system, which it replaces when it is
     * complete.
     *
     * @param path    the file
     * @param options the format, what is written, and how
     * @param task    reports and cancels; may be null
     * @throws DwarfsException with INVALID for a suffix that has no format, UNSUPPORTED for an
     *     entry that the format cannot represent, and others
     */
    public void export(Path path, ExportOptions options, Task task) throws IOException {
        byte[] name = Names.ofSystem(path);
        run(task, (image, watcher) -> {
            long export = dwarfsJNI.dwarfs_archive_export_new(image);
            try {
                options.apply(export);
                dwarfsJNI.dwarfs_archive_export_set_task(export, watcher);
                dwarfsJNI.dwarfs_archive_export_to_path(export, name);
            } finally {
                dwarfsJNI.delete_dwarfs_archive_export(export);
            }
        });
    }

    /** Close the image; what reads it goes on. */
    @Override
    public void close() {
        handle.close();
    }
}
