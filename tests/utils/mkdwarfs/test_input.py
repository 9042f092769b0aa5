#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Input of mkdwarfs: lists of paths, rules, equal files, holes, and unreadable files."""
import hashlib
import os
import resource
import stat
import subprocess
import unittest

import cli
from cli import run
import tap

IS_ROOT = os.geteuid() == 0


class Inputs(cli.Case):
    def small(self):
        """a/1 a/2 a/deep/3 b/4 c/ top"""
        for name in ("a/1", "a/2", "a/deep/3", "b/4", "top"):
            self.write("tree/" + name, name.encode() * 50)
        os.makedirs(self.path("tree", "c", "d"))
        return self.path("tree")

    def names(self, image):
        return run("DWARFSCK", "-l", image).out.splitlines()

    def stored_order(self, image):
        lines = run("DWARFSCK", "--checksum=xxh3-64", "-n", "1", image).out.splitlines()
        return [line.split("  ", 1)[1] for line in lines]


class Lists(Inputs):
    def pack_list(self, lines, *words, root=None, code=0, **options):
        """From a file and from standard input: the same."""
        text = "".join(line + "\n" for line in lines)
        path = self.write("list", text.encode())
        images = []
        for number, source in enumerate((path, "-")):
            image = self.path(f"listed {number}")
            inputs = ["-i", root] if root else []
            result = run("MKDWARFS", *inputs, "--input-list", source, "-o", image, "-f", "-l1",
                         "--no-create-timestamp", "--no-history", *words,
                         **({"stdin": None, "input": text.encode()} if source == "-" else {}),
                         **options)
            self.expect(result, code)
            with open(image, "rb") as made:
                images.append(made.read())
        self.assertEqual(*images)
        return image, result

    def test_paths_of_every_form(self):
        root = self.small()
        image, result = self.pack_list(["a/1", "./b/4", os.path.join(root, "a/deep/3"), "", "c"],
                                       root=root)
        self.assertEqual(self.names(image), ["a", "a/1", "a/deep", "a/deep/3", "b", "b/4", "c"])
        self.assertNotIn("warning", result.err)

    def test_current_directory_is_the_default(self):
        image, _ = self.pack_list(["a/2", "top"], cwd=self.small())
        self.assertEqual(self.names(image), ["a", "a/2", "top"])

    def test_order_of_the_list(self):
        root = self.small()
        lines = ["top", "b/4", "a/deep/3", "a/1", "a/2"]
        image, _ = self.pack_list(lines, "--order=none", root=root)
        self.assertEqual(self.stored_order(image), lines)

    def test_duplicates(self):
        image, result = self.pack_list(["a/1", "./a/1", "b/4"], root=self.small())
        self.assertIn("skipping duplicate entry", result.err)
        self.assertIn("a/1", result.err)
        self.assertEqual(self.names(image), ["a", "a/1", "b", "b/4"])

    def test_not_below_the_input(self):
        root = self.small()
        for outside in ("/etc/passwd", root + "x/y", os.path.dirname(root)):
            image, result = self.pack_list([outside, "b/4"], root=root, code=2)
            self.assertIn(f"ignoring path '{outside}' not below input path", result.err)
            self.assertEqual(self.names(image), ["b", "b/4"])

    def test_absolute_paths_with_a_relative_input_or_none(self):
        root = self.small()
        lines = [os.path.join(root, "a/1"), "b/4", root]
        for where, cwd in (("tree", self.dir), (".", root), (None, root)):
            image, result = self.pack_list(lines, root=where, cwd=cwd)
            self.assertEqual(self.names(image), ["a", "a/1", "b", "b/4"])
            self.assertNotIn("ignoring", result.err)
        _, result = self.pack_list(lines + [self.dir], cwd=root, code=2)
        self.assertIn(f"ignoring path '{self.dir}' not below input path", result.err)

    def test_missing_entries_are_reported(self):
        root = self.small()
        image, result = self.pack_list(["b/4", "a/gone"], root=root, code=2)
        self.assertIn("a/gone", result.err)
        self.assertIn("b/4", self.names(image))

    def test_whoever_names_it_wants_it(self):
        root = self.small()
        os.mkfifo(os.path.join(root, "fifo"))
        image, _ = self.pack_list(["fifo"], root=root)
        self.assertEqual(self.names(image), ["fifo"])


    def test_lists_of_windows(self):
        """A CR is part of a name, unless all lines end with one."""
        root = self.small()
        self.write("tree/odd\r")
        image, _ = self.pack_list(["a/1\r", "\r", "b/4\r"], root=root)
        self.assertEqual(self.names(image), ["a", "a/1", "b", "b/4"])
        image, _ = self.pack_list(["odd\r", "b/4"], root=root)
        self.assertEqual(len(self.names(image)), 3)

    def test_lists_that_cannot_be_read(self):
        root = self.small()
        listed = self.write("list", b"a/1\nb/4\na\0b\n")
        for words, text in (
                (["-i", root, "--input-list", listed], "line 3 contains a NUL"),
                (["-i", root, "--input-list", root], "Is a directory"),
                (["-i", self.path("missing"), "--input-list", listed],
                 "/missing' must be a directory: No such file or directory"),
                (["-i", root, "--input-list", listed, "--prefix=p"],
                 "--input-list excludes --prefix")):
            result = run("MKDWARFS", *words, "-o", self.path("x"))
            self.expect(result, 1, text)


class Rules(Inputs):
    def shown(self, *words, code=0):
        result = run("MKDWARFS", "-i", self.path("tree"), *words)
        self.expect(result, code)
        return result.out.splitlines()

    def both(self, *rules):
        """The entries of an image agree with the output of --debug-filter."""
        words = [word for rule in rules for word in ("-F", rule)]
        names = self.names(self.pack(*words, tree=self.path("tree")))
        shown = self.shown("--debug-filter=included", *words)
        root = self.path("tree") + "/"
        told = {line[len(root):].rstrip("/") for line in shown if line != root}
        self.assertEqual(set(names), told)
        return names

    def test_rules(self):
        self.small()
        everything = ["a", "a/1", "a/2", "a/deep", "a/deep/3", "b", "b/4", "c", "c/d", "top"]
        self.assertEqual(self.both(), everything)
        for rules, names in (
                (["- 1"], [n for n in everything if n != "a/1"]),
                (["- /top"], everything[:-1]),
                (["- /1"], everything),
                (["- deep/"], [n for n in everything if "deep" not in n]),
                (["- top/"], everything),
                (["- deep"], everything),
                (["- /a/*"], ["a", "a/deep", "a/deep/3", "b", "b/4", "c", "c/d", "top"]),
                (["- /a/*", "- /a/*/"], ["a", "b", "b/4", "c", "c/d", "top"]),
                (["- [24]"], [n for n in everything if n[-1] not in "24"]),
                (["- [!24]"], [n for n in everything if n not in ("a/1", "a/deep/3")]),
                (["- ?"], ["a", "a/deep", "b", "c", "c/d", "top"]),
                (["- TOP"], everything),
                (["-i TOP"], everything[:-1]),
                (["+ /a/1", "- *"], ["a", "a/1", "a/deep", "b", "c", "c/d"]),
                (["+ b/", "- /*/"], ["b", "b/4", "top"]),
                (["- a/**"], ["b", "b/4", "c", "c/d", "top"]),
                (["- a/**/"], ["a", "a/1", "a/2", "b", "b/4", "c", "c/d", "top"]),
                (["- **"], []),
                (["+ /a/**", "- */"], ["a", "a/1", "a/2", "a/deep", "a/deep/3", "top"]),
                (["- {1,top}"], [n for n in everything if n not in ("a/1", "top")]),
                (["- [[:digit:]]"], [n for n in everything if n[-1] not in "1234"]),
                (["- [^[:alpha:]]"], [n for n in everything if n[-1] not in "1234"])):
            with self.subTest(rules=rules):
                self.assertEqual(self.both(*rules), names)

    def test_first_match_counts(self):
        self.small()
        self.assertIn("a/1", self.both("+ 1", "- 1"))
        self.assertNotIn("a/1", self.both("- 1", "+ 1"))

    def test_rules_from_files(self):
        self.small()
        inner = self.write("inner", b"- 2\n")
        rules = self.write("rules", f"# a comment\n\n- 1\n. {inner}\n".encode())
        names = self.both(". " + rules)
        self.assertNotIn("a/1", names)
        self.assertNotIn("a/2", names)
        self.assertIn("b/4", names)

    def test_files_that_read_each_other(self):
        self.small()
        rules = self.path("rules")
        self.write("rules", f". {rules}\n".encode())
        self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "-F",
                        ". " + rules), 1, "recursion")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_missing_file_of_rules(self):
        self.small()
        missing = self.path("missing")
        self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "-F",
                        ". " + missing), 1, missing)

    def test_debug_filter_is_exact(self):
        self.small()
        root = os.path.realpath(self.path("tree"))
        rules = ["-F", "- deep/", "-F", "- /a/1"]
        entries = [("+", "a/"), ("-", "a/1"), ("+", "a/2"), ("-", "a/deep/"), ("+", "b/"),
                   ("+", "b/4"), ("+", "c/"), ("+", "c/d/"), ("+", "top")]
        wanted = {
            "all": [f"{sign} {root}/{name}" for sign, name in entries],
            "files": [f"{sign} {root}/{name}" for sign, name in entries if name[-1] != "/"],
            "included": [f"{root}/{name}" for sign, name in entries if sign == "+"],
            "included-files": [f"{root}/{name}" for sign, name in entries
                               if sign == "+" and name[-1] != "/"],
            "excluded": [f"{root}/{name}" for sign, name in entries if sign == "-"],
            "excluded-files": [f"{root}/{name}" for sign, name in entries
                               if sign == "-" and name[-1] != "/"],
        }
        for mode, lines in wanted.items():
            with self.subTest(mode=mode):
                self.assertEqual(sorted(self.shown(f"--debug-filter={mode}", *rules)),
                                 sorted(lines))
        self.assertEqual(sorted(self.shown("--debug-filter", *rules)), sorted(wanted["all"]))
        result = run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "--debug-filter")
        self.expect(result, 0)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_remove_empty_directories(self):
        self.small()
        names = self.names(self.pack("--remove-empty-dirs", tree=self.path("tree")))
        self.assertNotIn("c", names)
        self.assertIn("b/4", names)
        names = self.names(self.pack("--remove-empty-dirs", "-F", "- 3", tree=self.path("tree")))
        self.assertNotIn("a/deep", names)
        self.assertIn("a/1", names)


class Contents(Inputs):
    on_disk = True

    def test_every_file_hash(self):
        tree = self.tree()
        sizes = {}
        words = ["--no-create-timestamp", "--no-history", "-C", "null", "-W", "0"]
        told = run("DWARFSCK", "--help").out.split("Checksum algorithms:")[1].split()
        self.assertLessEqual({"xxh3-64", "xxh3-128", "sha512-256"}, set(told))
        for name in (*told, "none"):
            image = self.pack(*words, f"--file-hash={name}", tree=tree)
            self.expect(run("DWARFSCK", "-q", "--check-integrity", image), 0)
            sizes[name] = sum(s["size"] for s in self.info(image)["sections"]
                              if s["type"] == "BLOCK")
        self.assertEqual(len({sizes[name] for name in sizes if name != "none"}), 1)
        self.assertEqual(sizes["none"], sizes["md5"] + 6000)

    def test_link_count_is_by_device_and_inode(self):
        if not IS_ROOT:
            raise tap.Skip("only root can mount")
        for name in ("one", "two"):
            os.makedirs(self.path("tree", name))
            if subprocess.run(["mount", "-t", "tmpfs", "none", self.path("tree", name)],
                              stderr=subprocess.DEVNULL, check=False).returncode:
                raise tap.Skip("nothing can be mounted here")
            self.addCleanup(subprocess.run, ["umount", self.path("tree", name)], check=True)
            self.write(f"tree/{name}/file", name.encode() * 100)
            os.link(self.path("tree", name, "file"), self.path("tree", name, "again"))
        same = {os.stat(self.path("tree", name, "file")).st_ino for name in ("one", "two")}
        self.assertEqual(len(same), 1, "the test needs two files with one number")
        image = self.pack(tree=self.path("tree"))
        lines = run("DWARFSCK", "--checksum=sha256", image).out.splitlines()
        for name in ("one", "two"):
            wanted = hashlib.sha256(name.encode() * 100).hexdigest()
            for file in ("file", "again"):
                self.assertIn(f"{wanted}  {name}/{file}", lines)
        self.assertEqual(self.info(image)["inodes_by_type"]["files"], 2)

    def test_hollow(self):
        tree = self.tree()
        image = self.pack("--hollow", tree=tree)
        info = self.info(image)
        self.assertEqual(info["block_count"], 0)
        full = self.listing(self.pack("--no-progress", tree=tree))
        hollow = self.listing(self.pack("--hollow", tree=tree))
        self.assertEqual({path: words[:5] for path, words in hollow.items()},
                         {path: words[:5] for path, words in full.items()})
        digests = dict(reversed(line.split("  ", 1)) for line in run(
            "DWARFSCK", "--checksum=sha256", image).out.splitlines())
        self.assertEqual(digests["a.txt"], hashlib.sha256(bytes(6000)).hexdigest())

    def test_thousand_holes(self):
        os.mkdir(self.path("tree"))
        with open(self.path("tree", "holes"), "wb") as out:
            out.truncate(64 << 20)
            for number in range(1000):
                out.seek(number * 65536 + number * 17 % 61000)
                out.write(b"%d" % number)
        with open(self.path("tree", "holes"), "rb") as file:
            wanted = hashlib.sha256(file.read()).hexdigest()
        for bits in ("10", "16", "25"):
            image = self.pack("-S", bits, tree=self.path("tree"))
            self.assertEqual(run("DWARFSCK", "--checksum=sha256", image).out, f"{wanted}  holes\n")
            self.assertLess(os.path.getsize(image), 2 << 20)


class Trouble(Inputs):
    """As a user without permission for everything: the image is made, with errors reported."""

    OPTIONS = ([], ["--categorize"], ["-l", "3"], ["-l", "0"], ["--file-hash=none"],
               ["--order=nilsimsa"], ["--order=similarity", "-W", "10"],
               ["--categorize=incompressible", "--incompressible-fragments"], ["-S", "12"],
               ["-N", "0"], ["--no-sparse-files"])

    def pack_unprivileged(self, *words):
        options = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
        if IS_ROOT:
            os.chmod(self.dir, 0o777)
        return run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("x"), "-f", *words,
                   **options)

    def test_unreadable_files_for_all_sets_of_options(self):
        self.tree()
        self.write("tree/secret", b"first\n" * 1000, 0)
        os.link(self.path("tree", "secret"), self.path("tree", "sub", "secret too"))
        self.write("tree/sub/noise too", tap.random_bytes(50000), 0)
        wanted = {}
        for folder, _, files in os.walk(self.path("tree")):
            for name in files:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    continue
                with open(path, "rb") as file:
                    contents = b"" if not stat.S_IMODE(os.stat(path).st_mode) else file.read()
                wanted[os.path.relpath(path, self.path("tree"))] = \
                    hashlib.sha256(contents).hexdigest()
        for words in self.OPTIONS:
            with self.subTest(words=words):
                result = self.pack_unprivileged("-l1", *words)
                self.expect(result, 2, "creating empty inode", "filesystem created with 2 errors")
                self.expect(run("DWARFSCK", "-q", "--check-integrity", self.path("x")), 0)
                lines = run("DWARFSCK", "--checksum=sha256", self.path("x")).out.splitlines()
                found = {}
                for line in lines:
                    digest, path = line.split("  ", 1)
                    found[path.replace("\\n", "\n").replace("\\\\", "\\")
                          if line[0] == "\\" else path] = digest.lstrip("\\")
                self.assertEqual(found, wanted)
        listing = self.listing(self.path("x"))
        self.assertEqual((listing["secret"][2], listing["sub/secret too"][2]), ("0", "0"))

    def test_files_that_change_while_they_are_read(self):
        """While the run waits after the scan: its first block waits for a reader."""
        names = ("changes", "grows", "is replaced", "shrinks", "vanishes")
        self.write("tree/a noise", tap.random_bytes(8 << 20))
        for name in (*names, "stays"):
            self.write("tree/" + name, name.encode() * 100000)
        self.write("tree/vanishes too", b"stays" * 100000)  # stored with its equal file
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", self.path("tree"), "-o",
                               self.path("pipe"), "-f", "-l0", "-S16", "-N1", "--order=path",
                               "-W0"], stderr=subprocess.PIPE) as child:
            pipe = os.open(self.path("pipe"), os.O_RDONLY)
            image = os.read(pipe, 65536)
            with open(self.path("tree", "changes"), "r+b") as file:
                file.seek(300000)
                file.write(b"other")
            with open(self.path("tree", "grows"), "ab") as file:
                file.write(b"more")
            os.rename(self.write("other", b"other" * 100000), self.path("tree", "is replaced"))
            os.truncate(self.path("tree", "shrinks"), 100000)
            os.unlink(self.path("tree", "vanishes"))
            os.unlink(self.path("tree", "vanishes too"))
            while part := os.read(pipe, 1 << 20):
                image += part
            os.close(pipe)
            err = child.stderr.read().decode()
            self.assertEqual(child.wait(60), 2, err)
        for name in names:
            self.assertRegex(err, rf"(?m)^mkdwarfs: .*\b{name}'")
        self.assertNotIn("too", err)
        self.assertIn("filesystem created with 5 errors", err)
        made = self.write("made", image)
        self.expect(run("DWARFSCK", "-q", "--check-integrity", made), 0)
        told = run("DWARFSCK", "--checksum=sha256", made).out
        digest = hashlib.sha256(b"stays" * 100000).hexdigest()
        self.assertIn(f"{digest}  stays\n", told)
        self.assertIn(f"{digest}  vanishes too\n", told)
        self.assertEqual(len(told.splitlines()), 8)


@unittest.skipUnless(cli.IS_NATIVE, "others use descriptors, too")
class Descriptors(Inputs):
    """With few descriptors the image is the same, or none is made, and an old one is kept."""
    QUIET = ("-l1", "--no-create-timestamp", "--no-history")

    def setUp(self):
        super().setUp()
        for number in range(300):
            self.write(f"tree/{number % 20}/{number % 60}/{number}/file",
                       tap.random_bytes(2000 + number % 250))
            self.write(f"tree/{number % 20}/{number % 60}/large {number}",
                       b"large %d" % (number % 290) * 10000)
        os.mkdir(self.path("empty"))
        self.expect(run("MKDWARFS", "-i", self.path("empty"), "-o", self.path("e.dwarfs"), "-l1"),
                    0)

    def pack(self, limit, *words):
        return run("MKDWARFS", *self.QUIET, *words, "-o", self.path("image"), "-f",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))

    def image(self):
        with open(self.path("image"), "rb") as file:
            return file.read()

    def check(self, *inputs):
        words = [word for name in inputs for word in ("-i", self.path(name))]
        for workers in ("-N0", "--num-scanner-workers=0"), ("-N2",), ("-N9",):
            self.expect(self.pack(500, *words, *workers), 0)
            made = self.image()
            self.write("image", b"an older file")
            for limit in range(5, 12):
                result = self.pack(limit, *words, *workers)
                self.assertNotIn("storing it empty", result.err)
                self.assertNotIn("creating empty inode", result.err)
                if result.code == 0:
                    self.assertEqual(self.image(), made)
                    self.write("image", b"an older file")
                    continue
                self.expect(result, 1)
                self.assertRegex(result.err, "Too many open files|No file descriptors available")
                self.assertEqual(self.image(), b"an older file")
            for limit in (16, 48, 64):
                self.expect(self.pack(limit, *words, *workers), 0)
                self.assertEqual(self.image(), made)

    def test_a_directory(self):
        self.check("tree")

    def test_a_directory_and_an_image(self):
        self.check("e.dwarfs", "tree")

    def test_images(self):
        self.expect(run("MKDWARFS", "-i", self.path("tree"), "-o", self.path("t.dwarfs"), "-l1"),
                    0)
        self.check("e.dwarfs", "t.dwarfs")

    def test_categories_and_orders(self):
        """Files are read several times."""
        words = ("-i", self.path("tree"), "-l3", "--categorize", "-N3")
        self.expect(self.pack(500, *words), 0)
        made = self.image()
        self.expect(self.pack(16, *words), 0)
        self.assertEqual(self.image(), made)

    def test_a_list(self):
        names = [f"{number % 20}/{number % 60}/{number}/file\n" for number in range(300)]
        self.write("list", "".join(names).encode())
        words = ("-i", self.path("tree"), "--input-list", self.path("list"))
        self.expect(self.pack(500, *words), 0)
        made = self.image()
        self.expect(self.pack(16, *words), 0)
        self.assertEqual(self.image(), made)


if __name__ == "__main__":
    cli.main()
