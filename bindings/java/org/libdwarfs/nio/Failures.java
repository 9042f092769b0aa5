// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.ClosedFileSystemException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.NotLinkException;
import org.libdwarfs.DwarfsException;

/** Turns errors of the library into the exceptions that users of java.nio.file expect. */
final class Failures {
    private Failures() {
    }

    interface Call<T> {
        T get() throws IOException;
    }

    /** The result of a call that concerns a path. */
    static <T> T of(DwarfsPath path, Call<T> call) throws IOException {
        return of(path, call, false);
    }

    /** As of(), where an invalid argument is a path that is not a link. */
    static <T> T ofLink(DwarfsPath path, Call<T> call) throws IOException {
        return of(path, call, true);
    }

    private static <T> T of(DwarfsPath path, Call<T> call, boolean isLink) throws IOException {
        try {
            return call.get();
        } catch (DwarfsException error) {
            throw (IOException) convert(path.toString(), error, isLink).initCause(error);
        } catch (IllegalStateException closed) {
            if (path.getFileSystem().isOpen()) {
                throw closed;
            }
            throw (RuntimeException) new ClosedFileSystemException().initCause(closed);
        }
    }

    private static FileSystemException convert(String path, DwarfsException error,
                                               boolean isLink) {
        switch (error.code()) {
            case NOT_FOUND:
                return new NoSuchFileException(path);
            case NOT_DIR:
                return new NotDirectoryException(path);
            case ACCESS:
                return new AccessDeniedException(path, null, error.getMessage());
            case IS_DIR:
                return new FileSystemException(path, null, "is a directory");
            case INVALID:
                return isLink ? new NotLinkException(path) :
                    new FileSystemException(path, null, error.getMessage());
            default:
                return new FileSystemException(path, null, error.getMessage());
        }
    }
}
