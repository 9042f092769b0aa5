// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Makes one image: of a directory, or of entries that are added one by one.
 *
 * <pre>{@code
 * try (Builder builder = new Builder()) {
 *     builder.level(5).addDirectory(Path.of("photos"));
 *     builder.write(Path.of("photos.dwarfs"));
 * }
 * }</pre>
 *
 * An exception in a callback stops the run, leaves no image, and is thrown by write(). Several
 * threads may use a builder; their calls wait for each other.
 */
public final class Builder implements AutoCloseable {
    /** What a run has counted. */
    public enum Count {
        /** Directories. */
        DIRECTORIES(dwarfsConstants.DWARFS_COUNT_DIRECTORIES),
        /** Regular files, each hard link counted. */
        FILES(dwarfsConstants.DWARFS_COUNT_FILES),
        /** Symbolic links. */
        LINKS(dwarfsConstants.DWARFS_COUNT_LINKS),
        /** Files whose contents were stored already. */
        DUPLICATES(dwarfsConstants.DWARFS_COUNT_DUPLICATES),
        /** Entries that could not be read completely; the log of the context has them. */
        ERRORS(dwarfsConstants.DWARFS_COUNT_ERRORS),
        /** Size of all regular files. */
        BYTES_IN(dwarfsConstants.DWARFS_COUNT_BYTES_IN),
        /** Size of the image. */
        BYTES_OUT(dwarfsConstants.DWARFS_COUNT_BYTES_OUT),
        /** Blocks. */
        BLOCKS(dwarfsConstants.DWARFS_COUNT_BLOCKS);

        private final int number;

        Count(int number) {
            this.number = number;
        }
    }

    /** What {@link #rewrite} changes. */
    public enum Rewrite {
        /** Compress blocks again, with the codecs of the builder. */
        BLOCKS(dwarfsConstants.DWARFS_REWRITE_BLOCKS),
        /** Compress metadata and schema again. */
        METADATA(dwarfsConstants.DWARFS_REWRITE_METADATA),
        /** Make the metadata anew, so that options of attributes and times apply. */
        REBUILD(dwarfsConstants.DWARFS_REWRITE_REBUILD),
        /** Give blocks the block size of the builder. Needs BLOCKS and REBUILD. */
        BLOCK_SIZE(dwarfsConstants.DWARFS_REWRITE_BLOCK_SIZE);

        private final int number;

        Rewrite(int number) {
            this.number = number;
        }
    }

    private interface Call {
        void with(long builder) throws IOException;
    }

    private final Handle handle;
    private Callback include;
    private Callback category;
    private boolean isRunning;
    private Task task;

    /** A builder with a context of its own, and the defaults of level 7. */
    public Builder() throws DwarfsException {
        this(null);
    }

    /** @param context shared with images and other builders; null for an own one */
    public Builder(Context context) throws DwarfsException {
        Handle shared = Context.handleOf(context);
        long pointer = shared == null ? 0 : shared.acquire();
        try {
            handle = new Handle("builder", dwarfsJNI.dwarfs_builder_new(pointer),
                dwarfsJNI::delete_dwarfs_builder);
        } finally {
            if (shared != null) {
                shared.release();
            }
        }
        if (context != null) {
            handle.keep(context); // has the log, which the library refers to weakly
        }
    }

    private synchronized Builder use(Call call) throws IOException {
        long pointer = handle.acquire();
        try {
            if (isRunning) {
                throw new IllegalStateException("a callback cannot use its builder");
            }
            call.with(pointer);
            return this;
        } finally {
            handle.release();
        }
    }

    // -- options

    /**
     * @param level 0 to 9, from fast to small
     * @return this
     */
    public Builder level(int level) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_level(builder,
            Image.notNegative(level)));
    }

    /**
     * @param bits log2 of the size of a block, 10 to 30
     * @return this
     */
    public Builder blockBits(int bits) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_block_bits(builder,
            Image.notNegative(bits)));
    }

    /**
     * @param codec for blocks, such as "zstd:level=19"
     * @return this
     */
    public Builder compression(String codec) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_codec(builder,
            dwarfsConstants.DWARFS_CODEC_BLOCKS, Names.terminated(codec)));
    }

    /**
     * @param category of files
     * @param codec    for its blocks
     * @return this
     */
    public Builder compression(String category, String codec) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_category_codec(builder,
            Names.terminated(category), Names.terminated(codec)));
    }

    /**
     * @param order of the files in the image, such as "similarity", "path" or "none"
     * @return this
     */
    public Builder order(String order) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_order(builder,
            Names.terminated(order)));
    }

    /**
     * @param names of categorizers, separated by commas
     * @return this
     */
    public Builder categorizers(String names) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_categorizers(builder,
            Names.terminated(names)));
    }

    /**
     * @param name of a category that the callback {@link #category} may choose
     * @return this
     */
    public Builder addCategory(String name) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_add_category(builder,
            Names.terminated(name)));
    }

    /**
     * @param bytes how much memory a run may use
     * @return this
     */
    public Builder memoryLimit(long bytes) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_memory_limit(builder,
            Image.notNegative(bytes)));
    }

    /**
     * @param nanoseconds the step of stored times
     * @return this
     */
    public Builder timeResolution(long nanoseconds) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_time_resolution(builder,
            Image.notNegative(nanoseconds)));
    }

    /**
     * @param keep whether access and change times are stored
     * @return this
     */
    public Builder keepAllTimes(boolean keep) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_keep_all_times(builder, keep));
    }

    /**
     * Leave out what depends on the time and the command of the run, so that equal input
     * gives equal images.
     *
     * @return this
     */
    public Builder reproducible() throws IOException {
        return use(builder -> {
            dwarfsJNI.dwarfs_builder_set_create_timestamp(builder, false);
            dwarfsJNI.dwarfs_builder_set_history(builder, false);
        });
    }

    /**
     * @param rule as for mkdwarfs(1), such as "- *.o"
     * @return this
     */
    public Builder addFilter(String rule) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_add_filter(builder,
            Names.terminated(rule)));
    }

    /**
     * @param choice decides on each entry of a directory that the rules include; null for none
     * @return this
     */
    public Builder include(Predicate<Input> choice) throws IOException {
        return use(builder -> {
            include = choice == null ? null : new Callback() {
                @Override
                long run(long a, long b, byte[] text, byte[] data) {
                    return choice.test(Input.of(a)) ? 1 : 0;
                }
            };
            dwarfsJNI.dwarfs_builder_set_include(builder, handle.reference(include));
        });
    }

    /**
     * @param choice returns the category of a file, or null for that of the categorizers
     * @return this
     */
    public Builder category(Function<Input, String> choice) throws IOException {
        return use(builder -> {
            category = choice == null ? null : new Callback() {
                private ByteBuffer name; // what the library reads last

                @Override
                synchronized long run(long a, long b, byte[] text, byte[] data) {
                    String chosen = choice.apply(Input.of(a));
                    if (chosen == null) {
                        return 0;
                    }
                    byte[] bytes = Names.terminated(chosen);
                    if (name == null || name.capacity() < bytes.length) {
                        name = ByteBuffer.allocateDirect(Math.max(256, bytes.length));
                    }
                    name.clear().put(bytes);
                    return dwarfsJNI.dwarfs_java_address(name);
                }
            };
            dwarfsJNI.dwarfs_builder_set_category_callback(builder, handle.reference(category));
        });
    }

    /**
     * @param watcher reports the progress of write(), and cancels it; null for none
     * @return this
     */
    public synchronized Builder task(Task watcher) {
        task = watcher;
        return this;
    }

    // -- input

    /**
     * @param directory of the default file system, which becomes the root
     * @return this
     */
    public Builder addDirectory(Path directory) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_add_directory(builder,
            Names.ofSystem(directory)));
    }

    /**
     * Add a directory of the default file system and everything below it.
     *
     * @param directory the directory
     * @param prefix    where it is in the image; "" for the root
     * @return this
     */
    public Builder addTree(Path directory, String prefix) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_add_tree(builder,
            Names.ofSystem(directory), Names.encode(prefix)));
    }

    /**
     * Add what is in an image. Its blocks are copied as they are stored, and files of other
     * inputs that are equal to files of the image are not stored again. The image may be closed
     * before write(), but what it is read from must stay.
     *
     * @param image  the image
     * @param prefix where it is in the new image; "" for the root
     * @return this
     */
    public Builder addImage(Image image, String prefix) throws IOException {
        long pointer = image.handle().acquire();
        try {
            handle.keep(image); // has the source, which the library refers to weakly
            return use(builder -> dwarfsJNI.dwarfs_builder_add_image(builder, pointer,
                Names.encode(prefix), dwarfsConstants.DWARFS_KEEP_BLOCKS));
        } finally {
            image.handle().release();
        }
    }

    /**
     * Add what is at a path of the default file system: a directory, an image or an archive. Later
     * inputs replace entries of earlier ones. The task of the builder reports and cancels.
     *
     * @param input the path
     * @return this
     */
    public Builder addInput(Path input) throws IOException {
        byte[] name = Names.ofSystem(input);
        return watched((builder, watcher) ->
            dwarfsJNI.dwarfs_composed_add_path(builder, name, false, watcher));
    }

    /**
     * Add the entries of an archive of the default file system: tar, cpio, zip and others, whatever
     * it is compressed with. The task of the builder reports and cancels. After a failure no image
     * should be written.
     *
     * @param archive the path
     * @param options how it is read
     * @return this
     */
    public Builder addArchive(Path archive, ImportOptions options) throws IOException {
        byte[] name = Names.ofSystem(archive);
        return watched((builder, watcher) -> {
            long reader = dwarfsJNI.dwarfs_archive_import_new(builder);
            try {
                options.apply(reader);
                dwarfsJNI.dwarfs_archive_import_set_task(reader, watcher);
                dwarfsJNI.dwarfs_archive_import_path(reader, name);
            } catch (DwarfsException error) {
                if (!dwarfsJNI.dwarfs_archive_import_is_complete(reader)) {
                    throw error;
                }
            } finally {
                dwarfsJNI.delete_dwarfs_archive_import(reader);
            }
        });
    }

    private interface WatchedCall {
        void with(long builder, long task) throws IOException;
    }

    /** Call with the task, whose callback must not use the builder. */
    private synchronized Builder watched(WatchedCall call) throws IOException {
        Task watcher = task;
        run(null, builder -> {
            long pointer = Task.acquire(watcher);
            try {
                call.with(builder, pointer);
            } finally {
                Task.release(watcher);
            }
        });
        return this;
    }

    /**
     * Add an entry, or replace one. Missing parent directories are made.
     *
     * @param path from the root; "" for the root; by {@link Names}
     * @param item what it is
     * @return this
     */
    public Builder add(String path, Item item) throws IOException {
        return add(Names.encode(path), item);
    }

    /**
     * Add a file with the mode 0644.
     *
     * @param path     from the root
     * @param contents are copied
     * @return this
     */
    public Builder add(String path, byte[] contents) throws IOException {
        return add(path, Item.file(contents));
    }

    /**
     * As {@link #add(String, Item)}, with the bytes of the path.
     *
     * @param path from the root
     * @param item what it is
     * @return this
     */
    public Builder add(byte[] path, Item item) throws IOException {
        Callback reader = item.stream == null ? null : readerOf(item.stream);
        try {
            return use(builder -> {
                long pointer = dwarfsJNI.dwarfs_item_new(item.mode);
                long io = 0;
                try {
                    describe(pointer, item);
                    if (reader != null) {
                        io = dwarfsJNI.dwarfs_io_new_stream(reader);
                        dwarfsJNI.dwarfs_item_set_io(pointer, io);
                    }
                    isRunning = true; // a stream must not use the builder
                    if (item.bytes != null) {
                        dwarfsJNI.dwarfs_java_add_bytes(builder, path, pointer, item.bytes);
                    } else {
                        dwarfsJNI.dwarfs_builder_add_item(builder, path, pointer);
                    }
                } finally {
                    isRunning = false;
                    dwarfsJNI.delete_dwarfs_io(io);
                    dwarfsJNI.delete_dwarfs_item(pointer);
                }
            });
        } catch (DwarfsException error) {
            throw Callback.explain(error, reader);
        }
    }

    private static void describe(long pointer, Item item) throws DwarfsException {
        dwarfsJNI.dwarfs_item_set_owner(pointer, item.uid, item.gid);
        dwarfsJNI.dwarfs_item_set_time(pointer, dwarfsConstants.DWARFS_MTIME,
            item.modified.getEpochSecond(), item.modified.getNano());
        if (item.target != null) {
            dwarfsJNI.dwarfs_item_set_target(pointer, item.target);
        }
        if (item.hardLink != null) {
            dwarfsJNI.dwarfs_item_set_hard_link(pointer, item.hardLink);
        }
        if (item.file != null) {
            dwarfsJNI.dwarfs_item_set_path(pointer, Names.ofSystem(item.file));
        }
        for (Map.Entry<String, byte[]> xattr : item.xattrs.entrySet()) {
            dwarfsJNI.dwarfs_item_add_xattr(pointer, Names.terminated(xattr.getKey()),
                xattr.getValue());
        }
    }

    private static Callback readerOf(InputStream in) {
        return new Callback() {
            @Override
            long run(long a, long b, byte[] text, byte[] data) throws IOException {
                return Math.max(0, in.read(data, 0, data.length));
            }
        };
    }

    // -- running

    /**
     * Write the image to a new file: complete, or not at all.
     *
     * @param path the file
     * @throws DwarfsException with EXISTS, CANCELLED and others
     */
    public void write(Path path) throws IOException {
        write(path, false);
    }

    /**
     * Write the image to a file. In the default file system it appears complete or not at all.
     *
     * @param path      the file
     * @param overwrite whether to replace an existing one
     */
    public void write(Path path, boolean overwrite) throws IOException {
        if (path.getFileSystem() == FileSystems.getDefault()) {
            byte[] name = Names.ofSystem(path);
            run(null, builder -> dwarfsJNI.dwarfs_builder_write_path(builder, name, overwrite));
            return;
        }
        try (OutputStream out = overwrite ? Files.newOutputStream(path) :
             Files.newOutputStream(path, StandardOpenOption.CREATE_NEW,
                 StandardOpenOption.WRITE)) {
            write(out);
        }
    }

    /**
     * Write the image to a stream, which is not closed.
     *
     * @param out the stream
     */
    public void write(OutputStream out) throws IOException {
        Callback writer = new Callback() {
            @Override
            long run(long a, long b, byte[] text, byte[] data) throws IOException {
                out.write(data);
                return 0;
            }
        };
        run(writer, builder -> {
            long sink = dwarfsJNI.dwarfs_sink_new(writer);
            try {
                dwarfsJNI.dwarfs_builder_write(builder, sink);
            } finally {
                dwarfsJNI.delete_dwarfs_sink(sink);
            }
        });
    }

    /**
     * Choose the blocks that {@link #rewrite} compresses again.
     *
     * @param names of categories, with commas between them; with "!" in front: all but these; null
     *     for all blocks
     * @return this
     */
    public Builder recompressCategories(String names) throws IOException {
        return use(builder -> dwarfsJNI.dwarfs_builder_set_recompress_categories(builder,
            Names.terminated(names)));
    }

    /**
     * Write an image anew, with the same files, by a builder without input. A header is kept.
     *
     * @param source    the image
     * @param path      of the default file system; may be the file of the image
     * @param overwrite whether to replace an existing file
     * @param parts     what changes; none for the container alone
     * @throws DwarfsException with EXISTS, INVALID for options that the image cannot meet, and
     *     others
     */
    public void rewrite(Image source, Path path, boolean overwrite, Rewrite... parts)
        throws IOException {
        byte[] name = Names.ofSystem(path);
        int flags = 0;
        for (Rewrite part : parts) {
            flags |= part.number;
        }
        int chosen = flags;
        long image = source.handle().acquire();
        try {
            run(null, builder -> {
                dwarfsJNI.dwarfs_composed_keep_header(builder, image);
                long sink = dwarfsJNI.dwarfs_sink_open(name, overwrite);
                try {
                    dwarfsJNI.dwarfs_rewrite(image, chosen, builder, sink);
                } finally {
                    dwarfsJNI.delete_dwarfs_sink(sink);
                }
            });
        } catch (DwarfsException error) {
            throw source.explain(error);
        } finally {
            source.handle().release();
        }
    }

    /** @return the image */
    public byte[] toByteArray() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        write(out);
        return out.toByteArray();
    }

    private synchronized void run(Callback writer, Call call) throws IOException {
        Task watcher = task;
        try {
            use(builder -> {
                long pointer = Task.acquire(watcher);
                isRunning = true;
                try {
                    dwarfsJNI.dwarfs_builder_set_task(builder, pointer);
                    call.with(builder);
                } finally {
                    isRunning = false;
                    dwarfsJNI.dwarfs_builder_set_task(builder, 0);
                    Task.release(watcher);
                }
            });
        } catch (DwarfsException error) {
            throw Callback.explain(error, include, category, writer, Task.callbackOf(watcher));
        }
        Task.throwFailure(watcher);
    }

    /**
     * @param count which number
     * @return the number, of a builder that has run
     */
    public long count(Count count) throws IOException {
        long[] number = new long[1];
        use(builder -> number[0] = dwarfsJNI.dwarfs_builder_count(builder, count.number));
        return number[0];
    }

    /** Free the builder; a run of another thread is not stopped. */
    @Override
    public void close() {
        handle.close();
    }
}
