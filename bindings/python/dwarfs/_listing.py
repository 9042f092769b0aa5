# SPDX-License-Identifier: MIT
"""The regular files of directories, listed by the workers of an executor.

A worker lists directories and those below them until it has found enough entries, and compares the
small files with others by a digest. It returns the files and the directories that are left, which
are given to workers in batches. Which worker lists a directory does not change what is found.
"""
from __future__ import annotations

import collections
import contextlib
import os
import stat
from typing import Any, Iterable, Iterator, Union

from . import _dwarfs
from ._builder import Builder
from ._look import HEAD_BYTES, Look, look_at
from ._tasks import Tasks

#: Each a path in the image and an absolute directory.
Roots = tuple[tuple[str, str], ...]
# These are not named tuples, which take twice as long to be sent.
#: A path in the image, the number of the root that has the file, and its size.
File = tuple[str, int, int]
#: A file, and what is in it if it was read.
Found = tuple[File, Union[Look, None]]
# A path in the image, and the numbers of the roots that have the directory.
_Directory = tuple[str, tuple[int, ...]]

BATCH_FILES = 2000
BATCH_BYTES = 64 << 20
_BATCH_DIRECTORIES = 256
_LONG_PATH = 700  # characters: with a name, systems take at least 1024 bytes at once
_NAMES_AT_ONCE = 3
# Instead of the size of a file.
_IS_DIRECTORY = -1
_IS_OTHER = -2


def is_one_directory(roots: Roots) -> bool:
    return len(roots) == 1 and not roots[0][0]


def source_of(roots: Roots, root: int, path: str) -> str:
    """The file or directory on disk for a path in the image."""
    prefix, directory = roots[root]
    return directory + path[len(prefix):] if prefix else f"{directory}/{path}"


# -- by the caller ----------------------------------------------------------------------------


def list_files(tasks: Tasks, roots: Roots, filters: list[str], workers: int) -> Iterator[Found]:
    """All regular files that the filters let in. Twice as many batches as workers are given out at
    a time, so that their results are few."""
    # The next one last: then fewer are waiting.
    waiting: list[_Directory] = [("", tuple(range(len(roots))))]
    most = 2 * workers
    while waiting or tasks:
        while waiting and len(tasks) < most:
            count = min(-(-len(waiting) // (most - len(tasks))), _BATCH_DIRECTORIES)
            tasks.add(_list, roots, waiting[:-count - 1:-1], filters)
            del waiting[-count:]
        files, directories = tasks.take()
        waiting += reversed(directories)
        yield from files


def list_paths(tasks: Tasks, roots: Roots, paths: Iterable[str], workers: int) -> Iterator[Found]:
    """The regular files of a list of paths."""
    waiting = list(dict.fromkeys(path.replace(os.sep, "/") for path in paths))
    waiting.reverse()
    while waiting or tasks:
        while waiting and len(tasks) < 2 * workers:
            tasks.add(_stat, roots, waiting[:-BATCH_FILES - 1:-1])
            del waiting[-BATCH_FILES:]
        yield from tasks.take()


# -- by a worker ------------------------------------------------------------------------------


def _list(roots: Roots, directories: list[_Directory],
          filters: list[str]) -> tuple[list[Found], list[_Directory]]:
    """The files in directories and below them, and the directories that are left."""
    waiting = collections.deque(directories)
    files: list[File] = []
    count = 0
    while waiting and count < BATCH_FILES:
        level: list[File] = []
        below: list[_Directory] = []
        while waiting and count < BATCH_FILES:
            found = _entries(roots, *waiting.popleft())
            level += found[0]
            below += found[1]
            count += len(found[0]) + len(found[1]) + 1
        if filters:
            passing = _passing(filters, level, below)
            level = [file for file in level if file[0] in passing]
            below = [directory for directory in below if directory[0] in passing]
        files += level
        waiting += below
    return _looked_at(roots, files), list(waiting)


def _stat(roots: Roots, paths: list[str]) -> list[Found]:
    files: list[File] = []
    for path in paths:
        with contextlib.suppress(OSError):  # packing reports it
            found = os.lstat(source_of(roots, 0, path))
            if stat.S_ISREG(found.st_mode):
                files.append((path, 0, found.st_size))
    return _looked_at(roots, files)


def _looked_at(roots: Roots, files: list[File]) -> list[Found]:
    """The small files with what is in them, but not more than a batch of them: others may read
    the rest."""
    found: list[Found] = []
    count = read = 0
    for path, root, size in files:
        look = None
        if size <= HEAD_BYTES and count < BATCH_FILES and read < BATCH_BYTES:
            look = look_at(source_of(roots, root, path), True, False)
            count += 1
            read += size
        found.append(((path, root, size), look))
    return found


def _entries(roots: Roots, path: str,
             having: tuple[int, ...]) -> tuple[list[File], list[_Directory]]:
    """The files and directories in a directory of the image. An entry of a later root replaces that
    of an earlier one, but directories are merged."""
    files: dict[str, File] = {}
    directories: dict[str, _Directory] = {}
    for root in having:
        for name, size in _names(roots, root, path):
            below = f"{path}/{name}" if path else name
            if size == _IS_DIRECTORY:
                files.pop(name, None)
                before = directories[name][1] if name in directories else ()
                directories[name] = below, (*before, root)
            else:
                directories.pop(name, None)
                files[name] = below, root, size
    return ([file for file in files.values() if file[2] != _IS_OTHER], list(directories.values()))


def _names(roots: Roots, root: int, path: str) -> list[tuple[str, int]]:
    """Names and sizes in a directory of the image, as far as one root has it."""
    prefix = roots[root][0]
    if len(path) < len(prefix):
        return [(prefix[len(path):].lstrip("/").partition("/")[0], _IS_DIRECTORY)]
    source = source_of(roots, root, path)
    try:
        if len(source) < _LONG_PATH or os.scandir not in os.supports_fd:
            return _scan(source)
        descriptor = _open_directory(source)
        try:
            return _scan(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        return []  # packing reports it


def _scan(directory: str | int) -> list[tuple[str, int]]:
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                size = _IS_OTHER
                if entry.is_dir(follow_symlinks=False):
                    size = _IS_DIRECTORY
                elif entry.is_file(follow_symlinks=False):
                    size = entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue  # packing reports it
            found.append((entry.name, size))
    return found


def _open_directory(path: str) -> int:
    """The descriptor of a directory whose path may be longer than the system takes at once."""
    names = path.strip("/").split("/")
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for first in range(0, len(names), _NAMES_AT_ONCE):
        above = descriptor
        try:
            descriptor = os.open("/".join(names[first:first + _NAMES_AT_ONCE]),
                                 os.O_RDONLY | os.O_DIRECTORY, dir_fd=above)
        finally:
            os.close(above)
    return descriptor


def _passing(filters: list[str], files: list[File], directories: list[_Directory]) -> set[str]:
    """The paths that filter rules let in, by a builder that makes no image."""
    builder = Builder(filters=filters)
    passing = set()

    def collect(handle: Any) -> bool:
        passing.add(_dwarfs.dwarfs_input_path(handle))
        return True
    _dwarfs.dwarfs_builder_set_include(builder._handle, collect)
    builder.add("", mode=stat.S_IFDIR | 0o700)  # there may be no others
    for directory in directories:
        builder.add(directory[0], mode=stat.S_IFDIR | 0o700)
    for file in files:
        builder.add(file[0])
    _dwarfs.dwarfs_builder_scan(builder._handle)
    return passing
