#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counting the lines of many files by Dask and Ray, in a tree, a zip archive and an image of it.

    counting.py DIRECTORY [--workers N] [--level N] [--times N] [--only NAMES]
                [--package DIRECTORY] [--work DIRECTORY]

Packs DIRECTORY by dwarfs.pack() and as zip (deflate). With --workers (2) local processes, counts
the lines of all files, by turns --times (3) times:

tree, zip, image   batches of paths, each a task that reads them by cat_file() of the local, zip and
                   dwarfs file system of fsspec, in the order of the data of the image
partitions         the partitions of dwarfs.distributed, each a task

Prints the least seconds, and the ratio of those of the tree. An engine that is not installed is
left out. --package is the folder above the Python package, if that is not installed.
"""
import argparse
import os
import stat
import sys
import tempfile
import time
import zipfile

ENGINES = ("dask", "ray")
BATCHES = 8  # of a worker


def lines_of(batch):
    """The lines in some files of a file system of fsspec."""
    system, paths = batch
    return sum(system.cat_file(path).count(b"\n") for path in paths)


def lines_of_part(part):
    return sum(part.map(lambda path, data: data.count(b"\n")))


class Dask:
    def __init__(self, workers):
        import dask.distributed
        self._cluster = dask.distributed.LocalCluster(workers, threads_per_worker=1,
                                                      dashboard_address=None)
        self._client = dask.distributed.Client(self._cluster)

    def sum(self, function, items):
        import dask.bag
        bag = dask.bag.from_sequence(items, npartitions=len(items))
        return bag.map(function).sum().compute(scheduler=self._client)

    def close(self):
        self._client.close()
        self._cluster.close()


class Ray:
    def __init__(self, workers):
        import ray
        self._ray = ray
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)

    def sum(self, function, items):
        task = self._ray.remote(function)
        return sum(self._ray.get([task.remote(item) for item in items]))

    def close(self):
        self._ray.shutdown()


def batches(system, paths, count):
    """Pairs of a file system and some of the paths."""
    size = -(-len(paths) // count) or 1
    return [(system, paths[start:start + size]) for start in range(0, len(paths), size)]


def make(dwarfs, source, work, level):
    names = {"image": os.path.join(work, "x.dwarfs"), "zip": os.path.join(work, "x.zip")}
    dwarfs.pack(source, names["image"], level=level)
    with zipfile.ZipFile(names["zip"], "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as out:
        for folder, _, files in os.walk(source):
            for name in files:
                path = os.path.join(folder, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    out.write(path, os.path.relpath(path, source))
    return names


def ways(dwarfs, source, names, count):
    """What is counted, by name, and by which function."""
    import fsspec
    from dwarfs import distributed, fsspec as ours
    ours.register()
    image = dwarfs.open(names["image"])
    inside = [str(path) for path in image.walk("data") if stat.S_ISREG(path.lstat().st_mode)]
    local = [os.path.join(os.path.abspath(source), path) for path in inside]
    return {
        "tree": (lines_of, batches(fsspec.filesystem("file"), local, count)),
        "zip": (lines_of, batches(fsspec.filesystem("zip", fo=names["zip"]), inside, count)),
        "image": (lines_of, batches(fsspec.filesystem("dwarfs", fo=names["image"]), inside, count)),
        "partitions": (lines_of_part, distributed.partitions(image, count)),
    }


def measure(engine, chosen, times):
    """The least seconds of each way."""
    least, found = {}, set()
    for _ in range(times):
        for name, (function, items) in chosen.items():
            began = time.monotonic()
            found.add(engine.sum(function, items))
            least[name] = min(time.monotonic() - began, least.get(name, float("inf")))
    if len(found) != 1:
        sys.exit(f"not the same number of lines: {sorted(found)}")
    return least, found.pop()


def report(name, least, lines):
    print(f"{name}: {lines} lines")
    for way, seconds in least.items():
        print(f"  {way:10} {seconds:8.3f} s {seconds / least['tree']:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("directory", metavar="DIRECTORY")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--level", type=int, default=5)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", help="engines, with commas between them")
    parser.add_argument("--package")
    parser.add_argument("--work")
    arguments = parser.parse_args()
    if arguments.package:  # also for the workers
        folder = os.path.abspath(arguments.package)
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    import dwarfs
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        names = make(dwarfs, arguments.directory, work, arguments.level)
        chosen = ways(dwarfs, arguments.directory, names, BATCHES * arguments.workers)
        for name in arguments.only.split(",") if arguments.only else ENGINES:
            try:
                engine = {"dask": Dask, "ray": Ray}[name](arguments.workers)
            except ImportError as error:
                print(f"{name}: not installed: {error}")
                continue
            try:
                report(name, *measure(engine, chosen, arguments.times))
            finally:
                engine.close()


if __name__ == "__main__":
    main()
