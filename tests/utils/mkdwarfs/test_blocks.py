#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How mkdwarfs fills blocks: orders, segments, categories, limits, and their messages."""
import hashlib
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import unittest

import cli
from cli import run
import absent
import rich
import tap

QUIET = ["--no-history", "--no-create-timestamp", "--no-progress"]


class Blocks(cli.Case):
    def pack(self, *words, tree=None, code=0):
        """Returns the image and the messages."""
        image = self.path("image.dwarfs")
        result = run("MKDWARFS", "-i", tree or self.path("tree"), "-o", image, "-f", "-l2",
                     *QUIET, *words)
        self.expect(result, code)
        self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)
        return image, result.err

    def stored(self, image):
        """Bytes of all blocks before compression."""
        return sum(section["size"] for section in self.info(image)["sections"]
                   if section["type"] == "BLOCK")

    def sections(self, image):
        return [section for section in self.info(image)["sections"]
                if section["type"] == "BLOCK"]

    def stored_order(self, image):
        lines = run("DWARFSCK", "--checksum=xxh3-64", "-n", "1", image).out.splitlines()
        return [line.split("  ", 1)[1] for line in lines]

    def digests(self, image):
        return {path: digest for digest, path in
                (line.split("  ", 1) for line in
                 run("DWARFSCK", "--checksum=sha256", image).out.splitlines())}


class Orders(Blocks):
    def scattered(self):
        rng = random.Random(1)
        for name in ("b/1", "a/2", "c/0", "a/10", "z"):
            self.write("tree/" + name, rng.randbytes(400 + len(name)))

    def test_path_revpath_explicit(self):
        self.scattered()
        listed = self.write("list", b"c/0\nz\nno/such/file\na/2\nb/1\na/10\n")
        for order, paths in (("path", ["a/10", "a/2", "b/1", "c/0", "z"]),
                             ("revpath", ["c/0", "b/1", "a/10", "a/2", "z"]),
                             ("explicit:file=" + listed, ["c/0", "z", "a/2", "b/1", "a/10"])):
            image, _ = self.pack("--order", order, "-W0")
            self.assertEqual(self.stored_order(image), paths, order)

    def alike(self):
        """Two families of files that alternate by path: words of different letters."""
        rng = random.Random(2)
        families = [[bytes(rng.choices(letters, k=9)) + b" " for _ in range(200)]
                    for letters in (b"abcdefghijklm", b"0123456789.,-")]
        for number in range(16):
            family = families[number % 2]
            self.write(f"tree/{number:02}", b"".join(rng.choice(family) for _ in range(900)))

    def test_what_is_alike_comes_together(self):
        self.alike()
        for order in ("similarity", "nilsimsa", "nilsimsa:max-children=256:max-cluster-size=64"):
            image, _ = self.pack("--order", order, "-W0")
            kinds = [int(path) % 2 for path in self.stored_order(image)]
            changes = sum(a != b for a, b in zip(kinds, kinds[1:]))
            self.assertLessEqual(changes, 3, (order, kinds))

    def test_trials_can_be_limited(self):
        absent.need("zstd")
        self.alike()
        images = {}
        for trials, expected in (("", 3), (":max-trials=2", 2), (":max-trials=1", 0),
                                 (":max-trials=0", 0)):
            image, told = self.pack("-C", "zstd:level=19", f"--order=auto{trials}",
                                    "--log-level=verbose")
            tried = re.findall(r"order (\w+): \d+ bytes with zstd:level=9", told)
            self.assertEqual(len(tried), expected, told)
            images[trials] = os.path.getsize(image)
        self.assertLess(images[""], images[":max-trials=0"])

    def test_large_files_first(self):
        self.alike()
        for number, size in enumerate((20000, 50000, 30000)):
            self.write(f"tree/large {number}", tap.random_bytes(size))
        for order in ("similarity", "nilsimsa"):
            image, _ = self.pack("--order", order, "--max-similarity-size", "15k", "-W0")
            self.assertEqual(self.stored_order(image)[:3], ["large 1", "large 2", "large 0"])

    def test_order_of_a_category(self):
        self.scattered()
        image, _ = self.pack("--categorize=incompressible", "--order=path",
                             "--order=incompressible::revpath", "-W0")
        self.assertEqual(self.stored_order(image), ["c/0", "b/1", "a/10", "a/2", "z"])


class Segments(Blocks):
    def test_parts_are_stored_once(self):
        base = tap.random_bytes(200000)
        self.write("tree/1", base)
        self.write("tree/2", tap.random_bytes(777) + base)
        self.write("tree/3", base[50000:150000])
        self.write("tree/4", tap.random_bytes(333) + base[1:])
        for words in (["-W12"], ["-W12", "-w3"], ["-W8", "-w0"]):
            image, told = self.pack(*words)
            self.assertLess(self.stored(image), 212000, words)
            self.assertRegex(told, r"saved .* in [1-9]\d* segments")
        for words in (["-W0"], ["-B0", "-W12"]):
            self.assertGreater(self.stored(self.pack(*words)[0]), 690000, words)

    def test_lookback_is_a_limit(self):
        base = tap.random_bytes(60000)
        for number, contents in enumerate((base, tap.random_bytes(300000), base + b"x")):
            self.write(f"tree/{number}", contents)
        words = ["-S16", "-W12", "--order=path"]
        full = self.stored(self.pack(*words)[0])
        self.assertLess(full, 370000)
        self.assertGreater(self.stored(self.pack(*words, "-B1")[0]), full + 50000)
        self.assertEqual(self.stored(self.pack(*words, "-B100")[0]), full)

    def test_runs_and_periods_end_and_come_back(self):
        for byte in (b"\0", b"G", b"\xff"):
            self.write(f"tree/run {byte[0]}", byte * 3000000)
        for pair in (b"ab", b"\0\xff"):
            self.write(f"tree/pair {pair.hex()}", pair * 1500000)
        for period in (61, 4093, 65537):
            self.write(f"tree/period {period}", tap.random_bytes(period) * (2000000 // period))
        wanted = {}
        for name in os.listdir(self.path("tree")):
            with open(self.path("tree", name), "rb") as file:
                wanted[name] = hashlib.sha256(file.read()).hexdigest()
        for words in (["-W12", "-w1"], ["-W12", "-w4"], ["-W4", "-w0"], ["-S27", "-W12"]):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            image, _ = self.pack("-l1", *words)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.assertLess(after.ru_utime - before.ru_utime, 60)
            self.assertEqual(self.digests(image), wanted)

    def test_what_does_not_shrink_is_stored(self):
        self.write("tree/noise", tap.random_bytes(100000))
        for codec in ("zstd:level=1", "lz4", "lzma:level=1", "brotli:quality=1"):
            if codec.split(":")[0] in absent.ABSENT:
                continue
            image, _ = self.pack("-C", codec)
            self.assertEqual({s["compression"] for s in self.sections(image)}, {"NONE"})


class Categories(Blocks):
    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        self.write("tree/sound.wav", rich.wave(rng, 20000))
        self.write("tree/text", b"all work and no play\n" * 5000)
        self.write("tree/noise", rng.randbytes(50000))

    def names(self, image):
        info = self.info(image)
        return {section.get("category") for section in info["sections"]
                if section["type"] == "BLOCK"}

    def test_default_list(self):
        image, told = self.pack("--categorize")
        self.assertEqual(self.names(image), {"<default>", "incompressible", "pcmaudio/metadata",
                                             "pcmaudio/waveform"})
        for name in ("<default>", "incompressible", "pcmaudio/waveform"):
            self.assertRegex(told, rf"{name}: .* ratio \d+\.\d\d")
        again, _ = self.pack("--categorize=fits,pcmaudio,binary,incompressible")
        with open(image, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_codecs_of_categories(self):
        absent.need("flac", "zstd")
        found = {}
        image, _ = self.pack("--categorize", "-C", "zstd:level=1", "-C", "incompressible::null",
                             "-C", "pcmaudio/metadata::null", "-S16")
        for section in self.sections(image):
            found.setdefault(section["category"], set()).add(section["compression"])
        self.assertEqual(found["<default>"], {"ZSTD"})
        self.assertEqual(found["incompressible"], {"NONE"})
        self.assertEqual(found["pcmaudio/waveform"], {"FLAC"})
        image, _ = self.pack("--categorize", "-C", "pcmaudio/waveform::zstd:level=3")
        self.assertNotIn("FLAC", {s["compression"] for s in self.sections(image)})

    def test_flac_is_smaller(self):
        absent.need("flac")
        def packed(*words):
            return sum(s["compressed_size"] for s in self.sections(self.pack(*words)[0]))
        self.assertLess(packed("--categorize=pcmaudio", "-l5"), packed("-l5"))

    def test_names_and_metadata_can_be_left_out(self):
        image, _ = self.pack("--categorize", "--no-category-names")
        self.assertEqual(self.names(image), {None})
        wanted = self.digests(image)
        image, _ = self.pack("--categorize", "--no-category-metadata")
        self.assertIn("incompressible", self.names(image))
        self.assertEqual(self.digests(image), wanted)

    def test_every_sample_format(self):
        inputs = tap.data("inputs", "pcmaudio")
        image, told = self.pack("--categorize", tree=inputs)
        self.assertNotIn("warning", told)
        self.assertEqual(self.names(image) - {"incompressible"},
                         {"pcmaudio/metadata", "pcmaudio/waveform"})
        for name, digest in self.digests(image).items():
            with open(os.path.join(inputs, name), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest)

    def test_pictures_and_programs(self):
        image, _ = self.pack("--categorize", tree=tap.data("inputs", "fits"))
        self.assertEqual(self.names(image), {"fits/image", "fits/metadata"})
        image, _ = self.pack("--categorize=binary", tree=tap.data("inputs", "binary"))
        self.assertEqual(self.names(image), {"binary/elf", "binary/pe", "binary/macho-header",
                                             "binary/macho-section"})

    def test_malformed_files_are_of_no_category(self):
        inputs = tap.data("inputs")
        broken = {}
        for folder, name, at in (("pcmaudio", "test16.wav", 16), ("pcmaudio", "test16.aiff", 16),
                                 ("pcmaudio", "test16.caf", 48), ("pcmaudio", "test16.w64", 40),
                                 ("binary", "elf-x86_64", 4), ("binary", "pe-amd64", 60)):
            with open(os.path.join(inputs, folder, name), "rb") as file:
                contents = bytearray(file.read())
            contents[at:at + 4] = b"\xee\xee\xee\xee"
            self.write("broken/" + name, bytes(contents))
            broken[name] = hashlib.sha256(contents).hexdigest()
        image, told = self.pack("--categorize=pcmaudio,binary", tree=self.path("broken"))
        self.assertEqual(self.names(image), {"<default>"})
        self.assertIn("warning", told)
        for name in ("test16.wav", "test16.aiff", "test16.caf", "test16.w64"):
            self.assertIn(name, told)
        self.assertEqual(self.digests(image), broken)

    def test_incompressible(self):
        self.write("tree/half", b"text " * 40000 + tap.random_bytes(200000))
        self.write("tree/tiny noise", tap.random_bytes(300))
        os.unlink(self.path("tree", "sound.wav"))

        def size_of(*words):
            info = self.info(self.pack("--categorize=incompressible", "-C", "null", *words)[0])
            return sum(s["size"] for s in info["sections"]
                       if s.get("category") == "incompressible")
        whole = size_of()
        self.assertEqual(whole, 50000 + 300)
        self.assertEqual(size_of("--incompressible-min-input-size=1k"), 50000)
        parts = size_of("--incompressible-fragments", "--incompressible-block-size=16k")
        self.assertGreater(parts, whole + 150000)
        self.assertLess(parts, whole + 220000)
        self.assertGreater(size_of("--incompressible-ratio=0.2"), whole + 150000)

    def test_hotness(self):
        for number in range(5):
            self.write(f"tree/many/{number}", b"%d" % number * 900)
        listed = self.write("hot", b"many/3\ntext\nmany/1\n")
        words = ["--categorize=hotness", f"--hotness-list={listed}", "-W0"]
        image, _ = self.pack(*words)
        self.assertIn("hotness", self.names(image))
        order = [path for path in self.stored_order(image) if path in
                 ("many/3", "text", "many/1")]
        self.assertEqual(order, ["many/3", "text", "many/1"])
        self.write("hot", b"many/3\ntext\nmany/3\n")
        _, told = self.pack(*words)
        self.assertIn("duplicate path in hotness list", told)


class Limits(Blocks):
    def peak(self, *words):
        """The peak memory by the kernel, in bytes, and the messages."""
        image = self.path("x")
        script = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)")
        done = subprocess.run([sys.executable, "-S", "-c", script, tap.tool("MKDWARFS"), "-i",
                               self.path("tree"), "-o", image, "-f", *QUIET, *words],
                              capture_output=True, text=True, check=False)
        return done.returncode, 1024 * int(done.stdout), done.stderr

    def make(self):
        """Mostly noise: takes as much memory as other data, in less time."""
        rng = random.Random(4)
        for number in range(12):
            self.write(f"tree/{number}", rng.randbytes(2300000) +
                       b"".join(b"%d\n" % rng.randrange(10**6) for _ in range(15000)))

    @unittest.skipIf(os.environ.get("DWARFS_SANITIZED"), "a sanitizer uses memory itself")
    def test_the_limit_holds(self):
        absent.need("zstd")
        self.make()
        for limit in (256, 96, 48):
            code, peak, told = self.peak("-l7", "-N8", "-C", "zstd:level=12", "-L", f"{limit}m")
            self.assertEqual(code, 0, told)
            self.assertLessEqual(peak, limit << 20, told)
            self.expect(run("DWARFSCK", "-q", self.path("x")), 0)
            if limit < 256:
                self.assertRegex(told, r"(?i)memory|limit")

    def test_too_little_is_refused(self):
        self.write("tree/x", tap.random_bytes(100000))
        code, _, told = self.peak("-l7", "-L", "1m")
        self.assertEqual(code, 1, told)
        self.assertRegex(told, r"\d+(\.\d+)? ?[KMG]i?B")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_auto(self):
        self.write("tree/x", tap.random_bytes(100000))
        images = set()
        for words in ([], ["-L", "auto"]):
            image, _ = self.pack("-l7", *words)
            with open(image, "rb") as file:
                images.add(file.read())
        self.assertEqual(len(images), 1)


class Telling(Blocks):
    def test_options_without_effect_say_so(self):
        self.write("tree/x", b"x")
        for words, name in ((["--bloom-filter-size=5"], "--bloom-filter-size"),
                            (["--bloom-filter-size", "incompressible::5"], "--bloom-filter-size"),
                            (["--num-segmenter-workers=2"], "--num-segmenter-workers"),
                            (["--hotness-list", self.write("hot", b"x\n")], "--hotness-list"),
                            (["--incompressible-ratio=0.5"], "--incompressible-")):
            _, told = self.pack(*words)
            self.assertRegex(told, rf"warning: {name}\S* has no effect")

    def test_niceness(self):
        self.write("tree/x", b"".join(b"%d\n" % i for i in range(300000)))
        for words in (["--compress-niceness=0"], ["--compress-niceness=19", "-N2"]):
            self.pack(*words)

    def test_simple_progress_has_the_form_of_the_manual(self):
        absent.need("lzma", "zstd")  # others are done before there is a forecast
        rng = random.Random(5)
        self.write("tree/x", b"".join(b"%d\n" % rng.randrange(10**6) for _ in range(200000)))
        child = subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("tree"), "-o",
                                  self.path("x"), "-l7", "-S16", "--progress=simple", "-N1"],
                                 stderr=subprocess.PIPE, text=True)
        while child.poll() is None:  # a line is due after some time, not after some work
            child.send_signal(signal.SIGSTOP)
            time.sleep(0.4)
            child.send_signal(signal.SIGCONT)
            time.sleep(0.04)
        told = child.communicate()[1]
        self.assertEqual(child.returncode, 0, told)
        size = r"[\d.]+ ([KMGT]i)?B"
        form = re.compile(rf"mkdwarfs: [a-z]+( [a-z]+)? +[\d.]+%(  {size}(/s| read))?"
                          rf"(  ratio [\d.]+)?(  {size} saved)?(  [\dhms.]+ left)?(  {size} of {size})?$")
        lines = [line for line in told.splitlines() if "%" in line]
        self.assertTrue(lines, told)
        for line in lines:
            self.assertRegex(line, form)
        self.assertTrue([line for line in lines if line.endswith("iB") and " left" in line],
                        told)

    def test_summary_of_savings(self):
        base = tap.random_bytes(100000)
        self.write("tree/a", base)
        self.write("tree/b", base)
        self.write("tree/c", tap.random_bytes(5) + base)
        _, told = self.pack("-W12", "-l3")
        self.assertRegex(told, r"input 293 KiB: saved 97\.7 KiB in 1 duplicate, 9\d\.\d KiB in "
                               r"\d+ segments?")
        self.assertRegex(told, r"image .*, ratio \d\.\d+, in [\d.]+s "
                               r"\([\d.]+s of processor time\), peak memory [\d.]+ MiB")


class Difficult(Blocks):
    """Inputs on which bytes could be lost."""

    def expect_same(self, image):
        wanted = {}
        for parent, _, files in os.walk(self.path("tree")):
            for name in files:
                path = os.path.join(parent, name)
                with open(path, "rb") as file:
                    wanted[os.path.relpath(path, self.path("tree"))] = \
                        hashlib.sha256(file.read()).hexdigest()
        self.assertEqual(self.digests(image), wanted)

    @staticmethod
    def wav(samples, channels, bits):
        frame = channels * bits // 8
        return (b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " +
                struct.pack("<IHHIIHH", 16, 1, channels, 44100, 44100 * frame, frame, bits) +
                b"data" + struct.pack("<I", len(samples)) + samples)

    def test_holes_between_the_bytes_of_a_frame(self):
        samples = b"".join(struct.pack("<i", i * 7919 % 65536)[:3] * 2 for i in range(100000))
        path = self.write("tree/sound.wav", self.wav(samples, 2, 24))
        with open(path, "r+b") as file:  # a hole from page to page, as a copy makes them
            contents = file.read()
            file.seek(0)
            file.truncate(0)
            file.write(contents[:40960])
            file.seek(122880)
            file.write(contents[122880:])
        for words in ((), ("--no-sparse-files",)):
            with self.subTest(words=words):
                image, _ = self.pack("-l7", "--categorize", *words)
                self.expect_same(image)

    def test_long_windows_of_sound_find_what_is_repeated(self):
        samples = random.Random(5).randbytes(3 << 20)
        self.write("tree/a.wav", self.wav(samples, 2, 16))
        self.write("tree/b.wav", self.wav(b"\1\2\3\4" * 100 + samples, 2, 16))
        image, _ = self.pack("-l7", "--categorize=pcmaudio")
        self.assertLess(self.stored(image), 4 << 20)
        self.expect_same(image)

    def test_the_first_of_equal_files_says_where_holes_are(self):
        for i in range(100):
            self.write(f"tree/a{i:03}", random.Random(i).randbytes(8000))
        with open(self.path("tree/b"), "wb") as file:
            file.write(b"x" * 10)
            file.truncate(16000)
        self.write("tree/c", b"x" * 10 + bytes(15990))
        images = set()
        for workers in ("1", "2", "8", "8", "8"):
            image, _ = self.pack("-l7", "-C", "null", "-N", workers)
            with open(image, "rb") as file:
                images.add(file.read())
        self.assertEqual(len(images), 1)

    def test_the_image_that_is_replaced_is_not_packed(self):
        self.tree()
        inside = self.path("tree", "old.dwarfs")
        sizes = []
        for _ in range(3):
            self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", inside, "-f", "-l2",
                            *QUIET), 0)
            self.assertNotIn("old.dwarfs", run("DWARFSCK", "-l", inside).out)
            sizes.append(os.path.getsize(inside))
        self.assertEqual(sizes[1], sizes[2])  # the first has other times

    def test_many_fragments(self):
        """Time grows linearly with the number of files; here the run must end."""
        noise = random.Random(2).randbytes(1 << 20)
        self.write("tree/mixed", b"".join(noise[i:i + 1024] + b"text" * 256
                                          for i in range(0, len(noise), 1024)))
        image, _ = self.pack("-l3", "--categorize=incompressible", "--incompressible-fragments",
                             "--incompressible-block-size=1k")
        self.expect_same(image)


if __name__ == "__main__":
    cli.main()
