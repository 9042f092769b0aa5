// SPDX-License-Identifier: MIT
package org.libdwarfs;

/** How {@link Builder#addArchive} reads an archive. */
public final class ImportOptions {
    private String format = "auto";
    private int strip;
    private String prefix = "";
    private boolean whiteouts;
    private boolean continueOnError;

    /** All entries, below the root. */
    public ImportOptions() {
    }

    /**
     * @param name "auto" (default), or the name of a format, such as "tar", "cpio" or "zip".
     *     Compression is detected in any case
     * @return this
     */
    public ImportOptions format(String name) {
        format = name;
        return this;
    }

    /**
     * @param count how many leading names of each path are removed; entries with no more names
     *     are left out
     * @return this
     */
    public ImportOptions stripComponents(int count) {
        strip = (int) Image.notNegative(count);
        return this;
    }

    /**
     * @param directory of the image in which the entries are added; "" (default) for the root
     * @return this
     */
    public ImportOptions prefix(String directory) {
        prefix = directory;
        return this;
    }

    /**
     * @param obey whether the archive is a layer of a container image: files ".wh.NAME" remove
     *     what was added before
     * @return this
     */
    public ImportOptions whiteouts(boolean obey) {
        whiteouts = obey;
        return this;
    }

    /**
     * @param goOn whether entries that an image cannot hold are left out, and reported to the log
     *     of the context; by default the first one is an error. A damaged archive is an error in
     *     any case
     * @return this
     */
    public ImportOptions continueOnError(boolean goOn) {
        continueOnError = goOn;
        return this;
    }

    void apply(long archive) throws DwarfsException {
        dwarfsJNI.dwarfs_archive_import_set_format(archive, Names.terminated(format));
        dwarfsJNI.dwarfs_archive_import_set_strip_components(archive, strip);
        dwarfsJNI.dwarfs_archive_import_set_prefix(archive, Names.terminated(prefix));
        dwarfsJNI.dwarfs_archive_import_set_whiteouts(archive, whiteouts);
        dwarfsJNI.dwarfs_archive_import_set_continue_on_error(archive, continueOnError);
    }
}
