# SPDX-License-Identifier: MIT
"""What a program decides about the input, file by file, while an image is made."""
from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Optional, Sequence

from . import _dwarfs


class InputFile(NamedTuple):
    """An entry of the input. The path is that below the root."""

    path: str
    mode: int  # as in st_mode
    size: int
    uid: int
    gid: int
    mtime: int


class OrderedFile(NamedTuple):
    """A file with distinct contents that is to be put in order."""

    path: str
    size: int
    number: int  # its place in the order it has now
    category: str


IncludeCallback = Callable[[InputFile], object]
CategoryCallback = Callable[[InputFile], Optional[str]]
OrderCallback = Callable[[Sequence[OrderedFile]], Iterable[OrderedFile]]
# path, is_directory, is_included
FilterReport = Callable[[str, bool, bool], object]


def _input(handle: Any) -> InputFile:
    return InputFile(
        _dwarfs.dwarfs_input_path(handle),
        _dwarfs.dwarfs_input_mode(handle),
        _dwarfs.dwarfs_input_bytes(handle),
        _dwarfs.dwarfs_input_uid(handle),
        _dwarfs.dwarfs_input_gid(handle),
        _dwarfs.dwarfs_input_mtime(handle),
    )


def includer(include: IncludeCallback) -> Callable[[Any], object]:
    return lambda handle: include(_input(handle))


def category_teller(category: CategoryCallback) -> Callable[[Any], Optional[str]]:
    return lambda handle: category(_input(handle))


def orderer(order: OrderCallback) -> Callable[[Any], None]:
    def arrange(handle: Any) -> None:
        category = _dwarfs.dwarfs_order_list_category(handle)
        files = [OrderedFile(_dwarfs.dwarfs_order_list_path(handle, number),
                             _dwarfs.dwarfs_order_list_bytes(handle, number), number, category)
                 for number in range(_dwarfs.dwarfs_order_list_count(handle))]
        ranks = {file.number: rank for rank, file in enumerate(order(files))}
        for file in files:
            _dwarfs.dwarfs_order_list_set_rank(handle, file.number,
                                               ranks.get(file.number, len(ranks)))
    return arrange
