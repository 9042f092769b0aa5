// SPDX-License-Identifier: MIT
package org.libdwarfs.nio;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.ReadOnlyFileSystemException;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.FileOwnerAttributeView;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.nio.file.attribute.UserPrincipal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Attribute views of a path, and attributes by their names. */
final class Views {
    private interface Getter {
        Object get(DwarfsFileAttributes attributes);
    }

    private static final Map<String, Getter> BASIC = Map.of(
        "lastModifiedTime", DwarfsFileAttributes::lastModifiedTime,
        "lastAccessTime", DwarfsFileAttributes::lastAccessTime,
        "creationTime", DwarfsFileAttributes::creationTime,
        "size", DwarfsFileAttributes::size,
        "isRegularFile", DwarfsFileAttributes::isRegularFile,
        "isDirectory", DwarfsFileAttributes::isDirectory,
        "isSymbolicLink", DwarfsFileAttributes::isSymbolicLink,
        "isOther", DwarfsFileAttributes::isOther,
        "fileKey", DwarfsFileAttributes::fileKey);
    private static final Map<String, Getter> OWNER = Map.of(
        "owner", DwarfsFileAttributes::owner);
    private static final Map<String, Getter> POSIX = join(BASIC, OWNER, Map.of(
        "group", DwarfsFileAttributes::group,
        "permissions", DwarfsFileAttributes::permissions));
    private static final Map<String, Getter> UNIX = join(POSIX, Map.of(
        "mode", DwarfsFileAttributes::mode,
        "ino", DwarfsFileAttributes::inode,
        "dev", DwarfsFileAttributes::device,
        "uid", all -> (int) all.all().uid(),
        "gid", all -> (int) all.all().gid(),
        "nlink", all -> (int) all.all().links(),
        "rdev", all -> device(all.all().deviceMajor(), all.all().deviceMinor()),
        "ctime", all -> all.all().changeTime()));
    private static final Map<String, Map<String, Getter>> VIEWS = Map.of(
        "basic", BASIC, "owner", OWNER, "posix", POSIX, "unix", UNIX);

    private Views() {
    }

    /** As st_rdev of Linux. */
    private static long device(long major, long minor) {
        return (major & 0xfffff000L) << 32 | (major & 0xfff) << 8 |
            (minor & 0xffffff00L) << 12 | minor & 0xff;
    }

    @SafeVarargs
    private static Map<String, Getter> join(Map<String, Getter>... maps) {
        Map<String, Getter> all = new LinkedHashMap<>();
        for (Map<String, Getter> map : maps) {
            all.putAll(map);
        }
        return all;
    }

    /** What "posix:size,owner" or "*" asks for. */
    static Map<String, Object> byName(DwarfsPath path, String names, boolean follow)
        throws IOException {
        int colon = names.indexOf(':');
        String view = colon < 0 ? "basic" : names.substring(0, colon);
        if (view.equals("user")) {
            return userByName(path, names.substring(colon + 1), follow);
        }
        Map<String, Getter> known = VIEWS.get(view);
        if (known == null) {
            throw new UnsupportedOperationException("view " + view);
        }
        DwarfsFileAttributes attributes = DwarfsFileAttributes.of(path, follow);
        Map<String, Object> found = new LinkedHashMap<>();
        for (String name : names.substring(colon + 1).split(",")) {
            if (name.equals("*")) {
                known.forEach((each, getter) -> found.put(each, getter.get(attributes)));
            } else if (known.containsKey(name)) {
                found.put(name, known.get(name).get(attributes));
            } else {
                throw new IllegalArgumentException("unknown attribute " + view + ":" + name);
            }
        }
        return found;
    }

    private static Map<String, Object> userByName(DwarfsPath path, String names, boolean follow)
        throws IOException {
        Map<String, byte[]> all = new User(path, follow).all();
        Map<String, Object> found = new LinkedHashMap<>();
        for (String name : names.split(",")) {
            if (name.equals("*")) {
                found.putAll(all);
            } else if (all.containsKey(name)) {
                found.put(name, all.get(name));
            } else {
                throw new IllegalArgumentException("unknown attribute user:" + name);
            }
        }
        return found;
    }

    /** A view of a type; null for a type that is not supported. */
    static <V extends FileAttributeView> V of(DwarfsPath path, Class<V> type, boolean follow) {
        if (type == UserDefinedFileAttributeView.class) {
            return type.cast(new User(path, follow));
        }
        if (type == BasicFileAttributeView.class) {
            return type.cast(new Posix(path, follow, "basic"));
        }
        if (type == FileOwnerAttributeView.class) {
            return type.cast(new Posix(path, follow, "owner"));
        }
        return type == PosixFileAttributeView.class ?
            type.cast(new Posix(path, follow, "posix")) : null;
    }

    private static final class Posix implements PosixFileAttributeView {
        private final DwarfsPath path;
        private final boolean follow;
        private final String name;

        Posix(DwarfsPath path, boolean follow, String name) {
            this.path = path;
            this.follow = follow;
            this.name = name;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public DwarfsFileAttributes readAttributes() throws IOException {
            return DwarfsFileAttributes.of(path, follow);
        }

        @Override
        public UserPrincipal getOwner() throws IOException {
            return readAttributes().owner();
        }

        @Override
        public void setTimes(FileTime modified, FileTime accessed, FileTime created) {
            throw new ReadOnlyFileSystemException();
        }

        @Override
        public void setPermissions(Set<PosixFilePermission> permissions) {
            throw new ReadOnlyFileSystemException();
        }

        @Override
        public void setGroup(GroupPrincipal group) {
            throw new ReadOnlyFileSystemException();
        }

        @Override
        public void setOwner(UserPrincipal owner) {
            throw new ReadOnlyFileSystemException();
        }
    }

    private static final class User implements UserDefinedFileAttributeView {
        private static final String PREFIX = "user.";

        private final DwarfsPath path;
        private final boolean follow;

        User(DwarfsPath path, boolean follow) {
            this.path = path;
            this.follow = follow;
        }

        Map<String, byte[]> all() throws IOException {
            return Failures.of(path, () -> path.entry(follow).xattrs()).entrySet().stream()
                .filter(pair -> pair.getKey().startsWith(PREFIX))
                .collect(Collectors.toMap(pair -> pair.getKey().substring(PREFIX.length()),
                    Map.Entry::getValue, (one, other) -> one, LinkedHashMap::new));
        }

        private byte[] get(String name) throws IOException {
            byte[] value = all().get(name);
            if (value == null) {
                throw new FileSystemException(path.toString(), null,
                    "no extended attribute user." + name);
            }
            return value;
        }

        @Override
        public String name() {
            return "user";
        }

        @Override
        public List<String> list() throws IOException {
            return List.copyOf(all().keySet());
        }

        @Override
        public int size(String name) throws IOException {
            return get(name).length;
        }

        @Override
        public int read(String name, ByteBuffer buffer) throws IOException {
            byte[] value = get(name);
            if (buffer.remaining() < value.length) {
                throw new FileSystemException(path.toString(), null,
                    "the buffer is too small for user." + name);
            }
            buffer.put(value);
            return value.length;
        }

        @Override
        public int write(String name, ByteBuffer buffer) {
            throw new ReadOnlyFileSystemException();
        }

        @Override
        public void delete(String name) {
            throw new ReadOnlyFileSystemException();
        }
    }
}
