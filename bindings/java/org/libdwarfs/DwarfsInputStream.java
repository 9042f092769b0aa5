// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;

/** Reads a file of an image from its start to its end; supports mark and reset. */
public final class DwarfsInputStream extends InputStream {
    private static final int MAX_ARRAY = Integer.MAX_VALUE - 8;

    private final OpenFile file;
    private long position;
    private long mark;

    DwarfsInputStream(OpenFile file) {
        this.file = file;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public synchronized int read(byte[] array, int start, int length) throws IOException {
        Objects.checkFromIndexSize(start, length, array.length);
        long pointer = acquire();
        try {
            int done = file.read(pointer, array, start, length, position);
            if (done > 0) {
                position += done;
            }
            return done;
        } finally {
            file.handle().release();
        }
    }

    @Override
    public synchronized byte[] readAllBytes() throws IOException {
        acquire();
        file.handle().release();
        long left = Math.max(file.size() - position, 0);
        if (left > MAX_ARRAY) {
            throw new OutOfMemoryError("more bytes than an array can have");
        }
        byte[] all = new byte[(int) left];
        readNBytes(all, 0, all.length);
        return all;
    }

    @Override
    public synchronized long skip(long count) throws IOException {
        acquire();
        file.handle().release();
        long step = Math.max(0, Math.min(count, file.size() - position));
        position += step;
        return step;
    }

    @Override
    public synchronized int available() throws IOException {
        acquire();
        file.handle().release();
        return (int) Math.min(Math.max(file.size() - position, 0), Integer.MAX_VALUE);
    }

    @Override
    public boolean markSupported() {
        return true;
    }

    @Override
    public synchronized void mark(int limit) {
        mark = position;
    }

    @Override
    public synchronized void reset() throws IOException {
        acquire();
        file.handle().release();
        position = mark;
    }

    @Override
    public void close() {
        file.handle().close();
    }

    private long acquire() throws IOException {
        long pointer = file.handle().tryAcquire();
        if (pointer == 0) {
            throw new IOException("Stream closed");
        }
        return pointer;
    }
}
