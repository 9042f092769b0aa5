#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the seeds in fuzz/seeds: small images, payloads and texts.

    PYTHONPATH=BUILD/bindings/python fuzz/make_seeds.py

Images have their metadata uncompressed, so that a fuzzer reaches the tables, and one codec
each in their blocks. The result is the same every time.
"""
import os
import pathlib
import tempfile

import dwarfs

SEEDS = pathlib.Path(__file__).resolve().parent / "seeds"
PLAIN = dict(owner=1000, group=1000, time=1_700_000_000, create_timestamp=False,
             history_timestamps=False, history_arguments=["pack", "tree"],
             schema_compression="null", metadata_compression="null",
             history_compression="null", block_bits=12)


def make_tree(root):
    (root / "dir" / "sub").mkdir(parents=True)
    (root / "empty dir").mkdir()
    (root / "text").write_bytes(b"".join(b"line %d of a text\n" % i for i in range(200)))
    (root / "copy").write_bytes((root / "text").read_bytes())
    (root / "dir" / "small").write_bytes(b"small")
    (root / "dir" / "none").write_bytes(b"")
    with open(root / "dir" / "sub" / "sparse", "wb") as file:
        file.truncate(300000)
        file.seek(65536)
        file.write(b"data between holes" * 10)
    for i in range(12):
        (root / "dir" / f"a name with parts in common {i:02}").write_bytes(b"%d" % i)
    os.link(root / "text", root / "dir" / "hard")
    os.symlink("dir/sub/sparse", root / "link")
    os.symlink("dir/sub/../none", root / "dir" / "link")
    os.mkfifo(root / "fifo")


def make_images(root):
    folder = SEEDS / "image"
    folder.mkdir(parents=True, exist_ok=True)
    variants = {
        "stored": dict(compression="null"),
        "zstd": dict(compression="zstd:level=5"),
        "lz4": dict(compression="lz4"),
        "lzma": dict(compression="lzma:level=1"),
        "brotli": dict(compression="brotli:quality=5"),
        "packed": dict(compression="lz4hc:level=9", pack_metadata="all,force"),
        "plain": dict(compression="lz4", pack_metadata="plain", section_index=False,
                      hardlink_table=False),
        "times": dict(compression="lz4", keep_all_times=False, time_resolution_ns=1000,
                      time=1_700_000_000.123456, header=b"#!/bin/sh\n"),
        "compressed": dict(compression="zstd:level=5", metadata_compression="zstd:level=5",
                           schema_compression="zstd:level=5"),
    }
    for name, options in variants.items():
        dwarfs.pack(root, folder / f"{name}.dwarfs", overwrite=True, specials=True,
                    **{**PLAIN, **options})


CODECS = {"NONE": 0, "LZMA": 1, "ZSTD": 2, "LZ4": 3, "LZ4HC": 4, "BROTLI": 5, "FLAC": 6,
          "RICEPP": 7}


def make_payloads():
    """The first block of each image, behind the number of its codec."""
    folder = SEEDS / "codec"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((SEEDS / "image").glob("*.dwarfs")):
        with dwarfs.open(path) as image:
            section = image.sections[0]
            start = image.offset + section.offset + 64
            payload = path.read_bytes()[start:start + section.stored_bytes]
            if section.compression != "NONE":
                (folder / section.compression.lower()).write_bytes(
                    bytes([CODECS[section.compression]]) + payload)


def make_texts():
    (SEEDS / "options").mkdir(parents=True, exist_ok=True)
    (SEEDS / "fsst").mkdir(parents=True, exist_ok=True)
    texts = [(0, "ug-st,=Xr"), (0, "D755,F0644,o=u+x,a-w,+t"), (1, "zstd:level=19:long"),
             (1, "lzma:level=9:dict_size=24:extreme:binary=x86"),
             (1, "brotli:quality=11:lgwin=24"), (1, "lz4hc:9"), (2, "all,force"),
             (2, "chunk_table,directories,shared_files,names,names_index,symlinks"),
             (3, "revpath")]
    for i, (option, text) in enumerate(texts):
        (SEEDS / "options" / f"{i}").write_bytes(bytes([option]) + text.encode())
    names = [b"a name with parts in common %02d" % i for i in range(20)]
    (SEEDS / "fsst" / "names").write_bytes(b"".join(bytes([len(n)]) + n for n in names))


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "tree"
        make_tree(root)
        make_images(root)
    make_payloads()
    make_texts()


if __name__ == "__main__":
    main()
