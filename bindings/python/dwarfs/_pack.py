# SPDX-License-Identifier: MIT
"""From a directory to an image, and back."""
from __future__ import annotations

import os
from datetime import datetime
from typing import Any, Iterable, NamedTuple, Union

from . import _dwarfs
from ._context import Context, handle_of
from ._image import Image
from ._progress import ProgressCallback, watcher
from ._source import Source


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


def _split_time(time: int | float | datetime) -> tuple[int, int]:
    if isinstance(time, datetime):
        time = time.timestamp()
    seconds = int(time // 1)
    return seconds, int((time - seconds) * 10**9)


def pack(directory: str | os.PathLike[Any], output: Union[str, os.PathLike[Any], int, Any], *,
         overwrite: bool = False,
         level: int | None = None,
         block_bits: int | None = None,
         compression: str | None = None,
         metadata_compression: str | None = None,
         schema_compression: str | None = None,
         history_compression: str | None = None,
         order: str | None = None,
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
    mkdwarfs(1). An exception in `progress` stops the run.

    A file that cannot be read is stored as far as it could be, logged, and counted in
    `errors` of the result.
    """
    builder = _dwarfs.dwarfs_builder_new(handle_of(context))

    def use(setter: Any, *values: Any) -> None:
        if values[-1] is not None:
            setter(builder, *values)

    use(_dwarfs.dwarfs_builder_set_level, level)
    use(_dwarfs.dwarfs_builder_set_block_bits, block_bits)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_BLOCKS, compression)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_METADATA, metadata_compression)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_SCHEMA, schema_compression)
    use(_dwarfs.dwarfs_builder_set_codec, _dwarfs.DWARFS_CODEC_HISTORY, history_compression)
    use(_dwarfs.dwarfs_builder_set_order, order)
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
    _write(builder, output, overwrite)
    return Counts(*(_dwarfs.dwarfs_builder_count(builder,
                                                 getattr(_dwarfs, "DWARFS_COUNT_" + name.upper()))
                    for name in Counts._fields))


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
