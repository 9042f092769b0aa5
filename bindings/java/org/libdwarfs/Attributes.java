// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

/** The attributes of an entry: a copy. */
public final class Attributes {
    private static final int TYPE = 0170000;
    private static final int COUNT = 17;
    private static final int TIMES = 9;

    // In the order of dwarfs_java_stat() in java.i.
    private final long[] numbers;

    private Attributes(long[] numbers) {
        this.numbers = numbers;
    }

    static Attributes of(long image, long entry) throws DwarfsException {
        long[] numbers = new long[COUNT];
        dwarfsJNI.dwarfs_java_stat(image, entry, numbers);
        return new Attributes(numbers);
    }

    /** @return the number of the inode */
    public long inode() {
        return numbers[0];
    }

    /** @return type and permissions, as st_mode */
    public int mode() {
        return (int) numbers[1];
    }

    /** @return the owner */
    public long uid() {
        return numbers[2];
    }

    /** @return the group */
    public long gid() {
        return numbers[3];
    }

    /** @return bytes of a file or of the target of a link; entries of a directory */
    public long size() {
        return numbers[4];
    }

    /** @return bytes of a file without its holes */
    public long allocatedSize() {
        return numbers[5];
    }

    /** @return for a file how many entries name it, else 1 */
    public long links() {
        return numbers[6];
    }

    /** @return major number of a device */
    public long deviceMajor() {
        return numbers[7];
    }

    /** @return minor number of a device */
    public long deviceMinor() {
        return numbers[8];
    }

    /** @return time of the last access; that of the modification if it is not stored */
    public FileTime accessTime() {
        return time(0);
    }

    /** @return time of the last modification */
    public FileTime modificationTime() {
        return time(1);
    }

    /** @return time of the last change of attributes; that of the modification if it is not
     *      stored */
    public FileTime changeTime() {
        return time(2);
    }

    /** @return time of birth; 1970 if it is not stored */
    public FileTime birthTime() {
        return time(3);
    }

    /** @return whether it is a regular file */
    public boolean isFile() {
        return (mode() & TYPE) == 0100000;
    }

    /** @return whether it is a directory */
    public boolean isDirectory() {
        return (mode() & TYPE) == 0040000;
    }

    /** @return whether it is a symbolic link */
    public boolean isLink() {
        return (mode() & TYPE) == 0120000;
    }

    private FileTime time(int which) {
        long seconds = numbers[TIMES + 2 * which];
        if (seconds < Instant.MIN.getEpochSecond() || seconds > Instant.MAX.getEpochSecond()) {
            return FileTime.from(seconds, TimeUnit.SECONDS);
        }
        return FileTime.from(Instant.ofEpochSecond(seconds, numbers[TIMES + 2 * which + 1]));
    }
}
