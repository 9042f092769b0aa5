#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the data sets of the comparison below a directory.

    bench/datasets.py DIRECTORY [--only releases,rootfs,logs,...]

releases   24 releases of Django, each wheel unpacked into a directory named by its version
rootfs     a Debian bookworm made by debootstrap (minbase, gcc, python3, libcap2-bin), without
           package lists and archives, with its device nodes: needs root
logs       32 days of synthetic XML and CSV logs, from data/genlogs.py in the directory named by
           DWARFS_TEST_DATA (../shared beside the source root if that is not set)
bundles    6 releases of monaco-editor: bundled and minified scripts, and their source maps
tools      8 releases of a compiler written in Rust (@swc/core-linux-x64-gnu): native programs
compiler   16 releases of typescript: a few large scripts, nearly equal within and between releases
icons      9 releases of bootstrap-icons: many small drawings as text
wheels     6 releases of pandas for CPython 3.11: native libraries and Python
disk       two raw ext4 images of rootfs (which must be there), the second with files added,
           removed and touched: needs mke2fs and root
generated  16 releases of nearly equal large text files, see generate.py
mail       a mail spool, see records.py
table      CSV files and an SQLite database, see records.py
dumps      a table of a database on six days, as SQL and in SQLite, see records.py
photos     pictures, small and large, and sounds, of two of Debian's packages
git        a tree of C and C++ sources (grpc) with its history in packs

Packages are fetched by npm, pip and apt-get as configured on this machine, and kept in
DIRECTORY/fetched. Times of files are set as by unpacking, but always the same. A set is made under
a temporary name and renamed when it is complete: a second run makes missing sets only.
"""
import argparse
import functools
import os
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable

import fetched
import generate
import records

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = "gcc,python3,libcap2-bin"
EXPECTED = {"releases": 85341, "bundles": 7615, "tools": 25, "compiler": 2368,
            "icons": 15864, "wheels": 9086}
DAYS = 32
DISK_BYTES = 700_000_000 // 4096 * 4096


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--only", default=",".join(MAKERS), help="sets to make, with commas")
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
        sys.exit(f"logs: {directory} does not have {DAYS} days")


def make_filesystem(source: str, image: str) -> None:
    """An ext4 file system of a tree, the same for the same tree."""
    settings = {"E2FSPROGS_FAKE_TIME": str(fetched.BEGAN // 10**9),
                "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
    number = "d9a3b6c0-0000-4000-8000-000000000012"
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-U", number, "-E",
                    f"hash_seed={number},lazy_itable_init=0", "-L", "root", "-d", source, image,
                    f"{DISK_BYTES // 1024}k"], check=True, env=os.environ | settings,
                   stdout=subprocess.DEVNULL)
    inodes = sum(1 + len(below) + len(names) for _, below, names in os.walk(source)) + 12
    changes = [f"set_inode_field <{inode}> {field} @{fetched.BEGAN // 10**9}\n"
               for inode in (2, *range(11, inodes)) for field in ("atime", "ctime")]
    subprocess.run(["debugfs", "-w", "-f", "/dev/stdin", image], check=True, text=True,
                   input="".join(changes), env=os.environ | settings, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def change(root: str, top: str) -> None:
    """Changes of a system within some weeks: one package added, documents removed, some files
    touched."""
    archive = fetched.wheel(top, "Django", fetched.DJANGO[-1], [])
    added = os.path.join(root, "usr", "lib", "python3", "dist-packages")
    with zipfile.ZipFile(archive) as source:
        source.extractall(added)
    shutil.rmtree(os.path.join(root, "usr", "share", "doc"))
    with open(os.path.join(root, "etc", "hosts"), "a", encoding="ascii") as out:
        out.write("10.0.0.1 router\n" * 40)
    fetched.stamp_all(added, sorted(os.listdir(added)))
    for number, name in enumerate(("usr/share", "etc", "etc/hosts", "etc/passwd", "usr/bin/gcc-12",
                                   "usr/bin/python3.11", "var/log/dpkg.log")):
        path = os.path.join(root, name)
        fetched.stamp(path, os.stat(path).st_mode & 0o7777, number)


def make_disk(directory: str, top: str) -> None:
    if os.geteuid() != 0:
        sys.exit("disk: a tree with device nodes needs root")
    rootfs = os.path.join(top, "rootfs")
    if not os.path.isdir(rootfs):
        sys.exit("disk: made of rootfs, which is missing")
    os.makedirs(directory)
    make_filesystem(rootfs, os.path.join(directory, "before.img"))
    copy = os.path.join(directory, "copy")
    subprocess.run(["cp", "-a", rootfs, copy], check=True)
    change(copy, top)
    make_filesystem(copy, os.path.join(directory, "after.img"))
    shutil.rmtree(copy)
    fetched.stamp_all(directory, ["before.img", "after.img"])


def make_generated(directory: str, _top: str) -> None:
    fetched.stamp_all(directory, generate.generate(directory))


def make_records(directory: str, top: str, name: str) -> None:
    {"mail": records.make_mail, "table": records.make_table,
     "dumps": records.make_dumps}[name](directory, top)
    fetched.stamp_all(directory, sorted(os.listdir(directory)))


MAKERS: dict[str, Callable[[str, str], None]] = {
    "releases": fetched.make_releases, "rootfs": make_rootfs, "logs": make_logs,
    **{name: functools.partial(fetched.make_npm, name=name) for name in fetched.NPM},
    "wheels": fetched.make_pandas, "disk": make_disk, "generated": make_generated,
    **{name: functools.partial(make_records, name=name) for name in ("mail", "table", "dumps")},
    "photos": fetched.make_pictures, "git": fetched.make_git}


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
