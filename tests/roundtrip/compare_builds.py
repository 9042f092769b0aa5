#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that two builds of mkdwarfs, for two machines, make the same images of a tree.

    compare_builds.py REFERENCE_MKDWARFS [--other-words]

Each case packs the tree of rich.py with both, REFERENCE_MKDWARFS and the one in the environment
variable MKDWARFS, and compares the SHA-256 of the images. Run by scripts/platforms.

--other-words: the machine has another byte order, or words of another size. Blocks by lz4 and
lz4hc are not compared then: liblz4 hashes words of the machine, so where it finds matches depends
on both.
"""
import hashlib
import os
import subprocess
import sys

import rich
import scratch
import tap

OPTIONS = {
    **{f"level {level}": [f"-l{level}"] for level in (0, 5, 6, 9)},
    **{f"level {level}, zstd": [f"-l{level}", "-C", "zstd:3"] for level in (1, 3)},
    **{f"level {level}, lz4": [f"-l{level}"] for level in (1, 3)},
    "categories": ["-l5", "--categorize", "-S20"],
    "nilsimsa order, small blocks": ["-l4", "--order=nilsimsa", "-S14", "-N3"],
    "similarity order, fine windows": ["-l4", "--order=similarity", "-W6", "-w3"],
    "brotli, with all times": ["-l3", "-C", "brotli:5:lgwin=18", "--keep-all-times",
                               "--time-resolution=ns"],
    "all tables packed": ["-l1", "-C", "zstd:1", "--pack-metadata=all,force"],
}
SETTINGS = ["--no-history", "--no-create-timestamp", "--no-progress", "--log-level=warn", "--force",
            "--set-owner=1000", "--set-group=1000", "--no-xattrs"]


def digest(program, folder, options):
    image = os.path.join(folder, "image")
    subprocess.run([program, "-i", os.path.join(folder, "tree"), "-o", image, *SETTINGS, *options],
                   check=True, stdin=subprocess.DEVNULL)
    with open(image, "rb") as data:
        return hashlib.sha256(data.read()).hexdigest()


def main(reference, *options):
    suite = tap.Suite()
    folder = scratch.place("builds")
    os.mkdir(folder)
    rich.make(os.path.join(folder, "tree"))
    for name, words in OPTIONS.items():
        with suite.case(name):
            if "lz4" in name and "--other-words" in options:
                raise tap.Skip("the output of liblz4 depends on the words of the machine")
            expected, found = (digest(program, folder, words)
                               for program in (reference, tap.tool("MKDWARFS")))
            assert found == expected, f"{found}, not {expected}"
    suite.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
