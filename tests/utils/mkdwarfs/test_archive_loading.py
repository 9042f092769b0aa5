#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libarchive is loaded for archives only, and one that is missing or too old costs nothing else."""
import io
import os
import subprocess
import tarfile

import cli
from cli import run

NAME = "libarchive.so.13"


def make_tar(path):
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("file")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"hello"))


def was_loaded(program, *arguments):
    """Whether the dynamic linker opened libarchive."""
    env = dict(os.environ, LD_DEBUG="files")
    done = run(program, *arguments, env=env)
    return NAME in done.err, done


class Loading(cli.Case):
    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.dir, "tree")
        self.image = os.path.join(self.dir, "image")
        self.archive = os.path.join(self.dir, "a.tar")
        os.mkdir(self.tree)
        with open(os.path.join(self.tree, "name"), "w", encoding="ascii") as file:
            file.write("contents")
        make_tar(self.archive)

    def replace(self, source):
        """Have the programs find a library made from C instead."""
        folder = os.path.join(self.dir, "lib")
        os.mkdir(folder)
        subprocess.run([os.environ["DWARFS_CC"], "-shared", "-fPIC", "-x", "c", "-", "-o",
                        os.path.join(folder, NAME)], input=source.encode(), check=True)
        return dict(os.environ, LD_LIBRARY_PATH=folder)

    def test_loaded_for_archives_only(self):
        for program, arguments, wanted in (
                ("MKDWARFS", ["-i", self.tree, "-o", self.image], False),
                ("DWARFSCK", [self.image], False),
                ("DWARFSCK", ["--diff", self.image, self.tree], False),
                ("DWARFSEXTRACT", ["-i", self.image, "-o", os.path.join(self.dir, "out")], False),
                ("DWARFSEXTRACT", ["-i", self.image, "-f", "pax", "-o",
                                   os.path.join(self.dir, "out.tar")], True),
                ("MKDWARFS", ["-f", "-i", self.archive, "-o", self.image], True)):
            with self.subTest(program=program, arguments=arguments):
                loaded, done = was_loaded(program, *arguments)
                self.assertEqual(done.code, 0, done.err)
                self.assertEqual(loaded, wanted)

    def test_one_that_lacks_functions(self):
        env = self.replace("int nothing;")
        done = run("MKDWARFS", "-i", self.archive, "-o", self.image, env=env)
        self.assertNotEqual(done.code, 0)
        self.assertIn("archives need a newer libarchive: libarchive.so.13 has no archive_", done.err)
        self.assertFalse(os.path.exists(self.image))
        done = run("MKDWARFS", "-i", self.tree, "-o", self.image, env=env)
        self.assertEqual(done.code, 0, done.err)

    def test_one_that_cannot_be_loaded(self):
        env = self.replace("int nothing;")
        path = os.path.join(env["LD_LIBRARY_PATH"], NAME)
        with open(path, "r+b") as file:
            file.truncate(100)
        done = run("MKDWARFS", "-i", self.tree, "-o", self.image, env=env)
        self.assertEqual(done.code, 0, done.err)
        for program, arguments in (
                ("MKDWARFS", ["-f", "-i", self.archive, "-o", self.image]),
                ("DWARFSEXTRACT", ["-i", self.image, "-f", "pax", "-o",
                                   os.path.join(self.dir, "out.tar")]),
                ("DWARFSCK", ["--diff", self.image, self.archive])):
            with self.subTest(program=program):
                done = run(program, *arguments, env=env)
                self.assertNotEqual(done.code, 0)
                self.assertIn("archives need libarchive: ", done.err)
        self.assertEqual(run("DWARFSCK", self.image).code, 0)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "out.tar")))


if __name__ == "__main__":
    cli.main()
