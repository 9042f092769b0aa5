#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processor time of mkdwarfs for each of many tiny files, at growing counts.

    bench/many.py [--mkdwarfs PATH] [--directory /dev/shm] [--level 7] [--keep] [COUNT ...]

Makes trees of COUNT files of about 30 different bytes each (100,000, 400,000 and 1,600,000 by
default), a hundred in a directory unless --in-directory says otherwise, packs each, and prints the microseconds of processor time
for each file, of the program and of the system, and the ratio to the smallest count. If the time
grows linearly with the number of files, the ratio is 1. A memory file system excludes the disk.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

DIRECTORIES = 100  # in one above them


def make_tree(root, count, in_directory):
    for number in range(count):
        if number % in_directory == 0:
            directory = os.path.join(root, f"{number // in_directory // DIRECTORIES:04}",
                                     f"{number // in_directory % DIRECTORIES:02}")
            os.makedirs(directory)
        with open(os.path.join(directory, f"f{number:07}.txt"), "w", encoding="ascii") as out:
            out.write(f"file number {number} {number * 7919 % 1000003}\n")


def processor_time(words):
    """Seconds of the program and of the system."""
    child = subprocess.Popen(words)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{words[0]}: exit status {child.returncode}")
    return usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("counts", nargs="*", type=int, metavar="COUNT")
    parser.add_argument("--mkdwarfs", default="mkdwarfs")
    parser.add_argument("--directory", default="/dev/shm")
    parser.add_argument("--level", default="7")
    parser.add_argument("--in-directory", type=int, default=100)
    parser.add_argument("--keep", action="store_true", help="keep and reuse the trees")
    arguments = parser.parse_args()
    first = None
    print("files      user us  system us  ratio  MiB")
    for count in arguments.counts or [100000, 400000, 1600000]:
        kept = os.path.join(arguments.directory, f"dwarfs-many-{count}-{arguments.in_directory}")
        root = kept if arguments.keep else tempfile.mkdtemp(dir=arguments.directory)
        try:
            if not os.path.exists(os.path.join(root, "0000")):
                make_tree(root, count, arguments.in_directory)
            user, system, mib = processor_time(
                [arguments.mkdwarfs, "-i", root, "-o", "/dev/null", "-f", "-l", arguments.level,
                 "--no-progress", "--log-level=error"])
        finally:
            if not arguments.keep:
                shutil.rmtree(root)
        each = (user + system) / count * 1e6
        first = first or each
        print(f"{count:<9} {user / count * 1e6:8.2f} {system / count * 1e6:10.2f} "
              f"{each / first:6.2f} {mib:4.0f}", flush=True)


if __name__ == "__main__":
    main()
