#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packing by several processes, compared with packing at once by one worker.

    shares.py DIRECTORY... [--package DIRECTORY] [--processes N] [--level N] [--times N]
              [--work DIRECTORY]

Packs each DIRECTORY by dwarfs.pack() with one worker, and by dwarfs.distributed.pack() with
--processes (2) processes of concurrent.futures, each with one worker, in turns, --times (1) times
each. Files, attributes and contents of both images must be equal. Prints the seconds of
both, the ratio of their least times, and the ratio of the sizes.

--package is the folder above the Python package, if that is not installed: bindings/python in a
folder of builds.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile
import time


def pack_at_once(dwarfs, source, output, level, _):
    dwarfs.pack(source, output, level=level, context=dwarfs.Context(workers=1), scan_workers=1,
                overwrite=True)


def pack_in_shares(dwarfs, source, output, level, processes):
    with concurrent.futures.ProcessPoolExecutor(processes) as executor:
        dwarfs.distributed.pack(source, output, executor, level=level, overwrite=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("directories", nargs="+", metavar="DIRECTORY")
    parser.add_argument("--package")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--level", type=int, default=7)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--work")
    arguments = parser.parse_args()
    if arguments.package:
        sys.path.insert(0, os.path.abspath(arguments.package))
    import dwarfs
    import dwarfs.distributed
    print("set              at once s  shares s  ratio      bytes      bytes  ratio")
    for source in arguments.directories:
        with tempfile.TemporaryDirectory(dir=arguments.work) as work:
            ways = [(way, os.path.join(work, way.__name__))
                    for way in (pack_at_once, pack_in_shares)]
            least = [float("inf")] * len(ways)
            for _ in range(arguments.times):
                for number, (way, output) in enumerate(ways):
                    began = time.monotonic()
                    way(dwarfs, source, output, arguments.level, arguments.processes)
                    least[number] = min(least[number], time.monotonic() - began)
            sizes = [os.path.getsize(output) for _, output in ways]
            if dwarfs.compare(*(output for _, output in ways)):
                sys.exit(f"{source}: the files differ")
            print(f"{os.path.basename(os.path.normpath(source)):16} {least[0]:9.1f} {least[1]:9.1f} "
                  f"{least[1] / least[0]:6.3f} {sizes[0]:10} {sizes[1]:10} "
                  f"{sizes[1] / sizes[0]:6.3f}", flush=True)


if __name__ == "__main__":
    main()
