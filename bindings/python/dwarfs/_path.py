# SPDX-License-Identifier: MIT
"""What is in an image, in the manner of pathlib."""
from __future__ import annotations

import errno
import fnmatch
import importlib
import io
import os
import stat as stat_
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Iterator, overload

from . import _dwarfs
from ._errors import Error, ErrorCode, make_error, named
from ._file import File

if TYPE_CHECKING:
    from typing import Literal

    from ._image import Image

    BinaryMode = Literal["rb", "br"]
    TextMode = Literal["r", "rt", "tr"]

_MAX_LINKS = 40


def _fail(code: ErrorCode, path: str, why: str, errnum: int = 0) -> Exception:
    return make_error(code, f"'{path}': {why}", path, None, errnum)


class Path:
    """A path in an image, whether or not it exists there.

    Works like a pathlib.Path that can only be read, and is a Traversable of importlib.resources.
    Links are followed unless a method says otherwise; the image is the root file system for
    them, so that absolute links start at its root and none leads out of it. Names are str with
    the file system's encoding and its escapes; os.fsencode() gives their bytes.

    A path can be pickled if its image can.
    """

    __slots__ = ("_image", "_parts", "_entry")

    def __init__(self, image: Image, *segments: str | bytes | os.PathLike[Any]) -> None:
        self._image = image
        self._parts = tuple(name for segment in segments
                            for name in os.fsdecode(segment).split("/")
                            if name not in ("", "."))
        self._entry: int | None = None

    @classmethod
    def _make(cls, image: Image, parts: tuple[str, ...], entry: int | None = None) -> Path:
        path = cls.__new__(cls)
        path._image, path._parts, path._entry = image, parts, entry
        return path

    # -- the path itself

    @property
    def image(self) -> Image:
        """The image it is in."""
        return self._image

    @property
    def parts(self) -> tuple[str, ...]:
        """The names it consists of; none for the root."""
        return self._parts

    @property
    def name(self) -> str:
        """The last name; "" for the root."""
        return self._parts[-1] if self._parts else ""

    @property
    def suffix(self) -> str:
        """The end of the name from its last dot on, as pathlib's."""
        return PurePosixPath(self.name).suffix

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def parent(self) -> Path:
        """The path without its last name; the root for the root."""
        return self._make(self._image, self._parts[:-1])

    @property
    def parents(self) -> tuple[Path, ...]:
        """The directories that contain it, from its parent to the root; none for the root."""
        return tuple(self._make(self._image, self._parts[:count])
                     for count in range(len(self._parts) - 1, -1, -1))

    @property
    def suffixes(self) -> list[str]:
        """All suffixes of the name."""
        return PurePosixPath(*self._parts).suffixes

    def with_name(self, name: str) -> Path:
        """The path with another last name."""
        if not self._parts:
            raise ValueError("the root has no name")
        if not name or "/" in name or name == ".":
            raise ValueError(f"invalid name {name!r}")
        return self._make(self._image, self._parts[:-1] + (name,))

    def with_stem(self, stem: str) -> Path:
        """The path with another name before its suffix."""
        return self.with_name(stem + self.suffix)

    def with_suffix(self, suffix: str) -> Path:
        """The path with another suffix, or without one for ""."""
        if suffix and (not suffix.startswith(".") or suffix == "." or "/" in suffix):
            raise ValueError(f"invalid suffix {suffix!r}")
        return self.with_name(self.stem + suffix)

    def relative_to(self, *other: str | bytes | os.PathLike[Any] | Path,
                    walk_up: bool = False) -> PurePosixPath:
        """The rest of the path below a directory; if it is not below, ValueError, or with
        walk_up a path with ".."."""
        parts = self._other(other)
        common = len(os.path.commonprefix([self._parts, parts]))
        if common < len(parts) and (not walk_up or ".." in parts[common:]):
            raise ValueError(f"{str(self)!r} is not below {'/'.join(parts)!r}")
        return PurePosixPath(*[".."] * (len(parts) - common), *self._parts[common:])

    def is_relative_to(self, *other: str | bytes | os.PathLike[Any] | Path) -> bool:
        """Whether the path is below a directory, or that directory."""
        parts = self._other(other)
        return self._parts[:len(parts)] == parts

    def _other(self, segments: tuple[Any, ...]) -> tuple[str, ...]:
        parts: tuple[str, ...] = ()
        for segment in segments:
            if isinstance(segment, Path):
                if segment._image is not self._image:
                    raise ValueError("a path of another image")
                parts += segment._parts
            else:
                parts += Path(self._image, segment)._parts
        return parts

    def match(self, pattern: str) -> bool:
        """Whether the last names match a pattern, or all with a leading "/"; as
        pathlib.PurePath.match()."""
        return PurePosixPath("/", *self._parts).match(pattern)

    def full_match(self, pattern: str) -> bool:
        """Whether all names match a pattern, in which ** stands for any names; as
        pathlib.PurePath.full_match() of Python 3.13. A leading "/" changes nothing."""
        return _match_all(self._parts, [part for part in pattern.split("/")
                                        if part not in ("", ".")])

    def absolute(self) -> Path:
        """The path itself: all paths start at the root of the image."""
        return self

    def as_posix(self) -> str:
        """The names with slashes between them, as str()."""
        return str(self)

    def joinpath(self, *segments: str | bytes | os.PathLike[Any]) -> Path:
        """A place below this one."""
        more = Path(self._image, *segments)
        more._parts = self._parts + more._parts
        return more

    def __truediv__(self, segment: str | bytes | os.PathLike[Any]) -> Path:
        return self.joinpath(segment)

    def __str__(self) -> str:
        return "/".join(self._parts)

    def __bytes__(self) -> bytes:
        return os.fsencode(str(self))

    def __repr__(self) -> str:
        return f"<dwarfs.Path {str(self)!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Path):
            return NotImplemented
        return self._image is other._image and self._parts == other._parts

    def __hash__(self) -> int:
        return hash((id(self._image), self._parts))

    def __lt__(self, other: Path) -> bool:
        return self._parts < other._parts if isinstance(other, Path) else NotImplemented

    def __le__(self, other: Path) -> bool:
        return self._parts <= other._parts if isinstance(other, Path) else NotImplemented

    def __gt__(self, other: Path) -> bool:
        return self._parts > other._parts if isinstance(other, Path) else NotImplemented

    def __ge__(self, other: Path) -> bool:
        return self._parts >= other._parts if isinstance(other, Path) else NotImplemented

    # -- finding what is there

    def _find(self) -> int:
        """The entry, with links followed on the way, but not at the end."""
        image = self._image._use()
        if self._entry is None:
            try:
                self._entry = _dwarfs.dwarfs_find(image, str(self))
            except (FileNotFoundError, NotADirectoryError):
                self._entry = self._find_through_links(False)
        return self._entry

    def _find_through_links(self, last: bool) -> int:
        """The entry, with links followed; those at the end of the path only if last."""
        try:
            return self._step_through_links(last)
        except (FileNotFoundError, NotADirectoryError) as error:
            if isinstance(error, FileNotFoundError):
                raise _fail(ErrorCode.NOT_FOUND, str(self), "does not exist") from None
            raise _fail(ErrorCode.NOT_DIR, str(self),
                        "a part of the path is not a directory") from None

    def _step_through_links(self, last: bool) -> int:
        image = self._image._use()
        names = list(reversed(self._parts))
        places = [0]  # the entries from the root down to here
        links = 0
        while names:
            name = names.pop()
            if name in ("", ".", ".."):  # of the target of a link, or ".." of the path
                _dwarfs.dwarfs_dir_range(image, _dwarfs.dwarfs_entry_inode(image, places[-1]))
                if name == ".." and len(places) > 1:
                    places.pop()
                continue
            entry = _dwarfs.dwarfs_dir_find(
                image, _dwarfs.dwarfs_entry_inode(image, places[-1]), name)
            inode = _dwarfs.dwarfs_entry_inode(image, entry)
            if (not names and not last) or not self._is_link(inode):
                places.append(entry)
                continue
            links += 1
            if links > _MAX_LINKS:
                raise _fail(ErrorCode.INVALID, str(self), "too many levels of links",
                            errno.ELOOP)
            target = _dwarfs.dwarfs_link_read(image, inode)
            if target.startswith("/"):
                places = [0]
            names += reversed(target.split("/"))
        return places[-1]

    def _is_link(self, inode: int) -> bool:
        return stat_.S_ISLNK(_dwarfs.dwarfs_inode_mode(self._image._use(), inode))

    def _inode(self, follow_symlinks: bool = True) -> int:
        image = self._image._use()
        inode = _dwarfs.dwarfs_entry_inode(image, self._find())
        if follow_symlinks and self._is_link(inode):
            inode = _dwarfs.dwarfs_entry_inode(image, self._find_through_links(True))
        return int(inode)

    def _status(self, follow_symlinks: bool) -> Any:
        image = self._image._use()
        stat = _dwarfs.dwarfs_stat_new()
        entry = self._find()
        _dwarfs.dwarfs_entry_stat(image, entry, stat)
        if follow_symlinks and stat_.S_ISLNK(_dwarfs.dwarfs_stat_mode(stat)):
            _dwarfs.dwarfs_entry_stat(image, self._find_through_links(True), stat)
        return stat

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The attributes, with the names that os.stat() gives them."""
        return _stat_result(self._status(follow_symlinks), self._image.block_size)

    def lstat(self) -> os.stat_result:
        """The attributes; those of a link are its own."""
        return self.stat(follow_symlinks=False)

    def _mode(self, follow_symlinks: bool = True) -> int:
        try:
            return int(_dwarfs.dwarfs_stat_mode(self._status(follow_symlinks)))
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except OSError as error:
            if error.errno == errno.ELOOP:
                return 0
            raise
        except ValueError:
            if any(not _can_be_name(name) for name in self._parts):
                return 0
            raise  # the image is closed

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether there is something."""
        return self._mode(follow_symlinks) != 0

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether there is a directory."""
        return stat_.S_ISDIR(self._mode(follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether there is a regular file."""
        return stat_.S_ISREG(self._mode(follow_symlinks))

    def is_symlink(self) -> bool:
        """Whether there is a symbolic link."""
        return stat_.S_ISLNK(self._mode(False))

    def is_mount(self) -> bool:
        """Whether it is the root of the image."""
        return not self._parts

    def is_junction(self) -> bool:
        """False: a junction exists on Windows only."""
        return False

    def is_fifo(self) -> bool:
        """Whether there is a fifo."""
        return stat_.S_ISFIFO(self._mode())

    def is_socket(self) -> bool:
        """Whether there is a socket."""
        return stat_.S_ISSOCK(self._mode())

    def is_block_device(self) -> bool:
        """Whether there is a block device."""
        return stat_.S_ISBLK(self._mode())

    def is_char_device(self) -> bool:
        """Whether there is a character device."""
        return stat_.S_ISCHR(self._mode())

    def resolve(self, strict: bool = False) -> Path:
        """The path without links, "." and ".."; if strict, it must exist. Names from the first
        one on that does not exist, or is in a circle of links, stay as they are."""
        image = self._image._use()
        names = list(reversed(self._parts))
        found: list[str] = []
        entries: list[int | None] = [0]
        links = 0
        while names:
            name = names.pop()
            if name in ("", ".", ".."):
                if strict:
                    self._make(self._image, tuple(found))._require_dir()
                if name == ".." and found:
                    found.pop()
                    entries.pop()
                continue
            entry = self._entry_in(entries[-1], name, strict)
            if entry is not None:
                inode = _dwarfs.dwarfs_entry_inode(image, entry)
                if self._is_link(inode):
                    links += 1
                    if links <= _MAX_LINKS:
                        target = _dwarfs.dwarfs_link_read(image, inode)
                        if target.startswith("/"):
                            found, entries = [], [0]
                        names += reversed(target.split("/"))
                        continue
                    if strict:
                        raise _fail(ErrorCode.INVALID, str(self), "too many levels of links",
                                    errno.ELOOP)
                    entry = None
            found.append(name)
            entries.append(entry)
        return self._make(self._image, tuple(found), entries[-1])

    def _entry_in(self, directory: int | None, name: str, strict: bool) -> int | None:
        """The entry of a name in a directory, or None unless strict."""
        image = self._image._use()
        try:
            if directory is None:
                return None
            return int(_dwarfs.dwarfs_dir_find(
                image, _dwarfs.dwarfs_entry_inode(image, directory), name))
        except FileNotFoundError:
            if strict:
                raise _fail(ErrorCode.NOT_FOUND, str(self), "does not exist") from None
        except NotADirectoryError:
            if strict:
                raise _fail(ErrorCode.NOT_DIR, str(self),
                            "a part of the path is not a directory") from None
        return None

    def _require_dir(self) -> None:
        if not self.is_dir():
            raise _fail(ErrorCode.NOT_DIR, str(self), "not a directory")

    def samefile(self, other: str | bytes | os.PathLike[Any] | Path) -> bool:
        """Whether another path, of the same image or as str, is that of the same file: a hard
        link, or through links."""
        if not isinstance(other, Path):
            other = Path(self._image, other)
        return self._inode() == other._inode() and self._image is other._image

    def owner(self) -> str:
        """The name that this system has for the user ID; KeyError if it has none."""
        return str(importlib.import_module("pwd").getpwuid(self.stat().st_uid).pw_name)

    def group(self) -> str:
        """The name that this system has for the group ID; KeyError if it has none."""
        return str(importlib.import_module("grp").getgrgid(self.stat().st_gid).gr_name)

    # -- what is in it

    def iterdir(self) -> Iterator[Path]:
        """What is in the directory, sorted by the bytes of the names."""
        image = self._image._use()
        try:
            first, count = _dwarfs.dwarfs_dir_range(image, self._inode())
        except Error as error:
            raise named(error, str(self)) from None
        return (self._make(self._image, self._parts + (_dwarfs.dwarfs_entry_name(image, entry),),
                           entry)
                for entry in range(first, first + count))

    def walk(self, order: str = "tree") -> Walk:
        """Everything from here on down; see Image.walk()."""
        return Walk(self, order)

    def glob(self, pattern: str) -> Iterator[Path]:
        """What matches a pattern of names with *, ? and [...]; ** stands for any
        directories, and a "/" at the end for directories only. Links are not followed, unless
        the path itself is one."""
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if not parts:
            raise ValueError("an empty pattern")
        if pattern.endswith("/"):
            parts.append("")
        found: dict[Path, None] = {}
        for path in _glob(self, parts, self.is_dir(), set()):
            if path not in found:
                found[path] = None
                yield path

    def rglob(self, pattern: str) -> Iterator[Path]:
        """As glob(), at any depth."""
        return self.glob("**/" + pattern)

    def xattrs(self, *, follow_symlinks: bool = True) -> dict[str, bytes]:
        """The extended attributes, by their names with namespaces ("user.comment")."""
        found: dict[str, bytes] = {}
        _dwarfs.dwarfs_xattrs_into(self._image._use(), self._inode(follow_symlinks), found)
        return found

    def birth_time_ns(self, *, follow_symlinks: bool = True) -> int | None:
        """When it was born, in nanoseconds since 1970; None where that is not known."""
        stat = _dwarfs.dwarfs_stat_new()
        _dwarfs.dwarfs_inode_stat(self._image._use(), self._inode(follow_symlinks), stat)
        born = _dwarfs.DWARFS_BTIME
        ns = (_dwarfs.dwarfs_stat_seconds(stat, born) * 10**9 +
              _dwarfs.dwarfs_stat_nanoseconds(stat, born))
        return ns or None

    def invalid_attributes(self, *, follow_symlinks: bool = True) -> tuple[str, ...]:
        """The attributes that a damaged image has no valid value for, as "mode" or "owner".

        stat() gives defaults for them.
        """
        stat = _dwarfs.dwarfs_stat_new()
        _dwarfs.dwarfs_inode_stat(self._image._use(), self._inode(follow_symlinks), stat)
        invalid = _dwarfs.dwarfs_stat_invalid(stat)
        return tuple(_dwarfs.dwarfs_attribute_name(1 << bit)
                     for bit in range(invalid.bit_length()) if invalid >> bit & 1)

    def readlink(self) -> str:
        """The target of a symbolic link."""
        image = self._image._use()
        inode = _dwarfs.dwarfs_entry_inode(image, self._find())
        try:
            return str(_dwarfs.dwarfs_link_read(image, inode))
        except Error as error:
            raise named(error, str(self)) from None

    @overload
    def open(self, mode: TextMode = "r", buffering: int = -1, encoding: str | None = None,
             errors: str | None = None, newline: str | None = None) -> io.TextIOWrapper: ...
    @overload
    def open(self, mode: BinaryMode, buffering: Literal[0], encoding: None = None,
             errors: None = None, newline: None = None) -> File: ...
    @overload
    def open(self, mode: BinaryMode, buffering: Literal[-1, 1] = -1, encoding: None = None,
             errors: None = None, newline: None = None) -> io.BufferedReader: ...
    @overload
    def open(self, mode: BinaryMode, buffering: int, encoding: None = None,
             errors: None = None, newline: None = None) -> BinaryIO: ...
    @overload
    def open(self, mode: str, buffering: int = -1, encoding: str | None = None,
             errors: str | None = None, newline: str | None = None) -> IO[Any]: ...

    def open(self, mode: str = "r", buffering: int = -1, encoding: str | None = None,
             errors: str | None = None, newline: str | None = None) -> IO[Any]:
        """Open the file for reading, "r" (text, the default) or "rb"; "rb" without a buffer
        gives a File."""
        if sorted(mode) not in (["b", "r"], ["r"], ["r", "t"]):
            raise ValueError(f"invalid mode: {mode!r}; an image can only be read")
        binary = "b" in mode
        if binary and (encoding or errors or newline):
            raise ValueError("binary mode takes no encoding, errors or newline argument")
        if buffering == 0 and not binary:
            raise ValueError("can't have unbuffered text I/O")
        raw = File(self._image, self._inode(), str(self))
        if buffering == 0:
            return raw
        buffered = io.BufferedReader(raw, buffering if buffering > 1 else 1 << 16)
        if binary:
            return buffered
        text = io.TextIOWrapper(buffered, io.text_encoding(encoding), errors, newline,
                                buffering == 1)
        setattr(text, "mode", mode)  # as open() does
        return text

    def read_bytes(self) -> bytes:
        """The contents."""
        inode = self._inode()
        try:
            data: bytes = _dwarfs.dwarfs_inode_contents(self._image._use(), inode)
        except Error as error:
            raise named(error, str(self)) from None
        return data

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """The contents as text."""
        with self.open("r", encoding=encoding, errors=errors) as file:
            return str(file.read())

    def __reduce__(self) -> tuple[Any, ...]:
        return Path, (self._image, *self._parts)


class Walk(Iterator[Path]):
    """An iterator over a path and everything below it.

    Belongs to one thread at a time. `depth` and skip() are about the path that came last.
    """

    def __init__(self, start: Path, order: str = "tree") -> None:
        try:
            number = {"tree": _dwarfs.DWARFS_WALK_TREE, "data": _dwarfs.DWARFS_WALK_DATA}[order]
        except KeyError:
            raise ValueError(f"{order!r} is no order; 'tree' and 'data' are") from None
        self._start = start
        self._handle = _dwarfs.dwarfs_walk_new(start._image._use(), start._find(), number)

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> Path:
        more, entry = _dwarfs.dwarfs_walk_next(self._handle)
        if not more:
            raise StopIteration
        below = _dwarfs.dwarfs_walk_path(self._handle)
        parts = tuple(below.split("/")) if below else ()
        return Path._make(self._start._image, self._start._parts + parts, entry)

    @property
    def depth(self) -> int:
        """How deep the path is: 0 for the start, 1 for what is in it."""
        return int(_dwarfs.dwarfs_walk_depth(self._handle))

    def skip(self) -> None:
        """Do not go into the directory (tree order only)."""
        _dwarfs.dwarfs_walk_skip(self._handle)


def _stat_result(stat: Any, block_size: int) -> os.stat_result:
    (mode, inode, nlink, uid, gid, size, atime, mtime, ctime, atime_ns, mtime_ns, ctime_ns,
     allocated, major, minor) = _dwarfs.dwarfs_stat_values(stat)
    return os.stat_result(
        (mode, inode, 0, nlink, uid, gid, size, atime, mtime, ctime),
        {"st_atime": atime + 1e-9 * atime_ns, "st_mtime": mtime + 1e-9 * mtime_ns,
         "st_ctime": ctime + 1e-9 * ctime_ns, "st_atime_ns": atime * 10**9 + atime_ns,
         "st_mtime_ns": mtime * 10**9 + mtime_ns, "st_ctime_ns": ctime * 10**9 + ctime_ns,
         "st_blksize": block_size, "st_blocks": -(-allocated // 512),
         "st_rdev": os.makedev(major, minor)})


def _is_real_dir(path: Path) -> bool:
    return stat_.S_ISDIR(path._mode(False))


def _match_all(names: tuple[str, ...], parts: list[str]) -> bool:
    """Whether names match the parts of a pattern.

    If the part after a ** fails, only the last ** is tried again with one more name: those before
    it can have no better end. So each part is compared with each name at most once.
    """
    name = part = retry = 0
    after = -1  # the part after the last **
    while name < len(names):
        if part < len(parts) and parts[part] == "**":
            part += 1
            after, retry = part, name
        elif part < len(parts) and fnmatch.fnmatchcase(names[name], parts[part]):
            name, part = name + 1, part + 1
        elif after >= 0:
            retry += 1
            name, part = retry, after
        else:
            return False
    return all(rest == "**" for rest in parts[part:])


def _can_be_name(name: str) -> bool:
    """Whether there can be an entry of that name."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _glob(path: Path, parts: list[str], is_dir: bool,
          seen: set[tuple[Path, int]]) -> Iterator[Path]:
    """What matches the parts below a path, which is a directory or not.

    `seen` has the directories at which a ** was tried already, with the number of parts from
    there on: what is below them is found once for each **, not once for each way to get there.
    """
    part, rest = parts[0], parts[1:]
    if part == "":
        if path.is_dir():
            yield path
    elif not is_dir:
        return
    elif part == "..":
        above = path / ".."
        yield from _glob(above, rest, _is_real_dir(above), seen) if rest else (above,)
    elif part == "**":
        if (path, len(parts)) in seen:
            return
        seen.add((path, len(parts)))
        if rest:
            yield from _glob(path, rest, True, seen)
        else:
            yield path
        for below in path.iterdir():
            if _is_real_dir(below):
                yield from _glob(below, parts, True, seen)
    else:
        for below in path.iterdir():
            if fnmatch.fnmatchcase(below.name, part):
                if rest:
                    yield from _glob(below, rest, _is_real_dir(below), seen)
                else:
                    yield below
