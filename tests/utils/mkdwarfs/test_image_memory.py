#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory of rewriting and of appending does not grow with the image.

Peaks as counted by the kernel. Each limit is far below the size of the image, and about twice
what is needed.
"""
import atexit
import os
import random
import shutil
import tarfile
import tempfile
import unittest

import absent
import rewritten
import tap
from cli import IS_NATIVE
from measured import with_peak

MIB = 1 << 20
BYTES = 128 * MIB

LARGE = []  # the paths that Memory.large() returns


@unittest.skipUnless(IS_NATIVE, "the instrumentation uses memory itself")
class Memory(rewritten.Case):
    def large(self):
        """A file of much noise, and an image of it; the same ones for all cases."""
        if not LARGE:
            folder = tempfile.mkdtemp(prefix="dwarfs-image-memory-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            piece = random.Random(1).randbytes(MIB)
            os.mkdir(os.path.join(folder, "tree"))
            with open(os.path.join(folder, "tree", "file"), "wb") as file:
                for number in range(BYTES // MIB):
                    file.write(number.to_bytes(8, "little") + piece[8:])
            # Repeated parts are stored again.
            image = self.make(os.path.join(folder, "image"), [os.path.join(folder, "tree")], "-S24",
                              "-C", "null", "-W0")
            self.assertGreater(os.path.getsize(image), BYTES)
            LARGE.extend((os.path.join(folder, "tree", "file"), image))
        return LARGE

    def peak(self, *words, level="-l1"):
        done, peak = with_peak(tap.tool("MKDWARFS"), *words, "-f", level, *rewritten.QUIET)
        self.assertEqual(done.returncode, 0, done.stderr)
        return peak

    def test_rewriting(self):
        _, image = self.large()
        for mode in ("none", "metadata"):
            peak = self.peak("-i", image, "-o", self.path("made"), f"--recompress={mode}",
                             "-N8")
            self.assertLess(peak, 64 * MIB, mode)
            self.assertEqual(os.path.getsize(self.path("made")) // MIB, BYTES // MIB)

    def names(self, count):
        """An archive of empty files with random names."""
        archive, length = self.path("names.tar"), 64
        names = random.Random(4).randbytes(count * length // 2).hex().encode()
        header = tarfile.TarInfo("").tobuf(tarfile.USTAR_FORMAT)
        rest, end = header[length:148], header[156:]
        others = int(header[148:154], 8)  # the checksum without the name

        with open(archive, "wb") as out:
            for at in range(0, count * length, length):
                name = names[at:at + length]
                out.write(b"%b%b%06o\0 %b" % (name, rest, others + sum(name), end))
            out.write(bytes(1024))
        return archive

    def test_compressing_metadata(self):
        absent.need("zstd", "archive")
        archive = self.names(30000)  # 57 MiB without a limit
        peak = self.peak("-i", archive, "-o", self.path("made"), "-L48m", level="-l6")
        self.assertLess(peak, 48 * MIB)

    def test_no_codec_fits(self):
        absent.need("brotli", "archive")
        archive, sizes = self.names(3000), []

        for codec in "null", "brotli:quality=9":
            told = self.expect(rewritten.run("MKDWARFS", "-i", archive, "-o", self.path(codec), "-l3",
                                             "-L29m", "--metadata-compression", codec,
                                             *rewritten.QUIET), 0).err
            sizes.append(os.path.getsize(self.path(codec)))
        self.assertEqual(told.count("metadata is not compressed"), 1, told)
        self.assertLess(sizes[1], sizes[0] + 1000)  # the tables are the plain ones

    def test_compressing_metadata_again(self):
        absent.need("zstd", "archive")
        image = self.path("image")
        self.make(image, [self.names(60000)], "-l0")
        peak = self.peak("-i", image, "-o", self.path("made"), "--recompress=metadata", "-L40m",
                         level="-l6")
        self.assertLess(peak, 40 * MIB)
        self.assertLess(os.path.getsize(self.path("made")), os.path.getsize(image))

    def test_appending(self):
        path, image = self.large()
        with open(path, "rb") as file:
            file.seek(5 * MIB)
            self.write("new/other", file.read(MIB))
        for level in ("-l1", "-l3"):
            alone = self.peak("-i", self.path("new"), "-o", self.path("alone"), level=level)
            both = self.peak("-i", image, "-i", self.path("new"), "-o", self.path("both"),
                             level=level)
            self.assertLess(both, alone + 64 * MIB, level)

    def test_appending_to_large_blocks(self):
        """What is decompressed of the image, to be compared, is not in memory besides the codec."""
        absent.need("zstd")
        few, piece = bytes(range(64)) * 4, MIB // 2  # three quarters of the size as zstd
        noise = random.Random(1).randbytes(64 * MIB - 5000)

        for number, values in enumerate((few, few[::-1])):
            self.write(f"old/{number}", noise.translate(values))
        image = self.make("image.dwarfs", [self.path("old")], "-S26", "-C", "zstd:level=1",
                          "--order=path")
        source = random.Random(9)
        with open(self.write("new/file"), "wb") as file:
            for number in range(80):
                with open(self.path("old", str(number % 2)), "rb") as old:
                    old.seek(source.randrange(60 * MIB))
                    file.write(old.read(piece) + source.randbytes(piece).translate(few))
        # The codec takes 128 MiB.
        words = ("-S26", "-W12", "--order=path", "-C", "zstd:level=1:wlog=26:hlog=25", "-N1")
        alone = self.peak("-i", self.path("new"), "-o", self.path("alone"), *words)
        both = self.peak("-i", image, "-i", self.path("new"), "-o", self.path("both"), *words)
        self.assertLess(os.path.getsize(self.path("both")),
                        os.path.getsize(image) + 0.6 * os.path.getsize(self.path("alone")))
        self.assertLess(both, alone + 64 * MIB)

    def test_appending_to_many_blocks(self):
        """The blocks of an image, each of which new data is compared with, are not all in memory."""
        absent.need("zstd")
        few, piece = bytes(range(64)) * 4, 10000
        old = random.Random(1).randbytes(80 * MIB).translate(few)
        self.write("old/noise", old)
        image = self.make("image.dwarfs", [self.path("old")], "-S24", "-C", "zstd:level=1", "-W0")
        source = random.Random(2)
        new = []
        for _ in range(400):
            at = source.randrange(80 * MIB - piece)
            new.append(old[at:at + piece] + source.randbytes(100))
        self.write("new/file", b"".join(new))
        words = ("-S24", "-W12", "--order=path", "-C", "zstd:level=1", "-N1")
        alone = self.peak("-i", self.path("new"), "-o", self.path("alone"), *words, level="-l7")
        both = self.peak("-i", image, "-i", self.path("new"), "-o", self.path("both"), *words,
                         level="-l7")
        self.assertLess(os.path.getsize(self.path("both")), os.path.getsize(image) + MIB)
        self.assertLess(both, alone + 64 * MIB)

    def test_trying_orders_besides_large_blocks(self):
        """A block that was decompressed to compare a file is freed before orders are tried."""
        absent.need("zstd")
        self.write("old/a", random.Random(1).randbytes(62 * MIB).translate(bytes(range(64)) * 4))
        self.write("old/b", b"at the end of the block\n" * 1000)
        image = self.make("image.dwarfs", [self.path("old")], "-S26", "-C", "zstd:level=1",
                          "--order=path")
        self.write("new/same", b"at the end of the block\n" * 1000)
        source = random.Random(2)
        words = [source.randbytes(6).hex() for _ in range(5000)]
        for number in range(30):
            text = " ".join(source.choices(words, k=500))
            # Noise takes as much memory as text, in less time.
            self.write(f"new/{number % 3}/{number}", text.encode() + source.randbytes(60000))
        words = ("-S26", "-N1")
        alone = self.peak("-i", self.path("new"), "-o", self.path("alone"), *words, level="-l7")
        both = self.peak("-i", image, "-i", self.path("new"), "-o", self.path("both"), *words,
                         level="-l7")
        self.assertLess(both, alone + 64 * MIB)

    def test_comparing(self):
        """Readers that compare files with those of an image, each with another block."""
        noise = random.Random(1).randbytes(9 * MIB)
        for number in range(6):
            values = bytes(range(32 * number, 32 * number + 32)) * 8
            self.write(f"equal/{number}", noise.translate(values))
        for codec, limits in (("zstd:level=1", (60, 85)), ("brotli:quality=1:lgwin=23", (60,))):
            if codec.partition(":")[0] in absent.ABSENT:
                continue
            image = self.make("equal.dwarfs", [self.path("equal")], "-S23", "-C", codec, "-W0")
            for limit in limits:
                peak = self.peak("-i", image, "-i", self.path("equal"), "-o", self.path("both"),
                                 "--on-conflict=rename", "-N8", "-L", f"{limit}m")
                self.assertLessEqual(peak, limit * MIB, codec)
            os.unlink(image)


if __name__ == "__main__":
    rewritten.cli.main()
