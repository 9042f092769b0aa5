// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.time.Instant;

/**
 * An entry of the input of a {@link Builder}, for callbacks.
 *
 * @param path  below the root, by {@link Names}
 * @param mode  type and permissions, as st_mode
 * @param size  bytes of a file, 0 for anything else
 * @param uid   the owner
 * @param gid   the group
 * @param mtime seconds since 1970
 */
public record Input(String path, int mode, long size, long uid, long gid, long mtime) {
    static Input of(long pointer) {
        return new Input(Names.decode(dwarfsJNI.dwarfs_input_path(pointer)),
            (int) dwarfsJNI.dwarfs_input_mode(pointer), dwarfsJNI.dwarfs_input_bytes(pointer),
            dwarfsJNI.dwarfs_input_uid(pointer), dwarfsJNI.dwarfs_input_gid(pointer),
            dwarfsJNI.dwarfs_input_mtime(pointer));
    }

    /** @return whether it is a directory */
    public boolean isDirectory() {
        return (mode & 0170000) == 0040000;
    }

    /** @return the time of modification */
    public Instant modified() {
        return Instant.ofEpochSecond(mtime);
    }
}
