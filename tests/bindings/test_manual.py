# SPDX-License-Identifier: MIT
"""The manual of the Python package, made by a script: test_manual.py SCRIPT"""
import html
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import dwarfs
import dwarfs.distributed

SCRIPT = sys.argv.pop(1)


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="dwarfs-manual-") as folder:
            output = pathlib.Path(folder, "manual.html")
            subprocess.run([sys.executable, SCRIPT, output], check=True)
            cls.page = output.read_text("utf-8")
        cls.text = html.unescape(re.sub("<[^>]*>", "", cls.page))

    def test_each_public_name_is_there_once(self):
        names = re.findall('<h3 id="([^"]*)">', self.page)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({f"dwarfs.{name}" for name in dwarfs.__all__},
                         {name for name in names if name.count(".") == 1})
        self.assertEqual({f"dwarfs.distributed.{name}" for name in dwarfs.distributed.__all__},
                         {name for name in names if re.fullmatch(r"dwarfs\.distributed\.\w+", name)})
        for target in re.findall('href="#([^"]*)"', self.page):
            self.assertIn(target, names)

    def test_signatures_and_docstrings(self):
        self.assertIn('open(source: Source, *, offset: int | None = None', self.text)
        self.assertIn("walk(self, order: str = 'tree') -> Walk", self.text)
        for thing in dwarfs.pack, dwarfs.Path.glob, dwarfs.Image.content_id, dwarfs.distributed:
            self.assertIn(thing.__doc__.split("\n", 1)[0], self.text)

    def test_modules_that_need_packages(self):
        for name, package, word in (("dwarfs.fsspec", "fsspec", "DwarfsFileSystem"),
                                    ("dwarfs.ratarmount", "ratarmountcore", "DwarfsMountSource")):
            try:
                importlib.import_module(name)
            except ImportError:
                self.assertIn(f"No module named '{package}'", self.text)
            else:
                self.assertIn(f'id="{name}.{word}"', self.page)
            self.assertIn(f"<h1 id=\"{name}\"", self.page)

    def test_nothing_of_this_machine(self):
        self.assertNotIn(os.path.dirname(dwarfs.__file__), self.page)
        self.assertNotRegex(self.page, "at 0x[0-9a-f]+")


if __name__ == "__main__":
    unittest.main()
