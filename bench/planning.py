#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Planning of reading by many workers: partitions of an image of many files.

    planning.py [--files N] [--partitions N] [--times N] [--package DIRECTORY] [--work DIRECTORY]

Makes an image of --files (100,000) small files with different contents, and calls
dwarfs.distributed.partitions() for --partitions (8) in an image that was just opened, --times (5)
times. Prints the seconds of each and the least. --package is the folder above the Python package,
if that is not installed.
"""
import argparse
import os
import sys
import tempfile
import time

TARGET_SECONDS = 2


def make(dwarfs, path, count):
    builder = dwarfs.Builder(level=1)
    for number in range(count):
        builder.add(f"{number // 1000}/{number}", b"file %d\n" % number)
    builder.write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--package")
    parser.add_argument("--work")
    arguments = parser.parse_args()
    if arguments.package:
        sys.path.insert(0, os.path.abspath(arguments.package))
    import dwarfs
    from dwarfs import distributed
    seconds = []
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        path = os.path.join(work, "files.dwarfs")
        make(dwarfs, path, arguments.files)
        for _ in range(arguments.times):
            with dwarfs.open(path) as image:
                began = time.monotonic()
                found = distributed.partitions(image, arguments.partitions)
                seconds.append(time.monotonic() - began)
                if sum(map(len, found)) != arguments.files:
                    sys.exit("not all files are in a partition")
    print(f"{arguments.files} files in {len(found)} partitions:",
          " ".join(f"{taken:.3f}" for taken in seconds),
          f"s; least {min(seconds):.3f} s, target {TARGET_SECONDS} s for 100,000 files")


main()
