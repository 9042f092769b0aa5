#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A dry run: it predicts exactly what the same command without it makes, and writes nothing."""
import os
import random
import re

import rewritten
from cli import run
from rewritten import blocks_of, read

RNG = random.Random(11)
NOISE = RNG.randbytes(120000)
LINE = re.compile(r"(\d+) blocks? of images (copied|rewritten|dropped): (\d+) bytes")


def stored(blocks):
    """Number and bytes of blocks, without their headers."""
    return len(blocks), sum(len(block) - 64 for block in blocks)


class DryRun(rewritten.Case):
    def setUp(self):
        super().setUp()
        for number in range(6):
            self.write(f"tree/file{number}", NOISE[number * 10000:][:10000])
        self.write("more/new", NOISE[60000:80000] + b"text\n" * 2000)
        self.old = self.make("old", [self.path("tree")], "-S14", "--order=path")

    def state(self):
        """Names, times and bytes of all files of the folder."""
        return {os.path.join(parent, name): (os.stat(os.path.join(parent, name)).st_mtime_ns,
                                             os.stat(os.path.join(parent, name)).st_ino,
                                             read(os.path.join(parent, name)))
                for parent, _, names in os.walk(self.dir) for name in names}

    def predict(self, inputs, *words, output="made"):
        """Run it dry, and then again: (counts, size) and the path of what was made."""
        command = ["MKDWARFS", *(word for path in inputs for word in ("-i", path)), "-o",
                   self.path(output), "-f", "-l1", *rewritten.QUIET, *words]
        before = self.state()
        result = self.expect(run(*command, "--dry-run"), 0, "nothing was written")
        self.assertEqual(self.state(), before)
        counts = {what: (int(count), int(size)) for count, what, size in LINE.findall(result.err)}
        self.assertEqual(set(counts), {"copied", "rewritten", "dropped"}, result.err)
        new = re.search(r"(\d+) new blocks?: (\d+) bytes", result.err)
        counts["new"] = int(new.group(1)), int(new.group(2))
        size = int(re.search(r"an image of (\d+) bytes", result.err).group(1))
        self.expect(run(*command), 0)
        made = self.path(output)
        self.assertEqual(os.path.getsize(made), size)
        self.intact(made)
        self.assertEqual(stored(blocks_of(made)), tuple(
            map(sum, zip(counts["copied"], counts["new"]))))
        return counts, made

    def test_append(self):
        counts, made = self.predict([self.old, self.path("more")])
        self.assertEqual(counts["copied"], stored(blocks_of(self.old)))
        self.assertEqual(counts["rewritten"], (0, 0))
        self.assertEqual(counts["dropped"], (0, 0))
        self.assertEqual(counts["new"], stored(blocks_of(made)[len(blocks_of(self.old)):]))

    def test_equal_blocks(self):
        self.write("second/file0", NOISE[:5000] + b"new\n" + NOISE[5000:10000])
        both = self.make("both", [self.old, self.path("second")], "-W10", "--on-conflict=rename")
        self.assertLess(stored(blocks_of(both))[1], stored(blocks_of(self.old))[1] + 3000)
        for inputs in ([self.old, both], [both, self.old]):
            counts, made = self.predict(inputs, "--on-conflict=rename")
            self.assertEqual(stored(blocks_of(made)), stored(blocks_of(both)))
            self.assertEqual(counts["copied"], stored(blocks_of(both)))
            self.assertEqual(counts["dropped"], stored(blocks_of(self.old)))
            self.assertEqual(counts["rewritten"], (0, 0))

    def test_to_the_input(self):
        counts, _ = self.predict([self.old, self.path("more")], output="old")
        self.assertEqual(counts["dropped"], (0, 0))

    def test_removed_files(self):
        counts, made = self.predict([self.old], "-F", "- file0", "-F", "- file1", "-F", "- file2")
        old, new = ({block[64:] for block in blocks_of(image)} for image in (self.old, made))
        self.assertTrue(new < old)
        self.assertEqual(counts["copied"], (len(new), sum(map(len, new))))
        self.assertEqual(counts["dropped"], (len(old - new), sum(map(len, old - new))))
        self.assertEqual(counts["rewritten"], (0, 0))
        self.assertEqual(counts["new"], (0, 0))

    def test_compaction(self):
        counts, made = self.predict([self.old], "-F", "- file1", "-F", "- file2", "--max-unused=0")
        old, new = ({block[64:] for block in blocks_of(image)} for image in (self.old, made))
        self.assertGreater(counts["rewritten"][0], 0)
        self.assertEqual(counts["copied"], stored([b" " * 64 + block for block in old & new]))
        gone = old - new
        self.assertEqual((len(gone), sum(map(len, gone))), tuple(
            map(sum, zip(counts["rewritten"], counts["dropped"]))))

    def test_recompress(self):
        all_blocks = stored(blocks_of(self.old))
        for words, rewritten_blocks in (
                (["--recompress=all", "-C", "zstd:level=3"], all_blocks),
                (["--recompress=all", "--rebuild-metadata", "-C", "zstd:level=3"], all_blocks),
                (["--change-block-size", "-S12"], all_blocks),
                (["--recompress=metadata"], (0, 0)), (["--recompress=none"], (0, 0))):
            counts, _ = self.predict([self.old], *words)
            self.assertEqual(counts["rewritten"], rewritten_blocks, words)
            self.assertEqual(counts["copied"],
                             (0, 0) if rewritten_blocks[0] else all_blocks, words)
            self.assertEqual(counts["dropped"], (0, 0), words)

    def test_blocks_that_stay_uncompressed_are_copied(self):
        old = self.make("plain", [self.path("tree")], "-S14", "-C", "null")
        for codec, word in (("null", "copied"), ("zstd:level=1", "rewritten")):
            counts, made = self.predict([old], "--recompress=block", "-C", codec)
            self.assertEqual(counts[word], stored(blocks_of(old)))
            self.same_files(old, made)

    def test_repack(self):
        counts, _ = self.predict([self.old, self.path("more")], "--repack")
        self.assertEqual(counts["rewritten"], stored(blocks_of(self.old)))
        self.assertEqual(counts["copied"], (0, 0))

    def test_a_base(self):
        self.write("snapshot/same", NOISE[10000:20000])
        counts, _ = self.predict([self.path("snapshot")], "--base", self.old)
        self.assertLess(counts["copied"], stored(blocks_of(self.old)))
        self.assertEqual(counts["dropped"], (0, 0))  # they stay in the base

    def test_each_block_is_named(self):
        result = run("MKDWARFS", "-i", self.old, "-F", "- file0", "-F", "- file1", "--dry-run",
                     "-l1", "--log-level=verbose", *rewritten.QUIET)
        self.expect(result, 0, "block 0", "dropped", "copied")
        lines = re.findall(r"'.*old': block (\d+), (\d+) bytes: (\w+)", result.err)
        self.assertEqual([(int(number), int(size)) for number, size, _ in sorted(lines)],
                         [(number, len(block) - 64)
                          for number, block in enumerate(blocks_of(self.old))])

    def test_with_the_command_line_in_the_history(self):
        tree, made = self.path("tree"), self.path("made")
        for words in (["--dry-run"], ["--dry-r"], ["--dry-run", "--dry-run"],
                      ["--prefix", "--dry-run", "--dry-run"]):
            kept = words[:2] if words[0] == "--prefix" else []
            command = ["MKDWARFS", "-i", tree, "-o", made, "-f", "-l1", "--no-progress"]
            result = self.expect(run(*command, *words), 0, "nothing was written")
            size = int(re.search(r"an image of (\d+) bytes", result.err).group(1))
            self.expect(run(*command, *kept), 0)
            self.assertEqual(os.path.getsize(made), size)

    def test_without_an_output(self):
        result = run("MKDWARFS", "-i", self.path("tree"), "--dry-run", "-l1", *rewritten.QUIET)
        self.expect(result, 0, "nothing was written")
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", "-", "--dry-run", "-l1",
                     *rewritten.QUIET)
        self.assertEqual(self.expect(result, 0).raw, b"")

    def test_an_output_that_exists(self):
        before = self.state()
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.old, "--dry-run", "-l1",
                     *rewritten.QUIET)
        self.expect(result, 1, "output file already exists")
        self.assertEqual(self.state(), before)

    def test_an_output_in_the_input(self):
        """It is left out of the image, as if it were written."""
        inside = self.write("tree/image", b"not part of the image\n")
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", inside, "-f", "--dry-run", "-l1",
                     *rewritten.QUIET)
        self.expect(result, 0, "6 files")


if __name__ == "__main__":
    rewritten.cli.main()
