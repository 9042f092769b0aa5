// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import org.libdwarfs.DwarfsChannel;

/** A file of an image for programs that need a FileChannel. */
final class DwarfsFileChannel extends FileChannel {
    private static final int PIECE_BYTES = 1 << 18;

    private final DwarfsChannel channel;

    DwarfsFileChannel(DwarfsChannel channel) {
        this.channel = channel;
    }

    @Override
    public int read(ByteBuffer buffer) throws IOException {
        return channel.read(buffer);
    }

    @Override
    public int read(ByteBuffer buffer, long position) throws IOException {
        return channel.read(buffer, position);
    }

    @Override
    public long read(ByteBuffer[] buffers, int start, int count) throws IOException {
        Objects.checkFromIndexSize(start, count, buffers.length);
        long total = 0;
        for (int i = start; i < start + count; i++) {
            if (!buffers[i].hasRemaining()) {
                continue;
            }
            int done = channel.read(buffers[i]);
            if (done < 0) {
                return total == 0 ? -1 : total;
            }
            total += done;
            if (buffers[i].hasRemaining()) {
                break;
            }
        }
        return total;
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target)
        throws IOException {
        channel.size(); // throws if it is closed
        if (position < 0 || count < 0) {
            throw new IllegalArgumentException("negative position or count");
        }
        long total = 0;
        ByteBuffer piece = ByteBuffer.allocate((int) Math.min(Math.max(count, 1), PIECE_BYTES));
        while (total < count) {
            piece.clear().limit((int) Math.min(count - total, PIECE_BYTES));
            if (channel.read(piece, position + total) <= 0) {
                break;
            }
            int written = target.write(piece.flip());
            total += written;
            if (piece.hasRemaining()) {
                break;
            }
        }
        return total;
    }

    /** Maps a copy in a temporary file, which is removed when the mapping is. */
    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) throws IOException {
        if (mode == MapMode.READ_WRITE) {
            throw new NonWritableChannelException();
        }
        if (position < 0 || size < 0 || size > Integer.MAX_VALUE || position > size() - size) {
            throw new IllegalArgumentException("not a part of the file");
        }
        Path copy = Files.createTempFile("dwarfs", null);
        try (FileChannel file = FileChannel.open(copy, StandardOpenOption.READ,
                 StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE)) {
            transferTo(position, size, file);
            return file.map(mode, 0, size);
        }
    }

    @Override
    public long position() throws IOException {
        return channel.position();
    }

    @Override
    public FileChannel position(long position) throws IOException {
        channel.position(position);
        return this;
    }

    @Override
    public long size() throws IOException {
        return channel.size();
    }

    /** Does nothing: an image never changes. */
    @Override
    public void force(boolean metadata) throws IOException {
        channel.size(); // unless it is closed
    }

    /** Locks of files that never change do not exclude each other. */
    @Override
    public FileLock lock(long position, long size, boolean shared) throws IOException {
        return tryLock(position, size, shared);
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) throws IOException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
        if (!shared) {
            throw new NonWritableChannelException();
        }
        return new Lock(this, position, size);
    }

    private static final class Lock extends FileLock {
        private volatile boolean isReleased;

        Lock(FileChannel channel, long position, long size) {
            super(channel, position, size, true);
        }

        @Override
        public boolean isValid() {
            return !isReleased && acquiredBy().isOpen();
        }

        @Override
        public void release() throws ClosedChannelException {
            if (!acquiredBy().isOpen()) {
                throw new ClosedChannelException();
            }
            isReleased = true;
        }
    }

    @Override
    public int write(ByteBuffer buffer) {
        throw new NonWritableChannelException();
    }

    @Override
    public int write(ByteBuffer buffer, long position) {
        throw new NonWritableChannelException();
    }

    @Override
    public long write(ByteBuffer[] buffers, int start, int count) {
        throw new NonWritableChannelException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
        throw new NonWritableChannelException();
    }

    @Override
    public FileChannel truncate(long size) {
        throw new NonWritableChannelException();
    }

    @Override
    protected void implCloseChannel() {
        channel.close();
    }
}
