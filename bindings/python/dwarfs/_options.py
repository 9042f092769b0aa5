# SPDX-License-Identifier: MIT
"""How an image is made: what mkdwarfs(1) has options for."""
from __future__ import annotations

import inspect
import os
from datetime import datetime
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

from . import _dwarfs
from ._callbacks import (
    CategoryCallback, FilterReport, IncludeCallback, OrderCallback, category_teller, includer,
    orderer)

# One value for everything, or one for each category by its name; None is what has no other.
PerCategory = Union[str, int, Mapping[Optional[str], Any], None]


class Probe(NamedTuple):
    """How the categorizer incompressible looks at files; see mkdwarfs(1)."""

    min_input_bytes: int = 256
    block_bytes: int = 1 << 20
    ratio: float = 0.99
    zstd_level: int = -1
    fragments: bool = False


def split_time(time: int | float | datetime) -> tuple[int, int]:
    if isinstance(time, datetime):
        time = time.timestamp()
    seconds = int(time // 1)
    return seconds, int((time - seconds) * 10**9)


def _each(choice: PerCategory) -> Iterable[tuple[str | None, Any]]:
    """Pairs of a category, or None, and a value."""
    if choice is None:
        return ()
    if isinstance(choice, Mapping):
        return choice.items()
    return ((None, choice),)


def _text(words: str | Iterable[str]) -> str:
    return words if isinstance(words, str) else ",".join(words)


# Options with other names than their setters.
_NAMES = {"codec": "compression", "category_codec": "compression", "category_order": "order",
          "time_resolution": "time_resolution_ns"}


def _set(setter: Any, *values: Any) -> None:
    """Call a setter; an error of the type of the value names the option."""
    try:
        setter(*values)
    except (TypeError, OverflowError) as error:
        why, value = str(error), repr(values[-1])
        if isinstance(error, OverflowError):
            why = f"{value} is out of range"
        elif "argument" in why:  # of SWIG
            kind = "True or False" if "'bool'" in why else "a whole number"
            why = f"{kind} is needed, not {value}"
        name = setter.__name__.replace("dwarfs_builder_set_", "")
        raise type(error)(f"{_NAMES.get(name, name)}: {why}") from None


def _digests_use(name: str) -> int:
    if name not in ("auto", "always", "never"):
        raise ValueError(f"digests: '{name}' is not 'auto', 'always' or 'never'")
    return int(getattr(_dwarfs, "DWARFS_DIGESTS_" + name.upper()))


def configure(builder: Any, *,
              level: int | None = None,
              block_bits: int | None = None,
              compression: str | Mapping[str | None, str] | None = None,
              metadata_compression: str | None = None,
              schema_compression: str | None = None,
              history_compression: str | None = None,
              order: str | Mapping[str | None, str] | OrderCallback | None = None,
              max_similarity_bytes: int | None = None,
              window: int | Mapping[str | None, int] | None = None,
              window_step: int | Mapping[str | None, int] | None = None,
              lookback: int | Mapping[str | None, int] | None = None,
              categorize: str | Iterable[str] | None = None,
              category: CategoryCallback | None = None,
              categories: Iterable[str] = (),
              category_names: bool = True,
              category_metadata: bool = True,
              incompressible: Probe | None = None,
              hot_paths: Iterable[str | os.PathLike[Any]] = (),
              include: IncludeCallback | None = None,
              filters: Iterable[str] = (),
              filter_report: FilterReport | None = None,
              remove_empty_directories: bool = False,
              file_hash: str | None = None,
              hollow: bool = False,
              memory_limit: int | None = None,
              scan_workers: int | None = None,
              compress_niceness: int | None = None,
              devices: bool = False,
              specials: bool = False,
              sparse_files: bool = True,
              owner: int | None = None,
              group: int | None = None,
              time: int | float | datetime | None = None,
              chmod: str | None = None,
              umask: int | None = None,
              time_resolution_ns: int | None = None,
              keep_all_times: bool = False,
              keep_birth_times: bool = False,
              xattrs: bool = True,
              xattrs_include: Iterable[str] = (),
              xattrs_exclude: Iterable[str] = (),
              digests: str | None = None,
              trust_digests: bool = False,
              pack_metadata: str | None = None,
              hardlink_table: bool = True,
              section_index: bool = True,
              create_timestamp: bool = True,
              history: bool = True,
              history_timestamps: bool = True,
              history_arguments: Iterable[str] = (),
              header: bytes | None = None,
              sync: bool = True) -> list[Any]:
    """Give a builder its options, and return what it borrows. What is written heeds `sync`."""

    def use(setter: Any, *values: Any) -> None:
        if values[-1] is not None:
            _set(setter, builder, *values)

    def use_each(setter: Any, choice: PerCategory) -> None:
        for name, value in _each(choice):
            _set(setter, builder, name, value)

    use(_dwarfs.dwarfs_builder_set_level, level)
    use(_dwarfs.dwarfs_builder_set_block_bits, block_bits)
    for own in categories:
        _dwarfs.dwarfs_builder_add_category(builder, own)
    if categorize is not None:
        _dwarfs.dwarfs_builder_set_categorizers(builder, _text(categorize))
    for name, codec in _each(compression):
        if name is None:
            use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_BLOCKS, codec)
        else:
            _dwarfs.dwarfs_builder_set_category_codec(builder, name, codec)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_METADATA, metadata_compression)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_SCHEMA, schema_compression)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_HISTORY, history_compression)
    ordering = orderer(order) if callable(order) else None  # borrowed by the builder
    _dwarfs.dwarfs_builder_set_order_callback(builder, ordering)
    for name, mode in () if callable(order) else _each(order):
        if name is None:
            use(_dwarfs.dwarfs_builder_set_order, mode)
        else:
            _dwarfs.dwarfs_builder_set_category_order(builder, name, mode)
    use(_dwarfs.dwarfs_builder_set_max_similarity_bytes, max_similarity_bytes)
    use_each(_dwarfs.dwarfs_builder_set_window, window)
    use_each(_dwarfs.dwarfs_builder_set_window_step, window_step)
    use_each(_dwarfs.dwarfs_builder_set_lookback, lookback)
    telling = None if category is None else [category_teller(category), None]  # borrowed
    _dwarfs.dwarfs_builder_set_category_callback(builder, telling)
    use(_dwarfs.dwarfs_builder_set_category_names, category_names)
    use(_dwarfs.dwarfs_builder_set_category_metadata, category_metadata)
    if incompressible is not None:
        _dwarfs.dwarfs_builder_set_incompressible(builder, *incompressible)
    for path in hot_paths:
        _dwarfs.dwarfs_builder_add_hot_path(builder, path)
    including = None if include is None else includer(include)  # borrowed
    _dwarfs.dwarfs_builder_set_include(builder, including)
    for rule in filters:
        _dwarfs.dwarfs_builder_add_filter(builder, rule)
    _dwarfs.dwarfs_builder_set_filter_report(builder, filter_report)  # borrowed, too
    use(_dwarfs.dwarfs_builder_set_remove_empty_directories, remove_empty_directories)
    use(_dwarfs.dwarfs_builder_set_file_hash, file_hash)
    use(_dwarfs.dwarfs_builder_set_hollow, hollow)
    use(_dwarfs.dwarfs_builder_set_memory_limit, memory_limit)
    use(_dwarfs.dwarfs_builder_set_scan_workers, scan_workers)
    use(_dwarfs.dwarfs_builder_set_compress_niceness, compress_niceness)
    use(_dwarfs.dwarfs_builder_set_devices, devices)
    use(_dwarfs.dwarfs_builder_set_specials, specials)
    use(_dwarfs.dwarfs_builder_set_sparse_files, sparse_files)
    use(_dwarfs.dwarfs_builder_set_owner, owner)
    use(_dwarfs.dwarfs_builder_set_group, group)
    if time is not None:
        _dwarfs.dwarfs_builder_set_time(builder, *split_time(time))
    use(_dwarfs.dwarfs_builder_set_umask, umask)
    use(_dwarfs.dwarfs_builder_set_chmod, chmod)
    use(_dwarfs.dwarfs_builder_set_time_resolution, time_resolution_ns)
    use(_dwarfs.dwarfs_builder_set_keep_all_times, keep_all_times)
    use(_dwarfs.dwarfs_builder_set_keep_birth_times, keep_birth_times)
    use(_dwarfs.dwarfs_builder_set_xattrs, xattrs)
    for glob in xattrs_include:
        _dwarfs.dwarfs_builder_add_xattr_rule(builder, True, glob)
    for glob in xattrs_exclude:
        _dwarfs.dwarfs_builder_add_xattr_rule(builder, False, glob)
    if digests is not None:
        _dwarfs.dwarfs_builder_set_digests(builder, _digests_use(digests))
    use(_dwarfs.dwarfs_builder_set_trust_digests, trust_digests)
    use(_dwarfs.dwarfs_builder_set_pack_metadata, pack_metadata)
    use(_dwarfs.dwarfs_builder_set_hardlink_table, hardlink_table)
    use(_dwarfs.dwarfs_builder_set_section_index, section_index)
    use(_dwarfs.dwarfs_builder_set_create_timestamp, create_timestamp)
    use(_dwarfs.dwarfs_builder_set_history, history)
    use(_dwarfs.dwarfs_builder_set_history_timestamps, history_timestamps)
    for argument in history_arguments:
        _dwarfs.dwarfs_builder_add_history_argument(builder, argument)
    use(_dwarfs.dwarfs_builder_set_header, header)
    return [ordering, telling, including, filter_report]


OPTIONS = tuple(name for name in inspect.signature(configure).parameters if name != "builder")
