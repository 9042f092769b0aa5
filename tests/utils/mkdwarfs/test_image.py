#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images as inputs: append, merge and delete."""
import ctypes
import io
import itertools
import os
import random
import re
import shutil
import struct
import tarfile
import time

import absent
import rewritten
import tap
import tree
from cli import run
from rewritten import blocks_of, read, sections_of, strict_accepts

BLOCK, HISTORY, INDEX, DIGESTS = 0, 10, 9, 0xD001
HEADER = 64
RNG = random.Random(7)
NOISE = RNG.randbytes(200000)


def stored_bytes(image):
    return sum(len(block) for block in blocks_of(image))


class Images(rewritten.Case):
    def directory(self, name, **files):
        """A directory with these files; _ in a name stands for /."""
        for path, contents in files.items():
            self.write(f"{name}/" + path.replace("_", "/"), contents)
        return self.path(name)

    def first_and_second(self):
        """An image and a directory, with a file that both have under other names."""
        old = self.make("old", [self.directory("a", x=NOISE[:90000], d_text=b"some text\n" * 900,
                                               d_same=NOISE[90000:150000])], "-S14")
        new = self.directory("b", y=NOISE[150000:], e_same=NOISE[90000:150000], d_new=b"new\n")
        return old, new

    def names(self, image):
        return set(self.listing(image))

    def good(self, image):
        self.intact(image)
        self.assertNotEqual(strict_accepts(image, self.info(image)), False)


class OpenedFiles:
    """Which of some files any process opens during a with block."""

    IN_OPEN, IN_NONBLOCK, EVENT = 0x20, 0o4000, struct.Struct("iIII")

    def __init__(self, paths):
        self.paths, self.names = paths, None

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(self.IN_NONBLOCK)
        self.watched = {libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_OPEN): name
                        for name, path in self.paths.items()}
        if self.fd < 0 or min(self.watched) < 0:
            raise tap.Skip("no inotify: " + os.strerror(ctypes.get_errno()))
        return self

    def __exit__(self, *_):
        try:
            events = os.read(self.fd, 1 << 16)  # without names, as these are not directories
        except BlockingIOError:
            events = b""
        os.close(self.fd)
        self.names = {self.watched[watch] for watch, *_ in self.EVENT.iter_unpack(events)}


class Append(Images):
    def test_metadata_is_compressed_if_that_of_an_input_is(self):
        absent.need("zstd")

        def codec(image):
            return next(section["compression"] for section in self.info(image)["sections"]
                        if section["type"] == "METADATA_V2")

        tree = self.directory("many", **{f"file-{number}": b"%d" % number
                                         for number in range(300)})
        noise = self.directory("noise", noise=tap.random_bytes(8 << 20))
        packed = self.make("packed", [tree], "-l7", "-C", "null")
        plain = self.make("plain", [tree], "-l7", "-C", "null", "--metadata-compression=null")
        self.assertEqual([codec(packed), codec(plain)], ["ZSTD", "NONE"])
        for old in (packed, plain):
            both = self.make("both", [old, noise], "-l7", "-C", "null")
            self.assertEqual(codec(both), codec(old))
        based = self.make("based", [noise], "-l7", "-C", "null", f"--base={packed}")
        self.assertEqual(codec(based), "NONE")
        merged = self.make("merged", [plain, packed, noise], "-l7", "-C", "null",
                           "--on-conflict=first")
        self.assertEqual(codec(merged), "ZSTD")

    def test_blocks_stay_where_they_are(self):
        old, new = self.first_and_second()
        both = self.make("both", [old, new])
        self.good(both)
        end = sum(len(block) for block in blocks_of(old))
        self.assertEqual(read(old)[:end], read(both)[:end])
        self.assertEqual(self.names(both), {"x", "d", "d/text", "d/same", "y", "e", "e/same",
                                            "d/new"})
        wanted = dict(line.split("  ", 1)[::-1] for image in (old, both)
                      for line in self.sums(image))
        self.assertEqual(wanted["e/same"], wanted["d/same"])
        for name in ("x", "d/text", "d/same"):
            self.assertIn(f"{wanted[name]}  {name}", self.sums(old))
        self.assertEqual(run("DWARFSCK", "--cat", "y", both).raw, NOISE[150000:])
        self.assertEqual(self.info(both)["history"][:-1], self.info(old)["history"])

    def test_equal_files_are_stored_once(self):
        old, new = self.first_and_second()
        both = self.make("both", [old, new])
        alone = stored_bytes(old)
        self.assertLess(stored_bytes(both), alone + 52000)  # y has 50000, same has 60000
        os.makedirs(self.path("parent"))
        os.rename(self.path("a"), self.path("parent", "a"))
        again = self.make("again", [old, self.path("parent")])
        self.assertEqual(stored_bytes(again), alone)

    def test_parts_of_old_data_are_not_stored_again(self):
        old, _ = self.first_and_second()
        part = self.directory("c", part=b"before" + NOISE[10000:80000] + b"after")
        both = self.make("both", [old, part], "-l3")
        self.good(both)
        self.assertLess(stored_bytes(both), stored_bytes(old) + 10000)
        self.assertEqual(run("DWARFSCK", "--cat", "part", both).raw,
                         b"before" + NOISE[10000:80000] + b"after")

    def test_nothing(self):
        old, _ = self.first_and_second()
        os.mkdir(self.path("none"))
        os.utime(self.path("none"), (os.stat(self.path("a")).st_mtime,) * 2)
        os.chmod(self.path("none"), os.stat(self.path("a")).st_mode & 0o7777)
        both = self.make("both", [old, self.path("none")])
        self.assertEqual(blocks_of(old), blocks_of(both))
        self.same_files(old, both)
        kinds = [kind for kind, _ in sections_of(old)]
        self.assertEqual(sorted(kinds + [HISTORY]), sorted(k for k, _ in sections_of(both)))
        self.assertEqual(len(self.info(both)["history"]), 2)

    def test_few_orders_are_tried(self):
        """What new files have in common with the image is not known to a trial."""
        for name, count in ("old", 40), ("new", 41):
            for number in range(count):
                self.write(f"{name}/{name}/{number % 7}/{number}.txt", b"".join(
                    b"%d %d %s\n" % (number, line, name.encode()) for line in range(300)))
        alone = self.orders([self.path("new")])
        self.assertIn("revpath", alone)
        image = self.make("old.dwarfs", [self.path("old")], "-l7")
        self.assertLessEqual(self.orders([image, self.path("new")]), {"path", "nilsimsa"})

    def orders(self, inputs):
        self.make("made", inputs, "-l7", "--log-level=verbose")
        return set(re.findall(r"order (.*): \d+ bytes", self.result.err))

    def test_again_and_again(self):
        image = self.make("0", [self.directory("tree", file0=NOISE[:5000])], "-S12")
        for number in range(1, 6):
            more = self.directory(f"more {number}", **{f"file{number}":
                                                       NOISE[number * 9000:][:8000]})
            before = read(image)[:stored_bytes(image)]
            image = self.make(str(number), [image, more])
            self.assertEqual(read(image)[:len(before)], before)
        self.good(image)
        self.assertEqual(self.names(image), {f"file{number}" for number in range(6)})
        self.assertEqual(len(self.info(image)["history"]), 6)
        for number in range(1, 6):
            self.assertEqual(run("DWARFSCK", "--cat", f"file{number}", image).raw,
                             NOISE[number * 9000:][:8000])

    def test_output_is_the_input(self):
        old, new = self.first_and_second()
        wanted = read(self.make("both", [old, new]))
        os.symlink("old", self.path("link"))
        inode = os.stat(old).st_ino
        self.expect(run("MKDWARFS", "-i", old, "-i", new, "-o", old, "-l1", *rewritten.QUIET), 1)
        self.assertEqual(os.stat(old).st_ino, inode)
        copy = self.write("copy", read(old))
        self.make("copy", [copy, new])
        self.assertEqual(read(copy), wanted)
        self.make("old", [self.path("link"), new])
        self.assertEqual(read(old), wanted)
        self.assertEqual(len(self.info(old)["history"]), 2)

    def test_output_through_a_link(self):
        old, new = self.first_and_second()
        wanted = read(self.make("both", [old, new]))
        os.mkdir(self.path("elsewhere"))
        os.symlink("../old", self.path("elsewhere", "link"))
        self.make("elsewhere/link", [self.path("elsewhere", "link"), new])
        self.assertEqual(read(self.path("elsewhere", "link")), wanted)
        self.assertEqual(len([name for name in os.listdir(self.dir) if name.startswith(".")]), 0)
        self.assertEqual(os.listdir(self.path("elsewhere")), ["link"])

    def test_same_bytes_for_any_number_of_workers(self):
        old, new = self.first_and_second()
        for inputs in ([old, new], [new, old], [old, new, old]):
            for words in ([], ["--repack"], ["-S16"], ["--categorize"]):
                made = {read(self.make("both", inputs, *words, "-N", workers))
                        for workers in ("0", "1", "4", "4")}
                self.assertEqual(len(made), 1, words)

    def test_a_header(self):
        old, new = self.first_and_second()
        header = self.write("header", b"#!/bin/sh\nexit 0\n")
        head = self.make("head", [old], "--header", header)
        self.assertTrue(read(head).startswith(read(header) + b"DWARFS"))
        both = self.make("both", [head, new])
        self.assertTrue(read(both).startswith(read(header) + b"DWARFS"))
        self.good(both)
        for inputs, words in (([old, head], []), ([head, new], ["--remove-header"])):
            self.assertTrue(read(self.make("both", inputs, *words)).startswith(b"DWARFS"))

    def test_categories_stay(self):
        path = tap.data("images", "v0.15.3", "categorize.dwarfs")
        absent.need_for_image(path)
        both = self.make("both", [path, self.first_and_second()[1]])
        self.good(both)
        wanted = [section.get("category") for section in self.info(path)["sections"]
                  if section["type"] == "BLOCK"]
        found = [section.get("category") for section in self.info(both)["sections"]
                 if section["type"] == "BLOCK"]
        self.assertEqual(found[:len(wanted)], wanted)
        self.assertEqual(blocks_of(both)[:len(wanted)], blocks_of(path))

    def test_a_damaged_image_is_refused(self):
        old, new = self.first_and_second()
        data = bytearray(read(old))
        data[64 + 5000] ^= 1
        damaged = self.write("damaged", data)
        for words in ([], ["--repack"], ["--repack", "--file-hash=none", "--order=none"],
                      ["--repack", "--dry-run"], ["--max-unused=0"]):
            with self.subTest(words=words):
                self.refuse([damaged, new], *words, says=f"'{damaged}': section 0 (BLOCK)")

    def test_a_damaged_image_is_not_replaced(self):
        image = self.make("old", [self.directory("a", **{f"file{number}": NOISE[number * 9000:][:9000]
                                                         for number in range(4)})], "-S12")
        data = bytearray(read(image))
        data[2 * (HEADER + 4096) + HEADER + 100] ^= 1
        self.write("old", data)
        self.make("old", [image], "--repack", code=1, says=["section 2 (BLOCK)"])
        self.assertEqual(read(image), data)


    def test_a_header_with_an_image(self):
        old, new = self.first_and_second()
        script = self.write("script", b"#!/bin/sh\n" + read(old))
        for header in (old, script):
            self.refuse([new], "--header", header, says="contains an image")


class Merge(Images):
    def test_an_archive(self):
        old, new = self.first_and_second()
        archive = self.path("archive.tar")
        with tarfile.open(archive, "w") as out:
            out.add(new, ".")
        both, wanted = self.make("both", [old, archive]), self.make("wanted", [old, new])
        self.good(both)
        self.same_files(both, wanted)
        self.assertEqual(stored_bytes(both), stored_bytes(wanted))

    def test_whiteouts(self):
        old, _ = self.first_and_second()
        archive = self.path("layer.tar")
        with tarfile.open(archive, "w") as out:
            for name in ("d/.wh.text", ".wh.x"):
                out.addfile(tarfile.TarInfo(name))
        both = self.make("both", [old, archive], "--whiteouts")
        self.good(both)
        self.assertEqual(self.names(both), {"d", "d/same"})
        opaque = self.path("opaque.tar")
        with tarfile.open(opaque, "w") as out:
            out.addfile(tarfile.TarInfo("d/.wh..wh..opq"))
            out.addfile(tarfile.TarInfo("d/only"))
        both = self.make("both", [old, opaque], "--whiteouts")
        self.assertEqual(self.names(both), {"x", "d", "d/only"})

    def test_several_images(self):
        old, new = self.first_and_second()
        second = self.make("second", [new], "-S14")
        both, wanted = self.make("both", [old, second]), self.make("wanted", [old, new])
        self.good(both)
        self.same_files(both, wanted)
        self.assertLess(stored_bytes(both), stored_bytes(old) + stored_bytes(second) + 100)
        self.assertEqual(len(self.info(both)["history"]), 3)
        same = self.make("same", [old, old, old])
        self.assertEqual(blocks_of(same), blocks_of(old))
        self.same_files(same, old)

    def snapshots(self):
        """A directory, an image of it, and one of this image and a second version of its file."""
        first = self.directory("first", v1=NOISE)
        second = self.directory("second", v2=NOISE[:100000] + b"new\n" + NOISE[100000:])
        sun = self.make("sun", [first])
        return first, sun, self.make("mon", [sun, second], "-W12")

    def test_equal_blocks_are_stored_once(self):
        first, sun, mon = self.snapshots()
        self.assertLess(os.path.getsize(mon), 1.1 * len(NOISE))  # v2 refers to the block of v1
        second = NOISE[:100000] + b"new\n" + NOISE[100000:]
        for inputs, words, names in (
                ([sun, mon], [], ["v1", "v2"]), ([mon, sun], [], ["v1", "v2"]),
                ([sun, mon], ["--on-conflict=rename"], None),
                ([mon, sun], ["--on-conflict=rename"], None),
                ([sun, mon], ["--on-conflict=first"], ["v1", "v2"]),
                ([mon, first], ["--base", sun], ["v1", "v2"]),
                ([sun, mon], ["--on-conflict=first", "--trust-digests"], ["v1", "v2"])):
            with self.subTest(inputs=inputs, words=words):
                made = [self.make("made", inputs, *words, f"-N{workers}") for workers in (1, 3)]
                self.good(made[0])
                self.assertEqual(sorted(block[HEADER:] for block in blocks_of(made[0])),
                                 sorted(block[HEADER:] for block in blocks_of(mon)))
                self.assertEqual(self.info(made[0])["unreferenced_block_bytes"], 0)
                self.assertEqual(blocks_of(made[1]), blocks_of(made[0]))
                if names:
                    self.assertEqual(self.names(made[0]), set(names))
                for name in self.names(made[0]):
                    self.assertEqual(run("DWARFSCK", "--cat", name, made[0]).raw,
                                     second if name == "v2" else NOISE)

    def test_blocks_of_equal_size_that_differ(self):
        other = NOISE[:29999] + bytes([NOISE[29999] ^ 1])
        images = [self.make(name, [self.directory(f"{name}-in", **{name: data})], "-C", "null")
                  for name, data in (("x", NOISE[:30000]), ("y", other))]
        self.assertEqual(*(list(map(len, blocks_of(image))) for image in images))
        for words in ([], ["--trust-digests"]):
            both = self.make("both", images, *words)
            self.good(both)
            self.assertEqual([block[HEADER:] for block in blocks_of(both)], [NOISE[:30000], other])
            self.assertEqual(run("DWARFSCK", "--cat", "y", both).raw, other)

    def test_a_damaged_block_is_refused_where_an_equal_one_was(self):
        _, sun, mon = self.snapshots()
        data = bytearray(read(mon))
        data[HEADER + 5000] ^= 1
        damaged = self.write("damaged", data)
        self.refuse([sun, damaged], says="section 0 (BLOCK)")
        self.refuse([damaged, sun], "--dry-run", says="section 0 (BLOCK)")

    def test_unused_parts_of_equal_blocks(self):
        tree = self.directory("tree", a=NOISE[:20000], b=NOISE[20000:40000])
        old = self.make("old", [tree], "-S16", "--order=path")
        parts = [self.make(name, [old], "-F", f"- {name}") for name in "ab"]
        for percent in ("100", "40"):
            new = self.make("new", parts, f"--max-unused={percent}")
            self.good(new)
            self.assertEqual(blocks_of(new), blocks_of(old))
            self.assertEqual(self.info(new)["unreferenced_block_bytes"], 0)

    def test_later_inputs_win(self):
        one = self.make("one", [self.directory("a", x=b"old", d_y=b"in d", z=b"stays")])
        two = self.make("two", [self.directory("b", x_inside=b"a directory now", d=b"a file now")])
        both = self.make("both", [one, two])
        self.good(both)
        self.assertEqual(self.names(both), {"x", "x/inside", "d", "z"})
        self.assertEqual(run("DWARFSCK", "--cat", "d", both).raw, b"a file now")
        self.assertEqual(self.names(self.make("both", [two, one])), {"x", "d", "d/y", "z"})

    def test_block_sizes(self):
        old, new = self.first_and_second()
        images = {bits: self.make(f"{bits}", [new], f"-S{bits}") for bits in (12, 16, 20)}
        for first, second in itertools.permutations(images, 2):
            both = self.make("both", [images[first], images[second]], "-S12")
            self.good(both)
            self.assertEqual(self.info(both)["block_size"], 1 << max(first, second))
            self.same_files(both, images[first])
        every = self.make("every", [old, *images.values()], "-S18")
        self.good(every)
        self.assertEqual(self.info(every)["block_size"], 1 << 20)
        self.assertEqual(self.info(self.make("one", [old], "-S22"))["block_size"], 1 << 22)

    def test_prefix(self):
        old, new = self.first_and_second()
        for words, top in ((["--prefix=a/b"], "a/b/"), (["--prefix=/a//b/"], "a/b/")):
            both = self.make("both", [old, new], *words)
            self.good(both)
            below = {name[len(top):] for name in self.names(both) if name.startswith(top)}
            self.assertEqual(below, self.names(self.make("wanted", [old, new])))

    def test_repack(self):
        old, new = self.first_and_second()
        small = self.make("small", [new], "-S10", "-l0")
        kept, packed = self.make("kept", [old, small]), self.make("packed", [old, small],
                                                                  "--repack", "-S16")
        self.good(packed)
        self.same_files(kept, packed)
        self.assertLess(len(blocks_of(packed)), len(blocks_of(kept)))
        self.assertEqual(self.info(packed)["block_size"], 1 << 16)

    def test_times_in_nanoseconds(self):
        fine = tap.data("images", "v0.15.3", "nanoseconds.dwarfs")
        minutes = tap.data("images", "v0.15.3", "minutes.dwarfs")
        _, new = self.first_and_second()
        for inputs in ([fine, new], [new, fine], [minutes, fine], [fine, minutes]):
            both = self.make("both", inputs)
            self.assertEqual(self.info(both)["time_resolution_ns"], 1)
        both = self.make("both", [new, fine], "--prefix=p")
        root = self.make("root", [fine], "--prefix=p")
        before, after = self.listing(root), self.listing(both)
        for name, words in before.items():
            if name != "p":
                self.assertEqual(after[name], words)
        coarse = self.make("coarse", [fine, new], "--time-resolution=1m")
        self.assertEqual(self.info(coarse)["time_resolution_ns"], 60 * 10**9)

    def test_times_of_different_resolutions(self):
        def image(name, time, resolution):
            os.utime(self.directory(name, **{name: b"x"}) + f"/{name}", ns=(0, time))
            return self.make(name + ".dwarfs", [self.path(name)], "--time-resolution", resolution)

        def expect(inputs, resolution, **times):
            both = self.make("both", inputs)
            self.assertEqual(self.info(both)["time_resolution_ns"], resolution)
            target = self.path("out", str(len(os.listdir(self.path("out")))))
            os.mkdir(target)
            self.expect(run("DWARFSEXTRACT", "-i", both, "-o", target), 0)
            for name, time in times.items():
                self.assertEqual(os.stat(f"{target}/{name}").st_mtime_ns, time)

        second = 10**9
        os.mkdir(self.path("out"))
        two, three = image("two", 2 * second, "2s"), image("three", 3 * second, "3s")
        fifth = image("fifth", second // 5, "200ms")
        half = image("half", second // 2, "500ms")
        day = image("day", 86400 * second, "1d")
        expect([three, two], second, two=2 * second, three=3 * second)
        expect([half, fifth], second // 10, fifth=second // 5, half=second // 2)
        expect([day, half], second // 2, day=86400 * second, half=second // 2)
        expect([day], 86400 * second, day=86400 * second)
        expect([self.path("two"), day], second, two=2 * second, day=86400 * second)
        expect([day, self.path("two")], second, two=2 * second, day=86400 * second)

    def test_hollow(self):
        old, new = self.first_and_second()
        both = self.make("both", [old, new], "--hollow")
        self.assertEqual(blocks_of(both), [])
        for name, size in (("x", 90000), ("y", 50000), ("d/same", 60000)):
            self.assertEqual(run("DWARFSCK", "--cat", name, both).raw, bytes(size))

    def test_hard_links_of_older_formats(self):
        """Equal files share an inode there: all with the same attributes are linked."""
        for words in ["--rebuild-metadata"], ["--repack"], []:
            made = self.make("made", [tap.data("images", "compat-v0.4.1.dwarfs")], *words)
            out = self.path("out")
            self.expect(run("DWARFSEXTRACT", "-i", made, "-o", out), 0)
            self.assertTrue(os.path.samefile(out + "/bench.sh", out + "/foo/bla.sh"))
            self.assertEqual([os.stat(os.path.join(out, name)).st_nlink for name in
                              ("bench.sh", "foo/bla.sh", "foo/1/2/3/x", "format.sh")],
                             [3, 3, 1, 3])
            shutil.rmtree(out)

    def test_files_of_the_test_data(self):
        """Any two images of other writers, and then one of them again; each comes first and second."""
        names = ("catdata.dwarfs", "compat-v0.2.0.dwarfs", "compat-v0.5.6.dwarfs",
                 "v0.15.3/default.dwarfs", "v0.15.3/hollow.dwarfs", "v0.15.3/categorize.dwarfs")
        paths = [tap.data("images", name) for name in names]
        pairs = [(paths[number], paths[number - step]) for step in (1, 2, 3)
                 for number in range(3 if step == 3 else 6)]
        for first, second in pairs:
            if absent.can_read(first) and absent.can_read(second):
                both = self.make("both", [first, second])
                again = self.make("again", [both, second])
                self.good(both)
                self.same_files(both, again)
                self.assertEqual(blocks_of(both), blocks_of(again))
                self.assertLessEqual(self.names(second), self.names(both))


class Attributes(Images):
    """The section of extended attributes."""

    def archive_with_numbers(self):
        """Files with a number each: six digits, of which zstd packs four in three bytes."""
        out = io.BytesIO()
        digits = random.Random(1)
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for number in range(1500):
                info = tarfile.TarInfo(f"{number:04d}")
                info.pax_headers = {"SCHILY.xattr.user.id": f"{digits.getrandbits(24):016x}"}
                archive.addfile(info)
        return self.write("numbers.tar", out.getvalue())

    def codec(self, image):
        self.intact(image)
        return next(section["compression"] for section in self.info(image)["sections"]
                    if section["type"] == "XATTRS")

    def test_denser_codec(self):
        absent.need("archive", "zstd", "lzma")
        archive = self.archive_with_numbers()
        zstd = "--metadata-compression=zstd:level=22"
        by_zstd = self.make("zstd", [archive], zstd)
        by_lzma = self.make("lzma", [archive], "-l7")
        again = self.make("again", [by_zstd], "-l7", "--recompress=metadata")
        self.assertEqual([self.codec(image) for image in (by_zstd, by_lzma, again)],
                         ["ZSTD", "LZMA", "LZMA"])
        self.same_files(by_zstd, again)
        self.same_files(by_zstd, by_lzma)


class Kept(Images):
    """What an image has that directories rarely have."""

    def rich_archive(self):
        """Hard links, extended attributes, devices, holes."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            def add(name, data=b"", kind=tarfile.REGTYPE, **more):
                info = tarfile.TarInfo(name)
                info.size, info.type, info.mtime = len(data), kind, 1600000000
                info.pax_headers = more.pop("pax", {})
                for key, value in more.items():
                    setattr(info, key, value)
                archive.addfile(info, io.BytesIO(data))

            add("file", NOISE[:30000], pax={"SCHILY.xattr.user.one": "1",
                                            "SCHILY.xattr.user.two": "2" * 500})
            add("d", kind=tarfile.DIRTYPE, mode=0o755, pax={"SCHILY.xattr.user.one": "3"})
            add("d/hard", kind=tarfile.LNKTYPE, linkname="file")
            add("link", kind=tarfile.SYMTYPE, linkname="d/hard")
            add("char", kind=tarfile.CHRTYPE, devmajor=5, devminor=300)
            add("block", kind=tarfile.BLKTYPE, devmajor=3000, devminor=1)
            add("fifo", kind=tarfile.FIFOTYPE)
        return self.write("rich.tar", out.getvalue())

    def setUp(self):
        super().setUp()
        absent.need("archive")
        holes = self.path("holes")
        os.mkdir(holes)
        with open(self.path("holes", "sparse"), "wb") as out:
            out.truncate(3000000)
            for at in (8192, 1048576):
                out.seek(at)
                out.write(NOISE[:9000])
        self.image = self.make("image", [self.rich_archive(), holes], "-S14", "--with-devices",
                               "--with-specials")
        self.before = self.info(self.image)
        self.assertEqual(sorted(self.before["xattr_names"]), ["user.one", "user.two"])

    def kept(self, new):
        self.same_files(self.image, new)
        info = self.info(new)
        self.assertEqual(info["xattr_names"], self.before["xattr_names"])
        self.assertEqual(info["hardlink_size"], self.before["hardlink_size"])
        self.assertEqual(info["inodes_by_type"], self.before["inodes_by_type"])
        self.assertEqual("sparsefiles" in info["features"],
                         "sparsefiles" in self.before["features"])
        self.intact(new)

    def test_alone(self):
        for words in ([], ["--repack"], ["--recompress"], ["--recompress=none"],
                      ["--recompress=block"], ["--recompress=metadata"], ["--rebuild-metadata"],
                      ["--change-block-size", "-S12"], ["--change-block-size", "-S20"]):
            with self.subTest(words=words):
                self.kept(self.make("new", [self.image], *words))

    def test_without_attributes(self):
        for words in (["--rebuild-metadata", "--no-xattrs"], ["--no-xattrs"]):
            new = self.make("new", [self.image], *words)
            self.assertEqual(self.info(new)["xattr_names"], [])
            self.expect(run("DWARFSCK", "--diff", self.image, new, "--diff-ignore=xattr"), 0)

    def test_in_a_merge(self):
        both = self.make("both", [self.image, self.directory("more", new_y=NOISE[:70000])])
        self.good(both)
        result = run("DWARFSCK", "--diff", self.image, both, "--diff-ignore=only-b,mtime")
        self.assertEqual(result.out, "")
        self.assertEqual(self.info(both)["hardlink_size"], self.before["hardlink_size"])
        twice = self.make("twice", [self.image, both])
        self.same_files(both, twice)


class Conflicts(Images):
    def setUp(self):
        super().setUp()
        self.first = self.directory("first", x=b"one", f=b"file", d_a=b"A")
        self.second = self.directory("second", x=b"two", d_b=b"B")
        os.rename(self.directory("more", **{"x.2": b"three"}) + "/x.2", self.second + "/x.2")
        self.forms = [self.second, self.make("second.dwarfs", [self.second]), self.archive()]

    def archive(self):
        path = self.path("second.tar")
        with tarfile.open(path, "w") as archive:
            archive.add(self.second, ".")
        return path

    def contents(self, image):
        return {name: run("DWARFSCK", "--cat", name, image).raw
                for name in self.names(image) - {"d"}}

    def merge(self, way, second):
        words = [] if way is None else ["--on-conflict", way]
        return self.contents(self.make("merged", [self.first, second], *words))

    def test_ways(self):
        rest = {"f": b"file", "d/a": b"A", "d/b": b"B"}
        for second in self.forms:
            with self.subTest(second=second):
                self.assertEqual(self.merge(None, second),
                                 {**rest, "x": b"two", "x.2": b"three"})
                self.assertEqual(self.merge("last", second), self.merge(None, second))
                self.assertEqual(self.merge("first", second),
                                 {**rest, "x": b"one", "x.2": b"three"})
                self.refuse([self.first, second], "--on-conflict=error", says="'x'")

    def test_a_name_without_room_for_a_number(self):
        for name in (self.first, self.second):
            self.write(os.path.join(name, "n" * 255), name.encode())
        for second in (self.second, self.make("long.dwarfs", [self.second])):
            self.refuse([self.first, second], "--on-conflict=rename", says="too long for a number")
            self.make("merged", [self.first, second], "--on-conflict=first")

    def test_attributes_of_directories(self):
        for path, mode in ((self.first + "/d", 0o700), (self.first, 0o711),
                           (self.second + "/d", 0o750), (self.second, 0o755)):
            os.chmod(path, mode)
        image = self.make("second.dwarfs", [self.second])
        for second in (self.second, image, self.archive()):
            for way, mode in (("first", "drwx------"), ("last", "drwxr-x---")):
                with self.subTest(second=second, way=way):
                    merged = self.make("merged", [self.first, second], "--on-conflict", way)
                    self.assertEqual(self.listing(merged)["d"][0], mode)

    def test_directories_that_no_input_lists(self):
        image = self.make("only.dwarfs", [self.second], "--prefix=d/below")
        os.chmod(self.second, 0o700)
        listed = self.make("listed.dwarfs", [self.second], "--prefix=d")
        merged = self.make("merged", [image, listed], "--on-conflict=first")
        self.assertEqual(self.listing(merged)["d/below"][0], "drwxr-xr-x")

    def test_a_renamed_entry_is_not_replaced(self):
        for second in self.forms:
            with self.subTest(second=second):
                found = self.merge("rename", second)
                self.assertEqual(found.pop("x"), b"one")
                self.assertEqual(sorted(found[name] for name in found if name.startswith("x")),
                                 [b"three", b"two"])

    def test_a_directory_and_a_file(self):
        os.remove(self.second + "/x")
        os.makedirs(self.second + "/f/below")
        for second in (self.second, self.make("again.dwarfs", [self.second]), self.archive()):
            with self.subTest(second=second):
                self.assertEqual(self.merge("first", second)["f"], b"file")
                self.refuse([self.first, second], "--on-conflict=rename", says="'f'")

    def test_a_file_and_a_directory(self):
        """The directory stays unless the file replaces it, which a warning tells."""
        rest = {"f": b"file", "x": b"one", "d/a": b"A"}
        os.makedirs(self.path("third"))
        self.write(self.path("third") + "/d", b"third")
        with tarfile.open(self.path("third.tar"), "w") as archive:
            archive.add(self.path("third"), ".")
        thirds = [self.path("third"), self.make("third.dwarfs", [self.path("third")]),
                  self.path("third.tar")]
        warning = "'d': replaces a directory with 1 entry"
        for third, (way, kept) in itertools.product(thirds, (
                ("last", {"f": b"file", "x": b"one", "d": b"third"}), ("first", rest),
                ("rename", {**rest, "d.2": b"third"}))):
            with self.subTest(third=third, way=way):
                result = run("MKDWARFS", "-i", self.first, "-i", third, "-o", self.path("made"),
                             "-f", "--on-conflict", way, *rewritten.QUIET)
                self.expect(result, 0)
                self.assertEqual(warning in result.err, way == "last", result.err)
                names = self.names(self.path("made")) - {"d"} | set(kept) & {"d"}
                self.assertEqual({name: run("DWARFSCK", "--cat", name, self.path("made")).raw
                                  for name in names}, kept)

    def archive_of(self, name, *entries):
        """Pairs of a name and contents, or the target of a hard link as a string."""
        with tarfile.open(self.path(name), "w") as archive:
            for path, contents in entries:
                entry = tarfile.TarInfo(path)
                if isinstance(contents, str):
                    entry.type, entry.linkname = tarfile.LNKTYPE, contents
                    archive.addfile(entry)
                else:
                    entry.size, entry.mtime, entry.uid = len(contents), 1000, 77
                    archive.addfile(entry, io.BytesIO(contents))
        return self.path(name)

    def hard_links(self):
        """A directory, an image and archives: f and its hard links g, h."""
        tree = self.directory("links", f=b"own")
        os.link(tree + "/f", tree + "/g")
        os.link(tree + "/f", tree + "/h")
        return [tree, self.make("links.dwarfs", [tree]),
                self.archive_of("links.tar", ("f", b"own"), ("g", "f"), ("h", "g")),
                self.archive_of("late.tar", ("h", "g"), ("g", "f"), ("f", b"own"))]

    def test_hard_links_mean_files_of_their_own_input(self):
        earlier = {name: b"file" if name == "f" else text
                   for name, text in self.contents(self.make("one", [self.first])).items()}
        firsts = [self.first, self.make("first.dwarfs", [self.first]),
                  self.archive_of("first.tar", *earlier.items())]
        for first, second, way in itertools.product(firsts, self.hard_links(),
                                                    ("first", "rename")):
            with self.subTest(first=first, second=second, way=way):
                images = [self.make("merged", [first, second], "--on-conflict", way, f"-N{n}")
                          for n in (1, 3)]
                own = {"f.2", "g", "h"} if way == "rename" else {"g", "h"}
                self.assertEqual(self.contents(images[0]),
                                 {**earlier, **{name: b"own" for name in own}})
                self.assertEqual(read(images[0]), read(images[1]))
                out = self.path("out")
                self.expect(run("DWARFSEXTRACT", "-i", images[0], "-o", out), 0)
                self.assertEqual({os.stat(os.path.join(out, name)).st_nlink for name in own},
                                 {len(own)})
                shutil.rmtree(out)

    def test_hard_links_before_their_targets(self):
        """They refer to the file of the same archive, not to an earlier or later input."""
        late = self.archive_of("late.tar", ("h", "g"), ("g", "f"), ("f", b"own"))
        other = self.archive_of("other.tar", ("f", b"other"))
        for first in self.first, self.make("first.dwarfs", [self.first]):
            rest = {"x": b"one", "d/a": b"A", "g": b"own", "h": b"own"}
            for inputs, text in ([first, late], b"own"), ([first, late, other], b"other"):
                merged = self.make("merged", inputs)
                self.assertEqual(self.contents(merged), {**rest, "f": text})
                out = self.path("out")
                self.expect(run("DWARFSEXTRACT", "-i", merged, "-o", out), 0)
                self.assertTrue(os.path.samefile(out + "/g", out + "/h"))
                shutil.rmtree(out)

    def test_hard_links_to_what_the_layer_removes(self):
        layer = self.archive_of("layer.tar", ("g", "f"), (".wh.f", b""))
        merged = self.make("merged", [self.first, layer], "--whiteouts")
        self.assertEqual(self.contents(merged), {"x": b"one", "d/a": b"A", "g": b"file"})

    def test_names_that_an_archive_has_twice(self):
        twice = self.archive_of("twice.tar", ("f", b"1"), ("g", "f"), ("f", b"2"), ("f", b"3"))
        rest = {"x": b"one", "d/a": b"A", "g": b"1"}
        for way, files in (("last", {"f": b"3"}), ("first", {"f": b"file"}),
                           ("rename", {"f": b"file", "f.2": b"3"})):
            self.assertEqual(self.merge(way, twice), {**rest, **files})

    def test_hard_links_whose_names_are_in_conflict(self):
        second = self.archive_of("links.tar", ("f", b"own"), ("x", "f"), ("y", "x"))
        rest = {"f": b"file", "x": b"one", "d/a": b"A", "y": b"own"}
        self.assertEqual(self.merge("first", second), rest)
        self.assertEqual(self.merge("rename", second), {**rest, "f.2": b"own", "x.2": b"own"})
        merged = self.make("merged", [self.first, second], "--on-conflict=first")
        out = self.path("out")
        self.expect(run("DWARFSEXTRACT", "-i", merged, "-o", out), 0)
        self.assertEqual(os.stat(out + "/y").st_mtime, 1000)

    def test_names_around_one_that_is_left_out_stay_linked(self):
        first = self.directory("middle", g=b"other")
        for second in self.hard_links():
            with self.subTest(second=second):
                merged = self.make("merged", [first, second], "--on-conflict=first")
                self.assertEqual(self.contents(merged),
                                 {"f": b"own", "g": b"other", "h": b"own"})
                self.expect(run("DWARFSEXTRACT", "-i", merged, "-o", self.path("out")), 0)
                self.assertTrue(os.path.samefile(self.path("out/f"), self.path("out/h")))
                shutil.rmtree(self.path("out"))

    def test_hard_links_below_a_prefix(self):
        below = self.directory("below", d_f=b"file", x=b"one")
        second = self.archive_of("links.tar", ("f", b"own"), ("g", "f"))
        self.make("prefixed", [self.archive_of("one.tar", ("f", b"file")), second],
                  "--prefix=a/b", "--on-conflict=rename")
        self.assertEqual(run("DWARFSCK", "--cat", "a/b/g", self.path("prefixed")).raw, b"own")
        merged = self.make("merged", [below, self.archive_of("d.tar", ("d/f", b"own"),
                                                            ("d/g", "d/f"))],
                           "--on-conflict=first")
        self.assertEqual(run("DWARFSCK", "--cat", "d/g", merged).raw, b"own")

    def test_hard_links_to_files_that_no_image_has(self):
        second = self.archive_of("links.tar", ("x/f", b"own"), ("z", "x/f"), ("y", "z"))
        self.assertEqual(self.merge("first", second),
                         {"x": b"one", "f": b"file", "d/a": b"A", "z": b"own", "y": b"own"})
        gone = self.archive_of("gone.tar", ("f", b"own"), ("y", "gone"))
        self.refuse([self.first, gone], "--on-conflict=first", says="missing")

    def test_hard_links_to_earlier_inputs(self):
        second = self.archive_of("links.tar", ("y", "x"), ("f", b"own"), ("z", "d/a"))
        third = self.archive_of("more.tar", ("f3", "f"), ("x", "y"))
        for way, f in (("first", b"file"), ("last", b"own")):
            merged = self.make("merged", [self.first, second, third], "--on-conflict", way)
            self.assertEqual(self.contents(merged),
                             {"x": b"one", "y": b"one", "z": b"A", "d/a": b"A", "f": f, "f3": f})

    def test_filters_apply_after_conflicts(self):
        for name in (self.first, self.second):
            self.write(os.path.join(name, "excluded"), name.encode())
        rule = ("-F", "- excluded")
        merged = self.make("merged", [self.first, self.second], "--on-conflict=rename", *rule)
        self.assertIn("excluded.2", self.names(merged))
        self.refuse([self.first, self.second], "--on-conflict=error", *rule, says="'excluded'")
        os.remove(self.second + "/excluded")
        os.mkfifo(self.second + "/excluded")
        merged = self.make("merged", [self.first, self.second])
        self.assertNotIn("excluded", self.names(merged))

    def test_bad_value(self):
        self.refuse([self.first], "--on-conflict=never", says="--on-conflict")


class Bases(Images):
    def setUp(self):
        super().setUp()
        self.tree = self.directory("tree", same=NOISE[:60000], changed=NOISE[60000:90000],
                                   gone=b"gone", d_moved=NOISE[90000:120000])
        self.base = self.make("base", [self.tree])

    def change(self):
        os.remove(self.tree + "/gone")
        os.rename(self.tree + "/d/moved", self.tree + "/there")
        self.directory("tree", changed=NOISE[120000:150000])
        os.utime(self.tree + "/changed", (1, 1))

    def test_a_snapshot(self):
        self.change()
        for trust in ("times", "none"):
            with self.subTest(trust=trust):
                new = self.make("new", [self.tree], "--base", self.base, "--base-trust", trust)
                self.good(new)
                self.same_files(self.make("plain", [self.tree]), new)
                self.assertEqual(read(new)[:stored_bytes(self.base)],
                                 read(self.base)[:stored_bytes(self.base)])
                self.assertLess(stored_bytes(new), stored_bytes(self.base) + 32000)
                self.assertEqual(len(self.info(new)["history"]), 1)

    def age(self):
        """Of files that are older than the base."""
        for name in ("same", "changed", "gone", "d/moved"):
            os.utime(os.path.join(self.tree, name), (1000, 1000))
        self.base = self.path("base")
        self.expect(run("MKDWARFS", "-i", self.tree, "-o", self.base, "-f", "-l1",
                        "--no-progress"), 0)

    def test_a_rebuilt_base_is_not_newer_than_its_data(self):
        base, tree = self.path("base"), self.directory("twice", f=b"AAAA\n")
        self.expect(run("MKDWARFS", "-i", tree, "-o", base, "-l1", "-f", "--no-progress"), 0)
        times = os.stat(tree + "/f")
        self.directory("twice", f=b"BBBB\n")
        os.utime(tree + "/f", ns=(times.st_atime_ns, times.st_mtime_ns))
        for words in (["--rebuild-metadata"], ["--repack"], ["--change-block-size"],
                      ["--rebuild-metadata", "--time-resolution=10s"],
                      ["--rebuild-metadata", "--no-metadata-version-history"]):
            with self.subTest(words=words):
                new = self.path("rebuilt")
                self.expect(run("MKDWARFS", "-i", base, "-o", new, "-l1", "-f", "--no-progress",
                                *words), 0)
                self.assertEqual(self.info(new)["created_on"], self.info(base)["created_on"])
                snapshot = self.make("snapshot", [tree], "--base", new)
                self.assertEqual(run("DWARFSCK", "--cat", "f", snapshot).raw, b"BBBB\n")

    def test_files_of_equal_time_are_not_read(self):
        self.age()
        self.directory("tree", same=NOISE[1:60001])
        os.utime(self.tree + "/same", (1000, 1000))
        for trust, contents in (("times", NOISE[:60000]), ("none", NOISE[1:60001])):
            new = self.make("new", [self.tree], "--base", self.base, "--base-trust", trust)
            self.assertEqual(run("DWARFSCK", "--cat", "same", new).raw, contents)

    def test_files_of_equal_time_are_not_opened(self):
        self.age()
        self.directory("tree", new=b"new\n")
        files = {name: self.path("tree", name) for name in ("same", "d/moved", "new")}
        for trust, opened in (("times", {"new"}), ("none", set(files))):
            with OpenedFiles(files) as found:
                self.make("made", [self.tree], "--base", self.base, "--base-trust", trust)
            self.assertEqual(found.names, opened, trust)

    def test_change_times_are_compared_if_they_are_stored(self):
        os.utime(self.tree + "/same", (1000, 1000))
        self.expect(run("MKDWARFS", "-i", self.tree, "-o", self.base, "-f", "-l1",
                        "--no-progress", "--keep-all-times"), 0)
        self.directory("tree", same=NOISE[1:60001])
        os.utime(self.tree + "/same", (1000, 1000))
        for words, contents in (["--keep-all-times"], NOISE[1:60001]), ([], NOISE[:60000]):
            new = self.make("new", [self.tree], "--base", self.base, *words)
            self.assertEqual(run("DWARFSCK", "--cat", "same", new).raw, contents)

    def test_files_that_changed_while_the_base_was_made_are_read(self):
        soon = time.time() + 60
        for step in ("1s", "1h"):
            os.utime(self.tree + "/same", (soon, soon))
            base = self.path("dated")
            self.expect(run("MKDWARFS", "-i", self.tree, "-o", base, "-f", "-l1",
                            "--no-progress", "--time-resolution", step), 0)
            self.directory("tree", same=NOISE[1:60001])
            os.utime(self.tree + "/same", (soon, soon))
            new = self.make("new", [self.tree], "--base", base)
            self.assertEqual(run("DWARFSCK", "--cat", "same", new).raw, NOISE[1:60001])
            self.directory("tree", same=NOISE[:60000])

    def test_several(self):
        other = self.make("other.dwarfs", [self.directory("other", o=NOISE[150000:])])
        self.directory("tree", o=NOISE[150000:])
        new = self.make("new", [self.tree], "--base", self.base, "--base", other)
        self.good(new)
        self.assertEqual(sorted(block[HEADER:] for block in blocks_of(new)),
                         sorted(block[HEADER:] for image in (self.base, other)
                                for block in blocks_of(image)))

    def test_hollow(self):
        new = self.make("new", [self.tree], "--base", self.base, "--hollow")
        self.assertEqual(blocks_of(new), [])
        self.assertEqual(run("DWARFSCK", "--cat", "same", new).raw, bytes(60000))

    def test_links_and_holes(self):
        os.link(self.tree + "/same", self.tree + "/linked")
        os.symlink("same", self.tree + "/symlink")
        with open(self.tree + "/sparse", "wb") as file:
            file.truncate(1 << 20)
            file.write(b"begin")
        base = self.make("base", [self.tree])
        new = self.make("new", [self.tree], "--base", base)
        self.good(new)
        self.same_files(base, new)

    def test_output_is_the_base(self):
        self.change()
        expected = self.sums(self.make("plain", [self.tree]))
        self.assertEqual(self.sums(self.make("base", [self.tree], "--base", self.base)), expected)

    def test_bad_values(self):
        self.refuse([self.tree], "--base", self.path("none"), says="none")
        self.refuse([self.tree], "--base", self.base, "--base-trust=size", says="--base-trust")


class Digests(Images):
    """The section with digests of files."""

    def has_section(self, image):
        return DIGESTS in [kind for kind, _ in sections_of(image)]

    def decompressed(self):
        """Bytes that the last run decompressed of images."""
        return int(re.search(r"decompressed (\d+) bytes of images", self.result.err)[1])

    def test_when_it_is_stored(self):
        large = self.directory("large", x=NOISE)
        small = self.directory("small", **{f"f{i}": b"%d" % i for i in range(300)})
        for source, words, stored in ((large, [], True), (large, ["--digests=never"], False),
                                      (small, [], False), (small, ["--digests=auto"], False),
                                      (small, ["--digests=always"], True)):
            image = self.make("image", [source], *words)
            self.assertEqual(self.has_section(image), stored, (source, words))
            self.good(image)
        self.refuse([large], "--digests=sometimes", says="use auto, always or never")

    def with_equal_text(self):
        """An image and a directory that have the same file, compressed."""
        text = b"".join(b"line %d of a text\n" % number for number in range(3000))
        old = self.make("old", [self.directory("a", same=text, x=NOISE[:90000])], "-S14")
        return old, self.directory("b", equal=text, y=NOISE[90000:]), len(text)

    def test_equal_files_are_read_unless_digests_are_trusted(self):
        old, new, size = self.with_equal_text()
        images = []
        for words, least, most in (([], size, size + 2 * 16384), (["--trust-digests"], 0, 0)):
            images.append(self.make(f"both{len(images)}", [old, new], "-W0", *words,
                                    "--log-level=verbose"))
            self.assertTrue(least <= self.decompressed() <= most, (words, self.decompressed()))
            self.good(images[-1])
        self.assertEqual(*map(self.sums, images))
        self.assertEqual(*map(stored_bytes, images))

    def test_blocks_of_many_images_are_decompressed_once(self):
        """They do not fit into the cache together, and files have parts all over them."""
        words = ["-S22", "-W12", "-C", "lzma:level=0:block_size=20", "--order=none"]
        rest = bytes(range(32, 127)) + b"\n"  # makes lines fast to pack, though each is another
        texts = [b"".join(b"%012x" % RNG.getrandbits(48) + rest for _ in range(640))
                 for _ in range(200)]
        for number in range(100):
            texts[number + 100] += texts[number][:30000]
        tree = self.directory("tree", **{f"{number:03}": text for number, text in enumerate(texts)})
        images = [self.make("0.dwarfs", [tree], *words, "--digests=always")]
        for name in "12":  # images with the same blocks, whose files have other names
            images.append(self.make(name + ".dwarfs", images[:1], "--prefix", name,
                                    "--digests=always"))
        for when in "always", "never":
            if when == "never":
                images = [self.make(os.path.basename(image) + ".bare", [image],
                                    "--rebuild-metadata", "--digests=never") for image in images]
                self.assertFalse(any(map(self.has_section, images)))
            total = sum(self.info(image, "-d2")["uncompressed_block_size"] for image in images)
            self.make("all", images, "-N1", "--log-level=verbose")
            self.assertGreater(total, 40 << 20)
            self.assertLessEqual(self.decompressed(), total, when)

    def test_blocks_that_new_data_is_compared_with_are_decompressed_once(self):
        """Many blocks are needed by turns: they are in a temporary file. Without one, the cache lacks
        some of them, which are decompressed again."""
        absent.need("zstd")
        source, few, size = random.Random(1), bytes(range(64)) * 4, 36 << 20
        old = source.randbytes(size).translate(few)
        tree = self.directory("tree", old=old)
        image = self.make("old", [tree], "-S22", "-W0", "-C", "zstd:level=1")
        new = b"".join(old[at:at + 10000] + source.randbytes(100)
                       for at in (source.randrange(size - 10000) for _ in range(220)))
        more = self.directory("more", new=new)
        expected = self.sums(self.make("plain", [tree, more], "-C", "null"))
        stored, decompressed = [], []
        for words in ([], ["--spool-dir", self.path("missing")]):
            both = self.make("both", [image, more], "-W12", "--log-level=verbose", *words)
            self.good(both)
            self.assertEqual(self.sums(both), expected)
            stored.append(stored_bytes(both) - stored_bytes(image))
            decompressed.append(self.decompressed())
        self.assertLessEqual(decompressed[0], 2 * size)
        self.assertGreater(decompressed[1], 3 * size)
        self.assertLess(stored[0], len(new) / 5)
        self.assertGreaterEqual(stored[1], stored[0])

    def test_without_the_section_trust_changes_nothing(self):
        old, new, size = self.with_equal_text()
        bare = self.make("bare", [old], "--rebuild-metadata", "--digests=never")
        self.assertFalse(self.has_section(bare))
        both = self.make("both", [bare, new], "-W0", "--trust-digests", "--log-level=verbose")
        self.assertGreaterEqual(self.decompressed(), size)
        self.good(both)


class Unused(Images):
    def test_blocks_that_are_mostly_unused(self):
        tree = self.directory("tree", a=NOISE[:20000], b=NOISE[20000:40000],
                              c=NOISE[40000:60000], d=NOISE[60000:80000])
        old = self.make("old", [tree], "-S16", "--order=path")
        os.remove(tree + "/b")
        os.remove(tree + "/c")
        expected = self.sums(self.make("plain", [tree]))
        sizes = []
        for percent in ("100", "90", "50", "0"):
            new = self.make("new", [old], "-F", "- b", "-F", "- c", "--max-unused", percent)
            self.good(new)
            self.assertEqual(self.sums(new), expected)
            sizes.append(stored_bytes(new))
        self.assertEqual(sizes[0], stored_bytes(old))
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertLess(sizes[-1], 42000)

    def test_dwarfsck_shows_what_is_unreferenced(self):
        tree = self.directory("tree", a=NOISE[:20000], b=NOISE[20000:40000])
        old = self.make("old", [tree], "-S16", "--order=path")
        new = self.make("new", [old], "-F", "- b")
        for image, unused in ((old, 0), (new, 20000)):
            info = self.info(image)
            self.assertEqual(info["unreferenced_block_bytes"], unused)
            self.assertEqual([section.get("unreferenced_bytes") for section in info["sections"]
                              if section["type"] == "BLOCK"], [unused])
            text = self.expect(run("DWARFSCK", image), 0).out
            self.assertIn(f"({unused} bytes, {unused / 400:.2f}%)", text)
            self.assertNotIn("unreferenced=", text)
            text = self.expect(run("DWARFSCK", image, "-d3"), 0).out
            self.assertIn(f", unreferenced={unused} ", text)

    def test_nothing_is_unused(self):
        old, _ = self.first_and_second()
        new = self.make("new", [old], "--max-unused=0")
        self.assertEqual(blocks_of(new), blocks_of(old))

    def test_bad_value(self):
        old, _ = self.first_and_second()
        self.refuse([old], "--max-unused=101", says="--max-unused")


class Filter(Images):
    def test_entries_are_removed_with_their_blocks(self):
        old, _ = self.first_and_second()
        for words in ([], ["--rebuild-metadata"]):
            less = self.make("less", [old], "-F", "- /x", *words)
            self.good(less)
            self.assertEqual(self.names(less), {"d", "d/text", "d/same"})
            self.assertLess(len(blocks_of(less)), len(blocks_of(old)))
            self.assertEqual(run("DWARFSCK", "--cat", "d/same", less).raw, NOISE[90000:150000])
            self.assertTrue({block[64:] for block in blocks_of(less)} <=
                            {block[64:] for block in blocks_of(old)})

    def test_everything_is_removed(self):
        old, _ = self.first_and_second()
        none = self.make("none", [old], "-F", "- *", "-F", "- */")
        self.good(none)
        self.assertEqual(self.names(none), set())
        self.assertEqual(blocks_of(none), [])

    def test_a_tree_of_all_kinds(self):
        tree.make(self.path("all"), huge=False)
        old = self.make("old", [self.path("all")], "--with-devices", "--with-specials", "-S12")
        wanted = self.make("wanted", [self.path("all")], "--with-devices", "--with-specials", "-F",
                           "- *a*")
        less = self.make("less", [old], "-F", "- *a*")
        self.good(less)
        self.same_files(wanted, less)


if __name__ == "__main__":
    rewritten.cli.main()
