#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Libraries are loaded by what needs them only, and one that is missing or too old costs nothing else."""
import hashlib
import io
import os
import re
import struct
import subprocess
import tarfile
import wave

import cli
import mount
import tap
from cli import run

NAME = "libarchive.so.13"
LIBB2 = "libb2.so.1"


def make_tar(path):
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("file")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"hello"))


def make_wave(path):
    with wave.open(path, "wb") as audio:
        audio.setparams((2, 2, 44100, 0, "NONE", ""))
        audio.writeframes(b"".join(struct.pack("<hh", i * 37 % 2000, i * 41 % 3000)
                                   for i in range(40_000)))


def was_loaded(library, program, *arguments):
    """Whether the dynamic linker opened a library."""
    env = dict(os.environ, LD_DEBUG="files")
    done = run(program, *arguments, env=env)
    return library in done.err, done


def need_replaceable():
    """Skip the case where a path in the program comes before LD_LIBRARY_PATH, as in builds for
    other machines, whose libraries are in a folder of their own."""
    path = os.path.join(os.environ["DWARFS_BUILD_ROOT"], "utils", "mkdwarfs")
    done = subprocess.run(["readelf", "-d", path], check=True, stdout=subprocess.PIPE)
    if b"(RPATH)" in done.stdout:
        raise tap.Skip("the RPATH of this build comes before LD_LIBRARY_PATH")


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

    def replace(self, source, name=NAME):
        """Have the programs find a library made from C instead."""
        need_replaceable()
        folder = os.path.join(self.dir, "lib")
        os.makedirs(folder, exist_ok=True)
        subprocess.run([os.environ["DWARFS_CC"], "-shared", "-fPIC", "-x", "c", "-", "-o",
                        os.path.join(folder, name)], input=source.encode(), check=True)
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
                loaded, done = was_loaded(NAME, program, *arguments)
                self.assertEqual(done.code, 0, done.err)
                self.assertEqual(loaded, wanted)

    def test_one_that_lacks_functions(self):
        env = self.replace("int nothing;")
        done = run("MKDWARFS", "-i", self.archive, "-o", self.image, env=env)
        self.assertNotEqual(done.code, 0)
        self.assertIn("archives need libarchive: libarchive.so.13 has no archive_", done.err)
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

    def flac_name(self):
        """The file of libFLAC that this build loads, or None."""
        make_wave(os.path.join(self.tree, "a.wav"))
        done = run("MKDWARFS", "-i", self.tree, "-o", self.image, "--categorize=pcmaudio",
                   "-C", "pcmaudio/waveform::flac", env=dict(os.environ, LD_DEBUG="files"))
        if done.code != 0 and "not built in" in done.err:
            return None
        self.assertEqual(done.code, 0, done.err)
        return re.search(r"libFLAC\.so\.[0-9]+", done.err).group(0)

    def test_flac(self):
        name = self.flac_name()
        if not name:
            self.skipTest("built without FLAC")
        wanted = run("DWARFSCK", "--cat", "a.wav", self.image).raw
        loaded, done = was_loaded(name, "DWARFSCK", "-l", self.image)
        self.assertEqual((loaded, done.code), (False, 0), done.err)
        env = self.replace("int nothing;", name)
        done = run("DWARFSCK", "--cat", "a.wav", self.image, env=env)
        self.assertNotEqual(done.code, 0)
        self.assertIn(f"FLAC needs libFLAC: {name} has no FLAC__stream_decoder_", done.err)
        self.assertEqual(run("DWARFSCK", "--cat", "name", self.image, env=env).out, "contents")

        # Audio is packed by what is there; a codec that was asked for is not replaced.
        done = run("MKDWARFS", "-f", "-i", self.tree, "-o", self.image, "--categorize=pcmaudio",
                   env=env)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(run("DWARFSCK", "--cat", "a.wav", self.image, env=env).raw,
                         wanted)
        done = run("MKDWARFS", "-f", "-i", self.tree, "-o", self.image, "--categorize=pcmaudio",
                   "-C", "pcmaudio/waveform::flac", env=env)
        self.assertNotEqual(done.code, 0)
        self.assertIn(f"FLAC needs libFLAC: {name} has no FLAC__stream_encoder_", done.err)

    def test_flac_before_the_mount(self):
        """The mount may cover the directory of the library."""
        if not self.flac_name():
            self.skipTest("built without FLAC")
        try:
            mount.available()
        except tap.Skip as reason:
            self.skipTest(str(reason))
        plain = os.path.join(self.dir, "plain")
        self.assertEqual(run("MKDWARFS", "-i", self.tree, "-o", plain).code, 0)
        for image, wanted in ((self.image, True), (plain, False)):
            with mount.mounted(image) as path:
                pid = int(os.getxattr(path, "user.dwarfs.driver.pid"))
                with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
                    self.assertEqual("libFLAC" in maps.read(), wanted)

    def test_blake2(self):
        run("MKDWARFS", "-i", self.tree, "-o", self.image)
        sums = ("DWARFSCK", "--checksum=blake2b512", self.image)
        done = run(*sums)
        if "there is no hash algorithm" in done.err:
            self.skipTest("built without BLAKE2")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn(hashlib.blake2b(b"contents").hexdigest(), done.out)
        self.assertFalse(was_loaded(LIBB2, "DWARFSCK", "--checksum=sha256", self.image)[0])
        done = run(*sums, env=self.replace("int nothing;", LIBB2))
        self.assertNotEqual(done.code, 0)
        self.assertIn(f"BLAKE2 needs libb2: {LIBB2} has no blake2b_init", done.err)


if __name__ == "__main__":
    cli.main()
