// SPDX-License-Identifier: MIT
package org.libdwarfs.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.SeekableByteChannel;
import org.apache.hadoop.fs.FSDataInputStream;

/** An image in a file system of Hadoop, as a channel. */
final class HadoopChannel implements SeekableByteChannel {
    private final FSDataInputStream in;
    private final long size;
    private long position;
    private volatile boolean isOpen = true;

    HadoopChannel(FSDataInputStream in, long size) {
        this.in = in;
        this.size = size;
    }

    @Override
    public synchronized int read(ByteBuffer buffer) throws IOException {
        byte[] bytes = buffer.hasArray() ? buffer.array() : new byte[buffer.remaining()];
        int start = buffer.hasArray() ? buffer.arrayOffset() + buffer.position() : 0;
        int count = in.read(position, bytes, start, buffer.remaining());
        if (count <= 0) {
            return count;
        }
        if (buffer.hasArray()) {
            buffer.position(buffer.position() + count);
        } else {
            buffer.put(bytes, 0, count);
        }
        position += count;
        return count;
    }

    @Override
    public synchronized long position() {
        return position;
    }

    @Override
    public synchronized SeekableByteChannel position(long offset) {
        position = offset;
        return this;
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public int write(ByteBuffer buffer) {
        throw new NonWritableChannelException();
    }

    @Override
    public SeekableByteChannel truncate(long bytes) {
        throw new NonWritableChannelException();
    }

    @Override
    public boolean isOpen() {
        return isOpen;
    }

    @Override
    public void close() throws IOException {
        isOpen = false;
        in.close();
    }
}
