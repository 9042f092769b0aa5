#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An entry whose name or place cannot be right costs this entry: it is reported, the exit status
is 1, and all others are listed, read and compared."""
import json
import os
import subprocess

import cli
from cli import run
import tap

LOCALE = {**os.environ, "LC_ALL": "C"}
TREE = ["0 l a target", "0 d b 1", "0 f c d10", "0 f d d20", "0 p e -", "1 f f d5", "1 d sub 2",
        "2 f g d3"]
PATHS = ["a", "b", "b/f", "b/sub", "b/sub/g", "c", "d", "e"]
FILES = {"b/f": 5, "b/sub/g": 3, "c": 10, "d": 20}

# A changed line; what it is called; what is lost.
BROKEN = [("0 f c d10", "0 f x%2fy d10", "?", ["c"]),
          ("0 f c d10", "0 f .. d10", "?", ["c"]),
          ("0 f c d10", "0 f " + "n" * 256 + " d10", "?", ["c"]),
          ("1 d sub 2", "1 d sub 1", "b/sub", ["b/sub", "b/sub/g"]),
          ("1 d sub 2", "1 d sub 0", "b/sub", ["b/sub", "b/sub/g"])]


class Damaged(cli.Case):
    def image(self, lines, name="image"):
        path = self.path(name)
        subprocess.run([tap.tool("CRAFT_TREE"), path], input="".join(f"{line}\n" for line in lines),
                       text=True, check=True)
        return path

    def broken(self):
        for old, new, shown, lost in BROKEN:
            lines = [new if line == old else line for line in TREE]
            if "b/sub" in lost:
                lines.remove("2 f g d3")
            with self.subTest(line=new[:20]):
                yield self.image(lines), f"dwarfsck: {shown}: metadata: ", lost

    def ask(self, *words, code=1):
        return self.expect(run("DWARFSCK", *words, env=LOCALE), code)

    def test_lists(self):
        for image, message, lost in self.broken():
            paths = [path for path in PATHS if path not in lost]
            result = self.ask("-l", image)
            self.assertEqual(result.out.splitlines(), paths)
            self.assertIn(message, result.err)
            result = self.ask("-lv", image)
            self.assertEqual([line.split()[5] for line in result.out.splitlines()], paths)
            self.assertIn(message, result.err)
            result = self.ask("-lj", image)
            self.assertEqual([entry["path"] for entry in json.loads(result.out)["entries"]], paths)
            self.assertIn(message, result.err)
            result = self.ask("-d5", image)
            for path in paths:
                self.assertRegex(result.out, rf"(?m)\b{os.path.basename(path)}\b")
            self.assertIn(message, result.err)

    def test_contents(self):
        for image, message, lost in self.broken():
            files = [path for path in FILES if path not in lost]
            result = self.ask("--checksum=md5", image)
            self.assertEqual(sorted(line.split()[1] for line in result.out.splitlines()), files)
            self.assertIn(message, result.err)
            for path in files:
                self.assertEqual(len(self.ask("--cat", path, image, code=0).raw), FILES[path])

    def test_diff(self):
        whole = self.image(TREE, "whole")
        for image, message, lost in self.broken():
            result = self.ask("--diff", image, whole, code=2)
            shown = message.split(": ")[1]
            self.assertIn(f"dwarfsck: {image}: '{shown}': metadata: ", result.err)
            self.assertEqual(result.out.splitlines(),
                             [f"+ {path}" for path in lost if path != shown])

    def test_a_directory_that_cannot_be_entered(self):
        image, whole = self.image([*TREE[:-1], "range 2 60"]), self.image(TREE, "whole")
        reason = "metadata: directory 1 has impossible entries"
        result = self.ask("-lj", image)
        self.assertEqual([entry["path"] for entry in json.loads(result.out)["entries"]],
                         ["a", "c", "d", "e"])
        self.assertIn(f"dwarfsck: b: {reason}", result.err)
        self.assertIn("<inode 5> -rw-r--r-- d [20]", self.ask("-d5", image).out)
        result = self.ask("--diff", image, whole, code=2)
        self.assertIn(f"dwarfsck: {image}: 'b': {reason}", result.err)
        self.assertNotIn("several", result.err)
        self.assertEqual(result.out.splitlines(), ["+ b/f", "+ b/sub", "+ b/sub/g"])

    def test_directories_that_share_entries(self):
        """Each step of the walk is an error at last, and there are few."""
        count = 60
        lines = [f"0 d n{number:03} {number}" for number in range(1, count + 1)]
        lines += [f"range {number} {count + 1 if number % 2 else 1}"
                  for number in range(1, count + 1)]
        image = self.image(lines)
        result = self.expect(run("DWARFSCK", "--salvage", image, env=LOCALE, timeout=60), 1)
        self.assertLess(result.err.count("an entry is lost"), 5 * count)

    def test_names_out_of_order(self):
        """Each name is found, and names that do not exist are not."""
        for lines in (["0 f b d1", "0 f a d2", "0 f d d3", "0 f c d4"],
                      [f"0 f n{number * 7 % 1000:04} d{number + 1}" for number in range(1000)]):
            image = self.image(lines)
            self.assertEqual(len(self.ask("-l", image).out.splitlines()), len(lines))
            some = lines if len(lines) < 10 else lines[::101]
            for line in some:
                name, size = line.split()[2:]
                self.assertEqual(len(self.ask("--cat", name, image, code=0).raw), int(size[1:]))
            self.assertIn("does not exist", self.ask("--cat", "bb", image).err)


if __name__ == "__main__":
    cli.main()
