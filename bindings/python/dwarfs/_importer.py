# SPDX-License-Identifier: MIT
"""Importing modules from images, and archives of shutil."""
from __future__ import annotations

import contextlib
import errno
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import sys
from types import ModuleType
from typing import Any, Iterator, Sequence

from ._builder import Builder
from ._errors import Error
from ._image import Image
from ._pack import listed_paths
from ._path import Path

# Open images by process, path, inode and time of change. They stay open as long as the process
# runs, since modules that were imported may load resources at any time.
_images: dict[tuple[int, str, int, int], Image] = {}

_SUFFIXES = (".py", ".pyc")


def _split(entry: str) -> tuple[str, str]:
    """The file at the beginning of an entry of sys.path, and the path in it."""
    file, inner = entry, ""
    while not os.path.isfile(file):
        parent, name = os.path.split(file)
        if parent == file or not name or os.path.isdir(file):
            raise ImportError(f"not in an image: {entry!r}")
        file, inner = parent, name + "/" + inner
    return file, inner


class _Spec(importlib.machinery.ModuleSpec):
    """Of a module that is never cached beside its file, as that is in an image."""

    cached: Any = None


class _Loader(importlib.abc.SourceLoader):
    """Loads one module from its source or its compiled file."""

    def __init__(self, file: str, path: Path, location: str) -> None:
        self._file, self._path, self._location = file, path, location

    def get_filename(self, fullname: str) -> str:
        return self._location

    def get_data(self, path: str | bytes) -> bytes:
        """The contents of a file of the image, by a path such as that of the module."""
        name = os.path.abspath(os.fsdecode(path))
        if not name.startswith(self._file + os.sep):
            raise FileNotFoundError(errno.ENOENT, f"not in {self._file!r}", name)
        inner = name[len(self._file) + 1:].replace(os.sep, "/")
        return (self._path.image / inner).read_bytes()

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.get_data(self._location), self._location)

    def get_source(self, fullname: str) -> str | None:
        if self._path.suffix == ".pyc":
            return None
        return importlib.util.decode_source(self._path.read_bytes())

    def is_package(self, fullname: str) -> bool:
        return self._path.stem == "__init__"

    def get_resource_reader(self, fullname: str) -> Any:
        """For importlib.resources: the directory of a package is a Traversable."""
        return _Resources(self._path.parent) if self.is_package(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)  # as each loader does


class _CompiledLoader(_Loader):
    """Loads a module of which there is only the compiled file."""

    def get_code(self, fullname: str) -> Any:
        loader = importlib.machinery.SourcelessFileLoader(fullname, self._location)
        loader.get_data = lambda path: self._path.read_bytes()  # type: ignore[method-assign]
        return loader.get_code(fullname)


class _Resources:
    """What importlib.resources asks for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def files(self) -> Path:
        return self._directory

    def open_resource(self, name: str) -> Any:
        return (self._directory / name).open("rb")

    def resource_path(self, name: str) -> str:
        raise FileNotFoundError(name)  # no path of the system

    def is_resource(self, name: str) -> bool:
        return (self._directory / name).is_file()

    def contents(self) -> Sequence[str]:
        return [path.name for path in self._directory.iterdir()]


class Finder(importlib.abc.PathEntryFinder):
    """Finds modules in an image that is in sys.path: "app.dwarfs", or "app.dwarfs/lib" for a
    directory in it. Extension modules are not found: the system cannot load them from there."""

    def __init__(self, entry: str) -> None:
        self._entry = os.path.abspath(entry)  # as the specs of other finders have it
        self._file, self._inner = _split(self._entry)
        self._directory = self._find_directory()

    def _find_directory(self) -> Path:
        status = os.stat(self._file)
        key = (os.getpid(), self._file, status.st_ino, status.st_mtime_ns)
        if key not in _images:
            try:
                _images[key] = Image(self._file)
            except Error as error:
                raise ImportError(f"not an image: {self._file!r}") from error
        directory = _images[key] / self._inner
        if not directory.is_dir():
            raise ImportError(f"not a directory of an image: {self._entry!r}")
        return directory

    def invalidate_caches(self) -> None:
        """Find modules in the image that is there now."""
        with contextlib.suppress(ImportError, OSError):
            self._directory = self._find_directory()

    def find_spec(self, fullname: str,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        """The module, if it is there."""
        tail = fullname.rpartition(".")[2]
        for name, kind in ((tail + "/__init__.py", _Loader),
                           (tail + "/__init__.pyc", _CompiledLoader),
                           (tail + ".py", _Loader), (tail + ".pyc", _CompiledLoader)):
            path = self._directory / name
            if path.is_file():
                location = os.path.join(self._entry, *name.split("/"))
                found = _Spec(fullname, kind(self._file, path, location), origin=location,
                              is_package=path.stem == "__init__")
                found.has_location = True
                if found.submodule_search_locations is not None:
                    found.submodule_search_locations.append(os.path.dirname(location))
                return found
        if (self._directory / tail).is_dir():
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [os.path.join(self._entry, tail)]
            return spec
        return None

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Names of the modules, and whether they are packages, for pkgutil."""
        found: dict[str, bool] = {}
        for path in self._directory.iterdir():
            if path.is_dir():
                if any((path / ("__init__" + suffix)).is_file() for suffix in _SUFFIXES):
                    found[path.name] = True
            elif path.suffix in _SUFFIXES and path.stem != "__init__":
                found.setdefault(path.stem, False)
        for name in sorted(found):
            if "." not in name:
                yield prefix + name, found[name]


def enable_imports() -> None:
    """Let images be entries of sys.path, as zip archives are: adds a hook to sys.path_hooks, and
    a finder to sys.meta_path by which importlib.metadata knows the distributions in images."""
    from ._distributions import enable_distributions  # here, as importlib.metadata is large
    enable_distributions()
    if Finder not in sys.path_hooks:
        # Last: opening a file that is no image searches all of it for one.
        sys.path_hooks.append(Finder)
        for entry, finder in list(sys.path_importer_cache.items()):
            if finder is None:
                del sys.path_importer_cache[entry]


def _make_archive(base_name: str, base_dir: str, dry_run: bool = False, owner: str | None = None,
                  group: str | None = None, logger: Any = None, root_dir: str | None = None,
                  **unknown: Any) -> str:
    output = base_name + ".dwarfs"
    if logger is not None:
        logger.info("creating %s", output)
    if dry_run:
        return output
    options: dict[str, Any] = {}
    # As the other formats: names that the system does not know change nothing.
    if owner is not None:
        with contextlib.suppress(ImportError, KeyError):
            import pwd
            options["owner"] = pwd.getpwnam(owner).pw_uid
    if group is not None:
        with contextlib.suppress(ImportError, KeyError):
            import grp
            options["group"] = grp.getgrnam(group).gr_gid
    folder = os.path.dirname(output)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder)
    builder = Builder(**options)
    prefix = os.path.normpath(base_dir).lstrip("/")
    source = os.path.join(root_dir or os.curdir, base_dir)
    if os.path.isdir(source) and not os.path.islink(source):
        builder.add_tree(source, "" if prefix == os.curdir else prefix)
    else:
        top = os.sep if os.path.isabs(base_dir) else root_dir or os.curdir
        builder._add_directory(top, listed_paths(top, [base_dir]))
    builder.write(output, overwrite=True)
    return output


_make_archive.supports_root_dir = True  # type: ignore[attr-defined]


def _unpack_archive(filename: str, extract_dir: str) -> None:  # no filter=, as of zip archives
    try:
        image = Image(filename)
    except Error as error:
        raise shutil.ReadError(f"{filename} is not a DwarFS image") from error
    with image:
        image.extract(extract_dir)


def register_archive_format() -> None:
    """Add the format "dwarfs" to shutil.make_archive() and shutil.unpack_archive(), which then
    unpacks files named *.dwarfs. What is there already is not overwritten."""
    if "dwarfs" not in dict(shutil.get_archive_formats()):
        shutil.register_archive_format("dwarfs", _make_archive, description="DwarFS image")
    if all(name != "dwarfs" for name, _, _ in shutil.get_unpack_formats()):
        shutil.register_unpack_format("dwarfs", [".dwarfs"], _unpack_archive)
