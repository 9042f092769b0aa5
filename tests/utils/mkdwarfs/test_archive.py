#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Archives as input of mkdwarfs: every format and filter, every type and attribute.

Runs in the C locale, in which libarchive alone loses names.
"""
import base64
import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import signal
import stat
import struct
import subprocess
import tarfile
import time
import zipfile

os.environ["LC_ALL"] = "C"

import absent  # noqa: E402
import cli  # noqa: E402
from cli import IS_NATIVE, run  # noqa: E402
from archives import (END, IS_ROOT, NANO, TIME, Archives, directory, entry,  # noqa: E402
                      everything, header, link, pax, symlink, tar)
import tap  # noqa: E402
import walker  # noqa: E402

READ_BYTES = 256 << 10  # FEED_BYTES of lib/archive/feed.h
SAMPLES = "/usr/lib/python3.11/test"  # Debian: libpython3.11-testsuite
ODD_NAMES = [b"with space", b" leading", b"new\nline", b"tab\there", b"back\\slash", b"star*?[a]",
             b"-dash", b"\xff\xfe no utf-8", b"latin1 \xe9", b"\x01\x02\x7f", b"n" * 255,
             "ünïcödé".encode(), "日本語".encode(), "\U0001f409".encode(), b"...", b"..two",
             b"\xc3\xa9 composed", b"\xed\xa0\x80 surrogate",
             b"\xf0\x9f cut", b"%41", b"quote'\"", b"e\xcc\x81 decomposed"]


class Formats(Archives):
    def test_tar_of_each_kind(self):
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            for pipe in (False, True):
                with self.subTest(form=form, pipe=pipe):
                    entries = list(everything())
                    self.put(tar(entries, form), pipe=pipe)
                    self.agree(entries)

    def test_old_tar(self):
        """Before ustar: no magic, and a directory is known by its name only."""
        def block(name, size=0, kind=b"\0", linkname=b""):
            data = bytearray(header(name, b"%11o" % size, kind, linkname=linkname))
            data[257:] = bytes(255)
            data[148:156] = b" " * 8
            data[148:156] = b"%06o\0 " % sum(data)
            return bytes(data)

        self.put(block(b"d/") + block(b"d/a", 5) + b"12345".ljust(512, b"\0") +
                 block(b"d/b", 0, b"1", b"d/a") + block(b"d/l", 0, b"2", b"a") + END)
        self.agree([directory("d", mode=0o644), entry("d/a", b"12345"), link("d/b", "d/a"),
                    symlink("d/l", "a")], columns=("type", "size", "target", "sha256"))

    def test_filters(self):
        entries = list(everything())
        data = tar(entries)
        filters = {"gzip": gzip.compress(data), "bzip2": bz2.compress(data),
                   "xz": lzma.compress(data), "lzma": lzma.compress(data, lzma.FORMAT_ALONE),
                   "twice": gzip.compress(lzma.compress(data)),
                   "gzip in parts": gzip.compress(data[:1000]) + gzip.compress(data[1000:])}
        for name, packed in filters.items():
            for pipe in (False, True):
                with self.subTest(filter=name, pipe=pipe):
                    self.put(packed, pipe=pipe)
                    self.agree(entries)

    def changed(self, packed, what):
        """No image of packed bytes that were changed where only a checksum can tell."""
        for pipe in (False, True):
            for options in ((), ("--continue-on-error",)):
                with self.subTest(what=what, pipe=pipe):
                    result = self.put(packed, *options, code=1, pipe=pipe)
                    self.assertRegex(result.err, "(gzip|lz4) decompression failed: ")

    def test_checksums_of_gzip(self):
        """libarchive ignores them."""
        absent.need("zlib")
        data = tar([entry("a", os.urandom(300000))])
        half = 150000
        packed = gzip.compress(data, 0)
        other = bytearray(packed)
        other[half] ^= 1
        self.changed(bytes(other), "contents")
        self.changed(packed[:-8] + bytes(4) + packed[-4:], "checksum")
        self.changed(packed[:-4] + bytes(4), "size")
        parts = gzip.compress(data[:half], 0), gzip.compress(data[half:], 0)
        self.changed(parts[0][:-8] + bytes(8) + parts[1], "first part")
        self.changed(parts[0] + parts[1][:-8] + bytes(8), "second part")
        # After the end marker of the tar, which libarchive does not read.
        padded = data + bytes(1 << 20)
        self.changed(gzip.compress(padded, 0)[:-500000], "truncated padding")
        for tail in (b"", bytes(10000), b"\x1f", b"\x1f\x8c" * 10, b"garbage" * 2000):
            for whole in (packed, parts[0] + parts[1], gzip.compress(padded)):
                for pipe in (False, True):
                    self.put(whole + tail, pipe=pipe)
                    self.assertEqual(self.contents("a"), data[512:300512])

    def test_bytes_after_gzip_at_the_end_of_a_read(self):
        """Whether they are a member shows in the next bytes that are read."""
        absent.need("zlib")
        data = tar([entry("a", os.urandom(500000))])
        packed = gzip.compress(data, 0)
        for before in (1, 2):
            extra = -(len(packed) + 2 + before) % READ_BYTES
            whole = (packed[:3] + b"\x04" + packed[4:10] + extra.to_bytes(2, "little") + bytes(extra) +
                     packed[10:])
            self.assertEqual((len(whole) + before) % READ_BYTES, 0)
            for tail in (bytes(512), b"\x1f" + bytes(511)):
                self.put(whole + tail)
                self.assertEqual(self.contents("a"), data[512:500512])

    def test_checksums_of_lz4(self):
        """libarchive does not read to the end of the stream."""
        absent.need("lz4")
        data = tar([entry("a", os.urandom(300000))])
        packed = self.program("lz4", "-c", input=data)
        other = bytearray(packed)
        other[150000] ^= 1
        self.changed(bytes(other), "contents")
        self.changed(packed[:-4] + bytes(4), "checksum")
        self.changed(packed[:-4], "truncated")
        for tail in (b"", *(bytes(n) for n in range(1, 9)), bytes(10000), b"garbage" * 2000, packed):
            self.put(packed + tail)
            self.assertEqual(self.contents("a"), data[512:300512])

    def test_frames_of_lz4_that_are_skipped(self):
        """libarchive seeks over them, where it can."""
        absent.need("lz4")
        data = tar([entry("a", os.urandom(300000))])
        first, second = (self.program("lz4", "-c", input=part)
                         for part in (data[:150000], data[150000:]))
        for size in (0, 1000, 300000, 2000000):
            skipped = b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)
            for pipe in (False, True):
                self.put(first + skipped + second, pipe=pipe)
                self.assertEqual(self.contents("a"), data[512:300512])
            self.changed(first + skipped + second[:-4] + bytes(4), "checksum")
        for before in (1, 3, 6):
            size = -(len(first) + len(second) + 8 + before) % READ_BYTES
            skipped = b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)
            self.put(first + skipped + second + bytes(512))
            self.assertEqual(self.contents("a"), data[512:300512])

    def test_filters_by_other_programs(self):
        entries = list(everything())
        data = tar(entries)
        tried = 0
        for program in ("zstd", "lz4", "lzop", "lzip", "compress"):
            if shutil.which(program):
                with self.subTest(filter=program):
                    self.put(self.program(program, "-c", input=data), pipe=True)
                    self.agree(entries)
                    tried += 1
        for option in ("--zstd", "--lz4", "--uuencode", "--compress", "--lzip"):
            if shutil.which("bsdtar"):
                with self.subTest(filter="bsdtar " + option):
                    self.program("bsdtar", "-c", option, "--format=pax", "-f",
                                 self.path("packed"), "@" + self.write("plain", data))
                    with open(self.path("packed"), "rb") as file:
                        self.put(file.read(), pipe=True)
                    self.agree(entries)
                    tried += 1
        if not tried:
            raise tap.Skip("neither bsdtar nor a program for a filter here")

    def tree(self, name="tree"):
        root = self.path(name)
        os.makedirs(os.path.join(root, "sub", "deep"))
        for path, data in (("a", b"one\n" * 9), ("sub/b", b"two" * 5000), ("sub/none", b""),
                           ("sub/deep/c", bytes(range(256)) * 300)):
            with open(os.path.join(root, path), "wb") as out:
                out.write(data)
        os.chmod(os.path.join(root, "a"), 0o751)
        os.symlink("sub/b", os.path.join(root, "link"))
        for folder, dirs, files in os.walk(root, topdown=False):
            for entry_name in dirs + files + ["."]:
                os.utime(os.path.join(folder, entry_name), (TIME, TIME), follow_symlinks=False)
        return root

    def link(self, old, new):
        """Add a name, and keep the time of its directory."""
        os.link(old, new)
        os.utime(os.path.dirname(new), (TIME, TIME))

    def same_as_disk(self, root, columns=("type", "mode", "mtime", "size", "target", "sha256")):
        expected = walker.describe(root)
        actual = walker.describe(self.unpack())
        expected.pop(b".")
        actual.pop(b".")
        walker.must_agree(expected, actual, columns=columns)

    def test_formats_of_bsdtar(self):
        root = self.tree()
        self.link(os.path.join(root, "a"), os.path.join(root, "sub", "again"))
        for form in ("ustar", "pax", "gnutar", "cpio", "newc", "odc", "bin", "iso9660", "xar",
                     "v7tar"):
            if form in absent.FORMATS_ABSENT:
                continue
            with self.subTest(format=form):
                options = ["--options=rockridge=strict"] if form == "iso9660" else []
                data = self.program("bsdtar", "-c", f"--format={form}", *options, "-f", "-", "-C",
                                    root, ".")
                self.put(data)
                self.same_as_disk(root)
                if form != "iso9660":
                    self.put(data, pipe=True)
                    self.same_as_disk(root)

    def test_formats_without_hard_links(self):
        root = self.tree()
        for form, columns in (("zip", ("type", "mode", "mtime", "size", "target", "sha256")),
                              ("7zip", ("type", "mode", "mtime", "size", "target", "sha256"))):
            for pipe in (False, True):
                with self.subTest(format=form, pipe=pipe):
                    data = self.program("bsdtar", "-c", f"--format={form}", "-f", "-", "-C", root,
                                        ".")
                    result = self.put(data, pipe=pipe)
                    self.same_as_disk(root, columns)
                    self.assertNotIn("warning", result.err)

    def test_ar(self):
        self.put(b"!<arch>\n" + b"a.txt/          1600000000  0     0     100644  5         `\n"
                 b"12345\n" + b"b/              1600000000  7     8     100600  2         `\nxy")
        self.agree([entry("a.txt", b"12345"), entry("b", b"xy", uid=7, gid=8, mode=0o600)])

    def test_cpio_by_cpio(self):
        """GNU cpio stores the contents of hard links with the last of their names."""
        root = self.tree()
        for name in ("x1", "sub/x2", "x3"):
            self.link(os.path.join(root, "a"), os.path.join(root, name))
        self.link(os.path.join(root, "sub", "none"), os.path.join(root, "none too"))
        listed = subprocess.run(["find", ".", "-depth", "-print0"], cwd=root, check=True,
                                stdout=subprocess.PIPE).stdout
        for form in ("bin", "odc", "newc", "crc", "tar", "ustar"):
            with self.subTest(format=form):
                data = self.program("cpio", "-o0", "-H", form, "--quiet", input=listed, cwd=root)
                self.put(data, pipe=True)
                self.same_as_disk(root)

    def test_directories_of_one_number(self):
        """As in some initial RAM disks."""
        def newc(name, mode, data=b"", links=1):
            head = b"070701" + b"".join(b"%08x" % value for value in (
                0, mode, 0, 0, links, TIME, len(data), 0, 0, 0, 0, len(name) + 1, 0))
            return ((head + name + b"\0").ljust(-(-(len(head) + len(name) + 1) // 4) * 4, b"\0") +
                    data.ljust(-(-len(data) // 4) * 4, b"\0"))

        self.put(newc(b"a", 0o40755, links=2) + newc(b"b", 0o40700, links=2) +
                 newc(b"b/f", 0o100644, b"text") + newc(b"TRAILER!!!", 0))
        self.agree([directory("a"), directory("b", mode=0o700), entry("b/f", b"text")])

    def test_zip(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, mode, data in (("d/f", 0o100640, b"packed " * 500),
                                     ("d/l", 0o120777, b"f"),
                                     ("ünï", 0o100600, b"name")):
                info = zipfile.ZipInfo(name, (2020, 9, 13, 12, 26, 40))
                info.create_system = 3
                info.external_attr = mode << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, data)
        for pipe in (False, True):
            self.put(out.getvalue(), pipe=pipe)
            self.agree([entry("d/f", b"packed " * 500, mode=0o640), symlink("d/l", "f"),
                        entry("ünï", b"name", mode=0o600)], implied=[b"d"],
                       columns=("type", "mode", "size", "target", "sha256"))
        # In a compressed stream its directory cannot be read, which is reported.
        result = self.put(gzip.compress(out.getvalue()), code=2)
        self.assertIn("compressed zip", result.err)
        self.assertEqual(self.contents("d", "f"), b"packed " * 500)

    def test_rpm(self):
        """A package is a header followed by a compressed cpio."""
        def newc(name, mode, data=b""):
            head = b"070701" + b"".join(b"%08x" % value for value in (
                1, mode, 0, 0, 1, TIME, len(data), 0, 0, 0, 0, len(name) + 1, 0))
            return ((head + name + b"\0").ljust(-(-(len(head) + len(name) + 1) // 4) * 4, b"\0") +
                    data.ljust(-(-len(data) // 4) * 4, b"\0"))

        lead = struct.pack(">4sBBHH66sHH16s", b"\xed\xab\xee\xdb", 3, 0, 0, 1, b"x-1-1", 1, 5, b"")
        index = struct.pack(">3sB4xII", b"\x8e\xad\xe8", 1, 0, 0)
        payload = gzip.compress(newc(b"./usr/f", 0o100644, b"text") + newc(b"TRAILER!!!", 0))
        self.put(lead + index + index + payload)
        self.agree([entry("usr/f", b"text")], implied=[b"usr"])

    def test_by_name_only(self):
        result = self.put(gzip.compress(b"just text"), "--input-format=raw")
        self.assertNotIn("warning", result.err)
        self.assertEqual(self.contents("data"), b"just text")
        self.put(b"just text", code=1)
        contents = self.write("contents", b"of mtree")
        text = f"#mtree\n./f type=file mode=0600 time=1600000000.0 contents={contents}\n"
        self.put(text.encode(), code=1)
        self.put(text.encode(), "--input-format=mtree")
        self.assertEqual(self.contents("f"), b"of mtree")

    def test_format_by_name(self):
        self.put(tar([entry("a", b"x")]), "--input-format=tar")
        self.assertEqual(self.names(), ["a"])
        self.put(tar([entry("a", b"x")]), "--input-format=cpio", code=1)
        result = self.put(tar([entry("a", b"x")]), "--input-format=grmpf", code=1)
        self.assertIn("invalid value 'grmpf' for --input-format: use auto, tar, cpio, zip, ",
                      result.err)

    def test_fifo_with_a_name(self):
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("pipe"), "-o",
                               self.path("image"), "-l1", "--no-progress"],
                              stderr=subprocess.PIPE) as process:
            with open(self.path("pipe"), "wb") as out:
                out.write(tar([entry("a", b"x")]))
            error = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(self.names(), ["a"])

    def test_fifo_without_a_writer(self):
        """The program waits for it, and a signal ends the wait."""
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("pipe"), "-o",
                               self.path("image"), "-l1", "--no-progress"],
                              stderr=subprocess.PIPE) as process:
            time.sleep(0.3)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(os.listdir(self.dir), ["pipe"])

    def test_samples_of_python(self):
        """The image of a sample of tarfile has what tarfile reads from it."""
        sample = os.path.join(SAMPLES, "testtar.tar")
        if not os.path.exists(sample):
            raise tap.Skip("no sample archives here (Debian: libpython3.11-testsuite)")
        with open(sample, "rb") as file:
            result = self.put(file.read(), code=2)
        self.assertIn("created with 1 error\n", result.err)
        self.assertEqual(result.err.count("warning"), 1, result.err)
        self.assertIn("'gnu/regtype-gnu-uid': no system has the owner", result.err)
        out = os.fsencode(self.unpack())
        seen = 0
        with tarfile.open(sample, encoding="iso8859-1") as archive:
            for member in archive:
                path = next(path for path in (os.path.join(out, member.name.encode(code).strip(b"/"))
                                              for code in ("iso8859-1", "utf-8"))
                            if os.path.lexists(path))
                status = os.lstat(path)
                self.assertEqual(int(status.st_mtime), int(member.mtime), member.name)
                if member.isreg():
                    with open(path, "rb") as file:
                        self.assertEqual(file.read(), archive.extractfile(member).read())
                elif member.issym():
                    self.assertTrue(stat.S_ISLNK(status.st_mode))
                elif member.isdir():
                    self.assertTrue(stat.S_ISDIR(status.st_mode))
                seen += 1
        self.assertGreater(seen, 30)

    def test_broken_sample_of_python(self):
        sample = os.path.join(SAMPLES, "recursion.tar")
        if not os.path.exists(sample):
            raise tap.Skip("no sample archives here (Debian: libpython3.11-testsuite)")
        with open(sample, "rb") as file:
            self.put(file.read(), code=1)


class Names(Archives):
    @staticmethod
    def odd_entries(names):
        return [*(entry(b"d/" + name, b"%d" % number) for number, name in enumerate(names)),
                *(symlink(b"l%d" % number, name) for number, name in enumerate(names)),
                *(link(b"h%d" % number, b"d/" + name) for number, name in enumerate(names))]

    def test_odd_names(self):
        """Where libarchive converts names, it composes those of pax, which are in UTF-8."""
        entries = self.odd_entries(ODD_NAMES)
        composed = self.odd_entries([name.replace(b"e\xcc\x81", b"\xc3\xa9")
                                     for name in ODD_NAMES])
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            with self.subTest(form=form):
                self.put(tar(entries, form))
                is_changed = form == tarfile.PAX_FORMAT and "DWARFS_COMPOSED_NAMES" in os.environ
                self.agree(composed if is_changed else entries, implied=[b"d"])

    def test_odd_names_in_cpio(self):
        os.mkdir(self.path("tree"))
        for name in ODD_NAMES:
            with open(os.path.join(os.fsencode(self.path("tree")), name), "wb") as out:
                out.write(name)
        for form in ("newc", "odc"):
            listed = b"".join(name + b"\0" for name in ODD_NAMES)
            data = self.program("cpio", "-o0", "-H", form, "--quiet", input=listed,
                                cwd=self.path("tree"))
            self.put(data)
            expected = walker.describe(self.path("tree"))
            walker.must_agree(expected, walker.describe(self.unpack()),
                              columns=("type", "size", "sha256"))

    def test_names_of_pax_in_latin1(self):
        name = b"latin1 \xe9"
        self.put(pax((b"hdrcharset", b"BINARY"), (b"path", name)) + header(b"short") + END)
        self.assertEqual(os.listdir(os.fsencode(self.unpack())), [name])

    def test_deeper_than_a_path_can_be(self):
        deep = "/".join(f"level{i:03}" for i in range(900))
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            self.put(tar([entry(deep + "/file", b"deep")], form))
            names = self.names()
            self.assertEqual(len(names), 901)
            self.assertEqual(names[-1], deep + "/file")

    def test_what_paths_mean(self):
        self.put(tar([entry("/abs", b"1"), entry("./rel", b"2"), entry("a//b/./c", b"3"),
                      directory("./d/"), entry("d/../../evil", b"4")][:4]))
        self.assertEqual(self.names(), ["a", "a/b", "a/b/c", "abs", "d", "rel"])

    def test_the_root(self):
        self.put(tar([directory("./", mode=0o700, mtime=TIME + 7), entry("f", b"x")]))
        status = os.stat(self.unpack())
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o700)
        self.assertEqual(status.st_mtime, TIME + 7)

    def test_symbolic_links_are_not_followed(self):
        result = self.put(tar([symlink("l", "/tmp"), entry("l/evil", b"x")]), code=1)
        self.assertIn("'l' is not a directory", result.err)


class Attributes(Archives):
    def test_times(self):
        data = (pax((b"mtime", b"1600000000.123456789"), (b"atime", b"1600000001.5"),
                    (b"ctime", b"1600000002.25")) + header(b"a") + header(b"b") + END)
        self.put(data, "--keep-all-times")
        out = self.unpack()
        status = os.stat(os.path.join(out, "a"))
        self.assertEqual(status.st_mtime_ns, TIME * NANO + 123456789)
        self.assertEqual(status.st_atime_ns, (TIME + 1) * NANO + 500000000)
        self.assertEqual(os.stat(os.path.join(out, "b")).st_mtime_ns, TIME * NANO)

    def test_times_before_1970(self):
        """Fractions are added to negative numbers correctly: -1.5 is later than -2."""
        times = {b"-86400.5": -86400 * NANO - NANO // 2, b"-1.25": -125 * NANO // 100,
                 b"-2004047999": -2004047999 * NANO, b"-61.999999999": -62 * NANO + 1,
                 b"13585190400.75": 13585190400 * NANO + 75 * NANO // 100}
        first, last = tap.library_times()
        times = {text: time for text, time in times.items() if first * NANO <= time < last * NANO}
        data = b"".join(pax((b"mtime", text)) + header(b"a%d" % number)
                        for number, text in enumerate(times))
        self.assertNotIn("1970", self.put(data + END).err)
        out = self.unpack()
        for number, (text, expected) in enumerate(times.items()):
            self.assertEqual(os.stat(os.path.join(out, f"a{number}")).st_mtime_ns, expected, text)
        # In base 256, as GNU tar writes them.
        early = tarfile.TarInfo("early")
        early.mtime = -60
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            archive.addfile(early)
        self.put(packed.getvalue())
        self.assertEqual(os.stat(os.path.join(self.unpack(), "early")).st_mtime, -60)

    def test_ids(self):
        big = 4000000000
        data = (pax((b"uid", b"%d" % big), (b"gid", b"70000")) + header(b"a") +
                header(b"b", uid=bytes([0x80]) + (big + 1).to_bytes(7, "big")) + END)
        self.put(data)
        lines = self.listing(self.path("image"))
        self.assertEqual(lines["a"][1], f"{big}/70000")
        self.assertEqual(lines["b"][1], f"{big + 1}/0")
        result = self.put(pax((b"uid", b"%d" % (1 << 33))) + header(b"a") + END, code=1)
        self.assertIn("'a'", result.err)

    def test_options_apply(self):
        entries = list(everything())
        self.put(tar(entries), "--set-owner=7", "--set-group=8", "--set-time=1700000000",
                 "--chmod=D=,Du=rwx,F=,Fu=rw")
        for words in self.listing(self.path("image")).values():
            self.assertEqual(words[1], "7/8")
            self.assertIn(words[0][1:], ("rwx------", "rwx--S---", "rw-------",
                                           "rwxrwxrwx"))
            self.assertEqual(words[3], "2023-11-14")

    def test_devices_and_fifos_by_option(self):
        self.merge([tar([entry("n", kind=tarfile.CHRTYPE, devmajor=5, devminor=70000),
                         entry("p", kind=tarfile.FIFOTYPE)])])
        words = self.listing(self.path("image"))
        self.assertEqual(list(words), ["n"])
        self.assertEqual(words["n"][0], "crw-r--r--")

    def test_filters_apply(self):
        self.put(tar([entry("keep/a.c", b"1"), entry("keep/a.o", b"2"), entry("drop/b.c", b"3"),
                      link("keep/link.c", "keep/a.o")]), "-F", "- *.o", "-F", "- drop/")
        self.assertEqual(self.names(), ["keep", "keep/a.c", "keep/link.c"])
        self.assertEqual(self.contents("keep", "link.c"), b"2")
        result = run("MKDWARFS", "-i", self.path("archive"), "--debug-filter=included-files",
                     "-F", "- *.o")
        self.assertEqual(result.out, "/drop/b.c\n/keep/a.c\n/keep/link.c\n")

    def xattrs(self, path):
        return {name: os.getxattr(path, name, follow_symlinks=False)
                for name in os.listxattr(path, follow_symlinks=False)}

    def set_any(self):
        """Skip if the file system of the test has no attributes."""
        path = self.write("probe")
        try:
            os.setxattr(path, "user.x", b"1")
        except OSError as error:
            raise tap.Skip(f"no extended attributes here: {error}") from error

    def test_extended_attributes(self):
        self.set_any()
        value = bytes(range(256))
        named = base64.b64encode(b"by libarchive").rstrip(b"=")
        data = (pax((b"SCHILY.xattr.user.text", b"value"), (b"SCHILY.xattr.user.bytes", value),
                    (b"SCHILY.xattr.user.none", b"")) + header(b"a") +
                pax((b"LIBARCHIVE.xattr.user.%6d%69ne", named)) + header(b"b") +
                pax((b"SCHILY.xattr.user.dir", b"1")) + header(b"d/", kind=b"5") + END)
        self.put(data)
        out = self.unpack()
        self.assertEqual(self.xattrs(os.path.join(out, "a")),
                         {"user.text": b"value", "user.bytes": value, "user.none": b""})
        self.assertEqual(self.xattrs(os.path.join(out, "b")), {"user.mine": b"by libarchive"})
        self.assertEqual(self.xattrs(os.path.join(out, "d")), {"user.dir": b"1"})

    def test_capabilities(self):
        self.set_any()
        if not IS_ROOT:
            raise tap.Skip("only root may set capabilities")
        value = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
        self.put(pax((b"SCHILY.xattr.security.capability", value)) +
                 header(b"ping", mode=b"0000755") + END)
        self.assertEqual(self.xattrs(os.path.join(self.unpack(), "ping")),
                         {"security.capability": value})

    @staticmethod
    def acl(*entries):
        return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *item) for item in entries)

    def test_access_control_lists(self):
        self.set_any()
        none = 0xffffffff
        text = b"user::rw-\nuser:nobody:r--:4711\ngroup::r-x\nmask::rwx\nother::---\n"
        default = b"user::rwx\ngroup::r-x\ngroup::r-x\ngroup:daemon:rw-:12\nmask::r-x\nother::r--\n"
        default = default.replace(b"group::r-x\ngroup::r-x", b"group::r-x")
        data = (pax((b"SCHILY.acl.access", text)) + header(b"f", mode=b"0000670") +
                pax((b"SCHILY.acl.default", default)) +
                header(b"d/", kind=b"5", mode=b"0000755") +
                pax((b"SCHILY.acl.access", b"user::rw-,user:root:rwx,group::r--,other::---")) +
                header(b"by name", mode=b"0000640") + END)
        self.put(data)
        listing = self.listing(self.path("image"))
        self.assertEqual(listing["f"][0], "-rw-rwx---")
        out = self.unpack()
        self.assertEqual(self.xattrs(os.path.join(out, "f")), {
            "system.posix_acl_access": self.acl((1, 6, none), (2, 4, 4711), (4, 5, none),
                                                (16, 7, none), (32, 0, none))})
        self.assertEqual(self.xattrs(os.path.join(out, "d")), {
            "system.posix_acl_default": self.acl((1, 7, none), (4, 5, none), (8, 6, 12),
                                                 (16, 5, none), (32, 4, none))})
        self.assertEqual(self.xattrs(os.path.join(out, "by name")), {
            "system.posix_acl_access": self.acl((1, 6, none), (2, 7, 0), (4, 4, none),
                                                (16, 7, none), (32, 0, none))})

    def test_chmod_changes_the_access_control_list(self):
        """What others may not do by the mode they may not do by the list."""
        self.set_any()
        none = 0xffffffff
        text = b"user::rw-\nuser:nobody:rw-:4711\ngroup::r--\nmask::rw-\nother::r--\n"
        self.put(pax((b"SCHILY.acl.access", text)) + header(b"f", mode=b"0000664") + END,
                 "--chmod=Fg=r,Fo=")
        self.assertEqual(self.listing(self.path("image"))["f"][0], "-rw-r-----")
        self.assertEqual(self.xattrs(os.path.join(self.unpack(), "f")), {
            "system.posix_acl_access": self.acl((1, 6, none), (2, 6, 4711), (4, 4, none),
                                                (16, 4, none), (32, 0, none))})

    def test_list_about_nobody(self):
        text = b"user::rw-\nuser:who-is-that:r--\ngroup::r--\nother::---\n"
        result = self.put(pax((b"SCHILY.acl.access", text)) + header(b"f") + END, code=2)
        self.assertIn("who-is-that", result.err)
        self.assertIn("'f'", result.err)

    def test_attributes_by_gnu_tar_and_bsdtar(self):
        """The attributes on disk are restored from the archive of each program."""
        self.set_any()
        root = self.path("tree")
        path = self.write("tree/f", b"x" * 100)
        os.setxattr(path, "user.colour", b"gr\xc3\xbcn\0\xff")
        if shutil.which("setfacl"):
            subprocess.run(["setfacl", "-m", "u:1:rwx,g:2:r", path], check=True)
            subprocess.run(["setfacl", "-d", "-m", "u:3:rx", root], check=True)
        tried = 0
        for words in (["tar", "-c", "--xattrs", "--acls", "--xattrs-include=*", "-f", "-"],
                      ["bsdtar", "-c", "--xattrs", "--acls", "-f", "-"]):
            if not shutil.which(words[0]):
                continue
            self.put(self.program(*words, "-C", root, "."))
            out = self.unpack()
            self.assertEqual(self.xattrs(os.path.join(out, "f")), self.xattrs(path))
            self.assertEqual(self.xattrs(out), self.xattrs(root))
            self.assertEqual(os.stat(os.path.join(out, "f")).st_mode, os.stat(path).st_mode)
            tried += 1
        if not tried:
            raise tap.Skip("neither tar nor bsdtar here")


class Contents(Archives):
    def sparse(self):
        """A file with holes at its start, in its middle and at its end."""
        path = self.path("tree", "sparse")
        os.makedirs(self.path("tree"))
        with open(path, "wb") as out:
            out.truncate(8 << 20)
            for at in (1 << 20, 3 << 20, (3 << 20) + 8192):
                out.seek(at)
                out.write(b"data at %d " % at * 300)
        status = os.stat(path)
        if status.st_blocks * 512 >= status.st_size:
            raise tap.Skip("no holes on this disk")
        return self.path("tree")

    def test_sparse_files(self):
        root = self.sparse()
        expected = walker.describe(root)
        tried = 0
        for words in (["tar", "-cS", "--format=gnu"], ["tar", "-cS", "--format=pax"],
                      ["tar", "-cS", "--format=pax", "--sparse-version=0.0"],
                      ["tar", "-cS", "--format=pax", "--sparse-version=0.1"],
                      ["bsdtar", "-c", "--format=pax"], ["bsdtar", "-c", "--format=gnutar"]):
            if not shutil.which(words[0]):
                continue
            with self.subTest(words=words):
                data = self.program(*words, "-f", "-", "-C", root, "sparse")
                self.put(data, pipe=True)
                actual = walker.describe(self.unpack())
                holes = "gnutar" not in words[-1]  # bsdtar stores them as zeros there
                self.assertEqual(actual[b"sparse"]["sha256"], expected[b"sparse"]["sha256"])
                if holes:
                    self.assertEqual(actual[b"sparse"]["extents"], expected[b"sparse"]["extents"])
                tried += 1
        if not tried:
            raise tap.Skip("neither tar nor bsdtar here")

    def test_nothing_but_a_hole(self):
        size = 1 << 40
        data = (pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
                    (b"GNU.sparse.name", b"huge"), (b"GNU.sparse.realsize", b"%d" % size)) +
                header(b"x", b"%011o" % 512) + b"1\n%d\n0\n".ljust(512, b"\0") % size + END)
        self.put(data.replace(b"%d" % size + b"\n0\n" + bytes(2), b"%d" % size + b"\n0\n" + bytes(2)))
        self.assertEqual(self.listing(self.path("image"))["huge"][2], str(size))

    def test_contents_are_those_of_a_directory(self):
        """The same files, from disk and from an archive, give the same contents and order."""
        root = self.tree()
        from_disk = self.pack(tree=root)
        sums = run("DWARFSCK", "--checksum=sha256", from_disk).out
        for folder, dirs, files in os.walk(root):
            dirs.sort()
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            archive.add(root, ".")
        self.put(data.getvalue())
        self.assertEqual(sorted(run("DWARFSCK", "--checksum=sha256",
                                    self.path("image")).out.split("\n")), sorted(sums.split("\n")))

    def test_the_image_does_not_depend_on_workers_or_the_pipe(self):
        entries = [entry(f"d{i % 7}/f{i}", b"%d\n" % (i * i % 91) * (i * 37 % 5000))
                   for i in range(300)]
        images = set()
        for words in (["-N1"], ["-N4"], ["-N2", "-L200m"]):
            for pipe in (False, True):
                self.put(tar(entries), "--no-history", "--no-create-timestamp", *words, pipe=pipe)
                with open(self.path("image"), "rb") as file:
                    images.add(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(len(images), 1)

    def test_categories(self):
        """Contents from a stream can be read repeatedly, like those of files."""
        noise = tap.random_bytes(100000)
        entries = [entry("noise", noise), entry("text", b"words and words " * 9000),
                   entry("noise again", noise)]
        result = self.put(tar(entries), "--categorize", pipe=True)
        self.assertIn("incompressible", result.err)
        self.agree(entries)

    def test_hard_links(self):
        entries = [entry("a", b"one"), link("b", "a"), link("d/c", "b")]
        self.put(tar(entries))
        self.agree(entries, implied=[b"d"])
        out = self.unpack()
        self.assertEqual(os.stat(os.path.join(out, "a")).st_nlink, 3)

    def test_hard_link_before_its_target(self):
        self.put(tar([link("b", "a"), entry("a", b"one")]))
        out = self.unpack()
        self.assertTrue(os.path.samefile(os.path.join(out, "a"), os.path.join(out, "b")))

    def test_hard_link_with_contents(self):
        """Some archives store the contents with each name; the names are then one file."""
        data = (pax((b"size", b"3")) + header(b"b", b"00000000003", b"1", linkname=b"gone") +
                b"abc".ljust(512, b"\0") + END)
        self.put(data)
        self.assertEqual(self.contents("b"), b"abc")

    def test_archived_twice(self):
        self.put(tar([entry("a", b"one"), link("a", "a"), link("b", "a")]))
        self.assertEqual(self.contents("b"), b"one")

    def test_the_last_one_wins(self):
        self.put(tar([entry("a", b"old" * 1000), link("keeps", "a"), entry("a", b"new"),
                      entry("x", b"file"), directory("x", mode=0o711), symlink("y", "a"),
                      entry("y", b"file")]))
        out = self.unpack()
        self.assertEqual(self.contents("a"), b"new")
        self.assertEqual(self.contents("keeps"), b"old" * 1000)
        self.assertEqual(stat.S_IMODE(os.lstat(os.path.join(out, "x")).st_mode), 0o711)
        self.assertEqual(self.contents("y"), b"file")

    def test_empty_archive(self):
        for data in (END, tar([]), b"!<arch>\n"):
            self.put(data)
            self.assertEqual(self.names(), [])


class Merging(Archives):
    def test_in_order(self):
        tree = self.tree("disk")
        self.merge([tar([entry("a.txt", b"archive"), entry("only", b"1")]), tree,
                    tar([entry("sub/c.bin", b"last")])])
        out = self.unpack()
        self.assertEqual(self.contents("a.txt"), b"first\n" * 1000)
        self.assertEqual(self.contents("sub", "c.bin"), b"last")
        self.assertEqual(self.contents("only"), b"1")
        self.assertTrue(os.path.samefile(os.path.join(out, "a.txt"),
                                         os.path.join(out, "sub", "hard.txt")))

    def test_a_link_into_an_earlier_archive(self):
        self.merge([tar([entry("a", b"one")]), tar([link("b", "a")])])
        self.assertEqual(self.contents("b"), b"one")

    def test_two_directories(self):
        self.write("one/a", b"1")
        self.write("one/b", b"1")
        self.write("two/b", b"2")
        self.merge([self.path("one"), self.path("two")])
        self.assertEqual(self.names(), ["a", "b"])
        self.assertEqual(self.contents("b"), b"2")

    def test_strip_components(self):
        self.put(tar([directory("p-1.0"), directory("p-1.0/src"), entry("p-1.0/src/f", b"1"),
                      link("p-1.0/g", "p-1.0/src/f"), entry("README", b"dropped")]),
                 "--strip-components=1")
        self.assertEqual(self.names(), ["g", "src", "src/f"])
        result = self.put(tar([entry("a", b"1"), link("d/b", "a")]), "--strip-components=1", code=1)
        self.assertIn("'d/b'", result.err)

    def test_prefix(self):
        for prefix in ("opt/app", "/opt//app/", "./opt/./app"):
            self.put(tar([directory(".", mode=0o711), entry("f", b"1"), link("g", "f")]),
                     "--prefix", prefix)
            self.assertEqual(self.names(), ["opt", "opt/app", "opt/app/f", "opt/app/g"])
        self.assertEqual(self.listing(self.path("image"))["opt/app"][0], "drwx--x--x")
        self.assertIn("..", self.put(END, "--prefix=../x", code=1).err)

    def test_prefix_of_directories(self):
        tree = self.tree()
        self.merge([tree], "--prefix=in/here")
        self.assertIn("in/here/sub/deep/b.sh", self.names())

    def test_layers(self):
        lower = tar([entry("etc/a", b"1"), entry("etc/b", b"1"), entry("dir/x", b"1"),
                     entry("dir/sub/y", b"1"), entry("gone/z", b"1"), entry("file", b"1")])
        upper = tar([entry("etc/.wh.a"), entry("dir/new", b"2"), entry("dir/.wh..wh..opq"),
                     entry(".wh.gone"), entry("file", b"2"), entry(".wh.not there"),
                     entry(".wh..wh.plnk")])
        self.merge([lower, upper], "--whiteouts")
        self.assertEqual(self.names(), ["dir", "dir/new", "etc", "etc/b", "file"])
        self.assertEqual(self.contents("file"), b"2")

    def test_a_layer_hides_only_what_is_below_it(self):
        """With its entries in any order."""
        lower = tar([entry("d/old", b"1"), entry("d/sub/old", b"1"), entry("e/old", b"1")])
        first = [directory("d"), entry("d/sub/new", b"2"), entry("e/new", b"2")]
        last = [entry("d/.wh..wh..opq"), entry(".wh.e")]
        for upper in (first + last, last + first):
            self.merge([lower, tar(upper)], "--whiteouts")
            self.assertEqual(self.names(), ["d", "d/sub", "d/sub/new", "e", "e/new"])

    def test_options_for_archives_need_one(self):
        os.mkdir(self.path("only"))
        for option in ("--strip-components=1", "--whiteouts", "--input-format=tar"):
            result = self.expect(run("MKDWARFS", "-i", self.path("only"), "-o", self.path("x"),
                                     "--no-progress", option), 1)
            self.assertIn(f"option '{option.split('=')[0]}' needs an archive", result.err)
            self.assertFalse(os.path.exists(self.path("x")))

    def test_attributes_beyond_the_memory_limit(self):
        big = [pax((b"SCHILY.xattr.user.big", tap.random_bytes(60000))) + header(b"f%d" % number)
               for number in range(600)]
        result = self.put(b"".join(big) + END, "-L64m", code=1)
        self.assertIn("memory limit of 64 MiB is too low", result.err)
        self.put(b"".join(big[:100]) + END, "-L64m" if IS_NATIVE else "-L256m")

    def test_a_whiteout_of_nothing(self):
        for name in (".wh.", "d/.wh."):
            result = self.put(tar([entry("d/a", b"1"), entry(name)]), "--whiteouts", code=1)
            self.assertIn("whiteout of nothing", result.err)

    def test_whiteouts_are_files_otherwise(self):
        self.put(tar([entry("a", b"1"), entry(".wh.a")]))
        self.assertEqual(self.names(), [".wh.a", "a"])

    def test_a_replaced_file_stays_where_it_is_linked(self):
        self.merge([tar([entry("a", b"old"), link("b", "a")]), tar([entry("a", b"new")])])
        self.assertEqual(self.contents("a"), b"new")
        self.assertEqual(self.contents("b"), b"old")


if __name__ == "__main__":
    cli.main()
