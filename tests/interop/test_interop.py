# SPDX-License-Identifier: MIT
"""Our images, as the crate `dwarfs` 0.2.1 reads them.

test_interop.py BUILD_DIRECTORY          builds the reader if it is not built, and tests
test_interop.py BUILD_DIRECTORY build    builds it only

The crate is an independent reader. It knows formats 2.3 to 2.5, no holes, whole seconds, and
names in UTF-8; it misreads a packed shared-files table, and it reads no FLAC and no RICEPP. The
images here avoid these.
"""
import array
import contextlib
import functools
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile

import absent
import dated
import images
import rich
import tap
import tree
import walker

HERE = os.path.dirname(os.path.abspath(__file__))
NANO = 1000000000

VARIANTS = {f"level {level}": ["-l", str(level)] for level in (0, 1, 3, 5, 7, 9)}
VARIANTS.update({
    "4 KiB blocks": ["-l", "1", "-S", "12"],
    "order none": ["-l", "1", "--order", "none"],
    "order revpath": ["-l", "1", "--order", "revpath"],
    "nothing packed": ["-l", "1", "--pack-metadata", "none"],
    "packed chunk table": ["-l", "1", "--pack-metadata", "chunk_table"],
    "packed directories": ["-l", "1", "--pack-metadata", "directories"],
    "packed names": ["-l", "1", "--pack-metadata", "names,names_index,force"],
    "packed links": ["-l", "1", "--pack-metadata", "symlinks,symlinks_index,force"],
    "plain names": ["-l", "1", "--pack-metadata", "plain"],
    "no index, no history": ["-l", "1", "--no-section-index", "--no-history"],
    "lz4": ["-C", "lz4"],
    "lzma": ["-C", "lzma:level=2"],
    "lzma in parts": ["-C", "lzma:level=1:block_size=16"],
    "lzma in parts, no check": ["-C", "lzma:level=1:block_size=16:check=none"],
    "zstd metadata": ["-l", "1", "--metadata-compression", "zstd:level=3"],
    "lzma metadata": ["-l", "1", "--metadata-compression", "lzma:level=3"],
    "all times": ["-l", "1", "--keep-all-times"],
    "births": ["-l", "1", "--keep-birth-times"],
    "no extended attributes": ["-l", "1", "--no-xattrs"],
    "one owner and time": ["-l", "1", "--set-owner", "33", "--set-group", "44", "--set-time",
                           "1700000000"],
})

# On a tree with many duplicates; {list} is a list of some of its files.
PLAIN_SAMPLES = ["-C", "pcmaudio/waveform::zstd:level=3", "-C", "fits/image::lzma:level=1"]
RICH_VARIANTS = {f"segments, level {level}": ["-l", str(level)] for level in (1, 3, 7, 9)}
RICH_VARIANTS.update({
    "short segments": ["-l", "3", "-W", "6", "-w", "1", "-S", "14"],
    "segments of one block": ["-l", "3", "-W", "10", "-B", "1", "-S", "16"],
    "order auto": ["-l", "1", "--order", "auto", "-W", "12"],
    "order similarity": ["-l", "1", "--order", "similarity"],
    "order nilsimsa": ["-l", "1", "--order", "nilsimsa:max-children=32", "-W", "10"],
    "order explicit": ["-l", "1", "--order", "explicit:file={list}"],
    "categories": ["-l", "3", "--categorize", *PLAIN_SAMPLES],
    "categories with segments in small blocks": [
        "-l", "3", "--categorize", "-S", "13", "-W", "8", "-W", "pcmaudio/waveform::6",
        "-W", "incompressible::10", "--incompressible-fragments", *PLAIN_SAMPLES],
    "categories without names": ["-l", "3", "--categorize", "--no-category-names",
                                 *PLAIN_SAMPLES],
    "no hash": ["-l", "3", "--file-hash", "none"],
    "little memory": ["-l", "5", "-L", "256m"],
})


# Of an image of the tree: the same files again.
REWRITES = {
    "as an input": [],
    "recompressed": ["--recompress", "-C", "lzma:level=1"],
    "with metadata of another codec": ["--recompress=metadata", "-l1", "--metadata-compression",
                                       "zstd:level=1"],
    "rebuilt": ["--rebuild-metadata", "-l1", "-P", "names,names_index,force"],
    "in smaller blocks": ["--change-block-size", "-S12", "-l1"],
    "in larger blocks": ["--change-block-size", "-S22", "-l1"],
    "merged with itself": ["-i", "{image}", "-l1"],
    "with its directory": ["-i", "{source}", "-l1"],
    "repacked": ["--repack", "-l3", "-S14"],
}


def build(directory):
    """The reader's program; skips if tools to build it are missing."""
    cargo = shutil.which("cargo")
    if not cargo:
        tap.skip_all("no cargo here (Debian: cargo-web and rustc-web)")
    environment = dict(os.environ, CARGO_TARGET_DIR=os.path.join(directory, "cargo"),
                       ZSTD_SYS_USE_PKG_CONFIG="1")  # zstd as installed: not built from source
    for variable in ("RUSTFLAGS", "LDFLAGS"):
        environment.pop(variable, None)
    environment["CFLAGS"] = "-O0"  # a few images are read; most of the time is compiling
    crate = os.path.join(directory, "crate")  # where cargo may write its lock
    shutil.copytree(os.path.join(HERE, "src"), os.path.join(crate, "src"), dirs_exist_ok=True)
    shutil.copy(os.path.join(HERE, "Cargo.toml"), crate)
    fetched = subprocess.run([cargo, "fetch"], cwd=crate, env=environment,
                             capture_output=True, text=True)
    if fetched.returncode:
        tap.skip_all("cargo cannot fetch the crates: " + fetched.stderr.strip().split("\n")[-1])
    subprocess.run([cargo, "build", "--release", "--offline", "--quiet"], cwd=crate,
                   env=environment, check=True)
    return os.path.join(directory, "cargo", "release", "interop")


def label(source):
    """Give some entries extended attributes, which the reader ignores in all variants."""
    labelled = 0
    for number, (parent, _, files) in enumerate(sorted(os.walk(source))):
        for name in [".", *sorted(files)]:
            with contextlib.suppress(OSError):
                os.setxattr(os.path.join(parent, name), "user.number", b"%d" % (number % 3),
                            follow_symlinks=False)
                labelled += 1
    return labelled


def unescape(field):
    parts = iter(field)
    table = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}
    return "".join(table[next(parts)] if part == "\\" else part for part in parts).encode()


def signed(number):
    """Times before 1970 are stored modulo 2^64."""
    return number - (1 << 64) if number >> 63 else number


def read_contents(listed, size):
    """Read the contents after the line of a regular file; return their hash."""
    contents = listed.read(size)
    assert len(contents) == size and listed.read(1) == b"\n", f"not {size} bytes and a newline"
    return hashlib.sha256(contents).hexdigest()


def read(reader, image):
    done = subprocess.run([reader, image], capture_output=True)
    assert done.returncode == 0, f"the reader refuses it: {done.stderr.decode()}"
    rows = {}
    listed = io.BytesIO(done.stdout)
    for line in iter(listed.readline, b""):
        columns = line.decode(errors="replace").rstrip("\n").split("\t")
        assert len(columns) == 10, f"not a line of the reader: {columns}"
        path, kind, mode, uid, gid, mtime, size, inode, rdev, target = columns
        assert unescape(path) not in rows, f"{path} is listed twice"
        rows[unescape(path)] = {
            "type": kind, "mode": int(mode, 8), "uid": int(uid), "gid": int(gid),
            "mtime": signed(int(mtime)) * NANO, "size": int(size), "inode": int(inode),
            "rdev": None if rdev == "-" else (os.major(int(rdev)), os.minor(int(rdev))),
            "target": unescape(target) if kind == "l" else None,
            "sha256": read_contents(listed, int(size)) if kind == "f" else None}
    return rows


def check(mkdwarfs, reader, source, expected, image, options, links=True):
    rewrites = any(word.startswith(("--recompress", "--rebuild", "--change")) for word in options)
    everything = [] if rewrites else ["--with-devices", "--with-specials"]
    done = subprocess.run([mkdwarfs, "-i", source, "-o", image, "-f", "--no-sparse-files",
                           *everything, "--no-progress", *options],
                          capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, f"mkdwarfs ended with {done.returncode}: {done.stderr}"
    expected = {path: dict(row) for path, row in expected.items()}
    if "--set-owner" in options:
        for row in expected.values():
            row.update(uid=33, gid=44, mtime=1700000000 * NANO)
    walker.must_agree(expected, read(reader, image), resolution_ns=NANO, links=links,
                      columns=("type", "mode", "uid", "gid", "mtime", "size", "rdev", "target",
                               "sha256"))


# Of images by other writers, in any format: codecs, tables and times that the reader knows.
GIVEN = ["--remove-header", "-P", "none", "-C", "zstd:level=1", *PLAIN_SAMPLES]
GIVEN_MODES = {
    "rebuilt": ["--rebuild-metadata", "--recompress=all", *GIVEN],
    "in smaller blocks": ["--change-block-size", "-S12", *GIVEN],
    "in larger blocks": ["--change-block-size", "-S24", *GIVEN],
    "as inputs": ["--repack", "-l1", *GIVEN],
}
if os.environ.get("DWARFS_TEST_REWRITES") == "all":  # as for tests/utils/mkdwarfs/test_rewrite.py
    GIVEN_MODES.update((f"in blocks of {1 << bits} bytes",
                        ["--change-block-size", f"-S{bits}", *GIVEN]) for bits in range(10, 27))


def describe_image(path):
    done = subprocess.run([tap.tool("DWARFSCK"), "-j", path], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


@functools.cache
def given_images():
    """Images by other writers without holes, each with its manifest and options for its times."""
    found = []
    for given in images.load():
        info = None if given.refused else describe_image(given.path)
        if not info or "sparsefiles" in info["features"] or not absent.can_read(given.path):
            continue
        rows = images.manifest(given, as_shown=True)
        for row in rows.values():
            row["sha256"] = None if row["sha256"] == "-" else row["sha256"]
        times = ["--time-resolution=1s"] if info["time_resolution_ns"] < NANO else []
        found.append((given, rows, times))
    return found


def check_given(mkdwarfs, reader, image, options):
    """Each of these images, written anew, against its manifest; how many there are. Hard links before
    format 2.3 are not those of the manifest: equal files share an inode there."""
    for given, rows, times in given_images():
        try:
            check(mkdwarfs, reader, given.path, rows, image, [*options, *times],
                  links=given.minor >= 3)
        except AssertionError as error:
            raise AssertionError(f"{given}: {error}") from None
    return len(given_images())


def main():
    if sys.argv[2:] == ["build"]:
        build(os.path.abspath(sys.argv[1]))
        return
    try:
        mkdwarfs = tap.tool("MKDWARFS")
    except tap.Skip as reason:
        tap.skip_all(reason)
    reader = build(os.path.abspath(sys.argv[1]))
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-interop-") as scratch:
        source = os.path.join(scratch, "source")
        tree.make(source, plain=True, huge=False)
        labelled = label(source)
        expected = walker.describe(source)
        image = os.path.join(scratch, "image")
        for name, options in VARIANTS.items():
            with suite.case(name):
                absent.need_for_options(options)
                check(mkdwarfs, reader, source, expected, image, options)
            if os.path.exists(image):
                os.unlink(image)
        with suite.case("there are extended attributes in these images"):
            if not labelled:
                raise tap.Skip("no extended attributes where temporary files are")
            subprocess.run([mkdwarfs, "-i", source, "-o", image, "-l1", "--no-progress"],
                           check=True, capture_output=True)
            done = subprocess.run([tap.tool("DWARFSCK"), "-j", image], check=True,
                                  capture_output=True, text=True)
            assert '"XATTRS"' in done.stdout, done.stdout
            os.unlink(image)
        with suite.case("from an archive"):
            archive = os.path.join(scratch, "archive")
            with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as out:
                out.add(source, ".")
            check(mkdwarfs, reader, archive,
                  {path: row for path, row in expected.items() if row["type"] != "s"}, image,
                  ["-l", "1"])
            os.unlink(archive)
        given = os.path.join(scratch, "given")
        with suite.case("an image to be rewritten"):
            check(mkdwarfs, reader, source, expected, given, ["-l1", "-S16"])
        for name, options in REWRITES.items():
            with suite.case("an image " + name):
                absent.need_for_options(options)
                check(mkdwarfs, reader, given, expected, image,
                      [word.format(image=given, source=source) for word in options])
        for name, options in GIVEN_MODES.items():
            with suite.case("images by other writers " + name):
                absent.need_for_options(options)
                checked = check_given(mkdwarfs, reader, image, options)
                print(f"# {checked} images")
                assert checked > 10, checked
        # The reader takes offsets of 32 bits, and no sum that wraps around: one image cannot have
        # all of them, nor times before and after 1970.
        for years in [[year] for year in dated.YEARS] + [[1906, 1969], [1970, 2038, 2100]]:
            with suite.case("times of " + ", ".join(map(str, years))):
                folder = os.path.join(scratch, f"dated-{years[0]}-{len(years)}")
                dated.make(folder, years, own=years[0])
                for options in (["-l1"], ["-l7", "--time-resolution=1ns"]):
                    check(mkdwarfs, reader, folder, walker.describe(folder), image, options)
                os.unlink(image)
        with suite.case("numbers, packed as differences"):
            folder = os.path.join(scratch, "numbers")
            os.mkdir(folder)
            dice = random.Random(3)
            numbers = array.array("I", itertools.accumulate(
                7 if number % 8 else dice.randrange(50) for number in range(270000)))
            with open(os.path.join(folder, "numbers"), "wb") as out:
                out.write(numbers.tobytes())
            sizes = []
            for options in (["-C", "lzma:level=1"], ["-C", "lzma:level=1:adapt"], ["-l7"]):
                absent.need_for_options(options)
                check(mkdwarfs, reader, folder, walker.describe(folder), image, options)
                sizes.append(os.path.getsize(image))
                os.unlink(image)
            assert max(sizes[1:]) < 0.95 * sizes[0], sizes
        with suite.case("an empty directory"):
            empty = os.path.join(scratch, "empty")
            os.mkdir(empty)
            check(mkdwarfs, reader, empty, walker.describe(empty), image, [])
        rich_tree = os.path.join(scratch, "rich")
        inputs = os.path.join(os.environ.get("DWARFS_TEST_DATA", ""), "inputs")
        rich.make(rich_tree, inputs if os.path.isdir(inputs) else None, plain=True)
        expected = walker.describe(rich_tree)
        listed = os.path.join(scratch, "list")
        with open(listed, "w", encoding="utf-8") as out:
            out.writelines(f"{path}\n" for path in sorted(map(os.fsdecode, expected))[::-2]
                           if "\n" not in path)
        for name, options in RICH_VARIANTS.items():
            with suite.case(name):
                absent.need_for_options(options)
                check(mkdwarfs, reader, rich_tree, expected, image,
                      [word.replace("{list}", listed) for word in options])
            if os.path.exists(image):
                os.unlink(image)
    suite.finish()


main()
