# SPDX-License-Identifier: MIT
"""Let system calls of a program fail, or log them: see faults.c."""
import os
import shutil
import subprocess

import tap


def environment(directory, faults="", log=None):
    """The environment of a program in which these calls fail; the preloaded library is built in
    directory."""
    if os.environ.get("DWARFS_SANITIZED"):
        raise tap.Skip("a sanitizer must be loaded first")
    if os.environ.get("DWARFS_STATIC"):
        raise tap.Skip("nothing can be preloaded into a static program")
    compiler = os.environ.get("DWARFS_CC") or shutil.which("cc")
    if not compiler:
        raise tap.Skip("no compiler")
    library = os.path.join(directory, "faults.so")
    if not os.path.exists(library):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"],
                       check=True)
    return tap.preloading(library, {**os.environ, "DWARFS_FAULT": faults,
                                    **({"DWARFS_FAULT_LOG": log} if log else {})})
