// SPDX-License-Identifier: MIT
package org.libdwarfs;

/**
 * The state of a running operation.
 *
 * @param phase        what it does, such as "scanning"
 * @param path         the path that is being processed, or null
 * @param doneBytes    bytes of file contents that were processed
 * @param totalBytes   bytes of file contents, as far as known
 * @param writtenBytes bytes of the output
 * @param doneItems    files, or sections in a check, that were processed
 * @param totalItems   files, or sections in a check, as far as known
 * @param elapsedNanos time since the operation began
 */
public record Progress(String phase, String path, long doneBytes, long totalBytes,
                       long writtenBytes, long doneItems, long totalItems, long elapsedNanos) {
    static Progress of(long pointer) {
        byte[] path = dwarfsJNI.dwarfs_progress_path(pointer);
        return new Progress(
            Names.decode(dwarfsJNI.dwarfs_phase_name(dwarfsJNI.dwarfs_progress_phase(pointer))),
            path == null ? null : Names.decode(path),
            number(pointer, dwarfsConstants.DWARFS_PROGRESS_DONE_BYTES),
            number(pointer, dwarfsConstants.DWARFS_PROGRESS_TOTAL_BYTES),
            number(pointer, dwarfsConstants.DWARFS_PROGRESS_WRITTEN_BYTES),
            number(pointer, dwarfsConstants.DWARFS_PROGRESS_DONE_ITEMS),
            number(pointer, dwarfsConstants.DWARFS_PROGRESS_TOTAL_ITEMS),
            number(pointer, dwarfsConstants.DWARFS_PROGRESS_ELAPSED_NS));
    }

    private static long number(long pointer, int what) {
        return dwarfsJNI.dwarfs_progress_number(pointer, what);
    }
}
