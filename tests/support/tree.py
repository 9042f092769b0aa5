#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a directory tree with everything that a file system can hold.

The same call makes the same tree, times included. Without privileges, devices and owners are left
out.

    tree.py DIRECTORY [--plain] [--no-huge]

--plain leaves out what the crate `dwarfs` cannot read: names and link targets that are not
UTF-8. --no-huge leaves out the file of more than 2 GiB, which is all hole but for its ends.
"""
import argparse
import os
import random
import shutil
import socket
import stat

import tap

FIRST_TIME = 946684800  # 2000-01-01
IDS = (0, 1, 1000, 65534, 65536, 70001, 4000000000)

WORDS = b"""the of and to in is that for it as was with be by on not he his but at are this
have from or had an they which one you were all her she there would their we him been has when
who will no more if out so up said what its about than into them can only other time new some
could these two may first then do any like my now over such our man me even most""".split()


def text(rng, size):
    """Words and lines: compresses like prose."""
    parts = []
    length = 0
    while length < size:
        word = rng.choice(WORDS) + (b"\n" if rng.random() < 0.1 else b" ")
        parts.append(word)
        length += len(word)
    return b"".join(parts)[:size]


class Tree:
    def __init__(self, root, plain, huge):
        self.root = os.fsencode(root)
        self.plain = plain
        self.huge = huge
        self.privileged = os.geteuid() == 0
        self.rng = random.Random(20240229)

    def path(self, name):
        if isinstance(name, str):
            name = os.fsencode(name)
        return os.path.join(self.root, name)

    def directory(self, name):
        os.makedirs(self.path(name), exist_ok=True)

    def file(self, name, contents=b"", mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(contents)
        os.chmod(path, mode)

    def sparse(self, name, size, pieces):
        """A file of holes except for pieces, each (offset, contents)."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.truncate(size)
            for offset, contents in pieces:
                out.seek(offset)
                out.write(contents)

    def names(self):
        names = [b"with space", b" leading", b"trailing ", b"'quoted'", b'"double"', b"-dash",
                 b"--help", b"new\nline", b"tab\there", b"back\\slash", b"star*?[a-z]", b"#hash",
                 b"$HOME", b"`tick`", b"semi;colon", b"a,comma", b"per%cent%s", b"colon:",
                 b".hidden", b"..two", b"...", b"~", b"n" * 255, "ünïcödé".encode(),
                 "日本語".encode(), "\U0001f409 dragon".encode(), b"UPPER", b"upper"]
        if not self.plain:
            names += [b"\xff\xfe not utf-8", b"latin1 \xe9", b"\x01\x02\x7f", b"\xf0\x9f cut"]
        for number, name in enumerate(names):
            self.file(b"names/" + name, b"name %d\n" % number)
        self.directory("names/-dir with\nnewline")
        self.file("names/-dir with\nnewline/inside", b"inside\n")

    def contents(self):
        self.file("files/empty")
        self.file("files/empty too")
        self.file("files/one byte", b"x")
        self.file("files/text", text(self.rng, 100000))
        self.file("files/large text", text(self.rng, 300000))
        noise = self.rng.randbytes((1 << 18) + 1)
        self.file("files/random", self.rng.randbytes(100000))
        self.file("files/zeros written", bytes(300000))
        self.file("files/ones", b"\xff" * 70000)
        self.file("files/two-byte run", b"ab" * 50000)
        for exponent in (10, 12, 16, 18):
            for delta in (-1, 0, 1):
                size = (1 << exponent) + delta
                self.file(f"files/size {size}", noise[:size])
        base = bytearray(text(self.rng, 50000))
        for release in range(6):
            base[release * 7000:release * 7000 + 5] = b"%05d" % release
            self.file(f"releases/{release}/changes", bytes(base))
        same = text(self.rng, 40000)
        for name in ("a", "b", "deeper/c", "deeper/d"):
            self.file("duplicates/" + name, same)
        self.file("duplicates/e", same[:-1] + b"!")

    def links(self):
        self.file("links/file", b"three names\n")
        os.link(self.path("links/file"), self.path("links/same file"))
        self.directory("links/other")
        os.link(self.path("links/file"), self.path("links/other/same file"))
        self.file("links/no bytes")
        os.link(self.path("links/no bytes"), self.path("links/no bytes again"))
        self.file("links/twin of file", b"three names\n")
        targets = {"relative": b"file", "up": b"../files/text", "absolute": b"/usr/bin/env",
                   "dangling": b"nowhere/at all", "to itself": b"to itself", "dot": b".",
                   "long": b"x/" * 499 + b"yz", "longest": b"y" * 4095,
                   "to a directory": b"other", "quoted": b"it's \"quoted\"\\ \n"}
        if not self.plain:
            targets["not utf-8"] = b"\xff/\xfe"
        for name, target in targets.items():
            os.symlink(target, self.path("links/" + name))
        os.link(self.path("links/dangling"), self.path("links/dangling again"),
                follow_symlinks=False)

    def holes(self):
        block = 4096
        self.sparse("holes/all", 5 << 20, [])
        self.sparse("holes/one byte at the end", (1 << 20) + 1, [(1 << 20, b"e")])
        self.sparse("holes/at the start", 65536 + 5000, [(65536, self.rng.randbytes(5000))])
        self.sparse("holes/at the end", 1 << 20, [(0, text(self.rng, 2 * block))])
        self.sparse("holes/in the middle", 3 << 20,
                    [(0, text(self.rng, block)), ((3 << 20) - block, self.rng.randbytes(block))])
        self.sparse("holes/many", 100 * 8 * block,
                    [(8 * block * i, self.rng.randbytes(block)) for i in range(100)])
        self.sparse("holes/many again", 300 * 4 * block,
                    [(4 * block * i, bytes([i % 255 + 1]) * block) for i in range(300)])
        if self.huge:
            size = (2 << 30) + (1 << 20)
            self.sparse("holes/huge", size, [(0, b"first".ljust(block, b".")),
                                             (size - block, b"last".rjust(block, b"."))])

    def specials(self):
        self.directory("special")
        os.mkfifo(self.path("special/fifo"), 0o620)
        here = os.getcwd()
        os.chdir(self.path("special"))  # the path of a socket has at most 107 bytes
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind("socket")
        finally:
            os.chdir(here)
        if not self.privileged:
            return
        try:
            os.mknod(self.path("special/null"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
            os.mknod(self.path("special/large minor"), stat.S_IFCHR | 0o600,
                     os.makedev(240, 0x12345))
            os.mknod(self.path("special/block"), stat.S_IFBLK | 0o660, os.makedev(8, 17))
        except PermissionError:
            pass  # a container without CAP_MKNOD

    def modes(self):
        modes = [0o400, 0o777, 0o4755, 0o2755, 0o6711, 0o1644, 0o7777]
        if self.privileged:
            modes += [0o000, 0o222]  # others could not read these
        for mode in modes:
            self.file(f"modes/file {mode:04o}", b"%04o\n" % mode, mode)
        for mode in (0o700, 0o1777, 0o2775):
            self.file(f"modes/directory {mode:04o}/inside", b"in\n")
            os.chmod(self.path(f"modes/directory {mode:04o}"), mode)

    def shapes(self):
        self.directory("empty directories/a/b/c")
        self.directory("empty directories/d")
        self.file("deep/" + "/".join(f"level {i}" for i in range(60)) + "/bottom", b"deep\n")
        for number in range(1000):
            self.file(f"thousand/file{number:04d}", b"%d\n" % (number // 2))

    def owners_and_times(self):
        """Set the owner (as root) and the time of every entry, children first."""
        linked = set()
        number = 0
        for folder, directories, files in os.walk(self.root, topdown=False):
            for name in sorted(files) + [b""]:
                path = os.path.join(folder, name) if name else folder
                status = os.lstat(path)
                if status.st_ino in linked:
                    continue
                if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                    linked.add(status.st_ino)
                number += 1
                if self.privileged:
                    os.lchown(path, IDS[number % 7], IDS[number * 3 % 7])
                    if not stat.S_ISLNK(status.st_mode):
                        os.chmod(path, stat.S_IMODE(status.st_mode))  # chown clears setuid
                mtime = FIRST_TIME + number * 86413
                if name == b"file0001":
                    mtime = 1
                elif name == b"file0002":
                    mtime = min(4102444800, tap.library_times()[1] - 10**6)  # 2100-01-01
                nanoseconds = number * 7654321 % 1000000000
                atime = mtime + 1000 + number
                os.utime(path, ns=(atime * 10**9 + nanoseconds // 3,
                                   mtime * 10**9 + nanoseconds), follow_symlinks=False)

    def make(self):
        os.makedirs(self.root)
        self.names()
        self.contents()
        self.links()
        self.holes()
        self.specials()
        self.modes()
        self.shapes()
        self.owners_and_times()


def make(root, plain=False, huge=True):
    """Make the tree at a path that does not exist yet."""
    Tree(root, plain, huge).make()


def remove(root):
    """Remove a tree, which may have directories without write permission, if it exists."""
    if os.path.isdir(root):
        os.chmod(root, 0o700)
    for folder, directories, _ in os.walk(root):
        for name in directories:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make a directory tree with every type of entry.")
    parser.add_argument("directory")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--no-huge", action="store_true")
    arguments = parser.parse_args()
    make(arguments.directory, arguments.plain, not arguments.no_huge)
