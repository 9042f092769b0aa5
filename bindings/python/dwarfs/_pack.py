# SPDX-License-Identifier: MIT
"""From a directory to an image, and back."""
from __future__ import annotations

import os
from datetime import datetime
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

from . import _dwarfs
from ._callbacks import (
    CategoryCallback, FilterReport, IncludeCallback, OrderCallback, category_teller, includer,
    orderer)
from ._context import Context, handle_of
from ._image import Image
from ._progress import ProgressCallback, watcher
from ._source import Source

# One value for everything, or one for each category by its name; None is what has no other.
PerCategory = Union[str, int, Mapping[Optional[str], Any], None]


class CategoryCount(NamedTuple):
    """What became of the files of a category, in bytes."""

    name: str
    bytes_in: int
    bytes_stored: int  # before compression
    bytes_packed: int


class Probe(NamedTuple):
    """How the categorizer incompressible looks at files; see mkdwarfs(1)."""

    min_input_bytes: int = 256
    block_bytes: int = 1 << 20
    ratio: float = 0.99
    zstd_level: int = -1
    fragments: bool = False


class Decision(NamedTuple):
    """What filter rules make of an entry. The path is that below the root."""

    path: str
    is_directory: bool
    is_included: bool


class Counts(NamedTuple):
    """What pack() has counted; the bytes_* are sizes."""

    directories: int
    files: int
    links: int
    devices: int
    specials: int
    hardlinks: int
    duplicates: int
    skipped: int
    errors: int
    bytes_in: int
    bytes_duplicate: int
    bytes_holes: int
    bytes_stored: int
    bytes_blocks: int
    bytes_metadata: int
    bytes_out: int
    blocks: int
    chunks: int
    segments: int
    bytes_segments: int
    # those that have files
    categories: tuple[CategoryCount, ...]


def _split_time(time: int | float | datetime) -> tuple[int, int]:
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


def pack(directory: str | os.PathLike[Any], output: Union[str, os.PathLike[Any], int, Any], *,
         overwrite: bool = False,
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
         paths: Iterable[str | os.PathLike[Any]] | None = None,
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
         pack_metadata: str | None = None,
         hardlink_table: bool = True,
         section_index: bool = True,
         create_timestamp: bool = True,
         history: bool = True,
         history_timestamps: bool = True,
         history_arguments: Iterable[str] = (),
         header: bytes | None = None,
         context: Context | None = None,
         progress: ProgressCallback | None = None) -> Counts:
    """Make an image of a directory.

    `output` is a path, which appears whole or not at all; an open descriptor; or an object
    with write(), which gets the image from first byte to last. `level` is 0 (fast) to 9
    (small), 7 by default; the other options override what it chooses. They are those of
    mkdwarfs(1). `compression`, `order`, `window`, `window_step` and `lookback` may be mappings
    from the name of a category, or None for all that have no value of their own.

    Three callbacks let a program decide:

    - `include(entry)` says of an InputFile whether it is taken; nothing is taken below a
      directory that is left out.
    - `category(file)` names the category of an InputFile, one of `categories` or of the
      categorizers, or returns None. Each category has blocks, an order and a codec of its own.
    - `order(files)` returns the files of one category, a list of OrderedFile, in the order in
      which they are to be stored. Those that it leaves out come last.

    `filter_report(path, is_directory, is_included)` is told what the `filters` make of each
    entry. An exception in one of these, or in `progress`, stops the run and is raised.

    A file that cannot be read is stored as far as it could be, logged, and counted in
    `errors` of the result.
    """
    builder = _dwarfs.dwarfs_builder_new(handle_of(context))

    def use(setter: Any, *values: Any) -> None:
        if values[-1] is not None:
            setter(builder, *values)

    def use_each(setter: Any, choice: PerCategory) -> None:
        for name, value in _each(choice):
            setter(builder, name, value)

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
    use(_dwarfs.dwarfs_builder_set_max_similarity_size, max_similarity_bytes)
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
        _dwarfs.dwarfs_builder_set_time(builder, *_split_time(time))
    use(_dwarfs.dwarfs_builder_set_umask, umask)
    use(_dwarfs.dwarfs_builder_set_chmod, chmod)
    use(_dwarfs.dwarfs_builder_set_time_resolution, time_resolution_ns)
    use(_dwarfs.dwarfs_builder_set_keep_all_times, keep_all_times)
    use(_dwarfs.dwarfs_builder_set_pack_metadata, pack_metadata)
    use(_dwarfs.dwarfs_builder_set_hardlink_table, hardlink_table)
    use(_dwarfs.dwarfs_builder_set_section_index, section_index)
    use(_dwarfs.dwarfs_builder_set_create_timestamp, create_timestamp)
    use(_dwarfs.dwarfs_builder_set_history, history)
    use(_dwarfs.dwarfs_builder_set_history_timestamps, history_timestamps)
    for argument in history_arguments:
        _dwarfs.dwarfs_builder_add_history_argument(builder, argument)
    use(_dwarfs.dwarfs_builder_set_header, header)
    watch = watcher(progress)  # borrowed by the builder
    _dwarfs.dwarfs_builder_set_progress(builder, watch)

    _dwarfs.dwarfs_builder_add_directory(builder, directory)
    for path in () if paths is None else paths:
        _dwarfs.dwarfs_builder_add_path(builder, path)
    _write(builder, output, overwrite)
    return _counts(builder)


def preview(directory: str | os.PathLike[Any], filters: Iterable[str], *,
            context: Context | None = None) -> list[Decision]:
    """What filter rules make of each entry of a directory, without making an image.

    What is below a directory that is left out is not looked at.
    """
    decisions: list[Decision] = []

    def report(path: str, is_directory: bool, is_included: bool) -> None:
        decisions.append(Decision(path, is_directory, is_included))
    builder = _dwarfs.dwarfs_builder_new(handle_of(context))
    for rule in filters:
        _dwarfs.dwarfs_builder_add_filter(builder, rule)
    _dwarfs.dwarfs_builder_set_filter_report(builder, report)
    _dwarfs.dwarfs_builder_add_directory(builder, directory)
    _dwarfs.dwarfs_builder_scan(builder)
    return decisions


def _counts(builder: Any) -> Counts:
    numbers = {name: _dwarfs.dwarfs_builder_count(
                   builder, getattr(_dwarfs, "DWARFS_COUNT_" + name.upper()))
               for name in Counts._fields if name != "categories"}
    categories = (
        CategoryCount(_dwarfs.dwarfs_builder_category_name(builder, number),
                      *_dwarfs.dwarfs_builder_category_bytes(builder, number))
        for number in range(_dwarfs.dwarfs_builder_category_count(builder)))
    return Counts(**numbers, categories=tuple(part for part in categories if part.bytes_in))


def _write(builder: Any, output: Any, overwrite: bool) -> None:
    if isinstance(output, (str, bytes, os.PathLike)):
        _dwarfs.dwarfs_builder_write_path(builder, output, overwrite)
    elif isinstance(output, int):
        _dwarfs.dwarfs_builder_write_fd(builder, output)
    elif hasattr(output, "write"):
        _dwarfs.dwarfs_builder_write_callback(builder, lambda data: _write_all(output, data))
    else:
        raise TypeError("an image is written to a path, a descriptor, or an object with "
                        f"write(), not to {type(output).__name__}")


def _write_all(file: Any, data: bytes) -> None:
    """Write all of it, also to a raw file that takes less at a time."""
    count = file.write(data)
    done = len(data) if count is None else count
    while done < len(data):
        count = file.write(memoryview(data)[done:])
        if not count:
            raise BlockingIOError("the output takes no more")
        done += count


def extract(source: Source, directory: str | os.PathLike[Any], **options: Any) -> None:
    """Write everything that is in an image to disk; see Image.extract()."""
    with Image(source) as image:
        image.extract(directory, **options)
