# SPDX-License-Identifier: MIT
"""The images by other writers, their facts, and their manifests."""
import json
import os

import tap

NANO = 1000000000


class Image:
    def __init__(self, path, manifest, facts):
        self.path = path
        self.manifest = manifest
        self.facts = facts
        self.name = os.path.splitext(os.path.basename(path))[0]
        # Only the manifests of older images have inode numbers; in those of v0.15.3 columns that
        # were not checked are empty.
        self.minor = int(facts.get("format_version", "2.5").split(".")[1])
        self.refused = facts.get("expect") == "refuse"
        self.separator = chr(facts.get("preferred_path_separator") or ord("/"))

    def __repr__(self):
        return self.name


def load():
    """All images, in the order of their lists."""
    found = []
    with open(tap.data("images", "images.json")) as source:
        for facts in json.load(source)["images"]:
            found.append(Image(tap.data("images", facts["file"]),
                               tap.data("images", facts["manifest"]), facts))
    with open(tap.data("images", "v0.15.3", "images.json")) as source:
        for facts in json.load(source):
            name = facts["name"]
            found.append(Image(tap.data("images", "v0.15.3", name + ".dwarfs"),
                               tap.data("images", "v0.15.3", "manifests", name + ".tsv"), facts))
    return found


def _unescape(field):
    parts = iter(field)
    out = bytearray()
    for byte in parts:
        if byte == ord("\\"):
            byte = {ord("\\"): ord("\\"), ord("t"): 9, ord("n"): 10, ord("r"): 13}[next(parts)]
        out.append(byte)
    return bytes(out)


def _time(field):
    if field == b"-":
        return None
    seconds, _, fraction = field.partition(b".")
    return int(seconds) * NANO + int(fraction.ljust(9, b"0") or 0)


def parse(lines):
    """The rows of a manifest, as the walker describes a tree."""
    header, *lines = lines
    names = header.decode().split("\t")
    rows = {}
    for line in lines:
        fields = dict(zip(names, line.split(b"\t"), strict=True))
        path = _unescape(fields["path"])
        if path in rows:
            raise AssertionError(f"{path!r} is listed twice")
        rows[path] = {
            "type": fields["type"].decode(),
            "mode": int(fields["mode"], 8),
            "uid": int(fields["uid"]),
            "gid": int(fields["gid"]),
            "mtime": _time(fields["mtime"]),
            "atime": _time(fields["atime"]),
            "ctime": _time(fields["ctime"]),
            "size": int(fields["size"]),
            "nlink": int(fields["nlink"]),
            "inode": None if fields["inode"] == b"-" else int(fields["inode"]),
            "rdev": None if fields["rdev"] == b"-"
            else tuple(int(part) for part in fields["rdev"].split(b":")),
            # A link's target may be "-".
            "target": _unescape(fields["target"]) if fields["type"] == b"l" else None,
            "sha256": fields["sha256"].decode() if fields["type"] == b"f" else None,
            "extents": None,
        }
    return rows


def manifest(image, as_shown=False):
    """The expected rows; as_shown: link targets with "/", as a mount shows them."""
    with open(image.manifest, "rb") as source:
        rows = parse(source.read().rstrip(b"\n").split(b"\n"))
    if as_shown and image.separator != "/":
        for row in rows.values():
            if row["target"] is not None:
                row["target"] = row["target"].replace(image.separator.encode(), b"/")
                # The stored length counts one byte for each separator.
    return rows


def parse_description(text):
    """The output of describe: path of the image -> (facts, rows). Facts are lists of fields."""
    found = {}
    for part in text.split(b"\f")[1:]:
        name, _, rest = part.partition(b"\n")
        facts, _, rows = rest.partition(b"\n\n")
        facts = [tuple(_unescape(field).decode("utf-8", "surrogateescape")
                       for field in line.split(b"\t")) for line in facts.split(b"\n")]
        found[os.fsdecode(name)] = (facts, parse(rows.rstrip(b"\n").split(b"\n")))
    return found


def links_add_up(rows):
    """As many entries share the inode of a file as its link count says."""
    counts = {}
    for row in rows.values():
        counts[row["inode"]] = counts.get(row["inode"], 0) + 1
    for path, row in rows.items():
        if row["type"] == "f" and row["nlink"] != counts[row["inode"]]:
            raise AssertionError(f"{path!r}: {counts[row['inode']]} entries share the inode, "
                                 f"but nlink is {row['nlink']}")
