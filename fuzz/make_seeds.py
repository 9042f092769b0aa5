#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the seeds in fuzz/seeds: small images, payloads, texts, files with headers.

    PYTHONPATH=BUILD/bindings/python fuzz/make_seeds.py

Images have their metadata uncompressed, so that a fuzzer reaches the tables, and one codec
each in their blocks. The result is reproducible.
"""
import gzip
import io
import os
import pathlib
import struct
import tarfile
import tempfile
import zipfile

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
    make_attributes(folder)


def make_attributes(folder):
    """Runs of inodes with the same extended attributes, and inodes that all differ."""
    for name, each in ("xattrs-runs", 10), ("xattrs-each", 1):
        builder = dwarfs.Builder(compression="lz4", keep_birth_times=True,
                                 **{**PLAIN, "time": None})
        for i in range(40):
            builder.add(f"{i:02}", b"%d" % i, btime=1_600_000_000 + i, xattrs={
                "user.comment": b"comment %d" % (i // each), "user.empty": b"",
                "security.selinux": b"system_u:object_r:etc_t:s0\0"} if i % 20 else None)
        builder.write(folder / f"{name}.dwarfs", overwrite=True)


CODECS = {"NONE": 0, "LZMA": 1, "ZSTD": 2, "LZ4": 3, "LZ4HC": 4, "BROTLI": 5, "FLAC": 6,
          "RICEPP": 7}


def make_payloads():
    """The first block of each image, after the number of its codec."""
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


def make_parts():
    """An .xz stream of several Blocks, which needs a larger block than those of the images."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        tree.mkdir()
        (tree / "file").write_bytes(b"".join(b"%d of many lines\n" % i for i in range(700)))
        image = pathlib.Path(folder) / "image"
        dwarfs.pack(tree, image,
                    **{**PLAIN, "block_bits": 16, "compression": "lzma:level=1:block_size=12"})
        with dwarfs.open(image) as opened:
            section = opened.sections[0]
            start = opened.offset + section.offset + 64
            payload = image.read_bytes()[start:start + section.stored_bytes]
    (SEEDS / "codec" / "lzma-parts").write_bytes(bytes([CODECS["LZMA"]]) + payload)


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
    (SEEDS / "filter").mkdir(parents=True, exist_ok=True)
    (SEEDS / "filter" / "rules").write_text(
        "+ File/Spec/[EM]*.pm\n- unicore/**.pl\n+ *.pl\n-i *.BAK\n- /dir/\n- *\n\n"
        "lib/File/Spec/Mac.pm\nlib/unicore/a/b.pl\nx.bak\ndir\n")
    (SEEDS / "filter" / "stars").write_text(
        "- [!a-z\\]]?*\u00e9\n+ a*a*a*a*b\n- **/x/**\n\n" + "a" * 24 + "\na/x/b\nA?\u00e9\n")
    names = [b"a name with parts in common %02d" % i for i in range(20)]
    (SEEDS / "fsst" / "names").write_bytes(b"".join(bytes([len(n)]) + n for n in names))


def make_calls():
    """Calls of a builder, as read by fuzz_builder.c: items, changes of the tree, options."""
    folder = SEEDS / "builder"
    folder.mkdir(parents=True, exist_ok=True)

    def file(path, length, times, text):
        return bytes([0, 0, 1, length, times, len(text) - 1]) + text + bytes([path])

    def link(path, to):
        return bytes([0, 0, 4, to, path])

    directory = bytes([0, 1, 64, 0])
    few = file(0, 200, 40, b"text of a file\n") + file(1, 200, 40, b"another one\n")
    seeds = {
        "files": b"\0" + few + file(5, 255, 60, b"0123456789") + link(4, 0),
        "layers": b"\1" + directory + file(2, 90, 9, b"below") + bytes([132, 4]) +
        bytes([131, 0, 1]) + file(3, 90, 9, b"below that") + bytes([130, 2, 0]) +
        bytes([133, 0]) + bytes([134, 0]),
        "order": b"\0" + bytes([180, 3, 0, 5]) + b"b\na\n\n" + few +
        bytes([180, 4, 0, 1, 180, 5, 0]) + file(2, 30, 9, b"hot") + bytes([250]),
        "options": b"\2" + bytes([180, 0, 3, 180, 2, 3, 180, 6, 1, 180, 7, 6, 180, 13, 255]) + few,
    }
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


def make_lists():
    """A byte that chooses the list, then its lines: see fuzz_lists.c."""
    folder = SEEDS / "lists"
    folder.mkdir(parents=True, exist_ok=True)
    lines = {
        "some": [b"z", b"./d/e/f", b"a.txt", b"b b.txt", b"missing", b""],
        "odd": [b"/c", b"..x", b".", b"./", b"d//a.txt", b"d/./.h/", b"\xc3\xa9", b"c\0d", b"d", b""],
        "repeated": [b"link", b"d.x", b"c", b"d.x", b"..", b"../z", b".h", b"d/e/g/h"],
    }
    for name, paths in lines.items():
        for number, kind in enumerate(("order", "hot")):
            (folder / f"{name}-{kind}").write_bytes(bytes([number]) + b"\n".join(paths))


def make_reads():
    """Calls that read, as in fuzz_reads.c: an image and how it is opened, then calls."""
    folder = SEEDS / "reads"
    folder.mkdir(parents=True, exist_ok=True)

    def read(how, file, offset, size):
        return bytes([how, file]) + struct.pack(">HH", offset, size)

    def whole(files):
        return b"".join(read(0, i, 0, 60000) for i in files)

    borrowed = b"".join(read(2 + 4 * i, 3 * i + 2, 100 * i, 20000) for i in range(5))
    some = bytes([20, 0, 7])
    seeds = {
        "offsets": bytes([1, 0, 0, 0]) + whole(range(20)) + read(4, 0, 60000, 50000) +
        read(1, 19, 1000, 30000) + bytes([212, 19, 255, 255]),
        "borrowed": bytes([1, 24, 0, 0]) + borrowed + whole(range(8)) + bytes([220, 2]) +
        borrowed + bytes([150, 220, 0]) + whole([19, 0]),
        "many": bytes([2, 4, 0, 0, 170]) + some + bytes([180, 0]) + some + bytes([0, 192, 0]) +
        some + bytes([1, 220, 5, 192, 5]) + some + bytes([2]),
        "threads": bytes([3, 12, 0, 0]) + (bytes([204]) + bytes([0, 19, 9, 9] * 3)) * 2 +
        bytes([220, 1]) + whole(range(15, 20)) + bytes([204]) + bytes([3, 19, 1, 1] * 3),
        "damaged": bytes([1, 0, 1, 1]) + whole(range(20)) + bytes([192, 0]) + some + bytes([1]),
        "zeros": bytes([4, 216, 2, 65]) + whole(range(20)) + bytes([180, 0]) + some + bytes([0]),
    }
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


GUID = bytes.fromhex("f3acd3118cd100c04f8edb8a")


def wav():
    form = struct.pack("<HHIIHHHHI", 0xfffe, 2, 48000, 288000, 6, 24, 22, 20, 3)
    form += bytes.fromhex("0100000000001000800000aa00389b71")
    data = bytes(range(18))
    body = b"WAVELIST" + struct.pack("<I", 3) + b"abc\0"
    body += b"fmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(data)) + data + b"more"
    return b"RIFF" + struct.pack("<I", len(body)) + body


def rf64():
    form = struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16)
    body = b"WAVEds64" + struct.pack("<IQQQI", 28, 92, 8, 4, 0)
    body += b"fmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", 0xffffffff) + bytes(range(8)) + b"more"
    return b"RF64" + struct.pack("<I", 0xffffffff) + body


def rifx():
    form = struct.pack(">HHIIHH", 1, 1, 48000, 96000, 2, 16)
    body = b"WAVEfmt " + struct.pack(">I", len(form)) + form
    return b"RIFX" + struct.pack(">I", 36) + body + b"data" + bytes(4) + bytes(range(8))


def w64():
    form = struct.pack("<HHIIHHHIH", 1, 1, 48000, 48000, 1, 8, 0, 0, 0)
    body = b"wave" + GUID + b"fmt " + GUID + struct.pack("<Q", 24 + 18) + form
    body += b"data" + GUID + struct.pack("<Q", 24 + 5) + b"\x80\x81\x7f\x80\x80"
    riff = b"riff" + bytes.fromhex("2e91cf11a5d628db04c10000")
    return riff + struct.pack("<Q", 24 + len(body)) + body


def aiff(kind):
    common = struct.pack(">HIH", 1, 4, 16) + bytes(10) + kind
    body = (b"AIFC" if kind else b"AIFF") + b"SSND" + struct.pack(">III", 18, 2, 0)
    body += bytes(range(10)) + b"COMM" + struct.pack(">I", len(common)) + common
    return b"FORM" + struct.pack(">I", len(body)) + body


def caf():
    form = struct.pack(">d4sIIIII", 48000, b"lpcm", 2, 4, 1, 2, 16)
    data = bytes(range(13))
    return (b"caff\0\1\0\0desc" + struct.pack(">q", len(form)) + form + b"free" +
            struct.pack(">q", 2) + b"  data" + struct.pack(">q", -1) + bytes(4) + data)


def fits():
    def unit(data, *lines):
        header = b"".join(line.ljust(80).encode() for line in (*lines, "END"))
        return header.ljust(2880) + data

    first = unit(struct.pack(">6H", *range(0, 60, 10)).ljust(2880, b"\0"),
                 "SIMPLE  = T", "BITPIX  = 16", "NAXIS   = 2", "NAXIS1  = 2",
                 "NAXIS2  = 3", "BAYERPAT= 'RGGB    '")
    return first + unit(struct.pack(">2H", 4, 8), "XTENSION= 'IMAGE   '", "BITPIX  = 16",
                        "NAXIS   = 1", "NAXIS1  = 2", "PCOUNT  = 0", "GCOUNT  = 1")


def elf():
    return (b"\x7fELF\2\1\1" + bytes(9) +
            struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 1, 0))


def pe():
    return (b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" +
            struct.pack("<HHIIIHHH", 0x8664, 3, 0, 0, 0, 240, 0, 0x20b))


def macho(cpu):
    return struct.pack("<IIIIIIIII", 0xfeedface, cpu, 3, 2, 1, 8, 0, 2, 8)


def fat(magic, item):
    table = b"".join(struct.pack(item, cpu, 3, offset, 36, 0)
                     for cpu, offset in ((7, 80), (12, 120)))
    head = struct.pack(">II", magic, 2) + table
    return head.ljust(80, b"\0") + macho(7) + b"gap " + macho(12) + b"end"


def make_files():
    """Files that categorizers detect by their headers."""
    folder = SEEDS / "categorize"
    folder.mkdir(parents=True, exist_ok=True)
    files = {"wav": wav(), "w64": w64(), "rf64": rf64(), "rifx": rifx(),
             "aiff": aiff(b""), "aifc": aiff(b"sowt\0\0"),
             "caf": caf(), "fits": fits(), "elf": elf(), "pe": pe(), "macho": macho(7),
             "fat": fat(0xcafebabe, ">IIIII"), "fat64": fat(0xcafebabf, ">IIQQQ")}
    for name, data in files.items():
        (folder / name).write_bytes(data)


def newc(name, mode, data=b"", links=1, number=0):
    head = b"070701" + b"".join(b"%08x" % value for value in (
        number, mode, 0, 0, links, 1600000000, len(data), 0, 0, 0, 0, len(name) + 1, 0))
    padded = (head + name + b"\0").ljust(-(-(len(head) + len(name) + 1) // 4) * 4, b"\0")
    return padded + data.ljust(-(-len(data) // 4) * 4, b"\0")


def pax(*records):
    """An extended header of records, each of 10 to 99 bytes."""
    body = b"".join(b"%d %s\n" % (len(record) + 4, record) for record in records)
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, len(body)
    return info.tobuf(tarfile.USTAR_FORMAT) + body.ljust(-(-len(body) // 512) * 512, b"\0")


def tar(form):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, kind, link in (("d", tarfile.DIRTYPE, ""), ("d/f", tarfile.REGTYPE, ""),
                                 ("d/.wh.f", tarfile.REGTYPE, ""), ("l", tarfile.SYMTYPE, "d/f"),
                                 ("h", tarfile.LNKTYPE, "d/f"), ("n", tarfile.CHRTYPE, ""),
                                 ("p", tarfile.FIFOTYPE, ""), ("long/" * 24 + "x", tarfile.REGTYPE, ""),
                                 ("d/.wh..wh..opq", tarfile.REGTYPE, "")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mtime = kind, link, 1600000000.5
            info.devmajor, info.devminor = 1, 3
            info.size = 600 if name == "d/f" else 0
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    data = out.getvalue().rstrip(b"\0")
    return data.ljust(-(-len(data) // 512) * 512, b"\0") + bytes(1024)


def make_archives():
    """A byte of options, then an archive."""
    folder = SEEDS / "archive"
    folder.mkdir(parents=True, exist_ok=True)
    plain = tarfile.TarInfo("f").tobuf(tarfile.USTAR_FORMAT)
    sparse = tarfile.TarInfo("s")
    sparse.size = 512
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, mode in (("d/f", 0o100644), ("l", 0o120777)):
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, b"text " * 30)
    seeds = {
        "ustar": tar(tarfile.USTAR_FORMAT), "gnu": tar(tarfile.GNU_FORMAT),
        "pax": tar(tarfile.PAX_FORMAT), "gzip": gzip.compress(tar(tarfile.USTAR_FORMAT), mtime=0),
        "xattr": pax(b"SCHILY.xattr.user.x=value") + plain + bytes(1024),
        "acl": pax(b"SCHILY.acl.access=user::rw-,user:5:r--,group::r--,other::---") + plain +
        pax(b"SCHILY.acl.default=user::rwx,group::r-x,other::r-x") + plain + bytes(1024),
        "sparse": pax(b"GNU.sparse.map=4096,512", b"GNU.sparse.size=70000") +
        sparse.tobuf(tarfile.USTAR_FORMAT) + b"y" * 512 + bytes(1024),
        "newc": newc(b"d", 0o40755, links=2, number=1) + newc(b"a", 0o100644, links=2, number=2) +
        newc(b"b", 0o100644, b"text", links=2, number=2) + newc(b"TRAILER!!!", 0),
        "ar": b"!<arch>\n" + b"a/              1600000000  7     8     100600  2         `\nxy",
        "zip": zipped.getvalue(),
    }
    for number, (name, data) in enumerate(seeds.items()):
        (folder / name).write_bytes(bytes([number * 5 % 32]) + data)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "tree"
        make_tree(root)
        make_images(root)
    make_payloads()
    make_parts()
    make_texts()
    make_calls()
    make_lists()
    make_reads()
    make_files()
    make_archives()


if __name__ == "__main__":
    main()
