// SPDX-License-Identifier: MIT
package org.libdwarfs;

import java.io.InputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An entry that is added to a {@link Builder}: type, attributes and contents. By default it
 * belongs to user and group 0, and all times are 1970.
 */
public final class Item {
    private static final int TYPE = 0170000;

    final int mode;
    byte[] bytes;
    InputStream stream;
    Path file;
    byte[] target;
    byte[] hardLink;
    long uid;
    long gid;
    Instant modified = Instant.EPOCH;
    final Map<String, byte[]> xattrs = new LinkedHashMap<>();

    private Item(int mode) {
        this.mode = mode;
    }

    /**
     * @param contents are copied when the item is added
     * @return a file with the mode 0644
     */
    public static Item file(byte[] contents) {
        return new Item(0100644).contents(contents);
    }

    /**
     * @param contents read to its end when the item is added; not closed
     * @return a file with the mode 0644
     */
    public static Item file(InputStream contents) {
        Item item = new Item(0100644);
        item.stream = contents;
        return item;
    }

    /**
     * @param contents a file of the default file system, read when the image is written
     * @return a file with the mode 0644
     */
    public static Item file(Path contents) {
        Item item = new Item(0100644);
        item.file = contents;
        return item;
    }

    /** @return a directory with the mode 0755 */
    public static Item directory() {
        return new Item(0040755);
    }

    /**
     * @param target where it leads, by {@link Names}
     * @return a symbolic link
     */
    public static Item link(String target) {
        Item item = new Item(0120777);
        item.target = Names.encode(target);
        return item;
    }

    /**
     * @param path of another entry, added before or later
     * @return a further name of that entry
     */
    public static Item hardLink(String path) {
        Item item = new Item(0100644);
        item.hardLink = Names.encode(path);
        return item;
    }

    private Item contents(byte[] contents) {
        bytes = contents.clone();
        return this;
    }

    /**
     * @param permissions the lower 12 bits of st_mode
     * @return a copy with these
     */
    public Item permissions(int permissions) {
        if ((permissions & ~07777) != 0) {
            throw new IllegalArgumentException("not permissions: 0" +
                Integer.toOctalString(permissions));
        }
        Item item = new Item(mode & TYPE | permissions);
        item.bytes = bytes;
        item.stream = stream;
        item.file = file;
        item.target = target;
        item.hardLink = hardLink;
        item.uid = uid;
        item.gid = gid;
        item.modified = modified;
        item.xattrs.putAll(xattrs);
        return item;
    }

    /**
     * @param user  the owner
     * @param group the group
     * @return this
     */
    public Item owner(int user, int group) {
        uid = Image.notNegative(user);
        gid = Image.notNegative(group);
        return this;
    }

    /**
     * @param time of the last modification
     * @return this
     */
    public Item modified(Instant time) {
        modified = time;
        return this;
    }

    /**
     * @param name  of an extended attribute, with its namespace
     * @param value its value
     * @return this
     */
    public Item xattr(String name, byte[] value) {
        xattrs.put(name, value.clone());
        return this;
    }
}
