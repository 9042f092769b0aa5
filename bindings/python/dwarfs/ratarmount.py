# SPDX-License-Identifier: MIT
"""Images as mount sources of ratarmountcore 0.11 and later.

    from dwarfs.ratarmount import DwarfsMountSource, register

    with DwarfsMountSource("x.dwarfs") as source:
        names = source.list("/")
        text = source.read(source.lookup("/notes.txt"), 100, 0)

    register()  # open_mount_source(), and whatever uses it, opens images, too
    source = open_mount_source("x.dwarfs")
    source = AutoMountLayer(open_mount_source("archives.tar"), recursive=True,
                            recursiveExtensions=["/archive", ".dwarfs"])
"""
from __future__ import annotations

import builtins
import os
import stat as stat_
from typing import IO, Any

from ratarmountcore.mountsource import FileInfo, MountSource  # type: ignore
from ratarmountcore.mountsource.archives import (  # type: ignore
    ARCHIVE_BACKENDS, ArchiveBackendInfo)

from . import _dwarfs
from ._context import Context
from ._image import Image
from ._path import Path
from ._source import Source

_MAGIC = b"DWARFS"
_BLOCK_BYTES = 512


class DwarfsMountSource(MountSource):  # type: ignore[misc]
    """A DwarFS image as a mount source.

    `source`, `context`, `offset` and `lazy` are those of dwarfs.open(); `source` may also be an
    open image, which stays open. A file has one version, with the number 1, and 0 for the last.
    Links are not followed where a path ends. Files that were opened stay usable after close().
    """

    def __init__(self, source: Source | Image, *, context: Context | None = None,
                 offset: int | None = None, lazy: bool = False) -> None:
        self._is_own = not isinstance(source, Image)
        self.image = (source if isinstance(source, Image)
                      else Image(source, context=context, offset=offset, lazy=lazy))

    def close(self) -> None:
        """Close the image, if it was opened here; may be called twice."""
        if self._is_own:
            self.image.close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def is_immutable(self) -> bool:
        """An open image never changes."""
        return True

    def _at(self, path: str) -> Path | None:
        """The path, if there is something."""
        place = Path(self.image, path)
        return place if place.exists(follow_symlinks=False) else None

    def _directory(self, path: str) -> Path | None:
        place = self._at(path)
        return place if place is not None and place.is_dir() else None

    @staticmethod
    def _info(path: Path) -> Any:
        status = path.lstat()
        return FileInfo(size=status.st_size, mtime=status.st_mtime, mode=status.st_mode,
                        linkname=path.readlink() if stat_.S_ISLNK(status.st_mode) else "",
                        uid=status.st_uid, gid=status.st_gid, userdata=[path])

    def exists(self, path: str) -> bool:
        """Whether there is something."""
        return self._at(path) is not None

    def lookup(self, path: str, fileVersion: int = 0) -> Any:
        """The FileInfo of a path, or None."""
        place = self._at(path) if fileVersion in (0, 1) else None
        return None if place is None else self._info(place)

    def list(self, path: str) -> dict[str, Any] | None:
        """The FileInfo of each entry of a directory by its name; None if it is none."""
        place = self._directory(path)
        if place is None:
            return None
        return {entry.name: self._info(entry) for entry in place.iterdir()}

    def list_mode(self, path: str) -> dict[str, int] | None:
        """The mode of each entry of a directory by its name; None if it is none."""
        place = self._directory(path)
        if place is None:
            return None
        return {entry.name: entry._mode(False) for entry in place.iterdir()}

    def open(self, fileInfo: Any, buffering: int = -1) -> IO[bytes]:
        """Open a file for reading."""
        path: Path = fileInfo.userdata[-1]
        return path.open("rb", buffering)

    def read(self, fileInfo: Any, size: int, offset: int) -> bytes:
        """Bytes of a file, up to `size`."""
        path: Path = fileInfo.userdata[-1]
        with path.open("rb", 0) as file:
            return file.pread(size, offset)

    def list_xattr(self, fileInfo: Any) -> builtins.list[str]:
        """The names of the extended attributes."""
        path: Path = fileInfo.userdata[-1]
        return [*path.xattrs(follow_symlinks=False)]

    def get_xattr(self, fileInfo: Any, key: str) -> bytes | None:
        """The value of an extended attribute, or None."""
        path: Path = fileInfo.userdata[-1]
        return path.xattrs(follow_symlinks=False).get(key)

    def statfs(self) -> dict[str, Any]:
        """What the archives of ratarmountcore give, which can be merged with those of others."""
        return {"f_bsize": _BLOCK_BYTES, "f_frsize": _BLOCK_BYTES, "f_bfree": 0, "f_bavail": 0,
                "f_ffree": 0, "f_favail": 0, "f_namemax": _dwarfs.DWARFS_NAME_BUFFER_BYTES - 1}


def _open_backend(source: Any, **options: Any) -> DwarfsMountSource | None:
    """For ratarmountcore, whose options are about its index and other archives."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            head = file.read(len(_MAGIC))
    else:
        source.seek(0)
        head = source.read(len(_MAGIC))
        source.seek(0)
    return DwarfsMountSource(source, offset=0) if head == _MAGIC else None


def register() -> None:
    """Let open_mount_source() of ratarmountcore open images. Those that begin after other data
    can be opened by DwarfsMountSource."""
    ARCHIVE_BACKENDS.setdefault("dwarfs", ArchiveBackendInfo(_open_backend, set(), []))
