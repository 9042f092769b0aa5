#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Contents and listings, compared with targets.

    reads.py SETS BUILD [--rounds N] [--bytes N] [--walk DIRECTORY] [--work DIRECTORY]
             [--results FILE]

first byte    of a file that starts a block of 16 MiB (zstd, level 19): in the library, and from a
mount; the target is 0.2 ms plus the time of XXH3 for the stored block sequential    --bytes (200
MB) of SETS/rootfs in one file, zstd, by one thread: bytes for each
              second of processor time in the library, and of reader and driver of a mount; cold
listing       entries of `find -ls` in a second, of SETS/releases, on a fresh mount
small files   open, read and close of files of at most 4 KiB in a second, once the kernel has them

The image itself is in the page cache; "cold" means that all other caches of the kernel are empty.
Needs root, and ninja bench/bench-reads in BUILD. Images are kept in SETS/reads, or --work.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from mounting import Fresh, make, save, seconds
from mounts import file_of

FIRST = ["-l1", "-S24", "-C", "zstd:level=19", "-B0", "--order", "path"]


def tool(build, *words):
    done = subprocess.run([os.path.join(build, "bench", "bench-reads"), *words],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def first_byte(arguments, work, results):
    tree = os.path.join(work, "block")
    file_of(os.path.join(arguments.sets, "rootfs"), os.path.join(tree, "file"), 1 << 24)
    image = make("dwarfs", tree, os.path.join(work, "block.dwarfs"), arguments.utils, FIRST)
    results["first"] = tool(arguments.build, "first", image)
    times = []
    for _ in range(5 * arguments.rounds):
        with Fresh("dwarfs", image, arguments.utils) as directory:
            fd = os.open(directory + "/file", os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            times.append(seconds(lambda: os.pread(fd, 1, 0)) * 1e3)
            os.close(fd)
    results["first"]["mounted_ms"] = statistics.median(times)


def driver_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as status:
        fields = status.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sequential(arguments, work, results):
    tree = os.path.join(work, "file")
    file_of(os.path.join(arguments.sets, "rootfs"), os.path.join(tree, "file"), arguments.bytes)
    image = make("dwarfs", tree, os.path.join(work, "file.dwarfs"), arguments.utils,
                 ["-l7", "-C", "zstd:level=19"])
    runs = [tool(arguments.build, "sequential", image) for _ in range(arguments.rounds)]
    best = min(runs, key=lambda run: run["cpu_s"])
    results["sequential"] = {"bytes": best["bytes"], "library_gb_per_cpu_s":
                             best["bytes"] / best["cpu_s"] / 1e9,
                             "library_gb_per_s": best["bytes"] / best["wall_s"] / 1e9}
    rates = []
    for _ in range(arguments.rounds):
        with Fresh("dwarfs", image, arguments.utils) as directory:
            pid = int(os.getxattr(directory, "user.dwarfs.driver.pid"))
            began, cpu = time.monotonic(), time.process_time() + driver_seconds(pid)
            with open(directory + "/file", "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
            wall = time.monotonic() - began
            cpu = time.process_time() + driver_seconds(pid) - cpu
            rates.append((best["bytes"] / cpu / 1e9, best["bytes"] / wall / 1e9))
    results["sequential"]["mounted_gb_per_cpu_s"] = max(rate[0] for rate in rates)
    results["sequential"]["mounted_gb_per_s"] = max(rate[1] for rate in rates)


def listing(arguments, work, results):
    tree = arguments.walk or os.path.join(arguments.sets, "releases")
    image = make("dwarfs", tree, os.path.join(work, os.path.basename(tree) + ".dwarfs"),
                 arguments.utils, ["-l5"])
    entries, rates, small = 0, {"-ls": [], "-printf %s": []}, []
    for _ in range(arguments.rounds):
        for what, found in rates.items():
            with Fresh("dwarfs", image, arguments.utils) as directory:
                began = time.monotonic()
                lines = subprocess.run(["find", directory, *what.split()], check=True,
                                       stdout=subprocess.PIPE).stdout
                took = time.monotonic() - began
                if what == "-ls":
                    entries = lines.count(b"\n")
                    small.append(tool(arguments.build, "open", directory, "2")["per_s"])
                found.append(entries / took)
    results["listing"] = {"entries": entries, "find_ls_per_s": max(rates["-ls"]),
                          "find_printf_per_s": max(rates["-printf %s"])}
    results["small"] = {"open_read_close_per_s": max(small)}


def report(results):
    first, rows = results["first"], []
    goal = 0.2 + first["hash_ms"]
    rows.append(("first byte of a block, library", f"{first['first_ms']:.3f} ms", f"{goal:.3f} ms",
                 first["first_ms"] / goal))
    rows.append(("first byte of a block, mount", f"{first['mounted_ms']:.3f} ms", f"{goal:.3f} ms",
                 first["mounted_ms"] / goal))
    for name, key in (("library", "library"), ("mount, reader and driver", "mounted")):
        rate = results["sequential"][key + "_gb_per_cpu_s"]
        rows.append((f"cold sequential, {name}", f"{rate:.2f} GB per processor second",
                     "1 GB", rate))
    rate = results["listing"]["find_ls_per_s"]
    rows.append(("cold find -ls", f"{rate:.0f} entries/s", "150000/s", rate / 150000))
    rate = results["listing"]["find_printf_per_s"]
    rows.append(("cold find -printf %s", f"{rate:.0f} entries/s", "", rate / 150000))
    rate = results["small"]["open_read_close_per_s"]
    rows.append(("warm open, read, close", f"{rate:.0f} /s", "150000/s", rate / 150000))
    print("| | measured | target | measured : target |")
    print("|---|---:|---:|---:|")
    for name, value, target, ratio in rows:
        print(f"| {name} | {value} | {target} | {ratio:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sets", metavar="SETS")
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=200_000_000)
    parser.add_argument("--walk", help="directory to list, instead of SETS/releases")
    parser.add_argument("--work", help="for the images, instead of SETS/reads")
    parser.add_argument("--results", metavar="FILE")
    arguments = parser.parse_args()
    arguments.utils = os.path.join(arguments.build, "utils")
    work = arguments.work or os.path.join(arguments.sets, "reads")
    os.makedirs(work, exist_ok=True)
    results = {}
    for step in (first_byte, sequential, listing):
        print(f"# {step.__name__}", file=sys.stderr, flush=True)
        step(arguments, work, results)
        save(arguments.results, results)
    report(results)


if __name__ == "__main__":
    main()
