# SPDX-License-Identifier: MIT
"""What bench/bindings.py measures, in Python: images, and zip and tar archives of the same tree.

    read_all.py TIMES LIST IMAGE [ZIP TAR]
"""
import stat
import sys
import tarfile
import zipfile

import dwarfs

try:
    import fsspec
    import dwarfs.fsspec
    dwarfs.fsspec.register()
except ImportError:
    fsspec = None
try:
    import libarchive
except Exception:  # it is there, but not the library
    libarchive = None

SOME = 20


def job(reader, name, call, *arguments):
    print(f"begin\t{reader}\t{name}", flush=True)
    sys.stdin.readline()
    print("end", *call(*arguments), sep="\t", flush=True)


def summed(sizes):
    """The number of files, and their bytes."""
    sizes = list(sizes)
    return len(sizes), sum(sizes)


def image_all(path):
    with dwarfs.open(path) as image:
        return summed(len(found.read_bytes()) for found in image.walk()
                      if stat.S_ISREG(found.lstat().st_mode))


def image_listed(path, names):
    with dwarfs.open(path) as image:
        return summed(len((image / name).read_bytes()) for name in names)


def image_stat(image, names):
    return summed((image / name).stat().st_size for name in names)


def zip_all(path):
    with zipfile.ZipFile(path) as archive:
        return summed(len(archive.read(member)) for member in archive.infolist()
                      if not member.is_dir())


def zip_listed(path, names):
    with zipfile.ZipFile(path) as archive:
        return summed(len(archive.read(name)) for name in names)


def tar_all(path):
    with tarfile.open(path) as archive:
        return summed(len(archive.extractfile(member).read()) for member in archive
                      if member.isfile())


def tar_listed(path, names):
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive}
        return summed(len(archive.extractfile(members[name]).read()) for name in names)


def open_fsspec(protocol, path):
    dwarfs.fsspec._opened.clear()  # images that are open, with their caches
    return fsspec.filesystem(protocol, fo=path, skip_instance_cache=True)


def fsspec_all(protocol, path):
    system = open_fsspec(protocol, path)
    return summed(len(system.cat_file(name)) for name in system.find(""))


def fsspec_listed(protocol, path, names):
    system = open_fsspec(protocol, path)
    return summed(len(system.cat_file(name)) for name in names)


def archives(names, image, zipped, tar):
    job("Python, zipfile", "all", zip_all, zipped)
    job("Python, zipfile", "random", zip_listed, zipped, names)
    job("Python, tarfile", "all", tar_all, tar)
    job("Python, tarfile", "random", tar_listed, tar, names)
    if fsspec:
        for protocol, path in ("dwarfs", image), ("zip", zipped):
            job(f"Python, fsspec {protocol}", "all", fsspec_all, protocol, path)
            job(f"Python, fsspec {protocol}", "random", fsspec_listed, protocol, path, names)
        # That of libarchive reads from the start of the archive to each file.
        for protocol, path in ("dwarfs", image), ("zip", zipped), ("libarchive", zipped):
            if protocol != "libarchive" or libarchive:
                job(f"Python, fsspec {protocol}", "some", fsspec_listed, protocol, path,
                    names[:SOME])


def main():
    times, listed, path, *others = sys.argv[1:]
    with open(listed, encoding="utf-8") as source:
        names = source.read().split("\n")[:-1]
    opened = dwarfs.open(path)
    for _ in range(int(times)):
        job("Python", "all", image_all, path)
        job("Python", "random", image_listed, path, names)
        job("Python", "stat", image_stat, opened, names)
        if others:
            archives(names, path, *others)


main()
