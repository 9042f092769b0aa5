#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mkdwarfs: messages, exit codes, the effect of each option, and clean failure."""
import fcntl
import os
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import termios
import time
import unittest

import cli
import faults as faults_of
from cli import run
import absent
import tap

IS_ROOT = os.geteuid() == 0


class Usage(cli.Case):
    def test_no_arguments(self):
        result = self.expect(run("MKDWARFS"), 0)
        self.assertIn("Usage: mkdwarfs", result.out)
        self.assertEqual(result.err, "")

    def test_help(self):
        short = self.expect(run("MKDWARFS", "--help"), 0).out
        self.assertIn("--compress-level", short)
        self.assertNotIn("--time-resolution", short)
        self.assertEqual(run("MKDWARFS", "-h").out, short)
        full = self.expect(run("MKDWARFS", "--long-help"), 0).out
        self.assertEqual(run("MKDWARFS", "-H").out, full)
        for text in ("--time-resolution", "Levels (", "Codecs", "zstd", "pcmaudio/waveform",
                     "fits/image", "binary/elf", "incompressible", "hotness"):
            self.assertIn(text, full)
        notes = [line for line in full.splitlines() if line.startswith("Not built in: ")]
        self.assertEqual(len(notes), 1 if absent.CODECS_ABSENT else 0)
        for name in absent.CODECS_ABSENT:
            self.assertRegex(notes[0], rf" {name}[,;]")

    def test_each_codec_packs_or_is_not_built_in(self):
        os.mkdir(self.path("tree"))
        for name in ("null", "lz4", "lz4hc", "zstd", "lzma", "brotli"):
            for option in ("--compression", "--metadata-compression"):
                image = self.path(name + option)
                result = run("MKDWARFS", "-i", self.path("tree"), "-o", image, option, name)
                if name in absent.ABSENT:
                    self.expect(result, 1, option, f"{name} is not built in")
                else:
                    self.expect(result, 0)
                self.assertEqual(os.path.exists(image), name not in absent.ABSENT)
            result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.path(name), "--categorize",
                         "-C", f"incompressible::{name}")
            if name in absent.ABSENT:
                self.expect(result, 1, "incompressible::", f"{name} is not built in")
            else:
                self.expect(result, 0)

    def manual(self):
        root = os.environ.get("DWARFS_SOURCE_ROOT") or os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
        with open(os.path.join(root, "man", "mkdwarfs.1"), encoding="utf-8") as page:
            return page.read()

    def rows_of_manual(self, *columns):
        """The rows of the table with these headings; a cell may be of several words."""
        heading = ".It Sy " + " Ta Sy ".join(columns) + "\n"
        self.assertEqual(self.manual().count(heading), 1, heading)
        rows = self.manual().partition(heading)[2].partition(".El\n")[0].splitlines()
        return [row.removeprefix(".It ").split(" Ta ") for row in rows]

    @unittest.skipIf(absent.CODECS_ABSENT, "levels use other codecs here")
    def test_levels_of_the_manual_are_those_of_the_help(self):
        text = run("MKDWARFS", "-H").out.partition("\nLevels (")[2].partition("\n\n")[0]
        lines = [re.split(" {2,}", line.strip()) for line in text.splitlines()[1:]
                 if line.startswith("  ")]
        heading, levels = lines[0], [line for line in lines[1:] if len(line) == 7]
        codecs = [line for line in lines[1:] if len(line) == 3]
        self.assertEqual(len(levels), 10)
        self.assertEqual(len(levels) + len(codecs) + 1, len(lines))

        columns = ["level", "block", "blocks", "history", "metadata", "window", "order"]
        self.assertEqual(heading, columns)
        self.assertEqual(self.rows_of_manual(*columns), levels)
        self.assertEqual(self.rows_of_manual("level", "of", "codec"), codecs)

    def test_every_option_of_the_help_is_in_the_manual(self):
        manual = self.manual()
        words = run("MKDWARFS", "-H").out.split()
        names = {re.match(r"[\w-]+", word)[0] for word in words if word.startswith("--")}
        self.assertGreater(len(names), 50)
        for name in sorted(names):
            self.assertRegex(manual, rf"(Fl|,) {name[1:]}\b")

    def test_version(self):
        self.assertRegex(self.expect(run("MKDWARFS", "--version"), 0).out,
                         r"^mkdwarfs \d+\.\d+\.\d+\n$")

    def test_unknown_option(self):
        self.expect(run("MKDWARFS", "--no-such-option"), 1, "'--no-such-option'")
        self.expect(run("MKDWARFS", "-Z"), 1, "'-Z'")

    def test_missing_argument(self):
        self.expect(run("MKDWARFS", "-i"), 1, "needs an argument")
        self.expect(run("MKDWARFS", "--no-history=x"), 1, "takes no argument")

    def test_missing_options(self):
        self.expect(run("MKDWARFS", "-o", self.path("x")), 1, "'--input' is required")
        self.expect(run("MKDWARFS", "-i", self.dir), 1, "'--output' is required")

    def test_stray_argument(self):
        self.expect(run("MKDWARFS", "-i", self.dir, "-o", self.path("x"), "grmpf"), 1,
                    "unrecognized argument 'grmpf'")

    def test_abbreviated_options(self):
        tree = self.tree()
        self.expect(run("MKDWARFS", "-i", tree, "--out", self.path("x"), "--compress-l=1"), 0)
        result = run("MKDWARFS", "-i", tree, "-o", self.path("y"), "--win=3")
        self.expect(result, 1, "option '--win' is ambiguous: --window-size, --window-step")
        self.expect(run("MKDWARFS", "--grmpf=3"), 1, "unrecognized option '--grmpf'\n")
        self.expect(run("MKDWARFS", "--", "-x"), 1)
        self.expect(run("MKDWARFS", "-x"), 1, "unrecognized option '-x'\n")

    def test_options_without_what_they_need(self):
        """An option has an effect, is refused, or, if the original tool accepts it, gives a warning."""
        tree = self.tree()
        for words, *texts in (
                (["--trust-digests"], "'--trust-digests' needs an image"),
                (["--repack"], "'--repack' needs an image"),
                (["--max-unused=50"], "'--max-unused' needs an image"),
                (["--base-trust=times"], "'--base-trust' needs --base"),
                (["--spool-dir=" + self.path("missing")], "'--spool-dir' needs an archive")):
            with self.subTest(words=words):
                self.expect(run("MKDWARFS", "-i", tree, "-o", self.path("x"), *words), 1, *texts)
                self.assertFalse(os.path.exists(self.path("x")))
        self.expect(run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-l1", "--remove-header"), 0,
                    "--remove-header has no effect")
        listed = self.write("list", b"a.txt\n")
        for words, text in ((["-C", "incompressible::null"], "-C (--compression) for the category 'incompressible'"),
                            (["--order", "pcmaudio/waveform::path"], "--order for the category 'pcmaudio/waveform'"),
                            (["--categorize=hotness"], "--categorize=hotness has no effect without --hotness-list"),
                            (["--categorize=incompressible", "-C", "fits/image::null"], "--categorize=fits"),
                            (["--hotness-list", listed], "has no effect without --categorize=hotness")):
            result = run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-fl1", *words)
            self.expect(result, 0, text)
            self.assertEqual(result.err.count("no effect"), 1, result.err)
        for words in (["--categorize=fits,hotness", "--hotness-list", listed], ["-C", "<default>::null"],
                      ["--categorize", "-C", "incompressible::null"]):
            result = run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-fl1", *words)
            self.expect(result, 0)
            self.assertNotIn("no effect", result.err)
        for words in (["--repack"], ["--trust-digests"], ["--max-unused=50"], ["--remove-header"]):
            result = run("MKDWARFS", "-i", tree, "-i", self.path("x"), "-o", self.path("y"), "-fl1", *words)
            self.expect(result, 0)
            self.assertNotIn("no effect", result.err)
        for words in (["--trust-digests"], ["--max-unused=50"], ["--base-trust=none"]):
            self.expect(run("MKDWARFS", "-i", tree, "--base", self.path("x"), "-o", self.path("y"),
                            "-fl1", *words), 0)

    def test_bad_values(self):
        for words, *texts in (
                (["-l", "10"], "invalid compression level"),
                (["-l", "x"], "invalid compression level"),
                (["-S", "1"], "block size must be between"),
                (["-S", "100"], "block size must be between"),
                (["-S", "9"], "block size must be between", "'9' for -S (--block-size-bits)",
                 "between 10 and 30"),
                (["-S", "x"], "between 10 and 30"),
                (["-S", ""], "between 10 and 30"),
                (["-S", "4294967312"], "between 10 and 30"),
                (["-S", "31"], "block size must be between"),
                (["-C", "grmpf"], "unknown compression: grmpf", "-C (--compression)", "use null, ",
                 ", ricepp"),
                (["-C", "grmpf:level=3"], "unknown compression: grmpf"),
                (["--schema-compression=grmpf"], "unknown compression: grmpf"),
                (["--metadata-compression=grmpf"], "unknown compression: grmpf"),
                (["--history-compression=grmpf"], "unknown compression: grmpf"),
                (["-C", "zstd:level=99"], "--compression"),
                (["-C", "zstd:grmpf=1"], "--compression"),
                (["--order=grmpf"], "invalid inode order mode"),
                (["--order=incompressible::grmpf"], "invalid inode order mode"),
                (["--order=nilsimsa:grmpf=3"], "invalid inode order mode"),
                (["--order=nilsimsa:max-children=0"], "invalid inode order mode"),
                (["--order=nilsimsa:max-children=-1"], "invalid inode order mode"),
                (["--order=nilsimsa:max-children=x"], "invalid inode order mode"),
                (["--order=nilsimsa:max-children=9:max-children=9"], "invalid inode order mode"),
                (["--order=path:grmpf"], "invalid inode order mode"),
                (["--order=explicit"], "invalid inode order mode"),
                (["--order=explicit:file=" + self.path("missing")],
                 "failed to open explicit order file"),
                (["--order=grmpf::path"], "grmpf"),
                (["-C", "grmpf::null"], "grmpf"),
                (["-C", "incompressible::grmpf"], "unknown compression: grmpf"),
                (["-C", "::null"], "no category"),
                (["-C", "flac"], "needs a category with matching metadata"),
                (["-C", "incompressible::ricepp"], "needs a category with matching metadata"),
                (["-W", "25"], "window-size"),
                (["-W", "x"], "window-size"),
                (["-W", "grmpf::12"], "grmpf"),
                (["-w", "9"], "window-step"),
                (["-B", "-1"], "max-lookback-blocks"),
                (["--bloom-filter-size=11"], "bloom-filter-size"),
                (["-L", "0"], "memory-limit"),
                (["-L", "5x"], "memory-limit"),
                (["--max-similarity-size=x"], "max-similarity-size"),
                (["--file-hash=grmpf"], "unknown file hash function: grmpf", "--file-hash",
                 "use none, ", ", xxh3-128"),
                (["--categorize=grmpf"], "invalid value 'grmpf' for --categorize",
                 "unknown categorizer: grmpf: use fits, pcmaudio, binary, incompressible, hotness"),
                (["--categorize=fits,fits"], "--categorize", "'fits' is given twice"),
                (["--categorize="], "invalid value '' for --categorize"),
                (["--history-compression=flac"], "invalid value 'flac' for --history-compression"),
                (["--xattrs-exclude=["], "invalid value '[' for --xattrs-exclude", "unmatched ["),
                (["--incompressible-block-size=0"], "invalid --incompressible-block-size",
                 "between 1 KiB and 1 GiB"),
                (["--recompress-categories=x"],
                 "option '--recompress-categories' needs --recompress\n"),
                (["--categorize=fits,grmpf"], "unknown categorizer: grmpf"),
                (["--categorize=hotness", "--hotness-list=" + self.path("missing")],
                 self.path("missing")),
                (["--incompressible-ratio=2"], "incompressible-ratio"),
                (["--incompressible-zstd-level=99"], "incompressible-zstd-level",
                 "between -131072 and 22"),
                (["--incompressible-zstd-level=-131073"], "between -131072 and 22"),
                (["--incompressible-zstd-level=-"], "between -131072 and 22"),
                (["--incompressible-zstd-level=99999999999999999999"], "between -131072 and 22"),
                (["--incompressible-block-size=x"], "incompressible-block-size"),
                (["--incompressible-block-size=1"], "between 1 KiB and 1 GiB"),
                (["--compress-niceness=20"], "compress-niceness"),
                (["--num-scanner-workers=x"], "num-scanner-workers"),
                (["--num-segmenter-workers=x"], "num-segmenter-workers"),
                (["--hollow", "--no-sparse-files"], "--hollow excludes --no-sparse-files"),
                (["--input-list=x", "-F", "- *"], "--input-list excludes --filter"),
                (["--input-list=" + self.path("missing")], "cannot open input list"),
                (["-F", "grmpf"], "rules must start with + or -"),
                (["-F", ""], "empty filter rule"),
                (["-F", "+"], "no pattern in filter rule"),
                (["-F", "+x *"], "unknown option 'x' in filter rule"),
                (["--debug-filter=grmpf"], "--debug-filter"),
                (["--progress=grmpf"], "invalid progress mode"),
                (["--log-level=grmpf"], "log-level"),
                (["--set-time=grmpf"], "cannot parse time point"),
                (["--set-time=2026-02-30"], "cannot parse time point"),
                (["--set-time=2026-02-03T25:00"], "cannot parse time point"),
                (["--set-time=-1x"], "cannot parse time point"),
                (["--set-time=-"], "cannot parse time point"),
                (["--set-time=-9223372036854775809"], "cannot parse time point"),
                (["--set-time="], "cannot parse time point"),
                (["--set-time=-9223372036854775808", "--time-resolution=1d"],
                 "cannot be rounded down"),
                (["--pack-metadata=none,all"], "'none' cannot be combined with other words"),
                (["--set-owner=-1"], "set-owner"),
                (["--set-owner=4294967295"], "between 0 and 4294967294"),
                (["--set-group=4294967295"], "between 0 and 4294967294"),
                (["--set-owner=no-such-user-here"], "no-such-user-here"),
                (["--set-group=4294967296"], "set-group"),
                (["--chmod=grmpf"], "invalid metadata option: "),
                (["--chmod=99"], "invalid metadata option: "),
                (["--chmod="], "invalid metadata option: "),
                (["--time-resolution=0"], "must be nonzero"),
                (["--time-resolution=0ms"], "must be nonzero"),
                (["--time-resolution=3grmpf"], "time resolution"),
                (["--time-resolution=300ms"], "invalid --time-resolution '300ms'", "divide a second"),
                (["--time-resolution=1500ms"], "invalid --time-resolution '1500ms'",
                 "whole number of seconds"),
                (["--pack-metadata="], "invalid value '' for --pack-metadata", "symlinks_index"),
                (["--pack-metadata=grmpf"], "unknown word 'grmpf'"),
                (["-P", "names,grmpf"], "unknown word 'grmpf'", "--pack-metadata"),
                (["-N", "x"], "'x' for -N (--num-workers): must be between 0 and 1024"),
                (["-N", "-1"], "num-workers"),
                (["--header=" + self.path("missing")], "cannot open header file")):
            with self.subTest(words=words):
                self.expect(run("MKDWARFS", "-i", self.dir, "-o", self.path("x"), *words), 1, *texts)
                self.assertFalse(os.path.exists(self.path("x")))


class Files(cli.Case):
    def test_input_must_be_a_directory(self):
        for path in (self.write("file"), self.path("missing")):
            result = run("MKDWARFS", "-i", path, "-o", self.path("x"))
            self.expect(result, 1, f"'{path}' must be a directory")
            self.assertEqual(result.err.count("must be a directory"), 1, result.err)
        self.assertEqual(os.listdir(self.dir), ["file"])

    def test_link_to_a_directory(self):
        os.symlink(self.tree(), self.path("link"))
        image = self.pack(tree=self.path("link"))
        self.assertEqual(self.info(image)["inodes_by_type"]["directories"], 3)

    def test_output_exists(self):
        image = self.write("x.dwarfs", b"old")
        tree = self.tree()
        self.expect(run("MKDWARFS", "-i", tree, "-o", image), 1, "output file already exists")
        with open(image, "rb") as old:
            self.assertEqual(old.read(), b"old")
        self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l1"), 0)
        self.expect(run("MKDWARFS", "-i", tree, "-o", image, "--force", "-l1"), 0)
        self.expect(run("DWARFSCK", "-q", image), 0)

    def test_output_cannot_be_opened(self):
        self.tree()
        os.chmod(self.path("tree/a.txt"), 0o755)
        for path in ("missing/x", "tree/a.txt/x", "x" * 300):
            self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path(path)), 1,
                        "cannot open output file")
            self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path(path), "--dry-run"), 1,
                        "cannot open output file")

    def test_output_is_a_link(self):
        """A link is followed; one to a file that does not exist is refused, and stays."""
        tree = self.tree()
        os.symlink("there", self.path("link"))
        for words in ([], ["-f"], ["--dry-run"]):
            self.expect(run("MKDWARFS", "-i", tree, "-o", self.path("link"), "-l1", *words), 1,
                        "is a symbolic link to a file that does not exist")
        self.assertFalse(os.path.exists(self.path("there")))
        self.write("there", b"old")
        self.expect(run("MKDWARFS", "-i", tree, "-o", self.path("link"), "-fl1"), 0)
        self.assertTrue(os.path.islink(self.path("link")))
        self.expect(run("DWARFSCK", "-q", self.path("there")), 0)

    def test_output_is_a_directory(self):
        os.mkdir(self.path("x"))
        self.tree()
        self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "-f"), 1)
        self.assertEqual(sorted(os.listdir(self.dir)), ["tree", "x"])

    def test_output_inside_the_input(self):
        tree = self.tree()
        image = os.path.join(tree, "x.dwarfs")
        self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-l1"), 0)
        self.assertFalse([line for line in run("DWARFSCK", "-l", image).out.splitlines()
                          if "dwarfs" in line])

    def test_mode_of_the_output_respects_the_umask(self):
        tree = self.tree()
        for mask in (0o022, 0o077):
            image = self.path(f"{mask}")
            self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-l1", umask=mask), 0)
            self.assertEqual(stat.S_IMODE(os.stat(image).st_mode), 0o666 & ~mask)

    def test_stdout(self):
        tree = self.tree()
        words = ["-i", tree, "--no-history", "--no-create-timestamp", "-l", "4"]
        piped = self.expect(run("MKDWARFS", *words, "-o", "-"), 0).raw
        self.expect(run("MKDWARFS", *words, "-o", self.path("x")), 0)
        with open(self.path("x"), "rb") as image:
            self.assertEqual(piped, image.read())
        with open(self.path("y"), "wb") as out:
            self.expect(run("MKDWARFS", *words, "-o", "-", stdout=out), 0)
        with open(self.path("y"), "rb") as image:
            self.assertEqual(piped, image.read())
        self.assertEqual(sorted(os.listdir(self.dir)), ["tree", "x", "y"])

    def test_stdout_is_a_terminal(self):
        master, slave = tap.terminal()
        self.addCleanup(os.close, master)
        result = run("MKDWARFS", "-i", self.tree(), "-o", "-", stdout=slave)
        os.close(slave)
        self.expect(result, 1, "standard output is a terminal")

    def test_stdout_closes_early(self):
        """By SIGPIPE, as other programs; if that is ignored, by a message."""
        self.write("tree/noise", tap.random_bytes(1 << 22))
        for is_ignored in (False, True):
            with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("tree"), "-o", "-",
                                   "-l0", "--no-progress"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE,
                                  restore_signals=not is_ignored) as child:
                child.stdout.read(10)
                child.stdout.close()
                errors = child.stderr.read()
                self.assertEqual(child.wait(60), 1 if is_ignored else -signal.SIGPIPE, errors)
                self.assertEqual(b"Broken pipe" in errors, is_ignored, errors)

    def outcome(self, words, faults="", old=None):
        """Exit code, messages, system calls, and afterwards the entries of the output's
        directory."""
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)
        if old is not None:
            self.write("out/x", old)
        log = self.write("calls")
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("out", "x"), "-l0",
                     *words, env=faults_of.environment(faults, log))
        with open(log, encoding="ascii") as lines:
            return result, lines.read().split("\n")[:-1], os.listdir(out)

    def test_output_that_fails_at_its_end(self):
        """As on a network disk: only close() reports that it is full. Whichever close fails, there
        is no new image, and the old one is unchanged."""
        self.tree()
        for tmpfile in ("", " O_TMPFILE"):
            for words, old in (([], None), (["-f"], None), (["-f"], b"old")):
                _, calls, _ = self.outcome(words, tmpfile, old)
                failing = [f"close:{n + 1}" for n in range(calls.count("close"))]
                self.assertGreater(len(failing), 0)
                for fault in ["close:0", *failing]:
                    with self.subTest(words=words, fault=fault + tmpfile, old=old):
                        result, _, names = self.outcome(words, fault + tmpfile, old)
                        self.expect(result, 1, "failed to close output file",
                                    "Disk quota exceeded")
                        self.assertEqual(names, [] if old is None else ["x"])
                        if old is not None:
                            with open(self.path("out", "x"), "rb") as file:
                                self.assertEqual(file.read(), old)

    def test_output_is_synchronized(self):
        self.tree()
        for tmpfile in ("", "O_TMPFILE"):
            for words, old in (([], None), (["-f"], None), (["-f"], b"old")):
                with self.subTest(words=words, tmpfile=tmpfile, old=old):
                    result, calls, names = self.outcome(words, tmpfile, old)
                    self.expect(result, 0)
                    self.assertEqual(names, ["x"])
                    named = max(n for n, call in enumerate(calls) if call in ("link", "rename"))
                    self.assertLess(calls.index("fsync file"), calls.index("link")
                                    if "link" in calls else named)
                    self.assertGreater(calls.index("fsync directory"), named)
                    self.assertEqual(calls.count("fsync file"), 1)
                    if words:
                        self.assertLess(max(n for n, call in enumerate(calls)
                                            if call == "close"), named)
                    result, calls, names = self.outcome([*words, "--no-sync"], tmpfile, old)
                    self.expect(result, 0)
                    self.assertEqual(names, ["x"])
                    self.assertNotIn("fsync file", calls)
                    self.assertNotIn("fsync directory", calls)
                    result, _, names = self.outcome(words, "fsync:1 " + tmpfile, old)
                    self.expect(result, 1, "cannot write", "Input/output error")
                    self.assertEqual(names, [] if old is None else ["x"])

    def test_output_to_a_descriptor_is_synchronized(self):
        tree, log = self.tree(), self.write("calls")
        words = ["-i", tree, "-o", "-", "-l0"]
        environment = faults_of.environment("", log)
        for more, times in ([], 1), (["--no-sync"], 1):
            with open(self.path("y"), "wb") as out:
                self.expect(run("MKDWARFS", *words, *more, stdout=out, env=environment), 0)
            with open(log, encoding="ascii") as lines:
                self.assertEqual(lines.read().count("fsync file"), times)
        self.expect(run("MKDWARFS", *words, env=environment), 0)  # a pipe
        with open(log, encoding="ascii") as lines:
            self.assertEqual(lines.read().count("fsync"), 1)

    def test_nothing_stays_when_nothing_can_be_opened(self):
        self.tree()
        for words, old in (([], None), (["-f"], b"old")):
            for number in range(1, 12):
                result, _, names = self.outcome(words, f"openat:{number} O_TMPFILE", old)
                self.assertIn(result.code, (0, 1, 2), result.err)
                self.assertEqual(names, ["x"] if old or result.code != 1 else [], result.err)


class Image(cli.Case):
    def test_empty(self):
        os.mkdir(self.path("none"))
        for words in ([], ["-l", "0"], ["-P", "all"], ["-P", "none"], ["--no-section-index"]):
            image = self.pack(*words, tree=self.path("none"))
            info = self.info(image)
            self.assertEqual((info["inode_count"], info["entry_count"], info["block_count"]),
                             (1, 1, 0))
            self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)

    def test_same_for_any_number_of_workers(self):
        tree = self.tree()
        for level in ("0", "1", "3", "5", "7"):
            images = set()
            for workers in ("0", "1", "8", "8"):
                images.add(run("MKDWARFS", "-i", tree, "-o", "-", "-l", level, "-N", workers,
                               "-S", "12", "--no-history", "--no-create-timestamp").raw)
            self.assertEqual(len(images), 1, level)
            self.assertTrue(images.pop().startswith(b"DWARFS"))

    def test_levels(self):
        rng = random.Random(3)
        self.write("tree/x", b"".join(struct.pack("<IHH", number, rng.randrange(50), 7)
                                      for number in range(6000)))
        tree = self.path("tree")
        bits = {0: 20, 1: 20, 2: 20, 3: 21, 4: 22, 5: 23, 6: 24, 7: 24, 8: 24, 9: 26}
        for level, size in bits.items():
            image = self.path("x")
            self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l", str(level)), 0)
            info = self.info(image)
            self.assertEqual(info["block_size"], 1 << size)
            chain = ("NONE",) if level == 0 else ("LZ4", "ZSTD", "LZMA") if level < 4 else \
                ("ZSTD", "LZMA", "LZ4") if level < 8 else ("LZMA", "ZSTD", "LZ4")
            built_in = [name for name in chain if name.lower() not in absent.ABSENT]
            codec = built_in[0] if built_in else "NONE"
            self.assertEqual({s["compression"] for s in info["sections"]
                              if s["type"] == "BLOCK"}, {codec})

    def test_literals_are_packed_by_zstd_at_level_9(self):
        absent.need("zstd", "lzma")
        tree, image = self.path("tree"), self.path("x")
        self.write("tree/x", random.Random(3).randbytes(100_000).hex().encode())
        sizes = {}
        for level in "79":
            self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l", level), 0)
            sizes[level] = os.path.getsize(image)
        self.assertEqual([s["compression"] for s in self.info(image)["sections"]
                          if s["type"] == "BLOCK"], ["ZSTD"])
        self.assertLess(sizes["9"], sizes["7"] * 1.001)
        self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l", "9",
                        "-C", "lzma:level=9"), 0)
        self.assertGreater(os.path.getsize(image), sizes["9"] * 1.02)

    def test_default_level_is_7(self):
        tree = self.tree()
        words = ["-i", tree, "-o", "-", "--no-history", "--no-create-timestamp"]
        self.assertEqual(run("MKDWARFS", *words).raw, run("MKDWARFS", *words, "-l", "7").raw)

    def test_block_size_and_codecs(self):
        absent.need("zstd", "lzma", "lz4")
        image = self.pack("-S", "12", "-C", "zstd:level=3", "--metadata-compression", "lzma:1",
                          "--schema-compression", "null", "--history-compression=lz4")
        info = self.info(image)
        self.assertEqual(info["block_size"], 4096)
        by_type = {}
        for section in info["sections"]:
            by_type.setdefault(section["type"], set()).add(section["compression"])
        self.assertIn("ZSTD", by_type["BLOCK"])
        self.assertIn("NONE", by_type["BLOCK"])  # the noise
        self.assertEqual(by_type["METADATA_V2_SCHEMA"], {"NONE"})
        self.assertEqual(by_type["METADATA_V2"], {"LZMA"})
        self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)

    def test_metadata_is_not_compressed_where_that_is_larger(self):
        absent.need("zstd")
        names = random.Random(5)

        for _ in range(600):  # nothing else to compress, and names are packed without a codec
            digits = f"{names.getrandbits(64):016x}"
            self.write(f"names/{digits[0]}/{digits}")

        def pack(*options, tree="names"):
            image = self.path("x")
            self.expect(run("MKDWARFS", "-i", self.path(tree), "-o", image, "-f", "--no-progress",
                            "--no-history", "--no-create-timestamp", *options), 0)
            codec = next(section["compression"] for section in self.info(image)["sections"]
                         if section["type"] == "METADATA_V2")
            return os.path.getsize(image), codec

        for level in ("-l3", "-l5", "-l7", "-l9"):
            self.assertLessEqual(pack(level)[0], pack(level, "--metadata-compression=null")[0], level)
        self.assertEqual(pack("-l3")[1], "NONE")
        self.assertEqual(pack("-l3", "--metadata-compression=zstd:level=7")[1], "ZSTD")
        for _ in range(12):  # the tables are smaller, but with their schema they are not
            self.write(f"few/{names.getrandbits(64):016x}")
        self.assertLessEqual(pack("-l3", tree="few")[0],
                             pack("-l3", "--metadata-compression=null", tree="few")[0])

    def test_small_and_large_metadata_stay_uncompressed(self):
        absent.need("zstd")

        def codec_of_metadata(tree, *options):
            image = self.path("x")
            self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l7", "--no-progress",
                            "-C", "zstd:1", *options), 0)
            return next((section["compression"], section["size"])
                        for section in self.info(image)["sections"]
                        if section["type"] == "METADATA_V2")

        for number in range(500):  # a large part of the image
            self.write(f"many/file-{number}", b"%d" % number)
        self.assertEqual(codec_of_metadata(self.path("many"))[0], "ZSTD")
        self.write("many/noise", tap.random_bytes(4000000))  # now less than one part in 50
        codec, size = codec_of_metadata(self.path("many"))
        self.assertLess(size, 4000000 // 50)
        self.assertEqual(codec, "ZSTD")
        self.write("many/more", tap.random_bytes(1000 * size))  # less than one part in 1000
        self.assertEqual(codec_of_metadata(self.path("many"))[0], "NONE")
        self.assertEqual(codec_of_metadata(self.path("many"), "--metadata-compression=zstd")[0],
                         "ZSTD")
        # Blocks of zeros that are stored as they are; the level changes only the codec.
        fast = ("--pack-metadata=none", "-W0", "-S20", "--file-hash=none", "--order=path", "-l3",
                "-C", "null", "--no-sparse-files")
        os.mkdir(self.path("middle"))  # 1 to 8 MiB
        for number in range(290):
            os.symlink(f"{number:05}" + "long" * 950, self.path("middle", str(number)))
        hole = self.write("middle/hole")
        os.truncate(hole, 30 << 20)  # one part in 20 to 50
        codec, size = codec_of_metadata(self.path("middle"), *fast)
        self.assertTrue(1 << 20 < size < 8 << 20)
        self.assertTrue(20 * size < 30 << 20)
        self.assertEqual(codec, "ZSTD")
        os.truncate(hole, 55 << 20)  # less than one part in 50
        self.assertEqual(codec_of_metadata(self.path("middle"), *fast)[0], "NONE")
        os.mkdir(self.path("long"))  # more than 8 MiB, and nearly all of the image
        for number in range(2210):
            os.symlink(f"{number:05}" + "long" * 950, self.path("long", str(number)))
        codec, size = codec_of_metadata(self.path("long"), *fast)
        self.assertNotEqual(codec, "NONE")
        os.truncate(self.write("long/hole"), 162 << 20)  # now one part in 20 to 50
        codec, size = codec_of_metadata(self.path("long"), *fast)
        self.assertTrue(8 << 20 < size and 20 * size < 162 << 20)
        self.assertEqual(codec, "NONE")

    def test_metadata_of_many_small_files_is_packed_by_the_denser_codec(self):
        absent.need("zstd", "lzma")

        def codec_and_image_size(*options):
            image = self.path("x")
            self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", image, "-f", "-l7",
                            "--no-progress", "-C", "zstd:1", *options), 0)
            self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)
            return next((section["compression"], os.path.getsize(image))
                        for section in self.info(image)["sections"]
                        if section["type"] == "METADATA_V2")

        for release in range(6):
            for number in range(300):
                self.write(f"tree/{release}/icon-{number * number % 1009}",
                           b"%d of release %d" % (number, number * release % 7))
        codec, size = codec_and_image_size()
        by_zstd = codec_and_image_size("--metadata-compression=zstd:level=22:adapt:hlog=24")
        self.assertEqual((codec, by_zstd[0]), ("LZMA", "ZSTD"))
        self.assertLess(size, by_zstd[1] * 0.99)
        rewritten = self.path("rewritten")  # x is by zstd
        self.expect(run("MKDWARFS", "-i", self.path("x"), "-o", rewritten, "-l7", "--no-progress",
                        "--recompress=metadata"), 0)
        self.assertIn("LZMA", [section["compression"]
                               for section in self.info(rewritten)["sections"]])
        self.write("tree/noise", tap.random_bytes(2000000))  # it saves less than 1 % now
        self.assertEqual(codec_and_image_size()[0], "ZSTD")

    def test_option_beats_level_wherever_it_stands(self):
        tree = self.tree()
        for words in (["-S", "13", "-l", "3"], ["-l", "3", "-S", "13"]):
            run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-f", *words)
            self.assertEqual(self.info(self.path("x"))["block_size"], 8192)

    def test_order(self):
        for name in ("b/1", "a/2", "c/0"):
            self.write("tree/" + name, name.encode() * 100)
        for order, paths in (("path", ["a/2", "b/1", "c/0"]), ("revpath", ["c/0", "b/1", "a/2"])):
            image = self.pack("--order", order, tree=self.path("tree"))
            lines = run("DWARFSCK", "--checksum=xxh3-64", "-n", "1", image).out.splitlines()
            self.assertEqual([line.split("  ")[1] for line in lines], paths)

    def test_lists_of_other_paths(self):
        """A list with paths that the input has not, such as with the name of the input before them."""
        tree = self.tree()
        for text, warns in ((b"tree/a.txt\nnone\n", True), (b"none\na.txt\n", False), (b"", False)):
            listed = self.write("list", text)
            result = run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-fl1", "--order=explicit:file=" + listed)
            self.expect(result, 0)
            self.assertEqual(result.err.count("no path of the explicit order is in the input"), warns, result.err)
            if not text:
                continue
            result = run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-fl1", "--categorize=hotness",
                         "--hotness-list", listed)
            self.expect(result, 0)
            self.assertEqual("no path of --hotness-list" in result.err, warns, result.err)

    def test_owner_group_time(self):
        tree = self.tree()
        image = self.pack("--set-owner", "70000", "--set-group=4000000000",
                          "--set-time=2026-01-31T12:30:00Z", tree=tree)
        for words in self.listing(image).values():
            self.assertEqual(words[1], "70000/4000000000")
        result = run("DWARFSCK", "-l", "-v", image, env={**os.environ, "TZ": "UTC"})
        self.assertEqual({tuple(line.split()[3:5]) for line in result.out.splitlines()},
                         {("2026-01-31", "12:30")})
        image = self.pack("--set-owner=root", "--set-group", "root", tree=tree)
        self.assertEqual({words[1] for words in self.listing(image).values()}, {"0/0"})

    def test_time_points(self):
        tree = self.tree()
        for text, shown in (("epoch", "1970-01-01 00:00"), ("0", "1970-01-01 00:00"),
                            ("1600000000", "2020-09-13 12:26"),
                            ("2020-02-29", "2020-02-29 00:00"),
                            ("2020-02-29 23:59", "2020-02-29 23:59"),
                            ("2020-02-29T23:59:58.25", "2020-02-29 23:59"),
                            ("20200229T2359", "2020-02-29 23:59"),
                            ("2020-02-29T23:30:00+01:30", "2020-02-29 22:00"),
                            ("2020-02-29T23:30:00-0130", "2020-03-01 01:00"),
                            ("1969-12-31", "1969-12-31 00:00"), ("-1", "1969-12-31 23:59"),
                            ("-2019686400", "1906-01-01 00:00"),
                            ("2400-02-29T12:00", "2400-02-29 12:00")):
            image = self.pack("--set-time", text, tree=tree)
            line = run("DWARFSCK", "-lv", image, env={**os.environ, "TZ": "UTC"}).out.split("\n")[0]
            self.assertIn(shown, line, text)
        before = time.time()
        self.pack("--set-time=now", tree=tree)
        line = run("DWARFSCK", "-lv", self.path("image.dwarfs")).out.split("\n")[0].split()
        shown = time.mktime(time.strptime(" ".join(line[3:5]), "%Y-%m-%d %H:%M"))
        self.assertLess(abs(shown - before), 200)

    def test_times_before_1970(self):
        """They are stored unchanged, without a message."""
        tree = self.tree()
        times = {"sub/noise": -1, "empty": -10**17 - 999999999, "sub/c.bin": 4 * 10**18}
        for name, ns in times.items():
            os.utime(self.path("tree", *name.split("/")), ns=(5, ns))
        if os.stat(self.path("tree", "empty")).st_mtime_ns >= 0:
            self.skipTest("the file system has none")
        for resolution, divisor in (("1ns", 1), ("1ms", 10**6), ("1s", 10**9), ("1h", 36 * 10**11)):
            result = self.expect(run("MKDWARFS", "-i", tree, "-o", self.path("x"), "-f", "-l1",
                                     "--no-progress", "--time-resolution", resolution), 0)
            self.assertNotIn("1970", result.err)
            out = self.path("out-" + resolution)
            self.expect(run("DWARFSEXTRACT", "-i", self.path("x"), "-o", out), 0)
            for name, ns in times.items():
                self.assertEqual(os.stat(os.path.join(out, name)).st_mtime_ns,
                                 ns // divisor * divisor, (resolution, name))
        listed = run("DWARFSCK", "-lv", self.path("x"), env={**os.environ, "TZ": "UTC"}).out
        self.assertIn("1969-12-31 23:00 sub/noise", listed)

    def test_chmod(self):
        tree = self.tree()
        for modes, directory, file in (("norm", "dr-xr-xr-x", "-r--r--r--"),
                                       ("u=rwx,go=", "drwx------", "-rwx------"),
                                       ("D0711,F0640", "drwx--x--x", "-rw-r-----"),
                                       ("Fa-w,Dg+s", "drwxr-sr-x", "-r--r--r--"),
                                       ("a=r", "dr--r--r--", "-r--r--r--"),
                                       ("=rw", "drw-r--r--", "-rw-r--r--")):
            image = self.path("x")
            self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-f", "-l1", "--chmod", modes,
                            umask=0o022), 0)
            listing = self.listing(image)
            self.assertEqual((listing["sub"][0], listing["a.txt"][0]), (directory, file), modes)

    def test_chmod_respects_the_umask_of_the_process(self):
        tree = self.tree()
        for mask, file in ((0o022, "-rwxr-xr-x"), (0o077, "-rwxr--r--"), (0, "-rwxrwxrwx")):
            image = self.path(f"{mask}")
            self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-l1", "--chmod", "+wx",
                            umask=mask), 0)
            self.assertEqual(self.listing(image)["a.txt"][0], file)

    def test_times(self):
        tree = self.tree()
        for words, step, only in (([], 10**9, True), (["--time-resolution=1ns"], 1, True),
                                  (["--time-resolution", "250ms"], 250 * 10**6, True),
                                  (["--time-resolution=60"], 60 * 10**9, True),
                                  (["--time-resolution=1h"], 3600 * 10**9, True),
                                  (["--time-resolution=2d"], 2 * 86400 * 10**9, True),
                                  (["--keep-all-times"], 10**9, False)):
            info = self.info(self.pack(*words, tree=tree))
            self.assertEqual((info["time_resolution_ns"], info["mtime_only"]), (step, only))

    def test_history(self):
        tree = self.tree()
        info = self.info(self.pack(tree=tree))
        self.assertEqual(len(info["history"]), 1)
        step = info["history"][0]
        self.assertEqual(os.path.basename(step["arguments"][0]), "mkdwarfs")
        self.assertIn("--no-progress", step["arguments"])
        self.assertLess(abs(step["timestamp"] - time.time()), 300)
        self.assertIn("created_on", info)
        self.assertIn("created_by", info)

        step = self.info(self.pack("--no-history-command-line", "--no-history-timestamps",
                                   tree=tree))["history"][0]
        self.assertEqual(step["arguments"], [])
        self.assertNotIn("timestamp", step)

        info = self.info(self.pack("--no-history", "--no-create-timestamp", tree=tree))
        self.assertEqual(info["history"], [])
        self.assertNotIn("created_on", info)
        self.assertNotIn("HISTORY", {s["type"] for s in info["sections"]})

    def test_odd_command_line_in_the_history(self):
        tree = self.tree()
        image = os.path.join(os.fsencode(self.dir), b"caf\xe9.dwarfs")
        self.expect(run("MKDWARFS", "-i", tree, "-o", image, "-l1"), 0)
        self.assertTrue(self.info(image)["history"][0]["arguments"][4].endswith(
            "caf\N{REPLACEMENT CHARACTER}.dwarfs"))

    def test_section_index(self):
        tree = self.tree()
        self.assertTrue(self.info(self.pack(tree=tree))["valid_section_index"])
        info = self.info(self.pack("--no-section-index", tree=tree))
        self.assertFalse(info["valid_section_index"])
        self.assertNotIn("SECTION_INDEX", {s["type"] for s in info["sections"]})

    def test_hardlink_table(self):
        for words in ([], ["--no-hardlink-table"]):
            image = self.pack(*words)
            self.expect(run("DWARFSCK", "-q", image), 0)
            info = self.info(image)
            self.assertEqual(info["hardlink_size"], 6000)
            self.assertEqual(info["entry_count"] - info["inode_count"], 1)
            os.unlink(image)
            subprocess.run(["rm", "-rf", self.path("tree")], check=True)

    def test_pack_metadata(self):
        tree = self.tree()
        plain = self.info(self.pack("-P", "none", tree=tree))["packing"]
        packed = self.info(self.pack("--pack-metadata=all", tree=tree))["packing"]
        self.assertTrue({"packed_chunk_table", "packed_directories",
                         "packed_shared_files_table"} <= set(packed), packed)
        self.assertFalse({"packed_chunk_table", "packed_directories",
                          "packed_shared_files_table"} & set(plain), plain)
        for words in ("plain", "chunk_table,directories", "names,symlinks,force", "auto",
                      "shared_files", "names_index,symlinks_index"):
            self.expect(run("DWARFSCK", "-q", "--check-integrity",
                            self.pack("-P", words, tree=tree)), 0)

    def test_header(self):
        header = self.write("stub", b"#!/bin/sh\nexit 1\n" + b"DWARFS\2\5" + bytes(5000))
        tree = self.tree()
        image = self.pack("--header", header, tree=tree)
        with open(header, "rb") as stub, open(image, "rb") as packed:
            stub = stub.read()
            self.assertEqual(packed.read(len(stub)), stub)
        self.assertEqual(self.expect(run("DWARFSCK", "-H", image), 0).raw, stub)
        self.assertEqual(self.info(image)["image_offset"], len(stub))
        with open(header, "rb") as stub:
            piped = run("MKDWARFS", "-i", tree, "-o", self.path("x"), "--header=-", "-l0",
                        stdin=stub)
        self.expect(piped, 0)
        self.assertEqual(self.info(self.path("x"))["image_offset"], os.path.getsize(header))
        self.assertEqual(self.info(self.pack("--header=/dev/null", tree=tree))["image_offset"], 0)

    def test_sparse_files(self):
        tree = self.tree()
        self.assertEqual(self.info(self.pack(tree=tree))["features"], ["sparsefiles"])
        image = self.pack("--no-sparse-files", tree=tree)
        self.assertEqual(self.info(image)["features"], [])
        self.assertEqual(self.listing(image)["hole"][2], str(1 << 20))

    def test_huge_hole(self):
        os.mkdir(self.path("tree"))
        with open(self.path("tree", "hole"), "wb") as out:
            try:
                out.truncate(1 << 40)
            except OSError as error:
                raise tap.Skip("no file can be this large here") from error
            out.seek(1 << 39)
            out.write(b"middle")
        image = self.pack(tree=self.path("tree"))
        self.assertEqual(self.listing(image)["hole"][2], str(1 << 40))
        self.assertEqual(self.info(image)["original_filesystem_size"], 1 << 40)
        self.assertLess(os.path.getsize(image), 100000)

    def test_names_are_bytes(self):
        os.mkdir(self.path("tree"))
        name = b"caf\xe9\x01\xff"
        with open(os.path.join(os.fsencode(self.path("tree")), name), "wb") as out:
            out.write(b"x")
        image = self.pack(tree=self.path("tree"))
        self.assertEqual(run("DWARFSCK", "-l", "--raw", image).raw, name + b"\n")
        self.assertEqual(run("DWARFSCK", "-l", image).raw, b"'caf'$'\\351\\001\\377'\n")
        self.assertEqual(run("DWARFSCK", "--checksum=md5", image).raw.split(b"  ", 1)[1],
                         name + b"\n")

    def test_specials(self):
        tree = self.tree()
        os.mkfifo(self.path("tree", "fifo"))
        self.assertNotIn("fifo", self.listing(self.pack(tree=tree)))
        self.assertEqual(self.listing(self.pack("--with-specials", tree=tree))["fifo"][0][0], "p")

    @unittest.skipUnless(IS_ROOT, "only root makes devices")
    def test_devices(self):
        tree = self.tree()
        try:
            os.mknod(self.path("tree", "null"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError as error:
            raise tap.Skip("devices cannot be made here") from error
        self.assertNotIn("null", self.listing(self.pack(tree=tree)))
        words = self.listing(self.pack("--with-devices", tree=tree))["null"]
        self.assertEqual((words[0][0], words[2]), ("c", "1,3"))

    def test_duplicates_and_hard_links(self):
        info = self.info(self.pack())
        self.assertEqual(info["inodes_by_type"], {"directories": 3, "files": 8, "symlinks": 1,
                                                  "devices": 0, "specials": 0})


class Unreadable(cli.Case):
    """As a user without permission to read everything."""

    def run_unprivileged(self, *arguments):
        options = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
        if IS_ROOT:
            os.chmod(self.dir, 0o777)
        return run("MKDWARFS", *arguments, **options)

    def test_unreadable_file(self):
        tree = self.tree()
        os.chmod(self.path("tree", "a.txt"), 0)
        result = self.run_unprivileged("-i", tree, "-o", self.path("x"), "-l1")
        self.expect(result, 2, "a.txt", "creating empty inode", "filesystem created with 1 error")
        self.expect(run("DWARFSCK", "-q", "--check-integrity", self.path("x")), 0)
        listing = self.listing(self.path("x"))
        self.assertEqual((listing["a.txt"][2], listing["sub/hard.txt"][2]), ("0", "0"))
        self.assertEqual(listing["same.txt"][2], "6000")
        result = self.run_unprivileged("-i", tree, "-o", self.path("y"), "-l1",
                                       "--log-level=error")
        self.expect(result, 2, "filesystem created with 1 error")

    def test_unreadable_directory(self):
        tree = self.tree()
        os.chmod(self.path("tree", "sub"), 0)
        result = self.run_unprivileged("-i", tree, "-o", self.path("x"), "-l1")
        os.chmod(self.path("tree", "sub"), 0o755)
        self.expect(result, 2, "sub", "filesystem created with")
        self.expect(run("DWARFSCK", "-q", "--check-integrity", self.path("x")), 0)
        self.assertIn("sub", self.listing(self.path("x")))

    def test_unreadable_root(self):
        tree = self.tree()
        os.chmod(tree, 0)
        result = self.run_unprivileged("-i", tree, "-o", self.path("x"), "-l1")
        os.chmod(tree, 0o755)
        self.expect(result, 1, "tree")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_output_not_writable(self):
        tree = self.tree()
        os.mkdir(self.path("out"), 0o555)
        result = self.run_unprivileged("-i", tree, "-o", self.path("out", "x"))
        self.expect(result, 1, "cannot open output file")


class Messages(cli.Case):
    def test_summary(self):
        result = run("MKDWARFS", "-i", self.tree(), "-o", self.path("x"), "-l1")
        self.expect(result, 0, "3 directories", "9 files", "1 of them a hard link",
                    "1 symbolic link", "1 duplicate", "blocks", "ratio", "processor time",
                    "peak memory")
        self.assertEqual(result.out, "")

    def test_log_level(self):
        tree = self.tree()
        for level in ("fatal", "error", "warn"):
            result = run("MKDWARFS", "-i", tree, "-o", self.path(level), "--log-level", level)
            self.assertEqual((result.code, result.out, result.err), (0, "", ""))
        info = run("MKDWARFS", "-i", tree, "-o", self.path("i"), "--log-level=info").err
        more = run("MKDWARFS", "-i", tree, "-o", self.path("v"), "--log-level=verbose").err
        self.assertGreater(len(more), len(info))

    def test_nothing_but_the_image_on_stdout(self):
        result = run("MKDWARFS", "-i", self.tree(), "-o", "-", "-l1", "--log-level=trace",
                     "--progress=ascii", "--no-history")
        self.assertEqual(result.raw[:6], b"DWARFS")
        with open(self.path("x"), "wb") as image:
            image.write(result.raw)
        self.expect(run("DWARFSCK", "-q", "--check-integrity", self.path("x")), 0)

    def on_terminal(self, *words, env=None):
        """What is drawn on a terminal that is stderr."""
        master, slave = tap.terminal()
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("tree"), "-o",
                               self.path("x"), "-f", "-l5", *words], stderr=slave,
                              env={**os.environ, **(env or {})}) as child:
            os.close(slave)
            seen = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:
                    break
                if not part:
                    break
                seen += part
            os.close(master)
            self.assertEqual(child.wait(60), 0)
        return seen.decode("utf-8")

    def test_progress_on_a_terminal(self):
        self.tree()
        self.write("tree/much", b"".join(b"%d\n" % i for i in range(30000)))
        drawn = self.on_terminal("--progress=ascii")
        self.assertRegex(drawn, r"\[[#-]+\] +\d+\.\d%")
        self.assertIn("\r\x1b[K", drawn)
        self.assertIn("\u2588", self.on_terminal("--progress=unicode"))
        self.assertRegex(self.on_terminal(env={"LC_ALL": "C"}), r"\[[#-]+\] +\d+\.\d%")
        for words in (["--no-progress"], ["--progress=none"], ["--progress=simple"]):
            self.assertNotIn("\x1b[K", self.on_terminal(*words))
        # The last thing on the terminal is the summary, not a bar.
        self.assertRegex(drawn.rstrip().splitlines()[-1], r"ratio")

    def test_bar_says_what_was_read_before_anything_is_compressed(self):
        """With one block of 64 MiB, nothing is compressed before all is read."""
        self.write("tree/much", tap.random_bytes(24 << 20))
        drawn = self.on_terminal("--progress=ascii", "-l9", "-C", "null")
        self.assertRegex(drawn, r"writing +\[-*\] +0\.0%  \S+ \S*B read")

    def test_interrupted_bar_leaves_no_trace(self):
        """The terminal adds ^C to the bar, and both are erased, which needs space in the line."""
        self.write("tree/much", tap.random_bytes(48 << 20))
        master, slave = tap.terminal()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("tree"), "-o",
                               self.path("y"), "-l9", "--progress=ascii"],
                              stderr=slave, stdout=subprocess.DEVNULL) as child:
            os.close(slave)
            seen, is_sent = b"", False
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:
                    break
                if not part:
                    break
                seen += part
                if b"writing" in seen and not is_sent:  # a second one would kill it
                    child.send_signal(signal.SIGINT)
                    is_sent = True
            os.close(master)
            self.assertEqual(child.wait(60), 1)
        lines = [line for line in seen.decode().split("\r") if line]
        bars = [line.removeprefix("\x1b[K") for line in lines if "%" in line]
        self.assertGreater(len(bars), 0)
        self.assertLessEqual(max(map(len, bars)), 57)
        self.assertIn("\x1b[Kmkdwarfs: interrupted: no image was made", lines)
        self.assertFalse(os.path.exists(self.path("y")))

    def test_no_bar_without_a_terminal(self):
        result = run("MKDWARFS", "-i", self.tree(), "-o", self.path("x"))
        self.assertNotIn("\x1b", result.err)
        self.assertNotIn("\r", result.err)


class Atomic(cli.Case):
    def interrupt(self, number, *words, files=2):
        """Send a signal in the middle of work that lasts for minutes: a terabyte of zeros,
        which is only compared if there are two files of that size, and packed if there is one.
        """
        os.mkdir(self.path("tree"))
        os.mkdir(self.path("out"))
        for name in range(files):
            with open(self.path("tree", f"hole{name}"), "wb") as out:
                try:
                    out.truncate(1 << 40)
                except OSError as error:
                    raise tap.Skip("no file can be this large here") from error
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("tree"), "-l", "1",
                               "--no-sparse-files", "--no-progress", "-o", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: resource.setrlimit(
                                  resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))) as child:
            try:
                self.wait_for_handler(child, number)
                self.wait_until_it_reads(child, written=files == 1)
                child.send_signal(number)
                _, err = child.communicate(timeout=20)
            finally:
                child.kill()
        self.assertEqual(child.returncode, 1, err)
        self.assertIn(b"interrupted", err)

    def wait_until_it_reads(self, child, written):
        """Wait until a file of the tree is open, and optionally a part of the image is written."""
        until = time.monotonic() + 30
        table = f"/proc/{child.pid}/fd"
        while time.monotonic() < until:
            self.assertIsNone(child.poll(), "it ended before its time")
            reading = writing = False
            for name in os.listdir(table):
                try:
                    path = os.readlink(os.path.join(table, name))
                    size = os.stat(os.path.join(table, name)).st_size
                except OSError:  # closed meanwhile
                    continue
                reading |= path.startswith(self.path("tree", "hole"))
                writing |= path.startswith(self.path("out")) and size > 0
            if reading and (writing or not written):
                return
            time.sleep(0.01)
        self.fail("it does not begin")

    def test_sigint_leaves_nothing(self):
        self.interrupt(signal.SIGINT, self.path("out", "x"))
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_sigterm_leaves_nothing(self):
        self.interrupt(signal.SIGTERM, self.path("out", "x"))
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_signal_while_writing_leaves_nothing(self):
        absent.need("lz4")  # uncompressed data would soon fill a disk
        self.interrupt(signal.SIGTERM, self.path("out", "x"), files=1)
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_sigint_keeps_the_old_image(self):
        self.write("old", b"old image")
        self.interrupt(signal.SIGINT, self.path("old"), "-f")
        with open(self.path("old"), "rb") as old:
            self.assertEqual(old.read(), b"old image")
        self.assertEqual(sorted(os.listdir(self.dir)), ["old", "out", "tree"])

    @unittest.skipUnless(IS_ROOT, "only root can mount")
    def test_full_disk(self):
        self.write("tree/noise", tap.random_bytes(1 << 20))
        os.mkdir(self.path("small"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none",
                                  self.path("small")], stderr=subprocess.DEVNULL, check=False)
        if mounted.returncode:
            raise tap.Skip("nothing can be mounted here")
        try:
            result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("small", "x"))
            self.expect(result, 1, "No space left on device")
            self.assertEqual(os.listdir(self.path("small")), [])
            with open(self.path("small", "x"), "wb") as out:
                result = run("MKDWARFS", "-i", self.path("tree"), "-o", "-", stdout=out)
            self.expect(result, 1, "No space left on device")
        finally:
            subprocess.run(["umount", self.path("small")], check=True)

    def test_limit_of_file_sizes(self):
        self.write("tree/noise", tap.random_bytes(1 << 20))
        os.mkdir(self.path("out"))
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("out", "x"),
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                           (100000, 100000)))
        self.expect(result, 1, "File too large")
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_dev_full(self):
        if not os.path.exists("/dev/full"):
            raise tap.Skip("no /dev/full")
        self.expect(run("MKDWARFS", "-i", self.tree(), "-o", "/dev/full", "-f"), 1,
                    "No space left on device")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_dev_null(self):
        self.expect(run("MKDWARFS", "-i", self.tree(), "-o", "/dev/null", "-f"), 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))


if __name__ == "__main__":
    cli.main()
