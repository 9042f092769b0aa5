#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Blocks of an image that the new one shares with it, where the file system can do that.

With a library that lets each file system do it, by copying; and on XFS and Btrfs, if these can be
mounted.
"""
import os
import random
import shutil
import subprocess
import unittest

import faults
import rewritten
import tap
from cli import run
from rewritten import read

MIB = 1 << 20
ROOM = 320 * MIB  # the least that mkfs.xfs takes


class Sharing(rewritten.Case):
    def setUp(self):
        super().setUp()
        faults.environment()
        rng = random.Random(5)
        for number in range(7):
            self.write(f"tree/{number}", rng.randbytes(30011 + number))
        self.write("new/other", rng.randbytes(3000))
        self.old = self.make("old", [self.path("tree")], "-S14", "-C", "null", "--order=none")

    def attempt(self, name, inputs, words, fault):
        """Run it with a fault: the result, and the calls of the log."""
        log = self.path("log")
        if os.path.exists(log):
            os.unlink(log)
        result = run("MKDWARFS", *(word for path in inputs for word in ("-i", path)), "-o",
                     self.path(name), "-f", "-l1", *rewritten.QUIET, *words,
                     env=faults.environment(fault, log))
        return result, read(log).decode().splitlines() if os.path.exists(log) else []

    def compare(self, inputs, *words, shares=True):
        """The same image with and without sharing."""
        result, calls = self.attempt("plain", inputs, words, "")
        self.expect(result, 0)
        for fault in ("share", "share O_TMPFILE"):
            result, shared = self.attempt("shared", inputs, words, fault)
            self.expect(result, 0)
            self.assertEqual(read(self.path("plain")), read(self.path("shared")), words)
            self.assertEqual(shared.count("share"), shares, (words, shared))
            self.assertEqual(shared.count("write") < calls.count("write"), shares, words)

    def test_an_append_and_copies(self):
        new = self.path("new")
        self.compare([self.old, new])
        self.compare([self.old], "--recompress=none")
        self.compare([self.old], "--recompress=metadata")
        self.compare([self.old], "--rebuild-metadata")
        self.compare([self.old, new], "-N0")

    def test_all_but_the_edges_is_not_written(self):
        result, calls = self.attempt("shared", [self.old], ["--recompress=none"], "share")
        self.expect(result, 0)
        edges = 1
        self.assertEqual(calls.count("write"),
                         edges + 2 * len(rewritten.sections_of(self.path("shared"))[
                             len(rewritten.blocks_of(self.old)):]))

    def test_an_image_that_replaces_itself(self):
        expected = read(self.make("expected", [self.old, self.path("new")]))
        shutil.copy(self.old, self.path("self"))
        result, calls = self.attempt("self", [self.path("self"), self.path("new")], [], "share")
        self.expect(result, 0)
        self.assertIn("share", calls)
        self.assertEqual(read(self.path("self")), expected)

    def test_images_after_a_header(self):
        """The distance is kept with the header, of any size; other distances are written."""
        new = self.path("new")
        for size in (10, 4096, 9000):
            with open(self.path("header"), "wb") as file:
                file.write(b"#!" + bytes(size - 2))
            image = self.make(f"header {size}", [self.old], "--recompress=none",
                              "--header", self.path("header"))
            self.compare([image, new])
            self.compare([image], "--recompress=none", "--remove-header", shares=size == 4096)

    def test_blocks_that_are_left_out(self):
        """Only those before the first one that is left out stay where they are."""
        self.compare([self.old, self.path("new")], "--filter=- /5")
        self.compare([self.old, self.path("new")], "--filter=- /0", shares=False)
        self.compare([self.path("new"), self.old])

    def test_blocks_that_are_compressed_again(self):
        self.compare([self.old], "--recompress=block", shares=False)
        self.compare([self.old], "--change-block-size", "-S15", shares=False)

    def test_older_formats(self):
        """Headers get another version, and are written."""
        for name, image in rewritten.given_images().items():
            if os.path.getsize(image) < MIB and "derived" not in name:
                plain, _ = self.attempt("plain", [image], ["--recompress=none"], "")
                shared, _ = self.attempt("shared", [image], ["--recompress=none"], "share")
                self.assertEqual(plain.code, shared.code, name)
                if plain.code == 0:
                    self.assertEqual(read(self.path("plain")), read(self.path("shared")), name)

    def test_sharing_that_fails(self):
        expected = read(self.make("expected", [self.old, self.path("new")]))
        for fault in ("share clone:1", "share clone:0"):
            result, calls = self.attempt("made", [self.old, self.path("new")], [], fault)
            self.expect(result, 0)
            self.assertNotIn("share", calls)
            self.assertEqual(read(self.path("made")), expected)

    def test_what_the_new_image_has_is_verified(self):
        """Not what is in the old one."""
        shutil.copy(self.old, self.path("self"))
        for inputs, words in (([self.path("self"), self.path("new")], []),
                              ([self.path("self")], ["--recompress=none"])):
            result, _ = self.attempt("self", inputs, words, "share garble")
            self.expect(result, 1, "XXH3 does not match")
            self.assertEqual(read(self.path("self")), read(self.old))

    def test_a_damaged_block(self):
        data = bytearray(read(self.old))
        data[20000] ^= 1
        self.write("damaged", bytes(data))
        damaged, new = self.path("damaged"), self.path("new")
        result, _ = self.attempt("made", [damaged, new], [], "share")
        self.expect(result, 1, "XXH3 does not match")
        self.assertFalse(os.path.exists(self.path("made")))
        self.compare([damaged], "--recompress=none", "--no-check", shares=False)

    def test_other_outputs(self):
        result, calls = self.attempt("made", [self.old], ["--recompress=none", "--dry-run"],
                                     "share")
        self.expect(result, 0)
        self.assertNotIn("share", calls)


class FileSystems(rewritten.Case):
    def mount(self, *make):
        """A new file system; its directory."""
        device, folder = self.path("device"), self.path("mounted")
        if os.geteuid() != 0:
            raise tap.Skip("only root can mount a file system")
        if not shutil.which(make[0]):
            raise tap.Skip(f"{make[0]} is not installed")
        with open(device, "wb") as file:
            file.truncate(ROOM)
        os.mkdir(folder)
        for command in ((*make, device), ("mount", "-o", "loop", device, folder)):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise tap.Skip(f"{command[0]}: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        return folder

    def used(self, folder):
        os.sync()
        found = os.statvfs(folder)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def shares_room(self, folder):
        """An append, and a copy, of an image of 24 MiB take the room of what is new."""
        self.write("tree/file", random.Random(7).randbytes(24 * MIB))
        self.write("new/other", b"new")
        image = os.path.join(folder, "image")
        self.make(image, [self.path("tree")], "-S22", "-C", "null")
        expected = read(self.make("expected", [image, self.path("new")]))
        before = self.used(folder)
        appended = self.make(os.path.join(folder, "appended"), [image, self.path("new")])
        self.assertEqual(read(appended), expected)
        self.intact(appended)
        copied = self.make(os.path.join(folder, "copied"), [image], "--recompress=none")
        self.same_files(image, copied)
        self.intact(copied)
        self.assertLess(self.used(folder) - before, 8 * MIB)
        # What is changed in one of them is changed there only.
        with open(image, "r+b") as file:
            file.write(bytes(MIB))
        self.intact(appended)
        shutil.copy(copied, image)
        self.make(image, [image, self.path("new")])
        self.intact(image)

    def test_xfs(self):
        self.shares_room(self.mount("mkfs.xfs", "-q", "-m", "reflink=1"))

    def test_btrfs(self):
        self.shares_room(self.mount("mkfs.btrfs", "-q"))


if __name__ == "__main__":
    rewritten.cli.main()
