// SPDX-License-Identifier: MIT
package org.libdwarfs;

/**
 * A difference between two trees.
 *
 * @param kind what differs
 * @param path of the entry; "" for the root
 * @param name of an extended attribute; null for other kinds
 * @param a    what the first tree has, by {@link Names}: "file", "directory" and so on for a type
 *             and for an entry that only one tree has, an octal number for a mode, a number for an
 *             owner or a size, a date in UTC, the target of a link, the value of an attribute, or a
 *             message for trouble. null if it has nothing
 * @param b    what the second tree has
 */
public record Difference(Kind kind, String path, String name, String a, String b) {
    /** Kinds of differences. */
    public enum Kind {
        /** The second tree has no such entry. */
        ONLY_A(dwarfsConstants.DWARFS_DIFFERENCE_ONLY_A),
        /** The first tree has no such entry. */
        ONLY_B(dwarfsConstants.DWARFS_DIFFERENCE_ONLY_B),
        /** Then nothing else of the entry is compared. */
        TYPE(dwarfsConstants.DWARFS_DIFFERENCE_TYPE),
        /** Permissions, setuid, setgid, sticky. */
        MODE(dwarfsConstants.DWARFS_DIFFERENCE_MODE),
        /** The number of the owner. */
        OWNER(dwarfsConstants.DWARFS_DIFFERENCE_OWNER),
        /** The number of the group. */
        GROUP(dwarfsConstants.DWARFS_DIFFERENCE_GROUP),
        /** When it was modified. */
        MTIME(dwarfsConstants.DWARFS_DIFFERENCE_MTIME),
        /** Of a file. */
        SIZE(dwarfsConstants.DWARFS_DIFFERENCE_SIZE),
        /** Of files of the same size. */
        CONTENTS(dwarfsConstants.DWARFS_DIFFERENCE_CONTENTS),
        /** Of a symbolic link. */
        TARGET(dwarfsConstants.DWARFS_DIFFERENCE_TARGET),
        /** The numbers of a device. */
        DEVICE(dwarfsConstants.DWARFS_DIFFERENCE_DEVICE),
        /** Which other paths are the same file. */
        LINKS(dwarfsConstants.DWARFS_DIFFERENCE_LINKS),
        /** One extended attribute. */
        XATTR(dwarfsConstants.DWARFS_DIFFERENCE_XATTR),
        /** Something cannot be read, and was not compared. */
        TROUBLE(dwarfsConstants.DWARFS_DIFFERENCE_TROUBLE),
        /** A kind of a later version of the library. */
        OTHER(-1);

        final int number;

        Kind(int number) {
            this.number = number;
        }

        static Kind of(int number) {
            for (Kind kind : values()) {
                if (kind.number == number) {
                    return kind;
                }
            }
            return OTHER;
        }
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Names.decode(bytes);
    }

    /** What a callback is given. */
    static Difference of(int kind, long difference, byte[] path) {
        return new Difference(Kind.of(kind), Names.decode(path),
            text(dwarfsJNI.dwarfs_difference_name(difference)),
            text(dwarfsJNI.dwarfs_composed_value(difference, dwarfsConstants.DWARFS_COMPARE_A)),
            text(dwarfsJNI.dwarfs_composed_value(difference, dwarfsConstants.DWARFS_COMPARE_B)));
    }
}
