# SPDX-License-Identifier: MIT
"""Static types of the Python package; needs mypy."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import dwarfs


class Typing(unittest.TestCase):
    PROGRAM = """
import io
from typing import BinaryIO, IO, TextIO
import dwarfs

def binary(file: BinaryIO) -> bytes:
    return file.read()

def text(file: TextIO) -> str:
    return file.read()

with dwarfs.open("x.dwarfs") as image:
    path: dwarfs.Path = image / "a"
    binary(path.open("rb"))
    binary(path.open("rb", 0))
    binary(path.open("rb", 4096))
    text(path.open())
    text(path.open("r", encoding="utf-8"))
    file: dwarfs.File = path.open("rb", 0)
    buffered: io.BufferedReader = path.open("rb")
    mode: str = "rb"
    some: IO[bytes] = path.open(mode)
    largest: dwarfs.Path = max(path, image / "b")
    ordered: bool = path <= largest and path >= image.root and not path > largest
"""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-typing-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def test_mypy_accepts_the_package_and_its_users(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        program = self.dir / "program.py"
        program.write_text(self.PROGRAM)
        # A copy: mypy refuses to take the folder of installed packages as its path.
        package = str(self.dir / "package" / "dwarfs")
        shutil.copytree(os.path.dirname(dwarfs.__file__), package,
                        ignore=shutil.ignore_patterns("*.so", "*.so.p", "*.c", "__pycache__"))
        ran = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(self.dir / "cache"),
             "--exclude", r"/dwarfs/_proxy\.py$",  # of SWIG; not a part of the package
             package, str(program)], stdout=subprocess.PIPE, encoding="utf-8", check=False,
            env={**os.environ, "MYPYPATH": os.path.dirname(package),
                               "PYTHONWARNINGS": "ignore"})
        self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    unittest.main()
