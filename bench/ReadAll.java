// SPDX-License-Identifier: MIT

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
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

    public static void main(String[] args) throws IOException {
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
