# SPDX-License-Identifier: MIT
"""Features that the library was built without, so that cases that need them can be skipped.

The build lists them in DWARFS_CODECS_ABSENT, separated by commas; without it, none is absent.
Formats of archives are in DWARFS_FORMATS_ABSENT.
"""
import os
import re

import tap

ABSENT = frozenset(filter(None, os.environ.get("DWARFS_CODECS_ABSENT", "").split(",")))
CODECS_ABSENT = ABSENT - {"archive", "zlib"}  # these are no codecs
FORMATS_ABSENT = frozenset(filter(None, os.environ.get("DWARFS_FORMATS_ABSENT", "").split(",")))
_NAMES = ("null", "lzma", "zstd", "lz4", "lz4hc", "brotli", "flac", "ricepp")


def need(*names):
    """Skip the case if one of these is absent."""
    missing = sorted(ABSENT.intersection(names))
    if missing:
        raise tap.Skip(f"built without {', '.join(missing)}")


def missing_in(text):
    """The reason to skip a case that failed with this text: a message that names what is absent.
    None for any other text."""
    for name in sorted(ABSENT):
        message = ("archives were not built in" if name == "archive" else
                   rf"(?<!\w){name} is not built in|unknown compression: {name}(?!\w)")
        if re.search(message, text):
            return f"built without {name}"
    return None


def need_format(name):
    """Skip the case if libarchive was built without this format."""
    if name in FORMATS_ABSENT:
        raise tap.Skip(f"libarchive was built without {name}")


def need_all(*names):
    """Skip the whole program if one of these is absent."""
    try:
        need(*names)
    except tap.Skip as reason:
        tap.skip_all(reason)


def need_for_options(options):
    """The same for options of mkdwarfs: a codec is one of the words, with or without options."""
    need(*(word.split(":")[0] for word in options))


def _sections(contents, at):
    """The compressions of the sections from an offset on; None unless they end with the file."""
    found = set()
    is_old = contents[at + 7] < 2
    header = 8 if is_old else 64
    at += 8 if is_old else 0
    while at < len(contents):
        if is_old:
            compression = contents[at + 2]
            length = int.from_bytes(contents[at + 4:at + 8], "little")
        else:
            if contents[at:at + 6] != b"DWARFS":
                return None
            compression = int.from_bytes(contents[at + 54:at + 56], "little")
            length = int.from_bytes(contents[at + 56:at + 64], "little")
        found.add(compression)
        at += header + length
    return found if at == len(contents) else None


def of_image(path):
    """The names of the codecs of an undamaged image, which may follow a header."""
    with open(path, "rb") as image:
        contents = image.read()
    at = contents.find(b"DWARFS\2")
    while at >= 0:
        found = _sections(contents, at)
        if found:
            return {_NAMES[number] for number in found}
        at = contents.find(b"DWARFS\2", at + 1)
    raise AssertionError(f"{path} is not an image")


def can_read(path):
    return not ABSENT.intersection(of_image(path))


def need_for_image(path):
    if ABSENT:
        need(*of_image(path))
