# SPDX-License-Identifier: MIT
"""Shared by the tests of archives: creating them, and reading the images made from them.

Entries are described here, written by Python's tarfile or byte for byte, and compared with what is
extracted from an image to disk, not with the output of our programs.
"""
import hashlib
import io
import os
import shutil
import subprocess
import tarfile

import cli
from cli import run
import tap
import walker

IS_ROOT = os.geteuid() == 0
TIME = 1600000000
NANO = 10**9
KINDS = {tarfile.REGTYPE: "f", tarfile.DIRTYPE: "d", tarfile.SYMTYPE: "l", tarfile.CHRTYPE: "c",
         tarfile.BLKTYPE: "b", tarfile.FIFOTYPE: "p"}


class Entry(tarfile.TarInfo):
    """With its contents in .data."""


def entry(name, data=None, kind=None, mode=None, **more):
    """Names are bytes or str."""
    info = Entry(os.fsdecode(name))
    info.type = kind or tarfile.REGTYPE
    info.data = data or b""
    info.size = len(info.data)
    info.mtime = TIME
    info.mode = mode if mode is not None else 0o755 if kind == tarfile.DIRTYPE else 0o644
    if kind == tarfile.SYMTYPE:
        info.mode = 0o777
    for key, value in more.items():
        setattr(info, key, value)
    return info


def directory(name, **more):
    return entry(name, kind=tarfile.DIRTYPE, **more)


def symlink(name, target, **more):
    return entry(name, kind=tarfile.SYMTYPE, linkname=os.fsdecode(target), **more)


def link(name, target, **more):
    return entry(name, kind=tarfile.LNKTYPE, linkname=os.fsdecode(target), **more)


def tar(entries, form=tarfile.PAX_FORMAT, mode="w"):
    """The bytes of an archive. Names that are not UTF-8 are written unchanged."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form, encoding="utf-8",
                      errors="surrogateescape") as archive:
        for info in entries:
            archive.addfile(info, io.BytesIO(info.data))
    return out.getvalue()


def header(name=b"x", size=b"00000000000", kind=b"0", mode=b"0000644", linkname=b"",
           prefix=b"", uid=b"0000000", gid=b"0000000"):
    """A block of ustar with these fields, valid or not."""
    block = (name.ljust(100, b"\0")[:100] + mode.ljust(8, b"\0") + uid.ljust(8, b"\0") +
             gid.ljust(8, b"\0") + size.ljust(12, b"\0") + b"%011o\0" % TIME + b" " * 8 +
             kind + linkname.ljust(100, b"\0")[:100] + b"ustar\00000" + b"root".ljust(32, b"\0") +
             b"root".ljust(32, b"\0") + b"0000000\0" * 2 + prefix.ljust(155, b"\0")).ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def pax(*records):
    """An extended header: records are (key, value), both bytes."""
    body = b""
    for key, value in records:
        rest = b" " + key + b"=" + value + b"\n"
        length = len(rest)
        while length != len(rest) + len(b"%d" % length):
            length = len(rest) + len(b"%d" % length)
        body += b"%d" % length + rest
    return (header(b"pax", b"%011o" % len(body), b"x") + body.ljust(-(-len(body) // 512) * 512,
                                                                  b"\0"))


END = bytes(1024)


def base256(value):
    return bytes([0x80]) + value.to_bytes(11, "big")


def rows_of(entries):
    """The rows of an image of these entries, as of the walker, without the root and implied
    directories."""
    rows = {}
    for info in entries:
        path = os.fsencode(info.name).strip(b"/")
        while path.startswith(b"./"):
            path = path[2:]
        if info.type == tarfile.LNKTYPE:
            rows[path] = rows[os.fsencode(info.linkname)]
            continue
        kind = KINDS[info.type]
        rows[path] = {
            "type": kind, "mode": info.mode, "uid": info.uid, "gid": info.gid,
            "mtime": int(info.mtime * NANO), "size": info.size if kind == "f" else 0,
            "rdev": (info.devmajor, info.devminor) if kind in "cb" else None,
            "target": os.fsencode(info.linkname) if kind == "l" else None,
            "sha256": hashlib.sha256(info.data).hexdigest() if kind == "f" else None,
            "extents": None, "inode": id(info)}
    return rows


class Archives(cli.Case):
    def setUp(self):
        super().setUp()
        words = run("MKDWARFS", "-H").out
        if "archives were not built in" in words:
            raise tap.Skip("built without libarchive")

    def put(self, data, *options, code=0, name="archive", pipe=False, **more):
        """Make an image of the bytes of an archive, from a file or through a pipe."""
        image = self.path("image")
        if os.path.exists(image):
            os.remove(image)
        if not pipe:
            with open(self.path(name), "wb") as out:
                out.write(data)
        words = ["-i", "-" if pipe else self.path(name), "-o", image, "-l1", "-S16",
                 "--no-progress", "--time-resolution=ns", "--with-devices", "--with-specials",
                 *options]
        if pipe:
            more.update(stdin=None, input=data)
        result = self.expect(run("MKDWARFS", *words, **more), code)
        self.assertEqual(os.path.exists(image), code != 1, result.err)
        if code == 1:
            self.assertEqual([name for name in os.listdir(self.dir) if "image" in name], [])
        return result

    def merge(self, archives, *options, code=0):
        """Each is the bytes of an archive or the path of a directory."""
        words = []
        for number, data in enumerate(archives):
            path = data
            if isinstance(data, bytes):
                path = self.write(f"layer{number}", data)
            words += ["-i", path]
        result = run("MKDWARFS", *words, "-o", self.path("image"), "-f", "-l1", "--no-progress",
                     "--time-resolution=ns", "--with-devices", *options)
        return self.expect(result, code)

    def names(self):
        return run("DWARFSCK", "-l", self.path("image")).out.splitlines()

    def listing(self, image):
        """The words of each line of a long list, by path; without lines of attributes."""
        lines = self.expect(run("DWARFSCK", "-l", "-v", image), 0).out.splitlines()
        return {words[5]: words for words in
                (line.split(None, 5) for line in lines if not line.startswith(" "))}

    def unpack(self):
        """Extract to disk; returns the directory."""
        out = self.path("out")
        if os.path.exists(out):
            shutil.rmtree(out)
        self.expect(run("DWARFSCK", "-q", "--check-integrity", self.path("image")), 0)
        self.expect(run("DWARFSEXTRACT", "-i", self.path("image"), "-o", out), 0)
        return out

    def contents(self, *names):
        with open(os.path.join(self.unpack(), *names), "rb") as file:
            return file.read()

    def agree(self, entries, implied=(), columns=("type", "mode", "mtime", "size", "rdev",
                                                  "target", "sha256"), resolution_ns=1):
        """The image has these entries, and implied directories."""
        expected = rows_of(entries)
        actual = walker.describe(self.unpack())
        for path, row in actual.items():
            row["mtime"] -= row["mtime"] % resolution_ns
        for path in (b".", *implied):
            if path not in expected:
                self.assertEqual(actual[path]["type"], "d")
                del actual[path]
        if IS_ROOT:
            columns += ("uid", "gid")
        walker.must_agree(expected, actual, columns=columns, resolution_ns=resolution_ns)

    def program(self, *words, **options):
        """The output of another program; skips if it is not installed."""
        if not shutil.which(words[0]):
            raise tap.Skip(f"no {words[0]} here")
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


def everything():
    """Entries of every type that ustar supports, the root first."""
    yield directory(".", mode=0o750)
    yield directory("dir", mode=0o2775)
    yield entry("dir/file", b"contents\n" * 50, uid=1000, gid=1001)
    yield entry("dir/none")
    yield entry("dir/setuid", b"#!/bin/sh\n", mode=0o4755)
    yield link("dir/name", "dir/file")
    yield symlink("dir/link", "../nowhere")
    yield symlink("dir/absolute", "/etc/passwd")
    yield entry("fifo", kind=tarfile.FIFOTYPE, mode=0o620)
    if IS_ROOT:
        yield entry("null", kind=tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666)
        yield entry("disk", kind=tarfile.BLKTYPE, devmajor=8, devminor=17, mode=0o660)
    yield directory("empty")
    yield entry("big", bytes(range(256)) * 2000)


