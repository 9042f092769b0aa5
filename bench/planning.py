#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Planning of reading by many workers: partitions of an image of many files.

    planning.py [IMAGE...] [--files N] [--partitions N[,N...]] [--times N]
                [--package DIRECTORY] [--work DIRECTORY]

Makes an image of --files (100,000) small files with different contents if none is given, and calls
dwarfs.distributed.partitions() for --partitions (8) in an image that was just opened, --times (5)
times. Prints the seconds of each and the least. Then each partition is read by Partition.map() with
an empty cache, as by a worker of its own: prints the bytes of the largest and of the smallest, how
many blocks all of them decompress, and the ratio of that to the blocks of the image. --package
is the folder above the Python package, if that is not installed.
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


def plan(dwarfs, path, count, times):
    """Seconds, and the partitions."""
    seconds = []
    for _ in range(times):
        with dwarfs.open(path) as image:
            began = time.monotonic()
            found = dwarfs.distributed.partitions(image, count)
            seconds.append(time.monotonic() - began)
            files = sum(path.is_file(follow_symlinks=False) for path in image.walk())
            if sum(map(len, found)) != files:
                sys.exit("not all files are in a partition")
    return seconds, found, files


def decompressed(dwarfs, path, part):
    """How many blocks are decompressed to read the partition."""
    context = dwarfs.Context(timing=True, workers=0)
    with dwarfs.open(path, context=context) as image:
        part.image = image
        if sum(part.map(lambda path, data: len(data))) != part.size:
            sys.exit("not all bytes were read")
        return context.latencies()["decode"]["times"]


def report(dwarfs, path, count, times):
    seconds, found, files = plan(dwarfs, path, count, times)
    print(f"{files} files in {len(found)} partitions:",
          " ".join(f"{taken:.3f}" for taken in seconds),
          f"s; least {min(seconds):.3f} s, target {TARGET_SECONDS} s for 100,000 files")
    blocks = [decompressed(dwarfs, path, part) for part in found]
    sizes = [part.size for part in found]
    with dwarfs.open(path) as image:
        print(f"of {count}: {max(sizes)} to {min(sizes)} bytes; {sum(blocks)} blocks decompressed, "
              f"the image has {image.block_count}: {sum(blocks) / image.block_count:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("images", nargs="*", metavar="IMAGE")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--partitions", default="8", help="numbers of them, with commas")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--package")
    parser.add_argument("--work")
    arguments = parser.parse_args()
    if arguments.package:
        sys.path.insert(0, os.path.abspath(arguments.package))
    import dwarfs
    import dwarfs.distributed
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        images = arguments.images
        if not images:
            images = [os.path.join(work, "files.dwarfs")]
            make(dwarfs, images[0], arguments.files)
        for path in images:
            if arguments.images:
                print(os.path.basename(path))
            for count in map(int, arguments.partitions.split(",")):
                report(dwarfs, path, count, arguments.times)


main()
