#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A read of an input file that fails: the image has what comes before it, and nothing after it."""
import json
import os
import random
import struct

import absent
import faults as faults_of
import rewritten
import rich
from cli import run
from rewritten import read

FILES = 3
SIZE = 300_000
TAIL = 60_000  # of a sound file


def similar(seed):
    """Runs of bytes that all files have, and between them some of their own."""
    common, own = random.Random(1), random.Random(seed)
    return b"".join(common.randbytes(20) + own.randbytes(4) for _ in range(SIZE // 24))


class ReadFailures(rewritten.Case):
    def setUp(self):
        super().setUp()
        faults_of.environment()

    def pack(self, fault, *words):
        return run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "-f", *words,
                   "-N1", "--no-progress", "--log-level=verbose", "--digests=always",
                   env=faults_of.environment(fault, log=self.path("log")))

    def contents(self, name, image="x"):
        result = run("DWARFSCK", f"--cat=/{name}", self.path(image))
        self.assertEqual(result.code, 0, result.err)
        return result.raw

    def stored(self, fault):
        """What the image has of each file, which is what the file begins with."""
        found = {name: self.contents(name) for name in os.listdir(self.path("tree"))}
        for name, data in found.items():
            self.assertTrue(read(self.path("tree", name)).startswith(data), (fault, name))
        return found

    def expect_digests(self, found, fault):
        """The digests are those of the contents: a file equal to one of them is a duplicate."""
        for name, data in found.items():
            self.write(f"copies/copy{name}", data)
        self.make("y", [self.path("x"), self.path("copies")], "-l4", "--trust-digests")
        for name, data in found.items():
            self.assertEqual(self.contents(f"copy{name}", "y"), data, fault)

    def fail_each(self, *words):
        """Let each read of one byte fail in turn; yields the messages, and what is stored, where a
        file is cut."""
        whole = self.pack("pread:0", *words)
        self.assertEqual(whole.code, 0, whole.err)
        sizes = {name: len(data) for name, data in self.stored("").items()}
        for name, size in sizes.items():
            self.assertEqual(size, os.path.getsize(self.path("tree", name)))
        for number in range(1, read(self.path("log")).splitlines().count(b"pread") + 1):
            fault = f"pread:{number}"
            result = self.pack(fault, *words)
            found = self.stored(fault)
            short = [name for name, data in found.items() if len(data) < sizes[name]]
            reported = result.err.count("cannot read")
            self.assertEqual(result.code, 2 if reported else 0, result.err)
            self.assertEqual(len(short), reported, result.err)
            if short:
                self.intact(self.path("x"))
                self.expect_digests(found, fault)
                yield result.err, found

    def test_interleaved_pieces_that_follow_are_left_out(self):
        absent.need("zstd")
        for number in range(FILES):
            self.write(f"tree/{number}", similar(number + 2))
        # Without trials, which read the files once more each.
        cut = sum("interleaved" in messages for messages, _ in self.fail_each(
            "-l5", "-C", "zstd:level=13", "-S18", "--order=auto:max-trials=0"))
        self.assertGreaterEqual(cut, FILES)

    def test_categories_that_follow_are_left_out(self):
        """A header, a sound, and text with a hole."""
        sound = rich.wave(random.Random(1), 40_000)
        text = b"words and words, " * (TAIL // 17)
        tail = struct.pack("<4sI", b"LIST", 2 * len(text)) + text
        self.write("tree/sound.wav", sound[:4] + struct.pack("<I", len(sound) + 2 * len(text)) +
                   sound[8:] + tail)
        os.truncate(self.path("tree", "sound.wav"), len(sound) + len(tail) + len(text))
        cut = []
        for _, found in self.fail_each("-l5", "--categorize"):
            cut.append(len(found["sound.wav"]))
            metadata = json.loads(rewritten.metadata_of(self.path("x")))
            self.assertEqual(metadata["total_fs_size"], cut[-1])
            self.assertNotIn("total_allocated_fs_size", metadata)  # the hole is left out, too
        self.assertIn(44, cut)  # the header
        self.assertLess(max(cut), len(sound))


if __name__ == "__main__":
    rewritten.cli.main()
