# SPDX-License-Identifier: MIT
"""Mount an image with our driver during a with block."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

import tap


def available():
    """The driver's path; raises tap.Skip with the reason if FUSE is not available."""
    driver = tap.tool("DWARFS")
    if os.environ.get("DWARFS_OTHER_BYTE_ORDER"):
        raise tap.Skip("the kernel has another byte order, also in the messages of FUSE")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise tap.Skip(f"no FUSE here: {error}")
    if not shutil.which("fusermount3"):
        raise tap.Skip("no fusermount3")
    return driver


def _unmount(path, process, log):
    done = subprocess.run(["fusermount3", "-u", path], capture_output=True)
    if done.returncode and os.path.ismount(path):
        subprocess.run(["fusermount3", "-u", "-z", path], capture_output=True)
    try:
        code = process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError("the driver did not end after the unmount")
    log.seek(0)
    text = log.read().decode("utf-8", "replace")
    if code:
        raise AssertionError(f"the driver ended with {code}: {text}")


@contextlib.contextmanager
def mounted(image, *options):
    """Mount an image; gives the path. The driver must exit with 0 after the unmount."""
    driver = available()
    with tempfile.TemporaryDirectory(prefix="dwarfs-mount-") as path, \
            tempfile.TemporaryFile() as log:
        process = subprocess.Popen([driver, image, path, "-f", *options],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while not os.path.ismount(path):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                process.wait()
                log.seek(0)
                text = log.read().decode("utf-8", "replace")
                raise AssertionError(f"mounting {image} failed: {text}")
            time.sleep(0.01)
        try:
            yield path
        finally:
            _unmount(path, process, log)
