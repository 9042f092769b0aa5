# SPDX-License-Identifier: MIT
"""Check that clang-format would change nothing: it is as .clang-format says.

test_format.py SOURCE_ROOT [CLANG_FORMAT]
"""
import os
import shutil
import subprocess
import sys

import tap

FOLDERS = ("include", "lib", "utils", "tests", "fuzz", "examples", "bindings", "bench")
VERSION = "14."  # others differ in details


def sources(root):
    return sorted(os.path.join(parent, name) for folder in FOLDERS
                  for parent, _, names in os.walk(os.path.join(root, folder))
                  for name in names if name.endswith((".c", ".h")))


def main(root, program="clang-format"):
    program = shutil.which(program)
    if not program:
        tap.skip_all("no clang-format (Debian: clang-format)")
    version = subprocess.run([program, "--version"], capture_output=True, text=True,
                             check=True).stdout
    if f"version {VERSION}" not in version:
        tap.skip_all(f"clang-format is not version {VERSION}x: {version.strip()}")
    paths = sources(root)
    suite = tap.Suite()
    with suite.case(f"{len(paths)} files are formatted"):
        assert len(paths) > 300, len(paths)
        done = subprocess.run([program, "--dry-run", "--ferror-limit=1", *paths],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        places = [line for line in done.stderr.splitlines() if "-Wclang-format" in line]
        files = sorted({os.path.relpath(line.split(":")[0], root) for line in places})
        assert not files, "run clang-format -i " + " ".join(files)
    suite.finish()


main(*sys.argv[1:])
