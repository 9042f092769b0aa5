#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Extraction into memory: dwarfsextract compared with unsquashfs, tar and wimapply, in one run.

    extract.py SETS WORK [--only releases,rootfs,logs] [--programs BUILD/utils] [--rounds N]
               [--target DIRECTORY] [--without xz,wim] [--results FILE]

SETS is the directory of datasets.py. Each set is packed once, into WORK: by mkdwarfs at level 7
and with zstd, by mksquashfs with blocks of 1 MiB, zstd -19 and xz, by wimcapture, and as
a tar, by zstd -19 and xz -6. The files are in the page cache; they are extracted to a temporarily
mounted tmpfs (which needs root), or to --target. A round extracts every file once; the figures are
those of the fastest round. The result of each program is compared with the set once.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from programs import SQUASHFS, run_step

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETS = "releases,rootfs,logs"
COLUMNS = ("wall", "cpu", "memory")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets")
    parser.add_argument("work")
    parser.add_argument("--only", default=SETS)
    parser.add_argument("--programs", default=os.path.join(ROOT, "build", "utils"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", default="", help="skip formats with one of these in the name")
    parser.add_argument("--target", help="target of the extraction; default: a tmpfs")
    parser.add_argument("--results", help="write all figures to this file, as JSON")
    return parser.parse_args()


class Way:
    """One format: pack a directory, and extract it."""

    def __init__(self, name, pack, unpack, captured=False):
        self.name = name
        self.pack = pack          # of a directory and a file: steps as in programs.py
        self.unpack = unpack      # of a file and a directory that does not exist
        self.captured = captured  # the file is the output of the packer

    def needed(self):
        words = [command[0] for command in self.pack("D", "F") + self.unpack("F", "D")]
        return [word for word in words if not shutil.which(word)]


def tar_into(command):
    return lambda file, out: [[*command, file], ["tar", "xpf", "-", "--same-owner", "-C", out]]


def ways(programs):
    mkdwarfs = os.path.join(programs, "mkdwarfs")
    dwarfsextract = os.path.join(programs, "dwarfsextract")

    def dwarfs(name, *options):
        return Way(name,
                   lambda tree, file: [[mkdwarfs, "-i", tree, "-o", file, "-f", "--no-progress",
                                        "--with-devices", "--with-specials", *options]],
                   lambda file, out: [[dwarfsextract, "-i", file, "-o", out]])

    def squashfs(name, *options):
        return Way(name, lambda tree, file: [["mksquashfs", tree, file, *options, *SQUASHFS]],
                   lambda file, out: [["unsquashfs", "-n", "-q", "-f", "-d", out, file]])

    def tar(tree, _):
        return ["tar", "cf", "-", "-C", tree, "."]

    return [
        dwarfs("dwarfs, level 7", "-l7"),
        dwarfs("dwarfs, zstd", "-l7", "-C", "zstd:level=19"),
        squashfs("squashfs, zstd", "-comp", "zstd", "-Xcompression-level", "19"),
        squashfs("squashfs, xz", "-comp", "xz"),
        Way("tar, zstd", lambda tree, file: [tar(tree, file), ["zstd", "-19", "--long=31",
                                                               "-T0", "-c"]],
            tar_into(["zstd", "-dc", "--long=31"]), captured=True),
        Way("tar, xz", lambda tree, file: [tar(tree, file), ["xz", "-6", "-T0", "-c"]],
            tar_into(["xz", "-dc", "-T0"]), captured=True),
        Way("wim", lambda tree, file: [["wimcapture", "--unix-data", tree, file]],
            lambda file, out: [["wimapply", "--unix-data", file, out]]),
    ]


def pack(way, tree, file, scratch):
    if not os.path.exists(file):
        made = file + ".new"
        run_step(way.pack(tree, made), made if way.captured else None, scratch)
        os.rename(made, file)
    with open(file, "rb", buffering=0) as source:  # into the page cache
        while source.read(1 << 20):
            pass
    return os.path.getsize(file)


def extract(way, file, target, scratch):
    out = os.path.join(target, "out")
    os.mkdir(out)
    began = time.monotonic()
    cpu, peak = run_step(way.unpack(file, out), None, scratch)
    return out, {"wall": time.monotonic() - began, "cpu": cpu, "memory": peak}


def remove(out):
    subprocess.run(["rm", "-rf", out], check=True)


def must_be_alike(tree, out, name):
    """Contents, names, links and modes."""
    done = subprocess.run(["diff", "-r", "--no-dereference", tree, out], capture_output=True,
                          text=True, check=False)
    odd = [line for line in done.stdout.splitlines() if "is a character special file" not in line
           and "is a block special file" not in line and "is a fifo" not in line]
    if done.returncode > 1 or odd:
        sys.exit(f"{name} has made something else: {odd[:3]} {done.stderr[:300]}")


def measure(arguments, name, target, scratch):
    tree = os.path.join(arguments.sets, name)
    figures, files = {}, {}
    for way in ways(arguments.programs):
        if any(word in way.name for word in arguments.without.split(",") if word):
            continue
        if way.needed():
            print(f"# {way.name}: no {', '.join(way.needed())}", file=sys.stderr)
            continue
        files[way] = os.path.join(arguments.work, f"{name}.{way.name.replace(', ', '-')}"
                                  .replace(" ", "-"))
        size = pack(way, tree, files[way], scratch)
        out, _ = extract(way, files[way], target, scratch)
        must_be_alike(tree, out, way.name)
        remove(out)
        figures[way.name] = {"size": size, "runs": []}
    for number in range(arguments.rounds):
        for way, file in files.items():
            out, figure = extract(way, file, target, scratch)
            remove(out)
            figures[way.name]["runs"].append(figure)
            print(f"# {name}, round {number + 1}: {way.name}: {figure['wall']:.3f} s",
                  file=sys.stderr, flush=True)
    for figure in figures.values():
        for column in COLUMNS:
            figure[column] = min(run[column] for run in figure["runs"])
    return figures


def table(name, figures):
    base = figures.get("squashfs, zstd")
    lines = [f"| {name} | file, MB | seconds | processor seconds | memory, MiB | "
             "of unsquashfs, zstd |", "|---|---:|---:|---:|---:|---:|"]
    for way, figure in figures.items():
        ratio = f"{figure['wall'] / base['wall']:.2f}" if base else ""
        lines.append(f"| {way} | {figure['size'] / 1e6:.2f} | {figure['wall']:.2f} | "
                     f"{figure['cpu']:.2f} | {figure['memory'] / (1 << 20):.0f} | {ratio} |")
    return "\n".join(lines)


def main():
    arguments = parse()
    os.makedirs(arguments.work, exist_ok=True)
    results = {}
    with tempfile.TemporaryDirectory(prefix="dwarfs-bench-") as scratch:
        target = arguments.target or os.path.join(scratch, "target")
        os.makedirs(target, exist_ok=True)
        if not arguments.target:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", target], check=True)
        try:
            for name in arguments.only.split(","):
                results[name] = measure(arguments, name, target, scratch)
                print(table(name, results[name]), end="\n\n", flush=True)
        finally:
            if not arguments.target:
                subprocess.run(["umount", target], check=True)
    if arguments.results:
        with open(arguments.results, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)


if __name__ == "__main__":
    main()
