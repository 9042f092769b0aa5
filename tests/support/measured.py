# SPDX-License-Identifier: MIT
"""Run a program on hostile input: its exit code, output and peak memory; or measure the memory
alone."""
import os
import subprocess
import tempfile
import time

import tap

SECONDS_EACH = 30


def with_peak(*command):
    """Run a program that writes nothing to standard output: the finished process, and the peak of
    its memory in bytes as counted by the kernel."""
    done = subprocess.run([tap.tool("PEAK_MEMORY"), *command], capture_output=True, text=True,
                          check=False, timeout=300)
    assert done.stdout, f"{command} cannot be started"
    return done, int(done.stdout) << 10


class Run:
    """A finished program, with its output (.text) and its peak memory (.resident)."""

    def __init__(self, *command):
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log)
            deadline = time.monotonic() + SECONDS_EACH
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    process.kill()
                    process.wait()
                    raise AssertionError(f"{command} hangs")
                time.sleep(0.0005)
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.resident = usage.ru_maxrss << 10
            log.seek(0)
            self.text = log.read().decode("utf-8", "replace")
