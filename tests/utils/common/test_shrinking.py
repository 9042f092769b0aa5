#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The file of an image is truncated while a program reads it: an error, never a signal.

All sections are stored uncompressed, as a mapping would use these in place.
"""
import contextlib
import errno
import os
import shutil
import subprocess
import time

import absent
import mount
import tap
from scratch import place, read, scratch, write

FILES = 24
FILE_BYTES = 1 << 20
KEPT = 4096  # bytes of the truncated image
DELAYS = [0.0005 * number for number in range(1, 25)]

suite = tap.Suite()


def make_image():
    tree = place("tree")
    for number in range(FILES):
        write(f"{tree}/file{number:02}", tap.random_bytes(FILE_BYTES))
    image = place("whole.dwarfs")
    subprocess.run([tap.tool("MKDWARFS"), "-i", tree, "-o", image, "-l0", "-S", "20",
                    "--metadata-compression=null", "--schema-compression=null",
                    "-C", "null", "--no-progress", "--log-level=warn"], check=True)
    return tree, image


def cut(image):
    os.truncate(image, KEPT)


def end_of(process):
    """Exit code and messages; a signal fails the test."""
    error = process.stderr.read().decode("utf-8", "replace")
    code = process.wait(timeout=120)
    assert code in (0, 1), (code, error)
    if code == 1:
        assert error.strip(), "a failure without a message"
    return code, error


def races(image, *command):
    """Truncate the image after various delays. Returns how often that was an error."""
    failed = 0
    for delay in DELAYS:
        shutil.copyfile(image, place("racing"))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(delay)
        cut(place("racing"))
        failed += end_of(process)[0]
        shutil.rmtree(place("out"), ignore_errors=True)
    return failed


def stops_amid(image, *command):
    """Truncate the image after the program has begun to write to a pipe, and waits."""
    shutil.copyfile(image, place("stopped"))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.read(1)
    cut(place("stopped"))
    process.stdout.read()
    code, error = end_of(process)
    assert code == 1, "the whole image was written although it was truncated"
    assert "ends early" in error, error


def mounts(tree, image, *options):
    shutil.copyfile(image, place("mounted"))
    with mount.mounted(place("mounted"), "-o", "cachesize=4m", *options) as path:
        assert read(f"{path}/file00") == read(f"{tree}/file00")
        cut(place("mounted"))
        failed = 0
        for number in range(FILES):
            try:
                found = read(f"{path}/file{number:02}")
                assert found == read(f"{tree}/file{number:02}")
            except OSError as problem:
                assert problem.errno == errno.EIO, problem
                failed += 1
        assert failed >= FILES - 6, failed
        # Names and attributes are unchanged.
        assert len(os.listdir(path)) == FILES
        assert os.stat(f"{path}/file07").st_size == FILE_BYTES


def is_mapped(image):
    """Whether any process has mapped a file."""
    wanted = os.fsencode(os.path.realpath(image))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/maps", "rb") as maps:
                if wanted in maps.read():
                    return True
    return False


try:
    TREE, IMAGE = make_image()
    CHECK, EXTRACT = tap.tool("DWARFSCK"), tap.tool("DWARFSEXTRACT")
except tap.Skip as why:
    tap.skip_all(str(why))

with suite.case("dwarfsck --check-integrity"):
    races(IMAGE, CHECK, "--check-integrity", place("racing"))
with suite.case("dwarfsck --checksum"):
    races(IMAGE, CHECK, "--checksum=xxh3-64", place("racing"))
with suite.case("dwarfsck --cat"):
    stops_amid(IMAGE, CHECK, place("stopped"), "--cat",
               *(f"file{number:02}" for number in range(FILES)))
with suite.case("dwarfsextract into a directory"):
    races(IMAGE, EXTRACT, "-i", place("racing"), "-o", place("out"))
with suite.case("dwarfsextract into an archive"):
    absent.need("archive")
    stops_amid(IMAGE, EXTRACT, "-i", place("stopped"), "-f", "gnutar", "-o", "-",
               "-s", "4m")
with suite.case("a mount"):
    mounts(TREE, IMAGE)
with suite.case("a mount with verify=lazy"):
    mounts(TREE, IMAGE, "-o", "verify=lazy")
with suite.case("a mount maps the image with that option"):
    for words, wanted in (((), False), (("-o", "no_mmap"), False), (("-o", "mmap"), True)):
        with mount.mounted(IMAGE, *words) as where:
            assert is_mapped(IMAGE) == wanted, words
with suite.case("a mapped mount reads the remaining bytes"):
    with mount.mounted(IMAGE, "-o", "mmap") as where:
        for entry in os.listdir(TREE):
            assert read(f"{where}/{entry}") == read(f"{TREE}/{entry}"), entry

subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=False)
suite.finish()
