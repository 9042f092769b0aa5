# SPDX-License-Identifier: MIT
"""How far a long operation is."""
from __future__ import annotations

from enum import IntEnum
from typing import Any, Callable, NamedTuple, Optional

from . import _dwarfs


class Phase(IntEnum):
    """What an operation is doing.

    An exception of a callback stops the operation and is raised. In the last call, of the phase
    DONE, there is nothing left to stop: what was written stays, and the exception is raised all
    the same.
    """

    SCAN = _dwarfs.DWARFS_PHASE_SCAN
    HASH = _dwarfs.DWARFS_PHASE_HASH
    ORDER = _dwarfs.DWARFS_PHASE_ORDER
    WRITE = _dwarfs.DWARFS_PHASE_WRITE
    METADATA = _dwarfs.DWARFS_PHASE_METADATA
    CHECK = _dwarfs.DWARFS_PHASE_CHECK
    EXTRACT = _dwarfs.DWARFS_PHASE_EXTRACT
    IMPORT = _dwarfs.DWARFS_PHASE_IMPORT
    OPEN = _dwarfs.DWARFS_PHASE_OPEN
    READ = _dwarfs.DWARFS_PHASE_READ
    DONE = _dwarfs.DWARFS_PHASE_DONE

    def __str__(self) -> str:
        return str(_dwarfs.dwarfs_phase_name(int(self)))


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

    def value(name: str) -> int:
        return int(_dwarfs.dwarfs_progress_number(
            handle, getattr(_dwarfs, "DWARFS_PROGRESS_" + name)))
    remaining = value("REMAINING_NS")
    return Progress(
        number,
        value("DONE_BYTES"),
        value("TOTAL_BYTES"),
        value("WRITTEN_BYTES"),
        value("DONE_ITEMS"),
        value("TOTAL_ITEMS"),
        value("ELAPSED_NS") / 1e9,
        _dwarfs.dwarfs_progress_path(handle),
        value("SAVED_BYTES"),
        None if remaining == _UNKNOWN else remaining / 1e9,
        value("READ_BYTES"),
    )


def watcher(progress: ProgressCallback | None) -> Callable[[Any], None]:
    """What the library calls. Without a callback it still lets signals, such as Ctrl-C, in."""
    if progress is None:
        return lambda handle: None
    callback = progress
    return lambda handle: (callback(snapshot(handle)), None)[1]


class Task:
    """A dwarfs_task and its progress callback, which it borrows: keep it while it is used."""

    def __init__(self, progress: ProgressCallback | None = None) -> None:
        self.handle = _dwarfs.dwarfs_task_new()
        self._watch = watcher(progress)
        _dwarfs.dwarfs_task_set_progress(self.handle, self._watch)

    def cancel(self) -> None:
        """Stop what uses it; from any thread."""
        _dwarfs.dwarfs_task_cancel(self.handle)
