#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading from each language, compared with C.

    bindings.py DIRECTORY BUILD [--files N] [--rounds N] [--times N] [--level N] [--only NAMES]
                [--work DIRECTORY] [--results FILE]

Packs DIRECTORY by mkdwarfs of BUILD, as zip (deflate) and as tar, and measures, in C, Python, Perl,
Ruby, Lua and Java:

all      open the image, read all files, in the order of the tree
random   open the image, read --files (10,000) files at random by their paths
stat     the attributes of these files by their paths, in an open image

with the same for other archives in Python (zipfile, tarfile, fsspec where it is installed) and
Java (zipfs). The file system of fsspec with libarchive reads only 20 of the random files ("some"),
those of fsspec for images and zip archives also these. A program measures each --times (4) and starts --rounds (3) times, in turns with the
others; the first time after a start does not count, and the least of the others is reported.

Prints files per second as ratios to C; the programs are read_all.* and ReadAll.java. Needs
ninja bench/bench-read-all in BUILD; languages that are not built are left out. Names of files must
be UTF-8 without line breaks.
"""
from __future__ import annotations

import argparse
import dataclasses
import glob
import importlib.machinery
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

from mounting import save

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS = ("all", "random", "stat")
PEER_JOBS = ("all", "random", "some")
PEERS = {"Python": ("Python, zipfile", "Python, tarfile"),
         "Python, fsspec dwarfs": ("Python, fsspec zip", "Python, fsspec libarchive"),
         "Java": ("Java, zipfs",),
         "Java, java.nio.file": ("Java, zipfs",)}

Figures = dict[str, dict[str, float]]  # seconds of a job, by reader and job


@dataclasses.dataclass
class Language:
    """A program that reads: its command, its variables, and the pattern of what it needs."""
    name: str
    command: list[str]
    needs: str
    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    archives: tuple[str, ...] = ()

    def is_built(self) -> bool:
        return bool(shutil.which(self.command[0]) and glob.glob(self.needs))


def languages(build: str) -> list[Language]:
    below = os.path.join(os.path.abspath(build), "bindings")
    c = os.path.join(os.path.abspath(build), "bench", "bench-read-all")
    python, perl, ruby, lua, java = (os.path.join(below, name) for name in
                                     ("python", "perl", "ruby", "lua", "java"))
    module = [os.path.join(python, "dwarfs", "_dwarfs" + suffix)  # for this Python
              for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    jar = (glob.glob(os.path.join(java, "dwarfs-*.jar")) or ["dwarfs.jar"])[0]
    return [
        Language("C", [c], c),
        Language("Python", [sys.executable, source("read_all.py")],
                 next(filter(os.path.exists, module), module[0]), {"PYTHONPATH": python},
                 ("zip", "tar")),
        Language("Perl", ["perl", "-I", perl, source("read_all.pl")], perl + "/auto/*/*/*.so"),
        Language("Ruby", ["ruby", "-I", ruby, source("read_all.rb")], ruby + "/dwarfs_native.so"),
        Language("Lua", [shutil.which("lua5.4") or "lua", source("read_all.lua")],
                 lua + "/dwarfs_native.so",
                 {"LUA_PATH": lua + "/?.lua", "LUA_CPATH": lua + "/?.so"}),
        Language("Java", ["java", "-Djava.library.path=" + java, "-cp", jar,
                          source("ReadAll.java")], jar, {}, ("zip",)),
    ]


def source(name: str) -> str:
    return os.path.join(HERE, name)


# -- what is read --------------------------------------------------------------------------


def regular_files(directory: str) -> list[str]:
    """Their paths below the directory, sorted."""
    found = []
    for path, _, names in os.walk(directory):
        for name in names:
            full = os.path.join(path, name)
            if os.path.isfile(full) and not os.path.islink(full):
                found.append(os.path.relpath(full, directory))
    return sorted(found)


def pack(arguments: argparse.Namespace, image: str) -> str:
    subprocess.run([os.path.join(arguments.build, "utils", "mkdwarfs"), "-i", arguments.directory,
                    "-o", image, "-f", f"-l{arguments.level}", "--no-progress",
                    "--log-level=error"], check=True)
    return image


def make_archives(arguments: argparse.Namespace, work: str) -> dict[str, str]:
    """The image, both archives and the list of random files, by the ends of their names."""
    made = {kind: os.path.join(work, "tree." + kind) for kind in ("dwarfs", "zip", "tar", "list")}
    files = regular_files(arguments.directory)
    if not files:
        sys.exit(f"{arguments.directory}: no files")
    pack(arguments, made["dwarfs"])
    with zipfile.ZipFile(made["zip"], "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as out:
        for name in files:
            out.write(os.path.join(arguments.directory, name), name)
    with tarfile.open(made["tar"], "w", dereference=True) as tar:
        for name in files:
            tar.add(os.path.join(arguments.directory, name), name, recursive=False)
    chosen = random.Random(1).choices(files, k=arguments.files)
    with open(made["list"], "w", encoding="utf-8") as out:
        out.writelines(name + "\n" for name in chosen)
    return made


# -- the measurement -----------------------------------------------------------------------


class Measurement:
    """The least time of each job, and the files and bytes that it read."""

    def __init__(self) -> None:
        self.seconds: Figures = {}
        self.sums: dict[str, dict[str, list[int]]] = {}

    def run(self, language: Language, times: int, made: dict[str, str]) -> None:
        """Run a program. It announces a job, waits for a line, and says when the job is done: the
        time is taken here, as Lua has no exact clock, and never too short."""
        words = [str(times), made["list"], made["dwarfs"],
                 *(made[kind] for kind in language.archives)]
        seen: set[tuple[str, str]] = set()
        reader = job = ""
        began = 0.0
        with subprocess.Popen(language.command + words, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, **language.variables)) as process:
            assert process.stdin and process.stdout
            for line in process.stdout:
                now = time.perf_counter()
                word, first, second = line.rstrip("\n").split("\t")
                if word == "begin":
                    reader, job, began = first, second, time.perf_counter()
                    process.stdin.write("\n")
                    process.stdin.flush()
                    continue
                if times == 1 or (reader, job) in seen:
                    self.add(reader, job, now - began, [int(first), int(second)])
                seen.add((reader, job))
        if process.returncode:
            sys.exit(f"{language.name}: exit status {process.returncode}")

    def add(self, reader: str, job: str, seconds: float, total: list[int]) -> None:
        known = self.seconds.setdefault(reader, {})
        known[job] = min(seconds, known.get(job, seconds))
        self.sums.setdefault(reader, {})[job] = total
        expected = next(sums[job] for sums in self.sums.values() if job in sums)
        if total != expected:
            sys.exit(f"{reader}, {job}: {total} files and bytes, not {expected}")

    def rate(self, reader: str, job: str) -> float:
        return self.sums[reader][job][0] / self.seconds[reader][job]

    def ratio(self, reader: str, job: str, other: str) -> str:
        if job not in self.seconds[reader] or job not in self.seconds.get(other, {}):
            return ""
        return f"{self.rate(reader, job) / self.rate(other, job):.3f}"


def report(measured: Measurement) -> None:
    count = measured.sums["C"]["random"][0]
    rates = [measured.rate("C", job) for job in JOBS]
    print(f"C: {rates[0]:.0f} files/s of all, {rates[1]:.0f} of {count} at random, "
          f"{rates[2]:.0f} calls of stat/s\n")
    print("| files per second : C | all files | at random | stat | stat, µs more than C |")
    print("|---|---:|---:|---:|---:|")
    for reader in measured.seconds:
        more = ""
        if "stat" in measured.seconds[reader]:
            more = f"{1e6 / measured.rate(reader, 'stat') - 1e6 / rates[2]:.2f}"
        ratios = " | ".join(measured.ratio(reader, job, "C") for job in JOBS)
        print(f"| {reader} | {ratios} | {more} |")
    print("\n| files per second | all files | at random | some |")
    print("|---|---:|---:|---:|")
    for reader, others in PEERS.items():
        for other in others:
            if reader in measured.seconds and other in measured.seconds:
                ratios = " | ".join(measured.ratio(reader, job, other) for job in PEER_JOBS)
                print(f"| {reader} : {other} | {ratios} |")


def chosen(arguments: argparse.Namespace) -> list[Language]:
    """C, and the languages that are built."""
    found = languages(arguments.build)
    only = arguments.only.split(",") if arguments.only else [one.name for one in found]
    unknown = set(only) - {one.name for one in found}
    if unknown:
        sys.exit(f"no language named {', '.join(sorted(unknown))}")
    for one in found:
        if not one.is_built() and (one.name == "C" or arguments.only and one.name in only):
            sys.exit(f"{one.name}: {one.needs} is missing, or {one.command[0]}")
        if not one.is_built():
            print(f"# {one.name} is not built", file=sys.stderr)
    return [one for one in found if one.name == "C" or one.name in only and one.is_built()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("directory", metavar="DIRECTORY")
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--files", type=int, default=10000, help="to read at random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=4, help="by each program in a round")
    parser.add_argument("--level", default="5", help="of mkdwarfs")
    parser.add_argument("--only", metavar="NAMES", help="languages, with commas between them")
    parser.add_argument("--work", help="for image and archives, instead of a temporary directory")
    parser.add_argument("--results", metavar="FILE")
    arguments = parser.parse_args()
    readers = chosen(arguments)
    measured = Measurement()
    with tempfile.TemporaryDirectory(prefix="dwarfs-bindings-", dir=arguments.work) as work:
        made = make_archives(arguments, work)
        for _ in range(arguments.rounds):
            for language in readers:
                print(f"# {language.name}", file=sys.stderr, flush=True)
                measured.run(language, arguments.times, made)
    save(arguments.results, {"seconds": measured.seconds, "sums": measured.sums})
    report(measured)


if __name__ == "__main__":
    main()
