# SPDX-License-Identifier: MIT
"""A temporary folder for trees and images of a test of the programs."""
import atexit
import contextlib
import ctypes
import ctypes.util
import os
import struct
import subprocess
import tempfile

import tap

NOBODY = 65534
scratch = tempfile.mkdtemp(prefix="dwarfs-test-", dir=tap.disk())
os.chmod(scratch, 0o755)


@atexit.register
def remove_unused():
    with contextlib.suppress(OSError):
        os.rmdir(scratch)


def place(name):
    return os.path.join(scratch, name)


def write(path, contents=b"", mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(contents)
    os.chmod(path, mode)


def read(path):
    with open(path, "rb") as source:
        return source.read()


def pack(tree, *options):
    """The image of a tree, in the same folder."""
    image = tree + ".dwarfs"
    subprocess.run([tap.tool("MKDWARFS"), "-i", tree, "-o", image, "--force", "--no-progress",
                    "--log-level=warn", *(options or ("-l1",))], check=True)
    return image


def extract(*arguments, **how):
    """Run it; returns standard output and error as text."""
    find = tap.tool_for_anybody if "user" in how else tap.tool
    return subprocess.run([find("DWARFSEXTRACT"), *arguments], capture_output=True,
                          text=True, timeout=300, **how)


def must_fail(done, *texts):
    assert done.returncode == 1, done
    for text in texts:
        assert text in done.stderr, done.stderr


def must_work(done):
    assert done.returncode == 0 and not done.stderr, done


def need_root():
    if os.geteuid() != 0:
        raise tap.Skip("needs root")


@contextlib.contextmanager
def file_system(options, kind="tmpfs", source="tmpfs"):
    """Mount a small file system."""
    need_root()
    path = tempfile.mkdtemp(prefix="disk-", dir=scratch)
    done = subprocess.run(["mount", "-t", kind, "-o", options, source, path],
                          capture_output=True, text=True)
    if done.returncode:
        raise tap.Skip(f"cannot mount {kind}: " + done.stderr.strip().split("\n")[0])
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def remove_tree():
    """Remove the folder with all its contents."""
    subprocess.run(["chmod", "-R", "u+rwx", scratch], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", scratch], check=False)


def with_names(image, changes):
    """A copy of an image in which names in the metadata are replaced, with recomputed hashes."""
    try:
        xxh3 = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0").XXH3_64bits
    except OSError:
        raise tap.Skip("no libxxhash") from None
    xxh3.restype = ctypes.c_uint64
    xxh3.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    contents, at = bytearray(read(image)), 0
    while at < len(contents):
        kind, packing, length = struct.unpack_from("<HHQ", contents, at + 0x34)
        end = at + 64 + length
        if kind == 8:
            assert packing == 0, "the metadata is compressed"
            for old, new in changes.items():
                assert contents.count(old, at, end) == 1, old
                place_of = contents.index(old, at, end)
                contents[place_of:place_of + len(old)] = new
            covered = bytes(contents[at + 0x30:end])
            struct.pack_into("<Q", contents, at + 0x28, xxh3(covered, len(covered)))
        at = end
    changed = image + ".changed"
    with open(changed, "wb") as out:
        out.write(contents)
    return changed
