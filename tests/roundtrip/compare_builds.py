#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check that two builds of mkdwarfs, for two machines, make the same images of a tree.

    compare_builds.py REFERENCE_MKDWARFS [--words=32] [--big-endian]

Each case packs the tree of rich.py with both, REFERENCE_MKDWARFS and the one in the environment
variable MKDWARFS, and compares the SHA-256 of the images. Run by scripts/platforms.

--words=32, --big-endian: how the machine differs from the reference. Blocks by lz4 differ on
both kinds, and by lz4hc on machines with the other byte order, since liblz4 hashes words of the
machine to find matches. Of such images that differ, the metadata and the contents are compared,
as read by the dwarfsck beside REFERENCE_MKDWARFS.
"""
import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys

import rich
import scratch
import tap

OPTIONS = {
    **{f"level {level}": [f"-l{level}"] for level in (0, 5, 6, 9)},
    **{f"level {level}, zstd": [f"-l{level}", "-C", "zstd:3"] for level in (1, 3)},
    "level 1, lz4": ["-l1"],
    "level 3, lz4hc": ["-l3"],
    "lz4hc at its highest level": ["-l2", "-C", "lz4hc:level=12"],
    "categories": ["-l5", "--categorize", "-S20"],
    "nilsimsa order, small blocks": ["-l4", "--order=nilsimsa", "-S14", "-N3"],
    "similarity order, fine windows": ["-l4", "--order=similarity", "-W6", "-w3"],
    "brotli, with all times": ["-l3", "-C", "brotli:5:lgwin=18", "--keep-all-times",
                               "--time-resolution=ns"],
    "all tables packed": ["-l1", "-C", "zstd:1", "--pack-metadata=all,force"],
}
AT_A_TIME = 2  # an emulated program uses little more than one processor
SETTINGS = ["--no-history", "--no-create-timestamp", "--no-progress", "--log-level=warn", "--force",
            "--set-owner=1000", "--set-group=1000", "--no-xattrs"]


def packed(program, folder, name, options):
    """The path of an image."""
    image = os.path.join(folder, name)
    subprocess.run([program, "-i", os.path.join(folder, "tree"), "-o", image, *SETTINGS, *options],
                   check=True, stdin=subprocess.DEVNULL)
    return image


def digest(image):
    with open(image, "rb") as data:
        return hashlib.sha256(data.read()).hexdigest()


def described(dwarfsck, image):
    """The tables of an image, and the digests of its files."""
    return [subprocess.run([dwarfsck, *words, image], check=True, stdout=subprocess.PIPE).stdout
            for words in (["--export-metadata=-"], ["--checksum=sha256"])]


def codecs_that_differ(options):
    return (({"lz4"} if options else set())
            | ({"lz4hc"} if "--big-endian" in options else set()))


def main(reference, *options):
    suite = tap.Suite()
    folder = scratch.place("builds")
    os.mkdir(folder)
    rich.make(os.path.join(folder, "tree"))
    differ = codecs_that_differ(options)
    programs = {"expected": reference, "found": tap.tool("MKDWARFS")}
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as executor:
        made = {name: [executor.submit(packed, program, folder, f"{which}-{number}", words)
                       for which, program in programs.items()]
                for number, (name, words) in enumerate(OPTIONS.items())}
    for name in OPTIONS:
        with suite.case(name):
            images = [image.result() for image in made[name]]
            expected, found = map(digest, images)
            if found == expected:
                continue
            assert differ & set(re.findall(r"lz4\w*", name)), f"{found}, not {expected}"
            dwarfsck = os.path.join(os.path.dirname(reference), "dwarfsck")
            expected, found = (described(dwarfsck, image) for image in images)
            assert found == expected, "other metadata or contents"
    suite.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
