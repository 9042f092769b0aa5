// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.libdwarfs.Entry;

/** The entries of a directory that a filter accepts. */
final class DwarfsDirectoryStream implements DirectoryStream<Path> {
    private final DwarfsPath directory;
    private final Iterator<Entry> entries;
    private final Filter<? super Path> filter;
    private volatile boolean isClosed;
    private boolean isTaken;

    DwarfsDirectoryStream(DwarfsPath directory, List<Entry> entries,
                          Filter<? super Path> filter) {
        this.directory = directory;
        this.entries = entries.iterator();
        this.filter = filter;
    }

    @Override
    public synchronized Iterator<Path> iterator() {
        directory.getFileSystem().requireOpen();
        if (isClosed) {
            throw new IllegalStateException("the directory stream is closed");
        }
        if (isTaken) {
            throw new IllegalStateException("the iterator was returned already");
        }
        isTaken = true;
        return new Paths();
    }

    @Override
    public void close() {
        isClosed = true;
    }

    private final class Paths implements Iterator<Path> {
        private Path next;

        @Override
        public synchronized boolean hasNext() {
            try {
                while (next == null && !isClosed && entries.hasNext()) {
                    Entry entry = entries.next();
                    Path path = directory.child(name(entry.path()), entry);
                    if (filter == null || filter.accept(path)) {
                        next = path;
                    }
                }
            } catch (IOException error) {
                throw new DirectoryIteratorException(error);
            }
            return next != null;
        }

        private static String name(String path) {
            return path.substring(path.lastIndexOf('/') + 1);
        }

        @Override
        public synchronized Path next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Path path = next;
            next = null;
            return path;
        }
    }
}
