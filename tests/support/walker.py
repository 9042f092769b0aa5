#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Describe a directory tree, and compare two descriptions.

Independent of images: reads what the system shows. A description is a dict from path
(bytes, b"." for the root) to a dict of columns, as in the manifests of the test images; times
are in nanoseconds, extended attributes (which are compared only where the column is asked for)
are a dict, and None means unknown or not applicable.

    walker.py DIRECTORY [DIRECTORY]

prints one description, or the differences between two.
"""
import errno
import hashlib
import os
import stat
import sys

HASH_WHOLE = 64 << 20  # larger files are hashed by their data, holes left out
GRAIN = 4096
PROBE_BYTES = 1 << 16
PROBE_STEP = 32 << 20

TYPES = {stat.S_IFDIR: "d", stat.S_IFREG: "f", stat.S_IFLNK: "l", stat.S_IFCHR: "c",
         stat.S_IFBLK: "b", stat.S_IFIFO: "p", stat.S_IFSOCK: "s"}

ATTRIBUTES = ("type", "mode", "uid", "gid", "mtime", "size", "nlink", "rdev", "target", "sha256")

# By hash_of_grains(), the SHA-256 of the files of 5 GiB in the test images, of which describe.c
# hashes each byte.
HASHES_OF_GRAINS = {
    "31958a6f7acdb54352685bd892545f32eac3be8ee07de5edcd8fdf385a2c2eec":
    "afe0dc4dbee1ecf292de38f72aaa37e2643df75f265e992adb116bdeedbc4fe6",
    "72c94c11dd0127ba23d44d0a02f1ac140da858b36c64b7aa430dff6163ae065d":
    "7f06c62352aebd8125b2a1841e2b9e1ffcbed602f381c3dcb3200200e383d1d5",
}

_whole_hashes = {}


def extents(fd, size):
    """The ranges of a file that are not holes, as a tuple of (start, end)."""
    found = []
    end = 0
    while end < size:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break
            raise
        end = os.lseek(fd, start, os.SEEK_HOLE)
        if end <= start:
            raise AssertionError(f"SEEK_HOLE from {start} gives {end}")
        found.append((start, end))
    return tuple(found)


def _hash_stream(fd, size):
    digest = hashlib.sha256()
    offset = 0
    while True:
        part = os.pread(fd, 1 << 20, offset)
        if not part:
            break
        digest.update(part)
        offset += len(part)
    if offset != size:
        raise AssertionError(f"has {offset} bytes, not the {size} that it claims")
    return digest.hexdigest()


def hash_of_grains(size, data, read):
    """The hash of the grains that are not all zeros, with their offsets: determines the contents.

    data: ranges outside of which all is zeros; read(offset, bytes) reads the file.
    """
    key = hashlib.sha256(b"%d" % size)
    for start, end in data:
        offset = start - start % GRAIN
        while offset < end:
            want = min(1 << 20, end - offset + -(end - offset) % GRAIN)
            part = read(offset, want)
            if not part:
                break
            for at in range(0, len(part), GRAIN):
                grain = part[at:at + GRAIN]
                if grain.count(0) != len(grain):
                    key.update(b"@%d:" % (offset + at) + grain)
            offset += len(part)
    return key.hexdigest()


def _probe_holes(fd, size, data):
    """Read the ends of each hole, some bytes in between, and at the end of the file."""
    end = 0
    for start, following in (*data, (size, size)):
        last = max(end, start - PROBE_BYTES)
        for offset in (*range(end, last, PROBE_STEP), last):
            want = min(PROBE_BYTES, start - offset)
            if os.pread(fd, want, offset) != bytes(want):
                raise AssertionError(f"a hole at {offset} is not {want} zeros")
        end = following
    if os.pread(fd, 1, size):
        raise AssertionError(f"has data after the {size} bytes that it claims")


def _hash_sparse(fd, size, data, whole):
    """The SHA-256 of a large file; holes are read at most once for each contents.

    Where only equality matters (not whole), the hash of the grains is enough.
    """
    key = hash_of_grains(size, data, lambda offset, want: os.pread(fd, want, offset))
    if not whole:
        return "grains " + key
    if key in HASHES_OF_GRAINS:
        _probe_holes(fd, size, data)
        return HASHES_OF_GRAINS[key]
    if key not in _whole_hashes:
        _whole_hashes[key] = _hash_stream(fd, size)
    return _whole_hashes[key]


def _open(path):
    """Open for reading, if possible without changing the access time."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def _contents(path, size, whole):
    fd = _open(path)
    try:
        data = extents(fd, size)
        if size > HASH_WHOLE:
            return _hash_sparse(fd, size, data, whole), data
        return _hash_stream(fd, size), data
    finally:
        os.close(fd)


def _attributes(path):
    """Extended attributes by name, including access control lists, without those that a mount
    generates."""
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False)
                for name in os.listxattr(path, follow_symlinks=False)
                if not name.startswith("user.dwarfs.")}
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM, errno.EACCES):
            return {}
        raise


def _describe(path):
    status = os.lstat(path)
    kind = TYPES[stat.S_IFMT(status.st_mode)]
    row = {"type": kind, "mode": stat.S_IMODE(status.st_mode), "uid": status.st_uid,
           "gid": status.st_gid, "mtime": status.st_mtime_ns, "atime": status.st_atime_ns,
           "ctime": status.st_ctime_ns, "size": status.st_size, "nlink": status.st_nlink,
           "inode": (status.st_dev, status.st_ino), "rdev": None, "target": None,
           "sha256": None, "extents": None, "xattrs": _attributes(path)}
    if kind in "cb":
        row["rdev"] = (os.major(status.st_rdev), os.minor(status.st_rdev))
    if kind == "l":
        row["target"] = os.readlink(path)
    if kind not in "fld":
        row["size"] = 0
    return row


def describe(root, skip=lambda path: False, whole=True):
    """Describe the entries at a path and below. Paths for which skip() is true are left out.

    whole: the column sha256 is the SHA-256 of the contents. Otherwise, for large files, it is
    another hash that suffices to compare two descriptions, and is fast for holes.
    """
    root = os.fsencode(root)
    rows = {}
    by_inode = {}

    def visit(path, relative):
        row = rows[relative] = _describe(path)
        if row["type"] == "f":
            known = by_inode.get(row["inode"])
            if not known:
                known = by_inode[row["inode"]] = _contents(path, row["size"], whole)
            row["sha256"], row["extents"] = known
        elif row["type"] == "d":
            names = sorted(os.listdir(path))
            row["entries"] = len(names)
            for name in names:
                inside = name if relative == b"." else relative + b"/" + name
                if not skip(inside):
                    visit(os.path.join(path, name), inside)

    old_limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10000)
    try:
        visit(root, b".")
    finally:
        sys.setrecursionlimit(old_limit)
    return rows


def link_groups(rows):
    """Which paths of regular files are the same file: path -> all of its paths."""
    groups = {}
    for path, row in rows.items():
        if row["type"] == "f" and row["inode"] is not None:
            groups.setdefault(row["inode"], []).append(path)
    return {path: tuple(paths) for paths in groups.values() for path in paths}


def compare(expected, actual, columns=ATTRIBUTES, links=True, holes=False, resolution_ns=1):
    """The differences between two descriptions, as lines; none when they agree.

    Sizes of directories count only where both are known to be entries (as in an image), so
    leave "size" and "nlink" of directories to the caller: they are not compared here. A value
    that is None in expected is not compared, except targets and hashes.
    """
    differences = []

    def differ(path, what, want, got):
        differences.append(f"{path!r}: {what} is {got!r}, expected {want!r}")

    for path in sorted(expected.keys() - actual.keys()):
        differences.append(f"{path!r}: missing")
    for path in sorted(actual.keys() - expected.keys()):
        differences.append(f"{path!r}: unexpected")
    both = sorted(expected.keys() & actual.keys())
    for path in both:
        want, got = expected[path], actual[path]
        for column in columns:
            if column in ("size", "nlink") and want["type"] != "f":
                continue
            value = want[column]
            if value is None and column not in ("target", "sha256"):
                continue
            if column in ("mtime", "atime", "ctime"):
                value -= value % resolution_ns
            if value != got[column]:
                differ(path, column, value, got[column])
        if holes and want["extents"] is not None and want["extents"] != got["extents"]:
            differ(path, "extents of data", want["extents"][:5], (got["extents"] or ())[:5])
    if links:
        want_groups, got_groups = link_groups(expected), link_groups(actual)
        for path in both:
            if path in want_groups and want_groups[path] != got_groups.get(path):
                differ(path, "group of links", want_groups[path], got_groups.get(path))
    return differences


def must_agree(expected, actual, **options):
    """Raise an AssertionError that shows the first differences."""
    differences = compare(expected, actual, **options)
    if differences:
        shown = "\n".join(differences[:12])
        raise AssertionError(f"{len(differences)} differences:\n{shown}")


def main(arguments):
    if len(arguments) == 2:
        lines = compare(describe(arguments[0]), describe(arguments[1]), holes=True)
        print("\n".join(lines) or "no differences")
        return 1 if lines else 0
    for path, row in describe(arguments[0]).items():
        print(path, row)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
