# SPDX-License-Identifier: MIT
"""Reading and making images with many processes or machines.

    from dwarfs import distributed

    for part in distributed.partitions(image, 8):
        futures.append(executor.submit(part.map, count_words))

    distributed.pack("photos", "photos.dwarfs", executor, level=5)

An executor is anything like concurrent.futures.Executor. For Dask it is `client.get_executor()`,
for Ray a RayExecutor. All machines must see the files at the same paths.
"""
from __future__ import annotations

import collections
import contextlib
import errno
import importlib
import operator
import os
import re
import shutil
import socket
import stat
import tempfile
import threading
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, TypeVar, Union

from . import _dwarfs
from ._builder import Builder, Counts
from ._callbacks import InputFile
from ._context import Context
from ._errors import ErrorCode, make_error
from ._image import Image, image_handle
from ._listing import Roots, is_one_directory
from ._pack import listed_paths, refuse_one_path
from ._path import Path
from ._search import Content, search
from ._tasks import Tasks

__all__ = ["Partition", "RayExecutor", "pack", "partitions"]

Result = TypeVar("Result")
#: A directory, several that are merged, or directories by their paths in the image.
Sources = Union[str, bytes, "os.PathLike[Any]", Iterable[Any], Mapping[Any, Any]]

_COMMON = 32  # a feature of more files says nothing
_DIVIDE_SECONDS = 0.25
_LOST_SECONDS = 10.0
_MAX_WORKERS = 1024
_REMOVALS = 10
_BATCH_ENTRIES = 1000  # of an image


# -- reading ----------------------------------------------------------------------------------


class Partition(Sequence[Path]):
    """Files of an image whose data is stored together; it can be pickled as its image can."""

    def __init__(self, image: Image, names: Sequence[str], blocks: tuple[int, int],
                 size: int) -> None:
        self.image = image
        self.blocks = blocks  #: first and last block in which a file of it begins
        self.size = size  #: bytes of its files
        self._names = tuple(names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [Path(self.image, name) for name in self._names[index]]
        return Path(self.image, self._names[index])

    def __repr__(self) -> str:
        return (f"<dwarfs.distributed.Partition of {len(self)} files, {self.size} bytes, "
                f"blocks {self.blocks[0]} to {self.blocks[1]}>")

    def __reduce__(self) -> tuple[Any, ...]:
        return Partition, (self.image, self._names, self.blocks, self.size)

    def map(self, function: Callable[[Path, bytes], Result]) -> list[Result]:
        """Call a function with the path and the contents of each file, in the order in which
        they are complete, and return its results in the order of the partition.

        Each block is decompressed once. Takes the memory of the files that are being read.
        """
        paths = list(self)
        places: dict[int, list[int]] = collections.defaultdict(list)
        for place, path in enumerate(paths):
            places[path._inode()].append(place)
        results: list[Any] = [None] * len(paths)
        pieces: dict[int, list[tuple[int, bytes | None, int]]] = collections.defaultdict(list)

        def add(inode: int, data: bytes | None, count: int, offset: int) -> None:
            if count:
                pieces[inode].append((offset, data, count))
                return
            contents = _join(pieces.pop(inode, []))
            for place in places[inode]:
                results[place] = function(paths[place], contents)

        _dwarfs.dwarfs_read_pieces(self.image._use(), list(places), add)
        return results


def _join(pieces: list[tuple[int, bytes | None, int]]) -> bytes:
    """The contents of a file from its pieces; None is a hole."""
    pieces.sort(key=lambda piece: piece[0])
    return b"".join(bytes(count) if data is None else data for _, data, count in pieces)


def partitions(image: Image, count: int, *, paths: Iterable[str] | None = None) -> list[Partition]:
    """Divide the files of an image, or some of them, into at most `count` partitions of about
    the same size, by the blocks in which their data begins.

    Links and special files are left out. Files that begin in one block are in one partition, so
    there are fewer partitions than `count` if fewer blocks have the beginning of a file, and the
    partitions of an image with few blocks differ in size.

    Partition.map() decompresses each block once that a file of the partition has data in. Files
    of which parts are stored once for many of them need more blocks than those they begin in, and
    these are decompressed by each partition that needs them: the fewer partitions, the fewer.
    """
    count = operator.index(count)
    if count < 1:
        raise ValueError("at least one partition is needed")
    image_handle(image)
    refuse_one_path(paths)
    wanted = None if paths is None else {str(Path(image, path)) for path in paths}
    # names and sizes of the files by the block of their first byte, in the order of the data
    blocks: dict[int, tuple[list[str], int]] = {}
    for name, size, block in _files(image, wanted):
        names, total = blocks.setdefault(block, ([], 0))
        names.append(name)
        blocks[block] = names, total + size
    total = sum(size for _, size in blocks.values())
    found: list[Partition] = []
    names, size, done, first, last = [], 0, 0, -1, -1
    for number in sorted(blocks):
        # A partition ends at the boundary of blocks that is nearest to where it should.
        middle = done + size + blocks[number][1] / 2
        if names and middle * count > total * (len(found) + 1) and len(found) < count - 1:
            found.append(Partition(image, names, (first, last), size))
            names, size, done = [], 0, done + size
        if not names:
            first = number
        names += blocks[number][0]
        size += blocks[number][1]
        last = number
    if names:
        found.append(Partition(image, names, (first, last), size))
    return found


def _files(image: Image, wanted: set[str] | None) -> Iterator[tuple[str, int, int]]:
    """Paths of the wanted files, or of all, their sizes, and the block of their first data, -1 if
    they have none; in the order of their data."""
    walk = _dwarfs.dwarfs_walk_new(image._use(), 0, _dwarfs.DWARFS_WALK_DATA)
    more = True
    while more:
        found: list[tuple[str, int, int]] = []
        more = _dwarfs.dwarfs_walk_files_into(walk, image._use(), _BATCH_ENTRIES, wanted,
                                              found)
        yield from found


# -- making -----------------------------------------------------------------------------------


def pack(sources: Sources, output: str | bytes | os.PathLike[Any], executor: Any, *,
         shares: int | None = None, overwrite: bool = False, retries: int = 3,
         temporary: str | os.PathLike[Any] | None = None, share_workers: int | None = None,
         **options: Any) -> Counts:
    """Make an image of directories by the workers of an executor.

    The workers list directories, compare files and pack `shares` of them (by default as many as
    the executor says it has workers, or 4), which are put together without compressing them again. Equal files are
    in one share and are stored once; files of similar names or contents are in one share where
    possible. The image depends on the inputs, the options and `shares`, not on who worked.

    `options` are those of dwarfs.pack(), but no callbacks except `progress`, which is told of
    the merge; `paths` only with one directory. `temporary` is a directory for the shares that
    all workers can write to, by default that of the output. `share_workers` threads compress
    in each share; by default the shares that are packed on a machine at the same time divide
    its processors, and those that are left divide them again. What a worker that is lost was
    doing is done again, at most `retries` times, and in this process if
    the executor does not work any more. An error of a worker is raised. The output appears whole
    or not at all.
    """
    context, progress = options.pop("context", None), options.pop("progress", None)
    for name, value in options.items():
        if callable(value):
            raise TypeError(f"{name}: a callback cannot be used by other processes")
    roots = _roots(sources)
    target = os.path.abspath(os.fsdecode(output))
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(f"{target!r} exists")
    count = shares if shares is not None else getattr(executor, "_max_workers", None) or 4
    if count < 1:
        raise ValueError("at least one share is needed")
    if retries < 0:
        raise ValueError(f"retries: {retries} is negative")
    Context(workers=share_workers)  # an error before there is any work
    paths = options.pop("paths", None)
    if paths is not None:
        if not is_one_directory(roots):
            raise ValueError("paths: they are those of one directory")
        paths = listed_paths(roots[0][1], paths)
    os.stat(os.path.dirname(target))  # before all files are read
    options["filters"] = _check(roots, paths, options)
    contents = search(roots, paths, options["filters"], executor, retries,
                      max(count, getattr(executor, "_max_workers", None) or 1),
                      _paths_in(roots, target))
    folder = tempfile.mkdtemp(prefix=os.path.basename(target) + ".shares-",
                              dir=os.path.abspath(temporary or os.path.dirname(target)))
    try:
        builder = _merger(_paths_in(roots, folder), paths,
                          {**options, "context": context, "progress": progress})
        with Tasks(executor, retries) as tasks:
            for number, share in enumerate(_assign(contents, count)):
                if share:
                    tasks.add(_pack_share, roots,
                              frozenset(path for content in share for path in content.paths),
                              os.path.join(folder, f"{number}.dwarfs"), options, share_workers,
                              _version())
            for prefix, directory in roots:  # while the workers pack
                builder.add_tree(directory, prefix)
            for path in tasks.results():
                builder.add_base(Image(path, context=context))
        return builder.write(target, overwrite=overwrite)
    finally:
        _remove(folder)


def _check(roots: Roots, paths: list[str] | None, options: dict[str, Any]) -> list[str]:
    """Refuse invalid options before there is any work. Returns the filter rules, with those of
    files in their places, as other machines may not have the files."""
    filters = [os.fsdecode(rule) for rule in options.get("filters", ())]
    if filters and paths is not None:
        raise make_error(ErrorCode.INVALID, "filter rules cannot be combined with a list of paths")
    builder = Builder(**{**options, "filters": filters})
    for prefix, _ in roots:
        builder.add(prefix, mode=stat.S_IFDIR | 0o755)
    return list(_without_files(filters))


def _without_files(rules: Iterable[str]) -> Iterator[str]:
    """Filter rules that a builder has accepted, with the lines of files instead of their names."""
    for rule in rules:
        if not rule.lstrip(" \t").startswith("."):
            yield rule
            continue
        name = rule.lstrip(" \t")[1:].lstrip(" \t")
        with open(name, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = [line.rstrip("\r\n") for line in file]
        yield from _without_files(line for line in lines
                                  if line.strip(" \t") and not line.startswith("#"))


def _merger(excluded: frozenset[str], paths: list[str] | None,
            options: dict[str, Any]) -> Builder:
    """A builder that includes no shares, and only the `paths` if there are any."""
    if paths is not None:
        listed, parents = frozenset(paths), _parents(paths)
        return Builder(**{**options, "devices": True, "specials": True}, include=lambda entry: (
            entry.path in listed or entry.path in parents))
    if excluded:
        return Builder(**options, include=lambda entry: entry.path not in excluded)
    return Builder(**options)


def _parents(paths: Iterable[str]) -> set[str]:
    """All directories above the paths, with the root."""
    parents = {""}
    for path in paths:
        while path := path.rpartition("/")[0]:
            if path in parents:
                break
            parents.add(path)
    return parents


def _remove(folder: str) -> None:
    """After an error shares may still be packed there. They end soon, as the name is gone, and
    create no more files while these are removed."""
    gone = folder + ".removed"
    try:
        os.rename(folder, gone)
    except OSError:
        gone = folder  # Windows does not rename it while a file in it is open
    for _ in range(_REMOVALS):
        shutil.rmtree(gone, ignore_errors=True)
        if not os.path.lexists(gone):
            return


def _version() -> str:
    return str(_dwarfs.dwarfs_version_string())


def _roots(sources: Sources) -> Roots:
    """Pairs of a path in the image and an absolute directory."""
    if isinstance(sources, (str, bytes, os.PathLike)):
        sources = [sources]
    pairs: Iterable[tuple[Any, Any]] = (sources.items() if isinstance(sources, Mapping)
                                        else [("", source) for source in sources])
    roots = tuple((os.fsdecode(prefix).strip("/"), os.path.abspath(os.fsdecode(source)))
                  for prefix, source in pairs)
    if not roots:
        raise ValueError("no sources")
    for _, directory in roots:
        if not stat.S_ISDIR(os.stat(directory).st_mode):  # may be FileNotFoundError
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
    return roots


def _paths_in(roots: Roots, path: str) -> frozenset[str]:
    """Where a file or directory on disk is in the image."""
    found = set()
    for prefix, directory in roots:
        try:
            below = os.path.relpath(os.path.realpath(path), os.path.realpath(directory))
        except ValueError:  # on another drive of Windows
            continue
        if below != os.pardir and not below.startswith(os.pardir + os.sep):
            found.add("/".join(filter(None, [prefix, *below.split(os.sep)])))
    return frozenset(found)


def _assign(contents: list[Content], count: int) -> list[list[Content]]:
    """Divide contents into shares that take about the same time, with similar ones side by side."""
    clusters = _cluster(contents)
    order: list[Content] = []
    for cluster in sorted(clusters, key=lambda cluster: _name_key(cluster[0].paths[0])):
        order += sorted(cluster, key=lambda content: (_name_key(content.paths[0]),
                                                      content.paths[0]))
    costs = _costs(order)
    total = sum(costs)
    shares: list[list[Content]] = [[] for _ in range(count)]
    done = 0
    for content, cost in zip(order, costs):
        # The share in which the middle of the content is.
        middle = (2 * done + cost) * count // (2 * total) if total else 0
        shares[min(middle, count - 1)].append(content)
        done += cost
    return shares


def _costs(contents: Sequence[Content]) -> list[int]:
    """Estimates of the time that contents take. About half of what is like earlier contents is
    found in them, and not compressed again."""
    counts = collections.Counter(key for content in contents for key in content.features)
    seen: set[int] = set()
    costs = []
    for content in contents:
        is_alike = content.features and all(key in seen and counts[key] <= _COMMON
                                            for key in content.features)
        costs.append(content.size if is_alike else 2 * content.size)
        seen.update(content.features)
    return costs


def _name_key(path: str) -> tuple[str, str]:
    """Equal for versions of a file: its suffix, and its name without digits."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    return suffix.lower(), re.sub(r"[\d._-]+", "", stem).lower()


def _cluster(contents: list[Content]) -> list[list[Content]]:
    """Sets of contents with a name or a rare feature in common."""
    leader = list(range(len(contents)))

    def find(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    keys: dict[Any, list[int]] = {}
    for number, content in enumerate(contents):
        keys.setdefault(_name_key(content.paths[0]), []).append(number)
        for feature in content.features:
            keys.setdefault(feature, []).append(number)
    for key, numbers in keys.items():
        if isinstance(key, tuple) or len(numbers) <= _COMMON:
            for number in numbers[1:]:
                a, b = find(numbers[0]), find(number)
                leader[max(a, b)] = min(a, b)
    clusters: dict[int, list[Content]] = {}
    for number, content in enumerate(contents):
        clusters.setdefault(find(number), []).append(content)
    return list(clusters.values())


def _pack_share(roots: Roots, wanted: frozenset[str], output: str,
                options: dict[str, Any], workers: int | None, version: str) -> str:
    """By a worker: an image of some of the files, at their paths."""
    if version != _version():
        raise RuntimeError(f"libdwarfs {_version()} here, but {version} where pack() was called")
    parents = _parents(wanted)
    processors = _processors()
    context = Context(workers=_count(processors) if workers is None else workers)
    folder = os.path.dirname(output)

    def end_without_folder(_: Any) -> None:
        with contextlib.suppress(PermissionError):
            os.stat(folder)  # FileNotFoundError: pack() has ended
    own = {"order": _share_order(options), **options, "context": context,
           "progress": end_without_folder, "history": False, "create_timestamp": True, "header": None, "sync": False,
           "metadata_compression": "null"}

    def include(entry: InputFile) -> bool:
        return entry.path in (parents if stat.S_ISDIR(entry.mode) else wanted)
    if is_one_directory(roots):
        own.pop("filters", None)  # which let these paths in
        builder = Builder(**own)
        builder._add_directory(roots[0][1], sorted(wanted))
    else:
        builder = Builder(**{**own, "include": include})
        for prefix, directory in roots:
            builder.add_tree(directory, prefix)
    with _divided(context, processors, output) if workers is None else contextlib.nullcontext():
        builder.write(output, overwrite=True)
    return output


def _processors() -> frozenset[int]:
    """The numbers of those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _count(processors: frozenset[int]) -> int:
    """How many threads are of use: a control group may allow less time than all processors have."""
    return min(len(processors), int(_dwarfs.dwarfs_usable_processors()), _MAX_WORKERS)


@contextlib.contextmanager
def _divided(context: Context, processors: frozenset[int], output: str) -> Iterator[None]:
    """Let only as many threads compress as this share has processors, while others are packed on
    the same machine.

    Two processes that compress with two threads each on two processors take a third more of their
    time, as each thread finds the data of another one in the processor's cache. Each share has a
    file beside its image with the numbers of its processors, and writes it again and again, so that
    one that is lost is not counted. The context is in use already: only then can the number be
    raised again.
    """
    folder, image = os.path.split(output)
    machine = socket.gethostname() + ".packing-"
    own = os.path.join(folder, machine + image)
    ended = threading.Event()

    def divide() -> None:
        while True:
            with contextlib.suppress(OSError):  # of the folder: the number stays
                _write_processors(own, processors)
                context.set_workers(_part(own, processors, machine))
            if ended.wait(_DIVIDE_SECONDS):
                return
    thread = threading.Thread(target=divide, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with contextlib.suppress(OSError):
            os.unlink(own)


def _write_processors(path: str, processors: frozenset[int]) -> None:
    with open(path, "w", encoding="ascii") as out:
        out.write(" ".join(map(str, sorted(processors))))


def _part(own: str, processors: frozenset[int], machine: str) -> int:
    """How many processors are for one of the shares that have a file, at least 1. Those that
    may use none of its processors do not count."""
    folder, name = os.path.split(own)
    lost = os.stat(own).st_mtime - _LOST_SECONDS
    others = []
    for entry in os.scandir(folder):
        with contextlib.suppress(FileNotFoundError):
            if (entry.name.startswith(machine) and entry.name != name
                    and entry.stat().st_mtime > lost
                    and not processors.isdisjoint(_read_processors(entry.path))):
                others.append(entry.name)
    before = sum(other < name for other in others)
    return max(1, (_count(processors) + len(others) - before) // (len(others) + 1))


def _read_processors(path: str) -> list[int]:
    """Of another share; an empty list while it writes the file."""
    with open(path, encoding="ascii") as file:
        return [int(number) for number in file.read().split()]


def _share_order(options: dict[str, Any]) -> str | None:
    """The order of a share. Of less data "auto" tries more orders, so that all shares together
    would take longer than the whole: it tries none, and chooses by its estimates."""
    level = options.get("level")
    is_auto = (level is None
               or _dwarfs.dwarfs_level_text(level, _dwarfs.DWARFS_LEVEL_ORDER) == "auto")
    return "auto:max-trials=0" if is_auto else None


class RayExecutor:
    """Runs functions as tasks of Ray, which must be initialized."""

    def __init__(self, **options: Any) -> None:
        self._ray: Any = importlib.import_module("ray")
        self._options = options
        self._max_workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task; its result() waits for it."""
        remote = self._ray.remote(function)
        if self._options:
            remote = remote.options(**self._options)
        return _RayFuture(self._ray, remote.remote(*arguments))


class _RayFuture:
    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def result(self) -> Any:
        return self._ray.get(self._reference)

    def cancel(self) -> None:
        self._ray.cancel(self._reference)
