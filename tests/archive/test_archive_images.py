#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every image by another writer as a tar, against its manifest."""
import hashlib
import io
import os
import subprocess
import tarfile

import absent
import images
import tap
import walker

KINDS = {tarfile.REGTYPE: "f", tarfile.DIRTYPE: "d", tarfile.SYMTYPE: "l", tarfile.CHRTYPE: "c",
         tarfile.BLKTYPE: "b", tarfile.FIFOTYPE: "p", tarfile.LNKTYPE: "f"}


def export(image, *options):
    return subprocess.run([tap.tool("DWARFSEXTRACT"), "-i", image.path, "-f", "pax",
                           "--log-level=error", *options], stdin=subprocess.DEVNULL,
                          capture_output=True, env=dict(os.environ, LC_ALL="C"))


def digest_of(archive, member):
    """The hash of a file; of large ones with holes, only the data is read."""
    source = archive.extractfile(member)

    def read(offset, size):
        source.seek(offset)
        return source.read(size)

    if member.size > 256 << 20 and member.issparse():
        data = [(offset, offset + size) for offset, size in member.sparse if size]
        key = walker.hash_of_grains(member.size, data, read)
        if key in walker.HASHES_OF_GRAINS:
            return walker.HASHES_OF_GRAINS[key]
        source.seek(0)
    digest = hashlib.sha256()
    while part := source.read(1 << 22):
        digest.update(part)
    return digest.hexdigest()


def time_of(member, name):
    if name not in member.pax_headers and name != "mtime":
        return None
    whole, _, part = member.pax_headers.get(name, str(int(member.mtime))).partition(".")
    return int(whole) * 10**9 + int(part.ljust(9, "0"))


def describe(data):
    """A tar as the walker describes a tree."""
    rows = {}
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8",
                      errors="surrogateescape") as archive:
        for member in archive:
            path = member.name.encode("utf-8", "surrogateescape")
            kind = "f" if member.issparse() else KINDS[member.type]
            link = member.linkname.encode("utf-8", "surrogateescape")
            assert path not in rows, f"{path!r} is there twice"
            rows[path] = row = {
                "type": kind, "mode": member.mode, "uid": member.uid, "gid": member.gid,
                "mtime": time_of(member, "mtime"), "atime": time_of(member, "atime"),
                "ctime": time_of(member, "ctime"), "size": member.size, "inode": len(rows),
                "nlink": None, "extents": None, "sha256": None,
                "rdev": (member.devmajor, member.devminor) if kind in "cb" else None,
                "target": link if kind == "l" else None}
            if member.islnk():
                rows[path] = dict(rows[link], mtime=row["mtime"])
            elif kind == "f":
                row["sha256"] = digest_of(archive, member)
    return rows


def check(image):
    done = export(image)
    expected = images.manifest(image, as_shown=True)
    sockets = [path for path, row in expected.items() if row["type"] == "s"]
    if sockets:
        assert done.returncode == 1 and b"cannot archive socket" in done.stderr, done.stderr
        done = export(image, "--continue-on-error")
        assert done.returncode == 1, done.stderr
        assert b"finished with %d error" % len(sockets) in done.stderr, done.stderr
        for path in sockets:
            assert path in done.stderr, path
            del expected[path]
    else:
        assert done.returncode == 0 and not done.stderr, done.stderr
    actual = describe(done.stdout)
    walker.must_agree(expected, actual, links=image.minor > 2 and
                      expected[b"."]["inode"] is not None,
                      columns=("type", "mode", "uid", "gid", "mtime", "size", "rdev", "target",
                               "sha256"))
    for path, row in expected.items():
        if row["atime"] is not None:
            assert actual[path]["atime"] == row["atime"], path
            assert actual[path]["ctime"] == row["ctime"], path


def main():
    absent.need_all("archive")
    suite = tap.Suite()
    try:
        tap.tool("DWARFSEXTRACT")
        every_image = images.load()
    except tap.Skip as reason:
        tap.skip_all(reason)
    for image in every_image:
        with suite.case(image.name):
            absent.need_for_image(image.path)
            if image.refused:
                done = export(image)
                assert done.returncode == 1 and not done.stdout, done
            else:
                check(image)
    suite.finish()


main()
