# SPDX-License-Identifier: MIT
"""Shared by the tests of this folder: an image, and the output of reader.c for it."""
import os
import re
import shutil
import subprocess
import tempfile

import absent
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
READER_C = os.path.join(HERE, "reader.c")
# Programs that check what they need of the reader, and print only what is wrong.
CHECKS = ("calls", "sources", "allocations", "forks")
FILES = {"a.txt": b"text\n" * 1000, "empty": b"", "sub/b.bin": bytes(range(256)) * 700,
         "sub/deep/c.txt": b"c"}


def run(*command, **options):
    """The standard output of a command that succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, \
        f"{command} ended with {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise tap.Skip(f"no {program}")


def run_with_meson(*tests):
    """A suite of tests that configure and build: each gets the suite and one folder for all."""
    for program in ("meson", "ninja"):
        if not shutil.which(program):
            tap.skip_all(f"no {program}")
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-embed-") as scratch:
        for test in tests:
            test(suite, scratch)
    suite.finish()


def make_tree(folder):
    for name, data in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)
    return folder


def make_image(scratch):
    """An image with the codec that every reader of these tests has; without it uncompressed."""
    image = os.path.join(scratch, "image.dwarfs")
    run(tap.tool("MKDWARFS"), "-i", make_tree(os.path.join(scratch, "tree")), "-o", image,
        *(["-l0"] if "zstd" in absent.ABSENT else ["-C", "zstd:level=3"]), "--no-progress")
    return image


def fnv(data):
    total = 2166136261
    for byte in data:
        total = (total ^ byte) * 16777619 & 0xFFFFFFFF
    return total


def error_number(name):
    with open(os.path.join(ROOT, "include/dwarfs/error.h"), encoding="utf-8") as header:
        return int(re.search(rf"\b{name} = (-?\d+)", header.read()).group(1))


def expect(said, verifies_sha):
    """The output matches the image; the check verified all hashes, or reported that it could
    not."""
    wanted = {f"{name} {len(data)} {fnv(data):08x}" for name, data in FILES.items()}
    if verifies_sha:
        wanted.add("check: 0")
    else:
        code = error_number("DWARFS_ERR_UNSUPPORTED")
        wanted |= {f"warning {code}", f"check: {code}"}
    assert set(said.splitlines()) == wanted, said


def check_source(name):
    return os.path.join(HERE, name + ".c")


def run_checks(program, image, **options):
    """Run the programs of CHECKS, each with the path that program(NAME) returns."""
    for name in CHECKS:
        run(program(name), image, **options)


def text_bytes(binary):
    """Bytes of code and constants."""
    return int(run("size", binary).splitlines()[1].split()[0])
