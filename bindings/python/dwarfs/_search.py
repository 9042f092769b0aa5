# SPDX-License-Identifier: MIT
"""The distinct contents of the files of directories, found by the workers of an executor."""
from __future__ import annotations

import collections
import itertools
from typing import Any, Iterator, NamedTuple

from ._listing import (BATCH_BYTES, BATCH_FILES, File, Found, Roots, list_files, list_paths,
                       source_of)
from ._look import HEAD_BYTES, Look, look_at
from ._tasks import Tasks


class Content(NamedTuple):
    """What is stored once."""

    paths: tuple[str, ...]  # in the image, of all files that have it
    size: int
    features: tuple[int, ...]


def search(roots: Roots, paths: list[str] | None, filters: list[str], executor: Any,
           retries: int, workers: int, output: frozenset[str]) -> list[Content]:
    """The distinct contents of the regular files that the filters let in, but for those of the
    output.

    The workers list directories and read their small files. Of larger ones, only those of a size
    that occurs twice are read to their end.
    """
    with Tasks(executor, retries) as listing, Tasks(executor, retries) as looking:
        files = (list_files(listing, roots, filters, workers) if paths is None
                 else list_paths(listing, roots, paths, workers))
        found = [(path, size, *look)
                 for (path, _, size), look in _looked_at(files, looking, roots, output)]
    found.sort()
    groups: dict[Any, list[int]] = {}
    for number, (path, size, digest, _) in enumerate(found):
        groups.setdefault((size, digest or path), []).append(number)
    return [Content(tuple(found[number][0] for number in group),
                    found[group[0]][1], found[group[0]][3])
            for group in groups.values()]


def _looked_at(files: Iterator[Found], tasks: Tasks, roots: Roots,
               output: frozenset[str]) -> Iterator[tuple[File, Look]]:
    """All files with what is in them."""
    looks = _Looks(tasks, roots)
    large: list[File] = []
    for file, look in files:
        path, _, size = file
        if path in output:
            continue  # write() leaves it out
        if look is not None:
            yield file, look
        elif size <= HEAD_BYTES:
            looks.add(file, True)
        else:
            large.append(file)
    sizes = collections.Counter(size for _, _, size in large)
    for file in sorted(large):
        looks.add(file, sizes[file[2]] > 1)
    yield from looks.results()


class _Looks:
    """Files that workers read, in batches."""

    def __init__(self, tasks: Tasks, roots: Roots) -> None:
        self._tasks = tasks
        self._roots = roots
        self._files: list[File] = []
        self._batch: list[tuple[str, bool, bool]] = []
        self._bytes = 0

    def add(self, file: File, whole: bool) -> None:
        """Read a file, to its end if it is to be compared with others."""
        path, root, size = file
        self._files.append(file)
        self._batch.append((source_of(self._roots, root, path), whole, size > HEAD_BYTES))
        self._bytes += size if whole else HEAD_BYTES
        if len(self._batch) >= BATCH_FILES or self._bytes >= BATCH_BYTES:
            self._start()

    def _start(self) -> None:
        self._tasks.add(_look_at_files, self._batch)
        self._batch = []
        self._bytes = 0

    def results(self) -> Iterator[tuple[File, Look]]:
        """All files with what was found."""
        if self._batch:
            self._start()
        return zip(self._files, itertools.chain.from_iterable(self._tasks.results()))


def _look_at_files(batch: list[tuple[str, bool, bool]]) -> list[Look]:
    """By a worker."""
    return [look_at(*file) for file in batch]
