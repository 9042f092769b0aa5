#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare the time to export a tar from a stored tree, and to store a tar.

    bench/archives.py DIRECTORY --programs build/utils [--sets releases,rootfs,logs] [--rounds 2]

DIRECTORY has the sets that datasets.py makes. The inputs are made once and kept in
DIRECTORY/archives: an image of mkdwarfs, a squashfs (zstd 22, blocks of 1 MiB), a tar packed by
zstd -9 and by xz -3. They are in the page cache during measurements.

out  a tar of the whole set is written to a pipe and discarded: from the image by dwarfsextract,
from
     the packed tars by zstd and xz, from the squashfs by unsquashfs into memory (/dev/shm) and tar
in   a tar is read from a pipe and stored: by mkdwarfs, from the directory itself as well, by
     mksquashfs -tar, and by zstd -9 and xz -3; in memory

Prints a table in Markdown for each: processor and wall seconds, the peak memory of one process,
ratios to the first row of the same run.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any

import programs

SHARED = "/dev/shm"
ZSTD = ["zstd", "-9", "--long=27", "-T0", "-q", "-c"]
XZ = ["xz", "-3", "-T0", "-c"]
SQUASHFS = ["-comp", "zstd", "-Xcompression-level", "22", *programs.SQUASHFS]

Step = tuple[list[list[str]], str | None]  # commands joined by pipes, and where the last one writes


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--programs", required=True, help="folder of mkdwarfs and dwarfsextract")
    parser.add_argument("--sets", default="releases,rootfs,logs")
    parser.add_argument("--only", default="out,in")
    parser.add_argument("--level", default="7", help="of mkdwarfs, for the image that is read")
    parser.add_argument("--in-level", default="7", help="of mkdwarfs, where it stores a tar")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--without", default="", help="programs to skip, separated by commas")
    parser.add_argument("--results", help="write all samples to this file")
    return parser.parse_args()


class Bench:
    def __init__(self, arguments: argparse.Namespace, name: str, scratch: str) -> None:
        self.arguments = arguments
        self.source = os.path.join(os.path.abspath(arguments.directory), name)
        self.kept = os.path.join(os.path.abspath(arguments.directory), "archives")
        self.scratch = scratch
        self.name = name
        os.makedirs(self.kept, exist_ok=True)

    def ours(self, program: str) -> str:
        return os.path.join(os.path.abspath(self.arguments.programs), program)

    def file(self, end: str) -> str:
        return os.path.join(self.kept, f"{self.name}{end}")

    def pack(self, output: str, *options: str) -> list[str]:
        return [self.ours("mkdwarfs"), "-o", output, "-f", "--no-progress", "--log-level=warn",
                "--with-devices", "--with-specials", *options]

    def missing(self, commands: list[list[str]]) -> list[str]:
        """Programs that are not installed, or excluded."""
        return sorted({command[0] for command in commands if not shutil.which(command[0]) or
                       command[0] in self.arguments.without.split(",")})

    def prepare(self) -> None:
        """Make missing files."""
        tar = ["tar", "cf", "-", "-C", self.source, "."]
        image = self.file(f"-l{self.arguments.level}.dwarfs")
        made: list[tuple[str, list[list[str]], bool]] = [
            (self.file(".tar"), [tar], True),
            (image, [self.pack(image + ".new", "-i", self.source, "-l", self.arguments.level)],
             False),
            (self.file(".squashfs"), [["mksquashfs", self.source, self.file(".squashfs.new"),
                                       *SQUASHFS]], False),
            (self.file(".tar.zst"), [["cat", self.file(".tar")], ZSTD], True),
            (self.file(".tar.xz"), [["cat", self.file(".tar")], XZ], True)]
        for path, commands, captured in made:
            if not os.path.exists(path) and not self.missing(commands):
                print(f"# making {os.path.basename(path)}", file=sys.stderr, flush=True)
                programs.run_step(commands, path + ".new" if captured else None, self.scratch)
                os.rename(path + ".new", path)

    def rows_out(self) -> dict[str, list[Step]]:
        target = os.path.join(self.scratch, "tree")
        image = self.file(f"-l{self.arguments.level}.dwarfs")
        ours = [self.ours("dwarfsextract"), "-i", image, "-f"]

        def piped(*command: str) -> list[Step]:
            return [([list(command), ["cat"]], os.devnull)]
        unpacked: list[Step] = [
            ([["unsquashfs", "-d", target, "-no-progress", "-quiet", self.file(".squashfs")]],
             None),
            ([["tar", "cf", "-", "-C", target, "."], ["cat"]], os.devnull)]
        return {
            "dwarfsextract -f tar": piped(*ours, "tar"),
            "dwarfsextract -f tar, tree order": piped(*ours, "tar", "--archive-order=tree"),
            "dwarfsextract -f newc": piped(*ours, "newc"),
            "zstd -dc x.tar.zst": piped("zstd", "-dc", "--long=27", "-q", self.file(".tar.zst")),
            "xz -dc x.tar.xz": piped("xz", "-dc", "-T0", self.file(".tar.xz")),
            "unsquashfs, tar": unpacked,
        }

    def rows_in(self) -> dict[str, list[Step]]:
        out = os.path.join(self.scratch, "out")
        cat = ["cat", self.file(".tar")]
        level = self.arguments.in_level
        return {
            "mkdwarfs -i -": [([cat, self.pack(out, "-i", "-", "--input-format=tar", "-l", level)],
                               None)],
            "mkdwarfs -i x.tar": [([self.pack(out, "-i", self.file(".tar"), "-l", level)], None)],
            "mkdwarfs -i DIRECTORY": [([self.pack(out, "-i", self.source, "-l", level)], None)],
            "mksquashfs -tar": [([cat, ["mksquashfs", "-", out, "-tar", *SQUASHFS]], None)],
            "zstd -9": [([cat, ZSTD], out)],
            "xz -3": [([cat, XZ], out)],
        }

    def run(self, steps: list[Step]) -> dict[str, float] | None:
        missing = [name for commands, _ in steps for name in self.missing(commands)]
        if missing:
            print(f"# skipped, without {', '.join(missing)}", file=sys.stderr)
            return None
        cpu = peak = 0.0
        began = time.monotonic()
        for commands, output in steps:
            seconds, largest = programs.run_step(commands, output, self.scratch)
            cpu += seconds
            peak = max(peak, largest)
        sample = {"cpu": cpu, "wall": time.monotonic() - began, "memory": peak, "size": 0.0}
        out = os.path.join(self.scratch, "out")
        if os.path.exists(out):
            sample["size"] = os.path.getsize(out)
            os.unlink(out)
        shutil.rmtree(os.path.join(self.scratch, "tree"), ignore_errors=True)
        return sample


def measure(bench: Bench, rows: dict[str, list[Step]],
            rounds: int) -> dict[str, list[dict[str, float]]]:
    """Run the programs in turns."""
    samples: dict[str, list[dict[str, float]]] = {}
    for number in range(rounds):
        for name, steps in rows.items():
            sample = bench.run(steps)
            if sample:
                samples.setdefault(name, []).append(sample)
                print(f"# {bench.name} {name} round {number + 1}: cpu {sample['cpu']:.2f} s, "
                      f"wall {sample['wall']:.2f} s", file=sys.stderr, flush=True)
    return samples


def table(title: str, samples: dict[str, list[dict[str, float]]]) -> str:
    """Medians, and their ratios to the first row."""
    figures = {name: {key: statistics.median(one[key] for one in several) for key in several[0]}
               for name, several in samples.items()}
    if not figures:
        return ""
    first = next(iter(figures.values()))
    lines = [f"#### {title}", "",
             "| | cpu s | wall s | peak MiB | bytes | cpu : first | wall : first |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name, row in figures.items():
        size = f"{int(row['size']):,}".replace(",", " ") if row["size"] else ""
        lines.append(f"| {name} | {row['cpu']:.2f} | {row['wall']:.2f} | "
                     f"{row['memory'] / 2**20:.0f} | {size} | {row['cpu'] / first['cpu']:.2f} | "
                     f"{row['wall'] / first['wall']:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = parse()
    everything: dict[str, Any] = {}
    print(f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}\n")
    for name in arguments.sets.split(","):
        where = SHARED if os.access(SHARED, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="dwarfs-bench-", dir=where) as scratch:
            bench = Bench(arguments, name, scratch)
            if not os.path.isdir(bench.source):
                sys.exit(f"no set {name} in {arguments.directory}: run datasets.py")
            bench.prepare()
            programs.warm(bench.kept)
            programs.warm(bench.source)
            for way in arguments.only.split(","):
                rows = bench.rows_out() if way == "out" else bench.rows_in()
                samples = measure(bench, rows, arguments.rounds)
                everything[f"{name} {way}"] = samples
                print(table(f"{name}, {way}", samples), flush=True)
    if arguments.results:
        with open(arguments.results, "w", encoding="utf-8") as out:
            json.dump(everything, out, indent=1, sort_keys=True)


if __name__ == "__main__":
    main()
