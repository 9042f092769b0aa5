# SPDX-License-Identifier: MIT
"""A folder for trees and images that a test of the programs makes, and removes at its end."""
import atexit
import contextlib
import os
import subprocess
import tempfile

import tap

NOBODY = 65534
scratch = tempfile.mkdtemp(prefix="dwarfs-test-")
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
    """The image of a tree, beside it."""
    image = tree + ".dwarfs"
    subprocess.run([tap.tool("MKDWARFS"), "-i", tree, "-o", image, "--force", "--no-progress",
                    "--log-level=warn", *(options or ("-l1",))], check=True)
    return image
