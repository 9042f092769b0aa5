#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time to start many programs at once from one mount.

    startup.py SETS [--programs BUILD/utils] [--rounds N] [--only dwarfs,squashfs,squashfuse]
               [--versions 5.2.1,...] [--results FILE]

`python3 -m django --version` of all releases in SETS/releases, made by datasets.py, in parallel
from one image of them, with asgiref, sqlparse and pytz in a directory of their own (fetched by pip
as configured on this machine). No bytecode exists or is written. Tree and images are kept in
SETS/startup.

Each figure is the minimum of --rounds runs: the first time on a fresh mount with empty caches but
for the image file and Python itself, which are in the page cache, and the second time on the same
mount. Versions that this Python cannot run are omitted and listed.
"""
import argparse
import os
import subprocess
import sys

from mounting import (IMAGES, KINDS, OPTIONS, Fresh, available, cold_and_warm, make, ratios, save,
                      seconds)

NEEDED = ("asgiref", "sqlparse", "pytz")


def tree_of(sets):
    """The releases, as hard links, and their dependencies side by side."""
    tree = os.path.join(sets, "startup", "tree")
    if not os.path.exists(tree):
        partial = tree + ".partial"
        os.makedirs(partial, exist_ok=True)
        subprocess.run(["cp", "-al", os.path.join(sets, "releases") + "/.", partial], check=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                        "--no-compile", "--target", os.path.join(partial, "needed"), *NEEDED],
                       check=True)
        os.rename(partial, tree)
    return tree


def start(directory, version):
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH":
                   f"{directory}/{version}:{directory}/needed"}
    return subprocess.Popen([sys.executable, "-W", "ignore", "-m", "django", "--version"],
                            env=environment, cwd="/", stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def able(tree, versions):
    """The versions that this Python can run."""
    found = []
    for version in versions:
        output, _ = start(tree, version).communicate()
        if output.strip() == version:
            found.append(version)
        else:
            print(f"# {version} does not start with this Python", file=sys.stderr)
    return found


def start_all(directory, versions):
    def run():
        started = [(version, start(directory, version)) for version in versions]
        for version, process in started:
            output, _ = process.communicate()
            if output.strip() != version:
                sys.exit(f"{version} says '{output.strip()}'")
    return seconds(run)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sets", metavar="SETS")
    parser.add_argument("--programs", default="build/utils")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--versions", type=lambda text: text.split(","))
    parser.add_argument("--results", metavar="FILE")
    arguments = parser.parse_args()
    tree = tree_of(arguments.sets)
    versions = arguments.versions or sorted(set(os.listdir(tree)) - {"needed"})
    versions = able(tree, versions)
    if not versions:
        sys.exit("no version starts with this Python")
    results = {}
    for kind in arguments.only:
        if kind not in KINDS or not available(kind):
            print(f"# {kind} is missing", file=sys.stderr)
            continue
        packer = IMAGES[kind]
        image = make(packer, tree, os.path.join(arguments.sets, "startup", "tree." + packer),
                     arguments.programs, OPTIONS[packer])
        first, second = cold_and_warm(
            arguments.rounds,
            lambda: Fresh(kind, image, arguments.programs,
                          ready=lambda: start(tree, versions[0]).communicate()),
            lambda directory: start_all(directory, versions))
        results[kind] = {"first": first, "second": second}
        print(f"# {kind}: {first:.3f} {second:.3f}", file=sys.stderr, flush=True)
        save(arguments.results, {**results, "versions": versions})
    columns = [kind for kind in KINDS if kind in results]
    if columns:
        ratios(f"start of {len(versions)} versions", ["first", "second"], results, columns,
               "squashfs" if "squashfs" in columns else columns[0])


if __name__ == "__main__":
    main()
