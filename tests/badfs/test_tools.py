# SPDX-License-Identifier: MIT
"""Damaged images with the programs: a message that names the image, in bounded time and memory.

A signal, a hang, silence, or anything written outside the target is a failure.
"""
import csv
import os
import subprocess
import tempfile

from measured import Run
import tap
import tree

RESIDENT_MAX = 64 << 20


def is_sanitized(program):
    with open(program, "rb") as source:
        contents = source.read()
    return b"__asan_init" in contents or b"__tsan_init" in contents


def images():
    """(path, stage at which the damage is detected) of every damaged image."""
    folder = tap.data("badfs", "files")
    for name in sorted(os.listdir(folder)):
        yield os.path.join(folder, name), "open or check"
    with open(tap.data("badfs", "crafted.tsv"), newline="") as source:
        for row in csv.DictReader(source, delimiter="\t"):
            yield tap.data("badfs", "crafted", row["name"]), row["detected_by"]


def check(dwarfsck, limit):
    for path, _ in images():
        run = Run(dwarfsck, "--check-integrity", "-d", "4", path)
        name = os.path.basename(path)
        assert run.code == 1, f"{name}: ended with {run.code}: {run.text}"
        assert name in run.text, f"{name}: the image is not named: {run.text}"
        assert run.resident < limit, f"{name}: {run.resident >> 10} KiB"


def extract(dwarfsextract, limit):
    with tempfile.TemporaryDirectory(prefix="dwarfs-bad-") as scratch:
        for path, detected_by in images():
            name = os.path.basename(path)
            target = os.path.join(scratch, "target")
            run = Run(dwarfsextract, "-i", path, "-o", target)
            assert run.code in (0, 1), f"{name}: ended with {run.code}: {run.text}"
            if detected_by in ("open", "data"):
                assert run.code == 1, f"{name}: extracts as if it were intact"
            if run.code == 1:
                # The image, or the entry that could not be created from it.
                assert name in run.text or target in run.text, f"{name}: {run.text}"
            assert run.resident < limit, f"{name}: {run.resident >> 10} KiB"
            assert set(os.listdir(scratch)) <= {"target"}, f"{name}: {os.listdir(scratch)}"
            tree.remove(target)


def mount(dwarfs, limit):
    """Images that do not open are not mounted."""
    with tempfile.TemporaryDirectory(prefix="dwarfs-bad-") as scratch:
        for path, detected_by in images():
            if detected_by != "open":
                continue
            name = os.path.basename(path)
            try:
                run = Run(dwarfs, path, scratch, "-f")
            finally:
                if os.path.ismount(scratch):
                    subprocess.run(["fusermount3", "-u", "-z", scratch], check=False)
            assert run.code == 1, f"{name}: ended with {run.code}: {run.text}"
            assert name in run.text, f"{name}: the image is not named: {run.text}"
            assert run.resident < limit, f"{name}: {run.resident >> 10} KiB"


def main():
    try:
        tools = [tap.tool("DWARFSCK"), tap.tool("DWARFSEXTRACT")]
        tap.data("badfs", "files")
    except tap.Skip as reason:
        tap.skip_all(reason)
    limit = 1 << 40 if is_sanitized(tools[0]) else RESIDENT_MAX
    suite = tap.Suite()
    with suite.case("dwarfsck detects the damage and names the image"):
        check(tools[0], limit)
    with suite.case("dwarfsextract refuses it, or extracts the intact entries"):
        extract(tools[1], limit)
    with suite.case("dwarfs mounts no image that does not open"):
        mount(tap.tool("DWARFS"), limit)
    suite.finish()


main()
