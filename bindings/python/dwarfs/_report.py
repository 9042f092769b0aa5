# SPDX-License-Identifier: MIT
"""Entries that do not come out of an archive, or go into one, as they were."""
from __future__ import annotations

from enum import IntEnum
from typing import Any, Callable, Optional, Type

from . import _dwarfs
from ._progress import Task


class ExportReport(IntEnum):
    """What became of an entry that is not in an archive as it is in the image."""

    LEFT_OUT = _dwarfs.DWARFS_EXPORT_LEFT_OUT  #: not there; a failure
    CUT = _dwarfs.DWARFS_EXPORT_CUT  #: its contents end in zeros; a failure
    REDUCED = _dwarfs.DWARFS_EXPORT_REDUCED  #: there without what the format has no place for


class ImportReport(IntEnum):
    """What became of an entry that is not in a builder as it is in its archive."""

    LEFT_OUT = _dwarfs.DWARFS_IMPORT_LEFT_OUT  #: not there; a failure
    REDUCED = _dwarfs.DWARFS_IMPORT_REDUCED  #: there without an attribute
    REPLACED = _dwarfs.DWARFS_IMPORT_REPLACED  #: there, but a directory with entries is gone


# what, path, why
ExportReportCallback = Callable[[ExportReport, str, str], object]
ImportReportCallback = Callable[[ImportReport, str, str], object]


class Reporter:
    """What the library calls; an exception cancels the task, so that the run stops. Both are
    borrowed by the run."""

    def __init__(self, report: Optional[Callable[[Any, str, str], object]],
                 kind: Type[IntEnum], task: Task) -> None:
        self._task = task
        self.callback: Optional[Callable[[int, str, str], None]] = None
        if report is not None:
            self.callback = self._call
        self._report = report
        self._kind = kind

    def _call(self, what: int, path: str, why: str) -> None:
        assert self._report is not None
        try:
            self._report(self._kind(what) if what in self._kind._value2member_map_ else what,
                         path, why)
        except BaseException:
            self._task.cancel()
            raise
