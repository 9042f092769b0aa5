// SPDX-License-Identifier: MIT
/**
 * Images as read-only file systems of {@link java.nio.file}, as those of zip archives are.
 *
 * <pre>{@code
 * try (FileSystem image = FileSystems.newFileSystem(Path.of("photos.dwarfs"));
 *      Stream<Path> paths = Files.walk(image.getPath("/"))) {
 *     paths.forEach(System.out::println);
 * }
 * }</pre>
 *
 * <p>URIs are {@code dwarfs:file:///home/me/photos.dwarfs!/2020/beach.jpg}: the URI of the image,
 * and the path in it. {@code FileSystems.newFileSystem(uri, env)} opens the image, and then
 * {@code Path.of(uri)} finds the path. Options in {@code env}, strings or numbers: {@code
 * offset} (where the image starts), {@code cacheBytes} and {@code workers} of its context; or
 * {@code context}, a {@link org.libdwarfs.Context}. {@link java.net.URL} reads such URIs, too, and
 * classes can be loaded by them.
 *
 * <p>Attribute views are "basic", "posix", "owner", "unix" (by name: mode, ino, dev, uid, gid,
 * nlink, rdev, ctime; dev is a number of the open image) and "user" (extended attributes "user.*"). Owners and groups are the numbers of
 * the image. Absolute symbolic links start at the root of the image, and none leads out of it.
 * Names that are not UTF-8 are strings as {@link org.libdwarfs.Names} says.
 */
package org.libdwarfs.nio;
