# SPDX-License-Identifier: MIT
"""Images as file systems of fsspec, protocol "dwarfs".

    import fsspec

    with fsspec.open("dwarfs://dir/a.csv::file:///data/x.dwarfs") as file: ...
    fs = fsspec.filesystem("dwarfs", fo="x.dwarfs")

An installed package registers the protocol by its entry point; otherwise import this module and
call register().
"""
from __future__ import annotations

import collections
import errno
import io
import os
import shutil
import stat as stat_
from datetime import datetime, timezone
from typing import Any, Iterator, NamedTuple

from fsspec import open as open_url  # type: ignore
from fsspec import register_implementation
from fsspec.archive import AbstractArchiveFileSystem  # type: ignore
from fsspec.implementations.local import LocalFileSystem  # type: ignore
from fsspec.utils import tokenize  # type: ignore

from . import _dwarfs
from ._context import Context
from ._errors import ErrorCode, make_error
from ._file import File
from ._image import Image
from ._path import Path


class _Opened(NamedTuple):
    identity: Any  #: of the file; another one is another image
    image: Image


# Images by process, file and options. File systems are made anew for each file that another
# process opens, and share them; those that were used last stay open.
_opened: collections.OrderedDict[tuple[Any, ...], _Opened] = collections.OrderedDict()
_MAX_OPENED = 8
_BUFFER_BYTES = 1 << 16


def _identity_of(path: str) -> tuple[int, ...]:
    """Of a local file: changes when it is replaced or written."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _RangeFile(io.RawIOBase):
    """A file of another file system, read by the ranges that the library asks for, without
    any read-ahead."""

    def __init__(self, fs: Any, path: str, size: int) -> None:
        super().__init__()
        self._fs, self._path, self._position, self._size = fs, path, 0, size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self._size)
        if end <= self._position:
            return 0
        data = self._fs.cat_file(self._path, start=self._position, end=end)
        buffer[:len(data)] = data
        self._position += len(data)
        return len(data)


class _CachedFile(io.RawIOBase):
    """A file that is read through a cache of fsspec, which fetches blocks from it."""

    def __init__(self, file: File, cache: Any) -> None:
        super().__init__()
        self._file, self._cache = file, cache

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        start = self._file.tell()
        end = min(start + len(buffer), self._file.size)
        data = self._cache._fetch(start, end) if start < end else b""
        buffer[:len(data)] = data
        self._file.seek(start + len(data))
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class DwarfsFile(io.BufferedReader):
    """An open file; it can be pickled, and is then opened again at its position."""

    def __init__(self, fs: DwarfsFileSystem, path: str, block_size: Any = None) -> None:
        file = fs._at(path).open("rb", 0)
        super().__init__(file, _BUFFER_BYTES)
        self.fs, self.path, self.size = fs, path, file.size
        self.blocksize = block_size if isinstance(block_size, int) else fs.blocksize
        self._file, self._cache = file, None

    def __reduce__(self) -> Any:
        return _open_at, (self.fs, self.path, self.tell())

    # what fsspec's blockcache:: needs, and sets

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._file.pread(end - start, start)

    @property
    def cache(self) -> Any:
        """The cache of fsspec through which the file is read; None without one."""
        return self._cache

    @cache.setter
    def cache(self, cache: Any) -> None:
        self._cache = cache
        super().__init__(_CachedFile(self._file, cache), _BUFFER_BYTES)

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return super().closed

    @closed.setter
    def closed(self, closed: bool) -> None:
        """For fsspec, which sets it after close()."""


def _open_at(fs: DwarfsFileSystem, path: str, position: int) -> DwarfsFile:
    file = DwarfsFile(fs, path)
    file.seek(position)
    return file


class DwarfsFileSystem(AbstractArchiveFileSystem):  # type: ignore[misc]
    """A DwarFS image as a read-only file system of fsspec.

    `fo` is the path or URL of the image, or a file object; `target_protocol` and
    `target_options` are those of fsspec.open() for it. Images that are not local are read by
    ranges, without read-ahead. `offset`, `lazy`, `cache_bytes` and `workers` are those of
    dwarfs.open() and dwarfs.Context().

    When a local image is replaced, all instances read the new one from then on. An image that is
    not local is read as it was when the instance was made.

    Links have the type and size of the file that they lead to; links to directories, which are
    not descended into, have the type "link". A child process made by fork opens the image again,
    and raises InvalidError if one that is not local is another one now.
    """

    root_marker = ""
    protocol = "dwarfs"
    async_impl = False
    cachable = False  # the image may be replaced; see _opened

    def __init__(self, fo: Any = "", target_protocol: str | None = None,
                 target_options: dict[str, Any] | None = None, offset: int | None = None,
                 lazy: bool = False, cache_bytes: int | None = None,
                 workers: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fo = fo
        self._target = (target_protocol, target_options or {})
        self._options: dict[str, Any] = {"offset": offset, "lazy": lazy}
        self._settings: dict[str, Any] = {"cache_bytes": cache_bytes, "workers": workers}
        self._current: _Opened | None = None
        self._path: str | None = None  # absolute, of a local file
        self._process = 0
        self.image  # a bad image is an error now

    # fsspec sets both, for copies in other processes, which may have another working directory.
    @property
    def storage_args(self) -> tuple[Any, ...]:
        """The arguments, with an absolute path."""
        return self._arguments

    @storage_args.setter
    def storage_args(self, arguments: tuple[Any, ...]) -> None:
        self._arguments = (self.fo, *arguments[1:]) if arguments else arguments

    @property
    def storage_options(self) -> dict[str, Any]:
        """The keyword arguments, with an absolute path."""
        return self._keywords

    @storage_options.setter
    def storage_options(self, keywords: dict[str, Any]) -> None:
        self._keywords = {**keywords, "fo": self.fo} if "fo" in keywords else keywords

    @property
    def _fs_token(self) -> str:
        """Of what is read, for comparisons, hashes and the names of Dask's tasks: the arguments
        may be a relative path, and the image may be replaced."""
        image = self.image  # also sets the path
        return str(tokenize(self._path or self.fo, image.content_id, self._target, self._options,
                            self._settings))

    @property
    def image(self) -> Image:
        """The image, as this process has opened it."""
        current = self._current
        if current is not None and self._process == os.getpid() and not current.image.closed:
            if self._path is None:
                return current.image
            try:
                if _identity_of(self._path) == current.identity:
                    return current.image
            except OSError:
                return current.image  # it was removed
        self._current, self._process = self._open_image(), os.getpid()
        return self._current.image

    def _open_image(self) -> _Opened:
        if not isinstance(self.fo, (str, os.PathLike)):
            return _Opened(None, self._image_from(self.fo))
        protocol, options = self._target
        found = open_url(os.fspath(self.fo), mode="rb", protocol=protocol, **options)
        if isinstance(found.fs, LocalFileSystem):
            self.fo = self._path = found.path
            return self._shared(found.path, _identity_of(found.path), found.path)
        info = found.fs.info(found.path)
        identity = tokenize(found.fs.ukey(found.path), str(info))
        if self._current is not None and self._current.identity != identity:
            raise make_error(ErrorCode.INVALID,
                             f"'{found.path}': not the image that was opened", found.path)
        return self._shared((found.fs._fs_token, found.path), identity,
                            _RangeFile(found.fs, found.path, int(info["size"])))

    def _shared(self, name: Any, identity: Any, source: Any) -> _Opened:
        """The image that another instance has opened, or a new one."""
        key = (os.getpid(), name, *self._options.values(), *self._settings.values())
        opened = _opened.pop(key, None)
        if opened is None or opened.identity != identity or opened.image.closed:
            opened = _Opened(identity, self._image_from(source))
        _opened[key] = opened
        while len(_opened) > _MAX_OPENED:
            _opened.popitem(last=False)
        return opened

    def _image_from(self, source: Any) -> Image:
        return Image(source, context=Context(**self._settings), **self._options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        path = super()._strip_protocol(path)
        if not isinstance(path, str):
            return path
        *above, last = path.strip("/").split("/")
        return "/".join([*(name for name in above if name not in ("", ".")), last])

    def ukey(self, path: str) -> str:
        """Identifies the file and the contents of its image."""
        return str(tokenize(self._strip_protocol(path), self.image.content_id))

    def _at(self, path: str) -> Path:
        return Path(self.image, self._strip_protocol(path))

    # -- what is there

    def _info(self, name: str, image: Image, inode: int, stat: Any) -> dict[str, Any]:
        """What a listing says of an inode. Takes an empty stat."""
        handle = image._use()
        _dwarfs.dwarfs_inode_stat(handle, inode, stat)
        mode = _dwarfs.dwarfs_stat_mode(stat)
        info: dict[str, Any] = {"name": name}
        if stat_.S_ISLNK(mode):
            info.update(islink=True, destination=_dwarfs.dwarfs_link_read(handle, inode))
            try:
                target = Path(image, name)._inode()
            except OSError:
                pass
            else:
                _dwarfs.dwarfs_inode_stat(handle, target, stat)
                if stat_.S_ISDIR(_dwarfs.dwarfs_stat_mode(stat)):
                    info.update(size=0, type="link")
                else:
                    mode = _dwarfs.dwarfs_stat_mode(stat)
        if "type" not in info:
            kind = ("directory" if stat_.S_ISDIR(mode) else "file" if stat_.S_ISREG(mode)
                    else "link" if stat_.S_ISLNK(mode) else "other")
            info["size"] = 0 if kind == "directory" else _dwarfs.dwarfs_stat_bytes(stat)
            info["type"] = kind
        info["mode"] = mode
        info["uid"] = _dwarfs.dwarfs_stat_uid(stat)
        info["gid"] = _dwarfs.dwarfs_stat_gid(stat)
        info["ino"] = inode
        info["mtime"] = (_dwarfs.dwarfs_stat_seconds(stat, _dwarfs.DWARFS_MTIME) +
                         _dwarfs.dwarfs_stat_nanoseconds(stat, _dwarfs.DWARFS_MTIME) / 1e9)
        return info

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """Name, size, type, mode, owners, inode and time of a path."""
        place = self._at(path)
        inode = place._inode(False)
        info = self._info(str(place), place.image, inode, _dwarfs.dwarfs_stat_new())
        if info["type"] == "link" and (os.fspath(path).endswith("/") or place.is_dir()):
            info["type"] = "directory"  # asked for by name: what it leads to
        return info

    def _entries(self, image: Image, name: str, inode: int) -> Iterator[dict[str, Any]]:
        """What is in a directory, sorted by the bytes of the names."""
        handle, stat = image._use(), _dwarfs.dwarfs_stat_new()
        first, count = _dwarfs.dwarfs_dir_range(handle, inode)
        prefix = name + "/" if name else ""
        for entry in range(first, first + count):
            yield self._info(prefix + _dwarfs.dwarfs_entry_name(handle, entry), image,
                             _dwarfs.dwarfs_entry_inode(handle, entry), stat)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        """What is in a directory, or the file itself."""
        place = self._at(path)
        infos = (list(self._entries(place.image, str(place), place._inode())) if place.is_dir()
                 else [self.info(path)])
        infos.sort(key=lambda info: info["name"])
        return infos if detail else [info["name"] for info in infos]

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False,
             detail: bool = False, **kwargs: Any) -> Any:
        """All files below a path, sorted by name."""
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        found: dict[str, Any] = {}
        place = self._at(path)
        if place.is_dir():
            if withdirs and str(place):
                found[str(place)] = self.info(path)
            below = [(str(place), place._inode(), 1)]
            while below:
                name, inode, depth = below.pop()
                for info in self._entries(place.image, name, inode):
                    if info["type"] != "directory" or withdirs:
                        found[info["name"]] = info
                    if info["type"] == "directory" and depth != maxdepth:
                        below.append((info["name"], info["ino"], depth + 1))
        elif place.exists():
            found[str(place)] = self.info(path)
        names = sorted(found)
        return {name: found[name] for name in names} if detail else names

    def exists(self, path: str, **kwargs: Any) -> bool:
        """Whether there is something."""
        return self._at(path).exists()

    def isdir(self, path: str) -> bool:
        """Whether there is a directory."""
        return self._at(path).is_dir()

    def isfile(self, path: str) -> bool:
        """Whether there is a regular file."""
        return self._at(path).is_file()

    def modified(self, path: str) -> datetime:
        """When the contents were changed."""
        return datetime.fromtimestamp(self._at(path).stat().st_mtime, timezone.utc)

    # -- what is refused: these do nothing in fsspec's classes

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        """Raises OSError: an image can only be read."""
        self.makedirs(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Raises OSError, unless the directory exists and that is allowed."""
        if not exist_ok or not self.isdir(path):
            number = errno.EEXIST if self.exists(path) else errno.EROFS
            raise OSError(number, os.strerror(number), path)

    def rmdir(self, path: str) -> None:
        """Raises OSError: an image can only be read."""
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    def _rm(self, path: str) -> None:
        self.rmdir(path)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Raises OSError: an image can only be read."""
        self.rmdir(path2)

    # -- contents

    def get(self, rpath: Any, lpath: Any, recursive: bool = False, **kwargs: Any) -> None:
        """Copy files to the disk; as that of other file systems. With old versions of fsspec,
        too, everything in the root is copied into the directory."""
        if (recursive and kwargs.get("maxdepth") is None and isinstance(rpath, str)
                and isinstance(lpath, (str, os.PathLike)) and not self._strip_protocol(rpath)):
            os.makedirs(lpath, exist_ok=True)
            rpath = self.find("", withdirs=True)
            lpath = [os.path.join(os.fspath(lpath), name) for name in rpath]
            if not rpath:
                return
        super().get(rpath, lpath, recursive=recursive and isinstance(rpath, str), **kwargs)

    def get_file(self, rpath: str, lpath: Any, *args: Any, **kwargs: Any) -> None:
        """Copy a file to the disk or to an open file, or make a directory; with the directories
        above."""
        if not isinstance(lpath, (str, os.PathLike)):  # which some versions of fsspec fail for
            with self.open(rpath) as file:
                shutil.copyfileobj(file, lpath)
            return
        os.makedirs(os.path.dirname(os.path.abspath(lpath)), exist_ok=True)
        super().get_file(rpath, lpath, *args, **kwargs)

    def _open(self, path: str, mode: str = "rb", block_size: Any = None,
              **kwargs: Any) -> DwarfsFile:
        if mode != "rb":
            raise OSError(errno.EROFS, f"{mode!r}: an image can only be read", path)
        return DwarfsFile(self, self._strip_protocol(path), block_size)

    def _range(self, path: str, start: int | None, end: int | None,
               file: File) -> tuple[int, int]:
        first = 0 if start is None else start if start >= 0 else max(0, file.size + start)
        last = file.size if end is None else end if end >= 0 else file.size + end
        return first, max(last - first, 0)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None,
                 **kwargs: Any) -> bytes:
        """The contents, or a range of them."""
        if start is None and end is None:
            return self._at(path).read_bytes()
        with self._at(path).open("rb", 0) as file:
            first, size = self._range(path, start, end, file)
            return file.pread(size, first)

    def cat_ranges(self, paths: list[str], starts: Any, ends: Any, max_gap: int | None = None,
                   on_error: str = "return", **kwargs: Any) -> list[Any]:
        """The contents of ranges, read in the order of the blocks that they are in, so that
        each block is decompressed once; returned in the order of `paths`."""
        if not isinstance(paths, list):
            raise TypeError("paths must be a list")
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("paths, starts and ends must have the same length")
        result: list[Any] = [None] * len(paths)
        order: list[tuple[int, int, str, int, int]] = []
        for index, path in enumerate(paths):
            try:
                with self._at(path).open("rb", 0) as file:
                    first, _ = self._range(path, starts[index], ends[index], file)
                    block, offset = _place(file)
                    order.append((block, offset, path, first, index))
            except Exception as error:
                if on_error == "raise":
                    raise
                result[index] = error
        for *_, path, _, index in sorted(order):
            try:
                result[index] = self.cat_file(path, starts[index], ends[index])
            except Exception as error:
                if on_error == "raise":
                    raise
                result[index] = error
        return result


def _place(file: File) -> tuple[int, int]:
    """The block with the beginning of a file, and where it is there; (-1, 0) if there is none."""
    handle = file._use()
    if not _dwarfs.dwarfs_file_chunk_count(handle):
        return -1, 0
    block, offset, _ = _dwarfs.dwarfs_file_chunk(handle, 0)
    return int(block), int(offset)


def register() -> None:
    """Register the protocol "dwarfs", for packages that are not installed by pip."""
    register_implementation("dwarfs", DwarfsFileSystem, clobber=True)
