#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the accuracy of the time left that mkdwarfs announces.

    bench/progress.py MKDWARFS DIRECTORY [--mode simple] [--series FILE] [-- OPTIONS of mkdwarfs]

Reads the progress output of mkdwarfs ("3m12s left") and, when it has ended, compares each
announcement with the actual time left. An announcement holds until the next one; the time before
the first counts as wrong. Prints the share of the run with an announcement within --within (20)
percent or within one second of the truth, and the same for each tenth of the run. --series writes
what was announced and what was true, as CSV. Ends with 1 if the share is below --least percent.
"""
from __future__ import annotations

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

LEFT = re.compile(rb"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)? left")
Announcement = tuple[float, float]  # time of the announcement, announced time left: seconds


def parse() -> argparse.Namespace:
    own, options = sys.argv[1:], []
    if "--" in own:
        split = own.index("--")
        own, options = own[:split], own[split + 1:]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                     epilog="options of mkdwarfs follow after --")
    parser.add_argument("mkdwarfs")
    parser.add_argument("directory")
    parser.add_argument("--mode", default="simple", choices=("simple", "ascii", "unicode"))
    parser.add_argument("--within", type=float, default=20, metavar="PERCENT")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--series", metavar="FILE")
    arguments = parser.parse_args(own)
    arguments.options = options
    return arguments


def seconds(match: re.Match[bytes]) -> float:
    hours, minutes, rest = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + rest


def watch(command: list[str]) -> tuple[list[Announcement], float]:
    """Run a build; returns the announcements and the time it took."""
    seen: list[Announcement] = []
    tail = b""
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, bufsize=0)
    assert process.stderr
    while chunk := process.stderr.read(65536):
        now = time.monotonic() - began
        *complete, tail = re.split(rb"[\r\n]", tail + chunk)
        # A live line has no line end: the next one ends it, but its time is printed earlier.
        texts = complete + ([tail] if LEFT.search(tail) else [])
        matches = [match for match in map(LEFT.search, texts) if match and any(match.groups())]
        if matches:
            seen.append((now, seconds(matches[-1])))
            tail = b"" if LEFT.search(tail) else tail
    if process.wait():
        sys.exit(f"mkdwarfs ended with {process.returncode}: {tail.decode(errors='replace')}")
    return seen, time.monotonic() - began


def good(announced: float, true: float, within: float) -> bool:
    return abs(announced - true) <= max(true * within / 100, 1)


def spans(seen: list[Announcement], total: float, within: float) -> list[tuple[float, float, bool]]:
    """The run in pieces from announcement to announcement: start, end, whether it was right."""
    ends = [when for when, _ in seen[1:]] + [total]
    pieces = [(when, end, good(left, total - when, within))
              for (when, left), end in zip(seen, ends)]
    first = seen[0][0] if seen else total
    return [(0.0, first, False)] + pieces


def share(pieces: list[tuple[float, float, bool]], start: float, end: float) -> float:
    """Percent of the time from start to end within right pieces."""
    held = sum(max(0.0, min(end, piece_end) - max(start, piece_start))
               for piece_start, piece_end, true in pieces if true)
    return 100 * held / (end - start)


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="dwarfs-bench-") as scratch:
        seen, total = watch([os.path.abspath(arguments.mkdwarfs), "-i", arguments.directory, "-o",
                             os.path.join(scratch, "image"), "-f",
                             f"--progress={arguments.mode}", *arguments.options])
    pieces = spans(seen, total, arguments.within)
    whole = share(pieces, 0, total)
    errors = [abs(left - (total - when)) / (total - when) for when, left in seen if when < total]
    print(f"{total:.1f} s, {len(seen)} announcements, the first after {pieces[0][1]:.1f} s"
          + (f", median error {100 * statistics.median(errors):.0f} %" if errors else ""))
    print(f"within {arguments.within:g} % or 1 s: {whole:.0f} % of the run; by tenths: "
          + " ".join(f"{share(pieces, total * part / 10, total * (part + 1) / 10):.0f}"
                     for part in range(10)))
    if arguments.series:
        with open(arguments.series, "w", newline="", encoding="utf-8") as out:
            rows = csv.writer(out)
            rows.writerow(("seconds", "announced", "true"))
            rows.writerows((f"{when:.2f}", f"{left:.1f}", f"{total - when:.2f}")
                           for when, left in seen)
    sys.exit(whole < arguments.least)


if __name__ == "__main__":
    main()
