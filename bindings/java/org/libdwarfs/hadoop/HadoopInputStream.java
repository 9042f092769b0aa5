// SPDX-License-Identifier: MIT
package org.libdwarfs.hadoop;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.fs.FSInputStream;
import org.libdwarfs.DwarfsChannel;

/** A file of an image for Hadoop: reads in sequence, and at positions from any thread. */
final class HadoopInputStream extends FSInputStream {
    private final DwarfsChannel channel;

    HadoopInputStream(DwarfsChannel channel) {
        this.channel = channel;
    }

    @Override
    public void seek(long position) throws IOException {
        if (position < 0 || position > channel.size()) {
            throw new EOFException("position " + position + " of " + channel.size() + " bytes");
        }
        channel.position(position);
    }

    @Override
    public long getPos() throws IOException {
        return channel.position();
    }

    @Override
    public boolean seekToNewSource(long position) {
        return false;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] array, int start, int length) throws IOException {
        return channel.read(ByteBuffer.wrap(array, start, length));
    }

    @Override
    public int read(long position, byte[] array, int start, int length) throws IOException {
        return channel.read(ByteBuffer.wrap(array, start, length), position);
    }

    @Override
    public int available() throws IOException {
        return (int) Math.min(Math.max(channel.size() - channel.position(), 0),
            Integer.MAX_VALUE);
    }

    @Override
    public void close() {
        channel.close();
    }
}
