# SPDX-License-Identifier: MIT
"""DwarFS images: open, walk, read, check, extract and make them.

    import dwarfs

    with dwarfs.open("photos.dwarfs") as image:
        for path in image:
            print(path, path.stat().st_size)
        text = (image / "notes" / "readme.txt").read_text()

    dwarfs.pack("photos", "photos.dwarfs", level=5)

Failures raise `dwarfs.Error`, which is an OSError; those that have a name in Python are that,
too, so that `except FileNotFoundError` works. Any number of threads may use an image at once.

A child process made by fork may use the images of its parent if no thread was reading with them
at that moment; otherwise reading raises `InvalidError`. Images that were opened from a path, and
their paths, can be pickled: another process opens the same image.

In a subinterpreter, callbacks run in it; a log, and images in Python file objects, can be used in
the main interpreter only, as threads of the library call them.

`dwarfs.fsspec` makes images file systems of fsspec, and `dwarfs.ratarmount` mount sources of
ratarmountcore. `dwarfs.distributed` reads and makes images with many processes or machines.
"""
from ._builder import Builder, CategoryCount, Counts
from ._callbacks import InputFile, OrderedFile
from ._compare import Difference, compare
from ._context import Context
from ._errors import (
    AccessError,
    CancelledError,
    CorruptError,
    Error,
    ErrorCode,
    ExistsError,
    InvalidError,
    IsDirectoryError,
    NotDirectoryError,
    NotFoundError,
)
from ._file import File
from ._importer import enable_imports, register_archive_format
from ._image import CheckLevel, Finding, HistoryStep, Image, Section, open
from ._options import Probe
from ._pack import Decision, extract, pack, preview, rewrite
from ._path import Path, Walk
from ._progress import Phase, Progress
from ._report import ExportReport, ImportReport
from . import _dwarfs

__version__: str = _dwarfs.dwarfs_version_string()

__all__ = [
    "AccessError",
    "Builder",
    "CancelledError",
    "CategoryCount",
    "CheckLevel",
    "Context",
    "CorruptError",
    "Counts",
    "Decision",
    "Difference",
    "Error",
    "ErrorCode",
    "ExistsError",
    "ExportReport",
    "File",
    "Finding",
    "HistoryStep",
    "Image",
    "ImportReport",
    "InputFile",
    "InvalidError",
    "IsDirectoryError",
    "NotDirectoryError",
    "NotFoundError",
    "OrderedFile",
    "Path",
    "Phase",
    "Probe",
    "Progress",
    "Section",
    "Walk",
    "compare",
    "enable_imports",
    "extract",
    "open",
    "pack",
    "preview",
    "register_archive_format",
    "rewrite",
]
