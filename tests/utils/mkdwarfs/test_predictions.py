#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The default choices of mkdwarfs are as small as explicit ones."""
import atexit
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import cli
from cli import run

QUIET = ["--no-history", "--no-create-timestamp", "--no-progress"]
GENERATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bench",
                        "generate.py")
FIXED = ["path", "similarity", "nilsimsa"]
CODECS = ("zstd:level=3", "zstd:level=9", "zstd:level=22")
SLACK = 2048

TEXTS = []  # the folder of releases that Set.texts() copies from


def programs(rng, releases, size):
    """Releases of native programs: the same code, with different addresses in each."""
    code = [rng.randbytes(rng.randrange(8, 40)) for _ in range(size // 28)]
    order = list(range(len(code)))
    for release in range(releases):
        for _ in range(len(code) // 50):
            code[rng.randrange(len(code))] = rng.randbytes(rng.randrange(8, 40))
        at = rng.randrange(len(order) // 2)
        order[at:at + 40] = order[at:at + 40][::-1]
        shift = rng.randrange(1 << 16)
        yield b"".join(code[i] + (i * 64 + shift).to_bytes(4, "little") for i in order)


class Set(cli.Case):
    """Images of one set of files, by options."""

    def size(self, *words):
        image = self.path("image.dwarfs")
        self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", image, "-f", *QUIET, *words,
                        timeout=600), 0)
        return os.path.getsize(image)

    def texts(self, part):
        """One of so many releases, with a twentieth of their declarations."""
        if not TEXTS:
            TEXTS.append(tempfile.mkdtemp(prefix="dwarfs-predictions-"))
            atexit.register(shutil.rmtree, TEXTS[0], ignore_errors=True)
            subprocess.run([sys.executable, GENERATE, TEXTS[0], "--scale", "0.002"], check=True,
                           stdout=subprocess.DEVNULL)
        for release in sorted(os.listdir(TEXTS[0]))[::part]:
            shutil.copytree(
                os.path.join(TEXTS[0], release), self.path("tree", release),
                ignore=lambda folder, names: [
                    name for name in names
                    if int((re.search(r"(\d+)\.d\.ts$", name) or (0, 0))[1]) % 20])

    def programs(self):
        rng = random.Random(3)
        for name in ("alpha", "beta", "gamma", "delta"):
            for release, data in enumerate(programs(rng, 3, 36000)):
                self.write(f"tree/{release}.0/lib/{name}.so", data)
                self.write(f"tree/{release}.0/doc/{name}.txt", b"%s %d\n" % (
                    name.encode(), release))

    def mixture(self):
        """Versions of small texts, noise, and logs that are similar from day to day."""
        rng = random.Random(4)
        words = [bytes(rng.choices(b"abcdefghijklmnop", k=rng.randrange(2, 9)))
                 for _ in range(3000)]
        for number in range(7):
            lines = [b" ".join(rng.choices(words, k=9)) for _ in range(120)]
            for release in range(3):
                for _ in range(6):
                    lines[rng.randrange(len(lines))] = b" ".join(rng.choices(words, k=9))
                self.write(f"tree/v{release}/src/f{number}.c", b"\n".join(lines))
        for number in range(3):
            self.write(f"tree/photos/{number}.jpg", rng.randbytes(30000))
        for day in range(4):
            self.write(f"tree/log/{day}.csv", b"".join(
                b"2026-11-%02d,%d,%s,%d\n" % (day + 1, i * 37, words[i % 61], rng.randrange(999))
                for i in range(1500)))


    def releases_and_hosts(self):
        """Two directories of more than 16 MiB each that have nothing in common: of releases, files
        with the same name resemble each other, and of hosts, files in the same directory."""
        rng = random.Random(5)

        def put(directory, letters, name):
            words = [bytes(rng.choices(letters, k=rng.randrange(3, 12))) for _ in range(20000)]
            for number in range(600):
                text = rng.choices(words, k=1000)
                for version in range(5):
                    for _ in range(100):
                        text[rng.randrange(len(text))] = rng.choice(words)
                    self.write(f"tree/{directory}/" + name(number, version), b" ".join(text))

        put("releases", b"abcdefghijklmnopqrstuvwxyz",
            lambda number, version: f"{version}/{number:03}.txt")
        put("hosts", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            lambda number, version: f"{number:03}/{'alpha beta gamma delta eta'.split()[version]}")


class Orders(Set):
    """auto is within 2 % of the best explicit order."""

    def compare(self, *words):
        best = min(self.size(*words, f"--order={order}") for order in FIXED)
        self.assertLessEqual(self.size(*words), best * 1.02, words)

    def compare_levels(self, fifth="-l5"):
        """Level 5 with its blocks, or level 7, which decides as 5 does: each for some of the
        sets."""
        for words in (["-l3", "-S17"], [fifth, "-S17"], ["-l9", "-S17"]):
            self.compare(*words)

    def test_texts(self):
        self.texts(5)
        self.compare_levels()

    def test_programs(self):
        self.programs()
        self.compare_levels("-l7")
        self.assertLess(self.size("-l5", "-S18"), 0.8 * self.size("-l5", "-S18", "--order=path"))

    def test_mixture(self):
        self.mixture()
        self.compare_levels()


    def test_unrelated_directories(self):
        """Each has its own order, and together they are as small as alone."""
        self.releases_and_hosts()
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), *QUIET, "-l3",
                     "--log-level=verbose")
        self.assertEqual(re.findall(r"order: (.*)|group (\d of \d):", result.err),
                         [("", "1 of 2"), ("path", ""), ("", "2 of 2"), ("siblings", "")])
        together = self.size("-l3")
        alone = 0
        for name in ("releases", "hosts"):
            os.rename(self.path("tree"), self.path("all"))
            os.mkdir(self.path("tree"))
            os.rename(self.path("all", name), self.path("tree", name))
            alone += self.size("-l3")
            os.rename(self.path("tree", name), self.path("all", name))
            os.rmdir(self.path("tree"))
            os.rename(self.path("all"), self.path("tree"))
        self.assertLessEqual(together, alone * 1.01)


    def segments(self, tree):
        result = run("MKDWARFS", "-i", self.path(tree), "-o", self.path("x"), "-f", *QUIET, "-l5",
                     "-C", "zstd:level=1", "-S22")
        return int(re.search(r"in (\d+) segments", result.err)[1])

    def test_unrelated_densities(self):
        """What is worth a segment depends on how well the directory compresses: beside noise, these
        repeats in the same block would be."""
        rng = random.Random(7)
        words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(16)]
        runs = [b" ".join(rng.choices(words, k=250)) for _ in range(5700)] * 2
        rng.shuffle(runs)
        for number in range(4):
            self.write(f"tree/noise/{number}", rng.randbytes(4300000))
            self.write(f"tree/text/part{number}", b"\n".join(runs[number::4]))
        alone = self.segments("tree/text")
        self.assertTrue(2000 < alone < 4500, alone)  # of 5700 repeats
        self.assertTrue(0.9 * alone < self.segments("tree") < 1.1 * alone, alone)


class Levels(Set):
    """A higher level is never larger, nor is a higher level of a codec."""

    def expect_descent(self, sizes):
        least = None
        for words, size in sizes:
            if least is not None:
                self.assertLessEqual(size, least * 1.005 + SLACK, words)
            least = size if least is None else min(least, size)

    def descend(self, codecs=CODECS):
        """The codecs named for level 3, and all for level 7."""
        self.expect_descent([([f"-l{level}"], self.size(f"-l{level}"))
                             for level in (0, 1, 3, 4, 5, 7, 8, 9)])
        for level, codecs in (("-l3", codecs), ("-l7", CODECS)):
            self.expect_descent([([level, codec], self.size(level, "-C", codec))
                                 for codec in codecs])

    def test_texts(self):
        self.texts(4)
        self.descend(CODECS[:2])  # level 22 takes seconds, and is compared at level 7

    def test_programs(self):
        self.programs()
        self.descend()

    def test_mixture(self):
        self.mixture()
        self.descend()


if __name__ == "__main__":
    cli.main()
