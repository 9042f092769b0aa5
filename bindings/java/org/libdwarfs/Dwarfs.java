// SPDX-License-Identifier: MIT
package org.libdwarfs;

/** The library as a whole. */
public final class Dwarfs {
    private Dwarfs() {
    }

    /** @return the version of the C library that is running, such as "0.1.0" */
    public static String version() {
        return Names.decode(dwarfsJNI.dwarfs_version_string());
    }

    /** @return how many objects of the C library exist that were made by this package: 0 when
     *      everything is closed */
    public static long liveHandles() {
        return Handle.live();
    }
}
