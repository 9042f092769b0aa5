// SPDX-License-Identifier: MIT

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.net.UnknownServiceException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.FileLock;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.ClosedFileSystemException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;
import java.nio.file.ProviderMismatchException;
import java.nio.file.ProviderNotFoundException;
import java.nio.file.ReadOnlyFileSystemException;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.nio.file.spi.FileSystemProvider;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.libdwarfs.Attributes;
import org.libdwarfs.Builder;
import org.libdwarfs.Comparison;
import org.libdwarfs.Context;
import org.libdwarfs.Difference;
import org.libdwarfs.Dwarfs;
import org.libdwarfs.DwarfsChannel;
import org.libdwarfs.DwarfsException;
import org.libdwarfs.DwarfsException.Code;
import org.libdwarfs.DwarfsInputStream;
import org.libdwarfs.Entry;
import org.libdwarfs.ExportOptions;
import org.libdwarfs.ExtractOptions;
import org.libdwarfs.Image;
import org.libdwarfs.ImportOptions;
import org.libdwarfs.Item;
import org.libdwarfs.Names;
import org.libdwarfs.Task;
import org.libdwarfs.nio.DwarfsFileSystemProvider;

/**
 * What every language does with the library, and java.nio.file. Prints "ok NAME" or "not ok NAME"
 * and a stack trace for each case, for test_java.py.
 *
 * <p>Scenarios FOLDER
 */
public final class Scenarios {
    private static final byte[] BIG = new byte[1_000_000];
    private static final byte[] ODD = {'o', 'd', 'd', (byte) 0xff, (byte) 0xc3};
    private static final long TIMEOUT_SECONDS = 60;

    private static Path folder;
    private static Path file;
    private static byte[] data;

    interface Case {
        void run() throws Exception;
    }

    private static int failures;

    private static void test(String name, Case body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Throwable thrown) {
            failures++;
            System.out.println("not ok " + name);
            thrown.printStackTrace(System.out);
        }
    }

    private static void same(Object expected, Object found) {
        if (!java.util.Objects.deepEquals(expected, found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    private static void isTrue(boolean condition) {
        same(true, condition);
    }

    private static <T extends Throwable> T fails(Class<T> type, Case body) {
        try {
            body.run();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            throw new AssertionError("expected " + type.getName(), thrown);
        }
        throw new AssertionError("expected " + type.getName() + ", nothing was thrown");
    }

    private static void failsWith(Code code, Case body) {
        same(code, fails(DwarfsException.class, body).code());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static Builder sample() throws IOException {
        return new Builder().level(1).blockBits(16).reproducible().timeResolution(1)
            .add("dir/text.txt", Item.file(bytes("hello\n")).permissions(0640).owner(5, 6)
                .modified(Instant.ofEpochSecond(1_500_000_000, 123_456_789))
                .xattr("user.a", new byte[] {0, 1}).xattr("user.b", new byte[0]))
            .add("dir/sub/data", bytes("data"))
            .add("big", Item.file(new ByteArrayInputStream(BIG)))
            .add("none", Item.directory())
            .add("link", Item.link("dir/sub"))
            .add("absolute", Item.link("/dir/text.txt"))
            .add("loop", Item.link("loop"))
            .add("hard", Item.hardLink("dir/text.txt"))
            .add(ODD, Item.file(bytes("odd")))
            .add("ümlaut", bytes("u"));
    }

    public static void main(String[] args) throws Exception {
        folder = Path.of(args[0]);
        Random random = new Random(1);
        for (int i = 0; i < BIG.length; i++) {
            BIG[i] = (byte) random.nextInt(16); // can be compressed
        }
        file = folder.resolve("image.dwarfs");
        try (Builder builder = sample()) {
            builder.write(file);
            same(6L, builder.count(Builder.Count.FILES));
        }
        data = Files.readAllBytes(file);
        images();
        failing();
        packing();
        operations();
        closing();
        fileSystems();
        test("all handles are freed at the end", () -> same(0L, Dwarfs.liveHandles()));
        System.out.println("done");
        System.exit(failures == 0 ? 0 : 1);
    }

    // -- reading

    private static void images() {
        test("an image is opened by path, from memory and by a channel", () -> {
            try (Image image = Image.open(file)) {
                same("hello\n", new String(image.readAllBytes("dir/text.txt")));
                same(1L << 16, image.blockSize());
                same(Long.valueOf(data.length), image.size());
                isTrue(image.createdBy().isPresent());
                same(false, image.createdOn().isPresent());
            }
            try (Image image = Image.open(data)) {
                same(BIG, image.readAllBytes("big"));
            }
            ByteBuffer direct = ByteBuffer.allocateDirect(data.length + 7);
            direct.position(7).put(data).position(7);
            try (Image image = Image.open(direct, new Image.Options().offset(0))) {
                same(BIG, image.readAllBytes("big"));
            }
            try (SeekableByteChannel channel = Files.newByteChannel(file);
                 Image image = Image.open(channel, new Image.Options())) {
                same(BIG, image.readAllBytes("big"));
            }
        });
        test("an image in an image is opened", () -> {
            Path outer = folder.resolve("outer.dwarfs");
            try (Builder builder = new Builder()) {
                builder.add("inner.dwarfs", Item.file(file)).write(outer);
            }
            try (FileSystem system = FileSystems.newFileSystem(outer);
                 Image image = Image.open(system.getPath("inner.dwarfs"))) {
                same(BIG, image.readAllBytes("big"));
            }
        });
        test("attributes are those that were stored", () -> {
            try (Image image = Image.open(file)) {
                Attributes found = image.find("dir/text.txt").attributes();
                same(0100640, found.mode());
                same(5L, found.uid());
                same(6L, found.gid());
                same(6L, found.size());
                same(2L, found.links());
                same(Instant.ofEpochSecond(1_500_000_000, 123_456_789),
                    found.modificationTime().toInstant());
                same(found.inode(), image.find("hard").attributes().inode());
                isTrue(image.root().attributes().isDirectory());
                isTrue(image.find("link").attributes().isLink());
            }
        });
        test("directories are listed by the bytes of names", () -> {
            try (Image image = Image.open(file)) {
                same(List.of("absolute", "big", "dir", "hard", "link", "loop", "none",
                    Names.decode(ODD), "ümlaut"), paths(image.root().list().stream()));
                same(List.of("dir/sub", "dir/text.txt"),
                    paths(image.find("/dir/").list().stream()));
                same("text.txt", image.find("dir/text.txt").name());
                same(List.of(), image.find("none").list());
                failsWith(Code.NOT_DIR, () -> image.find("big").list());
            }
        });
        test("a walk visits everything, in both orders", () -> {
            try (Image image = Image.open(file)) {
                List<String> tree = paths(image.walk());
                same(13, tree.size());
                same("", tree.get(0));
                try (Stream<Entry> walk = image.walk(image.root(), Image.Order.DATA)) {
                    same(tree.stream().sorted().toList(), paths(walk).stream().sorted().toList());
                }
                same(List.of("dir", "dir/sub", "dir/sub/data", "dir/text.txt"),
                    paths(image.walk(image.find("dir"), Image.Order.TREE)));
                int count = 0;
                for (Entry entry : image) {
                    entry.attributes();
                    count++;
                }
                same(13, count);
                try (Stream<Entry> walk = image.walk()) {
                    isTrue(walk.iterator().hasNext()); // and it is closed before its end
                }
            }
        });
        test("names that are not UTF-8 survive as strings and as bytes", () -> {
            Random random = new Random(2);
            for (int i = 0; i < 2000; i++) {
                byte[] name = new byte[random.nextInt(12)];
                for (int j = 0; j < name.length; j++) {
                    int[] hard = {0xed, 0xa0, 0xb2, 0x80, 0xc3, 0xf0, 0x9f, 0x98, 'a', 0xff};
                    name[j] = (byte) hard[random.nextInt(hard.length)];
                }
                same(name, Names.encode(Names.decode(name)));
            }
            same("odd\udcff\udcc3", Names.decode(ODD));
            same("ü\ud83d\ude00", Names.decode(bytes("ü\ud83d\ude00")));
            fails(InvalidPathException.class, () -> Names.encode("a\ud83d"));
            fails(InvalidPathException.class, () -> Names.encode("a\0b"));
            try (Image image = Image.open(file)) {
                same("odd", new String(image.readAllBytes("odd\udcff\udcc3")));
                Entry entry = image.find(ODD, false);
                same(ODD, entry.nameBytes());
                same(ODD, entry.pathBytes());
                same("u", new String(image.readAllBytes("ümlaut")));
            }
        });
        test("streams read, skip, mark and reset", () -> {
            try (Image image = Image.open(file);
                 DwarfsInputStream in = image.find("big").newInputStream()) {
                same(BIG.length, in.available());
                same(BIG[0] & 0xff, in.read());
                same(99_999L, in.skip(99_999));
                in.mark(0);
                byte[] piece = new byte[300_000];
                same(piece.length, in.readNBytes(piece, 0, piece.length));
                same(Arrays.copyOfRange(BIG, 100_000, 400_000), piece);
                in.reset();
                same(Arrays.copyOfRange(BIG, 100_000, BIG.length), in.readAllBytes());
                same(-1, in.read());
                same(0, in.read(piece, 0, 0));
                same(0L, in.skip(1));
                fails(IndexOutOfBoundsException.class, () -> in.read(piece, 1, piece.length));
                failsWith(Code.IS_DIR, () -> image.root().newInputStream());
            }
        });
        test("channels read at any position, into any buffer", () -> {
            try (Image image = Image.open(file);
                 DwarfsChannel channel = image.find("big").newByteChannel()) {
                same(Long.valueOf(BIG.length), channel.size());
                for (ByteBuffer buffer : List.of(ByteBuffer.allocate(50_000),
                         ByteBuffer.allocateDirect(50_000), ByteBuffer.allocate(100))) {
                    int room = buffer.capacity() - 10;
                    buffer.position(10);
                    same(room, channel.read(buffer, 500_001));
                    same(0, buffer.remaining());
                    byte[] found = new byte[room];
                    buffer.position(10).get(found);
                    same(Arrays.copyOfRange(BIG, 500_001, 500_001 + room), found);
                    buffer.clear();
                    same(-1, channel.read(buffer, BIG.length));
                    same(3, channel.read(buffer, BIG.length - 3));
                    same(0L, channel.position());
                }
                channel.position(BIG.length - 5);
                same(5, channel.read(ByteBuffer.allocate(10)));
                same(-1, channel.read(ByteBuffer.allocate(10)));
                same(0L, channel.nextData(0));
                same(Long.valueOf(BIG.length), channel.nextHole(0));
                same(-1L, channel.nextData(BIG.length));
                channel.position(1L << 40);
                same(-1, channel.read(ByteBuffer.allocateDirect(10)));
                fails(NonWritableChannelException.class,
                    () -> channel.write(ByteBuffer.allocate(1)));
                fails(IllegalArgumentException.class, () -> channel.position(-1));
                fails(IllegalArgumentException.class,
                    () -> channel.read(ByteBuffer.allocate(1).asReadOnlyBuffer(), 0));
            }
        });
        test("extended attributes and targets of links", () -> {
            try (Image image = Image.open(file)) {
                Map<String, byte[]> found = image.find("dir/text.txt").xattrs();
                same(List.of("user.a", "user.b"), List.copyOf(found.keySet()));
                same(new byte[] {0, 1}, found.get("user.a"));
                same(Map.of(), image.find("big").xattrs());
                same("dir/sub", image.find("link").linkTarget());
                same("data", new String(image.readAllBytes("link/data")));
                same("hello\n", new String(image.readAllBytes("absolute")));
                failsWith(Code.INVALID, () -> image.find("big").linkTarget());
                failsWith(Code.INVALID, () -> image.findFollowed("loop"));
            }
        });
        test("an image is checked and extracted", () -> {
            try (Image image = Image.open(file); Task task = new Task()) {
                same(List.of(), image.check(Image.Check.INTEGRITY, task));
                Path copy = folder.resolve("copy");
                image.extract(copy, task);
                same(BIG, Files.readAllBytes(copy.resolve("big")));
                task.cancel();
                failsWith(Code.CANCELLED, () -> image.check(Image.Check.INTEGRITY, task));
            }
        });
        test("workers of the library read by a channel", () -> {
            try (SeekableByteChannel channel = Files.newByteChannel(file);
                 Context context = new Context().workers(2);
                 Image image = Image.open(channel, new Image.Options().context(context))) {
                Path copy = folder.resolve("by-channel");
                image.extract(copy, null);
                same(BIG, Files.readAllBytes(copy.resolve("big")));
            }
        });
        test("two threads read one image and one file", () -> {
            try (Context context = new Context().cacheBytes(100_000).workers(0);
                 Image image = Image.open(file, new Image.Options().context(context));
                 DwarfsChannel shared = image.find("big").newByteChannel()) {
                inParallel(4, number -> {
                    Random random = new Random(number);
                    ByteBuffer buffer = ByteBuffer.allocate(20_000);
                    for (int i = 0; i < 50; i++) {
                        int offset = random.nextInt(BIG.length - 20_000);
                        shared.read(buffer.clear(), offset);
                        same(Arrays.copyOfRange(BIG, offset, offset + 20_000), buffer.array());
                    }
                });
                isTrue(context.decodedBytes() > 0);
            }
        });
    }

    private static List<String> paths(Stream<Entry> entries) {
        return entries.map(Entry::path).collect(Collectors.toList());
    }

    interface Work {
        void run(int number) throws Exception;
    }

    private static void inParallel(int threads, Work work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Void>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int number = i;
                all.add(() -> {
                    work.run(number);
                    return null;
                });
            }
            for (Future<Void> done : pool.invokeAll(all)) {
                done.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    // -- errors

    private static void failing() {
        test("a missing file and a missing entry", () -> {
            Path missing = folder.resolve("missing");
            DwarfsException error = fails(DwarfsException.class, () -> Image.open(missing));
            same(Code.NOT_FOUND, error.code());
            same(missing.toString(), error.path());
            same(2, error.errno());
            try (Image image = Image.open(file)) {
                failsWith(Code.NOT_FOUND, () -> image.find("dir/missing"));
                failsWith(Code.NOT_FOUND, () -> image.root().get("missing"));
                failsWith(Code.NOT_DIR, () -> image.find("big/x"));
            }
        });
        test("files that are no images, and damaged ones", () -> {
            failsWith(Code.NOT_IMAGE, () -> Image.open(new byte[0]));
            failsWith(Code.NOT_IMAGE, () -> Image.open(new byte[5000]));
            Path damaged = folder.resolve("damaged.dwarfs");
            byte[] wrong = data.clone();
            wrong[100] ^= 1; // in the first block
            Files.write(damaged, wrong);
            try (Image image = Image.open(damaged)) {
                DwarfsException error = fails(DwarfsException.class,
                    () -> image.readAllBytes("big"));
                same(Code.CHECKSUM, error.code());
                same(damaged.toString(), error.path());
                isTrue(error.getMessage().contains("'big'"));
                same(0L, error.offset().getAsLong());
                List<Image.Finding> findings = image.check(Image.Check.CHECKSUMS, null);
                isTrue(findings.stream().anyMatch(finding -> finding.isError() &&
                    finding.code() == Code.CHECKSUM && finding.section() == 0));
            }
            wrong[100] ^= 1;
            int located = 0;
            for (int offset = data.length - 6000; offset < data.length; offset += 17) {
                wrong[offset] ^= 1; // in a block or any other section
                Files.write(damaged, wrong);
                try (Image image = Image.open(damaged)) {
                    image.find("big");
                } catch (DwarfsException error) {
                    same(damaged.toString(), error.path());
                    located += error.offset().isPresent() ? 1 : 0;
                }
                wrong[offset] ^= 1;
            }
            isTrue(located > 0);
            for (int offset = 0; offset < data.length; offset += 4001) {
                byte[] cut = Arrays.copyOf(data, offset);
                fails(DwarfsException.class, () -> Image.open(cut));
            }
        });
        test("an exception of a channel is the cause of the failure", () -> {
            IOException reason = new IOException("the network is down");
            AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);
            try (SeekableByteChannel real = Files.newByteChannel(file)) {
                SeekableByteChannel failing = new SeekableByteChannel() {
                    @Override
                    public int read(ByteBuffer buffer) throws IOException {
                        if (left.getAndDecrement() <= 0) {
                            throw reason;
                        }
                        return real.read(buffer);
                    }

                    @Override
                    public SeekableByteChannel position(long offset) throws IOException {
                        real.position(offset);
                        return this;
                    }

                    @Override
                    public long position() throws IOException {
                        return real.position();
                    }

                    @Override
                    public long size() throws IOException {
                        return real.size();
                    }

                    @Override
                    public int write(ByteBuffer buffer) {
                        throw new NonWritableChannelException();
                    }

                    @Override
                    public SeekableByteChannel truncate(long size) {
                        throw new NonWritableChannelException();
                    }

                    @Override
                    public boolean isOpen() {
                        return true;
                    }

                    @Override
                    public void close() {
                    }
                };
                try (Image image = Image.open(failing, new Image.Options())) {
                    left.set(0);
                    DwarfsException error = fails(DwarfsException.class,
                        () -> image.readAllBytes("big"));
                    same(Code.IO, error.code());
                    same(reason, error.getCause());
                    isTrue(error.getMessage().contains("the network is down"));
                    left.set(Integer.MAX_VALUE);
                    same(BIG, image.readAllBytes("big"));
                }
                left.set(0);
                same(reason, fails(IOException.class,
                    () -> Image.open(failing, new Image.Options())));
            }
        });
    }

    // -- writing

    private static Path tree() throws IOException {
        Path tree = folder.resolve("tree");
        if (!Files.exists(tree)) {
            Files.createDirectories(tree.resolve("sub"));
            Files.write(tree.resolve("keep.txt"), bytes("keep"));
            Files.write(tree.resolve("leave.tmp"), bytes("leave"));
            Files.write(tree.resolve("sub/keep.log"), BIG);
        }
        return tree;
    }

    private static void packing() {
        test("callbacks choose entries and categories", () -> {
            List<String> seen = new ArrayList<>();
            try (Builder builder = new Builder()) {
                byte[] image = builder.level(1).addDirectory(tree())
                    .include(input -> !input.path().endsWith(".tmp"))
                    .addCategory("logs").compression("logs", "null")
                    .category(input -> {
                        seen.add(input.path());
                        return input.path().endsWith(".log") ? "logs" : null;
                    }).toByteArray();
                Collections.sort(seen);
                same(List.of("keep.txt", "sub/keep.log"), seen);
                try (Image packed = Image.open(image)) {
                    same(List.of("", "keep.txt", "sub", "sub/keep.log"), paths(packed.walk()));
                }
            }
        });
        test("an exception in a callback stops the run, leaves no image and is thrown", () -> {
            Path output = folder.resolve("never.dwarfs");
            IllegalArgumentException reason = new IllegalArgumentException("not this one");
            for (Class<?> kind : List.of(Boolean.class, String.class, Task.class)) {
                try (Task task = new Task(progress -> {
                         if (kind == Task.class) {
                             throw reason;
                         }
                     });
                     Builder builder = new Builder().level(1).addDirectory(tree())) {
                    builder.task(task).include(input -> {
                        if (kind == Boolean.class) {
                            throw reason;
                        }
                        return true;
                    }).category(input -> {
                        if (kind == String.class) {
                            throw reason;
                        }
                        return null;
                    });
                    same(reason, fails(IllegalArgumentException.class,
                        () -> builder.write(output)));
                    same(false, Files.exists(output));
                }
            }
            IOException full = new IOException("full");
            OutputStream failing = new OutputStream() {
                @Override
                public void write(int one) throws IOException {
                    throw full;
                }
            };
            InputStream broken = new InputStream() {
                @Override
                public int read() throws IOException {
                    throw full;
                }
            };
            try (Builder builder = sample()) {
                same(full, fails(IOException.class, () -> builder.write(failing)));
            }
            try (Builder builder = new Builder()) {
                same(full, fails(IOException.class,
                    () -> builder.add("x", Item.file(broken))));
            }
        });
        test("a callback cannot use its builder", () -> {
            try (Builder builder = new Builder().addDirectory(tree())) {
                builder.include(input -> {
                    try {
                        builder.level(3);
                    } catch (IOException error) {
                        throw new IllegalArgumentException(error);
                    }
                    return true;
                });
                fails(IllegalStateException.class, builder::toByteArray);
            }
        });
        test("progress is reported, up to the end", () -> {
            List<String> phases = Collections.synchronizedList(new ArrayList<>());
            try (Task task = new Task(progress -> phases.add(progress.phase()));
                 Builder builder = sample().task(task)) {
                builder.toByteArray();
            }
            same("done", phases.get(phases.size() - 1));
        });
        test("an exception in the last call is thrown, once, and stops nothing", () -> {
            RuntimeException late = new RuntimeException("late");
            Path output = folder.resolve("late.dwarfs");
            Path copy = folder.resolve("late");
            try (Task task = new Task(progress -> {
                     if (progress.phase().equals("done")) {
                         throw late;
                     }
                 });
                 Builder builder = sample().task(task)) {
                same(late, fails(RuntimeException.class, () -> builder.write(output)));
                same(late, fails(RuntimeException.class,
                    () -> Image.open(output, new Image.Options().task(task))));
                try (Image image = Image.open(output)) {
                    same(late, fails(RuntimeException.class, () -> image.extract(copy, task)));
                    same(true, Files.exists(copy));
                    failsWith(Code.NOT_FOUND,
                        () -> image.extract(folder.resolve("none").resolve("copy"), task));
                }
            }
        });
        test("another thread cancels", () -> {
            CountDownLatch started = new CountDownLatch(1);
            CountDownLatch cancelled = new CountDownLatch(1);
            Path output = folder.resolve("cancelled.dwarfs");
            try (Task task = new Task(progress -> {
                     started.countDown();
                     waitFor(cancelled);
                 });
                 Builder builder = sample().task(task)) {
                Thread other = new Thread(() -> {
                    waitFor(started);
                    task.cancel();
                    cancelled.countDown();
                });
                other.start();
                failsWith(Code.CANCELLED, () -> builder.write(output));
                other.join();
                isTrue(task.isCancelled());
                same(false, Files.exists(output));
                failsWith(Code.CANCELLED,
                    () -> Image.open(file, new Image.Options().task(task)));
            }
        });
        test("wrong options and a second run are refused", () -> {
            try (Builder builder = sample()) {
                failsWith(Code.RANGE, () -> builder.level(10));
                fails(IllegalArgumentException.class, () -> builder.level(-1));
                failsWith(Code.INVALID, () -> builder.order("wrong"));
                builder.toByteArray();
                failsWith(Code.INVALID, builder::toByteArray);
            }
            try (Builder builder = sample()) {
                failsWith(Code.EXISTS, () -> builder.write(file));
            }
            fails(IllegalArgumentException.class, () -> Item.directory().permissions(0100644));
        });
        test("equal input gives equal images", () -> {
            try (Builder builder = sample()) {
                same(data, builder.toByteArray());
            }
        });
        test("an image and new entries become one image", () -> {
            try (Builder builder = new Builder().level(1);
                 Builder again = new Builder().level(1)) {
                try (Image image = Image.open(file);
                     SeekableByteChannel channel = Files.newByteChannel(file);
                     Image same = Image.open(channel, new Image.Options())) {
                    builder.addImage(image, "old").add("new", bytes("new"));
                    again.addImage(same, "").add("big", bytes("small"));
                    try (Image joined = Image.open(again.toByteArray())) {
                        same("small", new String(joined.readAllBytes("big")));
                        same("hello\n", new String(joined.readAllBytes("hard")));
                    }
                }
                try (Image joined = Image.open(builder.toByteArray())) {
                    same(BIG, joined.readAllBytes("old/big"));
                    same("new", new String(joined.readAllBytes("new")));
                }
            }
        });
        test("messages come to the log", () -> {
            List<String> log = Collections.synchronizedList(new ArrayList<>());
            try (Context context = new Context()) {
                context.log(Context.Level.TRACE, (level, text) -> log.add(level + " " + text));
                try (Builder builder = new Builder(context)) {
                    builder.add("lost", Item.hardLink("missing")).toByteArray();
                    same(1L, builder.count(Builder.Count.ERRORS));
                }
            }
            isTrue(log.stream().anyMatch(line -> line.contains("'/lost'")));
        });
    }

    private static void waitFor(CountDownLatch latch) {
        try {
            if (!latch.await(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError("waited too long");
            }
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    // -- lifetimes

    private static List<Difference> compare(Image a, Path b, Difference.Kind... ignored)
        throws IOException {
        try (Comparison comparison = new Comparison()) {
            comparison.a(a).b(b);
            for (Difference.Kind kind : ignored) {
                comparison.ignore(kind);
            }
            return comparison.run(null);
        }
    }

    /** Those that every language has. */
    private static void operations() {
        Path none = folder.resolve("none.dwarfs");
        Path tar = folder.resolve("image.tar");
        Path joined = folder.resolve("joined.dwarfs");
        RuntimeException mine = new RuntimeException("mine");
        test("extract", () -> {
            try (Image image = Image.open(file); Task failing = new Task(now -> { throw mine; })) {
                Path copy = folder.resolve("extracted");
                ExtractOptions part = new ExtractOptions().addPattern("dir/sub/").xattrs(false)
                    .skipDevices(true).skipSpecials(true).writers(1);
                image.extract(copy, part, null);
                same("data", Files.readString(copy.resolve("dir/sub/data")));
                same(false, Files.exists(copy.resolve("big")));
                failsWith(Code.EXISTS, () -> image.extract(copy, part, null));
                Path all = folder.resolve("extracted-all");
                image.extract(all, new ExtractOptions().owners(false).continueOnError(true), null);
                same(List.of(), compare(image, all, Difference.Kind.OWNER, Difference.Kind.GROUP,
                    Difference.Kind.XATTR));
                Path stopped = folder.resolve("extracted-stopped");
                same(mine, fails(RuntimeException.class, () -> image.extract(stopped, failing)));
                failing.cancel();
                failsWith(Code.CANCELLED, () -> image.extract(stopped, failing));
                failsWith(Code.INVALID, () ->
                    image.extract(stopped, new ExtractOptions().addPattern("["), null));
                failsWith(Code.NOT_FOUND, () -> image.extract(none.resolve("copy"), null));
                fails(IllegalArgumentException.class, () -> new ExtractOptions().uid(-1));
                fails(NullPointerException.class, () -> image.extract(null, null));
                try (FileSystem inside = FileSystems.newFileSystem(file)) {
                    fails(ProviderMismatchException.class,
                        () -> image.extract(inside.getPath("/copy"), null));
                }
            }
        });
        test("export", () -> {
            try (Image image = Image.open(file); Task failing = new Task(now -> { throw mine; })) {
                image.export(tar, new ExportOptions().format("ustar").filters("gzip").settings("")
                    .addPattern("dir/").order(Image.Order.TREE).xattrs(false).uid(1).gid(2), null);
                same((byte) 0x1f, Files.readAllBytes(tar)[0]);
                image.export(tar, new ExportOptions(), null);
                same(List.of(), compare(image, tar));
                failsWith(Code.INVALID, () ->
                    image.export(folder.resolve("x.unknown"), new ExportOptions(), null));
                failsWith(Code.INVALID, () ->
                    image.export(tar, new ExportOptions().format("none"), null));
                Path stopped = folder.resolve("stopped.tar");
                same(mine, fails(RuntimeException.class,
                    () -> image.export(stopped, new ExportOptions(), failing)));
                failing.cancel();
                failsWith(Code.CANCELLED,
                    () -> image.export(stopped, new ExportOptions(), failing));
                same(false, Files.exists(stopped));
            }
        });
        test("import", () -> {
            try (Builder builder = new Builder().level(1)) {
                builder.timeResolution(1).addArchive(tar, new ImportOptions()).write(joined);
            }
            try (Image image = Image.open(file)) {
                same(List.of(), compare(image, joined));
            }
            Path more = Files.createDirectory(folder.resolve("more"));
            Files.writeString(more.resolve("big"), "small");
            try (Builder builder = new Builder()) {
                builder.addInput(tar).addInput(file).addInput(more)
                    .addArchive(tar, new ImportOptions().prefix("below").stripComponents(1)
                        .whiteouts(true).format("tar").continueOnError(true));
                failsWith(Code.NOT_FOUND, () -> builder.addInput(none));
                failsWith(Code.UNSUPPORTED, () -> builder.addInput(more.resolve("big")));
                builder.write(joined, true);
                try (Image image = Image.open(joined)) {
                    same("small", new String(image.readAllBytes("big")));
                    same("data", new String(image.readAllBytes("below/sub/data")));
                }
            }
            try (Builder builder = new Builder(); Task failing = new Task(now -> { throw mine; })) {
                builder.task(failing);
                same(mine, fails(RuntimeException.class, () -> builder.addInput(tar)));
                failing.cancel();
                failsWith(Code.CANCELLED, () -> builder.addArchive(tar, new ImportOptions()));
            }
        });
        test("compare", () -> {
            try (Image image = Image.open(file); Comparison comparison = new Comparison()) {
                same(List.of(), comparison.a(image).b(image).timeResolution(1).run(null));
                comparison.b(joined);
                same(List.of(new Difference(Difference.Kind.SIZE, "big", null, "1000000", "5")),
                    comparison.run(null).stream()
                        .filter(found -> found.kind() == Difference.Kind.SIZE)
                        .collect(Collectors.toList()));
                same("below", comparison.ignore(Difference.Kind.MTIME).run(null).stream()
                    .filter(found -> found.kind() == Difference.Kind.ONLY_B).findFirst().get()
                    .path());
                failsWith(Code.NOT_FOUND, () -> comparison.b(none));
                failsWith(Code.RANGE, () -> comparison.ignore(Difference.Kind.OTHER));
                try (Task failing = new Task(now -> { throw mine; });
                     Task again = new Task(now -> unchecked(() -> comparison.run(null)))) {
                    same(mine, fails(RuntimeException.class, () -> comparison.run(failing)));
                    fails(IllegalStateException.class, () -> comparison.run(again));
                    failing.cancel();
                    failsWith(Code.CANCELLED, () -> comparison.run(failing));
                }
            }
            try (Comparison comparison = new Comparison()) {
                failsWith(Code.INVALID, () -> comparison.run(null));
            }
        });
        test("rewrite", () -> {
            Path output = folder.resolve("rewritten.dwarfs");
            try (Image image = Image.open(file); Builder builder = new Builder();
                 Builder other = new Builder()) {
                builder.compression("null").rewrite(image, output, false, Builder.Rewrite.BLOCKS,
                    Builder.Rewrite.METADATA);
                same(List.of(), compare(image, output));
                failsWith(Code.EXISTS, () -> other.rewrite(image, output, false));
                failsWith(Code.INVALID, () -> other.recompressCategories("none")
                    .rewrite(image, none, false, Builder.Rewrite.BLOCKS));
                failsWith(Code.INVALID, () -> builder.rewrite(image, none, false));
            }
            long before = Files.size(output);
            try (Image image = Image.open(output); Builder builder = new Builder()) {
                builder.blockBits(12).rewrite(image, output, true, Builder.Rewrite.values());
                isTrue(Files.size(output) < before);
                same(List.of(), compare(image, output));
            }
            Files.write(none, concatenation(bytes("#!/bin/sh\n"), Files.readAllBytes(output)));
            try (Image image = Image.open(none); Builder builder = new Builder()) {
                builder.rewrite(image, output, true);
                same("#!/bin/sh\nDWARFS", new String(Files.readAllBytes(output), 0, 16));
            }
            Files.delete(none);
        });
    }

    private static byte[] concatenation(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    /** For callbacks that cannot throw exceptions of this kind. */
    private static void unchecked(Case body) {
        try {
            body.run();
        } catch (RuntimeException thrown) {
            throw thrown;
        } catch (Exception thrown) {
            throw new AssertionError(thrown);
        }
    }

    private static void closing() {
        test("what is closed throws", () -> {
            Image image = Image.open(file);
            Entry entry = image.find("big");
            DwarfsChannel channel = entry.newByteChannel();
            InputStream in = entry.newInputStream();
            Iterator<Entry> walk = image.iterator();
            image.close();
            image.close();
            fails(IllegalStateException.class, () -> image.find("big"));
            fails(IllegalStateException.class, image::blockSize);
            fails(IllegalStateException.class, image::walk);
            fails(IllegalStateException.class, entry::attributes);
            fails(IllegalStateException.class, entry::newInputStream);
            fails(IllegalStateException.class, () -> image.check(Image.Check.METADATA, null));
            // What was opened before goes on.
            same(BIG, in.readAllBytes());
            same(10, channel.read(ByteBuffer.allocate(10)));
            isTrue(walk.hasNext());
            while (walk.hasNext()) {
                walk.next();
            }
            in.close();
            channel.close();
            fails(IOException.class, in::read);
            fails(IOException.class, in::available);
            fails(ClosedChannelException.class, () -> channel.read(ByteBuffer.allocate(1)));
            fails(ClosedChannelException.class, channel::size);
            same(false, channel.isOpen());

            Path none = folder.resolve("none.dwarfs");
            fails(IllegalStateException.class, () -> image.extract(none, null));
            fails(IllegalStateException.class,
                () -> image.export(none, new ExportOptions(), null));
            Comparison comparison = new Comparison();
            fails(IllegalStateException.class, () -> comparison.a(image));
            comparison.close();
            fails(IllegalStateException.class, () -> comparison.run(null));
            Builder builder = sample();
            fails(IllegalStateException.class, () -> builder.addImage(image, ""));
            fails(IllegalStateException.class, () -> builder.rewrite(image, none, false));
            builder.close();
            fails(IllegalStateException.class, builder::toByteArray);
            fails(IllegalStateException.class, () -> builder.addInput(file));
            Task task = new Task();
            task.close();
            fails(IllegalStateException.class, task::cancel);
            fails(IllegalStateException.class,
                () -> Image.open(file, new Image.Options().task(task)));
            Context context = new Context();
            context.close();
            fails(IllegalStateException.class, () -> context.workers(1));
            fails(IllegalStateException.class, () -> new Builder(context));
            same(0L, Dwarfs.liveHandles());
        });
        test("an image and its files are closed while threads read", () -> {
            for (int round = 0; round < 20; round++) {
                Image image = Image.open(file);
                DwarfsChannel channel = image.find("big").newByteChannel();
                CountDownLatch started = new CountDownLatch(3);
                inParallel(4, number -> {
                    if (number == 3) {
                        waitFor(started);
                        image.close();
                        channel.close();
                        return;
                    }
                    boolean isStarted = false;
                    try {
                        while (true) {
                            channel.read(ByteBuffer.allocate(100_000), 0);
                            image.find("dir/text.txt").attributes();
                            if (!isStarted) {
                                isStarted = true;
                                started.countDown();
                            }
                        }
                    } catch (ClosedChannelException | IllegalStateException closed) {
                        isTrue(isStarted);
                    }
                });
            }
            same(0L, Dwarfs.liveHandles());
        });
        test("a builder is closed by its callback", () -> {
            Builder builder = new Builder().addDirectory(tree());
            builder.include(input -> {
                builder.close();
                return true;
            });
            isTrue(builder.toByteArray().length > 0);
            fails(IllegalStateException.class, builder::toByteArray);
            same(0L, Dwarfs.liveHandles());
        });
        test("what is forgotten is freed", () -> {
            forget();
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
            while (Dwarfs.liveHandles() > 0 && System.nanoTime() < end) {
                System.gc();
                Thread.sleep(10);
            }
            same(0L, Dwarfs.liveHandles());
        });
        test("10,000 images are opened and closed without growth", () -> {
            openAndClose(2000);
            long before = residentKilobytes();
            openAndClose(8000);
            long after = residentKilobytes();
            if (after - before > 16 << 10) {
                throw new AssertionError("from " + before + " to " + after + " kB");
            }
        });
    }

    /** Leave handles behind, one of them with a callback that refers to its owner. */
    private static void forget() throws IOException {
        InputStream in = Image.open(file).find("big").newInputStream();
        in.read();
        Builder builder = sample();
        builder.include(input -> builder.equals(input));
        Image.open(FileChannel.open(file), new Image.Options()).walk().iterator().next();
        new Context().log(Context.Level.WARN, (level, text) -> in.markSupported());
        isTrue(Dwarfs.liveHandles() >= 6);
    }

    private static void openAndClose(int times) throws IOException {
        ByteBuffer small; // one: direct buffers are freed by the garbage collector
        try (Builder builder = new Builder()) {
            byte[] image = builder.level(0).add("a", bytes("a")).toByteArray();
            small = ByteBuffer.allocateDirect(image.length).put(image).flip();
        }
        try (Context context = new Context().workers(0)) {
            Image.Options options = new Image.Options().context(context);
            for (int i = 0; i < times; i++) {
                try (Image image = Image.open(small, options)) {
                    image.find("a").attributes();
                }
            }
        }
    }

    private static long residentKilobytes() throws IOException {
        System.gc();
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("no VmRSS");
    }

    // -- java.nio.file

    private static void fileSystems() {
        test("a file system is made of a path, walked and read", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                isTrue(system.isReadOnly());
                try (Stream<Path> walk = Files.walk(system.getPath("/"))) {
                    same(13L, walk.count());
                }
                try (Stream<Path> walk = Files.walk(system.getPath("dir"))) {
                    same(List.of("dir", "dir/sub", "dir/sub/data", "dir/text.txt"),
                        walk.map(Path::toString).toList());
                }
                same("hello\n", Files.readString(system.getPath("dir", "text.txt")));
                same(BIG, Files.readAllBytes(system.getPath("/big")));
                same(-1L, Files.mismatch(system.getPath("/hard"),
                    system.getPath("/dir/text.txt")));
                Path copy = folder.resolve("big-copy");
                Files.copy(system.getPath("/big"), copy);
                same(BIG, Files.readAllBytes(copy));
                try (SeekableByteChannel channel = Files.newByteChannel(system.getPath("big"))) {
                    channel.position(7);
                    ByteBuffer one = ByteBuffer.allocate(1);
                    channel.read(one);
                    same(BIG[7], one.get(0));
                }
                try (DirectoryStream<Path> all = Files.newDirectoryStream(system.getPath("dir"),
                         "*.txt")) {
                    List<String> found = new ArrayList<>();
                    all.forEach(path -> found.add(path.toString()));
                    same(List.of("dir/text.txt"), found);
                }
            }
        });
        test("attributes of the views basic, posix, unix and user", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                Path text = system.getPath("/dir/text.txt");
                PosixFileAttributes found = Files.readAttributes(text,
                    PosixFileAttributes.class);
                same("rw-r-----", PosixFilePermissions.toString(found.permissions()));
                same("5", found.owner().getName());
                same("6", found.group().getName());
                same(found.owner(), system.getUserPrincipalLookupService()
                    .lookupPrincipalByName("5"));
                same(FileTime.from(Instant.ofEpochSecond(1_500_000_000, 123_456_789)),
                    Files.getLastModifiedTime(text));
                same(0100640, Files.getAttribute(text, "unix:mode"));
                same(2, Files.getAttribute(text, "unix:nlink"));
                try (FileSystem other = FileSystems.newFileSystem(file)) {
                    Path hard = system.getPath("hard");
                    Path copy = other.getPath("/dir/text.txt");
                    same(Files.getAttribute(text, "fileKey"), Files.getAttribute(hard, "fileKey"));
                    same(Files.getAttribute(text, "unix:dev"), Files.getAttribute(hard, "unix:dev"));
                    same(Files.getAttribute(text, "unix:ino"), Files.getAttribute(copy, "unix:ino"));
                    same(false, Files.getAttribute(text, "fileKey")
                        .equals(Files.getAttribute(copy, "fileKey")));
                    same(false, Files.getAttribute(text, "unix:dev")
                        .equals(Files.getAttribute(copy, "unix:dev")));
                }
                same(Map.of("size", 6L, "isRegularFile", true),
                    Files.readAttributes(text, "size,isRegularFile"));
                fails(IllegalArgumentException.class, () -> Files.getAttribute(text, "wrong"));
                UserDefinedFileAttributeView view = Files.getFileAttributeView(text,
                    UserDefinedFileAttributeView.class);
                same(List.of("a", "b"), view.list());
                ByteBuffer value = ByteBuffer.allocate(view.size("a"));
                same(2, view.read("a", value));
                fails(FileSystemException.class, () -> view.size("c"));
                isTrue(Files.isSameFile(text, system.getPath("hard")));
                isTrue(Files.isSymbolicLink(system.getPath("link")));
                isTrue(Files.isDirectory(system.getPath("link")));
                same(false, Files.isDirectory(system.getPath("link"),
                    LinkOption.NOFOLLOW_LINKS));
                isTrue(Files.isReadable(text));
                same(false, Files.isWritable(text));
                same(false, Files.isExecutable(text));
                same("dwarfs", Files.getFileStore(text).type());
            }
        });
        test("links are followed, and read", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                same("data", Files.readString(system.getPath("link/data")));
                same("/dir/sub/data", system.getPath("link/./data").toRealPath().toString());
                same("/dir/text.txt", system.getPath("link/../text.txt").toRealPath()
                    .toString());
                same("/dir/text.txt", system.getPath("absolute").toRealPath().toString());
                same("/absolute", system.getPath("none/../absolute")
                    .toRealPath(LinkOption.NOFOLLOW_LINKS).toString());
                same(system.getPath("dir/sub"),
                    Files.readSymbolicLink(system.getPath("link")));
                fails(NotLinkException.class,
                    () -> Files.readSymbolicLink(system.getPath("big")));
                fails(FileSystemLoopException.class,
                    () -> Files.readString(system.getPath("loop")));
                fails(FileSystemLoopException.class, system.getPath("loop")::toRealPath);
                fails(NotDirectoryException.class, system.getPath("big/.")::toRealPath);
                fails(NotDirectoryException.class, system.getPath("big/../dir")::toRealPath);
            }
        });
        test("a slash at the end of a link's target is for directories", () -> {
            Path links = folder.resolve("slashes.dwarfs");
            try (Builder builder = new Builder()) {
                builder.add("dir/file", Item.file(new byte[1]))
                    .add("to-file", Item.link("dir/file/")).add("to-dir", Item.link("dir/"));
                builder.write(links);
            }
            try (FileSystem system = FileSystems.newFileSystem(links)) {
                Path bad = system.getPath("to-file");
                fails(NotDirectoryException.class, () -> Files.readAllBytes(bad));
                fails(NotDirectoryException.class, bad::toRealPath);
                same(false, Files.exists(bad));
                isTrue(Files.exists(bad, LinkOption.NOFOLLOW_LINKS));
                same("/dir", system.getPath("to-dir").toRealPath().toString());
                same(1, Files.readAllBytes(system.getPath("to-dir/file")).length);
            }
        });
        test("a directory stream tells that the file system was closed", () -> {
            FileSystem system = FileSystems.newFileSystem(file);
            DirectoryStream<Path> stream = Files.newDirectoryStream(system.getPath("dir"));
            system.close();
            fails(ClosedFileSystemException.class, stream::iterator);
        });
        test("options may be repeated, and a closed stream reads nothing", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                Path text = system.getPath("/dir/text.txt");
                LinkOption no = LinkOption.NOFOLLOW_LINKS;
                isTrue(Files.isRegularFile(text, no, no));
                same(text, text.toRealPath(no, no));
                InputStream in = Files.newInputStream(text, StandardOpenOption.READ,
                    StandardOpenOption.READ);
                same(6, in.readAllBytes().length);
                in.close();
                fails(IOException.class, in::readAllBytes);
            }
        });
        test("formats of other providers are left to them", () -> {
            Path zip = folder.resolve("nested.zip");
            try (FileSystem made = FileSystems.newFileSystem(zip, Map.of("create", "true"))) {
                Files.copy(file, made.getPath("/x.dwarfs"));
            }
            var own = FileSystemProvider.installedProviders().stream()
                .filter(provider -> provider.getScheme().equals("dwarfs")).findFirst().get();
            fails(UnsupportedOperationException.class,
                () -> own.newFileSystem(zip, Map.of("create", "true")));
            fails(IllegalArgumentException.class,
                () -> own.newFileSystem(file, Map.of("create", "true")));
            try (FileSystem outer = FileSystems.newFileSystem(zip)) {
                fails(ProviderNotFoundException.class,
                    () -> FileSystems.newFileSystem(outer.getPath("/x.dwarfs")));
            }
        });
        test("errors are the exceptions of java.nio.file", () -> {
            FileSystem system = FileSystems.newFileSystem(file);
            Path missing = system.getPath("dir/missing");
            NoSuchFileException error = fails(NoSuchFileException.class,
                () -> Files.readString(missing));
            same("dir/missing", error.getFile());
            same(Code.NOT_FOUND, ((DwarfsException) error.getCause()).code());
            same(false, Files.exists(missing));
            fails(NoSuchFileException.class, missing::toRealPath);
            fails(NotDirectoryException.class,
                () -> Files.newDirectoryStream(system.getPath("big")));
            fails(FileSystemException.class, () -> Files.readString(system.getPath("dir")));
            for (Case writing : List.<Case>of(() -> Files.writeString(missing, ""),
                     () -> Files.createDirectory(missing), () -> Files.delete(missing),
                     () -> Files.newByteChannel(missing, StandardOpenOption.WRITE),
                     () -> Files.newByteChannel(missing, StandardOpenOption.CREATE_NEW),
                     () -> Files.move(system.getPath("big"), missing),
                     () -> Files.copy(system.getPath("big"), missing),
                     () -> Files.createSymbolicLink(missing, missing),
                     () -> Files.setLastModifiedTime(missing, FileTime.fromMillis(0)))) {
                fails(ReadOnlyFileSystemException.class, writing);
            }
            fails(InvalidPathException.class, () -> system.getPath("a\0b"));
            fails(ProviderMismatchException.class,
                () -> system.provider().checkAccess(Path.of("x")));
            fails(IllegalArgumentException.class, () -> FileSystems.newFileSystem(file,
                Map.of("wrong", 1)));
            for (Map<String, ?> env : List.of(Map.of("cacheBytes", "x"), Map.of("offset", 0.5),
                     Map.of("workers", 1L << 32), Map.of("workers", -1L << 32), Map.of("context", "x"),
                     Map.of("offset", "99999999999999999999"),
                     Collections.singletonMap("offset", null))) {
                fails(IllegalArgumentException.class,
                    () -> FileSystems.newFileSystem(file, env));
            }
            FileSystems.newFileSystem(file, Map.of("cacheBytes", 1e6, "workers", "2")).close();
            Path other = folder.resolve("other.bin");
            Files.write(other, new byte[100]);
            fails(ProviderNotFoundException.class, () -> FileSystems.newFileSystem(other));
            DirectoryStream<Path> listing = Files.newDirectoryStream(system.getPath("/"));
            system.close();
            fails(IllegalStateException.class, listing::iterator);
            fails(ClosedFileSystemException.class, () -> Files.readString(missing));
            fails(ClosedFileSystemException.class,
                () -> Files.newDirectoryStream(system.getPath("/")));
            same(false, system.isOpen());
        });
        test("closing a file system closes what was opened by it", () -> {
            FileSystem system = FileSystems.newFileSystem(file);
            Path big = system.getPath("big");
            long handles = Dwarfs.liveHandles();
            InputStream stream = Files.newInputStream(big);
            SeekableByteChannel channel = Files.newByteChannel(big);
            FileChannel fileChannel = FileChannel.open(big);
            DirectoryStream<Path> listing = Files.newDirectoryStream(system.getPath("/"));
            Iterator<Path> paths = listing.iterator();
            same(handles + 3, Dwarfs.liveHandles());
            FileStore store = Files.getFileStore(big);
            isTrue(store.getTotalSpace() > 0);
            Files.newInputStream(big).close();
            system.close();
            system.close();
            same(handles - 1, Dwarfs.liveHandles());
            fails(IOException.class, stream::read);
            fails(ClosedChannelException.class, () -> channel.read(ByteBuffer.allocate(1)));
            fails(ClosedChannelException.class, () -> fileChannel.read(ByteBuffer.allocate(1)));
            same(false, channel.isOpen());
            same(false, fileChannel.isOpen());
            same(false, paths.hasNext());
            fails(ClosedFileSystemException.class, store::getTotalSpace);
            fails(ClosedFileSystemException.class, () -> FileChannel.open(big));
        });
        test("files are file channels", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file);
                 FileChannel channel = FileChannel.open(system.getPath("big"))) {
                ByteBuffer small = ByteBuffer.allocate(10);
                ByteBuffer large = ByteBuffer.allocateDirect(BIG.length);
                same((long) BIG.length, channel.size());
                same((long) BIG.length, channel.read(new ByteBuffer[] {small, large}));
                same(-1L, channel.read(new ByteBuffer[] {large}));
                same((long) BIG.length, channel.position());
                same(BIG[9], small.get(9));
                same(BIG[10], large.get(0));
                same(5, channel.position(BIG.length - 5).read(small.clear()));
                same(10, channel.read(small.clear(), 100));
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                same((long) BIG.length - 7, channel.transferTo(7, Long.MAX_VALUE,
                    Channels.newChannel(out)));
                same(Arrays.copyOfRange(BIG, 7, BIG.length), out.toByteArray());
                MappedByteBuffer mapped = channel.map(MapMode.READ_ONLY, 1000, 50);
                byte[] part = new byte[50];
                mapped.get(part);
                same(Arrays.copyOfRange(BIG, 1000, 1050), part);
                fails(IllegalArgumentException.class,
                    () -> channel.map(MapMode.READ_ONLY, BIG.length, 1));
                FileLock lock = channel.lock(0, 10, true);
                isTrue(lock.isValid());
                lock.release();
                same(false, lock.isValid());
                fails(IllegalArgumentException.class,
                    () -> channel.transferTo(-1, 0, Channels.newChannel(out)));
                fails(NonWritableChannelException.class, () -> channel.write(small));
                fails(NonWritableChannelException.class, channel::lock);
                fails(NonWritableChannelException.class, () -> channel.truncate(1));
                fails(NonWritableChannelException.class,
                    () -> channel.map(MapMode.READ_WRITE, 0, 1));
                fails(ReadOnlyFileSystemException.class,
                    () -> FileChannel.open(system.getPath("big"), StandardOpenOption.WRITE));
                fails(NoSuchFileException.class, () -> FileChannel.open(system.getPath("none/x")));
            }
        });
        test("URIs of the scheme dwarfs", () -> {
            URI uri = URI.create("dwarfs:" + file.toUri());
            fails(FileSystemNotFoundException.class, () -> Path.of(URI.create(uri + "!/big")));
            try (FileSystem system = FileSystems.newFileSystem(uri,
                     Map.of("cacheBytes", 1 << 20, "workers", "1"))) {
                same(system, FileSystems.getFileSystem(uri));
                fails(FileSystemAlreadyExistsException.class,
                    () -> FileSystems.newFileSystem(uri, Map.of()));
                same("hello\n", Files.readString(Path.of(URI.create(uri + "!/dir/text.txt"))));
                try (Stream<Path> walk = Files.walk(system.getPath("/"))) {
                    for (Path path : walk.toList()) {
                        same(path, Path.of(path.toUri()));
                    }
                }
                same(1L << 16, DwarfsFileSystemProvider.imageOf(system).blockSize());
                same(system.getPath("/a \ud83d\ude00\u00fc"),
                    Path.of(URI.create(uri + "!/a%20\ud83d\ude00\u00fc")));
            }
            fails(FileSystemNotFoundException.class, () -> FileSystems.getFileSystem(uri));
            fails(IllegalArgumentException.class,
                () -> FileSystems.newFileSystem(URI.create("dwarfs:x"), Map.of()));
        });
        test("URLs of the scheme dwarfs", () -> {
            String base = "dwarfs:" + file.toUri() + "!";
            long handles = Dwarfs.liveHandles();
            URL url = new URL(base + "/dir/text.txt");
            try (InputStream stream = url.openStream()) {
                same("hello\n", new String(stream.readAllBytes(), StandardCharsets.UTF_8));
            }
            same(handles, Dwarfs.liveHandles());
            same(base + "/dir/sub/data", new URL(url, "sub/data").toString());
            same(base + "/big", new URL(url, "../big").toString());
            same(base + "/big", new URL(url, "/big").toString());
            fails(MalformedURLException.class, () -> new URL("dwarfs:" + file.toUri()));
            fails(NoSuchFileException.class, () -> new URL(base + "/missing").openStream());
            fails(FileSystemException.class, () -> new URL(base + "/dir").openStream());
            fails(IOException.class, () -> new URL("dwarfs:file:///none.dwarfs!/x").openStream());
            Path other = Files.writeString(folder.resolve("no image"), "text");
            fails(IOException.class,
                () -> new URL("dwarfs:" + other.toUri() + "!/x").openStream());
            for (String odd : List.of("http://h/x.dwarfs", "x.dwarfs", "", "/x.dwarfs",
                                      "jar:file:///x.jar!/x.dwarfs")) {
                URL unknown = new URL("dwarfs:" + odd + "!/x");
                fails(MalformedURLException.class, unknown::openStream);
                same(-1L, unknown.openConnection().getContentLengthLong());
            }
            fails(UnknownServiceException.class, () -> url.openConnection().getOutputStream());
            same(handles, Dwarfs.liveHandles());
            same(-1L, new URL(base + "/missing").openConnection().getContentLengthLong());
            URLConnection connection = url.openConnection();
            same(6L, connection.getContentLengthLong());
            same(6, connection.getContentLength());
            same(1_500_000_000_123L, connection.getLastModified());
            same("text/plain", connection.getContentType());
            connection.getInputStream().close();
            same(handles, Dwarfs.liveHandles());
            try (FileSystem system = FileSystems.newFileSystem(URI.create("dwarfs:" + file.toUri()),
                     Map.of());
                 Stream<Path> walk = Files.walk(system.getPath("/"))) {
                handles = Dwarfs.liveHandles();
                for (Path path : walk.filter(Files::isRegularFile).toList()) {
                    InputStream stream = path.toUri().toURL().openStream();
                    same(handles + 1, Dwarfs.liveHandles()); // a file of the open image
                    same(Files.readAllBytes(path), stream.readAllBytes());
                    stream.close();
                }
            }
            try (URLClassLoader loader = new URLClassLoader(new URL[] {new URL(base + "/dir/")})) {
                same(url, loader.getResource("text.txt"));
                same(null, loader.getResource("missing"));
            }
        });
        test("paths are composed and taken apart", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                Path path = system.getPath("/a//b/../c/");
                same("/a/b/../c", path.toString());
                same("/a/c", path.normalize().toString());
                same("c", path.getFileName().toString());
                same("/a/b/..", path.getParent().toString());
                same(4, path.getNameCount());
                same("b/..", path.subpath(1, 3).toString());
                same("/", path.getRoot().toString());
                same(null, system.getPath("/").getFileName());
                same(null, system.getPath("a").getParent());
                same("/", system.getPath("/a").getParent().toString());
                same("../c/d", system.getPath("/a/b").relativize(system.getPath("/a/c/d"))
                    .toString());
                same("", system.getPath("/a").relativize(system.getPath("/a")).toString());
                same("b", system.getPath("a/.").relativize(system.getPath("a/./b")).toString());
                same("./b", system.getPath("").relativize(system.getPath("./b")).toString());
                same("../b", system.getPath("x/../a").relativize(system.getPath("b"))
                    .toString());
                fails(IllegalArgumentException.class,
                    () -> system.getPath("../a").relativize(system.getPath("b")));
                same("/a/x", system.getPath("/a").resolve("x").toString());
                same("/x", system.getPath("/a").resolve("/x").toString());
                same("a/y", system.getPath("a/x").resolveSibling("y").toString());
                isTrue(path.startsWith("/a/b"));
                same(false, path.startsWith("/a/bc"));
                isTrue(path.endsWith("../c"));
                same("../x", system.getPath("../x").normalize().toString());
                same("/x", system.getPath("/../x").normalize().toString());
                same(1, system.getPath("").getNameCount());
                same("/", system.getPath("").toAbsolutePath().toString());
                isTrue(Files.isDirectory(system.getPath("")));
                isTrue(system.getPath("a").compareTo(system.getPath("b")) < 0);
            }
        });
        test("a path is resolved by one of another image", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file);
                 FileSystem other = FileSystems.newFileSystem(file)) {
                Path text = other.getPath("dir/text.txt");
                same(system.getPath("/dir/text.txt"), system.getPath("/").resolve(text));
                same(system.getPath("dir/text.txt"), system.getPath("").resolve(text));
                same(system.getPath("a/dir/text.txt"), system.getPath("a/b").resolveSibling(text));
                same(other.getPath("/a"), system.getPath("/b").resolve(other.getPath("/a")));
                same(system.getPath(""), system.getPath("").resolve(other.getPath("")));
                Path own = system.getPath("dir/text.txt");
                same(Integer.signum(own.compareTo(text)), -Integer.signum(text.compareTo(own)));
                same(2, new TreeSet<>(List.of(text, own, system.getPath("a").resolveSibling(own)))
                    .size());
                isTrue(own.compareTo(other.getPath("dir/u")) < 0 && text.compareTo(own) != 0);
                fails(ClassCastException.class, () -> own.compareTo(Path.of("dir")));
                fails(IllegalArgumentException.class,
                    () -> system.getPath("dir").relativize(text));
                fails(ProviderMismatchException.class,
                    () -> system.getPath("/").resolve(Path.of("x")));
            }
        });
        test("a directory that exists need not be created", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                Path dir = system.getPath("/dir/sub");
                same(dir, Files.createDirectories(dir));
                same(system.getPath("/"), Files.createDirectories(system.getPath("/")));
                fails(FileAlreadyExistsException.class, () -> Files.createDirectory(dir));
                fails(FileAlreadyExistsException.class,
                    () -> Files.createDirectories(system.getPath("/big")));
                fails(ReadOnlyFileSystemException.class,
                    () -> Files.createDirectories(dir.resolve("new")));
            }
        });
        test("patterns match paths", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                String[][] cases = {
                    {"*.java", "a.java", "b/a.java"},
                    {"**.java", "b/a.java", "b/a.jav"},
                    {"?.{txt,md}", "a.md", "ab.md"},
                    {"[!a-c]x", "dx", "bx"},
                    {"[a^-]", "-", "b"},
                    {"a\\*", "a*", "ab"},
                    {"/a/**", "/a/b/c", "/a"},
                    {"odd*", Names.decode(ODD), "od"},
                    {"(.)+$", "(.)+$", "x"},
                };
                for (String[] row : cases) {
                    isTrue(system.getPathMatcher("glob:" + row[0])
                        .matches(system.getPath(row[1])));
                    same(false, system.getPathMatcher("glob:" + row[0])
                        .matches(system.getPath(row[2])));
                }
                isTrue(system.getPathMatcher("regex:a+").matches(system.getPath("aa")));
                fails(IllegalArgumentException.class, () -> system.getPathMatcher("glob:{a"));
                fails(IllegalArgumentException.class, () -> system.getPathMatcher("glob:[a"));
                fails(UnsupportedOperationException.class,
                    () -> system.getPathMatcher("other:a"));
            }
        });
        test("two threads walk a file system", () -> {
            try (FileSystem system = FileSystems.newFileSystem(file)) {
                inParallel(2, number -> {
                    for (int i = 0; i < 20; i++) {
                        try (Stream<Path> walk = Files.walk(system.getPath("/"))) {
                            same(13L, walk.filter(Files::isReadable).count() + 1);
                        }
                    }
                });
            }
        });
    }
}
