# SPDX-License-Identifier: MIT
"""The table of cases that each language passes, by its own program.

    test_scenarios.py INTERPRETER... PROGRAM

The program is given a folder with a tree, and prints "ok NAME" or "not ok NAME: WHY" for each
case of the table. With DWARFS_SCENARIOS=valgrind it is run by valgrind, and by nothing else.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import absent
import tap

COMMAND = sys.argv[1:]
ROOT = pathlib.Path(__file__).parents[2]
# Scenarios.java has these, too.
OPERATIONS = ["extract", "export", "import", "compare", "rewrite"]
CASES = ["pack", "callback chooses", "callback raises", "progress", "cancel", "open path",
         "open bytes", "stat", "list", "walk", "bytes in names", "pread", "seek", "lines",
         "xattr", "link target", "missing file", "not an image", "damaged image", *OPERATIONS,
         "wrong type", "use after close", "children keep parents", "open and close", "threads",
         "handles"]
# Cases that not all languages have.
if COMMAND[-1].endswith((".pl", ".rb", ".lua")):
    CASES += ["links"]
if COMMAND[-1].endswith((".pl", ".rb")):
    CASES += ["file handle"]
if COMMAND[-1].endswith(".pl"):
    CASES += ["signal"]
if COMMAND[-1].endswith(".rb"):
    CASES += ["fibers", "closed before the call", "other ractors"]
NEED_ARCHIVES = {"export", "import", "compare"}
VALGRIND = ["valgrind", "--quiet", "--keep-debuginfo=yes", "--leak-check=full",
            "--show-leak-kinds=definite", "--errors-for-leak-kinds=none", "--num-callers=40"]
OURS = re.compile(r": (dw|dwarfs|_wrap)_")


def tree(folder):
    """The tree of all cases; returns whether it has extended attributes."""
    (folder / "tree" / "sub").mkdir(parents=True)
    (folder / "tree" / "a.txt").write_bytes(b"first\nsecond\nthird")
    (folder / "tree" / "skip~").write_bytes(b"old")
    (folder / "tree" / "sub" / "b.bin").write_bytes(bytes(range(256)) * 1000)
    pathlib.Path(os.fsdecode(os.fsencode(folder) + b"/tree/\xff\xfe")).write_bytes(b"bytes")
    os.symlink("sub/b.bin", folder / "tree" / "link")
    # For the case "links".
    (folder / "links" / "dir").mkdir(parents=True)
    (folder / "links" / "dir" / "file").write_bytes(b"text")
    for name, target in {"through": "dir", "dir/up": "../dir/file", "absolute": "/dir/file",
                         "dangling": "none", "circle": "circle"}.items():
        os.symlink(target, folder / "links" / name)
    try:
        os.setxattr(folder / "tree" / "a.txt", "user.note", b"v\0w")
    except OSError:
        return False
    return True


def example(suite, folder):
    if COMMAND[-1].endswith(".java"):
        return  # test_java.py runs it, and the program in README.md
    name = "list_image" + pathlib.Path(COMMAND[-1]).suffix
    command = COMMAND[:-1] + [ROOT / "examples" / name]
    with suite.case("the example packs and lists"):
        subprocess.run(command + ["pack", folder / "tree", folder / "e.dwarfs"], check=True)
        done = subprocess.run(command + ["list", folder / "e.dwarfs"], check=True,
                              stdout=subprocess.PIPE).stdout
        assert b"      18 a.txt\n" in done and b"skip~" not in done, done


def readme(suite, folder):
    if COMMAND[-1].endswith((".py", ".java")):
        return  # tests/examples/test_readme.py runs the programs in Python
    with suite.case("the program in README.md runs"):
        absent.need("archive")
        language = {".pl": "perl", ".rb": "ruby", ".lua": "lua"}[pathlib.Path(COMMAND[-1]).suffix]
        found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        assert len(found) == 1, found
        (folder / "photos").mkdir()
        (folder / "photos" / "notes.txt").write_text("text\n")
        (folder / "readme").write_text(found[0])
        done = subprocess.run([os.path.abspath(w) if os.path.exists(w) else w
                               for w in COMMAND[:-1]] + ["readme"], cwd=folder, check=True,
                              stdout=subprocess.PIPE).stdout
        assert done == b"notes.txt\ntext\n", done


def under_valgrind():
    """The command, with the interpreter itself where a script starts it. CPython has errors of its
    own; other interpreters must have none."""
    if not COMMAND[-1].endswith(".py"):
        return VALGRIND + ["--error-exitcode=99"] + COMMAND
    return VALGRIND + [subprocess.run([COMMAND[0], "-c", "import sys; print(sys.executable)"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.strip()] + COMMAND[1:]


def is_possible(case, has_xattrs):
    return (case != "xattr" or has_xattrs) and \
        (case not in NEED_ARCHIVES or "archive" not in absent.ABSENT)


def clean_exit(suite, folder):
    """What an interpreter itself loses does not count, nor errors of CPython itself."""
    has_xattrs = tree(folder)
    with suite.case("valgrind finds no errors and no leaks"):
        if not shutil.which("valgrind"):
            raise tap.Skip("no valgrind")
        done = subprocess.run(under_valgrind() + [folder, "20"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env=os.environ | {"PYTHONMALLOC": "malloc"})
        told = done.stderr.decode("utf-8", "backslashreplace")
        assert done.returncode == 0, told[-4000:]
        records = [record for record in re.split(r"^==\d+== $", told, flags=re.M)
                   if OURS.search(record)]
        assert not records, records[0]
        passed = done.stdout.decode("utf-8", "backslashreplace").splitlines()
        for case in CASES:
            if is_possible(case, has_xattrs):
                assert f"ok {case}" in passed, (case, passed)


def cases(suite, folder):
    has_xattrs = tree(folder)
    done = subprocess.run(COMMAND + [folder], stdout=subprocess.PIPE)
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    for case in CASES:
        with suite.case(case):
            if case == "xattr" and not has_xattrs:
                raise tap.Skip("no extended attributes in the folder for temporary files")
            if case in NEED_ARCHIVES:
                absent.need("archive")
            assert f"ok {case}" in lines, \
                [line for line in lines if line.startswith(f"not ok {case}")] or "no result"
    with suite.case("ends by itself, with nothing else to say"):
        assert done.returncode == 0, done.returncode
        assert sorted(line.partition("ok ")[2].partition(":")[0] for line in lines) \
            == sorted(CASES), lines
    example(suite, folder)
    readme(suite, folder)


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-scenarios-") as name:
        if os.environ.get("DWARFS_SCENARIOS") == "valgrind":
            clean_exit(suite, pathlib.Path(name))
        else:
            cases(suite, pathlib.Path(name))
    suite.finish()


if __name__ == "__main__":
    main()
