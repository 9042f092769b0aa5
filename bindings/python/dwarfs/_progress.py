# SPDX-License-Identifier: MIT
"""How far a long operation is."""
from __future__ import annotations

from enum import IntEnum
from typing import Any, Callable, NamedTuple, Optional

from . import _dwarfs


class Phase(IntEnum):
    """What an operation is doing."""

    SCAN = _dwarfs.DWARFS_PHASE_SCAN
    HASH = _dwarfs.DWARFS_PHASE_HASH
    ORDER = _dwarfs.DWARFS_PHASE_ORDER
    WRITE = _dwarfs.DWARFS_PHASE_WRITE
    METADATA = _dwarfs.DWARFS_PHASE_METADATA
    CHECK = _dwarfs.DWARFS_PHASE_CHECK
    EXTRACT = _dwarfs.DWARFS_PHASE_EXTRACT
    IMPORT = _dwarfs.DWARFS_PHASE_IMPORT
    DONE = _dwarfs.DWARFS_PHASE_DONE

    def __str__(self) -> str:
        return _dwarfs.dwarfs_phase_name(int(self))


class Progress(NamedTuple):
    """A snapshot; totals are what is known so far."""

    phase: int
    bytes_done: int
    bytes_total: int
    bytes_out: int
    items_done: int
    items_total: int
    elapsed: float
    path: Optional[str]
    bytes_saved: int = 0  # of contents that were stored already
    remaining: Optional[float] = None  # seconds, as far as the library can tell
    bytes_read: int = 0  # done, or waiting to be compressed


_UNKNOWN = 2**64 - 1

ProgressCallback = Callable[[Progress], object]


def snapshot(handle: Any) -> Progress:
    number = _dwarfs.dwarfs_progress_phase(handle)
    try:
        number = Phase(number)
    except ValueError:
        pass
    remaining = _dwarfs.dwarfs_progress_remaining_ns(handle)
    return Progress(
        number,
        _dwarfs.dwarfs_progress_bytes_done(handle),
        _dwarfs.dwarfs_progress_bytes_total(handle),
        _dwarfs.dwarfs_progress_bytes_out(handle),
        _dwarfs.dwarfs_progress_items_done(handle),
        _dwarfs.dwarfs_progress_items_total(handle),
        _dwarfs.dwarfs_progress_elapsed_ns(handle) / 1e9,
        _dwarfs.dwarfs_progress_path(handle),
        _dwarfs.dwarfs_progress_bytes_saved(handle),
        None if remaining == _UNKNOWN else remaining / 1e9,
        _dwarfs.dwarfs_progress_bytes_read(handle),
    )


def watcher(progress: ProgressCallback | None) -> Callable[[Any], None]:
    """What the library calls. Without a callback it still lets signals, such as Ctrl-C, in."""
    if progress is None:
        return lambda handle: None
    callback = progress
    return lambda handle: (callback(snapshot(handle)), None)[1]
