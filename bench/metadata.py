#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time to open, mount and read images of very many files.

Makes a tree of files without contents, packs it with --hollow, the tables stored in
several ways, and measures each image with bench-metadata and by mounting it.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LAYOUTS = {
    "plain": ["-P", "plain"],
    "auto": [],
    "packed": ["-P", "all"],
}
ROWS = [
    ("metadata", "metadata_bytes", lambda v: f"{v / 1e6:.1f} MB"),
    ("read it into fresh memory and hash it", "read_and_hash_ms", lambda v: f"{v:.2f} ms"),
    ("open", "open_eager_ms", lambda v: f"{v:.2f} ms"),
    ("open : read and hash", "open_to_reading", lambda v: f"{v:.2f}"),
    ("open, `verify=lazy`", "open_lazy_ms", lambda v: f"{v:.3f} ms"),
    ("open mapped", "open_mapped_eager_ms", lambda v: f"{v:.2f} ms"),
    ("open mapped, `verify=lazy`", "open_mapped_lazy_ms", lambda v: f"{v:.3f} ms"),
    ("first stat", "first_stat_eager_ms", lambda v: f"{v:.2f} ms"),
    ("mount", "mount_ms", lambda v: f"{v:.1f} ms"),
    ("mount, `verify=lazy`", "mount_lazy_ms", lambda v: f"{v:.1f} ms"),
    ("mount, `mmap`", "mount_mapped_ms", lambda v: f"{v:.1f} ms"),
    ("mount, `mmap,verify=lazy`", "mount_mapped_lazy_ms", lambda v: f"{v:.1f} ms"),
    ("stat, in order", "stat_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
    ("stat, at random", "stat_random_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
    ("lookups in an image just opened", "lookup_fresh_eager_per_s",
     lambda v: f"{v / 1e6:.1f} M/s"),
    ("the same with `verify=lazy`", "lookup_fresh_lazy_per_s",
     lambda v: f"{v / 1e6:.1f} M/s"),
    ("the same, mapped", "lookup_fresh_mapped_eager_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
    ("the same, mapped, with `verify=lazy`", "lookup_fresh_mapped_lazy_per_s",
     lambda v: f"{v / 1e6:.1f} M/s"),
    ("lookup", "lookup_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
    ("lookup of missing names", "lookup_absent_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
    ("names and inodes, in order", "readdir_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
    ("walk with paths", "walk_per_s", lambda v: f"{v / 1e6:.1f} M/s"),
]


def mount_ms(dwarfs, image, options, rounds):
    """From the start of the program until the root can be read."""
    times = []
    where = tempfile.mkdtemp(prefix="dwarfs-bench-")
    device = os.stat(where).st_dev
    try:
        for _ in range(rounds):
            start = time.monotonic()
            subprocess.run([dwarfs, image, where, *options], check=True,
                           stdout=subprocess.DEVNULL)
            while os.stat(where).st_dev == device:
                time.sleep(0.0001)
            times.append((time.monotonic() - start) * 1e3)
            subprocess.run(["fusermount3", "-u", where], check=True)
            while os.stat(where).st_dev != device:
                time.sleep(0.001)
    finally:
        os.rmdir(where)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="build directory, with bench-metadata")
    parser.add_argument("--files", type=int, default=2_000_000)
    parser.add_argument("--directory", default="/dev/shm", help="where to work")
    parser.add_argument("--seconds", default="2", help="for each rate")
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--no-mount", action="store_true")
    parser.add_argument("--results", help="write all figures there, as JSON")
    args = parser.parse_args()

    tool = os.path.join(args.build, "bench", "bench-metadata")
    mkdwarfs = os.path.join(args.build, "utils", "mkdwarfs")
    dwarfs = os.path.join(args.build, "utils", "dwarfs")
    work = tempfile.mkdtemp(prefix="dwarfs-bench-metadata-", dir=args.directory)
    tree = os.path.join(work, "tree")
    layouts = args.layouts.split(",")
    results = {}
    try:
        print(f"making {args.files} files", file=sys.stderr)
        subprocess.run([tool, "tree", tree, str(args.files)], check=True)
        for layout in layouts:
            image = os.path.join(work, layout + ".dwarfs")
            subprocess.run([mkdwarfs, "-i", tree, "-o", image, "--hollow", "-l3",
                            "--metadata-compression", "null", "--no-progress",
                            *LAYOUTS[layout]], check=True, stderr=subprocess.DEVNULL)
        shutil.rmtree(tree)
        for layout in layouts:
            print(f"measuring {layout}", file=sys.stderr)
            image = os.path.join(work, layout + ".dwarfs")
            figures = json.loads(subprocess.run(
                [tool, "measure", image, args.seconds], check=True,
                stdout=subprocess.PIPE).stdout)
            figures["open_to_reading"] = (figures["open_eager_least_ms"] /
                                          figures["read_and_hash_least_ms"])
            if not args.no_mount:
                figures["mount_ms"] = mount_ms(dwarfs, image, [], 9)
                figures["mount_lazy_ms"] = mount_ms(dwarfs, image, ["-o", "verify=lazy"], 9)
                figures["mount_mapped_ms"] = mount_ms(dwarfs, image, ["-o", "mmap"], 9)
                figures["mount_mapped_lazy_ms"] = mount_ms(
                    dwarfs, image, ["-o", "mmap,verify=lazy"], 9)
            results[layout] = figures
    finally:
        shutil.rmtree(work)
    if args.results:
        with open(args.results, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print("| | " + " | ".join(layouts) + " |")
    print("|---|" + "---:|" * len(layouts))
    for title, key, show in ROWS:
        cells = [show(results[layout][key]) if key in results[layout] else "-"
                 for layout in layouts]
        print(f"| {title} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
