# SPDX-License-Identifier: MIT
"""The inputs of build.sh exist: seeds and a dictionary for each harness; the engine is used.

test_oss_fuzz.py HARNESS...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
FUZZ = os.path.dirname(HERE)
ROOT = os.path.dirname(FUZZ)
LIBRARIES = ("zstd", "lz4", "lzma", "brotli", "flac", "blake2", "archive", "tools", "fuse",
             "python", "tests")


def seeds_of(harness):
    """The harnesses 'sections' and 'operations' take images, too."""
    return "image" if harness in ("sections", "operations") else harness


def check_dictionary(path):
    """Lines are comments, or a value in quotation marks, which may have a name."""
    entry = re.compile(r'(\w+=)?"(?:[^"\\]|\\["\\]|\\x[0-9a-fA-F]{2})+"')
    with open(path, encoding="ascii") as lines:
        found = [line.rstrip("\n") for line in lines]
    bad = [line for line in found if line and not line.startswith("#") and not entry.fullmatch(line)]
    assert not bad, f"{path}: {bad}"
    assert any(map(entry.fullmatch, found)), f"{path} is empty"


def engine_is_used():
    """A configuration with an engine links the fuzzers with it, as C++."""
    with tempfile.TemporaryDirectory(prefix="dwarfs-fuzz-") as scratch:
        engine = os.path.join(scratch, "engine.a")
        done = subprocess.run(
            ["meson", "setup", os.path.join(scratch, "build"), ROOT, "-Dfuzz=true",
             *[f"-D{name}=disabled" for name in LIBRARIES]],
            env={**os.environ, "LIB_FUZZING_ENGINE": engine}, capture_output=True, text=True,
            check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(os.path.join(scratch, "build", "build.ninja"), encoding="utf-8") as ninja:
            text = ninja.read()
    linked = re.findall(r"^build fuzz/fuzz-\w+: (\w+)_LINKER.*?\n\n", text, re.M | re.S)
    assert linked and set(linked) == {"cpp"}, linked
    assert text.count(engine) == len(linked), text.count(engine)
    assert "fsanitize=fuzzer" not in text


def main(harnesses):
    suite = tap.Suite()
    with suite.case("each harness has seeds and a dictionary"):
        for harness in harnesses:
            folder = os.path.join(FUZZ, "seeds", seeds_of(harness))
            assert os.listdir(folder), folder
            check_dictionary(os.path.join(FUZZ, "dictionaries", seeds_of(harness) + ".dict"))
    with suite.case("each dictionary is of a harness"):
        wanted = {seeds_of(harness) + ".dict" for harness in harnesses}
        assert set(os.listdir(os.path.join(FUZZ, "dictionaries"))) == wanted, wanted
    with suite.case("build.sh is a script of bash"):
        if not shutil.which("bash"):
            raise tap.Skip("no bash")
        subprocess.run(["bash", "-n", os.path.join(HERE, "build.sh")], check=True)
    with suite.case("LIB_FUZZING_ENGINE is linked"):
        for program in ("meson", "c++"):
            if not shutil.which(program):
                raise tap.Skip(f"no {program}")
        engine_is_used()
    suite.finish()


main(sys.argv[1:])
