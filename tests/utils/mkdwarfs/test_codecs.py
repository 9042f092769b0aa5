#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Codec specifications, settings of one category, and the settings of levels."""
import lzma
import os
import random
import re
import struct
import unittest

import cli
from cli import run
import absent
import rich
import tap

QUIET = ["--no-history", "--no-create-timestamp", "--no-progress", "--log-level=warn"]
STORED_AS = {"lz4hc": "LZ4"}

# Each codec with each of its options, and the limits of their ranges.
WRITTEN = """
lz4 lz4hc lz4hc:level=0 lz4hc:level=12 lz4hc:3
zstd zstd:level=1 zstd:level=22 zstd:-5 zstd:5 zstd:level=1:long zstd:long:level=3 zstd:level=22:adapt
zstd:level=3:wlog=18:hlog=17:clog=16:slog=3:mml=4:tlen=16:strat=3
zstd:level=1:long:lhlog=16:lmml=32:lblog=3:lhrlog=6
lzma lzma:level=0 lzma:1 lzma:level=1:dict_size=12 lzma:level=1:dict_size=30
lzma:level=1:dict_size=16:extreme:binary=x86 lzma:level=0:binary=powerpc lzma:level=0:binary=ia64
lzma:level=0:binary=arm lzma:level=0:binary=armthumb lzma:level=0:binary=sparc
lzma:level=1:adapt lzma:level=3:nice=128:adapt:binary=auto lzma:level=1:mode=fast:mf=hc3:nice=273:depth=100 lzma:level=1:mode=normal:mf=bt2
lzma:level=1:mf=hc4 lzma:level=1:mf=bt3 lzma:level=1:mf=bt4:nice=64
lzma:level=1:block_size=12 lzma:level=1:block_size=30 lzma:level=1:block_size=17:binary=x86
lzma:level=1:check=none lzma:level=1:check=crc32:block_size=16 lzma:level=1:check=crc64
brotli:quality=0 brotli:quality=2:lgwin=10 brotli:quality=5:lgwin=24 brotli:quality=1:lgwin=30
brotli:3
""".split()

# Values just outside, unknown or repeated options, or those of another codec.
REFUSED = """
null:level=1 null: lz4:level=1 lz4:1 lz4hc:level=13 lz4hc:level=-1
zstd:level=23 zstd:level=x zstd:level= zstd:level zstd:long=1 zstd:adapt=1 zstd:quality=3
zstd:wlog=9 zstd:wlog=32 zstd:strat=10 zstd:strat=0 zstd:mml=2 zstd:mml=8 zstd:23 zstd:
lzma:level=10 lzma:level=-1 lzma:dict_size=11 lzma:dict_size=31 lzma:binary=mips lzma:binary=
lzma:extreme=1 lzma:mode=slow lzma:mf=bt5 lzma:nice=274 lzma:nice=-1 lzma:depth=x lzma:long
lzma:block_size=11 lzma:block_size=31 lzma:block_size=1m lzma:check=sha1 lzma:check= lzma:check=4
brotli:quality=12 brotli:quality=-1 brotli:lgwin=9 brotli:lgwin=31 brotli:level=3
""".split()

# Not tap.tool(), which may be a script that starts an emulator.
PROGRAM = os.path.join(os.environ["DWARFS_BUILD_ROOT"], "utils", "mkdwarfs")


def borders(rng, size):
    """Lines with a latitude, which decreases, and two longitudes, which often change."""
    lines, north, west, east = bytearray(), 8999, 1900, 2100
    while len(lines) < size:
        lines += b"\t%.2f\t%.2f\t%.2f\n" % (north / 100, west / 100, east / 100)
        north = (north or 9000) - 1
        west += rng.randint(-50, 50) * (rng.random() < 1 / 2)
        east += rng.randint(-50, 50) * (rng.random() < 1 / 2)
    return bytes(lines)


class Codecs(cli.Case):
    def pack(self, *words, code=0, tree=None):
        image = self.path("image.dwarfs")
        self.expect(run("MKDWARFS", "-i", tree or self.path("tree"), "-o", image, "-f", *QUIET,
                        *words), code)
        self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)
        return image

    def sections(self, image):
        return [section for section in self.info(image)["sections"]
                if section["type"] == "BLOCK"]

    def packed_size(self, *words, tree=None):
        return sum(section["compressed_size"]
                   for section in self.sections(self.pack(*words, tree=tree)))

    def digests(self, image):
        return run("DWARFSCK", "--checksum=sha256", image).out

    def bytes_of(self, image):
        with open(image, "rb") as file:
            return file.read()


class Options(Codecs):
    def setUp(self):
        super().setUp()
        rng = random.Random(6)
        words = [rng.randbytes(5).hex().encode() for _ in range(300)]
        self.write("tree/text", b" ".join(rng.choice(words) for _ in range(8000)))
        with open(PROGRAM, "rb") as program:
            self.write("tree/program", program.read()[:100000])
        self.write("tree/zeros", bytes(3000) + b"x")

    def test_each_as_written(self):
        wanted = self.digests(self.pack("-C", "null", "-l0"))
        self.assertTrue(wanted)
        for codec in WRITTEN:
            name = codec.split(":")[0]
            if name in absent.ABSENT:
                continue
            with self.subTest(codec=codec):
                image = self.pack("-C", codec, "-l1", "-S16")
                self.assertEqual({section["compression"] for section in self.sections(image)},
                                 {STORED_AS.get(name, name.upper())})
                self.assertEqual(self.digests(image), wanted)

    def test_each_for_the_metadata(self):
        for number in range(200):
            self.write(f"many/the file of number {number}", b"%d" % number)
        for codec in WRITTEN:
            name = codec.split(":")[0]
            if name in absent.ABSENT:
                continue
            image = self.pack("-l0", "--metadata-compression", codec, "--pack-metadata=none",
                              tree=self.path("many"))
            found = {section["type"]: section["compression"]
                     for section in self.info(image)["sections"]}
            self.assertEqual(found["METADATA_V2"], STORED_AS.get(name, name.upper()), codec)

    def test_refused(self):
        for codec in REFUSED:
            if codec.split(":")[0] in absent.ABSENT:
                continue
            with self.subTest(codec=codec):
                for words in (["-C", codec], ["--metadata-compression", codec],
                              ["-C", "incompressible::" + codec]):
                    self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"),
                                    *words), 1, codec)
                    self.assertFalse(os.path.exists(self.path("x")))

    def test_more_effort_makes_it_smaller(self):
        for low, high in (("lz4", "lz4hc:level=9"), ("lz4hc:level=1", "lz4hc:level=12"),
                          ("zstd:level=1", "zstd:level=19"), ("lzma:level=0", "lzma:level=9"),
                          ("lzma:level=9:dict_size=12", "lzma:level=9:dict_size=20"),
                          ("brotli:quality=0", "brotli:quality=9"),
                          ("brotli:quality=5:lgwin=10", "brotli:quality=5:lgwin=20")):
            if low.split(":")[0] in absent.ABSENT:
                continue
            self.assertLess(self.packed_size("-l1", "-C", high), self.packed_size("-l1", "-C", low),
                            (low, high))

    def test_a_long_window_reaches_the_whole_block(self):
        absent.need("zstd")
        noise = random.Random(7).randbytes(1500000)
        self.write("far/twice", noise + noise)
        words = ["-l1", "-W0", "-S22"]
        far = self.path("far")
        self.assertGreater(self.packed_size(*words, "-C", "zstd:level=1:wlog=18", tree=far),
                           2900000)
        self.assertLess(self.packed_size(*words, "-C", "zstd:level=1:long", tree=far), 1600000)

    def payloads(self, image):
        with open(image, "rb") as file:
            for section in self.sections(image):
                file.seek(section["offset"] + 64)
                yield section["compression"], file.read(section["compressed_size"])

    def test_what_gets_very_small_is_stored_in_parts(self):
        absent.need("lzma")
        absent.need("zstd")
        lines = b"".join(b"%010d  GET /a/page/of/some/length/%d HTTP/1.1  200  %d bytes\n"
                         % (i, i % 7, i % 3) * 100 for i in range(400))
        for level, part in (("6", 2 << 20), ("7", 2 << 20), ("9", 8 << 20)):
            if level == "9":
                lines = (lines * (part // len(lines) + 2))[:part + 100000]
            self.assertGreater(len(lines), part)
            self.write("logs/log", lines)
            [(name, payload)] = self.payloads(self.pack("-l", level, "-W0",
                                                        tree=self.path("logs")))
            self.assertEqual(name, "LZMA")
            self.assertEqual(lzma.decompress(payload), lines)
            # An index before the last 12 bytes, which contain its length: a zero, then the count.
            length = 4 * (int.from_bytes(payload[-8:-4], "little") + 1)
            self.assertEqual(payload[-12 - length], 0)
            self.assertEqual(payload[-12 - length + 1], -(-len(lines) // part))
            self.assertLess(len(payload), len(lines) // 20)

    def test_filters_for_programs_are_used_where_they_help(self):
        absent.need("lzma")
        if os.uname().machine != "x86_64" or os.environ.get("DWARFS_EMULATOR"):
            raise tap.Skip("the programs here are for another processor")
        words, only = ["-l1"], self.path("only")
        with open(PROGRAM, "rb") as program:
            self.write("only/program", program.read(1 << 20))
        plain = self.packed_size(*words, "-C", "lzma:level=9", tree=only)
        self.assertLess(self.packed_size(*words, "-C", "lzma:level=9:binary=x86", tree=only),
                        plain)
        self.assertLessEqual(self.packed_size(*words, "-C", "lzma:level=9:binary=ia64", tree=only),
                             plain)


class Samples(Codecs):
    def setUp(self):
        super().setUp()
        rng = random.Random(8)
        self.write("tree/sound.wav", rich.wave(rng, 30000))

    def test_flac(self):
        absent.need("flac")
        wanted = self.digests(self.pack("-l0"))
        sizes = []
        for codec in ("flac:level=0", "flac", "flac:8", "flac:level=8:exhaustive"):
            image = self.pack("-l1", "--categorize", "-C", "pcmaudio/waveform::" + codec)
            found = [section for section in self.sections(image)
                     if section["category"] == "pcmaudio/waveform"]
            self.assertEqual({section["compression"] for section in found}, {"FLAC"})
            sizes.append(sum(section["compressed_size"] for section in found))
            self.assertEqual(self.digests(image), wanted)
        self.assertLess(sizes[2], sizes[0])
        self.assertLessEqual(sizes[3], sizes[2])
        for codec in ("flac:level=9", "flac:level=-1", "flac:exhaustive=1", "flac:quality=3"):
            self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"),
                            "--categorize", "-C", "pcmaudio/waveform::" + codec), 1, codec)

    def test_ricepp(self):
        pictures = tap.data("inputs", "fits")
        wanted = self.digests(self.pack("-l0", tree=pictures))
        for codec in ("ricepp", "ricepp:block_size=16", "ricepp:block_size=128",
                      "ricepp:block_size=512"):
            image = self.pack("-l1", "--categorize", "-C", "fits/image::" + codec, tree=pictures)
            self.assertEqual({section["compression"] for section in self.sections(image)
                              if section["category"] == "fits/image"}, {"RICEPP"})
            self.assertEqual(self.digests(image), wanted)
        for codec in ("ricepp:block_size=15", "ricepp:block_size=513", "ricepp:level=3"):
            self.expect(run("MKDWARFS", "-i", pictures, "-o", self.path("x"), "--categorize",
                            "-C", "fits/image::" + codec), 1, codec)

    def test_only_where_samples_are_described(self):
        for category in ("<default>", "incompressible", "binary/elf", "pcmaudio/metadata",
                         "fits/metadata", "hotness"):
            for codec in ("flac", "ricepp"):
                if codec not in absent.ABSENT:
                    self.expect(run("MKDWARFS", "-i", self.dir, "-o", self.path("x"),
                                    "--categorize", "-C", f"{category}::{codec}"), 1,
                                "needs a category with matching metadata")


class OneCategory(Codecs):
    """Options that are for one category leave the others alone."""

    def setUp(self):
        super().setUp()
        rng = random.Random(9)
        noise = rng.randbytes(40000)
        text = b" ".join(b"%d" % rng.randrange(10**5) for _ in range(12000))
        for number in range(4):
            self.write(f"tree/noise {number}", rng.randbytes(number) + noise)
            self.write(f"tree/text {number}", b"x" * number + text)

    def stored(self, *words):
        """Bytes in the blocks of both categories, before compression."""
        sums = {"<default>": 0, "incompressible": 0}
        image = self.pack("-l1", "-C", "null", "--categorize=incompressible", "-S14",
                          "--order=path", *words)
        for section in self.sections(image):
            sums[section["category"]] += section["size"]
        return sums["<default>"], sums["incompressible"]

    def test_window(self):
        text, noise = self.stored("-W0")
        self.assertGreater(noise, 159000)
        less_text, less_noise = self.stored("-W12")
        self.assertLess(less_text, text // 2)
        self.assertLess(less_noise, noise // 2)
        self.assertEqual(self.stored("-W12", "-W", "incompressible::0"), (less_text, noise))
        self.assertEqual(self.stored("-W", "incompressible::12"), (text, less_noise))
        self.assertEqual(self.stored("-W", "incompressible::0", "-W", "<default>::12"),
                         (less_text, noise))

    def test_lookback(self):
        text, noise = self.stored("-W12")
        some = self.stored("-W12", "-B", "incompressible::1")
        none = self.stored("-W12", "-B", "incompressible::0")
        self.assertEqual((some[0], none[0]), (text, text))
        self.assertLess(noise, some[1])
        self.assertEqual(none[1], self.stored("-W0")[1])

    def test_step(self):
        for step in range(9):
            self.assertEqual(self.stored("-W12", "-w", f"incompressible::{step}")[0],
                             self.stored("-W12")[0])
        self.assertLessEqual(self.stored("-W12", "-w4")[1], self.stored("-W12", "-w0")[1])

    def test_codec(self):
        absent.need("zstd", "lzma")
        image = self.pack("-l1", "--categorize=incompressible", "-C", "zstd:level=3", "-C",
                          "<default>::lzma:level=1", "-S14")
        self.assertEqual({section["compression"] for section in self.sections(image)
                          if section["category"] == "<default>"}, {"LZMA"})

    def test_the_last_one_counts(self):
        one = self.stored("-W0", "-W12", "-W", "incompressible::4", "-W", "incompressible::0")
        self.assertEqual(one, self.stored("-W12", "-W", "incompressible::0"))

    def test_unknown_and_malformed(self):
        for words in (["-W", "grmpf::12"], ["-w", "grmpf::1"], ["-B", "grmpf::1"],
                      ["-C", "grmpf::null"], ["--order=grmpf::path"]):
            self.expect(run("MKDWARFS", "-i", self.dir, "-o", self.path("x"), "--categorize",
                            *words), 1, "grmpf")
        for words in (["-W", "incompressible::25"], ["-w", "incompressible::9"],
                      ["-B", "incompressible::x"], ["-W", "::12"], ["-W", "incompressible::"],
                      ["--bloom-filter-size", "incompressible::11"]):
            self.expect(run("MKDWARFS", "-i", self.dir, "-o", self.path("x"), "--categorize",
                            *words), 1)
        self.assertFalse(os.path.exists(self.path("x")))


class Levels(Codecs):
    """The table in the help matches the levels."""

    @unittest.skipIf(absent.CODECS_ABSENT, "a level uses other codecs here")
    def test_table(self):
        sources = os.path.join(os.environ["DWARFS_SOURCE_ROOT"], "lib", "write", "input")
        for name in sorted(os.listdir(sources)):
            with open(os.path.join(sources, name), "rb") as source:
                data = bytearray(source.read())
            self.write("tree/one/" + name, data)
            at = 0
            while at < len(data):  # repeated bytes, in which the window and its step matter
                data[at] ^= 1
                at += 300 + at % 400
            self.write("tree/two/" + name, data)
        with open(PROGRAM, "rb") as program:
            self.write("tree/program", program.read(60000))
        help_text = run("MKDWARFS", "-H").out
        exact = dict(re.findall(r"^ +(\d)  blocks +(\S+)$", help_text, re.M))
        self.assertTrue(exact)
        rows = re.findall(r"^ +(\d) +(\d+) MiB +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)$", help_text,
                          re.M)
        self.assertEqual([int(row[0]) for row in rows], list(range(10)))
        for level, size, blocks, history, metadata, window, order in rows:
            length, step = (window + "/0").split("/")[:2] if window != "off" else ("0", "0")
            image = self.bytes_of(self.pack("-l", level, "--metadata-compression", metadata))
            self.assertTrue(exact.get(level, blocks).startswith(blocks.split(":")[0]))
            spelt = self.bytes_of(self.pack(
                "-l", "9" if level == "9" else "0", "-C", exact.get(level, blocks), "-S",
                str(int(size).bit_length() + 19), "--schema-compression", history, "-W", length,
                "-w", step, "--order", order, "--metadata-compression", metadata))
            self.assertTrue(image == spelt, f"level {level} is not what the help says")

    def test_dense_blocks(self):
        """They have a separate codec, unless one is given: from level 5 on blocks that get very
        small, if it makes them smaller, and at levels 6 and 7 numbers and tables."""
        absent.need("zstd", "lzma")
        rng = random.Random(11)
        self.write("tree/log", b"".join(b"%s step %d done in the phase of the work\n"
                                        % (key, step)
                                        for key in (rng.randbytes(20).hex().encode()
                                                    for _ in range(600))
                                        for step in range(14)))
        self.write("copies/data", b"".join((rng.randbytes(32).hex().encode() + b" node\n") * 20
                                           for _ in range(400)))
        words = [rng.randbytes(rng.randrange(2, 6)).hex().encode() for _ in range(200)]
        self.write("tree/other", b" ".join(rng.choice(words) for _ in range(15000)))
        # Numbers, more than a sample, that lzma makes much smaller than zstd.
        self.write("numbers/data", b"".join(struct.pack("<IHH", number, number // 64 * 37 % 50, 7)
                                            for number in range(131200)))
        self.write("table/data", borders(rng, 1050000))
        for tree, level, codec in (("numbers", "5", "ZSTD"), ("numbers", "6", "LZMA"),
                                   ("numbers", "7", "LZMA"), ("table", "5", "ZSTD"),
                                   ("table", "7", "LZMA")):
            image = self.pack("-l", level, tree=self.path(tree))
            self.assertEqual({section["compression"] for section in self.sections(image)},
                             {codec}, (tree, level))
            image = self.pack("-l", level, "-C", "zstd:level=5", tree=self.path(tree))
            self.assertEqual({section["compression"] for section in self.sections(image)},
                             {"ZSTD"}, (tree, level))
            image = self.pack("-l", level, tree=self.path("copies"))
            self.assertEqual({section["compression"] for section in self.sections(image)},
                             {"ZSTD"}, level)
        for level, text, other in (("5", "LZMA", "ZSTD"), ("6", "LZMA", "ZSTD"),
                                   ("7", "LZMA", "ZSTD"), ("8", "LZMA", "LZMA")):
            found = {}
            image = self.pack("-l", level, "-S19", "--order=path", "-W0")
            for section in self.sections(image):
                is_small = section["compressed_size"] * 20 < section["size"]
                found.setdefault(is_small, set()).add(section["compression"])
            self.assertEqual(found, {True: {text}, False: {other}}, level)
            image = self.pack("-l", level, "-S19", "-W0", "-C", "zstd:level=5")
            self.assertEqual({section["compression"] for section in self.sections(image)},
                             {"ZSTD"})


if __name__ == "__main__":
    cli.main()
