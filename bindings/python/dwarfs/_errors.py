# SPDX-License-Identifier: MIT
"""What a failure of the library is in Python."""
from __future__ import annotations

import errno as _errno
import re
from enum import IntEnum
from typing import Any

from . import _dwarfs, _proxy  # noqa: F401  # _proxy: classes of handles, for abi3


class ErrorCode(IntEnum):
    """The codes of the C library."""

    NOMEM = _dwarfs.DWARFS_ERR_NOMEM
    INVALID = _dwarfs.DWARFS_ERR_INVALID
    RANGE = _dwarfs.DWARFS_ERR_RANGE
    IO = _dwarfs.DWARFS_ERR_IO
    CORRUPT = _dwarfs.DWARFS_ERR_CORRUPT
    CHECKSUM = _dwarfs.DWARFS_ERR_CHECKSUM
    NOT_IMAGE = _dwarfs.DWARFS_ERR_NOT_IMAGE
    UNSUPPORTED = _dwarfs.DWARFS_ERR_UNSUPPORTED
    NOT_FOUND = _dwarfs.DWARFS_ERR_NOT_FOUND
    NOT_DIR = _dwarfs.DWARFS_ERR_NOT_DIR
    IS_DIR = _dwarfs.DWARFS_ERR_IS_DIR
    EXISTS = _dwarfs.DWARFS_ERR_EXISTS
    ACCESS = _dwarfs.DWARFS_ERR_ACCESS
    NO_SPACE = _dwarfs.DWARFS_ERR_NO_SPACE
    CANCELLED = _dwarfs.DWARFS_ERR_CANCELLED
    LIMIT = _dwarfs.DWARFS_ERR_LIMIT


class Error(OSError):
    """A call that failed.

    `code` says how for programs, `str()` says what, where and why for people. `path` is the
    file it is about, inside the image or outside, and `offset` the place in it, if known;
    `errno` is set whenever one fits. `findings` is what Image.check() had found.
    """

    code: int
    path: str | None
    offset: int | None
    findings: list[Any] = []

    def __init__(self, code: int, message: str, path: str | None = None,
                 offset: int | None = None, errno: int = 0) -> None:
        super().__init__(errno or _ERRNOS.get(code), message, path)
        try:
            self.code = ErrorCode(code)
        except ValueError:
            self.code = code
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return str(self.strerror)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (int(self.code), self.strerror, self.path, self.offset,
                            self.errno or 0)


class NotFoundError(Error, FileNotFoundError):
    """No such entry, file or section."""


class NotDirectoryError(Error, NotADirectoryError):
    """A directory is needed, and this is none."""


class IsDirectoryError(Error, IsADirectoryError):
    """A directory where none can be."""


class ExistsError(Error, FileExistsError):
    """The output is there already."""


class AccessError(Error, PermissionError):
    """The system denies permission."""


class InvalidError(Error, ValueError):
    """An argument, a value or a combination of options makes no sense."""


class CorruptError(Error):
    """What was opened is no image, or a damaged one."""


class CancelledError(Error):
    """The caller asked to stop."""


_ERRNOS: dict[int, int] = {
    ErrorCode.NOMEM: _errno.ENOMEM,
    ErrorCode.INVALID: _errno.EINVAL,
    ErrorCode.RANGE: _errno.EINVAL,
    ErrorCode.IO: _errno.EIO,
    ErrorCode.CORRUPT: _errno.EIO,
    ErrorCode.CHECKSUM: _errno.EIO,
    ErrorCode.NOT_IMAGE: _errno.EINVAL,
    ErrorCode.UNSUPPORTED: _errno.ENOTSUP,
    ErrorCode.NOT_FOUND: _errno.ENOENT,
    ErrorCode.NOT_DIR: _errno.ENOTDIR,
    ErrorCode.IS_DIR: _errno.EISDIR,
    ErrorCode.EXISTS: _errno.EEXIST,
    ErrorCode.ACCESS: _errno.EACCES,
    ErrorCode.NO_SPACE: _errno.ENOSPC,
    ErrorCode.CANCELLED: _errno.ECANCELED,
    ErrorCode.LIMIT: _errno.ENOMEM,
}

_CLASSES: dict[int, type[Error]] = {
    ErrorCode.INVALID: InvalidError,
    ErrorCode.RANGE: InvalidError,
    ErrorCode.CORRUPT: CorruptError,
    ErrorCode.CHECKSUM: CorruptError,
    ErrorCode.NOT_IMAGE: CorruptError,
    ErrorCode.NOT_FOUND: NotFoundError,
    ErrorCode.NOT_DIR: NotDirectoryError,
    ErrorCode.IS_DIR: IsDirectoryError,
    ErrorCode.EXISTS: ExistsError,
    ErrorCode.ACCESS: AccessError,
    ErrorCode.CANCELLED: CancelledError,
}


def make_error(code: int, message: str, path: str | None = None, offset: int | None = None,
               errno: int = 0) -> Error:
    """The exception for a code of the library."""
    return _CLASSES.get(code, Error)(code, message, path, offset, errno)


def named(error: Error, path: str) -> Error:
    """An error about an inode, with its path in the image instead of the number. If the image is
    damaged, the path of the error is that of the image."""
    damaged = error.code in (ErrorCode.CORRUPT, ErrorCode.CHECKSUM)
    if error.path is not None and (not damaged or error.path == path):
        return error
    message = str(error)
    about = re.match(r"inode \d+ (?=is )", message)
    message = f"'{path}' {message[about.end():]}" if about else f"'{path}': {message}"
    return make_error(error.code, message, path if error.path is None else error.path,
                      error.offset, error.errno or 0)


_dwarfs.set_error_factory(make_error)
