// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A call of the library that failed: a code for programs, a message for people. */
public final class DwarfsException extends IOException {
    private static final long serialVersionUID = 1;
    private static final Pattern INODE = Pattern.compile("inode \\d+ (?=is )");

    /** How it failed. */
    public enum Code {
        /** Memory is exhausted. */
        NOMEM(dwarfsConstants.DWARFS_ERR_NOMEM),
        /** An invalid argument or combination of options. */
        INVALID(dwarfsConstants.DWARFS_ERR_INVALID),
        /** A value is outside its range. */
        RANGE(dwarfsConstants.DWARFS_ERR_RANGE),
        /** The system could not read or write. */
        IO(dwarfsConstants.DWARFS_ERR_IO),
        /** The image contradicts itself or its format. */
        CORRUPT(dwarfsConstants.DWARFS_ERR_CORRUPT),
        /** Stored bytes do not match their hash. */
        CHECKSUM(dwarfsConstants.DWARFS_ERR_CHECKSUM),
        /** Not a DwarFS image. */
        NOT_IMAGE(dwarfsConstants.DWARFS_ERR_NOT_IMAGE),
        /** An unsupported version, feature or codec. */
        UNSUPPORTED(dwarfsConstants.DWARFS_ERR_UNSUPPORTED),
        /** No such entry, file or section. */
        NOT_FOUND(dwarfsConstants.DWARFS_ERR_NOT_FOUND),
        /** Not a directory. */
        NOT_DIR(dwarfsConstants.DWARFS_ERR_NOT_DIR),
        /** Is a directory. */
        IS_DIR(dwarfsConstants.DWARFS_ERR_IS_DIR),
        /** The output exists already. */
        EXISTS(dwarfsConstants.DWARFS_ERR_EXISTS),
        /** The system denies permission. */
        ACCESS(dwarfsConstants.DWARFS_ERR_ACCESS),
        /** The disk or the quota is full. */
        NO_SPACE(dwarfsConstants.DWARFS_ERR_NO_SPACE),
        /** The caller asked to stop. */
        CANCELLED(dwarfsConstants.DWARFS_ERR_CANCELLED),
        /** A limit that was set is too low. */
        LIMIT(dwarfsConstants.DWARFS_ERR_LIMIT),
        /** A code that this version of the package does not know; see {@link #number}. */
        UNKNOWN(0);

        private final int number;

        Code(int number) {
            this.number = number;
        }

        static Code of(int number) {
            for (Code code : values()) {
                if (code.number == number) {
                    return code;
                }
            }
            return UNKNOWN;
        }
    }

    private final int number;
    private final String path;
    private final long offset;
    private final int errno;

    private DwarfsException(int number, String message, String path, long offset, int errno) {
        super(message);
        this.number = number;
        this.path = path;
        this.offset = offset;
        this.errno = errno;
    }

    /** Called by the library: offset is -1 for none. */
    static DwarfsException make(int code, byte[] message, byte[] path, long offset, int errno) {
        return new DwarfsException(code, Names.decode(message),
            path == null ? null : Names.decode(path), offset, errno);
    }

    /** The same failure, with the path of an entry instead of the number of its inode. */
    DwarfsException about(String entry) {
        Matcher inode = INODE.matcher(getMessage());
        if (path != null || !inode.lookingAt()) {
            return this;
        }
        return copy("'" + entry + "' " + getMessage().substring(inode.end()), entry);
    }

    private DwarfsException copy(String message, String about) {
        DwarfsException error = new DwarfsException(number, message, about, offset, errno);
        error.setStackTrace(getStackTrace());
        return error;
    }

    /** The same failure while a file in an image was read. If the image is damaged, the path of
     *  the failure is that of the image. */
    DwarfsException whileReading(String file) {
        boolean damaged = code() == Code.CORRUPT || code() == Code.CHECKSUM;
        if (path != null && (!damaged || path.equals(file))) {
            return this;
        }
        return copy("reading '" + file + "': " + getMessage(), path == null ? file : path);
    }

    /** @return the code */
    public Code code() {
        return Code.of(number);
    }

    /** @return the code as a number of the C library */
    public int number() {
        return number;
    }

    /** @return the path that the failure concerns, of the system or in the image, or null; as a
     *      string by {@link Names} */
    public String path() {
        return path;
    }

    /** @return the offset in the file at which it failed, if known */
    public OptionalLong offset() {
        return offset < 0 ? OptionalLong.empty() : OptionalLong.of(offset);
    }

    /** @return the errno of the system call that failed, or 0 */
    public int errno() {
        return errno;
    }
}
