#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsck --salvage: intact files of a damaged image are recovered, and nothing else."""
import filecmp
import glob
import os
import random

import cli
from cli import IS_NATIVE, run
from measured import Run
import tap
import tree as trees

# One bit of each field of a header, and of the payload.
FIELDS = {"magic": 0, "major": 6, "minor": 7, "sha": 0x10, "xxh3": 0x2a, "number": 0x30,
          "type": 0x34, "compression": 0x36, "length": 0x38, "long": 0x3d}
RESIDENT_MAX = 128 << 20


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(trees.remove, self.path("out"))

    def source(self):
        """Files of noise, so that each needs separate blocks, and a few others."""
        rng = random.Random(7)
        if os.path.isdir(self.path("tree")):
            return self.path("tree")
        for number in range(12):
            self.write(f"tree/noise/{number}", rng.randbytes(50000))
        self.write("tree/text", b"text\n" * 100)
        self.write("tree/empty")
        os.link(self.path("tree", "text"), self.path("tree", "hard"))
        os.symlink("text", self.path("tree", "link"))
        for parent, dirs, files in os.walk(self.path("tree"), topdown=False):
            for entry in dirs + files:
                os.utime(os.path.join(parent, entry), (5, 5), follow_symlinks=False)
        return self.path("tree")

    def packed(self, *options):
        """The tree, the bytes of its image, and its sections."""
        source = self.source()
        image = self.pack("--order=path", *options, tree=source)
        with open(image, "rb") as made:
            return source, made.read(), self.info(image)["sections"]

    def salvage(self, contents, *options):
        """Returns the finished process; recovered files are in out."""
        trees.remove(self.path("out"))
        image = self.write("damaged.dwarfs", contents)
        return run("DWARFSCK", "--salvage", self.path("out"), image, *options,
                   env={**os.environ, "LC_ALL": "C"})

    def differences(self, source):
        return self.expect_any(run("DWARFSCK", "--diff", source, self.path("out"))).out

    def expect_any(self, result):
        self.assertIn(result.code, (0, 1), result.err)
        return result

    def lost(self, result):
        return [line.split(" ", 1)[1] for line in result.out.splitlines()]


class Damage(Case):
    def test_nothing_is_lost_of_a_good_image(self):
        source, contents, _ = self.packed()
        result = self.expect(self.salvage(contents), 0, "15 of 15 files are intact")
        self.assertEqual(result.out, "")
        self.assertEqual(self.differences(source), "")
        quiet = self.expect(self.salvage(contents, "-q"), 0)
        self.assertEqual((quiet.out, quiet.err), ("", ""))

    def headers(self, *options, prefix=b""):
        """A flipped bit in any field of any header loses no file."""
        source, contents, sections = self.packed(*options)
        for section in sections:
            if section["type"] == "BLOCK" and section["number"] not in (0, 4):
                continue
            for field, offset in FIELDS.items():
                damaged = bytearray(prefix + contents)
                damaged[len(prefix) + section["offset"] + offset] ^= 0x11
                result = self.salvage(bytes(damaged))
                what = f"{field} of {section['type']} {section['number']}: {result.err}"
                self.assertEqual(result.code, 0, what)
                self.assertEqual(self.differences(source), "", what)

    def test_headers(self):
        self.headers()

    def test_headers_without_an_index(self):
        self.headers("--no-section-index")

    def test_headers_behind_a_header(self):
        self.headers(prefix=b"#!/bin/sh\nDWARFS\2\5exit\n" * 100)

    def test_a_bit_in_each_section(self):
        for options in ([], ["--no-section-index"]):
            source, contents, sections = self.packed(*options)
            for section in sections:
                damaged = bytearray(contents)
                damaged[section["offset"] + 64 + section["compressed_size"] // 2] ^= 0x10
                result = self.salvage(bytes(damaged))
                if section["type"] == "BLOCK":
                    self.check_block(source, section, result)
                elif section["type"] in ("DIGESTS", "HISTORY", "SECTION_INDEX", "XATTRS"):
                    self.assertEqual(result.code, 0, result.err)
                    self.assertEqual(self.differences(source), "")
                else:
                    self.assertEqual(result.code, 1, result.err)
                    self.assertIn(section["type"], result.err)

    def check_block(self, source, section, result):
        self.expect(result, 1, f"block {section['number']} is lost")
        lost = self.lost(result)
        self.assertTrue(0 < len(lost) < 6, lost)
        self.assertIn(f"{15 - len(lost)} of 15 files are intact", result.err)
        lines = self.differences(source).splitlines()
        self.assertEqual(sorted(lines), sorted("- " + name for name in lost))

    def test_zeros(self):
        source, contents, sections = self.packed()
        damaged = bytearray(contents)
        damaged[sections[2]["offset"] + 64 + 1000] ^= 1
        result = self.expect(self.salvage(bytes(damaged), "--salvage-zeros"), 1)
        self.assertGreater(len(result.out.splitlines()), 0)
        names = []
        for line in result.out.splitlines():
            self.assertRegex(line, r"^zeros noise/\d+: \d+ of 50000 bytes$")
            names.append(line.split()[1].rstrip(":"))
            count = int(line.split()[2])
            with open(os.path.join(source, names[-1]), "rb") as old, \
                    open(self.path("out", names[-1]), "rb") as new:
                before, after = old.read(), new.read()
            self.assertEqual(len(before), len(after))
            start = next(i for i in range(50000) if before[i] != after[i])
            end = next(i for i in range(49999, -1, -1) if before[i] != after[i]) + 1
            self.assertEqual(after[start:end], bytes(end - start))
            self.assertTrue(count - 20 < end - start <= count, (count, end - start))
        self.assertEqual([line.split(":")[0] for line in self.differences(source).splitlines()],
                         ["! " + name for name in names])

    def test_several_blocks(self):
        source, contents, sections = self.packed()
        damaged = bytearray(contents)
        for number in (0, 3, 4, 7):
            damaged[sections[number]["offset"] + 100] ^= 1
        result = self.expect(self.salvage(bytes(damaged)), 1, "(4 of ")
        self.assertEqual(sorted(self.differences(source).splitlines()),
                         sorted("- " + name for name in self.lost(result)))

    def test_holes_in_the_file(self):
        """Missing or additional bytes move everything after them."""
        for options in ([], ["--no-section-index"]):
            source, contents, sections = self.packed(*options)
            at = sections[3]["offset"] + 500
            for damaged in (contents[:at] + contents[at + 100:],
                            contents[:at] + bytes(100) + contents[at:],
                            contents[:at] + contents[sections[5]["offset"] + 500:],
                            contents[:sections[3]["offset"]] + contents[sections[4]["offset"]:]):
                result = self.expect(self.salvage(damaged), 1)
                lost = self.lost(result)
                self.assertTrue(0 < len(lost) < 7, (lost, result.err))
                self.assertEqual(sorted(self.differences(source).splitlines()),
                                 sorted("- " + name for name in lost))

    def test_images_inside_of_images(self):
        """Images inside files are not taken for sections of the outer image."""
        inner = self.pack(tree=self.tree("inner"))
        source = self.source()
        with open(inner, "rb") as made:
            self.write("tree/inner.dwarfs", made.read())
        image = self.pack("-C", "null", "--no-section-index", tree=source)
        with open(image, "rb") as made:
            contents = bytearray(made.read())
        sections = self.info(image)["sections"]
        for number in (0, len(sections) // 2, len(sections) - 3):
            damaged = bytearray(contents)
            damaged[sections[number]["offset"]] ^= 1
            result = self.salvage(bytes(damaged))
            self.assertEqual(result.code, 0, f"{number}: {result.err}")
            self.assertEqual(self.differences(source), "")

    def test_noise(self):
        """Damaged bytes at several offsets: no crash, and no wrong contents are recovered."""
        source, contents, sections = self.packed()
        end = [section["offset"] for section in sections
               if section["type"] == "METADATA_V2_SCHEMA"][0]
        rng = random.Random(5)
        for _ in range(25):
            damaged = bytearray(contents)
            for _ in range(rng.randrange(1, 30)):
                damaged[rng.randrange(end)] = rng.randrange(256)
            result = self.salvage(bytes(damaged))
            self.assertIn(result.code, (0, 1), result.err)
            lines = self.differences(source).splitlines()
            self.assertEqual(sorted(lines), sorted("- " + name for name in self.lost(result)))


class Truncated(Case):
    def test_at_many_places(self):
        source, contents, sections = self.packed()
        ends = [section["offset"] + 64 + section["compressed_size"] for section in sections]
        metadata = [end for end, section in zip(ends, sections)
                    if section["type"] == "METADATA_V2"][0]
        sizes = {0, 1, 7, 8, 63, 64, 65, 1000, len(contents) - 1}
        for end in ends:
            sizes |= {end - 1, end, end + 1, end + 30, end + 64}
        for size in sorted(size for size in sizes if size < len(contents)):
            result = self.salvage(contents[:size])
            if size >= metadata:
                self.assertEqual((result.code, self.differences(source)), (0, ""), result.err)
                continue
            self.assertEqual(result.code, 1, f"{size}: {result.err}")
            whole = [section for end, section in zip(ends, sections)
                     if end <= size and section["type"] == "BLOCK"]
            found = os.listdir(self.path("out")) if os.path.isdir(self.path("out")) else []
            # A section is recognized as part of an image only if a complete one exists.
            self.assertEqual(sorted(found), [f"block-{number:08}" for number in
                                             range(len(whole))], f"{size}: {result.err}")
            if whole:
                self.assertIn("nothing has a name any more", result.err)

    def test_blocks_have_the_contents(self):
        source, contents, sections = self.packed()
        end = [part["offset"] for part in sections if part["type"] == "METADATA_V2"][0]
        result = self.expect(self.salvage(contents[:end]), 1, "nothing has a name")
        self.assertEqual(result.err.count("there is no good section index"), 1, result.err)
        blocks = b""
        for path in sorted(glob.glob(self.path("out", "block-*"))):
            with open(path, "rb") as block:
                blocks += block.read()
        for number in range(12):
            with open(os.path.join(source, "noise", str(number)), "rb") as file:
                self.assertIn(file.read(), blocks)


class Target(Case):
    def test_what_is_there_stays(self):
        source, contents, _ = self.packed()
        os.makedirs(self.path("out"))
        self.write("out/text", b"mine")
        image = self.write("image", contents)
        result = run("DWARFSCK", "--salvage", self.path("out"), image)
        self.expect(result, 1, "text")
        with open(self.path("out", "text"), "rb") as mine:
            self.assertEqual(mine.read(), b"mine")
        lines = self.differences(source).splitlines()
        self.assertTrue(all("text" in line or "hard" in line for line in lines), lines)

    def test_targets_that_are_none(self):
        _, contents, sections = self.packed()
        image = self.write("image", contents)
        cut = self.write("cut", contents[:sections[3]["offset"]])
        for path in (image, cut):
            self.expect(run("DWARFSCK", "--salvage", self.path("no", "such"), path), 1, "no/such")
            self.expect(run("DWARFSCK", "--salvage", image, path), 1, image)

    def test_command_lines(self):
        image = self.pack()
        self.expect(run("DWARFSCK", image, "--salvage-zeros"), 1, "needs --salvage")
        for word in ("-l", "--json", "--cat=x"):
            self.expect(run("DWARFSCK", image, "--salvage", self.path("out"), word), 1,
                        "mutually exclusive")
        for bad in (self.path("missing"), self.write("text", b"text\n" * 5000), self.dir):
            self.expect(run("DWARFSCK", "--salvage", self.path("out"), bad), 1, bad)
            self.assertFalse(os.path.exists(self.path("out")))


class Hostile(Case):
    def images(self):
        return sorted(glob.glob(os.path.join(tap.data("badfs", "files"), "*")) +
                      glob.glob(os.path.join(tap.data("badfs", "crafted"), "*.dwarfs")))

    def salvage_one(self, image, *options):
        trees.remove(self.path("out"))
        done = Run(tap.tool("DWARFSCK"), "--salvage", self.path("out"), image, *options)
        self.assertIn(done.code, (0, 1), f"{image}: {done.text}")
        self.assertTrue(done.code == 0 or done.text, f"{image}: silence")
        if IS_NATIVE:
            self.assertLess(done.resident, RESIDENT_MAX, image)
        self.assertLessEqual(set(os.listdir(self.dir)), {"out"}, image)

    def test_damaged_images(self):
        for number, image in enumerate(self.images()):
            self.salvage_one(image, *([] if number % 2 else ["--salvage-zeros"]))


class Others(Case):
    def test_images_by_others(self):
        """Images of every format: the same result as extraction."""
        for image in sorted(glob.glob(tap.data("images") + "/**/*.dwarfs", recursive=True)):
            if os.path.getsize(image) > 1 << 20:
                continue
            with open(image, "rb") as made:
                contents = made.read()
            trees.remove(self.path("plain"))
            plain = run("DWARFSEXTRACT", "-i", image, "-o", self.path("plain"), "--skip-devices")
            if plain.code != 0:
                continue
            self.addCleanup(trees.remove, self.path("plain"))
            result = self.salvage(contents)
            if os.geteuid() == 0:
                self.assertEqual(result.code, 0, f"{image}: {result.err}")
            compared = filecmp.dircmp(self.path("plain"), self.path("out"))
            self.assertEqual(compared.left_only + compared.diff_files, [], image)


if __name__ == "__main__":
    cli.main()
