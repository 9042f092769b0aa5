#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare our mkdwarfs with its peers on the data sets of datasets.py: size, time, memory.

    bench/compare.py SETS [--mkdwarfs build/utils/mkdwarfs] [--sets releases,wheels,...]
                     [--levels 3,z9,5,7,9] [--orders auto,path,revpath,similarity,nilsimsa]
                     [--only ours|peers|NAME,...] [--variant OPTIONS] [--rounds 1] [--threads N]
                     [--results FILE] [--again] [--check] [--list]
    bench/compare.py [--commit NAME] [--against 227ecd3] [--results FILE] --report
    bench/compare.py [--commit NAME] [--results FILE] --tables [--svg FILE]

Measures the size of the file made, processor time (user and system, of all processes), wall time
and peak memory (of the largest process). Each result is stored in the file of results at once, by
the commit that mkdwarfs was built from; existing results are not measured again, so that a stopped
run can be continued. Several runs may share the file. --again measures them again.

A level is a number, "zN" for `-l7 -C zstd:level=N`, or "null" for `-l7 -C null`. Without --orders,
as with "auto" among the orders, mkdwarfs chooses the order. --list prints what would be measured.

--report prints the matrices "set x order" and "set x level": ratios to the best fixed order, to
upstream, to the peers, to lower levels and to another commit; figures that miss a target are bold.
--tables prints a table for each set with all programs. Any other directory in SETS can be named as
a set, too.
"""
from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile

import matrix
import programs
import report
import store

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TARGETED = "mksquashfs-xz,wim,mksquashfs-zstd"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", metavar="SETS", nargs="?",
                        help="directory of the sets of datasets.py")
    parser.add_argument("--mkdwarfs", default=os.path.join(ROOT, "build", "utils", "mkdwarfs"))
    parser.add_argument("--sets", default=",".join(matrix.SETS))
    parser.add_argument("--levels", default="3,5,7,9")
    parser.add_argument("--orders", default="auto")
    parser.add_argument("--variant", action="append", default=[], metavar="OPTIONS")
    parser.add_argument("--only", default="ours,peers",
                        help=f"ours, peers ({TARGETED}), or names: " + ", ".join(programs.PEERS))
    parser.add_argument("--rounds", type=int, default=1, help="in turns; medians are reported")
    parser.add_argument("--threads", type=int, default=0, help="of programs with that option")
    parser.add_argument("--commit", help="default: that of the tree that mkdwarfs is in")
    parser.add_argument("--against", default="227ecd3", help="another commit to compare with")
    parser.add_argument("--results", default=os.path.join(HERE, "results.json"), metavar="FILE")
    parser.add_argument("--scratch", metavar="DIRECTORY", help="temporary files; default: TMPDIR")
    parser.add_argument("--svg", metavar="FILE", help="with --tables: a picture")
    for name in ("again", "check", "list", "report", "tables"):
        parser.add_argument("--" + name, action="store_true")
    arguments = parser.parse_args()
    if not arguments.directory and not arguments.report and not arguments.tables:
        parser.error("SETS is missing: the directory with the sets")
    return arguments


def commit_of(binary: str) -> str:
    """The commit of the tree that a program was built in; with another name if it has changes."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(binary)), *words],
                              capture_output=True, text=True, check=False).stdout.strip()
    commit = git("rev-parse", "--short=7", "HEAD")
    if not commit:
        return "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/lib", ":/include",
                  ":/utils")
    return commit + ("-changed" if changed else "")


def commands(arguments: argparse.Namespace) -> list[str]:
    """What to measure, in order: options of mkdwarfs or names of peers."""
    ours = [matrix.command(level, order) for level in filter(None, arguments.levels.split(","))
            for order in arguments.orders.split(",")] + arguments.variant
    names: list[str] = []
    for word in arguments.only.split(","):
        more = {"ours": ours, "peers": TARGETED.split(",")}.get(word, [word])
        names += [name for name in more if name not in names]
    unknown = [name for name in names if name not in ours and name not in programs.PEERS]
    if unknown:
        sys.exit(f"no program named {', '.join(unknown)}")
    return names


class Run:
    """One run of this program: the sets and the file of results."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.commit = arguments.commit or commit_of(arguments.mkdwarfs)
        self.known: dict[str, str] = {}  # by set: its counts, once it was read

    def warm(self, name: str) -> str:
        """Read a set into the page cache; returns its counts."""
        if name not in self.known:
            directory = os.path.join(os.path.abspath(self.arguments.directory), name)
            if not os.path.isdir(directory):
                sys.exit(f"no set {name} in {self.arguments.directory}: run datasets.py")
            self.known[name] = programs.warm(directory)
        return self.known[name]

    def program(self, name: str, directory: str, scratch: str) -> programs.Program:
        threads = self.arguments.threads
        if name in programs.PEERS:
            return programs.peer(name, directory, scratch, threads)
        options = shlex.split(name) + (["-N", str(threads)] if threads else [])
        return programs.mkdwarfs(name, os.path.abspath(self.arguments.mkdwarfs), options,
                                 directory, scratch)

    def sample(self, name: str, directory: str) -> list[float] | None:
        """Time and memory of one run of a program; None if it cannot run here."""
        with tempfile.TemporaryDirectory(prefix="dwarfs-bench-",
                                         dir=self.arguments.scratch) as scratch:
            subject = self.program(name, directory, scratch)
            if subject.missing():
                print(f"# {name}: skipped, no {', '.join(subject.missing())} here",
                      file=sys.stderr)
                return None
            try:
                measured = programs.measure(subject, scratch)
            except RuntimeError as error:
                print(f"# {name}: failed: {error}", file=sys.stderr, flush=True)
                return None
            if self.arguments.check and name not in programs.PEERS:
                programs.check(os.path.abspath(self.arguments.mkdwarfs), subject.output)
        return [*(measured[column] for column in store.COLUMNS[:-1]), self.arguments.threads]

    def one(self, set_name: str, name: str, number: int) -> None:
        """Measure a program on a set, unless a result exists."""
        arguments = self.arguments
        directory = os.path.join(os.path.abspath(arguments.directory), set_name)
        data = self.warm(set_name)
        commit = store.PEERS if name in programs.PEERS else self.commit
        have = store.samples(store.load(arguments.results), commit, set_name, name, data)
        if have > number and not arguments.again:
            return
        if arguments.list:
            print(f"{commit} {set_name} {name}")
            return
        sample = self.sample(name, directory)
        if sample is None:
            return
        store.add(arguments.results, commit, set_name, name, data, sample,
                  number > 0 or not arguments.again)
        size, cpu, wall, memory, _ = sample
        print(f"# {commit} {set_name} {name}: {size} bytes, cpu {cpu:.1f} s, wall {wall:.1f} s, "
              f"peak {memory / 2**20:.0f} MiB", file=sys.stderr, flush=True)

    def all(self) -> None:
        """Each command on all sets before the next one: a partial run has results of all sets."""
        for number in range(self.arguments.rounds):
            for name in commands(self.arguments):
                for set_name in self.arguments.sets.split(","):
                    self.one(set_name, name, number)


def main() -> None:
    arguments = parse()
    if not arguments.report and not arguments.tables:
        Run(arguments).all()
        return
    results = store.load(arguments.results)
    commit = arguments.commit or commit_of(arguments.mkdwarfs)
    if arguments.report:
        print(matrix.report(results, commit, arguments.against))
    if arguments.tables:
        print(report.tables(results, commit))
    if arguments.svg:
        with open(arguments.svg, "w", encoding="utf-8") as out:
            out.write(report.picture(results, commit))


if __name__ == "__main__":
    main()
