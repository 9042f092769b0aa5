// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.UserPrincipal;
import java.util.EnumSet;
import java.util.Set;
import org.libdwarfs.Attributes;

/** The attributes of a path. */
final class DwarfsFileAttributes implements PosixFileAttributes {
    // By bit, from the highest; the constants of the enum have another order than its values().
    private static final PosixFilePermission[] PERMISSIONS = {
        PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE,
        PosixFilePermission.OWNER_EXECUTE, PosixFilePermission.GROUP_READ,
        PosixFilePermission.GROUP_WRITE, PosixFilePermission.GROUP_EXECUTE,
        PosixFilePermission.OTHERS_READ, PosixFilePermission.OTHERS_WRITE,
        PosixFilePermission.OTHERS_EXECUTE,
    };

    /** Of a file of one of the open images. */
    private record Key(long device, long inode) {
    }

    private final Attributes all;
    private final long device;

    private DwarfsFileAttributes(Attributes all, long device) {
        this.all = all;
        this.device = device;
    }

    static DwarfsFileAttributes of(DwarfsPath path, boolean follow) throws IOException {
        return Failures.of(path, () -> new DwarfsFileAttributes(
            path.entry(follow).attributes(), path.getFileSystem().device()));
    }

    Attributes all() {
        return all;
    }

    int mode() {
        return all.mode();
    }

    long device() {
        return device;
    }

    long inode() {
        return all.inode();
    }

    @Override
    public FileTime lastModifiedTime() {
        return all.modificationTime();
    }

    @Override
    public FileTime lastAccessTime() {
        return all.accessTime();
    }

    /** The birth time; the modification time if none is stored. */
    @Override
    public FileTime creationTime() {
        FileTime birth = all.birthTime();
        return birth.toMillis() == 0 ? lastModifiedTime() : birth;
    }

    @Override
    public boolean isRegularFile() {
        return all.isFile();
    }

    @Override
    public boolean isDirectory() {
        return all.isDirectory();
    }

    @Override
    public boolean isSymbolicLink() {
        return all.isLink();
    }

    @Override
    public boolean isOther() {
        return !isRegularFile() && !isDirectory() && !isSymbolicLink();
    }

    @Override
    public long size() {
        return all.size();
    }

    @Override
    public Object fileKey() {
        return new Key(device, all.inode());
    }

    @Override
    public UserPrincipal owner() {
        return new Principals.User(all.uid());
    }

    @Override
    public GroupPrincipal group() {
        return new Principals.Group(all.gid());
    }

    @Override
    public Set<PosixFilePermission> permissions() {
        Set<PosixFilePermission> set = EnumSet.noneOf(PosixFilePermission.class);
        for (int i = 0; i < PERMISSIONS.length; i++) {
            if ((all.mode() & 0400 >> i) != 0) {
                set.add(PERMISSIONS[i]);
            }
        }
        return set;
    }
}
