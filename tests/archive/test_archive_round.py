#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Directory -> image -> archive -> image -> directory: nothing is lost, extended attributes,
access control lists and capabilities included; in the C locale."""
import errno
import os
import shutil
import stat
import struct
import subprocess
import tarfile

import absent
import tap
import tree
import walker
from scratch import place, scratch, write

os.environ["LC_ALL"] = "C"
absent.need_all("archive")
suite = tap.Suite()

# A version, then tag, permissions and number of each line.
ACL_ACCESS = struct.pack("<I" + "HHI" * 6, 2, 1, 6, 2**32 - 1, 2, 6, 1000, 4, 4, 2**32 - 1,
                         8, 5, 70001, 16, 7, 2**32 - 1, 32, 4, 2**32 - 1)
ACL_DEFAULT = struct.pack("<I" + "HHI" * 5, 2, 1, 7, 2**32 - 1, 4, 5, 2**32 - 1, 8, 7, 1001,
                          16, 7, 2**32 - 1, 32, 0, 2**32 - 1)
CAPABILITY = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)  # cap_net_raw=ep


def run(tool, *arguments):
    done = subprocess.run([tap.tool(tool), *arguments], capture_output=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, (arguments, done.stderr[-3000:])


def set_all(path, attributes):
    """Set attributes, without moving the times."""
    times = os.lstat(path)
    for name, value in attributes.items():
        try:
            os.setxattr(path, name, value)
        except OSError as error:
            if error.errno in (errno.ENOTSUP, errno.EPERM):
                raise tap.Skip(f"{name} cannot be set here: {error}") from error
            raise
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def attributes_of(root):
    """path -> {name: value} of all entries below."""
    found = {}
    for folder, directories, files in os.walk(os.fsencode(root)):
        for name in files + directories + [b""]:
            path = os.path.join(folder, name) if name else folder
            names = os.listxattr(path, follow_symlinks=False)
            if names:
                found[os.path.relpath(path, os.fsencode(root))] = {
                    name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    return found


def original():
    """A tree of every kind but sockets, with attributes; and its image."""
    if os.geteuid() != 0:
        raise tap.Skip("needs root")
    where = place("tree")
    if os.path.exists(where):
        return where
    tree.make(where, huge=False)
    times = os.stat(where + "/special")
    os.unlink(where + "/special/socket")
    os.utime(where + "/special", ns=(times.st_atime_ns, times.st_mtime_ns))
    set_all(where + "/files/text", {"user.plain": b"text", "user.empty": b"",
                                    "user.bytes": bytes(range(256)) * 3,
                                    "trusted.t": b"\0\xff"})
    set_all(where + "/files/random", {"security.capability": CAPABILITY})
    set_all(where + "/links/file", {"user.of all names": b"yes"})
    set_all(where + "/modes/file 0777", {"system.posix_acl_access": ACL_ACCESS})
    set_all(where + "/shapes" if os.path.exists(where + "/shapes") else where + "/deep",
            {"system.posix_acl_default": ACL_DEFAULT, "user.directory": b"d"})
    set_all(where, {"user.root": b"of the image"})
    run("MKDWARFS", "-i", where, "-o", where + ".dwarfs", "-l1", "--with-devices",
        "--with-specials", "--keep-all-times", "--time-resolution=ns", "--no-progress",
        "--log-level=warn")
    return where


def there_and_back(name, *options):
    """Through an archive of this name into another directory."""
    where = original()
    archive, image, back = place(name), place(name + ".dwarfs"), place(name + ".d")
    run("DWARFSEXTRACT", "-i", where + ".dwarfs", "-f", "auto", "-o", archive, *options)
    run("MKDWARFS", "-i", archive, "-o", image, "-l1", "--with-devices", "--with-specials",
        "--keep-all-times", "--time-resolution=ns", "--no-progress", "--log-level=warn")
    run("DWARFSEXTRACT", "-i", image, "-o", back)
    return where, back


def agree(where, back, **how):
    expected = walker.describe(where)
    for row in expected.values():
        if row["type"] == "l":
            row["mode"] = row["nlink"] = None
    walker.must_agree(expected, walker.describe(back), **how)


for name, options in (("plain.tar", ()), ("tree.tar.gz", ("--archive-order=tree",)),
                      ("packed.tar.zst", ("--format-options=compression-level=1",))):
    with suite.case(f"{name}: every attribute, hole and link is restored"):
        where, back = there_and_back(name, *options)
        agree(where, back)
        for path, row in walker.describe(where + "/holes").items():
            got = walker.describe(back + "/holes")[path] if row["type"] == "f" else row
            assert row["extents"] == got["extents"], path
        want, got = attributes_of(where), attributes_of(back)
        assert want.keys() == got.keys(), want.keys() ^ got.keys()
        for path, attributes in want.items():
            assert attributes == got[path], (path, attributes, got[path])
        tree.remove(back)

with suite.case("bsdtar and GNU tar restore attributes and lists of access"):
    where = original()
    run("DWARFSEXTRACT", "-i", where + ".dwarfs", "-f", "pax", "-o", place("some.tar"),
        "--pattern=files/*", "--pattern=modes/file 0777")
    want = attributes_of(where)
    for command in (["bsdtar", "--xattrs", "--acls", "-xpf"],
                    ["tar", "--xattrs", "--xattrs-include=*", "--acls", "-xpf"]):
        if not shutil.which(command[0]):
            raise tap.Skip(f"{command[0]} is not installed")
        back = place("by " + command[0])
        os.mkdir(back)
        subprocess.run([*command, place("some.tar"), "--numeric-owner"], cwd=back, check=True,
                       env=dict(os.environ, LC_ALL="C.UTF-8"), capture_output=True)
        got = attributes_of(back)
        for path in b"files/text", b"files/random", b"modes/file 0777":
            assert want[path] == got[path], (command[0], path, want[path], got[path])
        mode = os.stat(back + "/modes/file 0777").st_mode
        assert stat.S_IMODE(mode) == stat.S_IMODE(os.stat(where + "/modes/file 0777").st_mode)

with suite.case("names of attributes that a tar has to encode are restored, too"):
    where = place("odd")
    write(where + "/file", b"x")
    odd = {"user.new\nline=x%": b"odd", "user.\xfcml": b"1", "user.plain": b"2\0"}
    set_all(where + "/file", odd)
    run("MKDWARFS", "-i", where, "-o", where + ".dwarfs", "-l1", "--no-progress",
        "--log-level=warn")
    run("DWARFSEXTRACT", "-i", where + ".dwarfs", "-f", "pax", "-o", place("odd.tar"))
    run("MKDWARFS", "-i", place("odd.tar"), "-o", place("odd2.dwarfs"), "-l1", "--no-progress",
        "--log-level=warn")
    run("DWARFSEXTRACT", "-i", place("odd2.dwarfs"), "-o", place("odd2"))
    assert attributes_of(place("odd2")) == {b"file": odd}, attributes_of(place("odd2"))

with suite.case("--no-xattrs omits them, and a zip warns that it has none"):
    where = original()
    run("DWARFSEXTRACT", "-i", where + ".dwarfs", "-f", "pax", "-o", place("bare.tar"),
        "--no-xattrs")
    with tarfile.open(place("bare.tar"), encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            assert not any("xattr" in name or "acl" in name for name in member.pax_headers)
    done = subprocess.run([tap.tool("DWARFSEXTRACT"), "-i", where + ".dwarfs", "-f", "zip", "-o",
                           place("a.zip"), "--pattern=files/text"], capture_output=True)
    assert done.returncode == 0, done
    # Of the two entries with attributes, the root is not written, files/text is.
    assert b"extended attributes of 1 entries" in done.stderr, done.stderr

with suite.case("newc and ustar: contents and the attributes that they can hold are restored"):
    where = place("small")
    write(where + "/a/file", b"contents\n" * 100)
    os.link(where + "/a/file", where + "/a/other")
    os.symlink("a/file", where + "/link")
    write(where + "/empty")
    for name in ("file", ".", "other"):
        os.utime(os.path.join(where, "a", name), (10**9, 10**9))
    run("MKDWARFS", "-i", where, "-o", where + ".dwarfs", "-l1", "--no-progress",
        "--log-level=warn")
    for form in "newc", "ustar", "cpio", "gnutar", "paxr":
        run("DWARFSEXTRACT", "-i", where + ".dwarfs", "-f", form, "-o", place("s." + form))
        run("MKDWARFS", "-i", place("s." + form), "-o", place(form + ".dwarfs"), "-l1",
            "--no-progress", "--log-level=warn", "--input-format=auto")
        run("DWARFSEXTRACT", "-i", place(form + ".dwarfs"), "-o", place("back " + form))
        agree(where, place("back " + form), resolution_ns=10**9)

tree.remove(scratch)
suite.finish()
