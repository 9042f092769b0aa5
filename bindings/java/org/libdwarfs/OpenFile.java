// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.nio.ByteBuffer;

/** An open file of an image; for any number of threads. */
final class OpenFile {
    /** At most as much is read at once; a larger read is several. */
    private static final int PIECE_BYTES = 4 << 20;

    private final Handle handle;
    private final Image image; // has the source, which the library refers to weakly
    private final String path;
    private final long size;

    OpenFile(Image image, String path, long pointer) {
        this.handle = new Handle("file", pointer, dwarfsJNI::delete_dwarfs_file, image.handle());
        this.image = image;
        this.path = path;
        this.size = handle.number(dwarfsJNI::dwarfs_file_bytes);
    }

    Handle handle() {
        return handle;
    }

    long size() {
        return size;
    }

    /** Read up to a part of an array; -1 at or after the end. The handle must be acquired. */
    int read(long pointer, byte[] array, int start, int length, long offset) throws IOException {
        int done = 0;
        if (length == 0) {
            return 0;
        }
        if (offset >= size) {
            return -1;
        }
        while (done < length && offset + done < size) {
            int piece = (int) Math.min(Math.min(length - done, PIECE_BYTES), size - offset - done);
            try {
                done += (int) dwarfsJNI.dwarfs_java_read(pointer, array, start + done, piece,
                    offset + done);
            } catch (DwarfsException error) {
                throw image.explain(error.whileReading(path));
            }
        }
        return done;
    }

    /** Fill a buffer as far as possible, and move its position. */
    int read(long pointer, ByteBuffer buffer, long offset) throws IOException {
        int done;
        if (buffer.isReadOnly()) {
            throw new IllegalArgumentException("the buffer is read-only");
        }
        if (buffer.hasArray()) {
            done = read(pointer, buffer.array(), buffer.arrayOffset() + buffer.position(),
                buffer.remaining(), offset);
        } else if (buffer.remaining() == 0) {
            done = 0;
        } else if (offset >= size) {
            done = -1;
        } else {
            try {
                done = (int) dwarfsJNI.dwarfs_file_read(pointer, buffer.slice(), offset);
            } catch (DwarfsException error) {
                throw image.explain(error.whileReading(path));
            }
        }
        if (done > 0) {
            buffer.position(buffer.position() + done);
        }
        return done;
    }
}
