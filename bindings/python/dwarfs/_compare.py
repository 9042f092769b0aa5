# SPDX-License-Identifier: MIT
"""What differs between two trees."""
from __future__ import annotations

import os
from typing import Any, Iterable, NamedTuple, Optional, Union

from . import _dwarfs
from ._context import Context, handle_of
from ._image import Image


class Difference(NamedTuple):
    """One thing that differs. `kind` is a word, such as "mode" or "only-a"; `name` that of an
    extended attribute; `a` and `b` are what both sides have."""

    kind: str
    path: str
    name: Optional[str]
    a: Optional[bytes]
    b: Optional[bytes]


def _kinds() -> dict[str, int]:
    return {_dwarfs.dwarfs_difference_word(kind): kind
            for kind in range(_dwarfs.DWARFS_DIFFERENCE_KINDS)}


def compare(a: Union[str, os.PathLike[Any], Image], b: Union[str, os.PathLike[Any], Image], *,
            ignore: Iterable[str] = (), time_resolution_ns: int | None = None,
            context: Context | None = None) -> list[Difference]:
    """What differs between `a` and `b`: images, or paths of images, directories and archives.

    Empty when they agree. What cannot be read is a difference of the kind "trouble". `ignore`
    has kinds of differences to ignore. Times are compared in seconds by default.
    """
    comparison = _dwarfs.dwarfs_compare_new(handle_of(context))
    for side, what in enumerate((a, b)):
        if isinstance(what, Image):
            _dwarfs.dwarfs_compare_set_image(comparison, side, what._use())
        else:
            _dwarfs.dwarfs_compare_set_path(comparison, side, what, None)
    kinds = _kinds()
    for word in ignore:
        if word not in kinds:
            raise ValueError(f"{word!r} is no kind of difference")
        _dwarfs.dwarfs_compare_ignore(comparison, kinds[word])
    if time_resolution_ns is not None:
        _dwarfs.dwarfs_compare_set_time_resolution(comparison, time_resolution_ns)
    words = {kind: word for word, kind in kinds.items()}
    found: list[Difference] = []

    def add(kind: int, path: str, name: bytes | None, left: bytes | None,
            right: bytes | None) -> None:
        found.append(Difference(words[kind], path, None if name is None else os.fsdecode(name),
                                left, right))

    _dwarfs.dwarfs_compare_run(comparison, add)
    return found
