# SPDX-License-Identifier: MIT
"""Let system calls of a program fail, or log them: see faults.c."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

import tap


@functools.cache
def _library(compiler):
    """The preloaded library, which is built once."""
    directory = tempfile.mkdtemp(prefix="dwarfs-faults-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.chmod(directory, 0o755)
    library = os.path.join(directory, "faults.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"], check=True)
    return library


def environment(faults="", log=None):
    """The environment of a program in which these calls fail."""
    if os.environ.get("DWARFS_SANITIZED"):
        raise tap.Skip("a sanitizer must be loaded first")
    if os.environ.get("DWARFS_STATIC"):
        raise tap.Skip("nothing can be preloaded into a static program")
    compiler = os.environ.get("DWARFS_CC") or shutil.which("cc")
    if not compiler:
        raise tap.Skip("no compiler")
    return tap.preloading(_library(compiler), {**os.environ, "DWARFS_FAULT": faults,
                                               **({"DWARFS_FAULT_LOG": log} if log else {})})
