# SPDX-License-Identifier: MIT
"""What images and builders share."""
from __future__ import annotations

import logging
from typing import Callable, Union

from . import _dwarfs

LogCallback = Callable[[int, str], object]

_LEVELS = (
    # the library's, from the most to the least important, and Python's
    (_dwarfs.DWARFS_LOG_FATAL, logging.CRITICAL),
    (_dwarfs.DWARFS_LOG_ERROR, logging.ERROR),
    (_dwarfs.DWARFS_LOG_WARN, logging.WARNING),
    (_dwarfs.DWARFS_LOG_INFO, logging.INFO),
    (_dwarfs.DWARFS_LOG_VERBOSE, logging.DEBUG + 5),
    (_dwarfs.DWARFS_LOG_DEBUG, logging.DEBUG),
    (_dwarfs.DWARFS_LOG_TRACE, logging.DEBUG - 5),
)
_TO_PYTHON = dict(_LEVELS)
_CACHE_NUMBERS = tuple(
    (name, getattr(_dwarfs, "DWARFS_CACHE_" + name.upper()))
    for name in ("budget", "used", "most_used", "blocks", "extents", "hits", "misses",
                 "evictions", "decoded_bytes"))


class Context:
    """A log, worker threads, and one cache for the blocks of all images that use it.

    `log` is a logger, or a callable that gets a level of the logging module and a message,
    from any thread; `log_level` is the least important level of that module to pass on. An
    exception in the callable is raised by the call that logged, or reported by
    sys.unraisablehook when a thread of the library did.
    """

    def __init__(self, *, cache_bytes: int | None = None, workers: int | None = None,
                 log: Union[logging.Logger, LogCallback, None] = None,
                 log_level: int = logging.WARNING) -> None:
        self._handle = _dwarfs.dwarfs_context_new()
        if cache_bytes is not None:
            _dwarfs.dwarfs_context_set_cache_bytes(self._handle, cache_bytes)
        if workers is not None:
            _dwarfs.dwarfs_context_set_workers(self._handle, workers)
        if log is not None:
            call = log.log if isinstance(log, logging.Logger) else log
            # The library borrows it: whatever has the handle keeps this object, too.
            self._log = lambda level, message: call(_TO_PYTHON[level], message)
            level = max((ours for ours, python in _LEVELS if python >= log_level),
                        default=_dwarfs.DWARFS_LOG_FATAL)
            _dwarfs.dwarfs_context_set_log(self._handle, level, self._log)

    def trim(self, max_age: float = 0) -> None:
        """Give back the memory of blocks that nobody has read from for so many seconds."""
        _dwarfs.dwarfs_context_trim(self._handle, int(max_age * 1000))

    def cache_numbers(self) -> dict[str, int]:
        """What the block cache has and has done: bytes, and how often."""
        return {name: _dwarfs.dwarfs_context_cache_count(self._handle, number)
                for name, number in _CACHE_NUMBERS}


def handle_of(context: Context | None) -> object:
    return None if context is None else context._handle
