# SPDX-License-Identifier: MIT
"""Rewriting images: run mkdwarfs with an image as input, and compare image and result."""
import json
import os

import cli
import decoded
import strict
import tap
from cli import run

QUIET = ["--no-progress", "--no-history-timestamps", "--no-history-command-line",
         "--no-create-timestamp"]
MUCH = 1 << 30  # computing checksums of that many bytes takes long; --diff knows holes


def read(path):
    with open(path, "rb") as source:
        return source.read()


def given_images():
    """The images of the test data that can be read, by their path below its folder."""
    root = tap.data("images")
    names = [os.path.relpath(os.path.join(parent, name), root)
             for parent, _, files in os.walk(root) for name in files
             if name.endswith(".dwarfs") and not name.startswith("future-features")]
    assert len(names) >= 40, names
    return {name: os.path.join(root, name) for name in sorted(names)}


def sections_of(path):
    """Type and stored bytes of each section after the header, which is not read."""
    data = read(path)
    start = data.index(b"DWARFS\2") if not data.startswith(b"DWARFS") else 0
    while start >= 0:
        found, at = [], start
        while data[at:at + 6] == b"DWARFS":
            size = int.from_bytes(data[at + 56:at + 64], "little")
            found.append((int.from_bytes(data[at + 52:at + 54], "little"),
                          data[at:at + 64 + size]))
            at += 64 + size
        if at == len(data):
            return found
        start = data.find(b"DWARFS\2", start + 1)
    raise AssertionError(f"{path} has no sections")


def blocks_of(path):
    return [stored for kind, stored in sections_of(path) if kind == 0]


def metadata_of(path):
    done = run("DWARFSCK", path, "--export-metadata=-", "-d0", "--no-check")
    assert done.code == 0, done.err
    return done.out


def versions_of(path):
    return json.loads(metadata_of(path)).get("metadata_version_history") or []


def strict_accepts(path, info):
    """Whether the checker accepts an image; None if it cannot read it."""
    try:
        strict.check(read(path)[info["image_offset"]:])
    except decoded.Unavailable:
        return None
    except (decoded.Broken, IndexError):
        return False
    return True


_GIVEN = {}  # what is known of images that do not change, by path and command


class Case(cli.Case):
    """A case that compares images."""

    def once(self, path, compute):
        """The result of a function of an image; computed once for one of the test data."""
        if not path.startswith(os.environ.get("DWARFS_TEST_DATA") or "\0"):
            return compute(path)
        key = path, compute.__name__
        if key not in _GIVEN:
            _GIVEN[key] = compute(path)
        return _GIVEN[key]

    def make(self, name, inputs, *words, code=0, says=()):
        """Run mkdwarfs; returns the path of its output."""
        output = self.path(name)
        self.result = run("MKDWARFS", *(word for path in inputs for word in ("-i", path)), "-o",
                          output, "-l1", "-f", *QUIET, *words)
        self.expect(self.result, code, *says)
        return output

    def refuse(self, inputs, *words, says):
        """It fails with this message, and there is no output."""
        output = self.make("refused", inputs, *words, code=1, says=[says])
        self.assertFalse(os.path.exists(output))

    def long_list(self, image):
        return self.expect(run("DWARFSCK", "-l", "-v", image), 0).out

    def sums(self, image):
        done = self.expect(run("DWARFSCK", "--checksum", "xxh3-64", image), 0)
        return sorted(done.out.splitlines())

    def same_files(self, before, after, info=None):
        """The same entries with the same attributes and contents."""
        self.assertEqual(self.once(before, self.long_list), self.long_list(after))
        self.expect(run("DWARFSCK", "--diff", before, after, "--diff-resolution=ns"), 0)
        info = info or self.info(before)
        if info["original_filesystem_size"] < MUCH:
            self.assertEqual(self.once(before, self.sums), self.sums(after))

    def intact(self, image):
        self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)
