#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files accepted as images: regular files and block devices, and none that would block."""
import os
import socket
import subprocess

import cli
from cli import run
import tap

SOON = 30  # seconds


class Inputs(cli.Case):
    def programs(self, image):
        """Command lines of every program that opens an image."""
        yield "DWARFSCK", image
        yield "DWARFSCK", "--check-integrity", image
        yield "DWARFSCK", "--diff", image, image
        yield "DWARFSCK", "--salvage", self.path("saved"), image
        yield "DWARFSEXTRACT", "-i", image, "-o", self.path("out")
        if os.environ.get("DWARFS"):
            os.makedirs(self.path("mount"), exist_ok=True)
            yield "DWARFS", image, self.path("mount"), "-f"

    def refused(self, path, text):
        for words in self.programs(path):
            if words[1] == "--diff":
                continue
            result = run(*words, timeout=SOON)
            self.assertEqual(result.code, 1, (words, result.err))
            self.assertIn(f"'{path}'", result.err, words)
            self.assertIn(text, result.err, words)

    def test_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        self.refused(self.path("pipe"), "is a pipe")

    def test_a_socket(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("socket"))
            self.refused(self.path("socket"), "is a socket")

    def test_a_character_device(self):
        self.refused("/dev/null", "is a character device")
        self.refused("/dev/tty", "is a character device")

    def test_a_directory(self):
        self.refused(self.dir, "is a directory")

    def test_a_link_to_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        self.refused(self.path("link"), "is a pipe")

    def test_a_block_device(self):
        tree = self.tree()
        size = os.path.getsize(self.pack("--no-history", tree=tree))
        # A device has whole sectors.
        filler = self.write("filler", b"#" * (-size % 512))
        image = self.pack("--no-history", "--header", filler, tree=tree)
        self.assertEqual(os.path.getsize(image) % 512, 0)
        try:
            device = subprocess.run(["losetup", "--find", "--show", "--read-only", image],
                                    check=True, capture_output=True, text=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise tap.Skip(f"no loop devices here: {error}") from error
        self.addCleanup(subprocess.run, ["losetup", "--detach", device], check=True)
        self.expect(run("DWARFSCK", "-O", "auto", "--check-integrity", device), 0)
        listed = run("DWARFSCK", "-O", "auto", "-l", device)
        self.assertEqual(listed.out, run("DWARFSCK", "-O", "auto", "-l", image).out)
        self.expect(run("DWARFSEXTRACT", "-O", "auto", "-i", device, "-o", self.path("out")), 0)
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(os.listdir(tree)))


if __name__ == "__main__":
    cli.main()
