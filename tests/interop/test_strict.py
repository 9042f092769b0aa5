# SPDX-License-Identifier: MIT
"""Our images, by a checker of the rules of the format that shares no code with the library.

Images that pass are accepted by every reader, including upstream's programs, which are not
available here.
"""
import json
import os
import subprocess
import tarfile
import tempfile

import absent
import dated
import decoded
import rich
import strict
import tap
import tree

NANO = 10**9

VARIANTS = {f"level {level}": ["-l", str(level)] for level in (0, 1, 3, 7)}
VARIANTS.update({
    "small blocks": ["-l", "1", "-S", "12"],
    "everything packed": ["-l", "1", "--pack-metadata", "all,force"],
    "plain names": ["-l", "1", "--pack-metadata", "plain"],
    "all times, births": ["-l", "1", "--keep-all-times", "--keep-birth-times",
                          "--time-resolution=1us"],
    "categories": ["-l", "3", "--categorize", "-C", "pcmaudio/waveform::zstd:level=3", "-C",
                   "fits/image::zstd:level=1"],
    "no history": ["-l", "1", "--no-history"],
    "history without a time": ["-l", "1", "--no-history-timestamps"],
    "no index, one time": ["-l", "1", "--no-section-index", "--set-time=1969-12-31"],
    "lzma": ["-C", "lzma:level=1", "--metadata-compression", "lzma:level=1"],
    "lz4": ["-C", "lz4", "--metadata-compression", "lz4"],
})


# Of an image of the tree with holes and special files.
REWRITES = {
    "as an input": [],
    "recompressed": ["--recompress", "-l3"],
    "copied": ["--recompress=none"],
    "rebuilt": ["--rebuild-metadata", "-l1", "-P", "all,force"],
    "rebuilt with plain names": ["--rebuild-metadata", "-l1", "-P", "plain"],
    "in smaller blocks": ["--change-block-size", "-S12", "-l1"],
    "in larger blocks": ["--change-block-size", "-S24", "-l1"],
    "merged with itself below another directory": ["-i", "{image}", "-l1", "--prefix=a/b"],
    "with its directory": ["-i", "{source}", "-l1", "--with-devices", "--with-specials"],
    "without some files": ["-F", "- *a*", "-l1"],
    "repacked": ["--repack", "-l3", "-S14"],
}


def read(path):
    with open(path, "rb") as source:
        return source.read()


def pack(source, *options):
    """The bytes of an image."""
    with tempfile.TemporaryDirectory(prefix="dwarfs-strict-") as scratch:
        image = os.path.join(scratch, "image")
        done = subprocess.run([tap.tool("MKDWARFS"), "-i", source, "-o", image, "--no-progress",
                               *options], capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stderr
        assert "1970" not in done.stderr, done.stderr
        return read(image)


def must_break(data, rule):
    try:
        strict.check(data)
    except decoded.Broken as error:
        assert rule in str(error), error
    else:
        raise AssertionError(f"passes, though it breaks the rule: {rule}")


# -- history --------------------------------------------------------------------------------------

def text(value):
    return bytes([len(value)]) + value


def history(version):
    """A history of one step; version: what follows its three numbers."""
    step = b"\x1c" + b"\x14\x00\x14\x02\x14\x00" + version + b"\0"
    return b"\x19\x1c" + step + b"\x18" + text(b"Linux") + b"\x18" + text(b"GNU") + b"\0" + b"\0"


def check_histories(source):
    image = pack(source, "-l1", "--no-section-index")
    assert strict.check(image).history[0]["version"]["is_release"] is True

    def changed(version):
        return decoded.replaced(image, decoded.HISTORY, history(version))

    strict.check(changed(b"\x11" + b"\x38" + text(b"us 1.0")))
    strict.check(changed(b"\x12" + b"\x28" + text(b"main") + b"\x18" + text(b"us 1.0")))
    must_break(changed(b"\x12" + b"\x38" + text(b"us 1.0")), "neither a release nor a git_branch")
    must_break(changed(b"\x48" + text(b"us 1.0")), "neither a release nor a git_branch")
    must_break(changed(b"\x11" + b"\x28" + text(b"main")), "no git_desc")


# -- times ----------------------------------------------------------------------------------------

def must_be_exported(data, metadata):
    """As text, by dwarfsck: field by field the same."""
    with tempfile.TemporaryDirectory(prefix="dwarfs-strict-") as scratch:
        path, text = os.path.join(scratch, "image"), os.path.join(scratch, "text")
        with open(path, "wb") as out:
            out.write(data)
        subprocess.run([tap.tool("DWARFSCK"), "--export-metadata=" + text, path], check=True,
                       capture_output=True)
        with open(text, encoding="utf-8") as source:
            exported = json.load(source)
    assert exported["timestamp_base"] == metadata["timestamp_base"], exported["timestamp_base"]
    assert exported["inodes"] == metadata["inodes"], exported["inodes"]
    for name, value in exported["options"].items():
        assert metadata["options"][name] == value, (name, value)


def check_times(folder, times):
    for resolution, step in (("1ns", 1), ("1ms", 10**6), ("1s", NANO), ("1h", 3600 * NANO)):
        data = pack(folder, "-l1", "--keep-all-times", "--time-resolution", resolution)
        image = strict.check(data)
        metadata, paths = image.metadata, image.paths()
        must_be_exported(data, metadata)
        assert set(paths) == set(times), paths
        base = metadata["timestamp_base"]
        stored = [(base + row["mtime_offset"]) % (1 << 64) for row in metadata["inodes"]]
        # Times before 1970 are the largest numbers without a sign.
        assert base == min(stored + [(base + row["atime_offset"]) % (1 << 64)
                                     for row in metadata["inodes"]]), (base, stored)
        options, unit = metadata["options"], max(step // NANO, 1)
        assert (options["time_resolution_sec"] or 1) == unit
        fraction = step if step < NANO else None
        assert options["subsecond_resolution_nsec_multiplier"] == fraction, options
        for path, expected in times.items():
            row = metadata["inodes"][paths[path]]
            assert image.time(paths[path]) == expected // step * step, (path, resolution)
            assert (base + row["mtime_offset"]) % (1 << 64) == \
                expected // NANO // unit % (1 << 64), (path, resolution)
            if fraction:
                assert row["mtime_subsec"] == expected % NANO // step, (path, resolution)


def check_early_only(folder):
    """All before 1970: then the base is the earliest, and offsets are small."""
    for time in "1969-12-31", "-1", "1906-01-01T00:00:00.5":
        image = strict.check(pack(folder, "-l1", "--set-time", time, "--time-resolution=100ms"))
        assert image.metadata["timestamp_base"] >> 63 == 1, time
        assert all(row["mtime_offset"] == 0 for row in image.metadata["inodes"]), time
    assert image.time(0) == -2019686400 * NANO + NANO // 2, image.time(0)


def main():
    try:
        tap.tool("MKDWARFS")
        decoded.hashes(b"")
    except (tap.Skip, decoded.Unavailable) as reason:
        tap.skip_all(reason)
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-strict-") as scratch:
        source = os.path.join(scratch, "source")
        tree.make(source, huge=False)
        rich_tree = os.path.join(scratch, "rich")
        inputs = os.path.join(os.environ.get("DWARFS_TEST_DATA", ""), "inputs")
        rich.make(rich_tree, inputs if os.path.isdir(inputs) else None)
        for name, options in VARIANTS.items():
            with suite.case(name):
                absent.need_for_options(options)
                kinds = [] if "categories" in name else ["--with-devices", "--with-specials"]
                strict.check(pack(rich_tree if "categories" in name else source, *kinds, *options))
        with suite.case("from an archive"):
            archive = os.path.join(scratch, "archive")
            with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as out:
                out.add(source, ".")
            strict.check(pack(archive, "-l1"))
        given = os.path.join(scratch, "given")
        with suite.case("an image to be rewritten"):
            with open(given, "wb") as out:
                out.write(pack(source, "-l1", "-S16", "--with-devices", "--with-specials"))
            strict.check(read(given))
        for name, options in REWRITES.items():
            with suite.case("an image " + name):
                strict.check(pack(given, *(word.format(image=given, source=source)
                                           for word in options)))
        with suite.case("images by upstream keep the same rules"):
            check_others()
        with suite.case("damaged images do not"):
            check_damaged()
        with suite.case("a history that upstream cannot print is refused"):
            check_histories(source)
        with suite.case("times from 1906 to 2400 are stored as the format says"):
            folder = os.path.join(scratch, "dated")
            check_times(folder, dated.make(folder))
        with suite.case("times before 1970 only"):
            check_early_only(source)
    suite.finish()


def check_others():
    folder = tap.data("images", "v0.15.3")
    checked = 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".dwarfs"):
            continue
        try:
            strict.check(read(os.path.join(folder, name)))
            checked += 1
        except decoded.Unavailable:
            continue
        except decoded.Broken as error:
            # Images after a prefix, or of old formats: not supported by this checker.
            assert str(error).startswith("no section at 0") or str(error) == "no entries", \
                f"{name}: {error}"
    assert checked > 10, checked


def check_damaged():
    folder = tap.data("badfs", "crafted")
    for name in sorted(os.listdir(folder)):
        try:
            strict.check(read(os.path.join(folder, name)))
        except decoded.Unavailable:
            continue
        except (decoded.Broken, IndexError):
            continue
        raise AssertionError(f"{name} passes")


main()
