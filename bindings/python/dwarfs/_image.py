# SPDX-License-Identifier: MIT
"""Images: open, describe, check."""
from __future__ import annotations

import builtins
import hashlib
import os
import weakref
from datetime import datetime, timezone
from enum import IntEnum
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional

from . import _dwarfs
from ._context import Context, handle_of
from ._errors import Error, ErrorCode, make_error
from ._path import Path, Walk
from ._progress import ProgressCallback, Task
from ._report import ExportReport, ExportReportCallback, Reporter
from ._source import Source, open_sink, open_source


class CheckLevel(IntEnum):
    """How much Image.check() looks at; each level includes those before it."""

    METADATA = _dwarfs.DWARFS_CHECK_METADATA
    CHECKSUMS = _dwarfs.DWARFS_CHECK_CHECKSUMS
    INTEGRITY = _dwarfs.DWARFS_CHECK_INTEGRITY


class Finding(NamedTuple):
    """Something that a check found."""

    is_error: bool
    code: int
    section: Optional[int]
    message: str


class Section(NamedTuple):
    """A part of the image as it is stored; bytes is what it decodes to."""

    type: str
    compression: str
    offset: int
    stored_bytes: int
    bytes: int
    number: int


class HistoryStep(NamedTuple):
    """Who wrote, or rewrote, the image."""

    version: str
    system: str
    compiler: str
    arguments: tuple[str, ...]
    libraries: tuple[str, ...]
    time: Optional[datetime]


_HEADER_BYTES = 64

# What was unpickled in this process, to be shared by what is unpickled later.
_reopened: weakref.WeakValueDictionary[Any, Image] = weakref.WeakValueDictionary()
_contexts: weakref.WeakValueDictionary[Any, Context] = weakref.WeakValueDictionary()


def _reopen(path: str, options: tuple[tuple[str, Any], ...], content_id: str,
            settings: tuple[Any, ...] | None, kind: type[Image] | None = None,
            shared: bool = True) -> Image:
    """The image of a pickle, of a subclass unless `kind` is None."""
    key = (os.getpid(), path, options, content_id, settings, kind)
    image = _reopened.get(key) if shared else None
    if image is None or image.closed:
        context = None
        if settings is not None:
            context = _contexts.get((os.getpid(), settings))
            if context is None:
                context = _contexts[os.getpid(), settings] = Context(**dict(settings))
        image = (kind or Image).__new__(kind or Image)
        Image.__init__(image, path, context=context, **dict(options))
        if image.content_id != content_id:
            raise make_error(ErrorCode.INVALID, f"'{path}': not the image that was pickled",
                             path)
        if shared:
            _reopened[key] = image
    return image


def _all(function: Callable[..., Optional[str]], *arguments: Any) -> tuple[str, ...]:
    items: list[str] = []
    while (item := function(*arguments, len(items))) is not None:
        items.append(item)
    return tuple(items)


def _utc(known: bool, seconds: int) -> datetime | None:
    if not known:
        return None
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return None


def open(source: Source, *, offset: int | None = None, size: int | None = None,
         context: Context | None = None, lazy: bool = False, mapped: bool = False) -> Image:
    """Open an image.

    `source` is a path, an open descriptor, bytes (or anything else with the buffer protocol,
    such as an mmap), or a binary file object that can read and seek; it must not change while
    the image is open. `offset` is where the image starts; by default it is searched for after
    any data in front of it. A `lazy` image opens faster, and its hashes are verified while it is
    in use: damage is found late, or (in blocks that are never read to their end) not at all.
    Uncompressed data of a `mapped` file is used in place and takes no memory of the process,
    which a signal (SIGBUS) ends if the file shrinks.
    """
    return Image(source, offset=offset, size=size, context=context, lazy=lazy, mapped=mapped)


class Image:
    """An open image. It never changes, and any number of threads may use it at once.

    Iterating gives what is in the root directory; `image / "a/b"` is a Path. Closing gives up
    the handle; files that were opened before stay usable.

    An image that was opened from a path can be pickled: the other process opens the path with
    the same options and a context with the same settings, and raises InvalidError if the
    content_id is another one. Copies of one image share one open image in that process, except
    those of a subclass with attributes. The __init__() of a subclass is not called: its
    attributes are pickled.
    """

    _OWN = frozenset(("_handle", "_context", "_source", "_options", "_content_id", "_io"))

    def __init__(self, source: Source, *, offset: int | None = None, size: int | None = None,
                 context: Context | None = None, lazy: bool = False,
                 mapped: bool = False) -> None:
        self._handle: Any = None
        self._context = context  # its log is borrowed by the library
        # absolute: a copy may be opened where the working directory is another one
        self._source = (os.path.abspath(os.fsdecode(source))
                        if isinstance(source, (str, os.PathLike)) else None)
        self._options = {"offset": offset, "size": size, "lazy": lazy, "mapped": mapped}
        self._content_id: Optional[str] = None
        options = _dwarfs.dwarfs_image_options_new()
        if offset is not None:
            _dwarfs.dwarfs_image_options_set_offset(options, offset)
        if size is not None:
            _dwarfs.dwarfs_image_options_set_bytes(options, size)
        if lazy:
            _dwarfs.dwarfs_image_options_set_verify(options, _dwarfs.DWARFS_VERIFY_LAZY)
        _dwarfs.dwarfs_image_options_set_mapped(options, mapped)
        self._io: Any = open_source(source)
        self._handle = _dwarfs.dwarfs_image_open_io(handle_of(context), self._io, options)

    def _use(self) -> Any:
        if self._handle is None:
            raise ValueError("the image is closed")
        return self._handle

    def close(self) -> None:
        """Give up the image; it may be called twice."""
        self._handle = None
        self._io = None

    @property
    def closed(self) -> bool:
        """Whether the image was closed."""
        return self._handle is None

    def verify(self) -> None:
        """Make sure that the hash of the metadata matches; of use for lazy images."""
        _dwarfs.dwarfs_image_verify(self._use())

    def __enter__(self) -> Image:
        self._use()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise TypeError("cannot pickle an image that was not opened from a path")
        settings = None if self._context is None else self._context._settings()
        state = self._source, tuple(self._options.items()), self.content_id, settings
        if type(self) is Image:
            return _reopen, state
        attributes = {name: value for name, value in vars(self).items() if name not in Image._OWN}
        return _reopen, (*state, type(self), not attributes), attributes or None

    # -- contents

    @property
    def root(self) -> Path:
        """The root directory."""
        return Path(self)

    def path(self, *segments: str | builtins.bytes | os.PathLike[Any]) -> Path:
        """A place in the image."""
        return Path(self, *segments)

    def __truediv__(self, segment: str | builtins.bytes | os.PathLike[Any]) -> Path:
        return Path(self, segment)

    def __iter__(self) -> Iterator[Path]:
        return self.root.iterdir()

    def __contains__(self, path: object) -> bool:
        if isinstance(path, Path):
            return path._image is self and path.exists(follow_symlinks=False)
        if isinstance(path, (str, builtins.bytes, os.PathLike)):
            return Path(self, path).exists(follow_symlinks=False)
        return False

    def walk(self, order: str = "tree") -> Walk:
        """Everything from the root on down: in the order of the tree ("tree"), or files last
        and in the order of their contents ("data"), which is the fast one to read them in."""
        return self.root.walk(order)

    def prefetch(self, paths: Iterable[str | builtins.bytes | os.PathLike[Any]]) -> int:
        """Put into the cache what these files need, in one go.

        Each block is decoded once. Gives how many of the files, from the first on, are there
        now: no more than a part of the cache is used for them.
        """
        return int(_dwarfs.dwarfs_prefetch(self._use(), [
            (path if isinstance(path, Path) else self.path(path))._inode() for path in paths]))

    # -- identity

    @property
    def format_version(self) -> tuple[int, int]:
        """The version of the format."""
        return 2, _dwarfs.dwarfs_image_format_minor(self._use())

    @property
    def offset(self) -> int:
        """Where the image starts in its source."""
        return int(_dwarfs.dwarfs_image_offset(self._use()))

    @property
    def size(self) -> int:
        """The size of the image in bytes, from its start to its end."""
        return int(_dwarfs.dwarfs_image_bytes(self._use()))

    @property
    def content_id(self) -> str:
        """Identifies the contents: a digest of the size and of the headers of all sections,
        which have the hashes of the sections. Equal for copies of an image."""
        if self._content_id is None:
            digest = hashlib.blake2b(str(self.size).encode(), digest_size=16)
            header = bytearray(_HEADER_BYTES)
            for number in range(_dwarfs.dwarfs_image_section_count(self._use())):
                offset = _dwarfs.dwarfs_image_section(self._use(), number,
                                                      _dwarfs.DWARFS_SECTION_FIELD_OFFSET)
                count = _dwarfs.dwarfs_io_read(self._io, header, self.offset + offset)
                digest.update(memoryview(header)[:count])
            self._content_id = digest.hexdigest()
        return self._content_id

    @property
    def header(self) -> bytes:
        """The image header: the data that precedes the image."""
        data = bytearray(self.offset)
        _dwarfs.dwarfs_image_read_header(self._use(), data, 0)
        return bytes(data)

    @property
    def block_size(self) -> int:
        """The largest size of a block before compression, in bytes."""
        return int(_dwarfs.dwarfs_image_block_bytes(self._use()))

    @property
    def block_count(self) -> int:
        """How many blocks there are."""
        return int(_dwarfs.dwarfs_image_block_count(self._use()))

    @property
    def inode_count(self) -> int:
        """How many inodes there are."""
        return int(_dwarfs.dwarfs_image_inode_count(self._use()))

    @property
    def entry_count(self) -> int:
        """How many directory entries there are, the root included."""
        return int(_dwarfs.dwarfs_image_entry_count(self._use()))

    @property
    def original_size(self) -> int:
        """Bytes of all files and links, as the image states them."""
        return int(_dwarfs.dwarfs_image_original_bytes(self._use()))

    @property
    def hardlink_size(self) -> int:
        """Total size of additional hard links, as stated in the image."""
        return int(_dwarfs.dwarfs_image_hardlink_bytes(self._use()))

    @property
    def created_by(self) -> str | None:
        """The program that wrote the image."""
        name: str | None = _dwarfs.dwarfs_image_created_by(self._use())
        return name

    @property
    def created_on(self) -> datetime | None:
        """When the image was made."""
        return _utc(*_dwarfs.dwarfs_image_created_on(self._use()))

    @property
    def has_index(self) -> bool:
        """Whether there is a valid section index."""
        return bool(_dwarfs.dwarfs_image_has_index(self._use()))

    @property
    def is_mtime_only(self) -> bool:
        """Whether only modification times are stored."""
        return bool(_dwarfs.dwarfs_image_is_mtime_only(self._use()))

    @property
    def time_resolution_ns(self) -> int:
        """The step of stored times in nanoseconds."""
        return int(_dwarfs.dwarfs_image_time_resolution_ns(self._use()))

    @property
    def features(self) -> tuple[str, ...]:
        """The features that a reader needs."""
        return _all(_dwarfs.dwarfs_image_feature, self._use())

    @property
    def xattr_names(self) -> tuple[str, ...]:
        """The names of all extended attributes that anything in the image has."""
        names: list[str] = []
        _dwarfs.dwarfs_xattr_names_into(self._use(), names)
        return tuple(names)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that blocks belong to."""
        return _all(_dwarfs.dwarfs_image_category, self._use())

    @property
    def packing(self) -> tuple[str, ...]:
        """How the tables of the metadata are stored."""
        return _all(_dwarfs.dwarfs_image_packing, self._use())

    @property
    def sections(self) -> list[Section]:
        """The sections, as they follow each other."""
        return [self._section(i)
                for i in range(_dwarfs.dwarfs_image_section_count(self._use()))]

    def _section(self, index: int) -> Section:
        def ask(field: int) -> int:
            return int(_dwarfs.dwarfs_image_section(self._use(), index, field))
        return Section(
            _dwarfs.dwarfs_section_type_name(ask(_dwarfs.DWARFS_SECTION_FIELD_TYPE)),
            _dwarfs.dwarfs_compression_name(ask(_dwarfs.DWARFS_SECTION_FIELD_COMPRESSION)),
            ask(_dwarfs.DWARFS_SECTION_FIELD_OFFSET),
            ask(_dwarfs.DWARFS_SECTION_FIELD_STORED_BYTES),
            ask(_dwarfs.DWARFS_SECTION_FIELD_BYTES),
            ask(_dwarfs.DWARFS_SECTION_FIELD_NUMBER))

    @property
    def history(self) -> list[HistoryStep]:
        """Who wrote the image, the oldest step first."""
        history = _dwarfs.dwarfs_history_new(self._use())

        def text(step: int, kind: int) -> str:
            return str(_dwarfs.dwarfs_history_text(history, step, kind))

        def items(step: int, kind: int) -> tuple[str, ...]:
            return _all(_dwarfs.dwarfs_history_item, history, step, kind)
        return [HistoryStep(text(step, _dwarfs.DWARFS_HISTORY_VERSION),
                            text(step, _dwarfs.DWARFS_HISTORY_SYSTEM),
                            text(step, _dwarfs.DWARFS_HISTORY_COMPILER),
                            items(step, _dwarfs.DWARFS_HISTORY_ARGUMENTS),
                            items(step, _dwarfs.DWARFS_HISTORY_LIBRARIES),
                            _utc(*_dwarfs.dwarfs_history_time(history, step)))
                for step in range(_dwarfs.dwarfs_history_count(history))]

    # -- work

    def check(self, level: CheckLevel = CheckLevel.CHECKSUMS, *,
              progress: ProgressCallback | None = None) -> list[Finding]:
        """Check the image, to the end, whatever is found.

        Returns the warnings of a good image. Raises the first error of a bad one; all that
        was found is then in `findings` of the exception.
        """
        findings: list[Finding] = []

        def add(severity: int, code: int, section: int, message: str) -> None:
            findings.append(Finding(severity == _dwarfs.DWARFS_FINDING_ERROR, code,
                                    None if section < 0 else section, message))
        task = Task(progress)
        try:
            _dwarfs.dwarfs_image_check(self._use(), int(level), add, task.handle)
        except Error as error:
            error.findings = findings
            raise
        return findings

    def extract(self, directory: str | os.PathLike[Any], *, skip_devices: bool = False,
                skip_specials: bool = False, owners: bool | None = None,
                patterns: Iterable[str | builtins.bytes] = (), xattrs: bool = True, writers: int = 0,
                progress: ProgressCallback | None = None) -> None:
        """Extract to a directory, which is created if it is missing.

        Stops at the first entry that cannot be written, and never overwrites. Owners are set
        when the process is privileged, unless `owners` is given. With `patterns`, such as
        "src/**/*.c", "i:*.jpg" or "doc/" (a directory with everything below it), only entries that
        match one of them and their parent directories are extracted. `writers` is the number of
        threads that write, in addition to the workers of the context. An exception in `progress`
        stops the extraction.
        """
        extract = _dwarfs.dwarfs_extract_new(self._use())
        _dwarfs.dwarfs_extract_set_skip_devices(extract, skip_devices)
        _dwarfs.dwarfs_extract_set_skip_specials(extract, skip_specials)
        if owners is not None:
            _dwarfs.dwarfs_extract_set_owners(extract, owners)
        for pattern in patterns:
            _dwarfs.dwarfs_extract_add_pattern(extract, pattern)
        _dwarfs.dwarfs_extract_set_xattrs(extract, xattrs)
        _dwarfs.dwarfs_extract_set_writers(extract, writers)
        task = Task(progress)  # borrowed by the extraction
        _dwarfs.dwarfs_extract_set_task(extract, task.handle)
        _dwarfs.dwarfs_extract_to_directory(extract, directory)

    def export(self, target: str | os.PathLike[Any] | int, format: str = "auto", *,
               filters: Iterable[str] = (), options: str = "",
               patterns: Iterable[str | builtins.bytes] = (), tree_order: bool = False,
               skip_devices: bool = False, skip_specials: bool = False, xattrs: bool = True,
               continue_on_error: bool = False, sync: bool = True,
               allow_huge_holes: bool = False,
               report: ExportReportCallback | None = None,
               progress: ProgressCallback | None = None) -> None:
        """Write everything as an archive, to a path or a file descriptor.

        "auto" derives format and filters from the name of the file, such as "x.tar.zst". Others
        are "tar" (which is "pax" and loses nothing), "newc", "zip", "7zip" and other formats of
        libarchive; `filters` are such as "gzip", "xz" or "zstd", and `options` those of libarchive,
        such as "compression-level=19". Files are in the order of their data, or, with
        `tree_order`, after their directory.

        Stops at the first entry that the format cannot represent or that cannot be read, and then
        leaves no file; with `continue_on_error` such entries are left out, and the error is raised
        at the end. `patterns` are as for extract(). A file is on disk when this returns, unless
        `sync` is false.

        Formats other than "pax" have holes as zeros. Where that would be more than 64 GiB and
        1024 times the data, the file fails, unless `allow_huge_holes` is set.

        `report(what, path, why)` is called for each entry that is not in the archive as it is in
        the image: what became of it, an ExportReport, its path, and the reason as text. An
        exception in it, or in `progress`, stops the export and is raised.
        """
        export = _dwarfs.dwarfs_archive_export_new(self._use())
        _dwarfs.dwarfs_archive_export_set_format(export, format)
        _dwarfs.dwarfs_archive_export_set_filters(export, ",".join(filters))
        _dwarfs.dwarfs_archive_export_set_options(export, options)
        for pattern in patterns:
            _dwarfs.dwarfs_archive_export_add_pattern(export, pattern)
        _dwarfs.dwarfs_archive_export_set_order(
            export, _dwarfs.DWARFS_WALK_TREE if tree_order else _dwarfs.DWARFS_WALK_DATA)
        _dwarfs.dwarfs_archive_export_set_skip_devices(export, skip_devices)
        _dwarfs.dwarfs_archive_export_set_skip_specials(export, skip_specials)
        _dwarfs.dwarfs_archive_export_set_xattrs(export, xattrs)
        _dwarfs.dwarfs_archive_export_set_continue_on_error(export, continue_on_error)
        _dwarfs.dwarfs_archive_export_set_allow_huge_holes(export, allow_huge_holes)
        task = Task(progress)  # borrowed by the export
        reporter = Reporter(report, ExportReport, task)  # likewise
        _dwarfs.dwarfs_archive_export_set_report(export, reporter.callback)
        _dwarfs.dwarfs_archive_export_set_task(export, task.handle)
        _dwarfs.dwarfs_archive_export_write(export, open_sink(target, True, sync))


def image_handle(image: Image) -> Any:
    """The handle of an open image that was given to a function."""
    if not isinstance(image, Image):
        raise TypeError(f"an open image is needed, not {image!r}")
    return image._use()
