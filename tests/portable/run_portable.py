#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run test_portable in a temporary folder.

run_portable.py PROGRAM [ARGUMENT...]    an emulator may be first
"""
import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory(prefix="dwarfs-portable-") as folder:
    sys.exit(subprocess.run([*sys.argv[1:], os.path.join(folder, "new")], check=False).returncode)
