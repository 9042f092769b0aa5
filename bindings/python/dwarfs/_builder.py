# SPDX-License-Identifier: MIT
"""An image of entries that are added one by one."""
from __future__ import annotations

import io
import os
import stat
from datetime import datetime
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Union

from . import _dwarfs
from ._context import Context, handle_of
from ._errors import Error
from ._image import Image, image_handle
from ._options import configure, split_time
from ._progress import ProgressCallback, Task
from ._report import ImportReport, ImportReportCallback, Reporter
from ._source import is_buffer, open_sink

#: Where the contents of a file come from.
Content = Union[bytes, bytearray, memoryview, "os.PathLike[Any]", int, io.IOBase,
                Iterable[Any], None]
#: Seconds since 1970, also as a tuple with nanoseconds.
Time = Union[int, float, datetime, "tuple[int, int]"]

_PIECE = 1 << 18
_UNKNOWN = (1 << 64) - 1


class CategoryCount(NamedTuple):
    """What became of the files of a category, in bytes."""

    name: str
    bytes_in: int
    bytes_stored: int  # before compression
    bytes_packed: int


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
    blocks_copied: int  # of images; the sizes are as they are stored there
    bytes_copied: int
    blocks_rewritten: int
    bytes_rewritten: int
    blocks_dropped: int
    bytes_dropped: int
    # those that have files
    categories: tuple[CategoryCount, ...]


class Builder:
    """Makes an image of what is added to it, in any order.

        builder = dwarfs.Builder(level=5)
        builder.add("etc/motd", b"hello\\n", mtime=1234567890)
        builder.add("bin/tool", pathlib.Path("out/tool"), mode=0o755)
        builder.add("bin/alias", target="tool")
        builder.add_tree("share", "usr/share")
        builder.write("tool.dwarfs")

    Paths are relative to the root and use "/"; "" is the root. Directories on the way are
    made as needed. It takes the options of pack() but for `paths`, and writes once.
    """

    def __init__(self, *, context: Context | None = None,
                 progress: ProgressCallback | None = None, **options: Any) -> None:
        self._handle = _dwarfs.dwarfs_builder_new(handle_of(context))
        self._borrowed = configure(self._handle, **options)
        self._task = Task(progress)
        _dwarfs.dwarfs_builder_set_task(self._handle, self._task.handle)
        self._sync = bool(options.get("sync", True))

    def set_spool(self, directory: str | os.PathLike[Any] | None = None,
                  memory_bytes: int | None = None) -> None:
        """Choose where contents are kept that cannot be read twice: in memory up to a size,
        the rest in a temporary file without a name. Before the first of them is added.
        The directory is also that of decompressed blocks of images that are added; by default that
        is the directory of the output."""
        _dwarfs.dwarfs_builder_set_spool_or_default(
            self._handle, directory, _UNKNOWN if memory_bytes is None else memory_bytes)

    def add(self, path: str | bytes | os.PathLike[Any], content: Content = None, *,
            mode: int | None = None,
            uid: int = 0, gid: int = 0,
            mtime: Time = 0, atime: Time | None = None, ctime: Time | None = None,
            btime: Time | None = None,
            target: str | bytes | os.PathLike[Any] | None = None,
            link: str | bytes | os.PathLike[Any] | None = None,
            device: tuple[int, int] | None = None,
            xattrs: Mapping[str, bytes] | None = None,
            size: int | None = None) -> None:
        """Add an entry, or replace one.

        The content of a file is a buffer; a path, as pathlib.Path, of a file that is read by
        write(); a descriptor; a file object, read from its position; or an iterable of
        buffers, or of tuples of an offset and a buffer, ascending: what is between them is a
        hole. `size` makes such a file end later than its last piece. All but a path are read
        at once.

        `target` makes a symbolic link and `link` a further name of another entry, added
        before or later. `mode` is as st_mode; without type bits it is a file, or a link when
        there is a target; without any, 0o644. Directories are stat.S_IFDIR | 0o755, and get
        their attributes from the last that is added.
        """
        item = _dwarfs.dwarfs_item_new(_mode(mode, target))
        _dwarfs.dwarfs_item_set_owner(item, uid, gid)
        for which, time in ((_dwarfs.DWARFS_MTIME, mtime), (_dwarfs.DWARFS_ATIME, atime),
                            (_dwarfs.DWARFS_CTIME, ctime), (_dwarfs.DWARFS_BTIME, btime)):
            if time is not None:
                _dwarfs.dwarfs_item_set_time(item, which, *_time(time))
        if device is not None:
            _dwarfs.dwarfs_item_set_device(item, *device)
        for name, value in (xattrs or {}).items():
            _dwarfs.dwarfs_item_add_xattr(item, name, value)
        if target is not None:
            _dwarfs.dwarfs_item_set_target(item, target)
        if link is not None:
            _dwarfs.dwarfs_item_set_hard_link(item, link)
        self._add_item(path, item, content, size)

    def add_tree(self, directory: str | os.PathLike[Any],
                 prefix: str | bytes | os.PathLike[Any] = "") -> None:
        """Add a directory of the system and all below it; contents are read by write()."""
        _dwarfs.dwarfs_builder_add_tree(self._handle, directory, prefix)

    def add_image(self, image: Image, prefix: str | bytes | os.PathLike[Any] = "", *,
                  repack: bool = False) -> None:
        """Add what is in an open image, and copy its blocks as they are stored.

        Files of other inputs that are equal to files of the image are not stored again. With
        `repack` the image is read as a directory instead: its files are ordered, deduplicated
        and compressed anew. The image must stay as it is until write() returns; it may be
        closed before.
        """
        _dwarfs.dwarfs_builder_add_image(
            self._handle, image_handle(image), prefix,
            _dwarfs.DWARFS_REPACK if repack else _dwarfs.DWARFS_KEEP_BLOCKS)

    def add_base(self, image: Image, *, trust_times: bool = True) -> None:
        """Use the data of an open image, but not its entries, for an incremental snapshot:
        contents that it has are not stored again, and its blocks with them are copied.

        Files of the same path, size and modification time as in the image are not read, unless
        `trust_times` is false. The image must stay as it is until write() returns; it may be
        closed before.
        """
        _dwarfs.dwarfs_builder_add_base(
            self._handle, image_handle(image),
            _dwarfs.DWARFS_BASE_TRUST_TIMES if trust_times else _dwarfs.DWARFS_BASE_TRUST_NONE)

    def set_on_conflict(self, conflict: str) -> None:
        """Choose what happens to entries of different inputs with the same path: "last", the
        default, replaces the earlier one, "first" leaves out the later one, "rename" gives it a
        number, and "error" raises ExistsError. Applies to entries that are added from now on;
        see begin_input()."""
        _dwarfs.dwarfs_builder_set_on_conflict(self._handle, _conflict(conflict))

    def begin_input(self) -> None:
        """Begin another input for set_on_conflict(): what is added between two calls is one."""
        _dwarfs.dwarfs_builder_begin_layer(self._handle)

    def set_max_unused(self, percent: int) -> None:
        """Choose how much of a block that is copied from an image may be unused; the files
        in other blocks are stored anew. 100, the default, allows any share."""
        _dwarfs.dwarfs_builder_set_max_unused(self._handle, percent)

    def add_archive(self, source: str | os.PathLike[Any] | int | bytes | bytearray | memoryview,
                    format: str = "auto", *, strip_components: int = 0,
                    prefix: str | os.PathLike[Any] = "", whiteouts: bool = False,
                    continue_on_error: bool = False,
                    report: ImportReportCallback | None = None,
                    progress: ProgressCallback | None = None) -> int:
        """Add what an archive holds: tar, cpio, zip and what else libarchive reads, whatever it
        is compressed with, from a path, a descriptor, or a buffer.

        What is there already is replaced. `strip_components` leaves out names at the beginning
        of each path, `prefix` puts all below a directory of the image. With `whiteouts` the
        archive is a layer of a container image: files ".wh.NAME" hide what was there before.

        Stops at the first entry that an image cannot hold, such as one with ".." in its path, and
        the image should not be made then. With `continue_on_error` such entries are left out;
        what is wrong with the archive as such is raised all the same.

        `report(what, path, why)` is called for each entry that is lost, is added without an
        attribute, or came in place of a directory with something in it: what became of it, an
        ImportReport, its path, and the reason as text. An exception in it, or in `progress`,
        stops the import and is raised.

        Returns how many entries lost an attribute or were left out; each was named in the log.
        """
        archive = _dwarfs.dwarfs_archive_import_new(self._handle)
        _dwarfs.dwarfs_archive_import_set_format(archive, format)
        _dwarfs.dwarfs_archive_import_set_strip_components(archive, strip_components)
        _dwarfs.dwarfs_archive_import_set_prefix(archive, prefix)
        _dwarfs.dwarfs_archive_import_set_whiteouts(archive, whiteouts)
        _dwarfs.dwarfs_archive_import_set_continue_on_error(archive, continue_on_error)
        task = Task(progress)  # borrowed by the import
        reporter = Reporter(report, ImportReport, task)  # likewise
        _dwarfs.dwarfs_archive_import_set_report(archive, reporter.callback)
        _dwarfs.dwarfs_archive_import_set_task(archive, task.handle)
        try:
            _import(archive, source)
        except Error:
            if not _dwarfs.dwarfs_archive_import_is_complete(archive):
                raise
        return int(_dwarfs.dwarfs_archive_import_warnings(archive) +
                   _dwarfs.dwarfs_archive_import_failures(archive))

    def remove(self, path: str | bytes | os.PathLike[Any], *,
               contents_only: bool = False) -> None:
        """Take an entry back, with all below it, or only what is in a directory. Further
        names of a file stay."""
        _dwarfs.dwarfs_builder_remove_item(self._handle, path, contents_only)

    def write(self, output: Union[str, os.PathLike[Any], int, Any, None], *,
              overwrite: bool = False) -> Counts:
        """Write the image, as pack() does; once. To None for a dry run: everything is done, and
        counted, but nothing is written."""
        _dwarfs.dwarfs_builder_write(self._handle, open_sink(output, overwrite, self._sync))
        return _counts(self._handle)

    def cancel(self) -> None:
        """Make write() and the functions that add end with CancelledError, those that run and
        all later ones. There is no output then. From any thread."""
        self._task.cancel()

    def _rewrite(self, image: Image, parts: int, categories: str | None,
                 version_history: bool, output: Any, overwrite: bool) -> Counts:
        if categories is not None:
            _dwarfs.dwarfs_builder_set_recompress_categories(self._handle, categories)
        _dwarfs.dwarfs_builder_set_version_history(self._handle, version_history)
        _dwarfs.dwarfs_rewrite(image._use(), parts, self._handle,
                               open_sink(output, overwrite, self._sync))
        return _counts(self._handle)

    def _add_directory(self, directory: Any, paths: Iterable[Any] | None) -> None:
        _dwarfs.dwarfs_builder_add_directory(self._handle, directory)
        for path in () if paths is None else paths:
            _dwarfs.dwarfs_builder_add_path(self._handle, path)

    def _add_item(self, path: Any, item: Any, content: Any, size: int | None) -> None:
        if content is None and size is None:
            _dwarfs.dwarfs_builder_add_item(self._handle, path, item)
        elif isinstance(content, os.PathLike):
            _dwarfs.dwarfs_item_set_path(item, content)
            _dwarfs.dwarfs_builder_add_item(self._handle, path, item)
        elif isinstance(content, int):
            _dwarfs.dwarfs_item_set_io(item, _contents_of(content))
            _dwarfs.dwarfs_builder_add_item(self._handle, path, item)
        else:
            pieces = _pieces(content)
            _dwarfs.dwarfs_builder_add_pieces(self._handle, path, item,
                                              _UNKNOWN if size is None else size,
                                              lambda: next(pieces, None))


def _import(archive: Any, source: Any) -> None:
    if isinstance(source, int):
        _dwarfs.dwarfs_archive_import_io(archive, _dwarfs.dwarfs_io_from_stream(source))
    elif is_buffer(source):
        _dwarfs.dwarfs_archive_import_io(archive, _dwarfs.dwarfs_io_from_memory(source))
    elif hasattr(source, "read"):
        if isinstance(source, io.TextIOBase):
            raise TypeError("the file must be open in binary mode")
        _dwarfs.dwarfs_archive_import_io(
            archive, _dwarfs.dwarfs_io_new_stream(lambda count: source.read(count) or b""))
    else:
        _dwarfs.dwarfs_archive_import_path(archive, source)


def _mode(mode: int | None, target: Any) -> int:
    if mode is None:
        mode = 0o777 if target is not None else 0o644
    if stat.S_IFMT(mode) == 0:
        mode |= stat.S_IFLNK if target is not None else stat.S_IFREG
    return mode


def _conflict(name: str) -> int:
    if name not in ("last", "first", "rename", "error"):
        raise ValueError(f"'{name}': it is last, first, rename or error")
    return int(getattr(_dwarfs, "DWARFS_CONFLICT_" + name.upper()))


def _time(time: Time) -> tuple[int, int]:
    return time if isinstance(time, tuple) else split_time(time)


def _pieces(content: Any) -> Iterator[Any]:
    if content is None:
        return iter(())
    if isinstance(content, str):
        raise TypeError("text must be encoded, and the path of a file be a pathlib.Path")
    if is_buffer(content):
        return iter((content,))
    if isinstance(content, io.TextIOBase):
        raise TypeError("the file must be open in binary mode")
    if hasattr(content, "read"):
        return iter(lambda: content.read(_PIECE) or None, None)
    return iter(content)


def _counts(builder: Any) -> Counts:
    numbers = {name: _dwarfs.dwarfs_builder_count(
                   builder, getattr(_dwarfs, "DWARFS_COUNT_" + name.upper()))
               for name in Counts._fields if name != "categories"}
    categories = (
        CategoryCount(_dwarfs.dwarfs_builder_category_name(builder, number),
                      *_dwarfs.dwarfs_builder_category_bytes(builder, number))
        for number in range(_dwarfs.dwarfs_builder_category_count(builder)))
    return Counts(**numbers, categories=tuple(part for part in categories if part.bytes_in))


def _contents_of(descriptor: int) -> Any:
    """A file as a whole, with its holes; anything else from its position to its end."""
    if stat.S_IFMT(os.fstat(descriptor).st_mode) in (stat.S_IFREG, stat.S_IFBLK):
        return _dwarfs.dwarfs_io_from_fd(descriptor)
    return _dwarfs.dwarfs_io_from_stream(descriptor)
