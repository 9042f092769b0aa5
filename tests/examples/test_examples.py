# SPDX-License-Identifier: MIT
"""The examples do what they say, in C and in C++.

    test_examples.py FOLDER SUFFIX
"""
import filecmp
import os
import pathlib
import subprocess
import sys
import tempfile

import tap

FOLDER, SUFFIX = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""


def run(name, *args):
    return subprocess.run([FOLDER / f"example-{name}{SUFFIX}", *args], capture_output=True)


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tree, image = root / "tree", root / "image.dwarfs"
        (tree / "dir").mkdir(parents=True)
        (tree / "dir" / "big").write_bytes(os.urandom(3_000_000))
        (tree / "a file").write_bytes(b"contents")
        os.chmod(tree / "a file", 0o640)

        with suite.case("pack makes an image"):
            done = run("pack", tree, image)
            assert done.returncode == 0, done.stderr
            assert b"2 files, 3000008 bytes -> %d bytes" % image.stat().st_size in done.stdout
        with suite.case("pack does not overwrite"):
            done = run("pack", tree, image)
            assert done.returncode == 1 and str(image).encode() in done.stderr, done
        with suite.case("list prints every entry"):
            done = run("list", image)
            assert done.returncode == 0, done.stderr
            lines = [line.split(maxsplit=4) for line in done.stdout.decode().splitlines()]
            assert [line[-1] for line in lines] == ["/", "/a file", "/dir", "/dir/big"], lines
            assert (lines[1][0], lines[1][3]) == ("100640", "8"), lines
        with suite.case("list names what it cannot open"):
            done = run("list", tree / "a file")
            assert done.returncode == 1 and b"a file" in done.stderr, done
        with suite.case("cat writes a file"):
            out = root / "out"
            with open(out, "wb") as file:
                subprocess.run([FOLDER / f"example-cat{SUFFIX}", image, "dir/big"],
                               stdout=file, check=True)
            assert filecmp.cmp(out, tree / "dir" / "big", shallow=False)
        with suite.case("cat names what is not there"):
            done = run("cat", image, "dir/nope")
            assert done.returncode == 1 and b"dir/nope" in done.stderr, done
            done = run("cat", image, "dir")
            assert done.returncode == 1 and done.stderr, done
        with suite.case("cat reports a full disk"):
            if not os.path.exists("/dev/full"):
                raise tap.Skip("no /dev/full")
            with open("/dev/full", "wb") as full:
                done = subprocess.run([FOLDER / f"example-cat{SUFFIX}", image, "dir/big"],
                                      stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 1 and done.stderr, done
        with suite.case("items makes an image of arguments and of a pipe"):
            made = root / "items.dwarfs"
            done = subprocess.run([FOLDER / f"example-items{SUFFIX}", made, "a/b=text", "c="],
                                  input=b"from a pipe", capture_output=True)
            assert done.returncode == 0, done.stderr
            for path, text in (("a/b", b"text"), ("c", b""), ("stdin", b"from a pipe")):
                done = run("cat", made, path)
                assert (done.returncode, done.stdout) == (0, text), done
        with suite.case("items says what cannot be"):
            done = run("items", root / "none.dwarfs", "../a=text")
            assert done.returncode == 1 and b"../a" in done.stderr, done
            assert not (root / "none.dwarfs").exists()
        with suite.case("wrong arguments give the usage"):
            for name in "list", "cat", "pack", "items":
                done = run(name)
                assert done.returncode == 2 and done.stderr.startswith(b"usage: "), done
    suite.finish()


if __name__ == "__main__":
    main()
