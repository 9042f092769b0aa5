// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An entry of an image: a path and what is there. Can be used while the image is open. */
public final class Entry {
    private final Image image;
    private final long number;
    private final byte[] path;

    Entry(Image image, long number, byte[] path) {
        this.image = image;
        this.number = number;
        this.path = path;
    }

    long number() {
        return number;
    }

    /** @return the image */
    public Image image() {
        return image;
    }

    /** @return the path from the root, without a slash at either end, "" for the root; by {@link
     *      Names}. Of an entry that was looked up, the path that was asked for */
    public String path() {
        return Names.decode(path);
    }

    /** @return the bytes of the path */
    public byte[] pathBytes() {
        return path.clone();
    }

    /** @return the name as it is in its directory; "" for the root */
    public String name() throws DwarfsException {
        return Names.decode(nameBytes());
    }

    /** @return the bytes of the name */
    public byte[] nameBytes() throws DwarfsException {
        long pointer = image.handle().acquire();
        try {
            return dwarfsJNI.dwarfs_entry_name(pointer, number);
        } finally {
            image.handle().release();
        }
    }

    /** @return its attributes; those of a symbolic link itself */
    public Attributes attributes() throws DwarfsException {
        long pointer = image.handle().acquire();
        try {
            return Attributes.of(pointer, number);
        } finally {
            image.handle().release();
        }
    }

    /** @return the target of a symbolic link */
    public String linkTarget() throws DwarfsException {
        long pointer = image.handle().acquire();
        try {
            return Names.decode(dwarfsJNI.dwarfs_link_read(pointer,
                dwarfsJNI.dwarfs_entry_inode(pointer, number)));
        } catch (DwarfsException error) {
            throw error.about(path());
        } finally {
            image.handle().release();
        }
    }

    /** @return the entries of a directory, sorted by the bytes of their names */
    public List<Entry> list() throws DwarfsException {
        long pointer = image.handle().acquire();
        try {
            long range = dwarfsJNI.dwarfs_java_dir_range(pointer,
                dwarfsJNI.dwarfs_entry_inode(pointer, number));
            long first = range >>> 32;
            long count = range & 0xffffffffL;
            List<Entry> entries = new ArrayList<>((int) Math.min(count, 1 << 20));
            for (long entry = first; entry < first + count; entry++) {
                entries.add(new Entry(image, entry,
                    join(dwarfsJNI.dwarfs_entry_name(pointer, entry))));
            }
            return entries;
        } catch (DwarfsException error) {
            throw error.about(path());
        } finally {
            image.handle().release();
        }
    }

    /**
     * @param name of an entry of this directory
     * @return the entry
     * @throws DwarfsException with NOT_FOUND or NOT_DIR
     */
    public Entry get(String name) throws DwarfsException {
        byte[] bytes = Names.encode(name);
        long pointer = image.handle().acquire();
        try {
            return new Entry(image, dwarfsJNI.dwarfs_dir_find(pointer,
                dwarfsJNI.dwarfs_entry_inode(pointer, number), bytes), join(bytes));
        } catch (DwarfsException error) {
            throw error.about(path());
        } finally {
            image.handle().release();
        }
    }

    /** @return names and values of the extended attributes, sorted by name */
    public Map<String, byte[]> xattrs() throws DwarfsException {
        Map<String, byte[]> all = new LinkedHashMap<>();
        long pointer = image.handle().acquire();
        try {
            byte[][] pairs = dwarfsJNI.dwarfs_java_xattrs(pointer,
                dwarfsJNI.dwarfs_entry_inode(pointer, number));
            for (int i = 0; i < pairs.length; i += 2) {
                all.put(Names.decode(pairs[i]), pairs[i + 1]);
            }
        } finally {
            image.handle().release();
        }
        return Collections.unmodifiableMap(all);
    }

    /** @return a channel that reads the file; it can be used after the image is closed */
    public DwarfsChannel newByteChannel() throws DwarfsException {
        return new DwarfsChannel(open());
    }

    /** @return a stream that reads the file; it can be used after the image is closed */
    public DwarfsInputStream newInputStream() throws DwarfsException {
        return new DwarfsInputStream(open());
    }

    /** @return the contents of a file of less than 2 GiB */
    public byte[] readAllBytes() throws IOException {
        try (DwarfsInputStream in = newInputStream()) {
            return in.readAllBytes();
        }
    }

    @Override
    public String toString() {
        return path();
    }

    private OpenFile open() throws DwarfsException {
        long pointer = image.handle().acquire();
        try {
            return new OpenFile(image, path(), dwarfsJNI.dwarfs_file_open(pointer,
                dwarfsJNI.dwarfs_entry_inode(pointer, number)));
        } catch (DwarfsException error) {
            throw error.about(path());
        } finally {
            image.handle().release();
        }
    }

    private byte[] join(byte[] name) {
        if (path.length == 0) {
            return name;
        }
        byte[] joined = Arrays.copyOf(path, path.length + 1 + name.length);
        joined[path.length] = '/';
        System.arraycopy(name, 0, joined, path.length + 1, name.length);
        return joined;
    }
}
