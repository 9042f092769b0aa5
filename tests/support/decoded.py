# SPDX-License-Identifier: MIT
"""Images decoded a second time, slowly and by other code than the library's: sections with their
hashes, metadata by the names of its fields, histories.

    image = decoded.Image(open(path, "rb").read())
    image.metadata["timestamp_base"], image.history[0]["version"]

Raises Broken for what cannot be decoded.
"""
import ctypes
import hashlib
import lzma
import mmap
import struct

BLOCK, SCHEMA, METADATA, INDEX, HISTORY, XATTRS = 0, 7, 8, 9, 10, 0xD000


class Broken(Exception):
    """What is wrong with an image."""


class Unavailable(Exception):
    """A library that decoding needs is missing here."""


def _library(name):
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise Unavailable(str(error)) from error


# -- codecs ---------------------------------------------------------------------------------------

def _output(size):
    """Zeros, which take no memory before they are written to: damaged images claim large sizes."""
    return (ctypes.c_char * (size or 1)).from_buffer(mmap.mmap(-1, size or 1))


def _unzstd(data):
    zstd = _library("libzstd.so.1")
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    if size > 1 << 31:
        raise Broken("a zstd frame does not say its size")
    out = _output(size)
    got = zstd.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if got != size:
        raise Broken("a zstd frame is damaged")
    return out.raw[:size]


def _unlz4(data):
    size, = struct.unpack_from("<I", data)
    out = _output(size)
    got = _library("liblz4.so.1").LZ4_decompress_safe(data[4:], out, len(data) - 4, size)
    if got != size:
        raise Broken("an lz4 block is damaged")
    return out.raw[:size]


def unpack(codec, data):
    if codec == 0:
        return data
    if codec == 1:
        return lzma.decompress(data, format=lzma.FORMAT_XZ)
    if codec == 2:
        return _unzstd(data)
    if codec in (3, 4):
        return _unlz4(data)
    raise Unavailable(f"codec {codec}")


# -- sections -------------------------------------------------------------------------------------

def hashes(covered):
    """As they are in a header: SHA-512/256 of what follows it, then XXH3 of what follows that."""
    xxhash = _library("libxxhash.so.0")
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    short = struct.pack("<Q", xxhash.XXH3_64bits(covered, ctypes.c_size_t(len(covered))))
    return hashlib.new("sha512_256", short + covered).digest() + short


def section(number, kind, payload, codec=0, minor=5):
    """The bytes of a section."""
    covered = struct.pack("<IHHQ", number, kind, codec, len(payload)) + payload
    return b"DWARFS\2" + bytes([minor]) + hashes(covered) + covered


def replaced(image, kind, payload):
    """An image without an index, with another payload in the sections of a type."""
    return b"".join(section(found.number, found.type, payload if found.type == kind
                            else found.payload, 0 if found.type == kind else found.codec)
                    for found in sections(image))


def sections(image):
    found, at = [], 0
    while at < len(image):
        found.append(Section(image, at))
        at = found[-1].end
    return found


class Section:
    def __init__(self, image, at):
        if image[at:at + 7] != b"DWARFS\2" or len(image) < at + 64:
            raise Broken(f"no section at {at}")
        self.minor = image[at + 7]
        self.number, self.type, self.codec, length = struct.unpack_from("<IHHQ", image, at + 48)
        self.end = at + 64 + length
        if self.end > len(image):
            raise Broken(f"section {self.number} runs past the end")
        self.payload = image[at + 64:self.end]
        self._check_hashes(image, at)

    def _check_hashes(self, image, at):
        if hashes(image[at + 48:self.end]) != image[at + 8:at + 48]:
            raise Broken(f"section {self.number}: its hashes do not match")

    def unpacked(self):
        return unpack(self.codec, self.payload)


# -- Thrift compact -------------------------------------------------------------------------------

class Thrift:
    """Structs as dictionaries by field id."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def byte(self):
        if self.at >= len(self.data):
            raise Broken("thrift: the data ends early")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value
        raise Broken("thrift: a number is too long")

    def signed(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def string(self):
        size = self.varint()
        if size > len(self.data) - self.at:
            raise Broken("thrift: a string runs past the end")
        self.at += size
        return self.data[self.at - size:self.at]

    def items(self):
        head = self.byte()
        count = head >> 4 if head >> 4 != 15 else self.varint()
        return [self.value(head & 15) for _ in range(count)]

    def pairs(self):
        count = self.varint()
        kinds = self.byte() if count else 0
        return {self.value(kinds >> 4): self.value(kinds & 15) for _ in range(count)}

    def value(self, kind):
        readers = {1: lambda: self.byte() == 1, 2: lambda: self.byte() == 1, 3: self.byte,
                   4: self.signed, 5: self.signed, 6: self.signed, 8: self.string, 9: self.items,
                   10: self.items, 11: self.pairs, 12: self.struct}
        if kind not in readers:
            raise Broken(f"thrift: unexpected type {kind}")
        return readers[kind]()

    def struct(self):
        fields, last = {}, 0
        while head := self.byte():
            last = last + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[last] = kind == 1 if kind in (1, 2) else self.value(kind)
        return fields


# -- Frozen2 --------------------------------------------------------------------------------------
# A type is "number", "flag", "text", ["list", of], ["optional", of], ["map", key, value], or a
# dictionary of fields: id -> (name, type).

def _list(of):
    return ["list", of]


def _optional(of):
    return ["optional", of]


N = "number"
F = "flag"
T = "text"
_CHUNK = {1: ("block", N), 2: ("offset", N), 3: ("size", N)}
_DIRECTORY = {1: ("parent_entry", N), 2: ("first_entry", N), 3: ("self_entry", N)}
_DIR_ENTRY = {1: ("name_index", N), 2: ("inode_num", N)}
_INODE = {1: ("name_index_v2_2", N), 2: ("mode_index", N), 3: ("inode_v2_2", N),
          4: ("owner_index", N), 5: ("group_index", N), 6: ("atime_offset", N),
          7: ("mtime_offset", N), 8: ("ctime_offset", N), 9: ("btime_offset", N),
          10: ("atime_subsec", N), 11: ("mtime_subsec", N), 12: ("ctime_subsec", N),
          13: ("btime_subsec", N), 14: ("nlink_minus_one", N)}
_OPTIONS = {1: ("mtime_only", F), 2: ("time_resolution_sec", _optional(N)),
            3: ("packed_chunk_table", F), 4: ("packed_directories", F),
            5: ("packed_shared_files_table", F),
            6: ("subsecond_resolution_nsec_multiplier", _optional(N)), 7: ("has_btime", F),
            8: ("inodes_have_nlink", F)}
_STRINGS = {1: ("buffer", T), 2: ("symtab", _optional(T)), 3: ("index", _list(N)),
            4: ("packed_index", F)}
_SIZES = {1: ("size_lookup", ["map", N, N]), 2: ("min_chunk_count", N),
          3: ("allocated_size_lookup", ["map", N, N])}
_REWRITE = {1: ("major", N), 2: ("minor", N), 3: ("dwarfs_version", _optional(T)),
            4: ("block_size", N), 5: ("options", _optional(_OPTIONS))}
FIELDS = {
    1: ("chunks", _list(_CHUNK)), 2: ("directories", _list(_DIRECTORY)),
    3: ("inodes", _list(_INODE)), 4: ("chunk_table", _list(N)), 5: ("entry_table_v2_2", _list(N)),
    6: ("symlink_table", _list(N)), 7: ("uids", _list(N)), 8: ("gids", _list(N)),
    9: ("modes", _list(N)), 10: ("names", _list(T)), 11: ("symlinks", _list(T)),
    12: ("timestamp_base", N), 13: ("chunk_inode_offset", N), 14: ("link_inode_offset", N),
    15: ("block_size", N), 16: ("total_fs_size", N), 17: ("devices", _optional(_list(N))),
    18: ("options", _optional(_OPTIONS)), 19: ("dir_entries", _optional(_list(_DIR_ENTRY))),
    20: ("shared_files_table", _optional(_list(N))), 21: ("total_hardlink_size", _optional(N)),
    22: ("dwarfs_version", _optional(T)), 23: ("create_timestamp", _optional(N)),
    24: ("compact_names", _optional(_STRINGS)), 25: ("compact_symlinks", _optional(_STRINGS)),
    26: ("preferred_path_separator", _optional(N)), 27: ("features", _optional(_list(T))),
    28: ("category_names", _optional(_list(T))), 29: ("block_categories", _optional(_list(N))),
    30: ("reg_file_size_cache", _optional(_SIZES)),
    31: ("category_metadata_json", _optional(_list(T))),
    32: ("block_category_metadata", _optional(["map", N, N])),
    33: ("metadata_version_history", _optional(_list(_REWRITE))),
    34: ("hole_block_index", _optional(N)), 35: ("large_hole_size", _optional(_list(N))),
    36: ("total_allocated_fs_size", _optional(N)),
}

MOST_ITEMS = 1 << 22


class Frozen:
    """A node is (layout, first byte, bit); layout None means that it is not stored."""

    def __init__(self, schema, data):
        self.layouts = schema.get(2, {})
        self.root = schema.get(3, 0)
        self.data = data
        if schema.get(4, 0) > 1 or self.root not in self.layouts:
            raise Broken("schema: unknown version or root")

    def _layout(self, number):
        if number not in self.layouts:
            raise Broken(f"schema: no layout {number}")
        return self.layouts[number]

    def _child(self, node, field):
        layout, first, bit = node
        place = layout.get(3, {}).get(field) if layout else None
        if place is None:
            return (None, 0, 0)
        offset = place.get(2, 0)
        child = self._layout(place.get(1, 0))
        return (child, first + offset, bit) if offset >= 0 else (child, first, bit - offset)

    def _number(self, node):
        layout, first, bit = node
        width = layout.get(2, 0) if layout else 0
        if width == 0:
            return 0
        at = 8 * first + bit
        end = (at + width + 7) // 8
        if width > 64 or end > len(self.data):
            raise Broken("metadata: a number is out of bounds")
        return int.from_bytes(self.data[at // 8:end], "little") >> at % 8 & (1 << width) - 1

    def _span(self, node, count, bits):
        begin = node[1] + self._number(self._child(node, 1))
        if begin + (count * bits + 7) // 8 > len(self.data):
            raise Broken("metadata: a table is out of bounds")
        return begin

    def _text(self, node):
        count = self._number(self._child(node, 2))
        if count == 0:
            return b""
        begin = self._span(node, count, 8)
        return self.data[begin:begin + count]

    def _items(self, node):
        count = self._number(self._child(node, 2))
        if count == 0:
            return []
        if count > MOST_ITEMS:
            raise Broken("metadata: a table has too many items")
        place = node[0].get(3, {}).get(3)
        if place is None:
            return [(None, 0, 0)] * count
        layout = self._layout(place.get(1, 0))
        size, bits = layout.get(1, 0), layout.get(2, 0)
        begin = self._span(node, count, 8 * size or bits)
        if size:
            return [(layout, begin + i * size, 0) for i in range(count)]
        return [(layout, begin, i * bits) for i in range(count)]

    def thaw(self, node, kind):
        if kind == N:
            return self._number(node)
        if kind == F:
            return bool(self._number(node))
        if kind == T:
            return self._text(node)
        if isinstance(kind, dict):
            return {name: self.thaw(self._child(node, field), of)
                    for field, (name, of) in kind.items()}
        if kind[0] == "optional":
            is_set = self._number(self._child(node, 1))
            return self.thaw(self._child(node, 2), kind[1]) if is_set else None
        if kind[0] == "list":
            return [self.thaw(item, kind[1]) for item in self._items(node)]
        return [(self.thaw(self._child(item, 1), kind[1]), self.thaw(self._child(item, 2), kind[2]))
                for item in self._items(node)]

    def metadata(self):
        return self.thaw((self._layout(self.root), 0, 0), FIELDS)


# -- strings --------------------------------------------------------------------------------------

def _symbols(table):
    if table[4:8] != bytes.fromhex("0a143401") or table[8] & 1:
        raise Broken("strings: unknown symbol table")
    symbols, at = [], 17
    for length in (2, 3, 4, 5, 6, 7, 8, 1):
        for _ in range(table[8 + length]):
            symbols.append(table[at:at + length])
            at += length
    if at != len(table):
        raise Broken("strings: the symbol table has another size")
    return symbols


def _expand(symbols, data):
    out, codes = bytearray(), iter(data)
    for code in codes:
        if code == 255:
            out.append(next(codes, 256) & 0xFF)
        elif code < len(symbols):
            out += symbols[code]
        else:
            raise Broken("strings: an unknown symbol")
    return bytes(out)


def sums(numbers):
    """The running sums, with a 0 in front."""
    out = [0]
    for number in numbers:
        out.append(out[-1] + number)
    return out


def strings(table, plain):
    """Of a compact table, or the plain list."""
    if table is None:
        return plain
    index = sums(table["index"]) if table["packed_index"] else table["index"]
    if plain or not index or index[0] != 0 or index != sorted(index) or \
            index[-1] != len(table["buffer"]):
        raise Broken("strings: the index does not fit")
    parts = [table["buffer"][a:b] for a, b in zip(index, index[1:])]
    if table["symtab"] is None:
        return parts
    symbols = _symbols(table["symtab"])
    return [_expand(symbols, part) for part in parts]


# -- history --------------------------------------------------------------------------------------

_VERSION = {1: "major", 2: "minor", 3: "patch", 4: "is_release", 5: "git_rev", 6: "git_branch",
            7: "git_desc"}
_STEP = {1: "version", 2: "system_id", 3: "compiler_id", 4: "arguments", 5: "timestamp",
         6: "library_versions"}


def _named(fields, names):
    return {name: fields[field] for field, name in names.items() if field in fields}


def _steps(data):
    reader = Thrift(data)
    steps = [_named(step, _STEP) for step in reader.struct().get(1, [])]
    for step in steps:
        if "version" in step:
            step["version"] = _named(step["version"], _VERSION)
    return steps


class Image:
    """Of format 2.2 and later, without anything in front."""

    def __init__(self, data):
        self.sections = sections(data)
        reader = Thrift(self._only(SCHEMA))
        schema = reader.struct()
        if reader.at != len(reader.data):
            raise Broken("schema: trailing bytes")
        self.metadata = Frozen(schema, self._only(METADATA)).metadata()
        self.blocks = [section for section in self.sections if section.type == BLOCK]
        self.history = [step for section in self.sections if section.type == HISTORY
                        for step in _steps(section.unpacked())]

    def _only(self, kind):
        found = [section for section in self.sections if section.type == kind]
        if len(found) != 1:
            raise Broken(f"{len(found)} sections of type {kind}")
        return found[0].unpacked()

    def names(self):
        return strings(self.metadata["compact_names"], self.metadata["names"])

    def links(self):
        return strings(self.metadata["compact_symlinks"], self.metadata["symlinks"])

    def time(self, inode, which="mtime"):
        """Nanoseconds since 1970, as an exact number."""
        options = self.metadata["options"] or {}
        row = self.metadata["inodes"][inode]
        if options.get("mtime_only"):
            which = "mtime"
        units = self.metadata["timestamp_base"] + row[which + "_offset"]
        seconds = units * (options.get("time_resolution_sec") or 1) % (1 << 64)
        if seconds >> 63:
            seconds -= 1 << 64
        fraction = (options.get("subsecond_resolution_nsec_multiplier") or 0) * \
            row[which + "_subsec"]
        return seconds * 10**9 + fraction

    def paths(self):
        """The inode of each path; of formats with directory entries."""
        metadata, names = self.metadata, self.names()
        first = [row["first_entry"] for row in metadata["directories"]]
        if (metadata["options"] or {}).get("packed_directories"):
            first = sums(first)[1:]
        found, waiting = {}, [(b"", 0)]
        while waiting:
            path, inode = waiting.pop()
            found[path] = inode
            if inode + 1 >= len(first):
                continue
            for entry in metadata["dir_entries"][first[inode]:first[inode + 1]]:
                name = names[entry["name_index"]]
                waiting.append((path + b"/" + name if path else name, entry["inode_num"]))
        return found
