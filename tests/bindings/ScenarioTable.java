// SPDX-License-Identifier: MIT

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.libdwarfs.Attributes;
import org.libdwarfs.Builder;
import org.libdwarfs.Comparison;
import org.libdwarfs.Difference;
import org.libdwarfs.Dwarfs;
import org.libdwarfs.DwarfsChannel;
import org.libdwarfs.DwarfsException;
import org.libdwarfs.Entry;
import org.libdwarfs.ExportOptions;
import org.libdwarfs.ExtractOptions;
import org.libdwarfs.Image;
import org.libdwarfs.ImportOptions;
import org.libdwarfs.Names;
import org.libdwarfs.Task;

/** The cases of test_scenarios.py in Java; Scenarios.java has what only Java has. */
class ScenarioTable {
    private static final String TEXT = "first\nsecond\nthird";
    private static final String ODD = Names.decode(new byte[] {(byte) 0xff, (byte) 0xfe});

    private static Path folder;
    private static Path tree;
    private static Path file;
    private static Image image;

    interface Case {
        void run() throws Exception;
    }

    private static void test(String name, Case body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Throwable thrown) {
            System.out.println("not ok " + name + ": " + thrown + " "
                + Arrays.toString(thrown.getStackTrace()));
        }
    }

    private static void same(Object found, Object wanted) {
        if (!java.util.Objects.deepEquals(found, wanted)) {
            throw new AssertionError(found + ", not " + wanted);
        }
    }

    private static <T extends Throwable> T fails(Class<T> type, Case body) {
        try {
            body.run();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            throw new AssertionError("not " + type.getName(), thrown);
        }
        throw new AssertionError("nothing was thrown");
    }

    /** The exception of a call that fails with this number. */
    private static DwarfsException fails(int number, Case body) {
        DwarfsException error = fails(DwarfsException.class, body);
        same(error.number(), number);
        return error;
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static List<String> paths(Stream<Entry> entries) {
        try (entries) {
            return entries.map(Entry::path).sorted().toList();
        }
    }

    private static List<Difference> differences(Image a, Path b) throws IOException {
        try (Comparison comparison = new Comparison()) {
            return comparison.a(a).b(b).run(null);
        }
    }

    private static void pack(Path output, boolean overwrite) throws IOException {
        try (Builder builder = new Builder().level(1).addDirectory(tree)) {
            builder.write(output, overwrite);
        }
    }

    private static void waitFor(CountDownLatch latch) {
        try {
            same(latch.await(60, TimeUnit.SECONDS), true);
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    /** Until the garbage collector has freed what was forgotten. */
    private static void waitForHandles(long count) throws InterruptedException {
        for (int i = 0; i < 500 && Dwarfs.liveHandles() > count; i++) {
            System.gc();
            Thread.sleep(10);
        }
        same(Dwarfs.liveHandles(), count);
    }

    public static void main(String[] arguments) throws Exception {
        folder = Path.of(arguments[0]);
        tree = folder.resolve("tree");
        file = folder.resolve("x.dwarfs");
        packing();
        image = Image.open(file);
        reading();
        failing();
        operations();
        lifetimes();
    }

    private static void packing() {
        test("pack", () -> {
            pack(file, false);
            fails(-12, () -> pack(file, false));
            pack(file, true);
        });
        test("callback chooses", () -> {
            List<String> seen = new ArrayList<>();
            try (Builder builder = new Builder().addDirectory(tree).include(input -> {
                     seen.add(input.path() + " " + input.size());
                     return !input.path().endsWith("~");
                 })) {
                builder.write(folder.resolve("c.dwarfs"));
            }
            same(Collections.frequency(seen, "a.txt 18"), 1);
            try (Image chosen = Image.open(folder.resolve("c.dwarfs"))) {
                same(chosen.find("a.txt").path(), "a.txt");
                fails(-9, () -> chosen.find("skip~"));
            }
        });
        test("callback raises", () -> {
            Path output = folder.resolve("r.dwarfs");
            RuntimeException mine = new RuntimeException("why");
            try (Builder builder = new Builder().addDirectory(tree)) {
                builder.include(input -> {
                    throw mine;
                });
                same(fails(RuntimeException.class, () -> builder.write(output)), mine);
            }
            try (Task task = new Task(now -> {
                     throw mine;
                 });
                 Builder builder = new Builder().addDirectory(tree).task(task)) {
                same(fails(RuntimeException.class, () -> builder.write(output)), mine);
            }
            same(Files.exists(output), false);
        });
        test("progress", () -> {
            List<String> phases = new ArrayList<>();
            try (Task task = new Task(now -> phases.add(now.phase()));
                 Builder builder = new Builder().addDirectory(tree).task(task)) {
                builder.write(folder.resolve("p.dwarfs"));
            }
            same(phases.get(phases.size() - 1), "done");
        });
        test("cancel", () -> {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch cancelled = new CountDownLatch(1);
            Path output = folder.resolve("k.dwarfs");
            try (Task task = new Task(now -> {
                     begun.countDown();
                     waitFor(cancelled);
                 });
                 Builder builder = new Builder().addDirectory(tree).task(task)) {
                Thread other = new Thread(() -> {
                    waitFor(begun);
                    task.cancel();
                    cancelled.countDown();
                });
                other.start();
                fails(-15, () -> builder.write(output));
                other.join();
            }
            same(Files.exists(output), false);
        });
    }

    private static void reading() {
        test("open path", () -> {
            same(image.check(Image.Check.INTEGRITY, null), List.of());
            same(image.size(), Files.size(file));
        });
        test("open bytes", () -> {
            try (Image copy = Image.open(Files.readAllBytes(file))) {
                System.gc();
                same(text(copy.readAllBytes("a.txt")), TEXT);
            }
        });
        test("stat", () -> {
            Attributes found = image.find("a.txt").attributes();
            same(found.size(), 18L);
            same(found.mode(), Files.getAttribute(tree.resolve("a.txt"), "unix:mode"));
            same(found.uid(), ((Number) Files.getAttribute(tree.resolve("a.txt"), "unix:uid"))
                .longValue());
            same(found.modificationTime().to(TimeUnit.SECONDS),
                Files.getLastModifiedTime(tree.resolve("a.txt")).to(TimeUnit.SECONDS));
            same(found.isFile(), true);
            same(image.find("link").attributes().isLink(), true);
            same(image.findFollowed("link").attributes().size(), 256_000L);
        });
        test("list", () -> {
            same(paths(image.root().list().stream()),
                Stream.of("a.txt", "link", "skip~", "sub", ODD).sorted().toList());
            same(paths(image.find("sub").list().stream()), List.of("sub/b.bin"));
            fails(-10, () -> image.find("a.txt").list());
        });
        test("walk", () -> {
            same(paths(image.walk()), Stream.of("", "a.txt", "link", "skip~", "sub",
                "sub/b.bin", ODD).sorted().toList());
            same(paths(image.walk(image.root(), Image.Order.DATA)), paths(image.walk()));
            same(paths(image.walk(image.find("sub"), Image.Order.TREE)),
                List.of("sub", "sub/b.bin"));
        });
        test("bytes in names", () -> {
            byte[] name = {(byte) 0xff, (byte) 0xfe};
            same(text(image.find(name, false).readAllBytes()), "bytes");
            same(text(image.readAllBytes(ODD)), "bytes");
            same(image.find(ODD).pathBytes(), name);
            fails(-9, () -> image.find("\u263a"));
            fails(InvalidPathException.class, () -> image.find("a.txt\0"));
        });
        test("pread", () -> {
            try (DwarfsChannel channel = image.find("sub/b.bin").newByteChannel()) {
                ByteBuffer three = ByteBuffer.allocate(3);
                same(channel.read(three, 255), 3);
                same(three.array(), new byte[] {(byte) 0xff, 0, 1});
                same(channel.read(ByteBuffer.allocate(1000), 255_990), 10);
                same(channel.read(ByteBuffer.allocate(1), 1L << 40), -1);
                fails(IllegalArgumentException.class,
                    () -> channel.read(ByteBuffer.allocate(1), -1));
            }
        });
        test("seek", () -> {
            try (DwarfsChannel channel = image.find("sub/b.bin").newByteChannel()) {
                ByteBuffer room = ByteBuffer.allocate(10);
                same(channel.position(255_998).read(room), 2);
                same(channel.position(), 256_000L);
                same(channel.read(room), -1);
                fails(IllegalArgumentException.class, () -> channel.position(-1));
                same(channel.position(300_000).read(room), -1);
                same(channel.position(2).read(room.clear()), 10);
                same(room.get(0), (byte) 2);
            }
        });
        test("lines", () -> {
            try (InputStream in = image.find("a.txt").newInputStream()) {
                same(new String(in.readAllBytes()).lines().toList(),
                    List.of("first", "second", "third"));
            }
        });
        test("xattr", () -> {
            same(image.find("a.txt").xattrs().get("user.note"), new byte[] {'v', 0, 'w'});
            same(image.find("sub").xattrs().get("user.note"), null);
        });
        test("link target", () -> {
            same(image.find("link").linkTarget(), "sub/b.bin");
            same(image.readAllBytes("link").length, 256_000);
            fails(-2, () -> image.find("sub").linkTarget());
        });
    }

    private static void failing() {
        test("missing file", () -> {
            DwarfsException error = fails(-9, () -> image.find("sub/none"));
            same(error.path(), "sub/none");
            same(error.getMessage().contains("none"), true);
            same(fails(-9, () -> Image.open(folder.resolve("none"))).errno(), 2);
            DwarfsException directory = fails(-11, () -> image.readAllBytes("sub"));
            same(directory.getMessage(), "'sub' is a directory");
            same(directory.path(), "sub");
            same(fails(-10, () -> image.find("sub/b.bin").list()).getMessage(),
                "'sub/b.bin' is not a directory");
            same(fails(-10, () -> image.find("a.txt").get("b")).getMessage(),
                "'a.txt' is not a directory");
            same(fails(-2, () -> image.find("a.txt").linkTarget()).getMessage(),
                "'a.txt' is not a link");
        });
        test("not an image", () -> {
            fails(-7, () -> Image.open(tree.resolve("a.txt")));
            fails(-7, () -> Image.open(new byte[0]));
        });
        test("damaged image", () -> {
            Path damaged = folder.resolve("d.dwarfs");
            byte[] data = Files.readAllBytes(file);
            data[80] ^= 1;
            Files.write(damaged, data);
            try (Image opened = Image.open(damaged)) {
                DwarfsException error = fails(-6, () -> opened.readAllBytes("sub/b.bin"));
                same(error.path(), damaged.toString());
                same(error.getMessage().contains("'sub/b.bin'"), true);
                same(error.offset().getAsLong(), 0L);
            }
            Files.write(damaged, Arrays.copyOf(data, data.length - 1));
            DwarfsException error = fails(-5, () -> Image.open(damaged));
            same(error.path(), damaged.toString());
            same(error.offset().getAsLong() > 0, true);
        });
    }

    private static void operations() {
        Path tar = folder.resolve("x.tar");
        Path none = folder.resolve("none");
        test("extract", () -> {
            Path copy = folder.resolve("extracted");
            ExtractOptions part = new ExtractOptions().addPattern("sub/");
            image.extract(copy, part, null);
            same(Files.size(copy.resolve("sub/b.bin")), 256_000L);
            same(Files.exists(copy.resolve("a.txt")), false);
            same(fails(-12, () -> image.extract(copy, part, null)).path().endsWith("sub/b.bin"),
                true);
            image.extract(folder.resolve("extracted2"), null);
            same(differences(image, folder.resolve("extracted2")), List.of());
            fails(-2, () -> image.extract(none, new ExtractOptions().addPattern("["), null));
            fails(-9, () -> image.extract(none.resolve("copy"), null));
        });
        test("export", () -> {
            image.export(tar, new ExportOptions(), null);
            same(text(Files.readAllBytes(tar)).contains("ustar"), true);
            fails(-2, () -> image.export(folder.resolve("x.unknown"), new ExportOptions(), null));
        });
        test("import", () -> {
            Path imported = folder.resolve("i.dwarfs");
            try (Builder builder = new Builder().addArchive(tar, new ImportOptions())) {
                builder.write(imported);
            }
            same(differences(image, imported), List.of());
            Path more = Files.createDirectory(folder.resolve("more"));
            Files.writeString(more.resolve("a.txt"), "other");
            try (Builder builder = new Builder()) {
                builder.addInput(tar).addImage(image, "").addInput(more).write(imported, true);
                fails(-8, () -> new Builder().addArchive(tree.resolve("a.txt"),
                    new ImportOptions()));
                fails(-9, () -> new Builder().addArchive(none, new ImportOptions()));
            }
            try (Image merged = Image.open(imported)) {
                same(text(merged.readAllBytes("a.txt")), "other");
                same(text(merged.readAllBytes("skip~")), "old");
            }
        });
        test("compare", () -> {
            same(differences(image, tree), List.of());
            same(differences(image, folder.resolve("i.dwarfs")).stream()
                .filter(found -> found.kind() == Difference.Kind.SIZE).toList(),
                List.of(new Difference(Difference.Kind.SIZE, "a.txt", null, "18", "5")));
            same(differences(image, folder.resolve("c.dwarfs")).stream()
                .anyMatch(found -> found.path().equals("skip~")), true);
            fails(-9, () -> differences(image, none));
        });
        test("rewrite", () -> {
            Path output = folder.resolve("rewritten.dwarfs");
            try (Builder builder = new Builder().compression("null")) {
                builder.rewrite(image, output, false, Builder.Rewrite.BLOCKS);
            }
            same(differences(image, output), List.of());
            try (Builder builder = new Builder()) {
                fails(-12, () -> builder.rewrite(image, output, false));
            }
        });
    }

    private static void lifetimes() throws Exception {
        test("wrong type", () -> {
            fails(NullPointerException.class, () -> Image.open((Path) null));
            fails(NullPointerException.class, () -> image.find((String) null));
            fails(NullPointerException.class, () -> new Builder().addDirectory(null));
            fails(NullPointerException.class, () -> new Builder().addImage(null, ""));
        });
        test("use after close", () -> {
            Image closed = Image.open(file);
            Entry entry = closed.find("a.txt");
            InputStream in = entry.newInputStream();
            DwarfsChannel channel = entry.newByteChannel();
            closed.close();
            closed.close();
            same(text(in.readNBytes(5)), "first");
            for (Case use : List.<Case>of(closed::walk, closed::size, entry::list, entry::attributes,
                     entry::linkTarget, entry::xattrs, entry::newInputStream,
                     () -> closed.find("a.txt"), () -> closed.extract(folder.resolve("w"), null),
                     () -> new Builder().addImage(closed, ""))) {
                fails(IllegalStateException.class, use);
            }
            in.close();
            channel.close();
            fails(IOException.class, in::read);
            fails(ClosedChannelException.class, () -> channel.read(ByteBuffer.allocate(1), 0));
        });
        test("children keep parents", () -> {
            InputStream in = Image.open(file).find("a.txt").newInputStream();
            Iterator<Entry> walk = Image.open(file).iterator();
            System.gc();
            same(text(in.readNBytes(5)), "first");
            same(walk.next().path(), "");
            same(walk.next().attributes().inode() > 0, true);
            in.close();
        });
        test("open and close", () -> {
            ByteBuffer data = ByteBuffer.allocateDirect((int) Files.size(file));
            data.put(Files.readAllBytes(file)).flip();
            long before = 0;
            for (int i = 0; i < 10_000; i++) {
                Image.open(data, new Image.Options()).close();
                if (i == 2000) {
                    before = resident();
                }
            }
            long more = resident() - before;
            same(more > 16 << 20 ? more : 0L, 0L);
        });
        test("threads", () -> {
            List<FutureTask<Integer>> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                all.add(new FutureTask<>(() -> {
                    int sum = 0;
                    for (int j = 0; j < 20; j++) {
                        sum += image.readAllBytes("sub/b.bin").length;
                    }
                    return sum;
                }));
                new Thread(all.get(i)).start();
            }
            for (FutureTask<Integer> one : all) {
                same(one.get(), 20 * 256_000);
            }
        });
        test("handles", () -> {
            image.close();
            waitForHandles(0);
        });
    }

    private static long resident() throws IOException {
        System.gc();
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096;
    }
}
