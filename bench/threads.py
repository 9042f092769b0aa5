#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two threads of a program that read an image, compared with one, in each language with threads.

    threads.py DIRECTORY BUILD [--image IMAGE] [--rounds N] [--level N] [--only NAMES]
               [--work DIRECTORY] [--results FILE]

Packs DIRECTORY by mkdwarfs of BUILD, or takes an image of it, and lets C, Python, Java and Ruby
read

one        all files, by one thread
shared     all files, by two threads that share an open image: each a half (by bytes) of
           consecutive files
own        all files twice: two threads, each of which opens the image
apart      all files twice: two processes that start at the same moment

in turns, --rounds (7) times after one that does not count, with programs that are already
started. Prints how many times as many bytes per second as one the others read in the same round: the
median, and the least and the most. Two processes share no lock, so apart is what the machine can
do at that time; that of C is without an interpreter. "own : apart" is what locks cost: those of the
interpreter and of the library. In shared, a thread waits where the other one decompresses the block
that it needs, too.

The programs are read_threads.* and ReadThreads.java. Needs ninja bench/bench-read-threads in BUILD;
languages that are not built are left out. Names of files must be UTF-8 without line breaks.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

import bindings
from mounting import save

LANGUAGES = ("C", "Python", "Java", "Ruby")
KINDS = ("one", "shared", "own", "apart")


class Reader:
    """A program that waits until it is told to read its lists once more."""

    def __init__(self, language: bindings.Language, *words: str) -> None:
        self.name = language.name
        self.process = subprocess.Popen(
            [*language.command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=dict(os.environ, **language.variables))
        self.await_word("begin")

    def await_word(self, word: str) -> list[int]:
        assert self.process.stdout
        found, *numbers = self.process.stdout.readline().split() or [""]
        if found != word:
            sys.exit(f"{self.name}: ended early")
        return [int(number) for number in numbers]

    def start(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self) -> list[int]:
        """Files and bytes."""
        total = self.await_word("end")
        self.await_word("begin")
        return total

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        if self.process.wait():
            sys.exit(f"{self.name}: exit status {self.process.returncode}")


def languages(build: str) -> list[bindings.Language]:
    """Those of bindings.py with threads, with the programs of this measurement."""
    programs = {"read_all.py": "read_threads.py", "read_all.rb": "read_threads.rb",
                "ReadAll.java": "ReadThreads.java", "bench-read-all": "bench-read-threads"}
    found = []
    for language in bindings.languages(build):
        if language.name in LANGUAGES:
            for old, new in programs.items():
                language.command = [word.replace(old, new) for word in language.command]
                language.needs = language.needs.replace(old, new)
            found.append(language)
    return found


def compile_once(language: bindings.Language, work: str) -> None:
    """Java would compile its program at each start, which takes longer than all that is measured
    of a few files."""
    if language.name == "Java":
        *options, path = language.command
        at = options.index("-cp") + 1
        subprocess.run(["javac", "-cp", options[at], "-d", work, path], check=True,
                       stdout=sys.stderr)
        options[at] += os.pathsep + work
        name, _ = os.path.splitext(os.path.basename(path))
        language.command = [*options, name]


def halves(directory: str) -> tuple[list[str], list[str]]:
    """Its files in two lists of about as many bytes."""
    files = bindings.regular_files(directory)
    sizes = [os.path.getsize(os.path.join(directory, name)) for name in files]
    left, middle = sum(sizes) / 2, 0
    while middle < len(files) and left > 0:
        left -= sizes[middle]
        middle += 1
    return files[:middle], files[middle:]


def write_lists(arguments: argparse.Namespace, work: str) -> list[str]:
    lists = [os.path.join(work, name) for name in ("all.list", "first.list", "second.list")]
    first, second = halves(arguments.directory)
    if not second:
        sys.exit(f"{arguments.directory}: too few files")
    for path, names in zip(lists, (first + second, first, second)):
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(name + "\n" for name in names)
    return lists


def measure(readers: list[Reader]) -> tuple[float, list[int]]:
    """Seconds until all of them have read, and files and bytes."""
    began = time.perf_counter()
    for reader in readers:
        reader.start()
    totals = [reader.finish() for reader in readers]
    return time.perf_counter() - began, [sum(column) for column in zip(*totals)]


def start(language: bindings.Language, kind: str, image: str, lists: list[str]) -> list[Reader]:
    """The processes of a kind."""
    whole, *parts = lists
    words = {"one": ["shared", image, whole], "shared": ["shared", image, *parts],
             "own": ["own", image, whole, whole], "apart": ["shared", image, whole]}[kind]
    return [Reader(language, *words) for _ in range(2 if kind == "apart" else 1)]


def run(found: list[bindings.Language], image: str, lists: list[str],
        rounds: int) -> dict[str, dict[str, list[float]]]:
    """Bytes per second in each round by language and kind."""
    groups: dict[tuple[str, str], list[Reader]] = {}
    rates: dict[str, dict[str, list[float]]] = {}
    expected = None
    with contextlib.ExitStack() as stack:
        for language in found:
            rates[language.name] = {kind: [] for kind in KINDS}
            for kind in KINDS:
                groups[language.name, kind] = start(language, kind, image, lists)
                for reader in groups[language.name, kind]:
                    stack.callback(reader.close)
        for number in range(rounds + 1):
            print(f"# round {number} of {rounds}", file=sys.stderr, flush=True)
            for (name, kind), readers in groups.items():
                took, total = measure(readers)
                expected = expected or total
                times = 2 if kind in ("own", "apart") else 1
                if total != [times * value for value in expected]:
                    sys.exit(f"{name}, {kind}: {total} files and bytes, not {times} times {expected}")
                if number > 0:
                    rates[name][kind].append(total[1] / took)
    assert expected
    print(f"{expected[0]} files, {expected[1]} bytes\n")
    return rates


def spread(over: list[float], under: list[float]) -> str:
    ratios = sorted(a / b for a, b in zip(over, under))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def report(rates: dict[str, dict[str, list[float]]]) -> None:
    print("| | one, MB/s | shared : one | own : one | apart : one | own : apart |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, found in rates.items():
        ratios = " | ".join(spread(found[kind], found["one"]) for kind in KINDS[1:])
        print(f"| {name} | {max(found['one']) / 1e6:.0f} | {ratios} | "
              f"{spread(found['own'], found['apart'])} |")


def chosen(arguments: argparse.Namespace) -> list[bindings.Language]:
    only = arguments.only.split(",") if arguments.only else list(LANGUAGES)
    unknown = set(only) - set(LANGUAGES)
    if unknown:
        sys.exit(f"no language with threads named {', '.join(sorted(unknown))}")
    found = []
    for language in languages(arguments.build):
        if language.name not in only:
            continue
        if language.is_built():
            found.append(language)
        elif arguments.only:
            sys.exit(f"{language.name}: {language.needs} is missing, or {language.command[0]}")
        else:
            print(f"# {language.name} is not built", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("directory", metavar="DIRECTORY")
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--image", help="of the directory, instead of packing it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--level", default="5", help="of mkdwarfs")
    parser.add_argument("--only", metavar="NAMES", help="languages, with commas between them")
    parser.add_argument("--work", help="for image and lists, instead of a temporary directory")
    parser.add_argument("--results", metavar="FILE")
    arguments = parser.parse_args()
    found = chosen(arguments)
    with tempfile.TemporaryDirectory(prefix="dwarfs-threads-", dir=arguments.work) as work:
        image = arguments.image or bindings.pack(arguments, os.path.join(work, "tree.dwarfs"))
        for language in found:
            compile_once(language, work)
        rates = run(found, image, write_lists(arguments, work), arguments.rounds)
    save(arguments.results, {"rates": rates})
    report(rates)


if __name__ == "__main__":
    main()
