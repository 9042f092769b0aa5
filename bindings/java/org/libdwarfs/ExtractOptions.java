// SPDX-License-Identifier: MIT
package org.libdwarfs;

/** What {@link Image#extract(java.nio.file.Path, ExtractOptions, Task)} writes, and how. */
public final class ExtractOptions extends OutputOptions<ExtractOptions> {
    private Boolean owners;
    private int writers;

    /** Everything, as it is in the image. */
    public ExtractOptions() {
    }

    @Override
    ExtractOptions self() {
        return this;
    }

    /**
     * @param set whether owners and groups are set; by default when the process is privileged
     * @return this
     */
    public ExtractOptions owners(boolean set) {
        owners = set;
        return this;
    }

    /**
     * @param count threads that write, in addition to the workers of the context: 0 (default) to
     *     1024. Useful for a network file system
     * @return this
     */
    public ExtractOptions writers(int count) {
        writers = (int) Image.notNegative(count);
        return this;
    }

    void apply(long extract) throws DwarfsException {
        for (byte[] pattern : patterns) {
            dwarfsJNI.dwarfs_extract_add_pattern(extract, pattern);
        }
        if (owners != null) {
            dwarfsJNI.dwarfs_extract_set_owners(extract, owners);
        }
        if (uid != null) {
            dwarfsJNI.dwarfs_extract_set_uid(extract, uid);
        }
        if (gid != null) {
            dwarfsJNI.dwarfs_extract_set_gid(extract, gid);
        }
        dwarfsJNI.dwarfs_extract_set_xattrs(extract, xattrs);
        dwarfsJNI.dwarfs_extract_set_skip_devices(extract, skipDevices);
        dwarfsJNI.dwarfs_extract_set_skip_specials(extract, skipSpecials);
        dwarfsJNI.dwarfs_extract_set_writers(extract, writers);
        dwarfsJNI.dwarfs_extract_set_continue_on_error(extract, continueOnError);
    }
}
