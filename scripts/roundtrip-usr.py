#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Round trips of a real tree at several levels, by extraction and by mount.

    roundtrip-usr.py BUILD [--bytes N] [--levels 0,3,5,7,9] [--source /usr] [--work DIRECTORY]

Copies directories of /usr, in the order of their names, until the copy has N bytes (1.2 GB), packs
the copy at each level, checks the image, and compares the results entry by entry and byte by byte.
Takes too long for daily use; prints a line for each step and fails at the first difference.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "tests", "support"))
import mount  # noqa: E402
import tap  # noqa: E402
import walker  # noqa: E402

NANO = 1000000000


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--bytes", type=int, default=1200000000)
    parser.add_argument("--levels", default="0,3,5,7,9")
    parser.add_argument("--source", default="/usr")
    parser.add_argument("--work", default=None)
    return parser.parse_args()


def size_of(path):
    done = subprocess.run(["du", "-sb", "--apparent-size", "-x", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return int(done.stdout.split()[0])


def copy_some(source, target, limit):
    """Copy whole directories of the second level while they fit."""
    os.mkdir(target)
    total = 0
    for folder in sorted(os.listdir(source)):
        path = os.path.join(source, folder)
        if os.path.islink(path) or not os.path.isdir(path):
            continue
        for name in sorted(os.listdir(path)):
            inside = os.path.join(path, name)
            size = size_of(inside)
            if total + size > limit:
                continue
            os.makedirs(os.path.join(target, folder), exist_ok=True)
            subprocess.run(["cp", "-a", inside, os.path.join(target, folder)], check=True)
            total += size
    return total


def run(name, *command):
    """Run a program of ours, and print how long it took and its peak memory."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{os.path.basename(command[0])} ended with {process.returncode}")
    print(f"  {name}: {time.monotonic() - began:.1f} s, {usage.ru_maxrss >> 10} MiB", flush=True)


def one_level(level, source, expected, input_bytes, scratch):
    image = os.path.join(scratch, "image")
    target = os.path.join(scratch, "target")
    print(f"level {level}")
    run("packed", tap.tool("MKDWARFS"), "-i", source, "-o", image, "-l", level, "-f",
        "--no-progress", "--log-level=warn")
    image_bytes = os.path.getsize(image)
    print(f"  {image_bytes} bytes, {input_bytes / image_bytes:.2f} : 1")
    run("checked", tap.tool("DWARFSCK"), "-i", image, "--check-integrity", "-q")
    run("extracted", tap.tool("DWARFSEXTRACT"), "-i", image, "-o", target)
    walker.must_agree(expected, walker.describe(target), holes=True, resolution_ns=NANO)
    shutil.rmtree(target)
    began = time.monotonic()
    with mount.mounted(image) as path:
        actual = walker.describe(path)
    print(f"  mounted and read: {time.monotonic() - began:.1f} s", flush=True)
    walker.must_agree(expected, actual, holes=True, resolution_ns=NANO)
    os.unlink(image)


def main():
    arguments = parse()
    for variable, name in (("MKDWARFS", "mkdwarfs"), ("DWARFSCK", "dwarfsck"),
                           ("DWARFSEXTRACT", "dwarfsextract"), ("DWARFS", "dwarfs")):
        os.environ[variable] = os.path.abspath(os.path.join(arguments.build, "utils", name))
    with tempfile.TemporaryDirectory(prefix="dwarfs-usr-", dir=arguments.work) as scratch:
        source = os.path.join(scratch, "source")
        input_bytes = copy_some(arguments.source, source, arguments.bytes)
        expected = walker.describe(source)
        print(f"{input_bytes} bytes, {len(expected)} entries", flush=True)
        for level in arguments.levels.split(","):
            one_level(level, source, expected, input_bytes, scratch)
    print("identical at every level, by extraction and by mount")


if __name__ == "__main__":
    main()
