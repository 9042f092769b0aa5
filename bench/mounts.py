#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Comparison of mounted images: data and attributes, in order and at random, twice.

    mounts.py SETS [--programs BUILD/utils] [--rounds N] [--only dwarfs,squashfs,...]
              [--rows 'start,find -ls,...'] [--tree DIRECTORY] [--file-bytes N]
              [--work DIRECTORY] [--results FILE]

SETS/rootfs is made by datasets.py; --tree names another directory. All are packed once, into
SETS/mounts or --work: by mkdwarfs at level 7, mksquashfs with zstd -22 and blocks of 128 KiB, its
default, or 1 MiB (squashfs-1M), and mkfs.erofs -zlz4hc,12 -C65536. A file of 200 MB made of the
tree's contents is packed alone, for fio.

Each figure is the least of --rounds runs. The first time is that on a fresh mount with empty caches
of the kernel but for the image file, which is in the page cache; the second follows on the same
mount. "start" is the median time from starting the mount until its root is listed, with warm
caches. Needs root and loop devices for what the kernel mounts. With one processor: taskset -c 0.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import mount_start
from mounting import (IMAGES, KINDS, OPTIONS, Fresh, available, cold_and_warm, make, ratios, save,
                      seconds)

READS = 20000
STARTS = 9


def quiet(*words):
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def list_attributes(directory):
    return seconds(lambda: quiet("find", directory, "-ls"))


def read_in_order(directory):
    return seconds(lambda: subprocess.run(
        "find . -type f -print0 | xargs -0 cat", shell=True, cwd=directory, check=True,
        stdout=subprocess.DEVNULL))


def archive(directory):
    return seconds(lambda: subprocess.run("tar cf - . | cat", shell=True, cwd=directory, check=True,
                                          stdout=subprocess.DEVNULL))


def start(mount):
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        words = mount.command(directory)
        return statistics.median(mount_start.start(words, directory) for _ in range(STARTS)) / 1000


class Contents:
    """The contents of the tree: the same random paths and offsets for all."""

    def __init__(self, tree):
        rng = random.Random(1)
        self.paths, self.places = [], []
        for parent, folders, files in os.walk(tree):
            for name in sorted(folders + files):
                self.paths.append(os.path.relpath(os.path.join(parent, name), tree))
        rng.shuffle(self.paths)
        for path in self.paths:
            full = os.path.join(tree, path)
            if os.path.isfile(full) and not os.path.islink(full) and os.path.getsize(full):
                self.places += [(path, rng.randrange(os.path.getsize(full)))
                                for _ in range(1 + os.path.getsize(full) // 200000)]
        rng.shuffle(self.places)

    def look_up(self, directory):
        """Attributes of all paths, at random."""
        root = os.open(directory, os.O_RDONLY)
        try:
            return seconds(lambda: [os.stat(path, dir_fd=root, follow_symlinks=False)
                                    for path in self.paths])
        finally:
            os.close(root)

    def read_at_random(self, directory):
        """4 KiB at random offsets of random files."""
        def read():
            for path, place in self.places:
                fd = os.open(path, os.O_RDONLY, dir_fd=root)
                if not os.pread(fd, 4096, place):
                    sys.exit(f"{path} ends before {place}")
                os.close(fd)
        root = os.open(directory, os.O_RDONLY)
        try:
            return seconds(read)
        finally:
            os.close(root)


def fio(directory, pattern, block):
    """Seconds of fio: for the whole file in order, or for READS offsets of it."""
    done = subprocess.run(
        ["fio", "--name=read", f"--filename={directory}/file", "--readonly", f"--rw={pattern}",
         f"--bs={block}", "--ioengine=psync", "--invalidate=0", "--output-format=json",
         "--randrepeat=1", "--randseed=7",
         *([f"--number_ios={READS}"] if pattern == "randread" else [])],
        stdout=subprocess.PIPE, check=True)
    read = json.loads(done.stdout)["jobs"][0]["read"]
    return read["io_bytes"] / read["bw_bytes"]


def file_of(tree, path, size):
    """A file of this size: the contents of the tree's files, one after the other."""
    if os.path.exists(path) and os.path.getsize(path) == size:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        while out.tell() < size:
            before = out.tell()
            for parent, folders, files in os.walk(tree):
                folders.sort()
                for name in sorted(files):
                    full = os.path.join(parent, name)
                    if os.path.isfile(full) and not os.path.islink(full):
                        with open(full, "rb") as source:
                            shutil.copyfileobj(source, out)
                if out.tell() >= size:
                    break
            if out.tell() == before:
                sys.exit(f"{tree} has no contents")
        out.truncate(size)


def is_asked(arguments, name):
    return not arguments.rows or name in arguments.rows


def measure(kind, arguments, work, contents, figures):
    def run(name, image, function):
        if f"{name}, first" in figures or not is_asked(arguments, name):
            return
        first, second = cold_and_warm(arguments.rounds,
                                      lambda: Fresh(kind, image, arguments.programs), function)
        figures[f"{name}, first"], figures[f"{name}, second"] = first, second
        print(f"# {kind}: {name}: {first:.3f} {second:.3f}", file=sys.stderr, flush=True)

    packer = IMAGES[kind]
    tree = make(packer, arguments.tree, os.path.join(work, "tree." + packer), arguments.programs,
                OPTIONS[packer])
    file = make(packer, os.path.join(work, "file"), os.path.join(work, "file." + packer),
                arguments.programs, OPTIONS[packer])
    if "start" not in figures and is_asked(arguments, "start"):
        figures["start"] = start(Fresh(kind, tree, arguments.programs))
    run("find -ls", tree, list_attributes)
    run("attributes at random", tree, contents.look_up)
    run("all files in order", tree, read_in_order)
    run("tar of all", tree, archive)
    run("4 KiB at random", tree, contents.read_at_random)
    if shutil.which("fio"):
        run("fio, one file in order", file, lambda where: fio(where, "read", "128k"))
        run("fio, 4 KiB of it at random", file, lambda where: fio(where, "randread", "4k"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sets", metavar="SETS")
    parser.add_argument("--programs", default="build/utils")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--rows", type=lambda text: text.split(","), default=[],
                        help="measure only these, such as 'start,tar of all'")
    parser.add_argument("--tree", help="instead of SETS/rootfs")
    parser.add_argument("--file-bytes", type=int, default=200_000_000)
    parser.add_argument("--work", help="for the images, instead of SETS/mounts")
    parser.add_argument("--results", metavar="FILE", help="file of figures, to store and reuse")
    arguments = parser.parse_args()
    arguments.tree = arguments.tree or os.path.join(arguments.sets, "rootfs")
    work = arguments.work or os.path.join(arguments.sets, "mounts")
    results = {}
    if arguments.results and os.path.exists(arguments.results):
        with open(arguments.results, encoding="utf-8") as file:
            results = json.load(file)
    file_of(arguments.tree, os.path.join(work, "file", "file"), arguments.file_bytes)
    contents = Contents(arguments.tree)
    for kind in arguments.only:
        if kind not in KINDS:
            sys.exit(f"no kind '{kind}'; there are {', '.join(KINDS)}")
        if not available(kind):
            print(f"# {kind} is missing", file=sys.stderr)
            continue
        measure(kind, arguments, work, contents, results.setdefault(kind, {}))
        save(arguments.results, results)
    rows = list(dict.fromkeys(row for figures in results.values() for row in figures))
    columns = [kind for kind in KINDS if kind in results]
    ratios("first and second time", rows, results, columns,
           "squashfs" if "squashfs" in columns else columns[0])


if __name__ == "__main__":
    main()
