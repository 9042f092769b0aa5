#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The time from starting a driver until the root of the mounted image is listed.

    mount_start.py DIRECTORY [--programs BUILD/utils]... [--rounds N] [--work DIRECTORY]

The directory is packed by the mkdwarfs of the first build, at level 7 and again with uncompressed
metadata, and by mksquashfs. Each build's dwarfs and a loop mount of squashfs take turns. The first
figure is the median, the second one the least; warm caches. Needs root for the loop mount.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

from mounting import available, make

METADATA = {"": [], "metadata not compressed": ["--metadata-compression=null"]}


def start(words, directory):
    """Milliseconds until the root is listed; then it is unmounted."""
    began = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.listdir(directory)
    took = time.perf_counter() - began
    subprocess.run(["umount", directory], check=True)
    time.sleep(0.05)  # until the driver has ended
    return 1000 * took


def commands(programs, tree, work, directory):
    """What is measured: {name: command}."""
    found = {}
    for text, options in METADATA.items():
        image = make("dwarfs", tree, os.path.join(work, f"start-{len(options)}.dwarfs"),
                     programs[0], ["-l7", *options])
        for build in programs:
            name = ", ".join(filter(None, ["dwarfs", build, text]))
            found[name] = [os.path.join(build, "dwarfs"), image, directory]
    if available("squashfs"):
        image = make("squashfs", tree, os.path.join(work, "start.squashfs"), programs[0], [])
        found["squashfs"] = ["mount", "-t", "squashfs", "-o", "loop,ro", image, directory]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("directory")
    parser.add_argument("--programs", action="append", help="default: build/utils")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--work", help="where images are kept; default: a temporary directory")
    arguments = parser.parse_args()
    programs = arguments.programs or ["build/utils"]
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, \
            tempfile.TemporaryDirectory(prefix="bench-") as directory:
        measured = commands(programs, arguments.directory, arguments.work or scratch, directory)
        times = {name: [] for name in measured}
        for _ in range(arguments.rounds):
            for name, words in measured.items():
                times[name].append(start(words, directory))
    for name, found in times.items():
        print(f"{name}: {statistics.median(found):.2f} ms, {min(found):.2f} ms")


if __name__ == "__main__":
    main()
