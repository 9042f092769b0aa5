# SPDX-License-Identifier: MIT
"""Where the bytes of an image come from, and where they go."""
from __future__ import annotations

import io
import os
import threading
from typing import Any, Union

from . import _dwarfs

#: What an image can be opened from.
Source = Union[str, "os.PathLike[Any]", int, bytes, bytearray, memoryview, io.IOBase, Any]


class _Reader:
    """Reads at a place in a file object, for any thread."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._into = hasattr(file, "readinto")
        self.size = file.seek(0, os.SEEK_END)

    def __call__(self, room: memoryview, offset: int) -> int:
        with self._lock:
            self._file.seek(offset)
            if self._into:
                return self._file.readinto(room) or 0
            data = self._file.read(len(room))
        room[:len(data)] = data
        return len(data)


def _plain_descriptor(file: Any) -> int | None:
    """The descriptor of a file object that adds nothing to it, so it can be left out."""
    if isinstance(file, (io.BufferedReader, io.BufferedRandom)):
        if isinstance(file, io.BufferedRandom):
            file.flush()
        file = file.raw
    return file.fileno() if type(file) is io.FileIO else None


def open_source(source: Source) -> Any:
    """A dwarfs_io; it keeps whatever it needs alive."""
    if isinstance(source, (str, os.PathLike)):
        return _dwarfs.dwarfs_io_open(source)
    if isinstance(source, int) and not isinstance(source, bool):
        return _dwarfs.dwarfs_io_from_fd(source)
    if is_buffer(source):
        return _dwarfs.dwarfs_io_from_memory(source)
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file must be open in binary mode")
    if hasattr(source, "read") and hasattr(source, "seek"):
        descriptor = _plain_descriptor(source)
        if descriptor is not None:
            return _dwarfs.dwarfs_io_from_fd(descriptor)
        reader = _Reader(source)
        return _dwarfs.dwarfs_io_new((reader, reader.size))
    raise TypeError("an image is opened from a path, a descriptor, bytes, or a file object "
                    f"with read() and seek(), not from {type(source).__name__}")


def is_buffer(source: Any) -> bool:
    """Whether it has the buffer protocol."""
    try:
        memoryview(source).release()
    except (TypeError, BufferError):
        return False
    return True


def open_sink(output: Any, overwrite: bool, sync: bool) -> Any:
    """A dwarfs_sink for a path, a descriptor or an object with write(); None: for nothing."""
    if isinstance(output, (str, bytes, os.PathLike)):
        sink = _dwarfs.dwarfs_sink_open(output, overwrite)
    elif isinstance(output, int):
        sink = _dwarfs.dwarfs_sink_from_fd(output)
    elif output is None:
        return _dwarfs.dwarfs_sink_to_nothing_named()
    elif hasattr(output, "write"):
        return _dwarfs.dwarfs_sink_new(lambda data: _write_all(output, data))
    else:
        raise TypeError("the output is a path, a descriptor, or an object with write(), not "
                        f"{type(output).__name__}")
    _dwarfs.dwarfs_sink_set_sync(sink, sync)
    return sink


def _write_all(file: Any, data: bytes) -> None:
    """Write all of it, also to a raw file that takes less at a time."""
    count = file.write(data)
    done = len(data) if count is None else count
    while done < len(data):
        count = file.write(memoryview(data)[done:])
        if not count:
            raise BlockingIOError("the output takes no more")
        done += count
