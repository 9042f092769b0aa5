#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An image that is replaced by its successor: whatever fails, the old or the new one is there."""
import os
import random
import shutil

import faults as faults_of
import rewritten
from cli import IS_NATIVE, run
from rewritten import read

KILLED = -9
MOST = 400  # calls; a run that is never killed otherwise


class Faults(rewritten.Case):
    """The folder "out" has the image "x", and nothing else."""

    def setUp(self):
        super().setUp()
        faults_of.environment()
        rng = random.Random(3)
        for number in range(4):
            self.write(f"tree/{number}", rng.randbytes(3000 + number))
        for number in range(2):
            self.write(f"more/{number} more", rng.randbytes(3000 + number))
        self.old = read(self.make("old", [self.path("tree")], "-S12"))
        self.intact(self.path("old"))
        self.has_old = False  # out/x was read, and is the old image

    def commands(self):
        """Inputs, options, and what they make of the image."""
        for name, inputs, words in (
                ("append", ["x", "more"], ["-S12"]),
                ("recompress", ["x"], ["--recompress", "-C", "zstd:level=1"]),
                ("rebuild", ["x"], ["--rebuild-metadata", "--set-owner=5"]),
                ("other blocks", ["x"], ["--change-block-size", "-S13"]),
                ("repack", ["x"], ["--repack", "-S14"]),
                ("remove", ["x"], ["-F", "- 1", "--max-unused=0", "-S12"]),
                ("snapshot", ["more"], ["--base", self.path("out", "x"), "-S12"])):
            inputs = [self.path("out", "x") if path == "x" else self.path(path)
                      for path in inputs]
            self.fresh()
            self.intact(self.make("out/x", inputs, *words))
            yield name, inputs, words, read(self.path("out", "x"))

    def fresh(self):
        """The folder has the old image, and nothing else."""
        if not self.has_old:
            shutil.rmtree(self.path("out"), ignore_errors=True)
            self.write("out/x", self.old)
        for name in set(os.listdir(self.path("out"))) - {"x"}:
            os.unlink(self.path("out", name))
        self.has_old = False

    def attempt(self, inputs, words, fault):
        """Run it with a fault; returns the result."""
        self.fresh()
        return run("MKDWARFS", *(word for path in inputs for word in ("-i", path)), "-o",
                   self.path("out", "x"), "-f", "-l1", "-N1", *rewritten.QUIET, *words,
                   env=faults_of.environment(fault))

    def check(self, new, fault, others):
        """One of the two images is there, byte for byte, and at most as many other files. Both
        are intact."""
        found = read(self.path("out", "x"))
        self.assertIn(found, (self.old, new), fault)
        self.has_old = found == self.old
        names = set(os.listdir(self.path("out"))) - {"x"}
        self.assertLessEqual(len(names), others, fault)
        return found == new, names

    def killed_everywhere(self, more=""):
        for name, inputs, words, new in self.commands():
            replaced = []
            for number in range(1, MOST):
                result = self.attempt(inputs, words, f"end:{number} {more}")
                if result.code != KILLED:
                    self.expect(result, 0)
                    break
                is_new, names = self.check(new, f"{name}: end:{number}", 1)
                replaced.append(is_new)
                for left in names:  # a later run is not disturbed by it
                    self.assertNotEqual(left, "x")
            self.assertEqual(self.check(new, name, 0)[0], True)
            self.assertGreater(len(replaced), 5, name)
            self.assertEqual(replaced, sorted(replaced))  # once it is there, it stays
            self.assertFalse(replaced[0])

    def test_killed(self):
        self.killed_everywhere()

    def test_killed_with_named_temporary_files(self):
        self.killed_everywhere("O_TMPFILE")

    def test_killed_where_blocks_are_shared(self):
        self.killed_everywhere("share")

    def test_killed_where_blocks_are_shared_with_named_temporary_files(self):
        self.killed_everywhere("share O_TMPFILE")

    def test_killed_while_blocks_are_in_a_temporary_file(self):
        """Old blocks that new data is compared with do not fit into the cache. Their file has a name
        only between its making and its unlinking, where the system has no unnamed files."""
        source = random.Random(4)
        old = b"".join(source.randbytes(8192) * 128 for _ in range(8))  # small as it is stored
        new = b"".join(b"%d" % at + old[at << 20:(at << 20) + 50000] for at in (3, 5))
        words = ["-S20", "-W12", "-L40m" if IS_NATIVE else "-L60m"]
        self.write("large/old", old)
        self.write("new/file", new)
        inputs = [self.path("out", "x"), self.path("new")]
        self.old = read(self.make("old", [self.path("large")], "-S20", "-W0", "-C", "zstd:level=1"))
        self.fresh()
        expected = read(self.make("out/x", inputs, *words))
        self.assertLess(len(expected), len(self.old) + 4000)
        for more in ("", "O_TMPFILE"):
            most = 0
            for number in range(1, MOST):
                result = self.attempt(inputs, words, f"end:{number} {more}")
                if result.code != KILLED:
                    self.expect(result, 0)
                    break
                _, names = self.check(expected, f"end:{number} {more}", 2 if more else 1)
                sizes = sorted(os.path.getsize(self.path("out", name)) for name in names)
                self.assertEqual(sizes[:-1], [0] * (len(sizes) - 1))
                most = max(most, len(sizes))
            self.assertGreater(number, 15)
            self.assertEqual(self.check(expected, more, 0)[0], True)
            self.assertEqual(most, 2 if more else 1)

    def failing_everywhere(self, kind, text, variants):
        for name, inputs, words, new in self.commands():
            for more in variants:
                for number in range(1, MOST):
                    fault = f"{kind}:{number}{more}"
                    result = self.attempt(inputs, words, fault)
                    if result.code == 0:
                        break
                    self.expect(result, 1, text)
                    self.assertFalse(self.check(new, f"{name}: {fault}", 0)[0])
                self.assertGreater(number, 2, name)
                self.assertTrue(self.check(new, f"{name}: {more}", 0)[0])

    def test_no_space(self):
        self.failing_everywhere("enospc", "No space left on device",
                                ["", " O_TMPFILE", " share", " share O_TMPFILE"])

    def test_output_errors(self):
        self.failing_everywhere("eio", "Input/output error", [" O_TMPFILE", " share"])

    def test_fsync_and_close(self):
        for name, inputs, words, new in self.commands():
            for fault in ("fsync:1", "close:1", "fsync:1 O_TMPFILE", "close:1 O_TMPFILE",
                          "fsync:1 share", "close:1 share"):
                self.assertEqual(self.attempt(inputs, words, fault).code, 1, fault)
                self.assertFalse(self.check(new, f"{name}: {fault}", 0)[0])

    def test_interrupted_opens(self):
        for _, inputs, words, new in self.commands():
            for fault in ("eintr", "eintr O_TMPFILE"):
                self.expect(self.attempt(inputs, words, fault), 0)
                self.assertEqual(read(self.path("out", "x")), new)

    def test_a_run_after_one_that_was_killed(self):
        for _, inputs, words, new in self.commands():
            self.assertEqual(self.attempt(inputs, words, "end:4 O_TMPFILE").code, KILLED)
            self.make("out/x", inputs, *words)
            self.assertEqual(read(self.path("out", "x")), new)


if __name__ == "__main__":
    rewritten.cli.main()
