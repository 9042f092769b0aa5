#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the three data sets of the comparison below a directory.

    bench/datasets.py DIRECTORY [--only releases,rootfs,logs]

releases  24 releases of Django, each wheel unpacked into a directory named by its version, with
          times and modes like those unpacking leaves, but always the same. Fetched by pip as it
          is set up on this machine.
rootfs    a Debian bookworm made by debootstrap (minbase, gcc, python3, libcap2-bin), without
          package lists and archives, with its device nodes: needs root.
logs      32 days of synthetic XML and CSV logs, from data/genlogs.py in the directory named by
          DWARFS_TEST_DATA (../shared beside the source root if that is not set).

A set is made under a temporary name and gets its own when it is complete: a second run makes what
is missing and leaves the rest alone. Wheels stay in DIRECTORY/wheels.
"""
import argparse
import os
import shutil
import stat
import subprocess
import sys
import time
import zipfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VERSIONS = ("2.0.13 2.1.15 2.2.28 3.0.14 3.1.14 3.2.1 3.2.10 3.2.18 3.2.25 4.0.1 4.0.10 4.1.1 "
            "4.1.7 4.1.13 4.2.1 4.2.10 4.2.20 4.2.30 5.0.1 5.0.14 5.1.1 5.1.15 5.2.1 "
            "5.2.19").split()
PACKAGES = "gcc,python3,libcap2-bin"
EXPECTED = {"releases": 85341}
DAYS = 32
BEGAN = 1_750_000_000_000_000_000  # ns: when the first file was unpacked, so to speak
STEP = 400_000  # ns from one file to the next


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--only", default="releases,rootfs,logs", help="sets to make, by comma")
    return parser.parse_args()


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def contents(directory: str) -> tuple[int, int]:
    """Count the regular files below a directory and their bytes."""
    files = size = 0
    for path, _, names in os.walk(directory):
        for name in names:
            status = os.lstat(os.path.join(path, name))
            if stat.S_ISREG(status.st_mode):
                files += 1
                size += status.st_size
    return files, size


def wheel(directory: str, version: str) -> str:
    """The path of one release's wheel, fetched if it is not there."""
    def have() -> list[str]:
        return [name for name in os.listdir(directory)
                if name.lower().startswith(f"django-{version}-") and name.endswith(".whl")]
    os.makedirs(directory, exist_ok=True)
    if not have():
        say(f"releases: fetching {version}")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--only-binary=:all:", "--ignore-requires-python", "--dest", directory,
                        f"Django=={version}"], check=True)
    return os.path.join(directory, have()[0])


def stamp(path: str, mode: int, number: int) -> None:
    """The mode and time unpacking leaves: one entry after another, at uneven distances."""
    when = BEGAN + number * STEP + zlib.crc32(os.fsencode(os.path.basename(path))) % STEP
    os.chmod(path, mode)
    os.utime(path, ns=(when, when))


def stamp_all(directory: str) -> None:
    """The same modes and times for everybody who makes the set, in the order of the versions."""
    number = 0
    for version in VERSIONS:
        for path, below, names in os.walk(os.path.join(directory, version), topdown=True):
            below.sort()
            for name in sorted(names):
                stamp(os.path.join(path, name), 0o644, number)
                number += 1
        for path, _, _ in os.walk(os.path.join(directory, version)):
            stamp(path, 0o755, number)
    stamp(directory, 0o755, number)


def make_releases(directory: str, top: str) -> None:
    os.makedirs(directory)
    for version in VERSIONS:
        with zipfile.ZipFile(wheel(os.path.join(top, "wheels"), version)) as source:
            source.extractall(os.path.join(directory, version))
    stamp_all(directory)


def make_rootfs(directory: str, _top: str) -> None:
    if os.geteuid() != 0:
        sys.exit("rootfs: debootstrap needs root")
    if not shutil.which("debootstrap"):
        sys.exit("rootfs: no debootstrap here (Debian: debootstrap)")
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm",
                    directory], check=True, stdout=subprocess.DEVNULL)
    for part in ("var/lib/apt/lists", "var/cache/apt/archives"):
        for entry in os.scandir(os.path.join(directory, part)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
    subprocess.run(["sync"], check=True)


def make_logs(directory: str, _top: str) -> None:
    data = os.environ.get("DWARFS_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared"))
    script = os.path.join(data, "data", "genlogs.py")
    if not os.path.exists(script):
        sys.exit(f"logs: no data/genlogs.py in {data} (DWARFS_TEST_DATA names that directory)")
    subprocess.run([sys.executable, script, directory], check=True)
    if len(os.listdir(directory)) != DAYS:
        sys.exit(f"logs: {directory} has not {DAYS} days")


MAKERS = {"releases": make_releases, "rootfs": make_rootfs, "logs": make_logs}


def discard(directory: str) -> None:
    """Remove an unfinished set; debootstrap may have left file systems mounted in it."""
    for part in ("proc", "sys"):
        if os.path.ismount(os.path.join(directory, part)):
            subprocess.run(["umount", os.path.join(directory, part)], check=True)
    shutil.rmtree(directory)


def make(name: str, top: str) -> None:
    directory = os.path.join(top, name)
    partial = directory + ".partial"
    if os.path.exists(directory):
        say(f"{name}: there already")
    else:
        if os.path.exists(partial):
            say(f"{name}: removing an unfinished one")
            discard(partial)
        say(f"{name}: making it")
        MAKERS[name](partial, top)
        os.rename(partial, directory)
    files, size = contents(directory)
    say(f"{name}: {files} files, {size} bytes")
    if EXPECTED.get(name, files) != files:
        sys.exit(f"{name}: {EXPECTED[name]} files were expected")


def main() -> None:
    arguments = parse()
    names = arguments.only.split(",")
    unknown = sorted(set(names) - set(MAKERS))
    if unknown:
        sys.exit(f"no set named {', '.join(unknown)}; there are {', '.join(MAKERS)}")
    top = os.path.abspath(arguments.directory)
    os.makedirs(top, exist_ok=True)
    for name in names:
        make(name, top)


if __name__ == "__main__":
    main()
