// SPDX-License-Identifier: MIT
/**
 * Read and build DwarFS images.
 *
 * <pre>{@code
 * try (Image image = Image.open(Path.of("photos.dwarfs"));
 *      Stream<Entry> entries = image.walk()) {
 *     entries.forEach(entry -> System.out.println(entry.path()));
 * }
 * }</pre>
 *
 * An image never changes while it is open, and any number of threads may use it. Whatever is
 * {@link AutoCloseable} here has memory outside of the Java heap: close it. What is forgotten is
 * freed when the garbage collector finds it. An object that is used after it was closed throws an
 * {@link IllegalStateException} (streams and channels: what their interfaces say); one that is
 * closed while another thread uses it is freed when that thread has finished. Streams, channels
 * and walks of an image can be used after the image is closed.
 *
 * <p>Names and paths in images are bytes without an encoding; {@link org.libdwarfs.Names} says
 * how they become strings and back without loss. The package {@link org.libdwarfs.nio} has
 * images as file systems of {@link java.nio.file}.
 */
package org.libdwarfs;
