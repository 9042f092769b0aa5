// SPDX-License-Identifier: MIT

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.libdwarfs.Entry;
import org.libdwarfs.Image;

/**
 * Files read per second from Java: all of them, and some at random, from images and zip archives
 * by java.nio.file, and from images by the class Image. Each measurement is the best of three
 * after one that does not count; each opens the archive anew.
 *
 * <pre>
 * java -Djava.library.path=BUILD/bindings/java -cp BUILD/bindings/java/dwarfs-0.1.0.jar
 *      bench/ReadAll.java RANDOM_FILES ARCHIVE...
 * </pre>
 *
 * <p>With a list of paths in a file *.list it prints the lines that bench/bindings.py expects, and
 * waits for a byte of input before each measurement:
 *
 * <pre>
 * ReadAll.java TIMES LIST ARCHIVE...
 * </pre>
 */
public final class ReadAll {
    private static final byte[] BUFFER = new byte[1 << 16];

    interface Job {
        /** Returns files and bytes. */
        long[] run() throws IOException;
    }

    private static long drain(InputStream in) throws IOException {
        long bytes = 0;
        try (in) {
            for (int count; (count = in.read(BUFFER)) > 0; bytes += count) {
            }
        }
        return bytes;
    }

    private static List<String> files(FileSystem system) throws IOException {
        List<String> all = new ArrayList<>();
        try (Stream<Path> paths = Files.walk(system.getPath("/"))) {
            paths.filter(path -> Files.isRegularFile(path, java.nio.file.LinkOption.NOFOLLOW_LINKS))
                .forEach(path -> all.add(path.toString()));
        }
        return all;
    }

    private static long[] readAll(Path archive) throws IOException {
        long[] sum = new long[2];
        try (FileSystem system = FileSystems.newFileSystem(archive)) {
            for (String path : files(system)) {
                sum[0]++;
                sum[1] += drain(Files.newInputStream(system.getPath(path)));
            }
        }
        return sum;
    }

    private static long[] readSome(Path archive, int count) throws IOException {
        long[] sum = new long[2];
        try (FileSystem system = FileSystems.newFileSystem(archive)) {
            List<String> all = files(system);
            Collections.sort(all);
            Random random = new Random(1);
            for (int i = 0; i < count; i++) {
                sum[0]++;
                sum[1] += drain(Files.newInputStream(
                    system.getPath(all.get(random.nextInt(all.size())))));
            }
        }
        return sum;
    }

    private static long[] readImage(Path archive) throws IOException {
        long[] sum = new long[2];
        try (Image image = Image.open(archive);
             Stream<Entry> walk = image.walk(image.root(), Image.Order.DATA)) {
            for (Entry entry : (Iterable<Entry>) walk::iterator) {
                if (entry.attributes().isFile()) {
                    sum[0]++;
                    sum[1] += drain(entry.newInputStream());
                }
            }
        }
        return sum;
    }

    private static long[] listAll(Path archive) throws IOException {
        try (FileSystem system = FileSystems.newFileSystem(archive)) {
            return new long[] {files(system).size(), 0};
        }
    }

    private static void measure(String what, Path archive, Job job) throws IOException {
        double best = Double.MAX_VALUE;
        long[] sum = job.run();
        for (int i = 0; i < 3; i++) {
            long start = System.nanoTime();
            sum = job.run();
            best = Math.min(best, (System.nanoTime() - start) / 1e9);
        }
        System.out.printf("%-28s %-24s %8d files %6d MB %8.3f s %9.0f files/s%n",
            archive.getFileName(), what, sum[0], sum[1] / 1_000_000, best, sum[0] / best);
    }

    private static long[] readListed(Path archive, List<String> paths) throws IOException {
        long[] sum = {paths.size(), 0};
        try (FileSystem system = FileSystems.newFileSystem(archive)) {
            for (String path : paths) {
                sum[1] += drain(Files.newInputStream(system.getPath(path)));
            }
        }
        return sum;
    }

    private static long[] statListed(FileSystem system, List<String> paths) throws IOException {
        long[] sum = {paths.size(), 0};
        for (String path : paths) {
            sum[1] += Files.readAttributes(system.getPath(path), BasicFileAttributes.class).size();
        }
        return sum;
    }

    private static long[] readImageInTreeOrder(Path archive) throws IOException {
        long[] sum = new long[2];
        try (Image image = Image.open(archive)) {
            for (Entry entry : image) {
                if (entry.attributes().isFile()) {
                    sum[0]++;
                    sum[1] += entry.readAllBytes().length;
                }
            }
        }
        return sum;
    }

    private static long[] readListedOfImage(Path archive, List<String> paths) throws IOException {
        long[] sum = {paths.size(), 0};
        try (Image image = Image.open(archive)) {
            for (String path : paths) {
                sum[1] += image.readAllBytes(path).length;
            }
        }
        return sum;
    }

    private static long[] statListedOfImage(Image image, List<String> paths) throws IOException {
        long[] sum = {paths.size(), 0};
        for (String path : paths) {
            sum[1] += image.findFollowed(path).attributes().size();
        }
        return sum;
    }

    private static void print(String reader, String what, Job job) throws IOException {
        System.out.printf("begin\t%s\t%s%n", reader, what);
        System.out.flush();
        System.in.read();
        long[] sum = job.run();
        System.out.printf("end\t%d\t%d%n", sum[0], sum[1]);
        System.out.flush();
    }

    private static void printArchive(Path archive, List<String> paths) throws IOException {
        boolean isZip = archive.toString().endsWith(".zip");
        String reader = "Java, " + (isZip ? "zipfs" : "java.nio.file");
        print(reader, "all", () -> readAll(archive));
        print(reader, "random", () -> readListed(archive, paths));
        try (FileSystem system = FileSystems.newFileSystem(archive)) {
            print(reader, "stat", () -> statListed(system, paths));
        }
        if (isZip) {
            return;
        }
        print("Java", "all", () -> readImageInTreeOrder(archive));
        print("Java", "random", () -> readListedOfImage(archive, paths));
        try (Image image = Image.open(archive)) {
            print("Java", "stat", () -> statListedOfImage(image, paths));
        }
    }

    private static void printAll(int times, Path list, List<String> archives)
        throws IOException {
        List<String> paths = Files.readAllLines(list);
        for (int i = 0; i < times; i++) {
            for (String archive : archives) {
                printArchive(Path.of(archive), paths);
            }
        }
    }

    public static void main(String[] args) throws IOException {
        if (args.length > 1 && args[1].endsWith(".list")) {
            List<String> words = List.of(args);
            printAll(Integer.parseInt(args[0]), Path.of(args[1]), words.subList(2, words.size()));
            return;
        }
        int count = Integer.parseInt(args[0]);
        for (int i = 1; i < args.length; i++) {
            Path archive = Path.of(args[i]);
            measure("list", archive, () -> listAll(archive));
            measure("all, java.nio.file", archive, () -> readAll(archive));
            if (!args[i].endsWith(".zip")) {
                measure("all, Image in data order", archive, () -> readImage(archive));
            }
            measure("random, java.nio.file", archive, () -> readSome(archive, count));
        }
    }
}
