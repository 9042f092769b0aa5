// SPDX-License-Identifier: MIT
/**
 * Images as file systems of Hadoop, for Spark and other engines: the scheme {@code dwarfs}.
 *
 * <p>The setting {@code fs.dwarfs.image} (with Spark: {@code spark.hadoop.fs.dwarfs.image}) is the
 * path or URI of the image behind {@code dwarfs:///dir/file}; {@code fs.dwarfs.image.NAME} that
 * behind {@code dwarfs://NAME/dir/file}. Every worker opens the image itself: a path of the local
 * file system must exist there; a URI of another file system of Hadoop is read through it.
 *
 * <p>Hadoop paths are strings in which a few characters have a meaning, and names that begin with
 * "_" or "." are left out by most engines. Symbolic links are followed.
 */
package org.libdwarfs.hadoop;
