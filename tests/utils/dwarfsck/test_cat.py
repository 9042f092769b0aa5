#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsck --cat: contents of files, as cat writes them."""
import os

import cli
from cli import run
import tap

LOCALE = {**os.environ, "LC_ALL": "C"}


class Cat(cli.Case):
    def linked(self):
        """A tree with links to several targets."""
        self.write("tree/dir/file", b"contents\n")
        self.write("tree/other", b"other\n")
        self.write("tree/empty")
        for name, target in (("dir/up", "../other"), ("absolute", "/dir/file"),
                             ("out", "../../../../dir/../dir/file"), ("to dir", "dir/."),
                             ("chain", "to dir/up"), ("nowhere", "gone"), ("loop", "round"),
                             ("round", "loop"), ("slash", "dir/")):
            os.symlink(target, self.path("tree", name))
        os.mkfifo(self.path("tree", "fifo"))
        return self.pack("--with-specials", tree=self.path("tree"))

    def cat(self, *words, code=0, **options):
        return self.expect(run("DWARFSCK", *words, env=LOCALE, **options), code)

    def test_files(self):
        tree = self.tree()
        image = self.pack(tree=tree)
        for name in ("a.txt", "empty", "sub/c.bin", "sub/odd \\ name\n.txt", "sub/noise", "hole"):
            with open(os.path.join(tree, name), "rb") as source:
                wanted = source.read()
            for path in (name, "/" + name, "./" + name, "sub/../" + name):
                self.assertEqual(self.cat(image, "--cat", path).raw, wanted, path)
                self.assertEqual(self.cat("--cat=" + path, "-i", image).raw, wanted, path)

    def test_a_large_file(self):
        contents = b"".join(b"%d\n" % number for number in range(900000))
        self.write("tree/large", contents)
        image = self.pack(tree=self.path("tree"))
        for words in ([], ["-s", "100k"], ["-n", "0"]):
            self.assertEqual(self.cat(image, "--cat", "large", *words).raw, contents)

    def test_several(self):
        image = self.linked()
        wanted = b"contents\nother\ncontents\n"
        self.assertEqual(self.cat(image, "--cat", "dir/file", "--cat", "other", "--cat",
                                  "dir/file").raw, wanted)
        self.assertEqual(self.cat(image, "--cat", "dir/file", "other", "dir/file").raw, wanted)

    def test_links(self):
        image = self.linked()
        for path, wanted in (("dir/up", b"other\n"), ("absolute", b"contents\n"),
                             ("out", b"contents\n"), ("to dir/file", b"contents\n"),
                             ("chain", b"other\n"), ("slash/file", b"contents\n"),
                             ("to dir/../other", b"other\n"), ("slash/../empty", b"")):
            self.assertEqual(self.cat(image, "--cat", path).raw, wanted, path)

    def test_what_has_no_contents(self):
        image = self.linked()
        for path, text in (("", "is a directory"), ("dir", "is a directory"),
                           ("slash", "is a directory"), ("nowhere", "gone"), ("gone", "gone"),
                           ("dir/file/x", "dir/file/x"), ("fifo", "fifo"),
                           ("loop", "symbolic links"), ("x" * 300, "xxx")):
            result = self.cat(image, "--cat", path, code=1)
            self.assertIn(text, result.err)
            self.assertEqual(result.out, "")

    def test_the_rest_is_written(self):
        image = self.linked()
        result = self.cat(image, "--cat", "other", "gone", "dir", "dir/file", code=1)
        self.assertEqual(result.out, "other\ncontents\n")
        self.assertEqual(len(result.err.splitlines()), 2)

    def test_damage_is_not_written(self):
        image = self.pack()
        with open(image, "rb") as made:
            contents = bytearray(made.read())
        for section in self.info(image)["sections"]:
            if section["type"] == "BLOCK":
                contents[section["offset"] + 64 + section["compressed_size"] // 2] ^= 1
        damaged = self.write("damaged", bytes(contents))
        result = self.cat(damaged, "--cat", "a.txt", code=1)
        self.assertEqual(result.out, "")
        self.assertIn("a.txt", result.err)

    def test_full_output(self):
        if not os.path.exists("/dev/full"):
            raise tap.Skip("no /dev/full")
        image = self.pack()
        with open("/dev/full", "wb") as full:
            result = self.cat(image, "--cat", "a.txt", "sub/c.bin", code=1, stdout=full)
        self.assertEqual(result.err.count("cannot write to standard output"), 1)

    def test_not_with_others(self):
        image = self.pack()
        for word in ("-l", "--json", "--checksum=md5", "--diff"):
            self.assertNotEqual(run("DWARFSCK", image, "--cat", "a.txt", word).code, 0)


if __name__ == "__main__":
    cli.main()
