# SPDX-License-Identifier: MIT
"""What images and builders share."""
from __future__ import annotations

import logging
from typing import Any, Callable, Union

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
                 "evictions", "decoded_bytes", "redecoded_bytes", "turn_waits",
                 "read_bytes", "refused"))

_LATENCIES = tuple((name, getattr(_dwarfs, "DWARFS_LATENCY_" + name.upper()))
                   for name in ("read", "wait", "decode", "load"))
_LATENCY_NUMBERS = (("times", _dwarfs.DWARFS_LATENCY_TIMES),
                    ("sum_ns", _dwarfs.DWARFS_LATENCY_SUM_NS),
                    ("least_ns", _dwarfs.DWARFS_LATENCY_LEAST_NS),
                    ("most_ns", _dwarfs.DWARFS_LATENCY_MOST_NS))
_QUANTILES = (("p50_ns", 500), ("p90_ns", 900), ("p99_ns", 990))


class Context:
    """A log, worker threads, and one cache for the blocks of all images that use it.

    `log` is a logger, or a callable that gets a level of the logging module and a message,
    from any thread; `log_level` is the least important level of that module to pass on. An
    exception in the callable is raised by the call that logged, or reported by
    sys.unraisablehook when a thread of the library did.

    With `timing` the times of reads are taken, for latencies(). With `decode_limit` reads fail
    with ErrorCode.LIMIT when more than so many times the bytes that are read are decompressed,
    because `cache_bytes` is too small for the order of reading; 0 is no limit.
    """

    def __init__(self, *, cache_bytes: int | None = None, workers: int | None = None,
                 log: Union[logging.Logger, LogCallback, None] = None,
                 log_level: int = logging.WARNING, timing: bool = False,
                 decode_limit: int = 0) -> None:
        call = log.log if isinstance(log, logging.Logger) else log
        if call is not None and not callable(call):
            raise TypeError(f"log: a logger or a callable is needed, not {type(log).__name__}")
        self._handle = _dwarfs.dwarfs_context_new()
        self._log: LogCallback | None = None
        self._given = (("cache_bytes", cache_bytes), ("workers", workers),
                       ("timing", timing), ("decode_limit", decode_limit))
        if cache_bytes is not None:
            _dwarfs.dwarfs_context_set_cache_bytes(self._handle, cache_bytes)
        if workers is not None:
            _dwarfs.dwarfs_context_set_workers(self._handle, workers)
        if decode_limit:
            _dwarfs.dwarfs_context_set_decode_limit(self._handle, decode_limit)
        if timing:
            _dwarfs.dwarfs_context_set_timing(self._handle, True)
        if call is not None:
            # The library borrows it: whatever has the handle keeps this object, too.
            self._log = lambda level, message: call(_TO_PYTHON[level], message)
            level = max((ours for ours, python in _LEVELS if python >= log_level),
                        default=_dwarfs.DWARFS_LOG_FATAL)
            _dwarfs.dwarfs_context_set_log(self._handle, level, self._log)

    def _settings(self) -> tuple[tuple[str, Any], ...]:
        """What makes an equal context in another process."""
        if self._log is not None:
            raise TypeError("cannot pickle an image of a context with a log")
        return self._given

    def set_workers(self, workers: int) -> None:
        """Set how many threads compress blocks from now on, from any thread, while images are
        packed as well: at least 1, at most as many as this context had when it was first used."""
        _dwarfs.dwarfs_context_set_workers(self._handle, workers)

    def trim(self, max_age: float = 0) -> None:
        """Evict blocks that have not been read for this many seconds."""
        _dwarfs.dwarfs_context_trim(self._handle, int(max_age * 1000))

    def cache_numbers(self) -> dict[str, int]:
        """What the block cache has and has done: bytes, and how often."""
        return {name: _dwarfs.dwarfs_context_cache_count(self._handle, number)
                for name, number in _CACHE_NUMBERS}

    def latencies(self) -> dict[str, dict[str, int]]:
        """How often something happened and how long it took, by what it was: reads of files,
        waiting for what another thread decodes, decoding of a block, and within that getting
        its stored bytes. All 0 without timing."""
        ask, quantile = _dwarfs.dwarfs_context_latency, _dwarfs.dwarfs_context_latency_quantile
        return {name: {**{key: ask(self._handle, what, number)
                          for key, number in _LATENCY_NUMBERS},
                       **{key: quantile(self._handle, what, permille)
                          for key, permille in _QUANTILES}}
                for name, what in _LATENCIES}


def handle_of(context: Context | None) -> object:
    if context is not None and not isinstance(context, Context):
        raise TypeError(f"context: a Context is needed, not {type(context).__name__}")
    return None if context is None else context._handle
