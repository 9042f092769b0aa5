#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A read of an input file that fails: the image has what comes before it, and nothing after it."""
import random

import faults as faults_of
import rewritten
from cli import run
from rewritten import read

FILES = 3
SIZE = 300_000


def similar(seed):
    """Runs of bytes that all files have, and between them some of their own."""
    common, own = random.Random(1), random.Random(seed)
    return b"".join(common.randbytes(20) + own.randbytes(4) for _ in range(SIZE // 24))


class ReadFailures(rewritten.Case):
    def setUp(self):
        super().setUp()
        faults_of.environment(self.dir)
        for number in range(FILES):
            self.write(f"tree/{number}", similar(number + 2))

    def pack(self, fault):
        """Without trials, which read the files once more each."""
        return run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "-f", "-l5",
                   "-C", "zstd:level=13", "-S18", "--order=auto:max-trials=0", "-N1",
                   "--no-progress", "--log-level=verbose", "--digests=always",
                   env=faults_of.environment(self.dir, fault, log=self.path("log")))

    def contents(self, name, image="x"):
        result = run("DWARFSCK", f"--cat=/{name}", self.path(image))
        self.assertEqual(result.code, 0, result.err)
        return result.raw

    def stored(self, fault):
        """What the image has of each file; only a file that is reported may miss anything."""
        found = {name: self.contents(name) for name in map(str, range(FILES))}
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

    def test_what_follows_is_left_out(self):
        self.assertIn("interleaved", self.pack("pread:0").err)
        self.assertEqual({len(data) for data in self.stored("").values()}, {SIZE})
        cut = 0
        for number in range(1, read(self.path("log")).splitlines().count(b"pread") + 1):
            fault = f"pread:{number}"
            result = self.pack(fault)
            found = self.stored(fault)
            short = [name for name, data in found.items() if len(data) < SIZE]
            reported = result.err.count("cannot read")
            self.assertEqual(result.code, 2 if reported else 0, result.err)
            self.assertEqual(len(short), reported, result.err)
            if short and "interleaved" in result.err:
                cut += 1
                self.expect_digests(found, fault)
        self.assertGreaterEqual(cut, FILES)


if __name__ == "__main__":
    rewritten.cli.main()
