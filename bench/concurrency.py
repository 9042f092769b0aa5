#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many processes that use one mount at once: how long they take together, and how unequal they are.

    concurrency.py TREE WORK [--programs BUILD/utils] [--processes 2,8,64] [--rounds N]
                   [--only auto,poll,sleep,caller,none,io_uring,squashfs]

TREE is packed into WORK once, by mkdwarfs at level 7 and by mksquashfs with zstd -22 and blocks of
128 KiB. auto is the driver with its defaults, sleep has busy_poll=off, and caller and none are values of
the option affinity with that; poll has affinity=none alone. io_uring is the
option of that name; it is not measured by default, as the kernel must offer it;
squashfs is mounted by the kernel. Each process does one of these:

    walk     attributes of all entries
    small    FILES random files of at most SMALL bytes, each process others
    large    LARGE bytes from a random place on in files of more, each process others
    mixed    one process in three does each of these

Of --rounds rounds, in turns, each on a fresh mount with empty caches of the kernel but for the
image, the least time until all processes are done counts: in seconds for affinity=none, as a ratio
to it for the others. The second number in a cell is the largest ratio, in that round, of the times
of two processes that do the same. Needs root.
"""
import argparse
import os
import random
import sys
import time

from mounting import Fresh, available, make

FILES = 400
SMALL = 64 << 10
LARGE = 16 << 20
PIECE = 128 << 10
TASKS = ("walk", "small", "large")
MIXES = TASKS + ("mixed",)
BASE = "none"
VARIANTS = (BASE, "auto", "poll", "sleep", "caller", "squashfs")
OPTIONS = {"auto": "", "poll": "affinity=none", "sleep": "busy_poll=off",
           "caller": "affinity=caller,busy_poll=off", "none": "affinity=none,busy_poll=off",
           "io_uring": "io_uring=on", "squashfs": ""}


def walk(directory, _random, _paths):
    for path, folders, files in os.walk(directory):
        for name in folders + files:
            os.lstat(os.path.join(path, name))


def read_small(directory, rng, paths):
    for path in rng.choices(paths["small"], k=FILES):
        with open(os.path.join(directory, path), "rb", buffering=0) as file:
            while file.read(PIECE):
                pass


def read_large(directory, rng, paths):
    left = LARGE
    while left > 0:
        path, size = rng.choice(paths["large"])
        with open(os.path.join(directory, path), "rb", buffering=0) as file:
            file.seek(rng.randrange(size - PIECE))
            while left > 0 and (data := file.read(PIECE)):
                left -= len(data)


FUNCTIONS = {"walk": walk, "small": read_small, "large": read_large}


def find_paths(tree):
    """The files for read_small() and read_large(), the latter with their sizes."""
    paths = {"small": [], "large": []}
    for path, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            full = os.path.join(path, name)
            size = 0 if os.path.islink(full) else os.path.getsize(full)
            short = os.path.relpath(full, tree)
            if 0 < size <= SMALL:
                paths["small"].append(short)
            elif size > 2 * PIECE:
                paths["large"].append((short, size))
    if not all(paths.values()):
        sys.exit(f"{tree} has not both small and large files")
    return paths


def start(task, number, directory, paths, gate, report):
    """A process that waits for the gate to be closed, and then reports its task and its time."""
    if os.fork():
        return
    code = 1
    try:
        os.close(gate[1])
        os.read(gate[0], 1)
        began = time.monotonic()
        FUNCTIONS[task](directory, random.Random(number), paths)
        os.write(report, f"{task} {time.monotonic() - began}\n".encode())
        code = 0
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(code)


def run(mix, count, directory, paths):
    """Seconds until all of so many processes are done, and how unequal those of a task were."""
    gate, results = os.pipe(), os.pipe()
    for number in range(count):
        task = TASKS[number % len(TASKS)] if mix == "mixed" else mix
        start(task, number, directory, paths, gate, results[1])
    os.close(gate[0])
    os.close(results[1])
    began = time.monotonic()
    os.close(gate[1])
    failed = 0
    for _ in range(count):
        failed |= os.wait()[1]
    total = time.monotonic() - began
    with os.fdopen(results[0]) as file:
        times = [line.split() for line in file]
    if failed or len(times) != count:
        sys.exit(f"{mix}: a process has failed")
    spread = 1.0
    for task in TASKS:
        of_task = [float(seconds) for name, seconds in times if name == task]
        if of_task:
            spread = max(spread, max(of_task) / min(of_task))
    return total, spread


def mount(variant, arguments):
    kind = "squashfs" if variant == "squashfs" else "dwarfs"
    image = make(kind, arguments.tree, os.path.join(arguments.work, "concurrency." + kind),
                 arguments.programs,
                 ["-l7"] if kind == "dwarfs" else ["-Xcompression-level", "22"])
    return Fresh(kind, image, arguments.programs,
                 OPTIONS[variant])


def measure(arguments, variants, paths):
    """The best round of each mix, number of processes and variant."""
    best = {}
    for _ in range(arguments.rounds):
        for mix in MIXES:
            for count in arguments.processes:
                for variant in variants:
                    with mount(variant, arguments) as directory:
                        figures = run(mix, count, directory, paths)
                    key = (mix, count, variant)
                    best[key] = min(best.get(key, figures), figures)
    return best


def show(best, processes, variants):
    titles = [f"{name}, s" if name == BASE else f"{name} : {BASE}" for name in variants]
    print("| processes | " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * len(variants))
    for mix in MIXES:
        for count in processes:
            base = best[mix, count, BASE][0]
            cells = []
            for variant in variants:
                total, spread = best[mix, count, variant]
                cells.append((f"{total:.3f}" if variant == BASE else f"{total / base:.2f}") +
                             f" ({spread:.1f})")
            print(f"| {mix}, {count} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("tree", metavar="TREE")
    parser.add_argument("work", metavar="WORK")
    parser.add_argument("--programs", default="build/utils")
    parser.add_argument("--processes", default=[2, 8, 64],
                        type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(VARIANTS))
    arguments = parser.parse_args()
    known = (*VARIANTS, "io_uring")
    for variant in arguments.only:
        if variant not in known:
            sys.exit(f"no '{variant}'; there are {', '.join(known)}")
    variants = [name for name in known if name == BASE or name in arguments.only]
    if not available("squashfs") and "squashfs" in variants:
        print("# squashfs is missing", file=sys.stderr)
        variants.remove("squashfs")
    os.makedirs(arguments.work, exist_ok=True)
    paths = find_paths(arguments.tree)
    show(measure(arguments, variants, paths), arguments.processes, variants)


if __name__ == "__main__":
    main()
