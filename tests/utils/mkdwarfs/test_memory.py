#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A memory limit holds: for any input, level and number of workers, for the whole process.

With the codecs of level 7, limits are below what four workers use without one. If a limit is too
low, the amount named in the message suffices.
"""
import functools
import hashlib
import math
import os
import random
import re
import struct
import unittest

import cli
from cli import IS_NATIVE, run
from measured import with_peak
import absent
import tap

QUIET = ("--progress=none", "--no-history", "--no-create-timestamp")


def words(rng, count):
    """Text that compresses about as well as other texts."""
    pool = [b"%x" % rng.randrange(1 << rng.randrange(4, 40)) for _ in range(min(800, count))]
    return b" ".join(rng.choices(pool, k=count))


@functools.cache
def sound(seed, seconds):
    """A WAV file: stereo, 16 bits."""
    rng = random.Random(seed)
    samples = b"".join(struct.pack("<hh", int(9000 * math.sin(i / 31)) + rng.randrange(99),
                                   int(7000 * math.sin(i / 17)))
                       for i in range(22050 * seconds))
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1,
                       2, 22050, 88200, 4, 16, b"data", len(samples))
    return head + samples


@unittest.skipUnless(IS_NATIVE, "the instrumentation uses memory itself")
class Memory(cli.Case):
    def pack(self, *options):
        """The peak in bytes, the digest of the image or None, and the messages."""
        image = self.path("image")
        if os.path.exists(image):
            os.remove(image)
        done, peak = with_peak(tap.tool("MKDWARFS"), "-i", self.path("tree"), "-o", image, "-f",
                               *QUIET, *options)
        if done.returncode:
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertFalse(os.path.exists(image), done.stderr)
            return peak, None, done.stderr
        with open(image, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        return peak, digest, done.stderr

    def check(self):
        result = run("DWARFSCK", "-q", "--check-integrity", self.path("image"))
        self.assertEqual(result.code, 0, result.err)

    def hold(self, limits, *options):
        """Each limit gives the same image for any number of workers."""
        for limit in limits:
            digests = set()
            for workers in (1, 4):
                peak, digest, told = self.pack("-L", f"{limit}m", "-N", str(workers), *options)
                text = f"-L {limit}m -N {workers} {' '.join(options)}: {peak >> 20} MiB: {told}"
                self.assertIsNotNone(digest, text)
                self.assertLessEqual(peak, limit << 20, text)
                digests.add(digest)
            self.assertEqual(len(digests), 1, f"-L {limit}m {' '.join(options)}")
            self.check()

    def many(self, count=900):
        """Small files, mostly noise: take as much memory as text, in less time."""
        rng = random.Random(1)
        for number in range(count):
            name = f"tree/{number % 50}/{number // 7 % 10}/file-{number}"
            size = rng.randrange(20, 900)
            self.write(name, words(rng, size // 4) + rng.randbytes(size * 5))
            if number % 5 == 0:
                self.write(name + ".copy", b"%d" % (number // 100))

    def few(self):
        rng = random.Random(2)
        for number in range(2):
            text = words(rng, 60000)
            self.write(f"tree/{number}", rng.randbytes(1 << 20) + text + bytes(1 << 20) +
                       text[100000:] + bytes(range(251)) * 9000)

    def kinds(self):
        rng = random.Random(3)
        self.write("tree/sound.wav", sound(3, 10))
        self.write("tree/other.wav", sound(4, 5))
        self.write("tree/noise", rng.randbytes(4 << 20))
        self.write("tree/text", words(rng, 30000))
        for name in ("MKDWARFS", "DWARFSCK"):
            with open(tap.tool(name), "rb") as file:
                self.write(f"tree/{name}", file.read())

    def test_many_small_files(self):
        absent.need("zstd")
        self.many()
        self.hold((24,), "-l3")
        self.hold((48,), "-l7")

    def test_orders(self):
        absent.need("zstd")
        self.many()
        for order in ("auto", "similarity", "nilsimsa"):
            self.hold((32,), "-l7", "-C", "zstd:level=9", "--order", order)

    def test_few_large_files(self):
        absent.need("zstd", "lzma")
        self.few()
        self.hold((24,), "-l3")
        self.hold((40,), "-l7")
        self.hold((40,), "-l9")

    def test_categories(self):
        absent.need("zstd", "lzma", "flac")
        self.kinds()
        self.hold((48,), "-l3", "--categorize")
        self.hold((28,), "-l7", "--categorize")
        self.hold((32, 200), "-l9", "--categorize")

    def test_packed_metadata(self):
        absent.need("zstd", "lzma")
        for number in range(12000):
            self.write(f"tree/{number % 97}/{number * 2654435761 % 2**32:x}-{number}")
        for codec in ("zstd:level=22", "lzma:level=9"):
            self.hold((48,), "-l5", "--metadata-compression", codec)

    def test_what_is_named_does(self):
        absent.need("zstd", "lzma")
        self.kinds()
        for level in ("-l1", "-l7", "-l9"):
            _, digest, told = self.pack("-L", "1m", level, "--categorize")
            self.assertIsNone(digest)
            least = re.search(r"too low for this input: at least (\d+) MiB", told)
            self.assertTrue(least, told)
            least = int(least[1])
            peak, digest, told = self.pack("-L", f"{least}m", level, "--categorize", "-N4")
            self.assertIsNotNone(digest, told)
            self.assertLessEqual(peak, least << 20, told)
            self.assertRegex(told, "memory limit")
            self.check()
            _, digest, told = self.pack("-L", f"{least - 1}m", level, "--categorize")
            self.assertIsNone(digest, told)

    def test_enough_changes_nothing(self):
        absent.need("zstd")
        self.many(500)
        images = {self.pack("-l4", "-N2", *limit)[1]
                  for limit in ((), ("-L", "auto"), ("-L", "1g"), ("-L", "3g"))}
        self.assertEqual(len(images), 1)


if __name__ == "__main__":
    cli.main()
