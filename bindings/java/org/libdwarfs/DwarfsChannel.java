// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.SeekableByteChannel;

/** Reads a file of an image at any position. Any number of threads may use it. */
public final class DwarfsChannel implements SeekableByteChannel {
    private final OpenFile file;
    private long position;

    DwarfsChannel(OpenFile file) {
        this.file = file;
    }

    @Override
    public synchronized int read(ByteBuffer buffer) throws IOException {
        int done = read(buffer, position);
        if (done > 0) {
            position += done;
        }
        return done;
    }

    /**
     * Read without using or changing the position of the channel; several threads do so at once.
     *
     * @param buffer receives the bytes
     * @param offset in the file
     * @return how many bytes were read; -1 at or after the end of the file
     */
    public int read(ByteBuffer buffer, long offset) throws IOException {
        if (offset < 0) {
            throw new IllegalArgumentException("negative offset");
        }
        long pointer = acquire();
        try {
            return file.read(pointer, buffer, offset);
        } finally {
            file.handle().release();
        }
    }

    /**
     * @param offset where to start
     * @return the first offset from there that is not in a hole, or -1 if none is
     */
    public long nextData(long offset) throws IOException {
        return seek(offset, true);
    }

    /**
     * @param offset where to start
     * @return the first offset from there that is in a hole or at the end of the file, or -1 if
     *     there is none
     */
    public long nextHole(long offset) throws IOException {
        return seek(offset, false);
    }

    private long seek(long offset, boolean data) throws IOException {
        if (offset < 0) {
            throw new IllegalArgumentException("negative offset");
        }
        long pointer = acquire();
        try {
            return data ? dwarfsJNI.dwarfs_file_seek_data(pointer, offset) :
                dwarfsJNI.dwarfs_file_seek_hole(pointer, offset);
        } catch (DwarfsException error) {
            if (error.code() == DwarfsException.Code.NOT_FOUND) {
                return -1;
            }
            throw error;
        } finally {
            file.handle().release();
        }
    }

    private long acquire() throws ClosedChannelException {
        long pointer = file.handle().tryAcquire();
        if (pointer == 0) {
            throw new ClosedChannelException();
        }
        return pointer;
    }

    @Override
    public synchronized long position() throws IOException {
        acquire();
        file.handle().release();
        return position;
    }

    @Override
    public synchronized DwarfsChannel position(long offset) throws IOException {
        if (offset < 0) {
            throw new IllegalArgumentException("negative position");
        }
        acquire();
        file.handle().release();
        position = offset;
        return this;
    }

    @Override
    public long size() throws IOException {
        acquire();
        file.handle().release();
        return file.size();
    }

    @Override
    public int write(ByteBuffer buffer) {
        throw new NonWritableChannelException();
    }

    @Override
    public DwarfsChannel truncate(long size) {
        throw new NonWritableChannelException();
    }

    @Override
    public boolean isOpen() {
        return file.handle().isOpen();
    }

    @Override
    public void close() {
        file.handle().close();
    }
}
