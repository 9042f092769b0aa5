# SPDX-License-Identifier: MIT
"""Single values of metadata are changed, the hashes recomputed, and the result of the check
compared with another implementation of the rules: images that it refuses, the check must refuse.

The other implementation, in DWARFS_TEST_DATA/oracle, writes the images as well. Values are
changed before the metadata is laid out, so that any value gets the bits that it needs.
"""
import contextlib
import copy
import ctypes
import ctypes.util
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import types

import tap

MOST_OF_A_TABLE = 4  # rows of a table that are changed: the first ones and the last ones
ENOUGH = 100  # images that the oracle refuses, to see that the changes matter to it


def substitutes():
    """The oracle wants hashes and codecs; its own images need the hash alone."""
    for name in ("zstandard", "brotli", "lz4", "lz4.block"):
        with contextlib.suppress(ImportError):
            __import__(name)
            continue
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].ZstdCompressor = lambda level: None
    with contextlib.suppress(ImportError):
        __import__("xxhash")
        return
    path = ctypes.util.find_library("xxhash")
    if not path:
        raise tap.Skip("no libxxhash")
    library = ctypes.CDLL(path)
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    module = types.ModuleType("xxhash")
    module.xxh3_64_intdigest = lambda data: library.XXH3_64bits(bytes(data), len(data))
    sys.modules["xxhash"] = module


def make_tree(root):
    def write(name, contents):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(contents)
    write("a/one", b"1" * 100)
    write("a/two", b"2" * 3000)
    write("a/same", b"s" * 50)
    write("b/same too", b"s" * 50)
    write("b/c/empty", b"")
    write("b/c/deep", tap.random_bytes(2000))
    os.link(os.path.join(root, "a/one"), os.path.join(root, "b/hard"))
    os.symlink("a/one", os.path.join(root, "link"))
    os.symlink("../b", os.path.join(root, "b/loop"))
    os.mkfifo(os.path.join(root, "fifo"))
    with contextlib.suppress(OSError):  # needs privileges
        os.mknod(os.path.join(root, "null"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
    for number in range(3):  # one of them is in two blocks
        write(f"many/file{number}", b"%d" % number * (number + 11))


class Writer:
    """An image of the oracle, whose metadata can be changed."""

    def __init__(self, modules, root, enrich=None, **how):
        self.dw, self.fz, self.wr = modules
        how.update(zst=False, bs=1024)
        fs = self.dw.load(self.wr.build(root, **how))
        self.metadata = fs.m
        self.blocks = [section.body for section in fs.blocks]
        if enrich:
            enrich(self.metadata, len(self.blocks))

    def image(self, metadata):
        schema, data = self.fz.freeze(metadata)[:2]
        sections = [(0, body) for body in self.blocks] + [(7, schema), (8, data)]
        return b"".join(self.wr.section(number, kind, 0, body)
                        for number, (kind, body) in enumerate(sections))


def enrich(metadata, blocks):
    """Fields that the oracle does not write by default."""
    metadata["category_names"] = [b"<default>", b"incompressible"]
    metadata["block_categories"] = [number % 2 for number in range(blocks)]
    metadata["category_metadata_json"] = [b"{}", b'{"a":1}']
    metadata["block_category_metadata"] = [(0, 1), (blocks - 1, 0)]
    metadata["total_allocated_fs_size"] = 4096
    metadata["features"] = [b"sparsefiles"]
    metadata["hole_block_index"] = blocks
    metadata["large_hole_size"] = [1 << 33]
    # The last chunk becomes a hole, and the one before a large one.
    metadata["chunks"][-1] = {"block": blocks, "offset": 100, "size": 2}
    metadata["chunks"][-2] = {"block": blocks, "offset": 0xffffffff, "size": 0}
    table, minimum = metadata["chunk_table"], 2
    sizes = []
    for file in range(len(table) - 1):
        chunks = metadata["chunks"][table[file]:table[file + 1]]
        if len(chunks) >= minimum and all(chunk["block"] < blocks for chunk in chunks):
            sizes.append((file, sum(chunk["size"] for chunk in chunks)))
    metadata["reg_file_size_cache"] = {"size_lookup": sizes, "min_chunk_count": minimum,
                                       "allocated_size_lookup": sizes[:1]}


def changes_of(value):
    """Other values in place of one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        found = {0, value + 1, max(value - 1, 0), value ^ 0x4000, 0x7fffffff, 0xffffffff}
        return sorted(number for number in found - {value} if number <= 0xffffffff)
    if isinstance(value, bytes):
        return [b"", value + b"\0", value + b"/x", value[:-1], b"x" * 4096, b"..", b"\xff"]
    return []


def rows(items):
    """Indices of a list: some from its start and its end."""
    half = MOST_OF_A_TABLE // 2
    return sorted(set(range(min(half, len(items)))) | set(range(max(0, len(items) - half),
                                                                len(items))))


def places(value, path=()):
    """(path, value) of all single values, and of lists, which may lose or gain an item."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, (list, tuple)):
        if isinstance(value, list):
            yield path, value
        for index in rows(value):
            yield from places(value[index], (*path, index))
    else:
        yield path, value


def with_value(metadata, path, value):
    """A copy that shares all other values."""
    if not path:
        return value
    changed = list(metadata) if isinstance(metadata, tuple) else copy.copy(metadata)
    changed[path[0]] = with_value(metadata[path[0]], path[1:], value)
    return tuple(changed) if isinstance(metadata, tuple) else changed


def mutations(metadata):
    for path, value in places(metadata):
        if isinstance(value, list):
            others = [value[:-1], value + value[-1:], value[1:], value[::-1]] if value else []
        elif value is None:
            others = []
        else:
            others = changes_of(value)
        for other in others:
            if other != value:
                yield (f"{'.'.join(map(str, path))}: {str(value)[:30]} -> {str(other)[:30]}",
                       with_value(metadata, path, other))


def refused_by(strict, dw, image):
    """The reason why the oracle refuses an image, or None."""
    try:
        strict.strict(image)
    except dw.Err as error:
        return str(error) or "refused"
    except (LookupError, ValueError, TypeError, struct.error, OverflowError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def judged(program, images):
    """The result of the check for each: "good", or "bad" and the reason."""
    stream = b"".join(struct.pack("<I", len(image)) + image for image in images)
    done = subprocess.run(tap.command(program), input=stream, stdout=subprocess.PIPE, timeout=300)
    assert done.returncode == 0, f"ended with {done.returncode}"
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    assert len(lines) == len(images), (len(lines), len(images))
    return lines


def compare(program, strict, writer):
    names, images = ["unchanged"], [writer.image(writer.metadata)]
    for name, metadata in mutations(writer.metadata):
        try:
            images.append(writer.image(metadata))
            names.append(name)
        except (AssertionError, LookupError, TypeError, ValueError, AttributeError):
            continue  # a value that cannot be laid out
    verdicts = judged(program, images)
    assert verdicts[0] == "good", verdicts[0]
    assert refused_by(strict, writer.dw, images[0]) is None
    refused = missed = 0
    for name, image, verdict in zip(names, images, verdicts):
        if verdict != "good" and refused > ENOUGH:
            continue  # whatever the oracle says, it is not one that the check must refuse
        why = refused_by(strict, writer.dw, image)
        refused += why is not None
        if why is not None and verdict == "good":
            missed += 1
            print(f"# passed: {name}: {why}")
    print(f"# {len(images)} images, {sum(verdict != 'good' for verdict in verdicts)} refused by the check")
    assert refused > ENOUGH, refused
    assert missed == 0, f"{missed} images pass the check"


def check_targets(program, writer):
    """The oracle accepts targets that no system supports."""
    images = []
    for target in (b"t", b"x" * 4095, b"", b"x" * 4096, b"x" * 5000):
        metadata = copy.deepcopy(writer.metadata)
        metadata["symlinks"][0] = target
        images.append(writer.image(metadata))
    verdicts = judged(program, images)
    assert verdicts[:2] == ["good", "good"], verdicts
    assert "empty" in verdicts[2], verdicts
    assert all("4095" in verdict for verdict in verdicts[3:]), verdicts


def main():
    suite = tap.Suite()
    try:
        sys.path.insert(0, tap.data("oracle"))
        substitutes()
        import dw  # pylint: disable=import-outside-toplevel,import-error
        import fz  # pylint: disable=import-outside-toplevel,import-error
        import strict  # pylint: disable=import-outside-toplevel,import-error
        import wr  # pylint: disable=import-outside-toplevel,import-error
    except tap.Skip as reason:
        tap.skip_all(reason)
    # Many claimed items without bits take the oracle much time and memory.
    strict.SFz.LIM = 1 << 14
    signal.alarm(600)
    with tempfile.TemporaryDirectory(prefix="dwarfs-judged-") as root:
        make_tree(root)
        for name, how in (("plain", {"compact": False}), ("rich", {"enrich": enrich}),
                          ("packed", {"pack": True})):
            with suite.case(f"values of {name} metadata"):
                compare(sys.argv[1], strict, Writer((dw, fz, wr), root, **how))
        with suite.case("targets of links"):
            check_targets(sys.argv[1], Writer((dw, fz, wr), root, compact=False))
    suite.finish()


main()
