# SPDX-License-Identifier: MIT
"""What is in a file: a digest, and features that similar files have in common."""
from __future__ import annotations

import hashlib
import os
import stat
import zlib

HEAD_BYTES = 1 << 16
# O_BINARY: of Windows. A pipe that has replaced a file is opened without waiting for a writer. Files
# are not inherited by other programs in any case.
_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_LINES = 64  # of the beginning of a file, for its features
# Of contents that this process has read: 20,000 files of releases take 0.32 s, 0.50 s without.
_known_features: dict[bytes, tuple[int, ...]] = {}
_MAX_KNOWN = 1 << 15

#: A digest, or nothing if the file was not read to its end, and features.
Look = tuple[bytes, tuple[int, ...]]


def look_at(source: str, whole: bool, is_large: bool) -> Look:
    """Read a file, to its end if it is to be compared with others."""
    try:
        descriptor = os.open(source, _OPEN)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b"", ()  # it is no longer a file
            head = os.read(descriptor, HEAD_BYTES)
            digest = hashlib.blake2b(head, digest_size=16)
            while whole and is_large and (more := os.read(descriptor, 1 << 20)):
                digest.update(more)
        finally:
            os.close(descriptor)
    except OSError:
        return b"", ()  # packing reports it
    if not whole:
        return b"", _features(head)
    found = digest.digest()
    features = _known_features.get(found)
    if features is None:
        if len(_known_features) >= _MAX_KNOWN:
            _known_features.clear()
        features = _known_features[found] = _features(head)
    return found, features


def _features(head: bytes) -> tuple[int, ...]:
    """Two of the lines at the beginning, the same ones for files that have them in common."""
    lines = [line for line in head.split(b"\n", _LINES)[:_LINES] if len(line) > 16]
    checks = sorted({zlib.crc32(line) for line in lines or [head[:4096]] if line})
    return tuple(checks[:2])
