#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time to read one day of logs from a mount, by the number of days in the image.

    flatness.py SETS [--programs BUILD/utils] [--days 1,4,16,32] [--levels 7,9]
                [--blocks 20,22,24,26] [--cache 32m,512m] [--rounds N] [--results FILE] [--report]
                [--picture FILE]

SETS/logs and SETS/releases are made by datasets.py. Images are kept in SETS/flat, so that a second
run only reads. Each figure is the minimum of --rounds (3) runs of `grep -r` for an absent string,
on a fresh mount; the image itself is in the page cache. squashfs is mounted by the kernel, its
caches dropped before each run, and by squashfuse where that is installed. The last release is read
from an image of itself and from one of all. For dwarfs the peak memory is shown, too. Needs root,
FUSE and loop devices.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

DAYS = 32
RELEASE = "5.2.19"


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
        """A directory with links to this many days, the last ones if not all."""
        return [os.path.join(self.logs, day_name(day)) for day in range(1, days + 1)]

    def releases(self, level, alone):
        name = RELEASE if alone else "all"
        path = os.path.join(self.place, f"releases-{name}-l{level}.dwarfs")
        if not os.path.exists(path):
            top = os.path.join(os.path.dirname(self.logs), "releases")
            call(os.path.join(self.programs, "mkdwarfs"), "-i",
                 os.path.join(top, RELEASE) if alone else top, "-o", path, "-l", str(level), "-f",
                 "--no-progress", "--no-history")
        return path

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


def most_memory(mount):
    """The memory of the program that serves a mount, in MiB."""
    process = os.getxattr(mount, "user.dwarfs.driver.pid").decode().strip()
    with open(f"/proc/{process}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return None


def grep(mount, place):
    began = time.monotonic()
    done = subprocess.run(["grep", "-r", "this is nowhere", os.path.join(mount, place)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 1 or done.stderr:
        sys.exit(f"grep failed: {done.stderr.decode()}")
    return time.monotonic() - began


class Mount:
    """A fresh mount with only the image in the kernel's caches."""

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


def least(rounds, place, kind, image, **options):
    """Seconds, and the peak memory of dwarfs in MiB."""
    times, memory = [], []
    for _ in range(rounds):
        with Mount(kind, image, **options) as mount:
            times.append(grep(mount, place))
            if kind == "dwarfs":
                memory.append(most_memory(mount))
    return [min(times), max(memory, default=None)]


def measure_releases(arguments, images, results):
    for level in arguments.levels:
        for alone in (True, False):
            key = f"release l{level} {'alone' if alone else 'of all'}"
            if key not in results:
                results[key] = least(arguments.rounds, "" if alone else RELEASE, "dwarfs",
                                     images.releases(level, alone), cache="32m",
                                     programs=arguments.programs)
                print(f"# {key}: {results[key][0]:.3f} s", file=sys.stderr, flush=True)


def save(arguments, results):
    if arguments.results:
        with open(arguments.results, "w") as out:
            json.dump(results, out, indent=1, sort_keys=True)


def measure(arguments, images, results):
    programs = arguments.programs
    for days in arguments.days:
        for day in sorted({1, (days + 1) // 2, days}):
            for kind in ("squashfs", "squashfuse"):
                if kind == "squashfs" or shutil.which(kind):
                    key = f"{kind} {day}/{days}"
                    if key not in results:
                        results[key] = least(arguments.rounds, day_name(day), kind,
                                             images.squashfs(days))
            for level in arguments.levels:
                for bits in arguments.blocks:
                    for cache in arguments.cache:
                        key = f"l{level} S{bits} {cache} {day}/{days}"
                        if key in results:
                            continue
                        results[key] = least(arguments.rounds, day_name(day), "dwarfs",
                                             images.dwarfs(days, level, bits),
                                             programs=programs, cache=cache)
                        print(f"# {key}: {results[key][0]:.3f} s", file=sys.stderr, flush=True)
        save(arguments, results)
    measure_releases(arguments, images, results)
    save(arguments, results)


def cells_of(arguments):
    return [f"{day}/{days}" for days in arguments.days
            for day in sorted({1, (days + 1) // 2, days})]


def rows_of(arguments):
    return ["squashfs", "squashfuse"] + [f"l{level} S{bits} {cache}" for level in arguments.levels
                                         for bits in arguments.blocks for cache in arguments.cache]


def report(arguments, results):
    cells = cells_of(arguments)
    print("| seconds, day of days: | " + " | ".join(cells) +
          " | day 1, worst : alone | any day, worst : alone | MiB |")
    print("|---|" + "---:|" * (len(cells) + 3))
    for row in rows_of(arguments):
        found = {cell: results[f"{row} {cell}"] for cell in cells if f"{row} {cell}" in results}
        if not found:
            continue
        alone = found.get("1/1", [None])[0]
        first = max(found[cell][0] for cell in found if cell.startswith("1/"))
        worst = max(seconds for seconds, _ in found.values())
        memory = max((most for _, most in found.values() if most), default=None)
        print(f"| {row} | " +
              " | ".join(f"{found[cell][0]:.3f}" if cell in found else "" for cell in cells) +
              (f" | {first / alone:.2f} | {worst / alone:.2f}" if alone else " | | ") +
              (f" | {memory:.0f} |" if memory else " | |"))
    print()
    for level in arguments.levels:
        alone, of_all = (results.get(f"release l{level} {which}") for which in ("alone", "of all"))
        if alone and of_all:
            print(f"release {RELEASE}, level {level}: {alone[0]:.3f} s alone, {of_all[0]:.3f} s of "
                  f"all: {of_all[0] / alone[0]:.2f} times; {of_all[1]:.0f} MiB")


def picture(arguments, results):
    """Seconds for the first day, by number of days; both scales logarithmic."""
    width, height, left, top, right, bottom = 760, 420, 60, 20, 200, 40
    colours = ["#888888", "#444444", "#1b6ca8", "#2a9d8f", "#8ab17d", "#6a4c93", "#e76f51",
               "#e9c46a", "#b5179e", "#d00000"]
    lines = {}
    for row in rows_of(arguments):
        points = [(days, results[f"{row} 1/{days}"][0]) for days in arguments.days
                  if f"{row} 1/{days}" in results]
        if len(points) > 1 and not row.endswith("512m"):
            lines[row] = points
    seconds = [second for points in lines.values() for _, second in points]
    low, high = math.log2(min(seconds)) - 0.2, math.log2(max(seconds)) + 0.2
    last = math.log2(max(arguments.days))

    def place(days, second):
        return (left + (width - left - right) * math.log2(days) / last,
                top + (height - top - bottom) * (high - math.log2(second)) / (high - low))

    parts = [f'<text x="{left}" y="{height - 8}">days of logs in the image (seconds to read the '
             f'first, cache 32 MiB)</text>']
    for days in arguments.days:
        x, _ = place(days, min(seconds))
        parts.append(f'<text x="{x:.0f}" y="{height - 24}" text-anchor="middle">{days}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1):
        _, y = place(1, 2.0 ** power)
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.0f}" y2="{y:.0f}" '
                     f'stroke="#dddddd"/><text x="{left - 6}" y="{y + 4:.0f}" '
                     f'text-anchor="end">{2.0 ** power:.3g}</text>')
    for number, (row, points) in enumerate(lines.items()):
        colour = colours[number % len(colours)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        y = top + 18 * number + 10
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                     f'stroke-width="2"/><line x1="{width - right + 16}" x2="{width - right + 40}" '
                     f'y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{width - right + 46}" y="{y}">{row.replace(" 32m", "")}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" '
            f'fill="white"/>' + "\n".join(parts) + "</svg>\n")


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
    parser.add_argument("--picture", metavar="FILE", help="an SVG to be written")
    arguments = parser.parse_args()
    results = {}
    if arguments.results and os.path.exists(arguments.results):
        with open(arguments.results) as file:
            results = json.load(file)
    if not arguments.report:
        measure(arguments, Images(arguments.sets, arguments.programs), results)
    report(arguments, results)
    if arguments.picture:
        with open(arguments.picture, "w") as out:
            out.write(picture(arguments, results))


if __name__ == "__main__":
    main()
