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
import hashlib
import importlib
import os
import re
import shutil
import stat
import tempfile
import zlib
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence, TypeVar, Union

from . import _dwarfs
from ._builder import Builder, Counts
from ._callbacks import InputFile
from ._image import Image
from ._path import Path

Result = TypeVar("Result")
#: A directory, several that are merged, or directories by their paths in the image.
Sources = Union[str, "os.PathLike[Any]", Iterable[Any], Mapping[str, Any]]

_HEAD_BYTES = 1 << 16
_LINES = 64  # of the beginning of a file, for its features
_COMMON = 32  # a feature of more files says nothing
_BATCH_FILES = 2000
_BATCH_BYTES = 64 << 20


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

    Links and special files are left out. Files of one block are in one partition, so there are
    fewer partitions if there are fewer blocks.
    """
    if count < 1:
        raise ValueError("at least one partition is needed")
    wanted = None if paths is None else {str(Path(image, path)) for path in paths}
    # names and sizes of the files by the block of their first byte, in the order of the data
    blocks: dict[int, tuple[list[str], int]] = {}
    handle, status = image._use(), _dwarfs.dwarfs_stat_new()
    for name, entry in _walk(image):
        inode = _dwarfs.dwarfs_entry_inode(handle, entry)
        _dwarfs.dwarfs_inode_stat(handle, inode, status)
        if not stat.S_ISREG(_dwarfs.dwarfs_stat_mode(status)):
            continue
        if wanted is not None and name not in wanted:
            continue
        block = _first_block(handle, inode)
        names, size = blocks.get(block, ([], 0))
        names.append(name)
        blocks[block] = names, size + _dwarfs.dwarfs_stat_bytes(status)
    total = sum(size for _, size in blocks.values())
    found: list[Partition] = []
    names, size, done, first = [], 0, 0, -1
    for number in sorted(blocks):
        if not names:
            first = number
        names += blocks[number][0]
        size += blocks[number][1]
        last = number
        if (done + size) * count >= total * (len(found) + 1) and len(found) < count - 1:
            found.append(Partition(image, names, (first, last), size))
            names, size, done = [], 0, done + size
    if names:
        found.append(Partition(image, names, (first, last), size))
    return found


def _walk(image: Image) -> Iterator[tuple[str, int]]:
    """Paths and entries, files in the order of their data."""
    walk = _dwarfs.dwarfs_walk_new(image._use(), 0, _dwarfs.DWARFS_WALK_DATA)
    while True:
        more, entry = _dwarfs.dwarfs_walk_next(walk)
        if not more:
            return
        yield _dwarfs.dwarfs_walk_path(walk), entry


def _first_block(handle: Any, inode: int) -> int:
    """The block of the first data of a file; -1 if it has none."""
    file = _dwarfs.dwarfs_file_open(handle, inode)
    for index in range(_dwarfs.dwarfs_file_chunk_count(file)):
        block = int(_dwarfs.dwarfs_file_chunk(file, index)[0])
        if block >= 0:
            return block
    return -1


# -- making -----------------------------------------------------------------------------------


class _File(NamedTuple):
    path: str  # in the image
    source: str  # on disk
    size: int


class _Content(NamedTuple):
    """What is stored once."""

    paths: tuple[str, ...]  # in the image, of all files that have it
    size: int
    features: tuple[int, ...]


def pack(sources: Sources, output: str | os.PathLike[Any], executor: Any, *,
         shares: int | None = None, overwrite: bool = False, retries: int = 3,
         temporary: str | os.PathLike[Any] | None = None, **options: Any) -> Counts:
    """Make an image of directories by the workers of an executor.

    The workers compare files and pack `shares` of them (by default as many as the executor says
    it has workers, or 4), which are put together without compressing them again. Equal files are
    in one share and are stored once; files of similar names or contents are in one share where
    possible. The image depends on the inputs, the options and `shares`, not on who worked.

    `options` are those of dwarfs.pack(), but no callbacks. `temporary` is a directory for the
    shares that all workers can write to, by default that of the output. What a worker that is
    lost was doing is done again, at most `retries` times, and in this process if the executor
    does not work any more. An error of a worker is raised. The output appears whole or not at all.
    """
    for name, value in options.items():
        if callable(value):
            raise TypeError(f"{name}: a callback cannot be used by other processes")
    roots = _roots(sources)
    target = os.path.abspath(os.fspath(output))
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(f"{target!r} exists")
    count = shares if shares is not None else getattr(executor, "_max_workers", None) or 4
    if count < 1:
        raise ValueError("at least one share is needed")
    context, progress = options.pop("context", None), options.pop("progress", None)
    files = _scan(roots, options)
    contents = _unique(files, executor, retries)
    folder = tempfile.mkdtemp(prefix=os.path.basename(target) + ".shares-",
                              dir=temporary or os.path.dirname(target))
    try:
        tasks = [(_pack_share, roots, frozenset(path for content in share
                                                for path in content.paths),
                  os.path.join(folder, f"{number}.dwarfs"), options, _version())
                 for number, share in enumerate(_assign(contents, count)) if share]
        images = [Image(path, context=context) for path in _run(tasks, executor, retries)]
        builder = Builder(context=context, progress=progress, **options)
        for image in images:
            builder.add_base(image)
        for prefix, directory in roots:
            builder.add_tree(directory, prefix)
        return builder.write(target, overwrite=overwrite)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _version() -> str:
    return str(_dwarfs.dwarfs_version_string())


def _roots(sources: Sources) -> tuple[tuple[str, str], ...]:
    """Pairs of a path in the image and an absolute directory."""
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    pairs = (sources.items() if isinstance(sources, Mapping)
             else [("", source) for source in sources])
    roots = tuple((prefix.strip("/"), os.path.abspath(os.fsdecode(source)))
                  for prefix, source in pairs)
    if not roots:
        raise ValueError("no sources")
    for _, directory in roots:
        if not os.path.isdir(directory):
            raise NotADirectoryError(f"{directory!r} is not a directory")
    return roots


def _scan(roots: tuple[tuple[str, str], ...], options: dict[str, Any]) -> list[_File]:
    """The regular files that the options let in, by their paths in the image."""
    found: list[_File] = []

    def collect(entry: InputFile) -> bool:
        if stat.S_ISREG(entry.mode):
            found.append(_File(entry.path, _source(roots, entry.path), entry.size))
        return True
    builder = Builder(**{**options, "include": collect})
    for prefix, directory in roots:
        builder.add_tree(directory, prefix)
    _dwarfs.dwarfs_builder_scan(builder._handle)
    return sorted(found)


def _source(roots: tuple[tuple[str, str], ...], path: str) -> str:
    """The file on disk for a path in the image: later directories replace earlier ones."""
    source = path
    for prefix, directory in reversed(roots):
        if not prefix or path.startswith(prefix + "/"):
            source = os.path.join(directory, path[len(prefix) + 1:] if prefix else path)
            if len(roots) == 1 or os.path.lexists(source):
                break
    return source


def _unique(files: list[_File], executor: Any, retries: int) -> list[_Content]:
    """The distinct contents. Only files of a size that occurs twice are read to their end."""
    sizes = collections.Counter(file.size for file in files)
    batches: list[list[tuple[str, bool]]] = [[]]
    size = 0
    for file in files:
        whole = sizes[file.size] > 1 and file.size > 0
        if len(batches[-1]) >= _BATCH_FILES or size >= _BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append((file.source, whole))
        size += file.size if whole else min(file.size, _HEAD_BYTES)
    looks: list[tuple[bytes, tuple[int, ...]]] = []
    for looked in _run([(_look, batch) for batch in batches if batch], executor, retries):
        looks += looked
    groups: dict[Any, list[int]] = {}
    for number, file in enumerate(files):
        groups.setdefault((file.size, looks[number][0] or file.path), []).append(number)
    return [_Content(tuple(files[number].path for number in group), files[group[0]].size,
                     looks[group[0]][1]) for group in groups.values()]


def _look(batch: list[tuple[str, bool]]) -> list[tuple[bytes, tuple[int, ...]]]:
    """By a worker: a digest, or nothing if the file is not read to its end, and features."""
    return [_look_at(source, whole) for source, whole in batch]


def _look_at(source: str, whole: bool) -> tuple[bytes, tuple[int, ...]]:
    try:
        with open(source, "rb", buffering=0) as file:
            head = file.read(_HEAD_BYTES)
            digest = hashlib.blake2b(head, digest_size=16)
            while whole and (more := file.read(1 << 20)):
                digest.update(more)
    except OSError:
        return b"", ()  # packing reports it
    lines = [line for line in head.split(b"\n")[:_LINES] if len(line) > 16]
    checks = sorted({zlib.crc32(line) for line in lines or [head[:4096]] if line})
    return digest.digest() if whole else b"", tuple(checks[:2])


def _assign(contents: list[_Content], count: int) -> list[list[_Content]]:
    """Divide contents into shares of about the same size, with similar ones side by side."""
    clusters = _cluster(contents)
    order: list[_Content] = []
    for cluster in sorted(clusters, key=lambda cluster: _name_key(cluster[0].paths[0])):
        order += sorted(cluster, key=lambda content: (_name_key(content.paths[0]),
                                                      content.paths[0]))
    total = sum(content.size for content in order)
    shares: list[list[_Content]] = [[] for _ in range(count)]
    done = 0
    for content in order:
        # The share in which the middle of the content is.
        middle = (2 * done + content.size) * count // (2 * total) if total else 0
        shares[min(middle, count - 1)].append(content)
        done += content.size
    return shares


def _name_key(path: str) -> tuple[str, str]:
    """Equal for versions of a file: its suffix, and its name without digits."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    return suffix.lower(), re.sub(r"[\d._-]+", "", stem).lower()


def _cluster(contents: list[_Content]) -> list[list[_Content]]:
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
    clusters: dict[int, list[_Content]] = {}
    for number, content in enumerate(contents):
        clusters.setdefault(find(number), []).append(content)
    return list(clusters.values())


def _pack_share(roots: tuple[tuple[str, str], ...], wanted: frozenset[str], output: str,
                options: dict[str, Any], version: str) -> str:
    """By a worker: an image of some of the files, at their paths."""
    if version != _version():
        raise RuntimeError(f"libdwarfs {_version()} here, but {version} where pack() was called")
    parents = {""}
    for path in wanted:
        while path := path.rpartition("/")[0]:
            if path in parents:
                break
            parents.add(path)
    own = {"order": _share_order(options), **options, "history": False,
           "create_timestamp": False, "header": None, "sync": False}

    def include(entry: InputFile) -> bool:
        return entry.path in (parents if stat.S_ISDIR(entry.mode) else wanted)
    if len(roots) == 1 and not roots[0][0]:
        own.pop("filters", None)  # which let these paths in
        builder = Builder(**own)
        builder._add_directory(roots[0][1], sorted(wanted))
    else:
        builder = Builder(**{**own, "include": include})
        for prefix, directory in roots:
            builder.add_tree(directory, prefix)
    builder.write(output, overwrite=True)
    return output


def _share_order(options: dict[str, Any]) -> str | None:
    """The order of a share. Of less data "auto" tries more orders, so that all shares together
    would take longer than the whole: it tries two."""
    level = options.get("level")
    is_auto = (level is None
               or _dwarfs.dwarfs_level_text(level, _dwarfs.DWARFS_LEVEL_ORDER) == "auto")
    return "auto:max-trials=2" if is_auto else None


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """By a worker: an exception is a result, unlike the loss of the worker."""
    try:
        return True, function(*arguments)
    except Exception as error:
        return False, error


def _run(tasks: list[tuple[Any, ...]], executor: Any, retries: int) -> list[Any]:
    """The results of tasks, a function and its arguments each, in their order."""
    futures = [_submit(executor, task) for task in tasks]
    results: list[Any] = []
    try:
        for number, task in enumerate(tasks):
            for attempt in range(retries + 1):
                try:
                    good, value = (_call(task[0], task[1:]) if futures[number] is None
                                   else futures[number].result())
                    break
                except Exception:
                    if attempt == retries:
                        raise
                    futures[number] = _submit(executor, task)
            if not good:
                raise value
            results.append(value)
    except BaseException:
        for future in futures:
            if future is not None and hasattr(future, "cancel"):
                future.cancel()
        raise
    return results


def _submit(executor: Any, task: tuple[Any, ...]) -> Any:
    """A future, or None if the executor takes no more work."""
    try:
        return executor.submit(_call, task[0], task[1:])
    except RuntimeError:  # BrokenExecutor is one, too
        return None


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
