# SPDX-License-Identifier: MIT
"""Our images, as the crate `dwarfs` 0.2.1 reads them.

test_interop.py BUILD_DIRECTORY

The crate is an independent reader. It knows formats 2.3 to 2.5, no holes, whole seconds, and
names in UTF-8; it misreads a packed shared-files table. What is packed here keeps to that.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import absent
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
    "lzma": ["-C", "lzma:level=5"],
    "zstd metadata": ["-l", "1", "--metadata-compression", "zstd:level=3"],
    "lzma metadata": ["-l", "1", "--metadata-compression", "lzma:level=3"],
    "all times": ["-l", "1", "--keep-all-times"],
    "one owner and time": ["-l", "1", "--set-owner", "33", "--set-group", "44", "--set-time",
                           "1700000000"],
})


def build(directory):
    """The reader's program; skips where it cannot be built for want of tools."""
    cargo = shutil.which("cargo")
    if not cargo:
        tap.skip_all("no cargo here (Debian: cargo-web and rustc-web)")
    environment = dict(os.environ, CARGO_TARGET_DIR=os.path.join(directory, "cargo"))
    for variable in ("CFLAGS", "RUSTFLAGS", "LDFLAGS"):
        environment.pop(variable, None)
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


def unescape(field):
    parts = iter(field)
    table = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}
    return "".join(table[next(parts)] if part == "\\" else part for part in parts).encode()


def read(reader, image):
    done = subprocess.run([reader, image], capture_output=True)
    assert done.returncode == 0, f"the reader refuses it: {done.stderr.decode()}"
    rows = {}
    for line in done.stdout.decode().rstrip("\n").split("\n"):
        path, kind, mode, uid, gid, mtime, size, inode, rdev, target, sha256 = line.split("\t")
        assert unescape(path) not in rows, f"{path} is listed twice"
        rows[unescape(path)] = {
            "type": kind, "mode": int(mode, 8), "uid": int(uid), "gid": int(gid),
            "mtime": int(mtime) * NANO, "size": int(size), "inode": int(inode),
            "rdev": None if rdev == "-" else (os.major(int(rdev)), os.minor(int(rdev))),
            "target": unescape(target) if kind == "l" else None,
            "sha256": sha256 if kind == "f" else None}
    return rows


def check(mkdwarfs, reader, source, expected, image, options):
    done = subprocess.run([mkdwarfs, "-i", source, "-o", image, "--no-sparse-files",
                           "--with-devices", "--with-specials", "--no-progress", *options],
                          capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, f"mkdwarfs ended with {done.returncode}: {done.stderr}"
    expected = {path: dict(row) for path, row in expected.items()}
    if "--set-owner" in options:
        for row in expected.values():
            row.update(uid=33, gid=44, mtime=1700000000 * NANO)
    walker.must_agree(expected, read(reader, image), resolution_ns=NANO,
                      columns=("type", "mode", "uid", "gid", "mtime", "size", "rdev", "target",
                               "sha256"))


def main():
    try:
        mkdwarfs = tap.tool("MKDWARFS")
    except tap.Skip as reason:
        tap.skip_all(reason)
    reader = build(os.path.abspath(sys.argv[1]))
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-interop-") as scratch:
        source = os.path.join(scratch, "source")
        tree.make(source, plain=True, huge=False)
        expected = walker.describe(source)
        image = os.path.join(scratch, "image")
        for name, options in VARIANTS.items():
            with suite.case(name):
                absent.need_for_options(options)
                check(mkdwarfs, reader, source, expected, image, options)
            if os.path.exists(image):
                os.unlink(image)
        with suite.case("an empty directory"):
            empty = os.path.join(scratch, "empty")
            os.mkdir(empty)
            check(mkdwarfs, reader, empty, walker.describe(empty), image, [])
    suite.finish()


main()
