#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Messages, exit codes and output of dwarfsck."""
import csv
import glob
import json
import os
import re
import shutil
import subprocess

import cli
from cli import run
import absent
import tap

KEYS = """created_by created_on block_size image_offset inode_count original_filesystem_size
categories sections history valid_section_index""".split()


def manifest(path):
    """Rows of a manifest by path, without the root."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["path"]: row for row in rows if row["path"] != "."}


def shared_images():
    """Pairs of an image by another writer and its manifest; those that can be read here."""
    root = tap.data("images")
    pairs = []
    for image in sorted(glob.glob(os.path.join(root, "**", "*.dwarfs"), recursive=True)):
        name = os.path.basename(image)[:-len(".dwarfs")] + ".tsv"
        for folder in (os.path.dirname(image), root):
            table = os.path.join(folder, "manifests", name)
            if os.path.exists(table):
                if absent.can_read(image):
                    pairs.append((image, table))
                break
    assert len(pairs) > 10, pairs
    return pairs


def as_ls_shows(name):
    if not shutil.which("ls"):
        raise tap.Skip("no ls")
    done = subprocess.run(["ls", "-d", "--quoting-style=shell-escape-always", "--", name],
                          capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    if name.isprintable() and name[:1] not in ("'", '"'):
        return name
    # A missing path is quoted in the message.
    text = (done.stdout or done.stderr.split(b"access ")[1].rsplit(b": ", 1)[0]).decode()
    return text.strip()


class Usage(cli.Case):
    def test_help(self):
        full = self.expect(run("DWARFSCK", "--help"), 0).out
        for text in ("Usage: dwarfsck", "--check-integrity", "sha512-256", "xxh3-128"):
            self.assertIn(text, full)
        self.assertEqual(run("DWARFSCK", "-h").out, full)
        self.assertEqual(run("DWARFSCK").out, full)

    def test_every_option_of_the_help_is_in_the_manual(self):
        root = os.environ.get("DWARFS_SOURCE_ROOT") or os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
        with open(os.path.join(root, "man", "dwarfsck.1"), encoding="utf-8") as page:
            manual = page.read()
        names = {word.rstrip(",") for word in run("DWARFSCK", "-h").out.split()
                 if word.startswith("--")}
        self.assertGreater(len(names), 15)
        for name in sorted(names):
            self.assertRegex(manual, rf"(Fl|,) {name[1:]}\b")

    def test_version(self):
        self.assertRegex(self.expect(run("DWARFSCK", "--version"), 0).out,
                         r"^dwarfsck \d+\.\d+\.\d+\n$")

    def test_bad_command_lines(self):
        image = self.pack()
        for words, text in ((["--no-such-option"], "'--no-such-option'"),
                            (["grmpf"], "unrecognized argument 'grmpf'"),
                            (["--checksum=grmpf"],
                             "checksum algorithm not available: grmpf for --checksum: use xxh3-64,"),
                            (["--no-check", "--check-integrity"], "mutually exclusive"),
                            (["-H", "--json"], "mutually exclusive"),
                            (["-H", "--check-integrity"], "mutually exclusive"),
                            (["--cat", "x", "--check-integrity"], "mutually exclusive"),
                            (["--raw", "--json"], "--raw and --null are for lists"),
                            (["--raw", "--cat", "x"], "--raw and --null are for lists"),
                            (["-0", "-H"], "--raw and --null are for lists"),
                            (["-0"], "--null needs --list"),
                            (["-O", "grmpf"], "image-offset"),
                            (["-s", "5x"], "cache-size"),
                            (["-n", "x"], "num-workers"),
                            (["-d", "8"], "--detail"),
                            (["-d", "grmpf"], "--detail"),
                            (["--log-level=grmpf"], "log-level")):
            self.expect(run("DWARFSCK", image, *words), 1, text)
        self.expect(run("DWARFSCK", "--json"), 1, "'--input' is required")

    def test_messages_with_the_time_and_the_thread(self):
        image = self.pack()
        with open(image, "r+b") as file:
            file.seek(200)
            file.write(b"damage")
        plain = self.expect(run("DWARFSCK", image, "--check-integrity"), 1)
        result = self.expect(run("DWARFSCK", image, "--check-integrity", "--log-with-context"), 1)
        context = re.compile(r"^dwarfsck: \[\d+\.\d{6} \d+\] (?=.)", re.MULTILINE)
        self.assertTrue(plain.err)
        self.assertEqual(len(context.findall(result.err)), result.err.count("\n"))
        self.assertEqual(context.sub("dwarfsck: ", result.err), plain.err)
        self.assertEqual(result.out, plain.out)

    def test_no_image(self):
        missing = self.path("missing")
        self.expect(run("DWARFSCK", missing), 1, missing)
        self.expect(run("DWARFSCK", self.dir), 1, self.dir)
        for name, contents in (("empty", b""), ("text", b"no image\n" * 1000)):
            path = self.write(name, contents)
            result = run("DWARFSCK", path, "--json")
            self.expect(result, 1, f"'{path}': not a DwarFS image\n")
            self.assertEqual(result.out, "")

    def test_why_an_image_is_damaged(self):
        """If there is a magic, the message names the defect after it."""
        with open(self.pack(), "rb") as file:
            image = file.read()
        for name, contents, text in (
                ("cut", image[:100], "section 0 at offset 0: it runs past the end"),
                ("header", image[:40], "section 0 at offset 0: the image ends within its header"),
                ("version", b"DWARFS\2\x63" + image[8:],
                 "format version 2.99 is not supported"),
                ("major", image.replace(b"DWARFS\2\5", b"DWARFS\x09\5"),
                 "format version 9.5 is not supported"),
                ("zeros", image[:70] + bytes(len(image) - 70), "there is no header"),
                ("behind", b"#!/bin/sh\n" + image[:100],
                 "not a DwarFS image: what begins at offset 10 is damaged: section 0"),
                ("mention", b"x DWARFS\2\5 x" * 50, "not a DwarFS image\n")):
            path = self.write(name, contents)
            self.expect(run("DWARFSCK", path), 1, f"'{path}': ", text)

    def test_several_images_in_one_file(self):
        with open(self.pack(), "rb") as file:
            image = file.read()
        self.expect(run("DWARFSCK", self.write("two", image + image)), 1,
                    "2 schema and 2 metadata sections", "give its size with -o imagesize")


    def test_options_without_effect(self):
        image = self.pack()
        for words in (["-v"], ["-v", "--json"], ["-d3", "-l"], ["-d3", "--checksum=md5"]):
            self.expect(run("DWARFSCK", image, *words), 0, "has no effect")
        self.expect(run("DWARFSCK", "-d3", "--diff", image, image), 0, "has no effect")
        for words in (["-v", "-l"], ["-d3"], ["-l"], ["--raw"], ["--raw", "-l"], ["-0", "-l"]):
            self.assertEqual(self.expect(run("DWARFSCK", image, *words), 0).err, "")
        self.expect(run("DWARFSCK", "-v", "--diff", image, image), 0, "differences: 0")

    def test_quiet_json(self):
        image = self.pack()
        result = self.expect(run("DWARFSCK", image, "-j", "-q"), 0)
        self.assertEqual((result.out, result.err), ("", ""))
        with open(image, "r+b") as file:
            file.seek(200)
            file.write(b"damage")
        result = self.expect(run("DWARFSCK", image, "-j", "-q"), 1, "checksum error")
        self.assertEqual(result.out, "")


class Telling(cli.Case):
    def test_numbers_of_blocks(self):
        told = self.expect(run("DWARFSCK", self.pack("--categorize=incompressible"), "-d3"), 0).out
        self.assertIn("  incompressible: 1 block\n", told)
        self.assertRegex(told, r"<default>: \d+ blocks\n")

    def test_details(self):
        image = self.pack()
        self.assertEqual(self.expect(run("DWARFSCK", image, "-d", "0"), 0).out, "")
        self.assertEqual(run("DWARFSCK", image, "-q").out, "")
        default = self.expect(run("DWARFSCK", image), 0).out
        self.assertEqual(run("DWARFSCK", "-i", image, "-d2").out, default)
        told = [run("DWARFSCK", image, "-d", str(level)).out for level in range(8)]
        for less, more in zip(told, told[1:]):
            self.assertLess(len(less), len(more))
            self.assertTrue(set(less.splitlines()) <= set(more.splitlines()))
        for level, text in ((1, "DwarFS version 2.5"), (1, "block size: 64.0 KiB"),
                            (2, "history:"), (3, "SECTION num=0, type=BLOCK"), (3, "[OK]"),
                            (2, "  compact_names "), (3, "metadata tables:"), (4, "b.sh"),
                            (4, "metadata layout:"), (5, "  block 0, offset 0, size "), (6, '"dir_entries": ['),
                            (7, "  layout 0: size 0, bits")):
            self.assertIn(text, told[level])
            self.assertNotIn(text, told[level - 1])
        named = run("DWARFSCK", image, "--detail=version,section_details").out
        self.assertIn("SECTION num", named)
        self.assertNotIn("history:", named)

    def test_no_check_has_no_verdict(self):
        out = self.expect(run("DWARFSCK", self.pack(), "--no-check", "-d3"), 0).out
        self.assertIn("SECTION num", out)
        self.assertNotIn("[OK]", out)

    def test_json(self):
        image = self.pack()
        info = self.info(image)
        for key in KEYS:
            self.assertIn(key, info)
        self.assertEqual(info["version"], {"major": 2, "minor": 5})
        self.assertEqual(info["block_size"], 65536)
        self.assertEqual(info["image_size"], os.path.getsize(image))
        self.assertEqual(info["errors"], 0)
        self.assertEqual(info["findings"], [])
        types = [section["type"] for section in info["sections"]]
        self.assertEqual(types[-5:], ["METADATA_V2_SCHEMA", "METADATA_V2", "HISTORY", "DIGESTS",
                                      "SECTION_INDEX"])
        self.assertEqual(set(types[:-5]), {"BLOCK"})
        self.assertTrue(all(section["checksum_ok"] for section in info["sections"]))
        at = 0
        for number, section in enumerate(info["sections"]):
            self.assertEqual((section["number"], section["offset"]), (number, at))
            at += 64 + section["compressed_size"]
        self.assertEqual(at, os.path.getsize(image))

    def test_details_of_the_tables(self):
        image = self.pack("--pack-metadata=none")
        tables = json.loads(run("DWARFSCK", image, "--export-metadata=-").out)
        known = run("DWARFSCK", image, "-d", "frozen_analysis").out
        rows = {line.split()[0]: line.split()[1:] for line in known.splitlines()[2:]}
        for name in ("inodes", "dir_entries", "chunks", "modes", "chunk_table"):
            items, bits, size, _ = rows[name]
            self.assertEqual(int(items), len(tables[name]))
            self.assertEqual(int(size), -(-int(items) * int(float(bits)) // 8))
        total = int(known.split()[1])
        self.assertLessEqual(sum(int(row[-2]) for row in rows.values()), total + len(rows))
        self.assertGreater(sum(int(row[-2]) for row in rows.values()), total - 16)

        layout = run("DWARFSCK", image, "-d", "frozen_layout").out.splitlines()
        width = max(item["inode_num"] for item in tables["dir_entries"]).bit_length()
        self.assertTrue(any(re.fullmatch(
            rf"      2 inode_num: u32, layout \d+, {width} bits at \d+", line)
            for line in layout), layout)
        details = run("DWARFSCK", image, "-d", "frozen_details").out
        self.assertIn(f"  9 modes: list<u32>, {len(tables['modes'])} items, layout", details)

        schema = run("DWARFSCK", image, "-d", "schema_raw_dump").out
        count = int(re.match(r"schema: (\d+) layouts, root (\d+)\n", schema)[1])
        self.assertEqual(len(re.findall(r"^  layout \d+: size \d+, bits \d+$", schema, re.M)),
                         count)
        self.assertEqual(json.loads(run("DWARFSCK", image, "-d", "metadata_full_dump").out),
                         tables)

    def test_chunk_details(self):
        tree = self.tree()
        image = self.pack(tree=tree)
        told = run("DWARFSCK", image, "-d", "chunk_details").out.split(" inode ")
        sizes = {}
        for part in told[1:]:
            number, *chunks = part.splitlines()
            sizes[int(number.rstrip(":"))] = sum(int(line.split()[-1]) for line in chunks)
            for line in chunks:
                self.assertRegex(line, r"^  (block \d+, offset \d+|hole), size \d+$")
        entries = self.info(image, "-l")["entries"]
        self.assertEqual(sizes, {entry["inode"]: entry["size"] for entry in entries
                                 if entry["type"] == "file"})
        self.assertIn("hole, size", "".join(told))

    def test_details_of_images_by_others(self):
        for image, _ in shared_images():
            if "future-features" in image:
                continue
            out = self.expect(run("DWARFSCK", "-d7", "--no-check", image), 0).out
            self.assertIn("metadata layout:", out)

    def test_json_has_the_keys_of_the_established_tool(self):
        image = self.pack("--pack-metadata=all", "--time-resolution=10ms", "--keep-all-times")
        info = self.info(image)
        self.assertEqual(info["time_resolution"], 0.01)
        self.assertEqual(self.info(self.pack("--time-resolution=min",
                                             tree=self.path("tree")))["time_resolution"], 60)
        self.assertEqual(info["preferred_path_separator"], "/")
        self.assertIn("packed_directories", info["options"])
        self.assertNotIn("mtime_only", info["options"])
        for key, kind in (("block", "BLOCK"), ("metadata", "METADATA_V2")):
            sections = [section for section in info["sections"] if section["type"] == kind]
            self.assertEqual(info[f"compressed_{key}_size"],
                             sum(section["compressed_size"] for section in sections))
            self.assertEqual(info[f"uncompressed_{key}_size"],
                             sum(section["size"] for section in sections))
            self.assertGreater(info[f"uncompressed_{key}_size"], 0)
        old = self.info(tap.data("images", "compat-v0.2.0.dwarfs"))
        self.assertNotIn("preferred_path_separator", old)

    def test_json_of_images_by_others(self):
        for image, _ in shared_images():
            if "future-features" in image:
                continue
            result = self.expect(run("DWARFSCK", "--json", image), 0)
            info = json.loads(result.out)
            self.assertEqual(len(info["sections"]) > 0, True)
            self.assertGreater(info["inode_count"], 0)

    def test_unknown_feature_is_named(self):
        image = tap.data("images", "future-features.dwarfs")
        absent.need_for_image(image)
        known = json.load(open(tap.data("images", "images.json"), encoding="utf-8"))["images"]
        features = [entry["features"] for entry in known
                    if entry["file"] == "future-features.dwarfs"][0]
        result = self.expect(run("DWARFSCK", image), 1)
        self.assertTrue(any(feature in result.err for feature in features), result.err)

    def test_header(self):
        image = self.pack()
        result = self.expect(run("DWARFSCK", "-H", image), 2, "no image header")
        self.assertEqual(result.out, "")
        stub = tap.random_bytes(100000)
        with open(image, "rb") as old:
            framed = self.write("framed", stub + old.read())
        self.assertEqual(self.expect(run("DWARFSCK", "--print-header", framed), 0).raw, stub)
        self.assertEqual(self.info(framed)["image_offset"], len(stub))
        self.assertEqual(self.info(framed, "-O", "100000")["image_offset"], len(stub))
        self.assertEqual(self.info(framed, "-Oauto")["image_offset"], len(stub))
        self.expect(run("DWARFSCK", framed, "-O", "0"), 1)
        self.expect(run("DWARFSCK", framed, "-O", "99999"), 1)
        self.expect(run("DWARFSCK", framed, "-O", "99999999"), 1)


class Lists(cli.Case):
    def found(self, tree):
        """Paths in the order of the output: a directory, then its entries, by bytes."""
        paths = []

        def visit(path):
            for name in sorted(os.listdir(os.path.join(os.fsencode(tree), path))):
                inner = os.path.join(path, name)
                paths.append(as_ls_shows(inner.decode()))
                full = os.path.join(os.fsencode(tree), inner)
                if os.path.isdir(full) and not os.path.islink(full):
                    visit(inner)
        visit(b"")
        return paths

    def test_list(self):
        tree = self.tree()
        image = self.pack(tree=tree)
        lines = self.expect(run("DWARFSCK", "-l", image), 0).out.splitlines()
        self.assertEqual(lines, self.found(tree))
        self.assertEqual(run("DWARFSCK", "--list", "-i", image).out.splitlines(), lines)

    def test_verbose_list_is_that_of_tar(self):
        if not shutil.which("tar"):
            raise tap.Skip("no tar")
        tree = self.tree()
        os.unlink(self.path("tree", "sub", "hard.txt"))
        os.unlink(self.path("tree", "sub", "odd \\ name\n.txt"))
        environment = {**os.environ, "TZ": "Europe/Berlin", "LC_ALL": "C"}
        archive = self.path("x.tar")
        subprocess.run(["tar", "-cf", archive, "-C", tree, "."], check=True)
        listed = subprocess.run(["tar", "--numeric-owner", "-tvf", archive], check=True,
                                env=environment, stdout=subprocess.PIPE).stdout.decode()
        wanted = {tuple(line.replace(" ./", " ").rstrip("/").split())
                  for line in listed.splitlines() if not line.endswith(" ./")}
        result = run("DWARFSCK", "-lv", self.pack(tree=tree), env=environment)
        self.assertEqual({tuple(line.split()) for line in result.out.splitlines()}, wanted)

    def odd_tree(self):
        names = [b"a\x1b[31mred", b"b\nline", b"c\rreturn", b"d\x7f", b"e\x9bcsi",
                 b"f\xc2\x9bcsi", b"g space", b"h'quote", b"i\\back", b"j\t\x1b\x1b'q",
                 "k\u00e4\u2713".encode(), b"l\xff", b"'m", b'"n', b"\x01", b"$'o'"]
        tree = os.fsencode(self.path("odd"))
        os.mkdir(tree)
        for name in names:
            with open(os.path.join(tree, name), "wb") as out:
                out.write(name)
        return tree.decode(), sorted(names)

    def test_names_are_quoted_as_ls_does(self):
        tree, names = self.odd_tree()
        image = self.pack(tree=tree)
        raw = self.expect(run("DWARFSCK", "-l", image), 0).raw
        self.assertNotRegex(raw.decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        lines = raw.splitlines()
        self.assertEqual(len(lines), len(names))
        shown = subprocess.run(["ls", "-1U", "--quoting-style=shell-escape"], cwd=tree,
                               env={**os.environ, "LC_ALL": "C.UTF-8"},
                               capture_output=True, check=True).stdout.splitlines()
        for line in lines:
            if line[:1] == b"'" and b"\\''" not in line and line != b"''\\''m'":
                self.assertIn(line, shown)
        if shutil.which("bash"):
            for line, name in zip(lines, names):
                if line[:1] != b"'":
                    self.assertEqual(line, name)
                    continue
                done = subprocess.run(["bash", "-c", b"printf %s " + line],
                                      capture_output=True, check=True)
                self.assertEqual(done.stdout, name)

    def test_names_for_programs(self):
        tree, names = self.odd_tree()
        image = self.pack(tree=tree)
        self.assertEqual(run("DWARFSCK", "-l", "--raw", image).raw, b"\n".join(names) + b"\n")
        for option in ("-0", "--null"):
            self.assertEqual(run("DWARFSCK", "-l", option, image).raw,
                             b"\0".join(names) + b"\0")

    def test_no_other_output_has_control_characters(self):
        tree, names = self.odd_tree()
        image = self.pack(tree=tree)
        empty = self.path("empty")
        os.mkdir(empty)
        shutil.copystat(tree, empty)
        for words in (["-lv", image], ["-d7", image], ["--diff", image, empty],
                      ["-j", image], ["-lj", image]):
            text = run("DWARFSCK", *words).raw
            self.assertTrue(text)
            if "j" in words[0]:
                text = text.replace(b"\x7f", b"")  # JSON does not escape it
            self.assertNotRegex(text.decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertEqual(run("DWARFSCK", "--diff", "-0", image, empty).raw,
                         b"".join(b"- " + name + b"\0" for name in names))

    def test_no_message_has_control_characters(self):
        image = self.pack()
        name = self.path("x\x1b[2J\n\x9b")
        for program, *words in (("DWARFSCK", name), ("DWARFSCK", image, "--cat", "\x1b[2J"),
                                ("DWARFSEXTRACT", "-i", name), ("MKDWARFS", "-i", name, "-o", "x"),
                                ("DWARFSCK", "--checksum=\x1b[2J", image)):
            result = run(program, *words)
            self.assertNotEqual(result.code, 0)
            self.assertNotRegex(result.err, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
            self.assertIn("\\033[2J", result.err)
            self.assertEqual(result.err.count("\n"), 1, result.err)

    def test_checksums_of_odd_names_can_be_checked(self):
        tree, names = self.odd_tree()
        image = self.pack(tree=tree)
        sums = self.expect(run("DWARFSCK", "--checksum=sha256", image), 0).raw
        done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet"], cwd=tree,
                              input=sums, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done)
        plain = subprocess.run(["sha256sum", "-z", "--", *names], cwd=tree,
                               capture_output=True, check=True).stdout
        null = run("DWARFSCK", "--checksum=sha256", "-0", image).raw
        self.assertEqual(sorted(null.split(b"\0")), sorted(plain.split(b"\0")))

    def test_a_list_as_json(self):
        tree, names = self.odd_tree()
        os.symlink("g space", tree + "/z")
        os.symlink(b"to \xff", tree.encode() + b"/zz")
        image = self.pack(tree=tree)
        for words in (["-lj"], ["-jl"], ["--list", "--json"]):
            info = json.loads(self.expect(run("DWARFSCK", image, *words), 0).out)
            paths = [bytes.fromhex(entry["path_hex"]) if "path_hex" in entry
                     else entry["path"].encode() for entry in info["entries"]]
            self.assertEqual(sorted(paths), names + [b"z", b"zz"])
            links = {entry["path"]: entry for entry in info["entries"] if "target" in entry}
            self.assertNotIn("target_hex", links["z"])
            self.assertEqual(links["zz"]["target"], "to \ufffd")
            self.assertEqual(bytes.fromhex(links["zz"]["target_hex"]), b"to \xff")
            for entry in info["entries"]:
                self.assertEqual(entry["type"], "symlink" if "target" in entry else "file")
                self.assertEqual(entry["size"] > 0, True)
            del info["entries"]
            self.assertEqual(info, self.info(image))
        empty = self.path("nothing")
        os.mkdir(empty)
        self.assertEqual(self.info(self.pack(tree=empty), "-l")["entries"], [])

    def test_xxh3_has_its_lowest_byte_first(self):
        empty = self.path("empty")
        os.mkdir(empty)
        self.write("empty/file")
        image = self.pack(tree=empty)
        for algorithm, canonical in (("xxh3-64", "2d06800538d394c2"),
                                     ("xxh3-128", "99aa06d3014798d86001c324468d497f")):
            result = self.expect(run("DWARFSCK", f"--checksum={algorithm}", image), 0)
            self.assertEqual(result.out, bytes.fromhex(canonical)[::-1].hex() + "  file\n")

    def test_lists_of_images_by_others(self):
        for image, table in shared_images():
            if "future-features" in image:
                continue
            result = self.expect(run("DWARFSCK", "-l", image), 0)
            self.assertEqual(len(result.out.splitlines()), len(manifest(table)), image)

    def test_checksums_of_images_by_others(self):
        for image, table in shared_images():
            rows = manifest(table).values()
            # These have a file with a hole of gigabytes, for which SHA-256 takes seconds.
            if "future-features" in image or any(
                    row["type"] == "f" and int(row["size"]) > 1 << 28 for row in rows):
                continue
            result = self.expect(run("DWARFSCK", "--checksum=sha256", image), 0)
            seen = dict(reversed(line.split("  ", 1)) for line in result.out.splitlines()
                        if not line.startswith("\\"))
            wanted = {path: row["sha256"] for path, row in manifest(table).items()
                      if row["type"] == "f" and "\\" not in path}
            self.assertEqual(seen, wanted, image)

    def test_checksum_over_a_hole_of_gigabytes(self):
        image = tap.data("images", "v0.15.3", "default.dwarfs")
        absent.need_for_image(image)
        result = self.expect(run("DWARFSCK", "--checksum=xxh3-64", image), 0)
        # Computed by libxxhash from the extracted file; its bytes are printed from the lowest one on.
        self.assertIn("62b1282f1a3abd21  sparse/big-hole", result.out.splitlines())

    def test_checksums_can_be_checked(self):
        tree = self.tree()
        image = self.pack(tree=tree)
        for algorithm in ("sha256", "sha512", "md5"):
            if not shutil.which(algorithm + "sum"):
                raise tap.Skip("no " + algorithm + "sum")
            sums = self.expect(run("DWARFSCK", "--checksum", algorithm, image), 0).raw
            self.assertEqual(len(sums.splitlines()), 9)
            check = [algorithm + "sum", "--check", "--strict"]
            done = subprocess.run(check, cwd=tree, input=sums, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(done.stdout.count(b": OK"), 9)

    def test_checksums_are_the_same_for_any_number_of_workers(self):
        for i in range(700):
            self.write(f"many/{i % 7}/{i}", b"%d\n" % i * i)
        image = self.pack(tree=self.path("many"))
        one = self.expect(run("DWARFSCK", "--checksum=xxh3-128", "-n1", image), 0).out
        self.assertEqual(len(one.splitlines()), 700)
        for workers in ("0", "2", "8"):
            words = ["--checksum=xxh3-128", "-n", workers, "-s", "100k", image]
            self.assertEqual(run("DWARFSCK", *words).out, one)

    def test_full_output(self):
        if not os.path.exists("/dev/full"):
            raise tap.Skip("no /dev/full")
        image = self.pack()
        for words in (["-l"], ["--json"], ["--checksum=md5"], []):
            with open("/dev/full", "wb") as full:
                self.expect(run("DWARFSCK", image, *words, stdout=full), 1,
                            "cannot write to standard output")


class Damage(cli.Case):
    """One flipped bit in each section."""

    def flipped(self):
        tree = self.tree()
        image = self.pack(tree=tree)
        with open(image, "rb") as packed:
            contents = packed.read()
        damaged = []
        seen = set()
        for section in self.info(image)["sections"]:
            if section["type"] in seen:
                continue
            seen.add(section["type"])
            copy = bytearray(contents)
            copy[section["offset"] + 64 + section["compressed_size"] // 2] ^= 0x10
            path = self.write(section["type"] + ".dwarfs", bytes(copy))
            damaged.append((section["type"], section["number"], path))
        self.assertEqual(seen, {"BLOCK", "METADATA_V2_SCHEMA", "METADATA_V2", "HISTORY", "DIGESTS",
                                "SECTION_INDEX"})
        return damaged

    def test_flipped_bits(self):
        for kind, number, image in self.flipped():
            checked = run("DWARFSCK", image)
            thorough = run("DWARFSCK", image, "--check-integrity", "-d3")
            unchecked = run("DWARFSCK", image, "--no-check")
            quiet = run("DWARFSCK", image, "-q")
            described = run("DWARFSCK", image, "--json")
            if kind.startswith("METADATA"):
                for result in (checked, thorough, unchecked, quiet, described):
                    self.expect(result, 1, kind)
                continue

            self.expect(unchecked, 0)
            info = json.loads(described.out)
            self.assertEqual([section["number"] for section in info["sections"]
                              if not section["checksum_ok"]], [number])
            self.assertIn("CHECKSUM ERROR", checked.out)
            line = [line for line in thorough.out.splitlines() if "CHECKSUM ERROR" in line]
            self.assertEqual(len(line), 1)
            self.assertIn(f"num={number}, type={kind}", line[0])
            for result in (checked, thorough, quiet, described):
                self.expect(result, 1, kind)
            self.expect(checked, 1, f"checksum error in section: {kind}")
            self.expect(thorough, 1, f"integrity check error in section: {kind}")
            self.expect(run("DWARFSCK", image, "-q", "--check-integrity"), 1, kind)
            self.assertEqual(quiet.out, "")
            self.assertEqual(info["errors"], 2 if kind == "SECTION_INDEX" else 1)
            self.expect(run("DWARFSCK", "-l", image), 0)

    def test_damaged_block_spares_other_files(self):
        image = [path for kind, _, path in self.flipped() if kind == "BLOCK"][0]
        result = self.expect(run("DWARFSCK", "--checksum=md5", image), 1)
        lost = [line for line in result.err.splitlines() if line.startswith("dwarfsck: ")]
        self.assertGreater(len(lost), 0)
        self.assertGreater(len(result.out.splitlines()), 0)
        self.assertEqual(len(lost) + len(result.out.splitlines()), 9)
        self.expect(run("DWARFSCK", "-l", image), 0)

    def test_bad_metadata_is_no_success_of_lists(self):
        images = glob.glob(os.path.join(tap.data("badfs", "crafted"), "meta-*.dwarfs"))
        self.assertGreater(len(images), 10)
        for image in images:
            for words in ([], ["-l"], ["--checksum=md5"], ["--json"]):
                result = self.expect(run("DWARFSCK", image, *words), 1)
                self.assertNotEqual(result.err, "", image)

    def test_truncated(self):
        image = self.pack()
        info = self.info(image)
        end = [section["offset"] + 64 + section["compressed_size"]
               for section in info["sections"] if section["type"] == "METADATA_V2"][0]
        with open(image, "rb") as packed:
            contents = packed.read()
        for size in (0, 1, 63, 64, end // 2, end - 1):
            self.expect(run("DWARFSCK", self.write("cut", contents[:size])), 1)


if __name__ == "__main__":
    cli.main()
