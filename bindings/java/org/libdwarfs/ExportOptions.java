// SPDX-License-Identifier: MIT
package org.libdwarfs;

/** What {@link Image#export} writes, and how. */
public final class ExportOptions extends OutputOptions<ExportOptions> {
    private String format = "auto";
    private String filters = "";
    private String settings = "";
    private Image.Order order = Image.Order.DATA;
    private boolean allowHugeHoles;

    /** Everything, in the format of the suffix of the path. */
    public ExportOptions() {
    }

    @Override
    ExportOptions self() {
        return this;
    }

    /**
     * @param name of a format, such as "tar" (which is "pax", and loses nothing), "newc" or "zip";
     *     "auto" (default): format and filters by the suffix of the path, such as ".tar.zst"
     * @return this
     */
    public ExportOptions format(String name) {
        format = name;
        return this;
    }

    /**
     * @param names of compressions, such as "zstd", with commas between them
     * @return this
     */
    public ExportOptions filters(String names) {
        filters = names;
        return this;
    }

    /**
     * @param text options of libarchive, such as "compression-level=19"
     * @return this
     */
    public ExportOptions settings(String text) {
        settings = text;
        return this;
    }

    /**
     * @param wanted by default that of the data; in that of the tree each directory is followed by
     *     everything in it
     * @return this
     */
    public ExportOptions order(Image.Order wanted) {
        order = wanted;
        return this;
    }

    /**
     * @param allow whether holes are written as zeros whatever their size, in formats without holes
     * @return this
     */
    public ExportOptions allowHugeHoles(boolean allow) {
        allowHugeHoles = allow;
        return this;
    }

    void apply(long export) throws DwarfsException {
        for (byte[] pattern : patterns) {
            dwarfsJNI.dwarfs_archive_export_add_pattern(export, pattern);
        }
        if (uid != null) {
            dwarfsJNI.dwarfs_archive_export_set_uid(export, uid);
        }
        if (gid != null) {
            dwarfsJNI.dwarfs_archive_export_set_gid(export, gid);
        }
        dwarfsJNI.dwarfs_archive_export_set_format(export, Names.terminated(format));
        dwarfsJNI.dwarfs_archive_export_set_filters(export, Names.terminated(filters));
        dwarfsJNI.dwarfs_archive_export_set_options(export, Names.terminated(settings));
        dwarfsJNI.dwarfs_archive_export_set_order(export, order.number());
        dwarfsJNI.dwarfs_archive_export_set_xattrs(export, xattrs);
        dwarfsJNI.dwarfs_archive_export_set_skip_devices(export, skipDevices);
        dwarfsJNI.dwarfs_archive_export_set_skip_specials(export, skipSpecials);
        dwarfsJNI.dwarfs_archive_export_set_allow_huge_holes(export, allowHugeHoles);
        dwarfsJNI.dwarfs_archive_export_set_continue_on_error(export, continueOnError);
    }
}
