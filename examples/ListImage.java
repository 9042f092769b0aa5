// SPDX-License-Identifier: MIT

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.libdwarfs.Builder;
import org.libdwarfs.DwarfsException;

/**
 * Pack a directory, or print what is in an image.
 *
 * <pre>
 * java -cp /usr/share/java/dwarfs.jar ListImage.java pack DIRECTORY IMAGE
 * java -cp /usr/share/java/dwarfs.jar ListImage.java list IMAGE [PATTERN]
 * </pre>
 *
 * PATTERN is as for java.nio.file: "**.txt". Backup files of editors are left out of images.
 */
public final class ListImage {
    private static void pack(Path directory, Path output) throws IOException {
        try (Builder builder = new Builder()) {
            builder.level(5).addDirectory(directory)
                .include(input -> !input.path().endsWith("~"))
                .write(output);
            System.out.println(builder.count(Builder.Count.FILES) + " files");
        }
    }

    private static void list(Path input, String pattern) throws IOException {
        try (FileSystem image = FileSystems.newFileSystem(input);
             Stream<Path> paths = Files.walk(image.getPath("/"))) {
            var matcher = image.getPathMatcher("glob:" + pattern);
            for (Path path : (Iterable<Path>) paths.filter(matcher::matches)::iterator) {
                System.out.println(Files.size(path) + " " + path);
            }
        }
    }

    public static void main(String[] args) throws IOException {
        try {
            if (args.length == 3 && args[0].equals("pack")) {
                pack(Path.of(args[1]), Path.of(args[2]));
            } else if (args.length >= 2 && args[0].equals("list")) {
                list(Path.of(args[1]), args.length > 2 ? args[2] : "**");
            } else {
                System.err.println("usage: ListImage pack DIRECTORY IMAGE | list IMAGE [PATTERN]");
                System.exit(2);
            }
        } catch (DwarfsException error) {
            System.err.println(error.code() + ": " + error.getMessage());
            System.exit(1);
        }
    }
}
