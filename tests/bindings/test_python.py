# SPDX-License-Identifier: MIT
"""The Python package, used as by a program."""
import ctypes
import datetime
import faulthandler
import gc
import io
import logging
import mmap
import operator
import os
import pathlib
import pickle
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

try:
    import dwarfs
except ImportError as error:
    print(f"the Python package is not built: {error}")
    sys.exit(77)

BIG = bytes(range(256)) * 4000 + b"tail"
TEXT = "first line\nzweite Zeile: ß\n"
HANGS_AFTER = 120  # seconds


def make_tree(root):
    (root / "dir" / "sub").mkdir(parents=True)
    (root / "none").mkdir()
    (root / "big").write_bytes(BIG)
    (root / "dir" / "text.txt").write_text(TEXT, encoding="utf-8")
    (root / "dir" / "sub" / "data.tar.gz").write_bytes(b"data")
    (root / os.fsdecode(b"\xff\xfe")).write_bytes(b"odd")
    os.symlink("dir/sub", root / "link")
    os.symlink("../../link/data.tar.gz", root / "dir" / "sub" / "round")
    os.symlink("/etc/passwd", root / "outside")
    os.symlink("loop", root / "loop")
    os.link(root / "big", root / "dir" / "hard")
    with open(root / "sparse", "wb") as file:
        file.truncate(1 << 20)
        file.seek(256 << 10)
        file.write(b"x" * 4096)
    os.utime(root / "big", ns=(1_500_000_000_123_456_789, 1_600_000_000_987_654_321))
    os.chmod(root / "big", 0o4751)


class Case(unittest.TestCase):
    """A directory, and the image of it."""

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-python-"))
        cls.tree = cls.dir / "tree"
        cls.tree.mkdir()
        make_tree(cls.tree)
        cls.file = cls.dir / "image.dwarfs"
        cls.counts = dwarfs.pack(cls.tree, cls.file, level=1, block_bits=16,
                                 time_resolution_ns=1, keep_all_times=True)
        cls.data = cls.file.read_bytes()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def setUp(self):
        self.image = dwarfs.open(self.file)


class Adding(unittest.TestCase):
    """Images of entries that are added one by one."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-python-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.builder = dwarfs.Builder(level=1, history=False, create_timestamp=False,
                                      time_resolution_ns=1, devices=True, specials=True)

    def build(self):
        output = io.BytesIO()
        self.counts = self.builder.write(output)
        return dwarfs.open(output.getvalue())

    def test_contents_from_anywhere(self):
        file = self.dir / "file"
        file.write_bytes(BIG)
        numbers = (str(i).encode() for i in range(100))
        self.builder.add("a/bytes", b"some bytes")
        self.builder.add("a/view", memoryview(bytearray(BIG))[3:])
        self.builder.add("a/path", file)
        with open(file, "rb") as opened:
            opened.seek(1000)
            self.builder.add("a/file", opened)
            self.builder.add("a/descriptor", opened.fileno())
        self.builder.add("a/object", io.BytesIO(BIG))
        self.builder.add("a/iterator", numbers)
        self.builder.add("a/nothing")
        image = self.build()
        self.assertEqual((image / "a/bytes").read_bytes(), b"some bytes")
        self.assertEqual((image / "a/view").read_bytes(), BIG[3:])
        self.assertEqual((image / "a/path").read_bytes(), BIG)
        self.assertEqual((image / "a/file").read_bytes(), BIG[1000:])
        self.assertEqual((image / "a/descriptor").read_bytes(), BIG)
        self.assertEqual((image / "a/object").read_bytes(), BIG)
        self.assertEqual((image / "a/iterator").read_bytes(),
                         b"".join(str(i).encode() for i in range(100)))
        self.assertEqual((image / "a/nothing").read_bytes(), b"")
        self.assertEqual(self.counts.files, 8)
        self.assertEqual(self.counts.duplicates, 2)

    def test_pieces_with_holes(self):
        self.builder.add("sparse", [(1 << 20, b"one"), b"two", (3 << 20, b"three")],
                         size=4 << 20)
        self.builder.add("hole", size=1 << 40)
        image = self.build()
        expected = (b"\0" * (1 << 20) + b"onetwo").ljust(3 << 20, b"\0") + b"three"
        self.assertEqual((image / "sparse").read_bytes(), expected.ljust(4 << 20, b"\0"))
        self.assertEqual((image / "hole").stat().st_size, 1 << 40)

    def test_attributes(self):
        self.builder.add("", mode=stat.S_IFDIR | 0o711)
        self.builder.add("file", b"x", mode=0o4751, uid=1, gid=2, mtime=(12, 345678901))
        self.builder.add("null", mode=stat.S_IFCHR | 0o666, device=(1, 3))
        self.builder.add("fifo", mode=stat.S_IFIFO | 0o600,
                         mtime=datetime.datetime.fromtimestamp(7, datetime.timezone.utc))
        self.builder.add("link", target="d/e")
        self.builder.add(b"\xff", b"odd name")
        self.builder.add("d", mode=stat.S_IFDIR | 0o700)
        self.builder.add("d/hard", link="file")
        self.builder.add("attributed", b"", xattrs={"user.a": b"b\0c", "user.d": b""})
        image = self.build()
        self.assertEqual((image / "attributed").xattrs(), {"user.a": b"b\0c", "user.d": b""})
        found = (image / "file").stat()
        self.assertEqual(found.st_mode, stat.S_IFREG | 0o4751)
        self.assertEqual((found.st_uid, found.st_gid), (1, 2))
        self.assertEqual(found.st_mtime_ns, 12345678901)
        self.assertEqual(found.st_nlink, 2)
        self.assertEqual((image / "d/hard").stat().st_ino, found.st_ino)
        self.assertEqual((image / "fifo").stat().st_mtime, 7)
        self.assertTrue(stat.S_ISCHR((image / "null").stat().st_mode))
        self.assertEqual(str((image / "link").readlink()), "d/e")
        self.assertEqual((image / os.fsdecode(b"\xff")).read_bytes(), b"odd name")
        self.assertEqual((image / "d").stat().st_mode, stat.S_IFDIR | 0o700)

    def test_times_before_1970(self):
        self.builder.add("early", b"x", mtime=(-2004047999, 5 * 10**8))
        self.builder.add("late", b"x", mtime=-0.25)
        image = self.build()
        self.assertEqual((image / "early").stat().st_mtime_ns, -2004047998_500_000_000)
        self.assertEqual((image / "late").stat().st_mtime_ns, -250_000_000)
        self.assertEqual((image / "late").invalid_attributes(), ())
        output = io.BytesIO()
        dwarfs.pack(self.dir, output, time=-86400)
        self.assertEqual(dwarfs.open(output.getvalue()).root.stat().st_mtime, -86400)

    def test_trees_and_removing(self):
        tree = self.dir / "tree"
        tree.mkdir()
        make_tree(tree)
        self.builder.add("opt/before", b"before")
        self.builder.add_tree(tree, "opt/tree")
        self.builder.remove("opt/tree/dir/sub", contents_only=True)
        self.builder.remove("opt/tree/big")
        with self.assertRaises(FileNotFoundError):
            self.builder.remove("opt/tree/big")
        image = self.build()
        self.assertEqual((image / "opt/tree/dir/hard").read_bytes(), BIG)
        self.assertEqual(list((image / "opt/tree/dir/sub").iterdir()), [])
        self.assertEqual((image / "opt/before").read_bytes(), b"before")

    def test_archives(self):
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w:gz") as archive:
            for name, data in (("top/a", b"first"), ("top/b", b"second")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        (self.dir / "x.tgz").write_bytes(output.getvalue())
        try:
            self.assertEqual(self.builder.add_archive(self.dir / "x.tgz"), 0)
        except dwarfs.Error as error:
            self.assertEqual(error.code, dwarfs.ErrorCode.UNSUPPORTED)
            self.skipTest(str(error))
        self.builder.add_archive(output.getvalue(), "tar", strip_components=1, prefix="in/it")
        with open(self.dir / "x.tgz", "rb") as opened:
            self.builder.add_archive(opened.fileno(), prefix="again")
        self.builder.add("top/a", b"replaced")
        with self.assertRaises(dwarfs.Error) as caught:
            self.builder.add_archive(b"no archive")
        self.assertEqual(caught.exception.code, dwarfs.ErrorCode.UNSUPPORTED)
        with self.assertRaises(dwarfs.CorruptError):
            self.builder.add_archive(output.getvalue()[:50])
        with self.assertRaises(KeyError):
            self.builder.add_archive(output.getvalue(), progress=lambda state: {}["no more"])
        image = self.build()
        self.assertEqual((image / "top/a").read_bytes(), b"replaced")
        self.assertEqual((image / "in/it/b").read_bytes(), b"second")
        self.assertEqual((image / "again/top/a").read_bytes(), b"first")

    def tar(self, *entries):
        """An archive of names and contents."""
        output = io.BytesIO()
        with tarfile.open(fileobj=output, mode="w", errors="surrogateescape",
                          encoding="utf-8") as archive:
            for name, data in entries:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return output.getvalue()

    def test_entries_of_archives_that_cannot_be(self):
        data = self.tar(("d/a", b"1"), ("x/../\udcff", b""), ("d", b"file"), ("d/below", b""),
                        ("last", b"2"))
        seen = []

        def report(what, path, why):
            seen.append((what, path, why))
        with self.assertRaises(dwarfs.Error) as caught:
            self.builder.add_archive(data, report=report)
        if caught.exception.code == dwarfs.ErrorCode.UNSUPPORTED:
            self.skipTest(str(caught.exception))
        self.assertIsInstance(caught.exception, dwarfs.InvalidError)
        left_out = dwarfs.ImportReport.LEFT_OUT
        self.assertEqual(seen, [(left_out, "x/../\udcff", "has '..' in its path")])
        self.assertIsInstance(seen[0][0], dwarfs.ImportReport)

        seen.clear()
        self.builder = dwarfs.Builder(level=1)
        self.assertEqual(self.builder.add_archive(data, continue_on_error=True, report=report), 2)
        self.assertEqual([(what.name, path) for what, path, why in seen],
                         [("LEFT_OUT", "x/../\udcff"), ("REPLACED", "d"), ("LEFT_OUT", "d/below")])
        self.assertEqual(seen[1][2], "replaces a directory with 1 entry")
        # Errors of the archive are raised in spite of that.
        with self.assertRaises(dwarfs.CorruptError):
            self.builder.add_archive(data[:600], continue_on_error=True)
        image = self.build()
        self.assertEqual((image / "d").read_bytes(), b"file")
        self.assertEqual((image / "last").read_bytes(), b"2")

        def refuse(what, path, why):
            seen.append(path)
            raise LookupError(path)
        for go_on in (False, True):
            seen.clear()
            with self.assertRaisesRegex(LookupError, r"x/\.\./"):
                dwarfs.Builder().add_archive(data, continue_on_error=go_on, report=refuse)
            self.assertEqual(len(seen), 1)

    def test_what_fails(self):
        def broken():
            yield b"some"
            raise KeyError("no more")

        self.builder.set_spool(self.dir, 1 << 20)
        with self.assertRaises(KeyError):
            self.builder.add("broken", broken())
        with self.assertRaises(TypeError):
            self.builder.add("text", "no bytes")
        with self.assertRaises(TypeError):
            self.builder.add("numbers", [1, 2])
        with self.assertRaises(TypeError):
            self.builder.add("text", io.StringIO("no bytes"))
        for path in ("/a", "a//b", "../a", "a/."):
            with self.assertRaises(dwarfs.InvalidError):
                self.builder.add(path, b"x")
        with self.assertRaises(dwarfs.InvalidError):
            self.builder.add("back", [(10, b"x"), (5, b"y")])
        with self.assertRaises(FileNotFoundError):
            self.builder.add("missing", self.dir / "missing")
        with self.assertRaises(TypeError):
            dwarfs.Builder(colour="green")
        self.builder.add("good", b"good")
        with self.assertRaises(NotADirectoryError):
            self.builder.add("good/bad", b"x")
        image = self.build()
        self.assertEqual([str(path) for path in image], ["good"])
        with self.assertRaises(dwarfs.InvalidError):
            self.builder.add("late", b"x")

    def test_the_spool_is_used(self):
        self.builder.set_spool(self.dir, 0)
        for i in range(20):
            self.builder.add(f"f{i}", os.urandom(100_000) + bytes([i]))
        image = self.build()
        self.assertEqual((image / "f7").read_bytes()[-1], 7)
        self.assertEqual(os.listdir(self.dir), [])


class Images(Case):
    """Images as inputs."""

    def build(self, add, **options):
        builder = dwarfs.Builder(level=1, **options)
        add(builder)
        output = self.dir / "built.dwarfs"
        counts = builder.write(output, overwrite=True)
        return counts, dwarfs.open(output)

    def test_append_and_repack(self):
        def add(builder):
            builder.add_image(self.image)
            builder.add("new", b"new")
        counts, image = self.build(add)
        self.assertEqual((image / "big").read_bytes(), BIG)
        self.assertEqual((image / "new").read_bytes(), b"new")
        self.assertEqual(counts.blocks_copied, self.image.block_count)
        self.assertEqual((counts.blocks_rewritten, counts.blocks_dropped), (0, 0))
        counts, image = self.build(lambda builder: builder.add_image(self.image, "at", repack=True))
        self.assertEqual((image / "at" / "big").read_bytes(), BIG)
        self.assertEqual(counts.blocks_rewritten, self.image.block_count)

    def test_a_base(self):
        for trust in (True, False):
            def add(builder):
                builder.add_base(self.image, trust_times=trust)
                builder.add("other name", BIG)
            counts, image = self.build(add)
            self.assertEqual([str(path) for path in image.root.iterdir()], ["other name"])
            self.assertEqual((image / "other name").read_bytes(), BIG)
            self.assertGreater(counts.blocks_copied, 0)
            self.assertEqual(counts.blocks, counts.blocks_copied)

    def test_conflicts(self):
        for conflict, wanted in (("last", {"big": b"2"}), ("first", {"big": BIG}),
                                 ("rename", {"big": BIG, "big.2": b"2"})):
            def add(builder):
                builder.set_on_conflict(conflict)
                builder.add_image(self.image)
                builder.begin_input()
                builder.add("big", b"2")
            _, image = self.build(add)
            found = {path.name: path.read_bytes() for path in image.root.iterdir()
                     if path.name.startswith("big")}
            self.assertEqual(found, wanted)
        with self.assertRaises(dwarfs.ExistsError):
            def add_error(builder):
                builder.set_on_conflict("error")
                builder.add_image(self.image)
                builder.begin_input()
                builder.add("big", b"2")
            self.build(add_error)
        with self.assertRaises(ValueError):
            dwarfs.Builder().set_on_conflict("none")

    def test_compaction(self):
        def add(builder):
            builder.set_max_unused(0)
            builder.add_image(self.image)
            builder.remove("big")
            builder.remove("dir/hard")
        counts, image = self.build(add)
        self.assertEqual((image / "dir" / "text.txt").read_text(encoding="utf-8"), TEXT)
        self.assertGreater(counts.blocks_rewritten + counts.blocks_dropped, 0)
        with self.assertRaises(ValueError):
            dwarfs.Builder().set_max_unused(101)

    def test_rewrite(self):
        output = self.dir / "rewritten.dwarfs"
        counts = dwarfs.rewrite(self.file, output, overwrite=True, compression="zstd:level=3")
        self.assertEqual((dwarfs.open(output) / "big").read_bytes(), BIG)
        self.assertEqual(counts.blocks_rewritten, self.image.block_count)
        for blocks in (True, False):
            options = dict(blocks=blocks, history=False, create_timestamp=False)
            dry = dwarfs.rewrite(self.file, None, **options)
            self.assertEqual(dry, dwarfs.rewrite(self.file, output, overwrite=True, **options))
            self.assertEqual(dry.bytes_out, output.stat().st_size)

    def test_a_dry_run(self):
        names = sorted(os.listdir(self.dir))
        counts = dwarfs.pack(self.tree, None, level=1)
        self.assertEqual(counts.files, self.counts.files)
        self.assertGreater(counts.bytes_out, 0)
        self.assertEqual(sorted(os.listdir(self.dir)), names)


class Comparing(unittest.TestCase):
    """The differences between two trees."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="compare-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.tree = os.path.join(self.dir, "tree")
        os.mkdir(self.tree)
        for name in ("a", "b"):
            with open(os.path.join(self.tree, name), "wb") as out:
                out.write(b"contents of " + name.encode())
        self.image = os.path.join(self.dir, "image")
        dwarfs.pack(self.tree, self.image, level=1)

    def test_equal(self):
        self.assertEqual(dwarfs.compare(self.image, self.tree), [])
        with dwarfs.open(self.image) as image:
            self.assertEqual(dwarfs.compare(image, image, time_resolution_ns=1), [])

    def test_differences(self):
        os.chmod(os.path.join(self.tree, "a"), 0o700)
        os.rename(os.path.join(self.tree, "b"), os.path.join(self.tree, "c"))
        found = dwarfs.compare(self.image, self.tree, ignore=["mtime"])
        self.assertEqual([(one.kind, one.path) for one in found],
                         [("mode", "a"), ("only-a", "b"), ("only-b", "c")])
        self.assertEqual((found[0].name, found[0].b, found[1].b), (None, b"0700", None))
        self.assertEqual(dwarfs.compare(self.image, self.tree,
                                        ignore=["mtime", "mode", "only-a", "only-b"]), [])

    def test_what_fails(self):
        with self.assertRaises(ValueError):
            dwarfs.compare(self.tree, self.tree, ignore=["grmpf"])
        with self.assertRaises(FileNotFoundError):
            dwarfs.compare(self.tree, os.path.join(self.dir, "missing"))


class Opening(Case):
    def assert_works(self, image):
        self.assertEqual((image / "big").read_bytes(), BIG)
        self.assertEqual(sorted(map(str, image)), sorted(os.listdir(self.tree)))

    def test_from_whatever_has_bytes(self):
        self.assert_works(dwarfs.open(str(self.file)))
        self.assert_works(dwarfs.open(self.file))
        self.assert_works(dwarfs.open(self.data))
        self.assert_works(dwarfs.open(bytearray(self.data)))
        self.assert_works(dwarfs.open(memoryview(b"xx" + self.data)[2:]))
        self.assert_works(dwarfs.open(io.BytesIO(self.data)))
        with open(self.file, "rb") as file:
            image = dwarfs.open(file)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                mapped_image = dwarfs.open(mapped)
                self.assert_works(mapped_image)
                del mapped_image
                gc.collect()
            by_descriptor = dwarfs.open(file.fileno())
        self.assert_works(image)
        self.assert_works(by_descriptor)

    def test_files_can_be_had_ready(self):
        context = dwarfs.Context(cache_bytes=16 << 20, workers=2)
        image = dwarfs.open(io.BytesIO(self.data), context=context)
        self.assertEqual(context.cache_numbers()["blocks"], 0)
        self.assertEqual(image.prefetch(["big", image / "big"]), 2)
        numbers = context.cache_numbers()
        self.assertEqual(numbers["budget"], 16 << 20)
        self.assertGreater(numbers["misses"], 0)
        self.assertGreater(numbers["blocks"], 0)
        self.assert_works(image)
        self.assertEqual(context.cache_numbers()["misses"], numbers["misses"])
        context.trim(1000)
        self.assertGreater(context.cache_numbers()["blocks"], 0)
        context.trim()
        self.assertEqual(context.cache_numbers()["used"], 0)
        self.assertEqual(image.prefetch([]), 0)
        with self.assertRaises(dwarfs.Error):
            image.prefetch(["missing"])

    def test_decompressing_far_more_than_is_read_can_be_an_error(self):
        context = dwarfs.Context(cache_bytes=0, workers=0, decode_limit=100)
        image = dwarfs.open(io.BytesIO(self.data), context=context)
        with self.assertRaises(dwarfs.Error) as caught, (image / "big").open("rb",
                                                                            buffering=0) as file:
            for _ in range(5000):
                file.seek(60_000)
                self.assertEqual(file.read(4), BIG[60_000:60_004])
        self.assertEqual(caught.exception.code, dwarfs.ErrorCode.LIMIT)
        self.assertIn("more than 100 times", str(caught.exception))
        numbers = context.cache_numbers()
        self.assertEqual(numbers["refused"], 1)
        self.assertGreater(numbers["decoded_bytes"], 100 * numbers["read_bytes"])

    def test_times_are_taken_when_asked(self):
        for timing in (False, True):
            context = dwarfs.Context(workers=2, timing=timing)
            self.assert_works(dwarfs.open(io.BytesIO(self.data), context=context))
            found = context.latencies()
            self.assertEqual(set(found), {"read", "wait", "decode", "load"})
            for name in ("read", "decode", "load"):
                numbers = found[name]
                self.assertEqual(numbers["times"] > 0, timing)
                self.assertEqual(numbers["sum_ns"] > 0, timing)
                self.assertLessEqual(numbers["least_ns"], numbers["p50_ns"])
                self.assertLessEqual(numbers["p50_ns"], numbers["p90_ns"])
                self.assertLessEqual(numbers["p90_ns"], numbers["p99_ns"])
                self.assertLessEqual(numbers["p99_ns"], numbers["most_ns"])
            self.assertGreaterEqual(found["decode"]["sum_ns"], found["load"]["sum_ns"])

    def test_hashes_may_be_looked_at_late(self):
        image = dwarfs.open(self.file, lazy=True)
        image.verify()
        self.assert_works(image)

    def test_a_file_is_mapped_on_demand(self):
        for mapped in (False, True):
            with dwarfs.open(self.file, mapped=mapped) as image:
                self.assert_works(image)
                if os.path.exists("/proc/self/maps"):
                    with open("/proc/self/maps", "rb") as maps:
                        found = os.fsencode(os.path.realpath(self.file)) in maps.read()
                    self.assertEqual(found, mapped)

    def test_files_have_the_mode_and_read_as_those_of_open(self):
        with dwarfs.open(self.file) as image:
            path = image / "big"
            for mode in ("r", "rt"):
                with path.open(mode, encoding="latin-1") as text:
                    self.assertEqual((text.mode, text.buffer.mode), (mode, "rb"))
            with path.open("rb", 0) as raw:
                self.assertEqual(raw.read(None), path.read_bytes())
                self.assertEqual(raw.read(None), b"")
                raw.seek(0)
                self.assertEqual(raw.read(3), path.read_bytes()[:3])

    def test_memory_stays_locked_until_the_last_user_is_gone(self):
        data = bytearray(self.data)
        image = dwarfs.open(data)
        file = (image / "big").open("rb", 0)
        del image
        with self.assertRaises(BufferError):
            data.append(0)
        file.close()
        del file
        gc.collect()
        data.append(0)

    def test_a_reader_without_readinto(self):
        class Plain:
            def __init__(self, data):
                self.file = io.BytesIO(data)

            def read(self, size):
                return self.file.read(min(size, 1000))

            def seek(self, offset, whence=0):
                return self.file.seek(offset, whence)
        self.assert_works(dwarfs.open(Plain(self.data)))

    def test_offsets(self):
        prefix = b"#!/bin/sh\n" * 7
        data = prefix + self.data
        image = dwarfs.open(data)
        self.assertEqual((image.offset, image.size), (len(prefix), len(self.data)))
        self.assertEqual(image.header, prefix)
        self.assert_works(dwarfs.open(data, offset=len(prefix)))
        self.assert_works(dwarfs.open(data + b"behind", offset=len(prefix),
                                      size=len(self.data)))
        with self.assertRaises(dwarfs.CorruptError):
            dwarfs.open(data, offset=3)
        for bad in (-1, 1 << 64, "1"):
            with self.assertRaises((OverflowError, TypeError)):
                dwarfs.open(data, offset=bad)

    def test_what_is_no_source(self):
        for source in (None, 1.5, True, object(), io.StringIO("text"), [1]):
            with self.assertRaises(TypeError):
                dwarfs.open(source)
        with self.assertRaises(ValueError):
            dwarfs.open("a\0b")
        with self.assertRaisesRegex(TypeError, "context"):
            dwarfs.open(self.file, context=5)

    def test_errors(self):
        with self.assertRaises(FileNotFoundError) as caught:
            dwarfs.open("/no/such/image")
        error = caught.exception
        self.assertIsInstance(error, dwarfs.Error)
        self.assertEqual(error.code, dwarfs.ErrorCode.NOT_FOUND)
        self.assertEqual((error.path, error.filename), ("/no/such/image",) * 2)
        self.assertEqual(error.errno, 2)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.code, again.path),
                         (type(error), str(error), error.code, error.path))
        with self.assertRaises(dwarfs.CorruptError) as caught:
            dwarfs.open(b"rubbish" * 100)
        self.assertEqual(caught.exception.code, dwarfs.ErrorCode.NOT_IMAGE)
        with self.assertRaises(IsADirectoryError):
            dwarfs.open("/")

    def test_an_exception_of_the_reader_comes_out(self):
        class Failing(io.BytesIO):
            fail = None

            def readinto(self, room):
                if self.fail:
                    raise self.fail
                return super().readinto(room)
        source = Failing(self.data)
        image = dwarfs.open(source, context=dwarfs.Context(cache_bytes=0))
        source.fail = RuntimeError("boom")
        with self.assertRaisesRegex(RuntimeError, "boom"):
            (image / "big").read_bytes()
        source.fail = None
        self.assert_works(image)

    def test_a_reader_may_keep_the_memory(self):
        kept = []

        class Keeping(io.BytesIO):
            def readinto(self, room):
                kept.append(ctypes.c_char.from_buffer(room))
                kept.append(room[:1])
                return super().readinto(room)
        self.assert_works(dwarfs.open(Keeping(self.data)))
        self.assertTrue(all(bytes(item) is not None for item in kept))

    def test_a_reader_that_lies(self):
        class Lying(io.BytesIO):
            answer = 0

            def readinto(self, room):
                return self.answer
        for Lying.answer in (0, -1, 1 << 40, 1 << 80, "x"):
            with self.assertRaises((OSError, OverflowError, TypeError)):
                dwarfs.open(Lying(self.data))

    def test_closing(self):
        with self.image as image:
            file = (image / "big").open("rb")
            path = image / "big"
            walk = image.walk()
        self.assertTrue(image.closed)
        image.close()
        self.assertEqual(file.read(), BIG)
        self.assertEqual(str(next(walk)), "")
        for use in (path.stat, path.read_bytes, lambda: image.size, lambda: list(image),
                    image.check, lambda: image.__enter__()):
            with self.assertRaises(ValueError):
                use()
        self.assertEqual(file.read(), b"")


class Describing(Case):
    def test_properties(self):
        image = self.image
        self.assertEqual(image.format_version, (2, 5))
        self.assertEqual((image.offset, image.size, image.header), (0, len(self.data), b""))
        self.assertEqual(image.block_size, 65536)
        self.assertGreater(image.block_count, 0)
        self.assertEqual(image.entry_count, 1 + len(list(self.tree.rglob("*"))))
        self.assertIn("libdwarfs", image.created_by)
        age = datetime.datetime.now(datetime.timezone.utc) - image.created_on
        self.assertLess(abs(age.total_seconds()), 3600)
        self.assertTrue(image.has_index)
        self.assertFalse(image.is_mtime_only)
        self.assertEqual(image.time_resolution_ns, 1)
        self.assertEqual(image.features, ("sparsefiles",))
        self.assertEqual(image.categories, ())
        self.assertEqual(image.hardlink_size, len(BIG))
        self.assertTrue(all(isinstance(word, str) for word in image.packing))

    def test_extended_attributes(self):
        tree = self.dir / "attributes"
        tree.mkdir(exist_ok=True)
        (tree / "file").write_bytes(b"contents")
        (tree / "none").write_bytes(b"")
        os.symlink("file", tree / "link")
        try:
            os.setxattr(tree / "file", "user.comment", b"a\0b")
            os.setxattr(tree / "file", b"user.\xff", b"")
        except OSError as error:
            self.skipTest(f"no extended attributes here: {error}")
        output = io.BytesIO()
        dwarfs.pack(tree, output, keep_birth_times=True)
        image = dwarfs.open(output.getvalue())
        expected = {"user.comment": b"a\0b", "user.\udcff": b""}
        self.assertEqual((image / "file").xattrs(), expected)
        self.assertEqual((image / "link").xattrs(), expected)
        self.assertEqual((image / "link").xattrs(follow_symlinks=False), {})
        self.assertEqual((image / "none").xattrs(), {})
        self.assertEqual(image.xattr_names, tuple(expected))
        born = (image / "file").birth_time_ns()
        self.assertTrue(born is None or abs(born / 1e9 - time.time()) < 1e6)
        with self.assertRaises(FileNotFoundError):
            (image / "nothing").xattrs()
        output = io.BytesIO()
        dwarfs.pack(tree, output, xattrs_include=["user.c*"])
        image = dwarfs.open(output.getvalue())
        self.assertEqual((image / "file").xattrs(), {"user.comment": b"a\0b"})
        self.assertIsNone((image / "file").birth_time_ns())
        self.assertEqual(self.image.xattr_names, ())
        damaged = bytearray(output.getvalue())
        section, = [s for s in image.sections if s.type == "XATTRS"]
        damaged[section.offset + 64] ^= 1
        with self.assertRaises(dwarfs.CorruptError):
            (dwarfs.open(bytes(damaged)) / "file").xattrs()

    def test_sections(self):
        sections = self.image.sections
        self.assertEqual([s.number for s in sections], list(range(len(sections))))
        self.assertEqual(sections[-1].type, "SECTION_INDEX")
        self.assertEqual(sections[-1].offset + 64 + sections[-1].stored_bytes,
                         len(self.data))

    def test_history(self):
        step, = self.image.history
        self.assertIn(dwarfs.__version__, step.version)
        self.assertEqual(step.arguments, ())
        self.assertIsInstance(step.time, datetime.datetime)

    def test_check(self):
        self.assertEqual(self.image.check(), [])
        seen = []
        self.assertEqual(self.image.check(dwarfs.CheckLevel.INTEGRITY, progress=seen.append),
                         [])
        self.assertEqual(seen[-1].phase, dwarfs.Phase.DONE)
        bad = bytearray(self.data)
        bad[100] ^= 1
        with self.assertRaises(dwarfs.CorruptError) as caught:
            dwarfs.open(bad).check()
        finding, = caught.exception.findings
        self.assertTrue(finding.is_error)
        self.assertEqual(finding.section, 0)

    def test_a_check_stops_by_an_exception(self):
        def stop(progress):
            raise KeyError("stop")
        with self.assertRaises(KeyError):
            self.image.check(progress=stop)


class Paths(Case):
    def test_joining(self):
        root = self.image.root
        path = root / "dir" / "sub/data.tar.gz"
        self.assertEqual(str(path), "dir/sub/data.tar.gz")
        self.assertEqual(path, self.image.path("dir", "sub", "data.tar.gz"))
        self.assertEqual(path, self.image / b"dir//./sub/data.tar.gz")
        self.assertEqual(path, root.joinpath(pathlib.PurePath("dir/sub"), "data.tar.gz"))
        self.assertEqual(hash(path), hash(self.image / "dir/sub/data.tar.gz"))
        self.assertNotEqual(path, dwarfs.open(self.data) / "dir/sub/data.tar.gz")
        self.assertEqual((path.name, path.suffix, path.stem),
                         ("data.tar.gz", ".gz", "data.tar"))
        for name in ("..a", "a.", "...a.b", "a..b", ".a", "..", "a.b."):
            path, other = root / "dir" / name, pathlib.PurePosixPath("dir", name)
            self.assertEqual((path.suffix, path.suffixes, path.stem),
                             (other.suffix, other.suffixes, other.stem))
            self.assertEqual(str(path.with_stem("x")), str(other.with_stem("x")))
            self.assertEqual(str(path.with_suffix(".x")), str(other.with_suffix(".x")))
        path = root / "dir/sub/data.tar.gz"
        self.assertEqual(path.parts, ("dir", "sub", "data.tar.gz"))
        self.assertEqual(path.parent, self.image / "dir/sub")
        self.assertEqual(root.parent, root)
        self.assertEqual((root.name, str(root)), ("", ""))
        self.assertIn("dir/sub", self.image)
        self.assertNotIn("dir/nope", self.image)
        self.assertEqual(bytes(self.image / os.fsdecode(b"\xff\xfe")), b"\xff\xfe")
        self.assertEqual((self.image / b"\xff\xfe").read_bytes(), b"odd")

    def test_stat_is_that_of_the_disk(self):
        self.assertEqual(len(list(self.image.walk())), self.image.entry_count)
        for path in self.image.walk():
            want, got = (self.tree / str(path)).lstat(), path.lstat()
            for name in ("st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_mtime"):
                self.assertEqual(getattr(got, name), getattr(want, name), (path, name))
            if not stat.S_ISDIR(got.st_mode):
                self.assertEqual(got.st_size, want.st_size)
                self.assertEqual(got.st_nlink, want.st_nlink)
        big = (self.image / "big").stat()
        self.assertEqual(big.st_mtime_ns, 1_600_000_000_987_654_321)
        self.assertEqual(big.st_atime_ns, 1_500_000_000_123_456_789)
        self.assertEqual(big.st_mtime, 1_600_000_000.987654321)
        self.assertEqual(big.st_ino, (self.image / "dir/hard").stat().st_ino)
        self.assertEqual((self.image / "sparse").stat().st_blocks, 8)

    def test_kinds(self):
        image = self.image
        self.assertTrue((image / "dir").is_dir())
        self.assertTrue((image / "big").is_file())
        self.assertTrue((image / "link").is_symlink())
        self.assertTrue((image / "link").is_dir())
        self.assertFalse((image / "nope").exists())
        self.assertFalse((image / "big/nope").exists())
        self.assertFalse((image / "loop").exists())
        self.assertTrue((image / "loop").exists(follow_symlinks=False))
        self.assertFalse((image / "outside").exists())
        self.assertFalse((image / "nope").is_dir())

    def test_links(self):
        image = self.image
        self.assertEqual((image / "link").readlink(), "dir/sub")
        self.assertEqual((image / "link/data.tar.gz").read_bytes(), b"data")
        self.assertEqual((image / "dir/sub/round").read_bytes(), b"data")
        self.assertEqual((image / "link/../text.txt").read_text("utf-8"), TEXT)
        self.assertEqual((image / "link/round").stat().st_size, 4)
        self.assertEqual([p.name for p in (image / "link").iterdir()],
                         ["data.tar.gz", "round"])
        with self.assertRaises(OSError) as caught:
            (image / "loop").stat()
        self.assertEqual(caught.exception.errno, 40)
        with self.assertRaises(FileNotFoundError):
            (image / "outside").read_bytes()
        with self.assertRaises(dwarfs.InvalidError):
            (image / "big").readlink()

    def test_links_and_dots_lead_through_directories(self):
        """As on disk: a slash, "." or ".." after a file is an error."""
        builder = dwarfs.Builder(level=1)
        builder.add("dir/file", b"x")
        for number, target in enumerate(("dir/file/", "dir/file/.", "dir/file/..", "dir/",
                                         "dir/./", "dir/../dir/file", "again/", "dir//file")):
            builder.add(f"link{number}", target=target)
        builder.add("again", target="dir/file")
        builder.write(output := io.BytesIO())
        image = dwarfs.open(output.getvalue())
        image.extract(self.dir / "links")
        for name in [f"link{number}" for number in range(8)] + ["dir/file/..", "dir/file/../file",
                                                                "link3/../again"]:
            with self.subTest(name):
                disk = self.dir / "links" / name
                self.assertEqual((image / name).exists(), disk.exists())
                self.assertEqual((image / name).is_dir(), disk.is_dir())
                if not disk.exists():
                    with self.assertRaises(NotADirectoryError):
                        (image / name).stat()

    def test_errors_are_those_of_python(self):
        image = self.image
        with self.assertRaises(FileNotFoundError) as caught:
            (image / "dir/nope").stat()
        self.assertEqual(caught.exception.path, "dir/nope")
        with self.assertRaises(NotADirectoryError):
            (image / "big/nope").stat()
        for act, kind, path, why in (
                ((image / "big").iterdir, NotADirectoryError, "big", "is not a directory"),
                ((image / "big").readlink, ValueError, "big", "is not a link"),
                ((image / "dir").read_bytes, IsADirectoryError, "dir", "is a directory"),
                ((image / "dir").read_text, IsADirectoryError, "dir", "is a directory"),
                ((image / "dir").open, IsADirectoryError, "dir", "is a directory")):
            with self.assertRaises(kind) as caught:
                act()
            self.assertEqual(str(caught.exception), f"'{path}' {why}")
            self.assertEqual((caught.exception.filename, caught.exception.path), (path, path))

    def test_walking(self):
        walked = [str(path) for path in self.image.walk()]
        self.assertEqual(walked[0], "")
        self.assertEqual(sorted(walked[1:]),
                         sorted(str(p.relative_to(self.tree)) for p in self.tree.rglob("*")))
        self.assertEqual(sorted(map(str, self.image.walk("data"))), sorted(walked))
        walk, seen = self.image.walk(), []
        for path in walk:
            seen.append(str(path))
            self.assertEqual(walk.depth, len(path.parts))
            if path.name == "dir":
                walk.skip()
        self.assertEqual(seen, [p for p in walked if not p.startswith("dir/")])
        below = [str(path) for path in (self.image / "dir").walk()]
        self.assertEqual(below, [p for p in walked if p.split("/")[0] == "dir"])
        with self.assertRaises(ValueError):
            self.image.walk("random")

    def test_globs(self):
        def glob(pattern):
            return [str(path) for path in self.image.root.glob(pattern)]
        self.assertEqual(glob("dir/*.txt"), ["dir/text.txt"])
        self.assertEqual(glob("**/*.gz"), ["dir/sub/data.tar.gz"])
        self.assertEqual(glob("*/sub"), ["dir/sub"])
        self.assertEqual(glob("**"), ["", "dir", "dir/sub", "none"])
        self.assertEqual(sorted(glob("**/*")), sorted(map(str, self.image.walk()))[1:])
        self.assertEqual([str(p) for p in self.image.root.rglob("h?rd")], ["dir/hard"])
        self.assertEqual(glob("dir/*/"), ["dir/sub"])
        self.assertEqual(glob("**/"), glob("**"))
        self.assertEqual(glob("dir/text.txt/"), [])
        self.assertEqual(glob("dir/../n*"), ["dir/../none"])
        self.assertEqual(glob("dir/sub/.."), ["dir/sub/.."])
        self.assertEqual(glob("dir/text.txt/../*"), [])
        self.assertEqual(glob("missing/../*"), [])
        # A path that is itself a link is followed, as by iterdir().
        builder = dwarfs.Builder(level=1)
        builder.add("dir/sub/file", b"")
        builder.add("link", target="dir")
        builder.add("dir/link", target="sub")
        output = io.BytesIO()
        builder.write(output)
        with dwarfs.open(output.getvalue()) as image:
            link = image / "link"
            self.assertEqual([str(path) for path in link.glob("*")], ["link/link", "link/sub"])
            self.assertEqual([str(path) for path in link.rglob("f*")], ["link/sub/file"])
            self.assertEqual([str(path) for path in link.glob("../d*")], ["link/../dir"])
            self.assertEqual(list(link.glob("link/*")), [])
            self.assertEqual(list(image.root.glob("link/*")), [])

    def test_names_that_cannot_be(self):
        for name in "dir/a\0b", "\0", "\ud800":
            path = self.image / name
            self.assertEqual([path.exists(), path.is_file(), path.is_dir(), path.is_symlink()],
                             [False] * 4)
            with self.assertRaises(ValueError):
                path.stat()

    def test_order(self):
        a, b = self.image / "a", self.image / "b"
        self.assertTrue(a < b and a <= b and a <= self.image / "a" and b > a and b >= a)
        self.assertFalse(b < a or b <= a or a > b or a >= b)
        self.assertEqual(max(a, b), b)
        for compare in operator.lt, operator.le, operator.gt, operator.ge:
            for other in "b", 1, None:
                with self.assertRaises(TypeError):
                    compare(a, other)


class Files(Case):
    def test_raw(self):
        with (self.image / "big").open("rb", 0) as file:
            self.assertIsInstance(file, io.RawIOBase)
            self.assertTrue(file.readable() and file.seekable() and not file.writable())
            room = bytearray(10)
            self.assertEqual(file.readinto(room), 10)
            self.assertEqual(room, BIG[:10])
            room = memoryview(bytearray(300_000))
            self.assertEqual(file.readinto(room[1000:200_001]), 199_001)
            self.assertEqual(room[1000:200_001], BIG[10:199_011])
            self.assertEqual(file.tell(), 199_011)
            self.assertEqual(file.seek(-4, os.SEEK_END), len(BIG) - 4)
            self.assertEqual(file.read(), b"tail")
            self.assertEqual(file.read(5), b"")
            self.assertEqual(file.pread(6, 2), BIG[2:8])
            self.assertEqual(file.pread(6, len(BIG) + 10), b"")
            self.assertEqual(file.seek(5), 5)
            self.assertEqual(file.seek(5, os.SEEK_CUR), 10)
            self.assertEqual(file.size, len(BIG))
            with self.assertRaises(OSError):
                file.seek(-1)
            with self.assertRaises((TypeError, BufferError)):
                file.readinto(b"read-only")
            with self.assertRaises(OSError):
                file.fileno()
            for offset in 1.5, "1", None:
                with self.assertRaises(TypeError):
                    file.seek(offset)
            for offset, whence in (2**70, os.SEEK_SET), (2**63, os.SEEK_SET), \
                    (2**63 - 1, os.SEEK_CUR), (2**63 - 1, os.SEEK_END):
                with self.assertRaises(OverflowError):
                    file.seek(offset, whence)
            self.assertEqual(file.tell(), 10)
            self.assertEqual(file.seek(2**63 - 1), 2**63 - 1)
            self.assertEqual(file.read(), b"")
            with self.assertRaises(io.UnsupportedOperation):
                file.write(b"x")
            with self.assertRaises(io.UnsupportedOperation):
                file.truncate()
        self.assertTrue(file.closed)
        for use in (file.tell, file.read, lambda: file.write(b""), lambda: file.seek(0), lambda: file.pread(1, 0)):
            with self.assertRaises(ValueError):
                use()
        file.close()

    def test_buffered_and_text(self):
        text = self.image / "dir/text.txt"
        with text.open("rb") as file:
            self.assertEqual(file.readlines(), TEXT.encode().splitlines(True))
        with text.open("r", encoding="utf-8") as file:
            self.assertEqual(list(file), TEXT.splitlines(True))
        self.assertEqual(text.read_text("utf-8"), TEXT)
        for mode in ("w", "rb+", "x", "", "rw"):
            with self.assertRaises(ValueError):
                text.open(mode)
        with self.assertRaises(ValueError):
            text.open("r", 0)
        with self.assertRaises(ValueError):
            text.open("rb", encoding="utf-8")

    def test_holes(self):
        with (self.image / "sparse").open("rb", 0) as file:
            self.assertEqual(file.seek(0, os.SEEK_DATA), 256 << 10)
            self.assertEqual(file.seek(256 << 10, os.SEEK_HOLE), (256 << 10) + 4096)
            with self.assertRaises(OSError) as caught:
                file.seek(1 << 20, os.SEEK_DATA)
            self.assertEqual(caught.exception.errno, 6)

    def test_threads(self):
        image = dwarfs.open(self.data, context=dwarfs.Context(cache_bytes=1 << 16))
        failures = []

        def work(seed):
            try:
                with (image / "big").open("rb", 0) as file:
                    for i in range(60):
                        at = (seed * 7919 + i * 104729) % len(BIG)
                        if file.pread(50_000, at) != BIG[at:at + 50_000]:
                            failures.append(at)
                        for path in image.walk():
                            path.lstat()
            except Exception as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_read_that_waits_for_another_thread(self):
        """One thread reads a block from a Python file, another one waits for the block in the library:
        the first one goes on only if that happens without the interpreter's lock."""
        class Waiting(io.BytesIO):
            begun, go = threading.Event(), None

            def readinto(self, room):
                if self.go:
                    self.begun.set()
                    self.go.wait()
                return super().readinto(room)
        source = Waiting(self.data)
        image = dwarfs.open(source, context=dwarfs.Context(workers=0))
        results = []

        def read():
            results.append((image / "big").read_bytes() == BIG)
        threads = [threading.Thread(target=read) for _ in range(2)]
        source.go = threading.Event()
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        try:
            threads[0].start()
            source.begun.wait()
            threads[1].start()
            time.sleep(0.1)  # the second one is in the library, or will be: both are right
            source.go.set()
            for thread in threads:
                thread.join()
        finally:
            faulthandler.cancel_dump_traceback_later()
        self.assertEqual(results, [True, True])

    def test_threads_over_a_python_reader(self):
        image = dwarfs.open(io.BytesIO(self.data), context=dwarfs.Context(cache_bytes=0))
        results = [None] * 4

        def work(i):
            results[i] = (image / "big").read_bytes() == BIG
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 4)


class Packing(Case):
    def output(self):
        return self.dir / "out.dwarfs"

    def tearDown(self):
        self.output().unlink(missing_ok=True)
        # No temporary file remains after any error.
        self.assertLessEqual(set(os.listdir(self.dir)), {"tree", "image.dwarfs", "back", "link"})

    def test_counts(self):
        self.assertEqual(self.counts.bytes_out, len(self.data))
        self.assertEqual(self.counts.directories, 4)
        self.assertEqual(self.counts.links, 4)
        self.assertEqual(self.counts.hardlinks, 1)
        self.assertEqual(self.counts.errors, 0)

    def test_options(self):
        dwarfs.pack(self.tree, self.output(), level=3, compression="zstd:level=3",
                    order="path", owner=7, group=8, time=1234567890.5, chmod="D750,F640",
                    time_resolution_ns=10**6, history_arguments=["a", "b"],
                    header=b"head", create_timestamp=False, section_index=False,
                    sparse_files=False)
        image = dwarfs.open(self.output())
        attributes = (image / "big").stat()
        self.assertEqual((attributes.st_uid, attributes.st_gid), (7, 8))
        self.assertEqual(attributes.st_mtime_ns, 1234567890_500_000_000)
        self.assertEqual(attributes.st_mode, stat.S_IFREG | 0o640)
        self.assertEqual((image.header, image.created_on), (b"head", None))
        self.assertFalse(image.has_index)
        self.assertEqual(image.history[0].arguments, ("a", "b"))
        self.assertEqual(image.features, ())

    def test_bad_options(self):
        for options in (dict(level=10), dict(compression="zip"), dict(order="odd"),
                        dict(chmod="zz"), dict(block_bits=5)):
            with self.assertRaises(ValueError) as caught:
                dwarfs.pack(self.tree, self.output(), **options)
            self.assertIsInstance(caught.exception, dwarfs.Error)
        for options in (dict(level=-1), dict(level="7"), dict(owner=1 << 32),
                        dict(compression=5), dict(header="text"), dict(levle=1)):
            with self.assertRaises((TypeError, OverflowError)):
                dwarfs.pack(self.tree, self.output(), **options)
        with self.assertRaises(TypeError):
            dwarfs.pack(self.tree, 1.5)
        with self.assertRaises(FileNotFoundError):
            dwarfs.pack(self.tree / "nope", self.output())
        with self.assertRaises(NotADirectoryError):
            dwarfs.pack(self.tree / "big", self.output())

    def test_paths(self):
        os.symlink(self.tree, self.dir / "link")
        self.addCleanup(os.unlink, self.dir / "link")
        some = next(path.relative_to(self.tree) for path in self.tree.rglob("*")
                    if path.is_file() and path.parent != self.tree)
        link = next(path.name for path in self.tree.iterdir() if path.is_symlink())
        for directory in self.tree, self.dir / "link":
            for path in some, os.fsencode(some), f"./{some}", self.tree / some, directory / some:
                with self.subTest(path):
                    counts = dwarfs.pack(directory, None, paths=[path, link, "", directory])
                    self.assertEqual((counts.files, counts.links, counts.errors), (1, 1, 0))
        self.assertEqual(dwarfs.pack(self.tree, None, paths=[]).directories, 1)
        self.assertEqual(dwarfs.pack(self.tree, None, paths=[]).files, 0)
        with self.assertRaisesRegex(FileNotFoundError, "nope"):
            dwarfs.pack(self.tree, self.output(), paths=[some, "nope"])
        for path in "../image.dwarfs", "..", "/", self.dir:
            with self.subTest(path), self.assertRaisesRegex(dwarfs.InvalidError, "not below"):
                dwarfs.pack(self.tree, self.output(), paths=[path])
        for paths in "big", b"big", some:
            with self.subTest(paths), self.assertRaisesRegex(TypeError, "paths"):
                dwarfs.pack(self.tree, self.output(), paths=paths)

    def test_outputs(self):
        options = dict(level=0, history=False, create_timestamp=False)
        dwarfs.pack(self.tree, self.output(), **options)
        expected = self.output().read_bytes()
        with self.assertRaises(FileExistsError):
            dwarfs.pack(self.tree, self.output(), **options)
        dwarfs.pack(self.tree, self.output(), overwrite=True, **options)
        memory = io.BytesIO()
        dwarfs.pack(self.tree, memory, **options)
        self.assertEqual(memory.getvalue(), expected)
        with open(self.output(), "wb", buffering=0) as file:
            dwarfs.pack(self.tree, file, **options)
        self.assertEqual(self.output().read_bytes(), expected)
        with open(self.output(), "wb") as file:
            dwarfs.pack(self.tree, file.fileno(), **options)
        self.assertEqual(self.output().read_bytes(), expected)

    def test_a_writer_that_fails(self):
        class Full(io.RawIOBase):
            def write(self, data):
                raise ZeroDivisionError("full")
        with self.assertRaises(ZeroDivisionError):
            dwarfs.pack(self.tree, Full(), level=0)
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb", buffering=0) as full:
                with self.assertRaises(OSError) as caught:
                    dwarfs.pack(self.tree, full, level=0)
            self.assertEqual(caught.exception.errno, 28)

    def test_progress(self):
        seen = []
        dwarfs.pack(self.tree, self.output(), level=0, progress=seen.append)
        self.assertEqual(seen[-1].phase, dwarfs.Phase.DONE)
        self.assertEqual(seen[-1].bytes_done, seen[-1].bytes_total)
        self.assertEqual(seen[-1].bytes_out, self.output().stat().st_size)
        self.assertTrue(str(seen[0].phase))

    def test_an_exception_stops_it(self):
        def stop(progress):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            dwarfs.pack(self.tree, self.output(), level=0, progress=stop)
        self.assertFalse(self.output().exists())

    def test_other_threads_run_meanwhile(self):
        """The image goes to a pipe that another thread reads: without that the call does not end. In
        the reports of progress, which are left out, other threads run in any case."""
        found, (reading, writing) = [], os.pipe()
        builder = dwarfs.Builder(compression="null", context=dwarfs.Context(workers=0))
        dwarfs._dwarfs.dwarfs_task_set_progress(builder._task.handle, None)
        builder.add_tree(self.tree)

        def read_all():
            with open(reading, "rb") as file:
                found.append(file.read())
        thread = threading.Thread(target=read_all)
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        try:
            thread.start()
            builder.write(writing)
        finally:
            os.close(writing)
            thread.join()
            faulthandler.cancel_dump_traceback_later()
        self.assertGreater(len(found[0]), 1 << 17)  # more than fits into the pipe
        self.assertEqual((dwarfs.open(found[0]) / "big").read_bytes(), BIG)

    def test_the_log(self):
        messages = []
        logger = logging.getLogger("dwarfs-test")
        logger.propagate = False
        logger.setLevel(1)

        class Keep(logging.Handler):
            def emit(self, record):
                messages.append((record.levelno, record.getMessage()))
        logger.addHandler(Keep())
        for log in (logger, lambda level, text: messages.append((level, text))):
            messages.clear()
            vanishing = self.tree / "vanishing"
            vanishing.write_text("here")
            try:
                counts = dwarfs.pack(
                    self.tree, io.BytesIO(), level=0,
                    context=dwarfs.Context(log=log, workers=0),
                    progress=lambda p: vanishing.unlink(missing_ok=True)
                    if p.phase != dwarfs.Phase.SCAN else None)
            finally:
                vanishing.unlink(missing_ok=True)
            self.assertEqual(counts.errors, 1)
            self.assertTrue(any("vanishing" in text and level >= logging.WARNING
                                for level, text in messages), messages)

    def test_extracting(self):
        back = self.dir / "back"
        seen = []
        self.image.extract(back, progress=seen.append)
        try:
            self.assertEqual(seen[-1].phase, dwarfs.Phase.DONE)
            for path in self.image.walk():
                want, got = (self.tree / str(path)).lstat(), (back / str(path)).lstat()
                self.assertEqual((want.st_mode, want.st_mtime_ns),
                                 (got.st_mode, got.st_mtime_ns), path)
            self.assertEqual((back / "big").read_bytes(), BIG)
            with self.assertRaises(FileExistsError):
                dwarfs.extract(self.file, back)
        finally:
            shutil.rmtree(back)
        with self.assertRaises(FileNotFoundError):
            dwarfs.extract(self.data, self.dir / "no" / "parent")
        some = self.dir / "some"
        self.image.extract(some, patterns=["i:BI?"], writers=2, xattrs=False)
        try:
            self.assertEqual([path.name for path in some.iterdir()], ["big"])
            self.assertEqual((some / "big").read_bytes(), BIG)
            with self.assertRaises(ValueError):
                self.image.extract(some, patterns=["[a"])
        finally:
            shutil.rmtree(some)

    def test_exporting(self):
        target = self.dir / "out.tar.gz"
        self.addCleanup(target.unlink, missing_ok=True)
        seen = []
        try:
            self.image.export(target, progress=seen.append)
        except dwarfs.Error as error:
            if error.code != dwarfs.ErrorCode.UNSUPPORTED:
                raise
            self.skipTest(str(error))
        self.assertEqual(seen[-1].phase, dwarfs.Phase.DONE)
        with tarfile.open(target, "r:gz", errors="surrogateescape") as archive:
            names = {os.fsencode(member.name) for member in archive}
            self.assertEqual(names, {os.fsencode(str(path)) or b"." for path in self.image.walk()})
            self.assertEqual(archive.extractfile("big").read(), BIG)
        with open(target, "wb") as out:
            self.image.export(out.fileno(), "newc", filters=["zstd"], patterns=["i:BI?"],
                              options="compression-level=1", xattrs=False, tree_order=True)
        self.assertEqual(target.read_bytes()[:4], b"\x28\xb5\x2f\xfd")
        with self.assertRaisesRegex(ValueError, "No such format"):
            self.image.export(target, "nothing")
        target.unlink()
        with self.assertRaises(dwarfs.Error):
            self.image.export(target, "arbsd")
        self.assertFalse(target.exists())

    def test_reports_of_exporting(self):
        target = self.dir / "out"
        self.addCleanup(target.unlink, missing_ok=True)
        seen = []

        def report(what, path, why):
            seen.append((what, path, why))
        with self.assertRaises(dwarfs.Error) as caught:
            self.image.export(target, "arbsd", report=report)
        if "not built in" in str(caught.exception):
            self.skipTest(str(caught.exception))
        self.assertEqual(len(seen), 1)
        self.assertIs(seen[0][0], dwarfs.ExportReport.LEFT_OUT)
        seen.clear()
        with self.assertRaises(dwarfs.Error):
            self.image.export(target, "arbsd", continue_on_error=True, report=report)
        self.assertTrue(target.exists())
        lost = {path for what, path, why in seen if what == dwarfs.ExportReport.LEFT_OUT}
        self.assertTrue({str(path) for path in self.image.walk() if path.is_dir()} - {"", "."}
                        <= lost)
        self.assertTrue(all(why and path for what, path, why in seen))
        seen.clear()
        self.image.export(target, "zip", patterns=["dir/hard", "big"], report=report)
        self.assertIn((dwarfs.ExportReport.REDUCED, "big"), [part[:2] for part in seen])
        target.unlink()

        def refuse(what, path, why):
            seen.append(path)
            raise LookupError(path)
        seen.clear()
        with self.assertRaises(LookupError):
            self.image.export(target, "arbsd", continue_on_error=True, report=refuse)
        self.assertEqual(len(seen), 1)
        self.assertFalse(target.exists())


class Contexts(Case):
    def test_settings(self):
        for options in (dict(workers=5000), dict(workers=-1), dict(cache_bytes=-1)):
            with self.assertRaises((ValueError, OverflowError, TypeError)):
                dwarfs.Context(**options)
        with self.assertRaisesRegex(TypeError, "log"):
            dwarfs.Context(log=5)
        context = dwarfs.Context(cache_bytes=1 << 20, workers=2)
        images = [dwarfs.open(self.file, context=context) for _ in range(3)]
        del context
        gc.collect()
        for image in images:
            self.assertEqual((image / "big").read_bytes(), BIG)

    def test_nothing_leaks_a_reference(self):
        if not hasattr(sys, "getrefcount"):
            self.skipTest("no reference counts here")
        data = bytearray(self.data)
        before = sys.getrefcount(data)
        for _ in range(5):
            image = dwarfs.open(data)
            (image / "big").read_bytes()
            list(image.walk())
            with self.assertRaises(FileNotFoundError):
                (image / "nope").stat()
            with self.assertRaises(dwarfs.Error):
                dwarfs.open(data, offset=1)
        del image
        gc.collect()
        self.assertEqual(sys.getrefcount(data), before)
        data.append(0)

    def test_the_interface_below_refuses_nonsense(self):
        low = dwarfs._image._dwarfs
        for call in (lambda: low.dwarfs_image_bytes(None), lambda: low.dwarfs_stat_new(1),
                     lambda: low.dwarfs_io_new(1), lambda: low.dwarfs_io_new((1, 2)),
                     lambda: low.dwarfs_io_new((print, -1)),
                     lambda: low.dwarfs_image_check(self.image._handle, 0, None),
                     lambda: low.dwarfs_io_from_memory("text"),
                     lambda: low.dwarfs_find(self.image._handle, 5)):
            with self.assertRaises((TypeError, OverflowError)):
                call()


class Deciding(unittest.TestCase):
    """Callbacks that filter, sort and categorize files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dwarfs-python-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.tree = self.dir / "tree"
        self.output = self.dir / "out"
        for number, name in enumerate(("b/one.c", "a/two.h", "a/three.c", "c/sub/four.log",
                                       "five~", "six.log")):
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(1000 + number))
            os.utime(path, (5, 1000 + number))
        os.symlink("five~", self.tree / "link")

    def pack(self, **options):
        options.setdefault("level", 0)
        counts = dwarfs.pack(self.tree, self.output, overwrite=True, history=False,
                             create_timestamp=False, **options)
        return counts, dwarfs.open(self.output)

    def names(self, image):
        return sorted(str(path) for path in image.walk() if str(path))

    def stored(self, image):
        return [str(path) for path in image.walk("data") if path.lstat().st_size > 900]

    def assert_stops(self, **options):
        """The exception of the callback is raised, and no image is made."""
        for error in (ZeroDivisionError, KeyboardInterrupt):
            def fail(*arguments):
                raise error("stop")
            for workers in (0, 2):
                for name in options:
                    with self.assertRaises(error):
                        self.pack(context=dwarfs.Context(workers=workers), **{name: fail})
                    self.assertEqual(os.listdir(self.dir), ["tree"])

    def test_include(self):
        seen = {}

        def include(entry):
            seen[entry.path] = entry
            return not entry.path.endswith("~") and entry.path != "c"
        counts, image = self.pack(include=include)
        self.assertEqual(self.names(image),
                         ["a", "a/three.c", "a/two.h", "b", "b/one.c", "link", "six.log"])
        self.assertEqual(counts.files, 4)
        self.assertNotIn("c/sub", seen)
        entry = seen["a/two.h"]
        self.assertEqual((entry.size, entry.mtime, entry.uid, stat.S_IFMT(entry.mode)),
                         (1001, 1001, os.getuid(), stat.S_IFREG))
        self.assertTrue(stat.S_ISDIR(seen["a"].mode))
        self.assertTrue(stat.S_ISLNK(seen["link"].mode))

    def test_category(self):
        seen = []

        def category(file):
            seen.append(file.path)
            return "logs" if file.path.endswith(".log") else None
        counts, image = self.pack(category=category, categories=["logs"],
                                  compression={"logs": "null", None: "null"})
        self.assertEqual(image.categories, ("<default>", "logs"))
        self.assertEqual({part.name: part.bytes_in for part in counts.categories},
                         {"<default>": 4007, "logs": 2008})
        self.assertEqual(sorted(seen), ["a/three.c", "a/two.h", "b/one.c", "c/sub/four.log",
                                        "five~", "six.log"])
        for name in ("nowhere", ""):
            with self.assertRaises(ValueError):
                self.pack(category=lambda file: name)
        with self.assertRaises(TypeError):
            self.pack(category=lambda file: 5)

    def test_order(self):
        def by_kind(files):
            return sorted(files, key=lambda file: os.path.splitext(file.path)[::-1])
        images = set()
        for workers in (0, 8):
            _, image = self.pack(order=by_kind, context=dwarfs.Context(workers=workers))
            self.assertEqual(self.stored(image), ["five~", "a/three.c", "b/one.c", "a/two.h",
                                                  "c/sub/four.log", "six.log"])
            images.add(self.output.read_bytes())
        self.assertEqual(len(images), 1)

    def test_order_of_some(self):
        sizes = {}

        def order(files):
            sizes.update((file.path, file.size) for file in files)
            return [file for file in files[::-1] if file.path.endswith(".c")]
        _, image = self.pack(order=order, level=1)
        self.assertEqual(self.stored(image)[:2], ["b/one.c", "a/three.c"])
        self.assertEqual(len(self.stored(image)), 6)
        self.assertEqual(sizes["six.log"], 1005)

    def test_order_of_each_category(self):
        lists = []

        def order(files):
            lists.append(sorted(file.path for file in files))
            return files
        self.pack(order=order, categories=["logs"],
                  category=lambda file: "logs" if file.path.endswith("log") else None)
        self.assertEqual(sorted(lists), [["a/three.c", "a/two.h", "b/one.c", "five~"],
                                         ["c/sub/four.log", "six.log"]])

    def test_an_order_knows_the_category(self):
        seen = {}

        def order(files):
            seen.update((file.path, file.category) for file in files)
            return files
        self.pack(order=order, categories=["logs"],
                  category=lambda file: "logs" if file.path.endswith("log") else None)
        self.assertEqual((seen["six.log"], seen["five~"]), ("logs", "<default>"))

    def test_an_exception_stops_it_and_comes_out(self):
        self.assert_stops(include=None, category=None, order=None, filter_report=None,
                          progress=None)

    def test_an_exception_later_on_comes_out_as_well(self):
        for name in ("include", "category", "order", "filter_report"):
            calls = []

            def fail_at_the_second(*arguments):
                calls.append(arguments)
                if len(calls) == 2:
                    raise KeyError(name)
                return None if name == "category" else True
            if name == "order":
                def fail_at_the_second(files):
                    yield files[0]
                    raise KeyError(name)
            with self.assertRaises(KeyError) as caught:
                self.pack(**{name: fail_at_the_second})
            self.assertEqual(caught.exception.args, (name,))
            self.assertEqual(os.listdir(self.dir), ["tree"])

    def test_what_an_order_returns_instead_of_files(self):
        for answer in (None, 5, [1], ["six.log"]):
            with self.assertRaises((TypeError, AttributeError)):
                self.pack(order=lambda files: answer)
        _, image = self.pack(order=lambda files: files + files[::-1])
        self.assertEqual(len(self.stored(image)), 6)

    def test_a_failure_of_the_library_after_callbacks(self):
        with self.assertRaises(FileNotFoundError):
            dwarfs.pack(self.tree, self.dir / "no" / "out", include=lambda entry: True)

    def test_nobody_keeps_the_callbacks(self):
        def include(entry):
            return not entry.path.endswith("~")

        def category(file):
            return "logs" if file.path.endswith("log") else None

        def order(files):
            return files[::-1]

        def report(path, is_directory, is_included):
            reported.append(path)

        def fail(files):
            raise KeyError("stop")
        reported = []
        functions = (include, category, order, report, fail)
        before = [sys.getrefcount(function) for function in functions]
        for _ in range(20):
            self.pack(include=include, category=category, order=order, filter_report=report,
                      categories=["logs"])
            with self.assertRaises(KeyError):
                self.pack(include=include, category=category, order=fail, categories=["logs"])
        gc.collect()
        self.assertEqual([sys.getrefcount(function) for function in functions], before)

    def test_callbacks_of_several_threads(self):
        results = [None] * 4

        def work(number):
            seen = []

            def include(entry):
                seen.append(entry.path)
                return entry.path != "six.log"
            memory = io.BytesIO()
            dwarfs.pack(self.tree, memory, level=0, include=include,
                        order=lambda files: files[::-1], history=False, create_timestamp=False)
            results[number] = (sorted(seen), memory.getvalue())
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIsNotNone(results[0])
        self.assertEqual(results, [results[0]] * 4)

    def test_a_callback_may_use_the_library(self):
        self.pack()
        image = dwarfs.open(self.output)
        _, smaller = self.pack(include=lambda entry: entry.path not in image
                               or (image / entry.path).lstat().st_size != 1004)
        self.assertNotIn("five~", self.names(smaller))

    def test_odd_names(self):
        (self.tree / os.fsdecode(b"\xff\xfe")).write_bytes(b"odd")
        seen, reported = [], []
        self.pack(include=lambda entry: seen.append(entry.path) or True,
                  order=lambda files: sorted(files, key=lambda file: os.fsencode(file.path)),
                  filter_report=lambda *decision: reported.append(decision))
        self.assertIn(os.fsdecode(b"\xff\xfe"), seen)
        self.assertIn((os.fsdecode(b"\xff\xfe"), False, True), reported)

    def test_what_the_rules_do(self):
        rules = ["- *.log", "- /a/"]
        reported = []
        self.pack(filters=rules, filter_report=lambda *decision: reported.append(decision))
        self.assertIn(("six.log", False, False), reported)
        self.assertIn(("a", True, False), reported)
        self.assertIn(("five~", False, True), reported)
        self.assertEqual(sorted(dwarfs.preview(self.tree, rules)), sorted(reported))
        self.assertEqual({entry.path: entry.is_included for entry in dwarfs.preview(
            self.tree, ["- *"]) if not entry.is_directory},
            {name: False for name in ("b/one.c", "a/two.h", "a/three.c", "c/sub/four.log",
                                      "five~", "six.log", "link")})
        with self.assertRaises(ValueError):
            dwarfs.preview(self.tree, ["*.c"])
        with self.assertRaises(FileNotFoundError):
            dwarfs.preview(self.tree / "nope", [])

    def test_a_probe(self):
        (self.tree / "half").write_bytes(b"text " * 8000 + os.urandom(40000))
        for probe, most in ((None, 0), (dwarfs.Probe(ratio=0.4), 80000),
                            (dwarfs.Probe(fragments=True, block_bytes=4096), 42000)):
            counts, _ = self.pack(categorize="incompressible", incompressible=probe,
                                  include=lambda entry: entry.path == "half")
            found = sum(part.bytes_in for part in counts.categories
                        if part.name == "incompressible")
            self.assertLessEqual(found, most)
            self.assertGreaterEqual(found, most // 2)
        with self.assertRaises(ValueError):
            self.pack(categorize="incompressible", incompressible=dwarfs.Probe(ratio=2))

    def test_what_is_no_callable(self):
        for options in (dict(include=5), dict(category=5), dict(order=5)):
            with self.assertRaises((TypeError, AttributeError)):
                self.pack(**options)

    def test_errors_name_the_option(self):
        for options, kind, why in (
                (dict(level="a"), TypeError, "level: a whole number is needed, not 'a'"),
                (dict(level=2.5), TypeError, "level: a whole number is needed, not 2.5"),
                (dict(level=-1), OverflowError, "level: -1 is out of range"),
                (dict(window={None: "a"}), TypeError, "window: a whole number is needed, not 'a'"),
                (dict(xattrs="a"), TypeError, "xattrs: True or False is needed, not 'a'"),
                (dict(order=5), TypeError, "order: "), (dict(compression=5), TypeError, "compression: "),
                (dict(time_resolution_ns="a"), TypeError, "time_resolution_ns: a whole number")):
            with self.assertRaises(kind) as caught:
                self.pack(**options)
            self.assertIn(why, str(caught.exception))

    def test_rules_and_lists(self):
        _, image = self.pack(filters=["- *.log", "- /a/"])
        self.assertEqual(self.names(image),
                         ["b", "b/one.c", "c", "c/sub", "five~", "link"])
        _, image = self.pack(filters=["- *.log"], remove_empty_directories=True)
        self.assertNotIn("c", self.names(image))
        _, image = self.pack(paths=["six.log", pathlib.Path("a/two.h")], order="none")
        self.assertEqual(self.stored(image), ["six.log", "a/two.h"])
        with self.assertRaises(ValueError):
            self.pack(filters=["*.c"])

    def test_blocks(self):
        noise = os.urandom(60000)
        (self.tree / "x").write_bytes(noise)
        (self.tree / "y").write_bytes(b"shifted" + noise)
        counts, _ = self.pack(window=10, window_step=2, order="path")
        self.assertGreater(counts.bytes_segments, 55000)
        self.assertGreater(counts.segments, 0)
        for options in (dict(window={None: 0}), dict(window=10, lookback=0)):
            self.assertEqual(self.pack(**options)[0].segments, 0)
        counts, image = self.pack(categorize=["incompressible"], order={"incompressible": "path"},
                                  category_metadata=False, compress_niceness=3, scan_workers=2,
                                  memory_limit=1 << 30, file_hash="sha256",
                                  max_similarity_bytes=100, hot_paths=["x"])
        self.assertIn("incompressible", image.categories)
        self.assertEqual((image / "y").read_bytes(), b"shifted" + noise)
        _, image = self.pack(hollow=True)
        self.assertEqual((image / "x").read_bytes(), bytes(60000))
        for options in (dict(categorize="odd"), dict(file_hash="odd"), dict(window=25),
                        dict(compression={"odd": "null"}), dict(order={"odd": "path"})):
            with self.assertRaises(ValueError):
                self.pack(**options)

    def test_progress_has_what_was_saved(self):
        (self.tree / "x").write_bytes(bytes(range(256)) * 1000)
        (self.tree / "y").write_bytes(bytes(range(256)) * 1000)
        seen = []
        self.pack(progress=seen.append)
        self.assertGreaterEqual(seen[-1].bytes_saved, 256000)
        self.assertTrue(all(p.remaining is None or p.remaining >= 0 for p in seen))

    def test_the_example(self):
        script = pathlib.Path(__file__).parents[2] / "examples" / "own_order.py"
        done = subprocess.run([sys.executable, script, self.tree, self.output],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        image = dwarfs.open(self.output)
        self.assertNotIn("five~", self.names(image))
        self.assertEqual(self.stored(image)[:3], ["b/one.c", "a/three.c", "a/two.h"])
        self.assertRegex(done.stdout, r"logs: 2008 bytes became \d+\n")
        done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("own_order.py", done.stderr)


if __name__ == "__main__":
    unittest.main()
