# SPDX-License-Identifier: MIT
"""Run the programs as a user does, and check their output and files.

Cases are unittest classes; main() reports each as a TAP line. The programs are found by the
variables MKDWARFS, DWARFSCK and so on.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import tap

FIRST_TIME = 1600000000

# Sanitizers, valgrind and emulators use memory, which counts for limits of memory.
IS_NATIVE = (not os.environ.get("DWARFS_SANITIZED") and not os.environ.get("DWARFS_EMULATOR")
             and "vgpreload" not in os.environ.get("LD_PRELOAD", ""))


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode("utf-8", "surrogateescape")
        self.err = done.stderr.decode("utf-8", "surrogateescape")


def run(program, *arguments, **options):
    """Run a program, named by its variable; never longer than two minutes."""
    options.setdefault("timeout", 300)
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    find = tap.tool_for_anybody if "user" in options else tap.tool
    done = subprocess.run([find(program), *arguments], **options)
    if done.stdout is None:
        done.stdout = b""
    return Result(done)


class Case(unittest.TestCase):
    """A case with a temporary directory."""

    maxDiff = None
    on_disk = False  # whether it must be there

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="cli-", dir=tap.disk() if self.on_disk else None)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def wait_for_handler(self, child, number):
        """Wait until the program catches the signal, or has ended."""
        until = time.monotonic() + 30
        while child.poll() is None and time.monotonic() < until:
            with open(f"/proc/{child.pid}/status", encoding="ascii", errors="replace") as status:
                caught = [line.split()[1] for line in status if line.startswith("SigCgt:")]
            if caught and int(caught[0], 16) >> (number - 1) & 1:
                return
            time.sleep(0.01)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, contents=b"", mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(contents)
        os.chmod(path, mode)
        return path

    def tree(self, name="tree"):
        """A small tree with every type of entry that needs no privileges."""
        self.write(f"{name}/a.txt", b"first\n" * 1000)
        self.write(f"{name}/same.txt", b"first\n" * 1000)
        self.write(f"{name}/empty")
        self.write(f"{name}/sub/deep/b.sh", b"#!/bin/sh\nexit 0\n", 0o755)
        self.write(f"{name}/sub/c.bin", bytes(range(256)) * 5000)
        self.write(f"{name}/sub/odd \\ name\n.txt", b"odd")
        self.write(f"{name}/sub/noise", tap.random_bytes(30000))
        os.link(self.path(name, "a.txt"), self.path(name, "sub", "hard.txt"))
        os.symlink("sub/c.bin", self.path(name, "link"))
        with open(self.path(name, "hole"), "wb") as out:
            out.write(b"start")
            out.truncate(1 << 20)
        for parent, dirs, files in os.walk(self.path(name), topdown=False):
            for entry in dirs + files:
                os.utime(os.path.join(parent, entry), (FIRST_TIME, FIRST_TIME + 5),
                         follow_symlinks=False)
        os.utime(self.path(name), (FIRST_TIME, FIRST_TIME))
        return self.path(name)

    def expect(self, result, code, *texts):
        """Check the exit code, and that stderr contains these texts."""
        self.assertEqual(result.code, code, result.err)
        for text in texts:
            self.assertIn(text, result.err)
        return result

    def pack(self, *arguments, tree=None, code=0):
        """Pack a tree fast; returns the path of the image."""
        image = self.path("image.dwarfs")
        tree = tree or self.tree()
        self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l", "2", "-S", "16",
                        "--no-progress", *arguments), code)
        return image

    def info(self, image, *arguments):
        return json.loads(run("DWARFSCK", "--json", image, *arguments).out)

    def listing(self, image):
        """The words of each line of a long list, by path."""
        result = self.expect(run("DWARFSCK", "-l", "-v", image), 0)
        return {words[5]: words for words in
                (line.split(None, 5) for line in result.out.splitlines())}


def main():
    """Report every case of the calling program; the arguments choose some by name."""
    suite = tap.Suite()
    loader = unittest.TestLoader()
    for group in loader.loadTestsFromModule(sys.modules["__main__"]):
        for case in group:
            name = case.id().split(".", 1)[1]
            if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
                continue
            with suite.case(name):
                outcome = unittest.TestResult()
                case.run(outcome)
                for _, text in outcome.errors + outcome.failures:
                    if "tap.Skip" in text:
                        raise tap.Skip(text.strip().splitlines()[-1].split(": ", 1)[-1])
                    raise AssertionError(text)
                for _, why in outcome.skipped:
                    raise tap.Skip(why)
    suite.finish()
