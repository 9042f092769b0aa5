#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long it takes to read one day of logs through a mount, by how much else is in the image.

    flatness.py SETS [--programs BUILD/utils] [--days 1,4,16,32] [--levels 7,9]
                [--blocks 20,22,24,26] [--cache 32m,512m] [--rounds N] [--results FILE] [--report]

SETS/logs is what datasets.py makes. Images are kept in SETS/flat, so that a second run only reads.
Each figure is the least of --rounds (3) runs of `grep -r` for what is nowhere, on a fresh mount;
the image itself is in the page cache. squashfs is mounted by the kernel, its caches dropped before
each run, and by squashfuse where that is installed. Needs root, FUSE and loop devices.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

DAYS = 32


def call(*words, **options):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   **options)


def day_name(number):
    return f"2022-12-{number:02}"


class Images:
    def __init__(self, sets, programs):
        self.logs = os.path.join(sets, "logs")
        self.place = os.path.join(sets, "flat")
        self.programs = programs
        os.makedirs(self.place, exist_ok=True)

    def input(self, days):
        """A directory with links to so many days, the last ones when it is not all."""
        return [os.path.join(self.logs, day_name(day)) for day in range(1, days + 1)]

    def dwarfs(self, days, level, bits):
        path = os.path.join(self.place, f"l{level}-s{bits}-d{days}.dwarfs")
        if not os.path.exists(path):
            listed = path + ".list"
            with open(listed, "w") as out:
                for day in range(1, days + 1):
                    for parent, _, files in os.walk(os.path.join(self.logs, day_name(day))):
                        out.writelines(os.path.relpath(os.path.join(parent, name), self.logs) +
                                       "\n" for name in sorted(files))
            call(os.path.join(self.programs, "mkdwarfs"), "-i", self.logs, "--input-list", listed,
                 "-o", path, "-l", str(level), "-S", str(bits), "-f", "--no-progress",
                 "--no-history")
            os.unlink(listed)
        return path

    def squashfs(self, days):
        path = os.path.join(self.place, f"zstd-d{days}.squashfs")
        if not os.path.exists(path):
            call("mksquashfs", *self.input(days), path, "-comp", "zstd",
                 "-Xcompression-level", "22", "-b", "1M", "-noappend", "-no-progress", "-quiet",
                 *(["-keep-as-directory"] if days == 1 else []))
        return path


def warm(path):
    with open(path, "rb") as file:
        while file.read(1 << 22):
            pass


def grep(mount, day):
    began = time.monotonic()
    done = subprocess.run(["grep", "-r", "this is nowhere", os.path.join(mount, day_name(day))],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 1 or done.stderr:
        sys.exit(f"grep failed: {done.stderr.decode()}")
    return time.monotonic() - began


class Mount:
    """A fresh mount with nothing in the kernel's caches but the image."""

    def __init__(self, kind, image, programs="", cache=""):
        self.words = {
            "dwarfs": [os.path.join(programs, "dwarfs"), image, "DIR", "-o",
                       f"cachesize={cache}"],
            "squashfs": ["mount", "-o", "loop,ro", image, "DIR"],
            "squashfuse": ["squashfuse", image, "DIR"],
        }[kind]
        self.image = image

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="flatness-")
        subprocess.run(["sync"], check=True)
        with open("/proc/sys/vm/drop_caches", "w") as out:
            out.write("3")
        warm(self.image)
        call(*[self.dir if word == "DIR" else word for word in self.words])
        return self.dir

    def __exit__(self, *_):
        for _ in range(50):
            if subprocess.run(["umount", self.dir], stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        shutil.rmtree(self.dir, ignore_errors=True)


def least(rounds, day, *mount, **options):
    times = []
    for _ in range(rounds):
        with Mount(*mount, **options) as place:
            times.append(grep(place, day))
    return min(times)


def measure(arguments, images, results):
    programs = arguments.programs
    for days in arguments.days:
        for day in sorted({1, (days + 1) // 2, days}):
            for kind in ("squashfs", "squashfuse"):
                if kind == "squashfs" or shutil.which(kind):
                    results.setdefault(f"{kind} {day}/{days}", least(
                        arguments.rounds, day, kind, images.squashfs(days)))
            for level in arguments.levels:
                for bits in arguments.blocks:
                    for cache in arguments.cache:
                        key = f"l{level} S{bits} {cache} {day}/{days}"
                        if key in results:
                            continue
                        results[key] = least(arguments.rounds, day, "dwarfs",
                                             images.dwarfs(days, level, bits),
                                             programs=programs, cache=cache)
                        print(f"# {key}: {results[key]:.3f} s", file=sys.stderr, flush=True)
        if arguments.results:
            with open(arguments.results, "w") as out:
                json.dump(results, out, indent=1, sort_keys=True)


def report(arguments, results):
    alone = "1/1"
    print("| image | day of days: " + " | ".join(
        f"{day}/{days}" for days in arguments.days for day in sorted({1, (days + 1) // 2, days}))
        + " | worst : 1/1 |")
    kinds = ["squashfs", "squashfuse"] + [f"l{level} S{bits} {cache}"
                                          for level in arguments.levels
                                          for bits in arguments.blocks
                                          for cache in arguments.cache]
    cells = [f"{day}/{days}" for days in arguments.days
             for day in sorted({1, (days + 1) // 2, days})]
    print("|---|" + "---:|" * (len(cells) + 1))
    for kind in kinds:
        times = [results.get(f"{kind} {cell}") for cell in cells]
        if not any(times):
            continue
        base = results.get(f"{kind} {alone}")
        worst = max(time for time in times if time) / base if base else None
        print(f"| {kind} | " + " | ".join(f"{time:.3f}" if time else "" for time in times) +
              (f" | {worst:.2f} |" if worst else " | |"))


def main():
    def numbers(text):
        return [int(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sets", metavar="SETS")
    parser.add_argument("--programs", default="build/utils")
    parser.add_argument("--days", type=numbers, default=[1, 4, 16, 32])
    parser.add_argument("--levels", type=numbers, default=[7, 9])
    parser.add_argument("--blocks", type=numbers, default=[20, 22, 24, 26])
    parser.add_argument("--cache", type=lambda text: text.split(","), default=["32m", "512m"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", metavar="FILE")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    results = {}
    if arguments.results and os.path.exists(arguments.results):
        with open(arguments.results) as file:
            results = json.load(file)
    if not arguments.report:
        measure(arguments, Images(arguments.sets, arguments.programs), results)
    report(arguments, results)


if __name__ == "__main__":
    main()
