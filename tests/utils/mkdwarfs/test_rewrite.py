#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images that are written anew: with the same files, whatever wrote them.

With DWARFS_TEST_REWRITES=all in the environment, each image of the test data is rewritten in each
mode, to each block size, and with each subset of its categories.
"""
import atexit
import itertools
import json
import os
import re

import absent
import decoded
import rewritten
import tap
from cli import run
from rewritten import blocks_of, metadata_of, read, sections_of, strict_accepts, versions_of

EVERYTHING = os.environ.get("DWARFS_TEST_REWRITES") == "all"
BITS = range(10, 27)

# Without a rebuild, metadata stays as it is.
COPIES = {f"recompress {mode}": [f"--recompress={mode}"]
          for mode in ("none", "metadata", "block", "all")}
REBUILDS = {
    "rebuild": ["--rebuild-metadata"],
    "rebuild and recompress": ["--rebuild-metadata", "--recompress=all"],
    "blocks of 1 KiB": ["--change-block-size", "-S10", "-l0"],
    "blocks of 64 KiB": ["--change-block-size", "-S16"],
    "blocks of 64 MiB": ["--change-block-size", "-S26", "-l0"],
}
if EVERYTHING:
    REBUILDS.update((f"blocks of {1 << bits} bytes", ["--change-block-size", f"-S{bits}"])
                    for bits in BITS if bits not in (10, 16, 26))

_COUNTS = {"modes": 0, "subsets": 0}  # rewrites that were checked

# With all images; the other modes with a third of them each.
WHOLE = (["--recompress=all"], ["--rebuild-metadata"], [])


class Given(rewritten.Case):
    """Every image of the test data: in the most usual modes, and a third of them in each of the
    others, unless everything is wanted."""

    def each(self, words):
        modes = [*COPIES.values(), *REBUILDS.values(), []]
        # The largest image has many blocks of 1 KiB: it is not of this third.
        turn = 1 if "-S10" in words else modes.index(words) % 3
        for number, (name, path) in enumerate(rewritten.given_images().items()):
            if number % 3 != turn and words not in WHOLE and not EVERYTHING:
                continue
            if absent.can_read(path):
                with self.subTest(image=name):
                    yield number, path, self.once(path, self.info)
                    _COUNTS["modes"] += 1

    def check_history(self, before, info, after):
        self.assertEqual(after["history"][:-1], info["history"], before)
        self.assertEqual(after["history"][-1]["arguments"], [])

    def check_one(self, path, info, words):
        """Rewrite an image; returns the new one and its description."""
        new = self.make("new", [path], *words)
        after = self.info(new)
        self.same_files(path, new, info)
        self.check_history(path, info, after)
        self.assertEqual(after["image_offset"], info["image_offset"])
        self.assertTrue(after["valid_section_index"])
        self.assertEqual(after["version"], {"major": 2, "minor": 5})
        return new, after

    def copied(self, words):
        for number, path, info in self.each(words):
            new, after = self.check_one(path, info, words)
            self.assertEqual(metadata_of(new), self.once(path, metadata_of))
            self.assertEqual(after["block_count"], info["block_count"])
            if (number % 3 == 0 or EVERYTHING) and strict_accepts(path, info):
                self.assertNotEqual(strict_accepts(new, after), False)

    def rebuilt(self, words):
        for number, path, info in self.each(words):
            new, after = self.check_one(path, info, words)
            self.assertEqual(len(versions_of(new)), len(self.once(path, versions_of)) + 1)
            if (number % 3 == 0 and "-S10" not in words or words == ["--rebuild-metadata"] or
                    EVERYTHING):
                self.assertNotEqual(strict_accepts(new, after), False)
            if "--change-block-size" in words:
                self.assertEqual(after["block_size"], 1 << int(words[1][2:]))
            self.assertEqual(after["block_count"] > 0, info["block_count"] > 0)

    def test_without_a_mode(self):
        for number, path, info in self.each([]):
            new, after = self.check_one(path, info, [])
            if number % 3 == 1 or EVERYTHING:
                self.assertNotEqual(strict_accepts(new, after), False)

    def test_headers(self):
        path = tap.data("images", "v0.15.3", "header.dwarfs")
        header = read(path)[:self.info(path)["image_offset"]]
        self.assertGreater(len(header), 0)
        other = self.write("header", b"#!/bin/sh\nexit 1\n")
        for mode in ([], ["--recompress=none"], ["--rebuild-metadata"]):
            for words, wanted in (([], header), (["--remove-header"], b""),
                                  (["--header", other], read(other))):
                new = read(self.make("new", [path], *mode, *words))
                self.assertEqual(new[:len(wanted) + 6], wanted + b"DWARFS")

    def test_same_bytes_again(self):
        names = ("compat-v0.2.0", "v0.15.3/categorize", "v0.15.3/chunky")
        for name, words in itertools.product(names, (["--recompress=all"],
                                                     ["--change-block-size", "-S12"])):
            with self.subTest(name=name, words=words):
                path = tap.data("images", name + ".dwarfs")
                absent.need_for_image(path)
                made = {read(self.make("new", [path], *words, "-N", workers))
                        for workers in ("0", "1", "4")}
                self.assertEqual(len(made), 1)

    def test_again_from_the_result(self):
        """The second rewrite changes nothing but the history."""
        fast = ["-C", "pcmaudio/waveform::lz4"]  # there are 20 MB of it in the first image
        for name, words in (("catdata", fast), ("v0.15.3/categorize", []),
                            ("v0.15.3/nanoseconds", [])):
            path = tap.data("images", name + ".dwarfs")
            absent.need_for_image(path)
            once = self.make("once", [path], "--recompress=all", *words)
            again = self.make("again", [once], "--recompress=all", *words)
            kept = [[stored for kind, stored in sections_of(image) if kind not in (9, 10)]
                    for image in (once, again)]
            self.assertEqual(*kept)

    def test_versions_are_not_stored(self):
        path = tap.data("images", "v0.15.3", "rebuilt.dwarfs")
        self.assertGreater(len(versions_of(path)), 0)
        new = self.make("new", [path], "--rebuild-metadata", "--no-metadata-version-history")
        self.assertEqual(versions_of(new), [])
        new = self.make("new", [path], "--rebuild-metadata")
        versions = versions_of(new)
        self.assertEqual(versions[:-1], versions_of(path))
        self.assertIn("v0.15.3", versions[-1]["dwarfs_version"])

    def test_files_keep_their_numbers(self):
        """Those of the storing order, by which the metadata is smaller; with other inputs, by path."""
        for name in ("a", "b", "c", "d/e"):
            self.write("tree/" + name, name.encode() * 100)
        self.write("tree/empty")
        listed = self.write("list", b"c\nd/e\nb\na\n")
        old = self.make("old", [self.path("tree")], "--order=explicit:file=" + listed)
        new = self.make("new", [old], "--rebuild-metadata")
        more = self.make("more", [old, self.path("tree/d")])
        before, rebuilt, merged = (json.loads(metadata_of(image)) for image in (old, new, more))
        self.assertEqual(rebuilt["dir_entries"], before["dir_entries"])
        self.assertEqual(rebuilt["chunks"], before["chunks"])
        self.assertNotEqual(merged["chunks"][:4], before["chunks"])
        numbers = [entry["inode_num"] for entry in before["dir_entries"]]
        self.assertNotEqual(numbers, sorted(numbers))

    def test_the_summary(self):
        path = tap.data("images", "data.dwarfs")
        before = self.info(path)
        for words in (["--recompress=none"], ["--recompress"], ["--recompress=block"],
                      ["--recompress=metadata"], ["--recompress=none", "--dry-run"]):
            output = self.path("new")
            result = self.expect(run("MKDWARFS", "-i", path, "-o", output, "-f", "-l1",
                                     "--no-progress", *words), 0)
            self.assertNotIn("metadata 0 B", result.err)
            would = re.search(r"an image of (\d+) bytes would be made", result.err)
            size = int(would[1]) if would else os.path.getsize(output)
            self.assertIn(f", ratio {before['original_filesystem_size'] / size:.2f},", result.err)

    def test_another_block_size_within_a_memory_limit(self):
        image = tap.data("images", "v0.15.3", "categorize.dwarfs")
        absent.need_for_image(image)
        for limit in ("60m", "76m", "80m", "100m", "300m"):
            with self.subTest(limit=limit):
                made = run("MKDWARFS", "-i", image, "-o", self.path("new"), "-f", *rewritten.QUIET,
                           "--change-block-size", "-S24", "-l7", "-L", limit)
                if made.code != 0:
                    self.expect(made, 1, "is too low for this input: at least")
                    continue
                self.intact(self.path("new"))
                self.assertEqual(self.info(self.path("new"))["block_size"], 1 << 24)
        self.assertEqual(made.code, 0)

    def test_the_history_can_be_left_out(self):
        path = tap.data("images", "v0.15.3", "recompressed.dwarfs")
        for mode in ([], ["--recompress=none"], ["--rebuild-metadata"]):
            new = self.make("new", [path], *mode, "--no-history")
            self.assertEqual(self.info(new)["history"], [])

    def test_an_index_can_be_left_out(self):
        path = tap.data("images", "data.dwarfs")
        for mode in ([], ["--recompress=none"], ["--rebuild-metadata"]):
            new = self.make("new", [path], *mode, "--no-section-index")
            self.assertNotIn(9, [kind for kind, _ in sections_of(new)])
            self.same_files(path, new)


for _name, _words in (*COPIES.items(), *REBUILDS.items()):
    def _case(self, words=_words, kind="copied" if _name in COPIES else "rebuilt"):
        getattr(self, kind)(words)
    setattr(Given, "test_" + _name.replace(" ", "_"), _case)


class Modes(rewritten.Case):
    """What a mode means without its argument, or alone."""

    def setUp(self):
        super().setUp()
        self.image = tap.data("images", "v0.15.3", "default.dwarfs")

    def rewrite(self, image, *words):
        """As make(), but without a level."""
        output = self.path("rewritten")
        self.expect(run("MKDWARFS", "-i", image, "-o", output, "-f", *rewritten.QUIET, *words), 0)
        return read(output)

    def test_a_mode_alone(self):
        for alone, complete in ((["--recompress"], ["--recompress=all"]),
                                (["--rebuild-metadata"],
                                 ["--rebuild-metadata", "--recompress=metadata"]),
                                (["--change-block-size", "-S14"],
                                 ["--change-block-size", "-S14", "--rebuild-metadata",
                                  "--recompress=all"])):
            self.assertEqual(self.rewrite(self.image, *alone, "-l2"),
                             self.rewrite(self.image, *complete, "-l2"), alone)

    def test_the_level_of_the_codecs(self):
        """It is 7 unless another one is given, not that of the image."""
        found = {level: self.rewrite(self.image, "--recompress", *level)
                 for level in ((), ("-l7",), ("-l2",))}
        self.assertEqual(found[()], found[("-l7",)])
        self.assertNotEqual(found[()], found[("-l2",)])

    def test_each_block_size(self):
        for bits in BITS:
            new = self.make("new", [self.image], "--change-block-size", f"-S{bits}")
            self.same_files(self.image, new)
            self.assertEqual(self.info(new)["block_size"], 1 << bits)
            self.intact(new)


class Categories(rewritten.Case):
    def setUp(self):
        super().setUp()
        path = tap.data("images", "v0.15.3", "categorize.dwarfs")
        absent.need_for_image(path)
        self.use(path)

    def use(self, path):
        """An image with categories."""
        self.image = path
        self.before = self.info(path)
        self.names = [category["name"] for category in self.before["categories"]]

    def find_changed(self):
        """The categories of blocks that differ if all are compressed again."""
        everything = self.make("everything", [self.image], "--recompress", "-C", "lz4")
        self.changed = {category for a, b, category in zip(
            blocks_of(self.image), blocks_of(everything), self.categories(self.before)) if a != b}

    def categories(self, info):
        return [section.get("category") for section in info["sections"]
                if section["type"] == "BLOCK"]

    def check_subset(self, words, wanted):
        """Exactly the blocks of some categories are compressed again: as lz4 here, as no block
        was."""
        new = self.make("new", [self.image], *words, "-C", "lz4")
        after = self.info(new)
        self.assertEqual(self.categories(after), self.categories(self.before))
        pairs = list(zip(blocks_of(self.image), blocks_of(new), self.categories(after)))
        for old_block, new_block, category in pairs:
            if category not in wanted:
                self.assertEqual(old_block, new_block, category)
        changed = {category for a, b, category in pairs if a != b}
        self.assertEqual(changed, self.changed & wanted)
        return new

    def test_each_and_all_others(self):
        absent.need("lz4", "flac")
        self.find_changed()
        self.assertGreater(len(self.changed), 5)
        for number, name in enumerate(self.names):
            mode = ("--recompress=block", "--recompress=all")[number % 2]
            self.check_subset([mode, f"--recompress-categories={name}"], {name})
            new = self.check_subset([mode, f"--recompress-categories=!{name}"],
                                    set(self.names) - {name})
            self.same_files(self.image, new)

    def test_subsets(self):
        absent.need("lz4", "flac")
        self.find_changed()
        for first, second in itertools.combinations(self.names, 2):
            if (len(first) + len(second)) % 7 == 0:
                names = f"{first},{second}"
                self.check_subset(["--recompress=block", f"--recompress-categories={names}"],
                                  {first, second})
                self.check_subset(["--recompress=block", f"--recompress-categories=!{names}"],
                                  set(self.names) - {first, second})

    def every_subset(self):
        """Half of them are given by the other categories."""
        for number in range(1 << len(self.names)):
            wanted = {name for i, name in enumerate(self.names) if number >> i & 1}
            others = set(self.names) - wanted
            yield (",".join(sorted(wanted)) if number % 2 else "!" + ",".join(sorted(others))), wanted

    def check_every_subset(self):
        absent.need("lz4", "flac")
        for name, path in rewritten.given_images().items():
            if not absent.can_read(path) or not self.info(path)["categories"]:
                continue
            self.use(path)
            self.find_changed()
            self.assertGreater(len(self.changed), 0, name)
            for number, (words, wanted) in enumerate(self.every_subset()):
                with self.subTest(image=name, words=words):
                    new = self.check_subset([("--recompress=block", "--recompress=all")[number % 2],
                                             f"--recompress-categories={words}"], wanted)
                    self.same_files(self.image, new)
                    _COUNTS["subsets"] += 1

    def test_with_a_rebuild(self):
        absent.need("lz4", "flac")
        new = self.make("new", [self.image], "--rebuild-metadata", "--recompress",
                        "--recompress-categories=binary/elf", "-C", "lz4")
        self.assertEqual(self.categories(self.info(new)), self.categories(self.before))
        self.same_files(self.image, new)

    def test_texts_of_categories_are_kept(self):
        def texts(image):
            metadata = rewritten.json.loads(metadata_of(image))
            all_texts = metadata["category_metadata_json"]
            pairs = metadata["block_category_metadata"]
            if isinstance(pairs, dict):
                pairs = pairs.items()
            return {int(block): all_texts[text] for block, text in pairs}

        wanted = texts(self.image)
        self.assertGreater(len(wanted), 0)
        for words in ([], ["--rebuild-metadata"], ["--rebuild-metadata", "--recompress"]):
            self.assertEqual(texts(self.make("new", [self.image], *words)), wanted)

    def test_unknown(self):
        for text in ("sound", "binary/elf,sound", "!sound", "binary/el"):
            self.refuse([self.image], "--recompress", f"--recompress-categories={text}",
                        says="no category '" + text.replace("binary/elf,", "").strip("!") +
                        "' in input filesystem")
        self.refuse([tap.data("images", "data.dwarfs")], "--recompress",
                    "--recompress-categories=x", says="no category 'x' in input filesystem")

    def test_a_codec_without_its_samples(self):
        absent.need("flac", "zstd")
        tree = os.path.dirname(self.write("tree/tone.wav", rewritten_wave()))
        bare = self.make("bare", [tree], "--categorize", "-C", "pcmaudio/waveform::zstd",
                         "--no-category-metadata")
        self.assertIn("pcmaudio/waveform", self.categories(self.info(bare)))
        for mode in (["--recompress"], ["--recompress=block"],
                     ["--rebuild-metadata", "--recompress"], ["--change-block-size", "-S16"]):
            self.refuse([bare], *mode, "-C", "pcmaudio/waveform::flac", says="flac")
        self.refuse([bare], "--recompress", "-C", "pcmaudio/waveform::flac",
                    says="pcmaudio/waveform")
        self.make("good", [bare], "--recompress", "-C", "pcmaudio/waveform::zstd")

    def test_flac_from_another_codec_and_back(self):
        absent.need("flac", "zstd")
        tree = os.path.dirname(self.write("tree/tone.wav", rewritten_wave()))
        flac = self.make("flac", [tree], "--categorize", "-C", "pcmaudio/waveform::flac")
        zstd = self.make("zstd", [flac], "--recompress", "-C", "pcmaudio/waveform::zstd")
        back = self.make("back", [zstd], "--recompress", "-C", "pcmaudio/waveform::flac")
        self.assertEqual([block[54:56] for block in blocks_of(flac)],
                         [block[54:56] for block in blocks_of(back)])
        self.assertNotEqual(blocks_of(zstd), blocks_of(back))
        self.assertEqual(blocks_of(flac), blocks_of(back))
        self.same_files(flac, zstd)


def rewritten_wave():
    import random
    import rich
    return rich.wave(random.Random(5), 9000)


class Refused(rewritten.Case):
    def test_time_resolutions(self):
        seconds = tap.data("images", "v0.15.3", "default.dwarfs")
        minutes = tap.data("images", "v0.15.3", "minutes.dwarfs")
        self.refuse([seconds], "--rebuild-metadata", "--time-resolution=1ms",
                    says="cannot give times a resolution of 1000000 ns")
        self.refuse([minutes], "--rebuild-metadata", "--time-resolution=90s",
                    says="not a multiple")
        self.refuse([minutes], "--change-block-size", "-S16", "--time-resolution=1s",
                    says="cannot give times a resolution")
        for image, resolution in ((seconds, "1m"), (minutes, "2m"), (minutes, "1m")):
            self.make("new", [image], "--rebuild-metadata", f"--time-resolution={resolution}")

    def test_holes(self):
        sparse = tap.data("images", "v0.15.3", "default.dwarfs")
        self.refuse([sparse], "--rebuild-metadata", "--no-sparse-files",
                    says="cannot disable sparse files")
        whole = tap.data("images", "data.dwarfs")
        self.make("new", [whole], "--rebuild-metadata", "--no-sparse-files")
        more = self.tree()
        for inputs, words in (([sparse], []), ([sparse, more], []), ([whole, sparse], []),
                              ([sparse], ["-F", "- *.x"]), ([sparse], ["--max-unused=0"]),
                              ([more], ["--base", sparse])):
            self.refuse(inputs, "--no-sparse-files", *words, says="cannot disable sparse files")
        new = self.make("new", [self.make("holes", [more])], "--no-sparse-files", "--repack")
        self.assertNotIn("sparsefiles", self.info(new)["features"])
        self.make("new", [whole, more], "--no-sparse-files")

    def test_modes_that_exclude_each_other(self):
        image = tap.data("images", "data.dwarfs")
        for words in (["--change-block-size", "--recompress=none"],
                      ["--change-block-size", "--recompress=block"],
                      ["--change-block-size", "--recompress=metadata"],
                      ["--change-block-size", "--recompress-categories=x"],
                      ["--rebuild-metadata", "--recompress=none"],
                      ["--rebuild-metadata", "--recompress=block"],
                      ["--recompress=none", "--recompress-categories=x"],
                      ["--recompress=metadata", "--recompress-categories=x"]):
            names = [word.split("=")[0] for word in words]
            for name in names:
                self.refuse([image], *words, says=name)

    def test_categories_without_blocks_to_compress(self):
        image = tap.data("images", "data.dwarfs")
        for words in ([], ["--rebuild-metadata"]):
            self.refuse([image], "--recompress-categories=x", *words,
                        says="--recompress-categories")

    def test_options_that_have_no_effect(self):
        image = tap.data("images", "data.dwarfs")
        for word in ("--recompress-categories=x", "--no-metadata-version-history", "--no-check"):
            self.refuse([image], word, says=word.split("=")[0])
        for words in (["--set-owner=1"], ["--set-group=1"], ["--set-time=1"], ["--chmod=norm"],
                      ["--time-resolution=1m"], ["--pack-metadata=all"], ["--keep-all-times"],
                      ["-F", "- x"], ["--no-xattrs"], ["--xattrs-include=user.a"],
                      ["--xattrs-exclude=user.a"], ["--remove-empty-dirs"]):
            for mode in ("--recompress", "--recompress=none"):
                self.refuse([image], mode, *words, says="needs --rebuild-metadata")

    def test_options_without_a_meaning(self):
        """The lists of the manual, in the section about rewriting."""
        image = tap.data("images", "data.dwarfs")
        listed = self.write("list", b"a\n")
        for words in (["--input-list", listed], ["--input-format=tar"], ["--base", image],
                      ["--base-trust=none"], ["--repack"], ["--on-conflict=first"],
                      ["--prefix=x"], ["--whiteouts"], ["--strip-components=1"], ["--continue-on-error"],
                      ["--spool-dir", self.dir], ["--debug-filter=all"], ["--hollow"],
                      ["--categorize"], ["--with-devices"], ["--with-specials"],
                      ["--file-hash=none"], ["--trust-digests"]):
            for mode in ("--recompress", "--rebuild-metadata", "--change-block-size"):
                self.refuse([image], mode, *words, says=words[0].split("=")[0])
        for words in (["--order=path"], ["--window-size=12"], ["--window-step=1"],
                      ["--max-lookback-blocks=1"], ["--max-similarity-size=1m"],
                      ["--hotness-list", listed], ["--incompressible-ratio=0.9"]):
            for mode in ("--recompress", "--rebuild-metadata", "--change-block-size"):
                self.refuse([image], mode, *words, says="needs --rebuild-metadata and --max-unused")
            if words[0] != "--hotness-list" and "incompressible" not in words[0]:
                self.make("new", [image], "--rebuild-metadata", "--max-unused=50", *words)

    def test_inputs_that_cannot_be_rewritten(self):
        image, tree = tap.data("images", "data.dwarfs"), self.tree()
        text = self.write("text", b"no image\n")
        for mode in ("--recompress", "--rebuild-metadata", "--change-block-size"):
            self.refuse([image, image], mode, says="one image is needed")
            self.refuse([image], mode, "--prefix=x", says="--prefix")
            self.refuse([tree], mode, says=tree)
            self.refuse([text], mode, says=text)
            self.refuse([self.path("missing")], mode, says=self.path("missing"))

    def test_words(self):
        image = tap.data("images", "data.dwarfs")
        self.refuse([image], "--recompress=everything",
                    says="use all, block, metadata or none")


class Rebuilt(rewritten.Case):
    """What the options for attributes change, and what they leave as it is."""

    def setUp(self):
        super().setUp()
        self.image = tap.data("images", "v0.15.3", "default.dwarfs")

    def test_attributes(self):
        new = self.make("new", [self.image], "--rebuild-metadata", "--set-owner=33",
                        "--set-group=44", "--set-time=1700000000", "--chmod=u-w")
        for words in self.listing(new).values():
            self.assertEqual(words[1], "33/44")
            self.assertIn(words[0][:3], ("dr-", "-r-", "lrw", "-r-", "br-", "cr-", "pr-", "sr-"))
            self.assertEqual(words[3], "2023-11-14")
        self.assertEqual(blocks_of(new), blocks_of(self.image))

    def test_times_in_coarser_steps(self):
        new = self.make("new", [tap.data("images", "v0.15.3", "nanoseconds.dwarfs")],
                        "--rebuild-metadata", "--time-resolution=1h")
        self.assertEqual(self.info(new)["time_resolution_ns"], 3600 * 10**9)

    def test_access_and_change_times(self):
        """A rebuild keeps those that an image has, and makes none up without the option."""
        tree = self.tree()
        bare, full = self.make("bare", [tree]), self.make("full", [tree], "--keep-all-times")
        for image, words, only in ((full, [], False), (full, ["--keep-all-times"], False),
                                   (bare, [], True), (bare, ["--keep-all-times"], False)):
            new = self.make("new", [image], "--rebuild-metadata", *words)
            self.same_files(image, new)
            self.assertEqual(self.info(new)["mtime_only"], only)

    def test_the_time_of_its_making(self):
        image, new = self.path("image"), self.path("new")
        words = ["-f", "-l1", "--no-progress"]
        self.expect(run("MKDWARFS", "-i", self.tree(), "-o", image, *words), 0)
        for more, wanted in (([], self.info(image)["created_on"]), (["--no-create-timestamp"], None)):
            self.expect(run("MKDWARFS", "-i", image, "-o", new, *words, "--rebuild-metadata",
                            *more), 0)
            self.assertEqual(self.info(new).get("created_on"), wanted)

    def test_layouts_of_metadata(self):
        for packing in ("all", "none", "plain"):
            new = self.make("new", [self.image], "--rebuild-metadata", "-P", packing)
            self.same_files(self.image, new)
            self.assertNotEqual(strict_accepts(new, self.info(new)), False)

    def test_empty_directories(self):
        for name in ("empty/in/it", "only"):
            os.makedirs(self.path("tree", name))
        self.write("tree/only/x", b"text")
        image = self.make("dirs", [self.path("tree")])
        self.assertLessEqual({"empty", "empty/in", "empty/in/it", "only"}, set(self.listing(image)))
        for mode in (["--rebuild-metadata"], ["--change-block-size", "-S14"]):
            for words, gone in (([], {"empty", "empty/in", "empty/in/it"}),
                                (["-F", "- x"], {"empty", "empty/in", "empty/in/it", "only",
                                                 "only/x"})):
                new = self.make("new", [image], *mode, "--remove-empty-dirs", *words)
                self.assertEqual(set(self.listing(new)), set(self.listing(image)) - gone)

    def test_a_filter(self):
        names = set(self.listing(self.image))
        top = sorted({name.split("/")[0] for name in names})[0]
        new = self.make("new", [self.image], "--rebuild-metadata", "-F", f"- /{top}/", "-F",
                        f"- /{top}")
        self.assertEqual(set(self.listing(new)),
                         {name for name in names if name.split("/")[0] != top})


class Damaged(rewritten.Case):
    def setUp(self):
        super().setUp()
        tree = self.tree()
        for number in range(8):
            self.write(f"tree/noise {number}", tap.random_bytes(40000))
        self.image = self.make("image", [tree], "-S16")
        self.damaged = self.path("damaged")
        data = bytearray(read(self.image))
        data[64 + 30000] ^= 1
        with open(self.damaged, "wb") as out:
            out.write(data)
        self.good = self.readable(self.image)
        self.left = self.readable(self.damaged)
        self.assertLess(len(self.left), len(self.good))

    def readable(self, image):
        """The files that can be read, with their contents."""
        found = {}
        for name, words in self.listing(image).items():
            if words[0].startswith("-") and "\\" not in name:
                done = run("DWARFSCK", "--cat", name, "--no-check", image)
                if done.code == 0:
                    found[name] = done.raw
        return found

    def test_refused_before_there_is_output(self):
        for mode in ("--recompress", "--recompress=none", "--rebuild-metadata",
                     "--change-block-size"):
            words = ["-S16"] if mode == "--change-block-size" else []
            self.refuse([self.damaged], mode, *words,
                        says=f"'{self.damaged}': input filesystem is corrupt")

    def test_copied_without_a_check(self):
        for words in (["--recompress"], ["--recompress=none"], ["--recompress=metadata"],
                      ["--recompress=block"], ["--rebuild-metadata"],
                      ["--rebuild-metadata", "--recompress"]):
            with self.subTest(words=words):
                new = self.make("new", [self.damaged], "--no-check", *words)
                done = run("DWARFSCK", "--check-integrity", new)
                self.assertEqual(done.code, 1, done.out)
                self.assertEqual(self.readable(new), self.left)
                self.assertEqual(blocks_of(new)[0], blocks_of(self.damaged)[0])

    def test_damaged_contents_are_not_stored_anew(self):
        name = next(name for name in self.good if name not in self.left)
        others = [name for name in self.left if name.startswith("noise")][:3]
        words = [word for other in others for word in ("-F", f"- {other}")]
        new = self.make("new", [self.damaged], "--no-check", "--rebuild-metadata",
                        "--max-unused=0", *words)
        self.expect(run("DWARFSCK", "--cat", name, "--no-check", new), 1)
        self.assertEqual(self.listing(new)[name][4:6], self.listing(self.image)[name][4:6])
        self.assertEqual(self.readable(new), {name: data for name, data in self.left.items()
                                              if name not in others})

    def test_the_block_size_of_damaged_blocks_stays(self):
        self.make("new", [self.damaged], "--no-check", "--change-block-size", "-S14", code=1,
                  says=[f"'{self.damaged}': section"])
        self.assertFalse(os.path.exists(self.path("new")))


class InvalidMetadata(rewritten.Case):
    """Entries that no image can have."""

    def changed(self, old, new):
        """An image with other bytes in its metadata."""
        self.write("tree/name-a", b"first")
        self.write("tree/name-b", b"second")
        os.symlink("target-x", self.path("tree", "link"))
        image = self.make("plain", [self.path("tree")], "-P", "none", "--no-section-index")
        data = read(image)
        metadata = next(section for section in decoded.sections(data)
                        if section.type == decoded.METADATA).unpacked()
        self.assertEqual(metadata.count(old), 1)
        return self.write("changed", decoded.replaced(data, decoded.METADATA,
                                                      metadata.replace(old, new)))

    def lenient(self, image, name, left):
        for mode in (["--rebuild-metadata"], ["--change-block-size", "-S14"]):
            new = self.make("lenient", [image], "--no-check", *mode, code=2,
                            says=[f"'{name}': ", "with 1 error"])
            self.intact(new)
            self.assertEqual({name.split()[0] for name in self.listing(new)}, left)

    def test_two_entries_of_one_name(self):
        image = self.changed(b"name-b", b"name-a")
        more = self.write("more/x", b"x") and self.path("more")
        for words in ([], ["--repack"], ["--on-conflict=error"], ["--on-conflict=rename"]):
            self.refuse([image, more], *words, says="'name-a': its directory has two entries")
        self.refuse([more], "--base", image, says="not sorted")
        self.lenient(image, "name-a", {"name-a", "link"})

    def test_a_target_with_a_zero_byte(self):
        image = self.changed(b"target-x", b"target\0x")
        for words in ([], ["--repack"]):
            self.refuse([image], *words, says="'link': metadata: the target of a link contains a NUL")
        self.lenient(image, "link", {"name-a", "name-b"})


if EVERYTHING:
    Categories.test_every_subset = Categories.check_every_subset
    atexit.register(lambda: print(f"# {_COUNTS['modes']} rewrites in a mode,"
                                  f" {_COUNTS['subsets']} of a subset of the categories"))

if __name__ == "__main__":
    rewritten.cli.main()
