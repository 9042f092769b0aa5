#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Append and merge: mkdwarfs compared with wimappend, mksquashfs and zpaq, in one run.

    append.py SET WORK [--last NAME] [--level N] [--programs BUILD/utils] [--only NAMES]
              [--one-by-one] [--merge N]

SET is a directory with a directory for each release, such as the set "releases" of datasets.py.
Each program packs all of them but the last, which is a copy of hard links in WORK; then it appends
the last one; and it packs all at once: size and processor time of each, and the memory of the
append.

mkdwarfs also appends all releases one after the other (--one-by-one), and merges images of one
release each (--merge), by taking over their blocks and by packing them again. After each append
the old blocks must be at the beginning of the new image, byte for byte, and a merged image may
not be larger than its inputs together.

Ratios are to packing all at once by the same program.
"""
import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set")
    parser.add_argument("work")
    parser.add_argument("--last", help="what is appended; default: the last by name")
    parser.add_argument("--level", default="7")
    parser.add_argument("--programs", default=os.path.join(ROOT, "build", "utils"))
    parser.add_argument("--only", default="dwarfs,wim,squashfs,zpaq")
    parser.add_argument("--one-by-one", action="store_true",
                        help="also append all releases one after the other")
    parser.add_argument("--merge", type=int, default=0, metavar="N",
                        help="also merge images of the first N releases")
    return parser.parse_args()


def measure(*commands):
    """Run commands one after the other: (processor seconds, MiB of the largest)."""
    cpu, memory = 0, 0
    for command in commands:
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                errors.seek(0)
                sys.exit(f"{' '.join(command)}: {errors.read().strip()}")
        cpu += usage.ru_utime + usage.ru_stime
        memory = max(memory, usage.ru_maxrss / 1024)
    return cpu, memory


def link_tree(source, target):
    shutil.copytree(source, target, symlinks=True, copy_function=link_or_copy)


def link_or_copy(source, target):
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def link_releases(arguments, part, names):
    """A directory in WORK with these releases, and the times of the set: one directory that is
    years newer than all others would cost time bits in every inode of a part."""
    tree = os.path.join(arguments.work, part)
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    for name in names:
        link_tree(os.path.join(arguments.set, name), os.path.join(tree, name))
    shutil.copystat(arguments.set, tree)
    return tree


def make_parts(arguments):
    """Directories with all releases but the last, and with the last alone."""
    names = sorted(os.listdir(arguments.set))
    last = arguments.last or names[-1]
    first = link_releases(arguments, "first", [name for name in names if name != last])
    second = link_releases(arguments, "second", [last])
    return first, second, names


class Dwarfs:
    name = "dwarfs"

    def __init__(self, arguments):
        self.command = [os.path.join(arguments.programs, "mkdwarfs"), "-f", "--no-progress",
                        "-l", arguments.level]

    def pack(self, tree, file):
        return [[*self.command, "-i", tree, "-o", file]]

    def append(self, tree, file):
        return [[*self.command, "-i", file, "-i", tree, "-o", file]]


class Wim:
    """Solid resources, as small as wimlib makes them. An append adds a tree as a second image in
    the file; it gets the whole tree, and finds what it has by --update-of."""
    name = "wim"

    def __init__(self, arguments):
        self.whole = arguments.set

    def pack(self, tree, file):
        return [["wimcapture", tree, file, "--solid", "--no-acls"]]

    def append(self, _, file):
        return [["wimappend", self.whole, file, "new", "--update-of=1", "--solid", "--no-acls"]]


class Squashfs:
    name = "squashfs"

    def __init__(self, _):
        self.options = ["-comp", "zstd", "-Xcompression-level", "19", "-b", "1M", "-no-progress",
                        "-quiet"]

    def pack(self, tree, file):
        return [["mksquashfs", tree, file, *self.options, "-noappend"]]

    def append(self, tree, file):
        (name,) = os.listdir(tree)
        return [["mksquashfs", os.path.join(tree, name), file, "-keep-as-directory",
                 "-no-progress", "-quiet"]]


class Zpaq:
    name = "zpaq"

    def __init__(self, _):
        pass

    def pack(self, tree, file):
        return [["zpaq", "add", file + ".zpaq", tree, "-m3"], ["mv", file + ".zpaq", file]]

    def append(self, tree, file):
        return [["mv", file, file + ".zpaq"], ["zpaq", "add", file + ".zpaq", tree, "-m3"],
                ["mv", file + ".zpaq", file]]


def run(program, arguments, first, second):
    file = os.path.join(arguments.work, "image")

    def remove():
        if os.path.exists(file):
            os.remove(file)
    remove()
    cost = measure(*program.pack(arguments.set, file))
    rows = [(os.path.getsize(file), *cost)]
    remove()
    measure(*program.pack(first, file))
    before = os.path.getsize(file)
    cost = measure(*program.append(second, file))
    rows.append((os.path.getsize(file), *cost))
    return before, rows


def show(name, before, rows):
    whole, appended = rows
    print(f"| {name} | {whole[0]:,} | {whole[1]:.1f} | {before:,} | {appended[0]:,} | "
          f"{appended[0] / whole[0]:.3f} | {appended[1]:.2f} | {appended[1] / whole[1]:.3f} | "
          f"{appended[2]:.0f} |", flush=True)


# -- mkdwarfs alone -----------------------------------------------------------------------

def read_blocks(file):
    """The bytes of an image up to the end of its blocks, which are its first sections."""
    with open(file, "rb") as image:
        data = image.read()
    end = 0
    while struct.unpack_from("<H", data, end + 52)[0] == 0:
        end += 64 + struct.unpack_from("<Q", data, end + 56)[0]
    return data[:end]


def pack_whole(arguments, names):
    """Packs the releases all at once: (size, processor seconds)."""
    tree, out = link_releases(arguments, "some", names), os.path.join(arguments.work, "whole")
    cpu, _ = measure([*Dwarfs(arguments).command, "-i", tree, "-o", out])
    return os.path.getsize(out), cpu


def one_by_one(arguments, names, whole):
    program = Dwarfs(arguments)
    file = os.path.join(arguments.work, "chain")
    if os.path.exists(file):
        os.remove(file)
    total, peak = 0, 0
    blocks = b""
    for number, name in enumerate(names):
        tree = link_releases(arguments, "one", [name])
        commands = program.append(tree, file) if number else program.pack(tree, file)
        cpu, memory = measure(*commands)
        total, peak = total + cpu, max(peak, memory)
        before, blocks = blocks, read_blocks(file)
        if not blocks.startswith(before):
            sys.exit(f"{name}: old blocks were changed")
    size = os.path.getsize(file)
    print(f"\n{len(names)} releases one after the other, level {arguments.level}: {size:,} bytes, "
          f"{size / whole[0]:.3f} of all at once; {total:.1f} s of processor time, "
          f"{total / whole[1]:.2f} of all at once; at most {peak:.0f} MiB", flush=True)


def merge(arguments, names, whole):
    command = Dwarfs(arguments).command
    files = []
    for name in names:
        files.append(os.path.join(arguments.work, f"one-{len(files)}"))
        measure([*command, "-i", link_releases(arguments, "one", [name]), "-o", files[-1]])
    inputs = [word for file in files for word in ("-i", file)]
    out = os.path.join(arguments.work, "merged")
    total = sum(map(os.path.getsize, files))
    print(f"\nMerge of {len(files)} images, level {arguments.level}: {total:,} bytes\n\n"
          "| | bytes | of the inputs | of all at once | cpu s | of all at once | MiB |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    for label, options in (("blocks taken over", []), ("`--max-unused=0`", ["--max-unused=0"]),
                           ("`--repack`", ["--repack"])):
        cpu, memory = measure([*command, *inputs, "-o", out, *options])
        size = os.path.getsize(out)
        print(f"| {label} | {size:,} | {size / total:.3f} | {size / whole[0]:.3f} | {cpu:.1f} | "
              f"{cpu / whole[1]:.2f} | {memory:.0f} |", flush=True)
        if size > total:
            sys.exit(f"{label}: larger than the inputs")


def main():
    arguments = parse()
    os.makedirs(arguments.work, exist_ok=True)
    first, second, names = make_parts(arguments)
    print("| program | all at once, bytes | cpu s | without the last | appended | size | cpu s "
          "| time | MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind in (Dwarfs, Wim, Squashfs, Zpaq):
        if kind.name not in arguments.only.split(","):
            continue
        program = kind(arguments)
        words = [command[0] for command in program.pack("D", "F")]
        missing = [word for word in words if not shutil.which(word)]
        if missing:
            print(f"| {program.name} | not installed: {missing[0]} |")
            continue
        show(program.name, *run(program, arguments, first, second))
    if arguments.one_by_one:
        one_by_one(arguments, names, pack_whole(arguments, names))
    if arguments.merge:
        names = names[:arguments.merge]
        merge(arguments, names, pack_whole(arguments, names))


if __name__ == "__main__":
    main()
