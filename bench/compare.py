#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare our mkdwarfs with its peers on the data sets of datasets.py, in one run.

    bench/compare.py SETS [--mkdwarfs build/utils/mkdwarfs] [--sets releases,rootfs,logs]
                     [--levels 3,5,7,9,null] [--only ours|peers|NAME,...] [--variant NAME=OPTIONS]
                     [--rounds 1] [--results FILE] [--svg FILE] [--report] [--check]

Measures the size of the file made, processor time (user and system, of all processes), wall time
and peak memory (of the largest process), and prints a table for each set in Markdown. --results
keeps the figures in a JSON file: what a run measures replaces what the file had of that program and
that set, the rest stays and is in the tables, too. --report measures nothing and prints the tables
of the file. --levels null is level 7 with `-C null`: everything but compression. --variant adds a
run of mkdwarfs with options of your own. --check has dwarfsck check each image, unmeasured.
Any other directory in SETS can be named as a set, too.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import sys
import tempfile
from typing import Any

import programs
import report

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = ("size", "cpu", "wall", "memory")
Sample = dict[str, Any]  # what one run of one program cost: the columns, when, command
Results = dict[str, Any]  # "machine", and "sets": by set, by program, a list of samples


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", metavar="SETS", help="where datasets.py made the sets")
    parser.add_argument("--mkdwarfs", default=os.path.join(ROOT, "build", "utils", "mkdwarfs"))
    parser.add_argument("--sets", default="releases,rootfs,logs")
    parser.add_argument("--levels", default="3,5,7,9,null")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=OPTIONS")
    parser.add_argument("--only", default="peers,ours",
                        help="ours, peers, or names: " + ", ".join(programs.PEERS))
    parser.add_argument("--rounds", type=int, default=1, help="in turns; medians count")
    parser.add_argument("--results", metavar="FILE")
    parser.add_argument("--svg", metavar="FILE")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def our_runs(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Names and options of the runs of mkdwarfs that are asked for."""
    runs = {}
    for level in filter(None, arguments.levels.split(",")):
        options = ["-l", "7", "-C", "null"] if level == "null" else ["-l", level]
        runs[f"mkdwarfs-{level}"] = options
    for variant in arguments.variant:
        name, _, options = variant.partition("=")
        runs[f"mkdwarfs-{name}"] = shlex.split(options)
    return runs


def chosen(arguments: argparse.Namespace) -> list[str]:
    """Names of the programs to run, the yardstick first."""
    ours = our_runs(arguments)
    names: list[str] = []
    for word in arguments.only.split(","):
        more = {"ours": list(ours), "peers": list(programs.PEERS)}.get(word, [word])
        names += [name for name in more if name not in names]
    unknown = [name for name in names if name not in ours and name not in programs.PEERS]
    if unknown:
        sys.exit(f"no program named {', '.join(unknown)}")
    return sorted(names, key=lambda name: name != report.YARDSTICK)


def program(arguments: argparse.Namespace, name: str, directory: str,
            scratch: str) -> programs.Program:
    if name in programs.PEERS:
        return programs.peer(name, directory, scratch)
    return programs.mkdwarfs(name, os.path.abspath(arguments.mkdwarfs), our_runs(arguments)[name],
                             directory, scratch)


def load(path: str | None) -> Results:
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as source:
            results: Results = json.load(source)
            return results
    return {"machine": "", "sets": {}}


def store(path: str | None, results: Results) -> None:
    if not path:
        return
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1, sort_keys=True)
        out.write("\n")
    os.replace(path + ".new", path)


def run(arguments: argparse.Namespace, name: str, directory: str, scratch: str) -> Sample | None:
    """One run of one program; None if it cannot run here."""
    subject = program(arguments, name, directory, scratch)
    if subject.missing():
        print(f"# {name}: skipped, no {', '.join(subject.missing())} here", file=sys.stderr)
        return None
    try:
        sample = programs.measure(subject, scratch)
    except RuntimeError as error:
        print(f"# {name}: failed: {error}", file=sys.stderr, flush=True)
        return None
    sample["command"] = subject.text(directory, scratch)
    if arguments.check and name not in programs.PEERS:
        programs.check(os.path.abspath(arguments.mkdwarfs), subject.output)
    return sample


def measure(arguments: argparse.Namespace, results: Results) -> None:
    """Run the programs on the sets, in turns, and keep what is measured at once."""
    results["machine"] = f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}"
    for set_name in arguments.sets.split(","):
        directory = os.path.join(os.path.abspath(arguments.directory), set_name)
        if not os.path.isdir(directory):
            sys.exit(f"no set {set_name} in {arguments.directory}: run datasets.py")
        programs.warm(directory)
        fresh: dict[str, list[Sample]] = {}
        for number in range(arguments.rounds):
            for name in chosen(arguments):
                with tempfile.TemporaryDirectory(prefix="dwarfs-bench-") as scratch:
                    sample = run(arguments, name, directory, scratch)
                if not sample:
                    continue
                fresh.setdefault(name, []).append(sample)
                results["sets"].setdefault(set_name, {})[name] = fresh[name]
                store(arguments.results, results)
                print(f"# {set_name} {name} round {number + 1}: {sample['size']} bytes, cpu "
                      f"{sample['cpu']:.1f} s, wall {sample['wall']:.1f} s, peak "
                      f"{sample['memory'] / 2**20:.0f} MiB", file=sys.stderr, flush=True)


def medians(results: Results) -> dict[str, dict[str, dict[str, float]]]:
    return {set_name: {name: {column: statistics.median(sample[column] for sample in samples)
                              for column in COLUMNS} for name, samples in by_name.items()}
            for set_name, by_name in results["sets"].items()}


def main() -> None:
    arguments = parse()
    results = load(arguments.results)
    if not arguments.report:
        measure(arguments, results)
    figures = medians(results)
    print(results["machine"] + "\n")
    for set_name in report.in_order(figures):
        print(report.table(set_name, figures[set_name]))
    if arguments.svg:
        with open(arguments.svg, "w", encoding="utf-8") as out:
            out.write(report.picture(figures))


if __name__ == "__main__":
    main()
