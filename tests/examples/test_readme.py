# SPDX-License-Identifier: MIT
"""The programs in README.md compile, run and do what the text describes.

    test_readme.py SOURCE LIBRARY EXAMPLES PACKAGE COMPILER...

PACKAGE is the folder that has the Python package, or "-" where it was not built.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

SOURCE, LIBRARY, EXAMPLES, PACKAGE = (pathlib.Path(word) for word in sys.argv[1:5])
COMPILER = sys.argv[5:]
README = (SOURCE / "README.md").read_text()


def blocks(language):
    found = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"README.md has no program in {language}"
    return found


def run(command, **more):
    paths = {"LD_LIBRARY_PATH": str(LIBRARY.parent), "PYTHONPATH": str(PACKAGE)}
    return subprocess.run(command, capture_output=True, env={**os.environ, **paths}, **more)


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "photos" / "notes").mkdir(parents=True)
        (root / "photos" / "notes" / "readme.txt").write_text("text")
        (root / "src").mkdir()
        (root / "src" / "main.log").write_text("line\n" * 100)
        (root / "src" / "main.c~").write_text("old")

        with suite.case("Python: the programs run and read back what they packed"):
            if str(PACKAGE) == "-":
                raise tap.Skip("the Python package was not built")
            programs = blocks("python")  # each is complete by itself
            programs[0] += "\nassert text == 'text', text\n"
            programs[1] += "\nassert [str(path) for path in dwarfs.open('src.dwarfs')] == ['main.log']\n"
            for program in programs:
                done = run([sys.executable, "-c", program], cwd=root)
                assert done.returncode == 0, done.stderr.decode()
        with suite.case("C: the program compiles without warnings and lists an image"):
            (source,) = blocks("c")
            (root / "list.c").write_text(source)
            done = run([*COMPILER, "-Wall", "-Wextra", "-Werror", "-I", SOURCE / "include",
                        root / "list.c", LIBRARY, "-o", root / "list"])
            assert done.returncode == 0, done.stderr.decode()
            run(tap.command(EXAMPLES / "example-pack", root / "photos", root / "list.dwarfs"),
                check=True)
            done = run(tap.command(root / "list", root / "list.dwarfs"), check=True)
            assert done.stdout.split() == [b"notes", b"notes/readme.txt"], done
            done = run(tap.command(root / "list", root / "missing"))
            assert done.returncode == 1 and b"missing" in done.stderr, done
    suite.finish()


if __name__ == "__main__":
    main()
