// SPDX-License-Identifier: MIT
package org.libdwarfs;

/** Loads the native library, once. */
final class Library {
    private Library() {
    }

    /**
     * The file that the property {@code org.libdwarfs.library} names, or
     * {@code libdwarfs_jni.so} in {@code java.library.path}.
     */
    static void load() {
        String file = System.getProperty("org.libdwarfs.library");
        if (file != null) {
            System.load(file);
        } else {
            System.loadLibrary("dwarfs_jni");
        }
    }
}
