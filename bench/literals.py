#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Blocks with few repeats, and of numbers: what the codecs for them gain.

    literals.py MKDWARFS [--levels 5,7,9] [--only hexadecimal,base64,...] [--work DIRECTORY]

Makes files of about 8 MB by a random generator with a fixed seed, and packs each by the defaults
of a level and with the codec of the level alone (-C), one after the other, with one worker. Prints
the sizes in bytes, their ratio, and the ratio of the processor times.
"""
import argparse
import base64
import hashlib
import math
import os
import random
import re
import resource
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator

BYTES = 8 << 20


def hexadecimal(dice: random.Random) -> Iterator[bytes]:
    """Lines of 64 digits."""
    while True:
        yield dice.randbytes(32).hex().encode() + b"\n"


def base64_lines(dice: random.Random) -> Iterator[bytes]:
    """Lines of 76 characters."""
    while True:
        yield base64.b64encode(dice.randbytes(57)) + b"\n"


def decimal(dice: random.Random) -> Iterator[bytes]:
    """Lines with a number below a billion."""
    while True:
        yield b"%d\n" % dice.randrange(10**9)


def letters(dice: random.Random) -> Iterator[bytes]:
    """Four letters, in one line."""
    while True:
        yield bytes(dice.choices(b"ACGT", k=1000))


def normal(dice: random.Random) -> Iterator[bytes]:
    """Bytes, normally distributed."""
    while True:
        yield bytes([min(255, max(0, int(dice.gauss(128, 20))))])


def doubles(dice: random.Random) -> Iterator[bytes]:
    """Numbers of 8 bytes, normally distributed."""
    while True:
        yield struct.pack("<d", dice.gauss(0, 1))


def hashes(dice: random.Random) -> Iterator[bytes]:
    """Lines with a hash and a path, as by sha256sum."""
    for number in range(1 << 30):
        yield b"%s  ./dir%d/file%d.c\n" % (dice.randbytes(32).hex().encode(), number // 40,
                                           number)


def repeats(dice: random.Random) -> Iterator[bytes]:
    """Lines with one of 60,000 hashes and a new one."""
    while True:
        known = hashlib.md5(b"%d" % dice.randrange(60000)).hexdigest()
        yield f"{known},{dice.randbytes(16).hex()}\n".encode()


def far_repeats(dice: random.Random) -> Iterator[bytes]:
    """Ids of 16 bytes; half of the size later, the same ones with 8 more bytes."""
    ids = [dice.randbytes(16) for _ in range(BYTES // 40)]
    yield from ids
    for name in ids:
        yield name + dice.randbytes(8)


def walk(dice: random.Random) -> Iterator[bytes]:
    """Numbers of 4 bytes that change little from one to the next."""
    value = 0.0
    while True:
        value += dice.gauss(0, 0.01)
        yield struct.pack("<f", value)


def records(dice: random.Random) -> Iterator[bytes]:
    """Records of 16 bytes: a counter, two small numbers and a double."""
    for number in range(1 << 30):
        yield struct.pack("<IHHd", number, dice.randrange(50), dice.randrange(1000),
                          dice.gauss(100, 15))


def picture(dice: random.Random) -> Iterator[bytes]:
    """Rows of 2048 points of 3 bytes, with noise."""
    for row in range(1 << 20):
        for column in range(2048):
            level = 128 + 60 * math.sin(column / 200) + 40 * math.cos(row / 150)
            yield bytes(int(level + color * 5 + dice.gauss(0, 3)) & 255 for color in range(3))


def counters(dice: random.Random) -> Iterator[bytes]:
    """Numbers of 4 bytes, each larger than the one before."""
    value = 1600000000
    while True:
        value += dice.randrange(50, 70)
        yield struct.pack("<I", value)


def heights(dice: random.Random) -> Iterator[bytes]:
    """Rows of 2048 numbers of 2 bytes, as of terrain."""
    while True:
        level = 1000.0
        for _ in range(2048):
            level += dice.gauss(0, 4)
            yield struct.pack("<h", int(level))


def sound(dice: random.Random) -> Iterator[bytes]:
    """Two channels of samples of 2 bytes: tones and noise."""
    for number in range(1 << 30):
        left = 9000 * math.sin(number / 23) + 5000 * math.sin(number / 7.1) + dice.gauss(0, 60)
        yield struct.pack("<hh", int(left), int(left * 0.7 + dice.gauss(0, 60)))


def pixels(dice: random.Random) -> Iterator[bytes]:
    """Rows of 1024 points of 4 bytes with smooth colours; the last byte is constant."""
    for row in range(1 << 20):
        for column in range(1024):
            level = 120 + 70 * math.sin(column / 90) * math.cos(row / 70)
            yield bytes((int(level) + dice.randrange(2), int(level * 0.8),
                         int(200 - level / 2) + dice.randrange(2), 255))


def table(dice: random.Random) -> Iterator[bytes]:
    """Lines of CSV: a time and three values."""
    for number in range(1 << 30):
        yield b"%d,%.3f,%.4f,%d\n" % (1600000000 + number * 60, dice.gauss(20, 3),
                                      dice.gauss(0, 1), dice.randrange(2000))


MAKERS = {maker.__name__: maker for maker in (
    hexadecimal, base64_lines, decimal, letters, normal, doubles, hashes, repeats,
    far_repeats, walk, records, counters, heights, sound, pixels, picture, table)}


def make(maker: Callable[[random.Random], Iterator[bytes]], path: str) -> None:
    parts, size = [], 0
    for part in maker(random.Random(7)):
        parts.append(part)
        size += len(part)
        if size >= BYTES:
            break
    with open(path, "wb") as file:
        file.write(b"".join(parts))


def codecs(mkdwarfs: str) -> dict[str, str]:
    """The codec of blocks of each level, with all options."""
    text = subprocess.run([mkdwarfs, "--long-help"], check=True, capture_output=True,
                          text=True).stdout
    found = dict(re.findall(r"^ +(\d)  blocks +(\S+)$", text, re.M))
    for level, codec in re.findall(r"^ +(\d) +\d+ MiB +(\S+)", text, re.M):
        name, _, number = codec.partition(":")
        found.setdefault(level, f"{name}:level={number}" if number else name)
    return found


def pack(command: list[str], output: str) -> tuple[int, float]:
    """The size of the image and the processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "-o", output, "-f", "-N", "1", "--no-history", "--no-progress"],
                   check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return os.path.getsize(output), (after.ru_utime - before.ru_utime
                                     + after.ru_stime - before.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mkdwarfs", metavar="MKDWARFS")
    parser.add_argument("--levels", default="5,7,9")
    parser.add_argument("--only", default=",".join(MAKERS))
    parser.add_argument("--work")
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(MAKERS)
    if unknown:
        parser.error(f"no such data: {', '.join(sorted(unknown))}")
    own = codecs(arguments.mkdwarfs)
    print("| data | level | codec alone | defaults | ratio | processor time |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        for name in arguments.only.split(","):
            folder = os.path.join(work, name)
            os.mkdir(folder)
            make(MAKERS[name], os.path.join(folder, "data"))
            for level in arguments.levels.split(","):
                command = [arguments.mkdwarfs, "-i", folder, "-l", level]
                output = os.path.join(work, "image")
                alone, seconds_alone = pack([*command, "-C", own[level]], output)
                size, seconds = pack(command, output)
                print(f"| {name} | {level} | {alone:,} | {size:,} | {size / alone:.3f} "
                      f"| {seconds / seconds_alone:.2f} |", flush=True)


if __name__ == "__main__":
    main()
