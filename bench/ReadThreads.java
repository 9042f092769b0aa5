// SPDX-License-Identifier: MIT

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.libdwarfs.Context;
import org.libdwarfs.Image;

/**
 * What bench/threads.py measures, in Java; as read_threads.c.
 *
 * <pre>
 * ReadThreads.java shared|own IMAGE LIST...
 * </pre>
 */
public final class ReadThreads {
    private ReadThreads() {
    }

    private static long read(Image image, List<String> paths) throws IOException {
        long bytes = 0;
        for (String path : paths) {
            bytes += image.readAllBytes(path).length;
        }
        return bytes;
    }

    private static Image open(Path archive) throws IOException {
        try (Context context = new Context().workers(0)) {
            return Image.open(archive, new Image.Options().context(context));
        }
    }

    private static long readOwn(Path archive, List<String> paths) throws IOException {
        try (Image image = open(archive)) {
            return read(image, paths);
        }
    }

    private static long sum(ExecutorService executor, List<Callable<Long>> tasks)
        throws Exception {
        long bytes = 0;
        for (Future<Long> done : executor.invokeAll(tasks)) {
            bytes += done.get();
        }
        return bytes;
    }

    private static long run(boolean isOwn, Path archive, List<List<String>> lists,
        ExecutorService executor) throws Exception {
        List<Callable<Long>> tasks = new ArrayList<>();
        if (isOwn) {
            for (List<String> paths : lists) {
                tasks.add(() -> readOwn(archive, paths));
            }
            return sum(executor, tasks);
        }
        try (Image image = open(archive)) {
            for (List<String> paths : lists) {
                tasks.add(() -> read(image, paths));
            }
            return sum(executor, tasks);
        }
    }

    public static void main(String[] args) throws Exception {
        List<List<String>> lists = new ArrayList<>();
        int files = 0;
        for (String list : List.of(args).subList(2, args.length)) {
            lists.add(Files.readAllLines(Path.of(list)));
            files += lists.get(lists.size() - 1).size();
        }
        ExecutorService executor = Executors.newFixedThreadPool(lists.size());
        System.out.println("begin");
        while (System.in.read() == '\n') {
            System.out.printf("end\t%d\t%d%n", files,
                run(args[0].equals("own"), Path.of(args[1]), lists, executor));
            System.out.println("begin");
        }
        executor.shutdown();
    }
}
