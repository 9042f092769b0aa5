# SPDX-License-Identifier: MIT
"""Files in an image, in the manner of io."""
from __future__ import annotations

import errno
import io
import operator
import os
from typing import TYPE_CHECKING, Any, BinaryIO

from . import _dwarfs
from ._errors import Error, named

if TYPE_CHECKING:
    from ._image import Image

    class _Raw(io.RawIOBase, BinaryIO):  # as io.FileIO is typed
        """A raw binary file."""
else:
    _Raw = io.RawIOBase


_MAX_OFFSET = 2**63 - 1  # as that of other files


class File(_Raw):
    """A file in an image, read in place: readinto() fills the caller's memory.

    Reads give as many bytes as are asked for, up to the end of the file. seek() knows
    os.SEEK_DATA and os.SEEK_HOLE. It stays usable when the image is closed. pread() can be
    used by any number of threads at once.
    """

    def __init__(self, image: Image, inode: int, name: str) -> None:
        super().__init__()
        self._image = image  # the log of its context is borrowed
        try:
            self._handle = _dwarfs.dwarfs_file_open(image._use(), inode)
        except Error as error:
            raise named(error, name) from None
        self._size = _dwarfs.dwarfs_file_bytes(self._handle)
        self._position = 0
        self.name = name  # type: ignore[misc]
        self.mode = "rb"  # type: ignore[misc]

    def _use(self) -> Any:
        if self._handle is None:
            raise ValueError("I/O operation on closed file")
        return self._handle

    @property
    def size(self) -> int:
        """The size in bytes."""
        return int(self._size)

    def readable(self) -> bool:
        self._use()
        return True

    def seekable(self) -> bool:
        self._use()
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a writable buffer from the position on, without a copy, and return how many
        bytes there were."""
        count = _dwarfs.dwarfs_file_read(self._use(), buffer, self._position)
        self._position += count
        return int(count)

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to size bytes from the position on; all that follow for None or a negative size."""
        return self.readall() if size is None else super().read(size)

    def readall(self) -> bytes:
        data = self.pread(max(self._size - self._position, 0), self._position)
        self._position += len(data)
        return data

    def pread(self, size: int, offset: int) -> bytes:
        """Up to size bytes from offset on; the position stays."""
        if size < 0:
            raise ValueError("negative size")
        data: bytes = _dwarfs.dwarfs_file_contents(self._use(), min(size, self._size), offset)
        return data

    def write(self, data: Any, /) -> int:
        """Not possible: raises io.UnsupportedOperation."""
        self._use()
        raise io.UnsupportedOperation("write")

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._use()
        offset = operator.index(offset)
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += self._size
        elif whence in (getattr(os, "SEEK_DATA", None), getattr(os, "SEEK_HOLE", None)):
            offset = self._seek_extent(offset, whence)
        elif whence != os.SEEK_SET:
            raise ValueError(f"invalid whence ({whence})")
        if offset < 0:
            raise OSError(errno.EINVAL, f"negative seek position {offset}")
        if offset > _MAX_OFFSET:
            raise OverflowError(f"seek position {offset} is too large")
        self._position = offset
        return offset

    def _seek_extent(self, offset: int, whence: int) -> int:
        seek = (_dwarfs.dwarfs_file_seek_data if whence == os.SEEK_DATA
                else _dwarfs.dwarfs_file_seek_hole)
        if offset < 0:
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
        try:
            return int(seek(self._handle, offset))
        except FileNotFoundError:
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO)) from None

    def tell(self) -> int:
        self._use()
        return self._position

    def close(self) -> None:
        if not self.closed:
            self._handle = None
            super().close()
