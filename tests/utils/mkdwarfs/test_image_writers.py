#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two runs that write the same image at a time, and what a killed one left.

The first run reads a tar archive from a pipe, and waits for the rest of it while the second one
runs. It has opened its output when it has read more than fits into the pipe.
"""
import io
import os
import random
import subprocess
import tarfile

import absent
import faults as faults_of
import rewritten
from cli import run
from rewritten import read

KILLED = -9
RNG = random.Random(5)
NOISE = RNG.randbytes(3 << 20)


def archive():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("archived")
        info.size = len(NOISE)
        tar.addfile(info, io.BytesIO(NOISE))
    return out.getvalue()


class Writers(rewritten.Case):
    def setUp(self):
        super().setUp()
        self.named = faults_of.environment("O_TMPFILE")
        self.write("tree/file", NOISE[:5000])
        self.write("more/new", NOISE[5000:9000])
        os.mkdir(self.path("out"))
        self.image = self.make("out/image", [self.path("tree")])
        self.old = read(self.image)

    def files(self):
        return sorted(os.listdir(self.path("out")))

    def begin(self, *words, output=None, env=None):
        """Start a run that waits; it has opened its output."""
        absent.need("archive")
        process = subprocess.Popen(
            [os.environ["MKDWARFS"], *words, "-i", "-", "-o", output or self.image, "-l1",
             *rewritten.QUIET], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        data = archive()
        self.rest = data[2 << 20:]
        process.stdin.write(data[:2 << 20])
        process.stdin.flush()
        return process

    def finish(self, process, code, says=""):
        process.stdin.write(self.rest)
        process.stdin.close()
        text = process.stderr.read().decode()
        self.assertEqual(process.wait(), code, text)
        self.assertIn(says, text)

    def second(self, *words, output=None, env=None):
        return run("MKDWARFS", *words, "-i", self.path("more"), "-o", output or self.image,
                   "-l1", *rewritten.QUIET, env=env)

    def test_the_image_is_replaced_meanwhile(self):
        for words in (["-i", self.image], []):
            first = self.begin("-f", *words)
            self.expect(self.second("-f", "-i", self.image), 0)
            made = read(self.image)
            self.assertNotEqual(made, self.old)
            self.finish(first, 1, "was replaced by another process meanwhile")
            self.assertEqual(read(self.image), made)
            self.assertEqual(self.files(), ["image"])

    def test_the_image_is_created_meanwhile(self):
        for words, says in (["-f"], "was created by another process meanwhile"), \
                ([], "output file already exists"):
            os.remove(self.image)
            first = self.begin(*words)
            self.expect(self.second(*words), 0)
            made = read(self.image)
            self.finish(first, 1, says)
            self.assertEqual(read(self.image), made)
            self.assertEqual(self.files(), ["image"])

    def test_the_image_is_removed_meanwhile(self):
        first = self.begin("-f", "-i", self.image)
        os.remove(self.image)
        self.finish(first, 0)
        self.intact(self.image)
        self.assertEqual(self.files(), ["image"])

    def test_the_second_is_refused(self):
        """Where files cannot be without a name, the first one has a name from the beginning."""
        for env in (self.named, None):
            first = self.begin("-f", "-i", self.image, env=self.named)
            before = self.files()
            self.assertEqual(len(before), 2)
            self.expect(self.second("-f", "-i", self.image, env=env), 1,
                        "another process is writing the output file")
            self.assertEqual(self.files(), before)
            self.finish(first, 0)
            self.assertEqual(self.files(), ["image"])
            self.intact(self.image)

    def test_other_images_in_the_folder(self):
        first = self.begin("-f", "-i", self.image, env=self.named)
        for env in (self.named, None):
            other = self.path("out", "other")
            self.expect(self.second("-f", output=other, env=env), 0)
            self.assertEqual(len(self.files()), 3)
        self.finish(first, 0)
        self.assertEqual(self.files(), ["image", "other"])

    def killed(self):
        """A run that is killed leaves a file."""
        result = run("MKDWARFS", "-i", self.image, "-i", self.path("more"), "-o", self.image, "-f",
                     "-l1", *rewritten.QUIET, env=faults_of.environment("end:3 O_TMPFILE"))
        self.assertEqual(result.code, KILLED)
        self.assertEqual(read(self.image), self.old)
        left = [name for name in self.files() if name != "image"]
        self.assertEqual(len(left), 1)
        return left[0]

    def test_a_killed_run(self):
        for env in (self.named, None):
            self.killed()
            self.expect(self.second("-f", "-i", self.path("tree"), env=env), 0)
            self.assertEqual(self.files(), ["image"])
            self.intact(self.image)
            self.write("out/image", self.old)

    def test_a_killed_run_and_one_that_fails(self):
        self.killed()
        self.expect(run("MKDWARFS", "-i", self.path("none"), "-o", self.image, "-f"), 1)
        self.assertEqual(self.files(), ["image"])
        self.assertEqual(read(self.image), self.old)

    def test_a_directory_of_that_name(self):
        """What is not a file that a run left is not touched; other names are used."""
        left = self.killed()
        os.remove(self.path("out", left))
        os.mkdir(self.path("out", left))
        self.write(f"out/{left}/kept", b"kept")
        for env in (self.named, None):
            self.expect(self.second("-f", "-i", self.path("tree"), env=env), 0)
            self.assertEqual(self.files(), sorted(["image", left]))
            self.assertEqual(read(self.path("out", left, "kept")), b"kept")

    def test_a_link_of_that_name(self):
        left = self.killed()
        os.remove(self.path("out", left))
        other = self.write("other", b"kept")
        os.symlink(other, self.path("out", left))
        for env in (self.named, None):
            self.expect(self.second("-f", "-i", self.path("tree"), env=env), 0)
            self.assertEqual(self.files(), sorted(["image", left]))
            self.assertEqual(read(other), b"kept")


if __name__ == "__main__":
    rewritten.cli.main()
