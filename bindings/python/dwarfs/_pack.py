# SPDX-License-Identifier: MIT
"""From a directory to an image, and back."""
from __future__ import annotations

import contextlib
import os
from datetime import datetime
from typing import Any, Iterable, Mapping, NamedTuple, Union

from . import _dwarfs
from ._builder import Builder, Counts
from ._callbacks import CategoryCallback, FilterReport, IncludeCallback, OrderCallback
from ._context import Context, handle_of
from ._errors import ErrorCode, make_error
from ._image import Image
from ._options import OPTIONS, Probe
from ._path import Path
from ._progress import ProgressCallback
from ._source import Source


def refuse_one_path(paths: Any) -> None:
    """A string would be taken for a list of paths of one character."""
    if isinstance(paths, (str, bytes, os.PathLike, Path)):
        raise TypeError(f"paths: a list is needed, not {type(paths).__name__}")


def listed_paths(directory: Any, paths: Iterable[Any]) -> list[str]:
    """The paths that pack() includes, relative to the directory; each must be below it."""
    refuse_one_path(paths)
    top, root = os.fsdecode(directory), os.path.realpath(os.fsdecode(directory))
    found = []
    for path in paths:
        full = os.path.join(top, os.fsdecode(path))
        if not os.path.lexists(full):
            raise make_error(ErrorCode.NOT_FOUND, f"paths: '{full}' does not exist", full)
        where = os.path.realpath(full)
        if where != root and os.path.islink(full):  # the link itself is included
            where = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        try:
            is_below = os.path.commonpath([where, root]) == root
        except ValueError:  # on another drive of Windows
            is_below = False
        if not is_below:
            raise make_error(ErrorCode.INVALID, f"paths: '{full}' is not below '{root}'", full)
        below = os.path.relpath(where, root)
        found.append("" if below == os.curdir else below)
    return found or [""]  # only the directory itself


class Decision(NamedTuple):
    """What filter rules make of an entry. The path is that below the root."""

    path: str
    is_directory: bool
    is_included: bool


def pack(directory: str | os.PathLike[Any], output: Union[str, os.PathLike[Any], int, Any, None], *,
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
         sync: bool = True,
         context: Context | None = None,
         progress: ProgressCallback | None = None) -> Counts:
    """Make an image of a directory.

    `output` is a path, which appears whole or not at all; an open descriptor; or an object
    with write(), which gets the image from first byte to last; or None for a dry run, which
    writes nothing. `level` is 0 (fast) to 9
    (small), 7 by default; the other options override what it chooses. They have the meanings of
    the options of mkdwarfs(1), also where names differ, as `owner` for --set-owner, `time` for
    --set-time, `window` for --window-size, and `devices` for --with-devices; those that are
    True by default are turned off by --no-... there. `compression`, `order`, `window`, `window_step` and `lookback` may be mappings
    from the name of a category, or None for all that have no value of their own.

    `paths` are the only entries that are included, besides their parent directories; each must
    be below the directory, or FileNotFoundError or InvalidError is raised.

    Three callbacks let a program decide:

    - `include(entry)` returns whether an InputFile is included; nothing below a directory that is
      left out is included.
    - `category(file)` returns the category of an InputFile, one of `categories` or of the
      categorizers, or None. Each category has blocks, an order and a codec of its own.
    - `order(files)` returns the files of one category, a list of OrderedFile, in the order in
      which they are to be stored. Files that it leaves out are stored last.

    `filter_report(path, is_directory, is_included)` is called with the result of the `filters`
    for each entry. An exception in one of these, or in `progress`, stops the run and is raised.

    A file that cannot be read is stored as far as it could be, logged, and counted in
    `errors` of the result.
    """
    given = locals()
    options = {name: given[name] for name in OPTIONS}
    builder = Builder(context=context, progress=progress, **options)
    builder._add_directory(directory, None if paths is None else listed_paths(directory, paths))
    return builder.write(output, overwrite=overwrite)


def preview(directory: str | os.PathLike[Any], filters: Iterable[str], *,
            context: Context | None = None) -> list[Decision]:
    """Return the result of filter rules for each entry of a directory, without making an image.

    Entries below a directory that is left out are not visited.
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


def rewrite(source: Source | Image, output: Union[str, os.PathLike[Any], int, Any, None], *,
            blocks: bool = True, metadata: bool = True, rebuild: bool = False,
            change_block_size: bool = False, categories: str | None = None,
            version_history: bool = True, check: bool = True, overwrite: bool = False,
            context: Context | None = None, progress: ProgressCallback | None = None,
            **options: Any) -> Counts:
    """Write an image anew, with the same files, to an output as that of pack().

    `blocks` and `metadata` are compressed again, with the codecs of the `options`, which are
    those of pack(). With `rebuild` the metadata is made anew, so that options that change
    attributes apply; `change_block_size` gives all blocks the size of `block_bits`, and
    rebuilds. `categories` chooses blocks to be compressed again by the names of their
    categories, with commas between them, or with "!" in front all others.

    The source is checked first, unless `check` is false; a damaged block is an error in any
    case. A header of the source is kept, unless `header` is given; b"" removes it.
    """
    with contextlib.ExitStack() as stack:
        if not isinstance(source, Image):
            source = stack.enter_context(Image(source, context=context))
        if check:
            source.check()
        if options.get("header") is None and source.offset > 0:
            options["header"] = source.header
        parts = 0
        if blocks or change_block_size:
            parts |= _dwarfs.DWARFS_REWRITE_BLOCKS
        if metadata:
            parts |= _dwarfs.DWARFS_REWRITE_METADATA
        if rebuild or change_block_size:
            parts |= _dwarfs.DWARFS_REWRITE_REBUILD
        if change_block_size:
            parts |= _dwarfs.DWARFS_REWRITE_BLOCK_SIZE
        builder = Builder(context=context, progress=progress, **options)
        return builder._rewrite(source, parts, categories, version_history, output, overwrite)


def extract(source: Source, directory: str | os.PathLike[Any], **options: Any) -> None:
    """Write everything that is in an image to disk; see Image.extract()."""
    with Image(source) as image:
        image.extract(directory, **options)
