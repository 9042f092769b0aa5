# SPDX-License-Identifier: MIT
"""The examples do what their comments describe, in C and in C++.

    test_examples.py FOLDER SUFFIX
"""
import filecmp
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import tap

FOLDER, SUFFIX = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name, *args):
    return subprocess.run(tap.command(FOLDER / f"example-{name}{SUFFIX}", *args),
                          capture_output=True)


def wait_for(condition):
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.05)
    return False


def mounts_and_conversions(suite):
    """Images in memory, by callbacks, in children, from and to archives, and mounted."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tree, image = root / "tree", root / "image.dwarfs"
        (tree / "dir").mkdir(parents=True)
        (tree / "dir" / "file").write_bytes(b"contents\n" * 1000)
        (tree / "link").symlink_to("dir/file")
        assert run("pack", tree, image).returncode == 0
        with suite.case("memory packs and reads without a file"):
            done = run("memory")
            assert done.returncode == 0 and done.stdout == b"3 entries; Welcome.\n", done
        with suite.case("source reads through a callback, and follows links"):
            done = run("source", image, "link")
            assert done.returncode == 0 and done.stdout == b"contents\n" * 1000, done
        with suite.case("ranges opens in two rounds"):
            done = run("ranges", image)
            assert done.returncode == 0, done
            assert int(done.stdout.split()[-2]) <= 2, done.stdout
        with suite.case("source reports why a read has failed"):
            cut = root / "cut.dwarfs"
            cut.write_bytes(b"")
            done = run("source", cut, "link")
            assert done.returncode == 1 and b"not a DwarFS image" in done.stderr, done
        with suite.case("shared reads several images, also if one fails"):
            done = run("shared", "dir/file", image, root / "cut.dwarfs", image)
            assert done.stdout == b"contents\n" * 2000, done
            assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done
            assert b"cut.dwarfs" in done.stderr and b"(not a DwarFS image)" in done.stderr, done
        with suite.case("fork reads in children, with the image of the parent and with their own"):
            program = FOLDER / f"example-fork{SUFFIX}"
            if not program.exists():
                raise tap.Skip("the system has no fork()")
            for kind in "share", "own":
                done = subprocess.run(tap.command(program, kind, image, "dir/file", "link"),
                                      capture_output=True, timeout=60)
                assert done.returncode == 0, done
                assert sorted(done.stdout.splitlines()) == [b"dir/file: 9000 bytes",
                                                            b"link: 9000 bytes"], done
                done = subprocess.run(tap.command(program, kind, image, "link", "none"),
                                      capture_output=True, timeout=60)
                assert done.stdout == b"link: 9000 bytes\n" and done.returncode == 1, done
                assert b"none" in done.stderr and b"1 failed" in done.stderr, done
                done = subprocess.run(tap.command(program, kind, root / "cut.dwarfs", "link"),
                                      capture_output=True, timeout=60)
                assert done.returncode == 1 and b"cut.dwarfs" in done.stderr, done
        with suite.case("export makes a zip, and import takes a tar"):
            done = run("export", image, root / "out.zip")
            if b"not built in" in done.stderr:
                raise tap.Skip("no libarchive")
            assert done.returncode == 0, done.stderr
            assert zipfile.ZipFile(root / "out.zip").read("dir/file") == b"contents\n" * 1000
            subprocess.run(["tar", "czf", root / "in.tgz", "-C", tree, "."], check=True)
            done = run("import", root / "in.tgz", root / "in.dwarfs")
            assert done.returncode == 0, done.stderr
            assert run("source", root / "in.dwarfs", "dir/file").stdout == b"contents\n" * 1000
        with suite.case("mount serves an image"):
            if not (FOLDER / f"example-mount{SUFFIX}").exists():
                raise tap.Skip("built without libfuse")
            if not os.access("/dev/fuse", os.R_OK | os.W_OK):
                raise tap.Skip("no /dev/fuse")
            if os.environ.get("DWARFS_OTHER_BYTE_ORDER"):
                raise tap.Skip("the kernel has another byte order")
            point = root / "point"
            point.mkdir()
            server = subprocess.Popen(tap.command(FOLDER / f"example-mount{SUFFIX}", image, point, "-f"))
            try:
                assert wait_for(lambda: os.path.ismount(point)), "not mounted"
                assert (point / "link").read_bytes() == b"contents\n" * 1000
                assert sorted(os.listdir(point)) == ["dir", "link"]
                assert os.readlink(point / "link") == "dir/file"
                assert not (point / "none").exists()
            finally:
                subprocess.run(["umount", point], check=False)
                server.wait(20)
            assert server.returncode == 0, server.returncode


def is_short(path):
    with open(path, encoding="utf-8") as file:
        return len(file.readlines()) < 60


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tree, image = root / "tree", root / "image.dwarfs"
        (tree / "dir").mkdir(parents=True)
        (tree / "dir" / "big").write_bytes(tap.random_bytes(3_000_000))
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
                subprocess.run(tap.command(FOLDER / f"example-cat{SUFFIX}", image, "dir/big"),
                               stdout=file, check=True)
            assert filecmp.cmp(out, tree / "dir" / "big", shallow=False)
        with suite.case("cat names a missing path"):
            done = run("cat", image, "dir/nope")
            assert done.returncode == 1 and b"dir/nope" in done.stderr, done
            done = run("cat", image, "dir")
            assert done.returncode == 1 and done.stderr, done
        with suite.case("cat reports a full disk"):
            if not os.path.exists("/dev/full"):
                raise tap.Skip("no /dev/full")
            with open("/dev/full", "wb") as full:
                done = subprocess.run(tap.command(FOLDER / f"example-cat{SUFFIX}", image, "dir/big"),
                                      stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 1 and done.stderr, done
        with suite.case("items makes an image of arguments and of a pipe"):
            made = root / "items.dwarfs"
            done = subprocess.run(tap.command(FOLDER / f"example-items{SUFFIX}", made, "a/b=text", "c="),
                                  input=b"from a pipe", capture_output=True)
            assert done.returncode == 0, done.stderr
            for path, text in (("a/b", b"text"), ("c", b""), ("stdin", b"from a pipe")):
                done = run("cat", made, path)
                assert (done.returncode, done.stdout) == (0, text), done
        with suite.case("items reports invalid arguments"):
            done = run("items", root / "none.dwarfs", "../a=text")
            assert done.returncode == 1 and b"../a" in done.stderr, done
            assert not (root / "none.dwarfs").exists()
        with suite.case("wrong arguments give the usage"):
            for name in "list", "cat", "pack", "items", "source", "shared", "import", "export":
                done = run(name)
                assert done.returncode == 2 and done.stderr.startswith(b"usage: "), done
    mounts_and_conversions(suite)
    with suite.case("each example has less than 60 lines, in every language"):
        paths = [path for path in EXAMPLES.iterdir() if path.suffix != ".build"]
        assert len(paths) > 15, paths
        long = [path.name for path in paths if not is_short(path)]
        assert not long, long
    suite.finish()


if __name__ == "__main__":
    main()
