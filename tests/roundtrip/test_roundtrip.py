# SPDX-License-Identifier: MIT
"""A tree with every type of entry must be the same after a round trip.

test_roundtrip.py levels N...   each level, by extraction and by mount
test_roundtrip.py variants      options that change how things are stored
test_roundtrip.py workers       the image does not depend on the number of workers
"""
import contextlib
import os
import subprocess
import sys
import tempfile

import absent
import mount
import tap
import tree
import walker

NANO = 1000000000
PRIVILEGED = os.geteuid() == 0
SPECIALS = ["--with-devices", "--with-specials"]

VARIANTS = {
    "nanoseconds, all times": (["--time-resolution", "ns", "--keep-all-times"], 1),
    "milliseconds": (["--time-resolution", "ms"], 1000000),
    "minutes": (["--time-resolution", "min"], 60 * NANO),
    "4 KiB blocks": (["-S", "12"], NANO),
    "1 KiB blocks": (["-S", "10"], NANO),
    "64 MiB blocks": (["-S", "26"], NANO),
    "order none": (["--order", "none"], NANO),
    "order revpath": (["--order", "revpath"], NANO),
    "nothing packed": (["--pack-metadata", "none"], NANO),
    "everything packed": (["--pack-metadata", "all,force"], NANO),
    "plain names": (["--pack-metadata", "plain"], NANO),
    "packed chunk table": (["--pack-metadata", "chunk_table"], NANO),
    "packed directories": (["--pack-metadata", "directories"], NANO),
    "packed shared files": (["--pack-metadata", "shared_files"], NANO),
    "packed names": (["--pack-metadata", "names,names_index,force"], NANO),
    "packed links": (["--pack-metadata", "symlinks,symlinks_index,force"], NANO),
    "no index": (["--no-section-index"], NANO),
    "no history": (["--no-history"], NANO),
    "brotli": (["-C", "brotli:quality=3"], NANO),
    "lzma metadata": (["--metadata-compression", "lzma:level=2"], NANO),
}

# Those that change how chunks and sizes are stored, and so a hole of more than 2 GiB. Other variants
# are made of the tree without that file, which takes most of the time of packing it.
HUGE_VARIANTS = ("nanoseconds, all times", "4 KiB blocks", "1 KiB blocks", "64 MiB blocks", "order revpath",
                 "nothing packed", "everything packed", "packed chunk table")


def pack(source, image, *options):
    done = subprocess.run([tap.tool("MKDWARFS"), "-i", source, "-o", image, "--no-progress",
                           *options], capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, f"mkdwarfs ended with {done.returncode}: {done.stderr}"


def check_image(image):
    done = subprocess.run([tap.tool("DWARFSCK"), "-i", image, "--check-integrity", "-q"],
                          capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, f"dwarfsck ended with {done.returncode}: {done.stderr}"


def describe(root):
    return walker.describe(root, whole=False)


def columns(keep_all_times):
    wanted = ["type", "mode", "mtime", "size", "nlink", "rdev", "target", "sha256"]
    if PRIVILEGED:
        wanted += ["uid", "gid"]
    return wanted


def agree_on_access_times(expected, actual):
    """Of files only: reading a directory or a link changes its access time."""
    for path, row in expected.items():
        if row["type"] == "f" and row["atime"] != actual[path]["atime"]:
            raise AssertionError(f"{path!r}: atime is {actual[path]['atime']}, "
                                 f"expected {row['atime']}")


def extracted(image, expected, scratch, resolution_ns, all_times=False, holes=True):
    target = os.path.join(scratch, "target")
    try:
        done = subprocess.run([tap.tool("DWARFSEXTRACT"), "-i", image, "-o", target],
                              capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, f"dwarfsextract ended with {done.returncode}: {done.stderr}"
        actual = describe(target)
        walker.must_agree(expected, actual, columns=columns(all_times), holes=holes,
                          resolution_ns=resolution_ns)
        if all_times:
            agree_on_access_times(expected, actual)
    finally:
        tree.remove(target)


def through_mount(image, expected, resolution_ns, all_times=False, holes=True):
    with mount.mounted(image) as path:
        actual = describe(path)
    names = columns(all_times)
    if "uid" not in names:
        names += ["uid", "gid"]  # a mount shows owners to every user
    walker.must_agree(expected, actual, columns=names, holes=holes, resolution_ns=resolution_ns)
    if all_times:
        for path, row in expected.items():
            if row["type"] == "f" and row["ctime"] != actual[path]["ctime"]:
                raise AssertionError(f"{path!r}: ctime is {actual[path]['ctime']}, "
                                     f"expected {row['ctime']}")
        agree_on_access_times(expected, actual)


def levels(suite, source, expected, scratch, numbers):
    for level in numbers:
        image = os.path.join(scratch, "image")
        with suite.case(f"level {level} packs and checks"):
            # Blocks of 256 KiB, so that there are several at this level, too.
            blocks = ["-S", "18"] if level == "5" else []
            pack(source, image, "-l", level, *blocks, *SPECIALS)
            check_image(image)
        if not os.path.exists(image):
            continue
        with suite.case(f"level {level} by extraction"):
            extracted(image, expected, scratch, NANO)
        with suite.case(f"level {level} by mount"):
            through_mount(image, expected, NANO)
        os.unlink(image)


def variants(suite, source, expected, scratch):
    image = os.path.join(scratch, "image")
    small = os.path.join(scratch, "small")
    tree.make(small, huge=False)
    without_huge = describe(small)
    given = {True: (source, expected), False: (small, without_huge)}
    for name, (options, resolution_ns) in VARIANTS.items():
        source, expected = given[name in HUGE_VARIANTS]
        all_times = "--keep-all-times" in options
        with suite.case(name + ", by extraction"):
            absent.need_for_options(options)
            # Reading the source for an earlier case may have changed its access times.
            before = describe(source) if all_times else expected
            pack(source, image, "-l", "1", *SPECIALS, *options)
            check_image(image)
            extracted(image, before, scratch, resolution_ns, all_times)
        if all_times and os.path.exists(image):
            with suite.case(name + ", by mount"):
                through_mount(image, before, resolution_ns, all_times)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(image)
    source, expected = given[False]
    with suite.case("holes as data"):
        pack(source, image, "-l", "1", "--no-sparse-files", *SPECIALS)
        check_image(image)
        extracted(image, expected, scratch, NANO, holes=False)
        os.unlink(image)
    with suite.case("devices and specials are left out unless asked for"):
        plain = {path: row for path, row in expected.items() if row["type"] not in "cbps"}
        pack(source, image, "-l", "1")
        extracted(image, plain, scratch, NANO)
        os.unlink(image)
    with suite.case("a header in front"):
        header = os.path.join(scratch, "header")
        with open(header, "wb") as out:
            out.write(b"#!/bin/sh\nexit 1\nDWARFS\2\5 is not here\n" * 7)
        pack(source, image, "-l", "1", "--header", header, *SPECIALS)
        with open(image, "rb") as made, open(header, "rb") as wanted:
            start = wanted.read()
            assert made.read(len(start)) == start, "the image does not start with the header"
        check_image(image)
        extracted(image, expected, scratch, NANO)
        os.unlink(image)
    with suite.case("an empty directory"):
        empty = os.path.join(scratch, "empty")
        os.mkdir(empty)
        pack(empty, image)
        check_image(image)
        extracted(image, describe(empty), scratch, NANO)
        os.unlink(image)
    with suite.case("one owner, one time, other modes"):
        pack(source, image, "-l", "1", "--set-owner", "12", "--set-group", "34", "--set-time",
             "1700000000", "--chmod", "norm", *SPECIALS)
        changed = {}
        for path, row in expected.items():
            mode = 0o444 | (0o111 if row["type"] == "d" or row["mode"] & 0o111 else 0)
            changed[path] = dict(row, uid=12, gid=34, mtime=1700000000 * NANO, mode=mode)
            if row["type"] == "l":
                changed[path]["mode"] = None
        extracted(image, changed, scratch, NANO)
        os.unlink(image)


def workers(suite, source, scratch):
    images = {}
    for level, *options in (["1"], ["4", "-S", "16"], ["7", "-S", "18"]):
        if level != "1":  # the hole of 2 GiB is hashed in the same way at each level
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(source, "holes", "huge"))
        # Level 7 is slow. Sanitizers only see what happens with several threads.
        counts = ("8", "0", "1") if level != "7" else \
            ("8",) if "DWARFS_SANITIZED" in os.environ else ("8", "0")
        with suite.case(" ".join(["-l", level, *options, "with the numbers of workers:", *counts])):
            for count in counts:
                image = os.path.join(scratch, "image" + count)
                pack(source, image, "-l", level, *options, "-N", count, "--no-history",
                     "--no-create-timestamp", "-f", *SPECIALS)
                with open(image, "rb") as made:
                    images[count] = made.read()
                assert images[count] == images["8"], f"{count} workers give another image than 8"
            check_image(image)
    with suite.case("standard output gives the same bytes as a file"):
        done = subprocess.run([tap.tool("MKDWARFS"), "-i", source, "-o", "-", "--no-progress",
                               "-l", "1", "--no-history", "--no-create-timestamp", *SPECIALS],
                              capture_output=True)
        assert done.returncode == 0, f"mkdwarfs ended with {done.returncode}: {done.stderr}"
        image = os.path.join(scratch, "image")
        pack(source, image, "-l", "1", "--no-history", "--no-create-timestamp", *SPECIALS)
        with open(image, "rb") as made:
            assert made.read() == done.stdout, "they differ"


def main(what, *arguments):
    try:
        tap.tool("MKDWARFS")
        tap.tool("DWARFSCK")
        tap.tool("DWARFSEXTRACT")
    except tap.Skip as reason:
        tap.skip_all(reason)
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-roundtrip-", dir=tap.disk()) as scratch:
        source = os.path.join(scratch, "source")
        tree.make(source)
        if what == "levels":
            levels(suite, source, describe(source), scratch, arguments)
        elif what == "variants":
            variants(suite, source, describe(source), scratch)
        elif what == "workers":
            workers(suite, source, scratch)
        else:
            sys.exit(__doc__)
    suite.finish()


main(*sys.argv[1:])
