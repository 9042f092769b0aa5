# SPDX-License-Identifier: MIT
"""What bench/threads.py measures, in Python; as read_threads.c.

    read_threads.py shared|own IMAGE LIST...
"""
import concurrent.futures
import sys

import dwarfs


def load(path):
    with open(path, encoding="utf-8") as source:
        return source.read().split("\n")[:-1]


def open_image():
    return dwarfs.open(sys.argv[2], context=dwarfs.Context(workers=0))


def read(image, names):
    return sum(len((image / name).read_bytes()) for name in names)


def read_own(names):
    with open_image() as image:
        return read(image, names)


def read_in_threads(lists, is_own):
    with concurrent.futures.ThreadPoolExecutor(len(lists)) as executor:
        if is_own:
            return sum(executor.map(read_own, lists))
        with open_image() as image:
            return sum(executor.map(lambda names: read(image, names), lists))


def main():
    lists = [load(listed) for listed in sys.argv[3:]]
    print("begin", flush=True)
    for _ in sys.stdin:
        size = read_in_threads(lists, sys.argv[1] == "own")
        print(f"end\t{sum(map(len, lists))}\t{size}\nbegin", flush=True)


main()
