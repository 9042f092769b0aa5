# SPDX-License-Identifier: MIT
"""The cases of test_scenarios.py in Python."""
import contextlib
import gc
import io
import os
import stat
import sys
import threading
import traceback
import warnings

import dwarfs
from dwarfs import _dwarfs as native

FOLDER = sys.argv[1]
TREE = FOLDER + "/tree"
IMAGE = FOLDER + "/x.dwarfs"
ODD = os.fsdecode(b"\xff\xfe")
TEXT = b"first\nsecond\nthird"


class Unexpected(Exception):
    """What a case did not expect."""


def same(got, wanted):
    if got != wanted:
        raise Unexpected(f"{got!r}, not {wanted!r}")


def fails(call, *arguments, kind=dwarfs.Error, **options):
    """The exception of a call."""
    try:
        call(*arguments, **options)
    except kind as error:
        return error
    raise Unexpected("nothing was raised")


def raise_at_the_end(now):
    if now.phase == dwarfs.Phase.DONE:
        raise KeyboardInterrupt


@contextlib.contextmanager
def case(name):
    try:
        yield
        print("ok", name)
    except BaseException as error:
        why = " ".join(traceback.format_exception(error)).replace("\n", " ")
        print("not ok", name + ":", why.encode(errors="backslashreplace").decode())


def slurp(path):
    with open(path, "rb") as file:
        return file.read()


def spit(path, data):
    with open(path, "wb") as file:
        file.write(data)


def raise_(error):
    raise error


def resident():
    return int(slurp("/proc/self/statm").split()[1]) * 4096


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def paths(found):
    return sorted(str(path) for path in found)


with case("pack"):
    dwarfs.pack(TREE, IMAGE, level=1, xattrs=True)
    same(fails(dwarfs.pack, TREE, IMAGE, kind=FileExistsError).code, -12)
    dwarfs.pack(TREE, IMAGE, level=1, xattrs=True, overwrite=True)
with case("callback chooses"):
    seen = []

    def include(entry):
        seen.append((entry.path, stat.S_IFMT(entry.mode), entry.size))
        return not entry.path.endswith("~")
    dwarfs.pack(TREE, FOLDER + "/c.dwarfs", include=include)
    same(seen.count(("a.txt", stat.S_IFREG, 18)), 1)
    with dwarfs.open(FOLDER + "/c.dwarfs") as chosen:
        same("a.txt" in chosen, True)
        same("skip~" in chosen, False)
with case("callback raises"):
    output, mine = FOLDER + "/r.dwarfs", RuntimeError("why")
    same(fails(dwarfs.pack, TREE, output, include=lambda entry: raise_(mine), kind=RuntimeError),
         mine)
    fails(dwarfs.pack, TREE, output, progress=lambda now: raise_(KeyboardInterrupt()),
          kind=KeyboardInterrupt)
    same(os.path.exists(output), False)
with case("progress"):
    reports = []
    dwarfs.pack(TREE, FOLDER + "/p.dwarfs", progress=reports.append)
    same(reports[-1].phase, dwarfs.Phase.DONE)
    same(reports[-1].bytes_done, reports[-1].bytes_total)
    same(reports[-1].bytes_done > 256_000, True)
with case("cancel"):
    begun, cancelled = threading.Event(), threading.Event()

    def wait_after_scan(now):
        if now.phase > dwarfs.Phase.SCAN:
            begun.set()
            same(cancelled.wait(60), True)

    def cancel_midway(builder):
        begun.wait(60)
        builder.cancel()
        cancelled.set()

    builder = dwarfs.Builder(progress=wait_after_scan)
    builder.add_tree(TREE)
    canceller = threading.Thread(target=cancel_midway, args=(builder,))
    canceller.start()
    same(fails(builder.write, FOLDER + "/k.dwarfs", kind=dwarfs.CancelledError).code, -15)
    canceller.join()
    same(begun.is_set(), True)
    builder = dwarfs.Builder()  # before it is written
    builder.add_tree(TREE)
    builder.cancel()
    fails(builder.add, "later", b"", kind=dwarfs.CancelledError)
    fails(builder.write, FOLDER + "/k.dwarfs", kind=dwarfs.CancelledError)
    same(os.path.exists(FOLDER + "/k.dwarfs"), False)

image = None
with case("open path"):
    image = dwarfs.open(IMAGE)
    same(image.check(dwarfs.CheckLevel.INTEGRITY), [])
    same(image.size, os.path.getsize(IMAGE))
with case("open bytes"):
    with dwarfs.open(slurp(IMAGE)) as copy:
        gc.collect()
        same((copy / "a.txt").read_bytes(), TEXT)
with case("stat"):
    found, wanted = (image / "a.txt").stat(), os.stat(TREE + "/a.txt")
    same((found.st_size, found.st_mode, found.st_uid, found.st_gid, int(found.st_mtime)),
         (18, wanted.st_mode, wanted.st_uid, wanted.st_gid, int(wanted.st_mtime)))
    same(((image / "a.txt").is_file(), (image / "a.txt").is_dir()), (True, False))
    same(((image / "link").stat().st_size, stat.S_ISLNK((image / "link").lstat().st_mode)),
         (256_000, True))
with case("list"):
    same(sorted(path.name for path in image), ["a.txt", "link", "skip~", "sub", ODD])
    same(paths((image / "sub").iterdir()), ["sub/b.bin"])
    same(fails((image / "a.txt").iterdir, kind=NotADirectoryError).code, -10)
with case("walk"):
    same(paths(image.walk()), ["", "a.txt", "link", "skip~", "sub", "sub/b.bin", ODD])
    same(paths(image.walk("data")), paths(image.walk()))
    same(paths((image / "sub").walk()), ["sub", "sub/b.bin"])
    walk = (image / "a.txt").walk()
    same([str(next(walk)), next(walk, None), next(walk, None)], ["a.txt", None, None])
with case("bytes in names"):
    same((image / b"\xff\xfe").read_bytes(), b"bytes")
    same((image / ODD).read_bytes(), b"bytes")
    same(bytes(image / ODD), b"\xff\xfe")
    same((image / "\u263a").exists(), False)
    fails((image / "a.txt\0").stat, kind=ValueError)
with case("pread"):
    with (image / "sub/b.bin").open("rb", 0) as file:
        same(file.pread(3, 255), b"\xff\x00\x01")
        same(len(file.pread(1 << 40, 255_990)), 10)
        same(file.pread(1, 1 << 40), b"")
        same(file.pread(0, 0), b"")
        fails(file.pread, -1, 0, kind=ValueError)
with case("seek"):
    with (image / "sub/b.bin").open("rb", 0) as file:
        same(file.seek(-2, io.SEEK_END), 255_998)
        same([file.read(10), file.read(1), file.read()], [b"\xfe\xff", b"", b""])
        fails(file.seek, -1, kind=OSError)
        same(file.tell(), 256_000)
        file.seek(300_000)
        same(file.read(), b"")
        room = bytearray(2)
        same([file.seek(1), file.seek(1, io.SEEK_CUR), file.readinto(room)], [1, 2, 2])
        same(room, b"\x02\x03")
with case("lines"):
    with (image / "a.txt").open("rb") as file:
        same([file.readline(), list(file), file.readline()],
             [b"first\n", [b"second\n", b"third"], b""])
    with (image / "a.txt").open() as file:
        same(file.readlines(), ["first\n", "second\n", "third"])
    with (image / "sub/b.bin").open("rb") as file:
        same(sum(map(len, file)), 256_000)
with case("xattr"):
    same((image / "a.txt").xattrs()["user.note"], b"v\0w")
    same([name for name in (image / "sub").xattrs() if name.startswith("user.")], [])
with case("link target"):
    same((image / "link").readlink(), "sub/b.bin")
    same(len((image / "link").read_bytes()), 256_000)
    same(fails((image / "sub").readlink).code, -2)
with case("missing file"):
    failure = fails((image / "sub/none").open, kind=FileNotFoundError)
    same((failure.code, failure.path, "none" in str(failure)), (-9, "sub/none", True))
    same(fails(dwarfs.open, FOLDER + "/none", kind=FileNotFoundError).errno, 2)
with case("not an image"):
    same(fails(dwarfs.open, TREE + "/a.txt").code, -7)
    same(fails(dwarfs.open, b"").code, -7)
with case("damaged image"):
    data = bytearray(slurp(IMAGE))
    data[80] ^= 1
    spit(FOLDER + "/d.dwarfs", data)
    with dwarfs.open(FOLDER + "/d.dwarfs") as damaged:
        failure = fails((damaged / "sub/b.bin").read_bytes)
        same((failure.code, failure.offset, failure.path), (-6, 0, FOLDER + "/d.dwarfs"))
        same("'sub/b.bin'" in str(failure), True)
        same(fails(damaged.check).code, -6)
    os.truncate(FOLDER + "/d.dwarfs", len(data) - 1)
    failure = fails(dwarfs.open, FOLDER + "/d.dwarfs")
    same((failure.code, failure.path, failure.offset > 0), (-5, FOLDER + "/d.dwarfs", True))
with case("extract"):
    copy, reports = FOLDER + "/extracted", []
    image.extract(copy, patterns=["sub/"], xattrs=False)
    same(os.listdir(copy), ["sub"])
    same(os.path.getsize(copy + "/sub/b.bin"), 256_000)
    failure = fails(image.extract, copy, patterns=["sub/"], kind=FileExistsError)
    same((failure.code, failure.path.endswith("sub/b.bin")), (-12, True))
    image.extract(copy + "2", progress=reports.append)
    same(reports[-1].phase, dwarfs.Phase.DONE)
    same(dwarfs.compare(image, copy + "2"), [])
    fails(image.extract, copy + "3", progress=lambda now: raise_(KeyboardInterrupt()),
          kind=KeyboardInterrupt)
    same(fails(image.extract, copy + "5", patterns=["["]).code, -2)
    same(fails(image.extract, FOLDER + "/no/copy").code, -9)
    fails(image.extract, 1.5, kind=TypeError)
    fails(image.extract, copy, no_option=1, kind=TypeError)
with case("export"):
    tar = FOLDER + "/x.tar"
    image.export(tar, "ustar", filters=["gzip"], patterns=["sub/"], tree_order=True, xattrs=False)
    same(slurp(tar)[:2], b"\x1f\x8b")
    image.export(tar)
    same(b"ustar" in slurp(tar), True)
    same(fails(image.export, FOLDER + "/x.unknown").code, -2)
    same(fails(image.export, tar, "none").code, -2)
    fails(image.export, FOLDER + "/k.tar", progress=lambda now: raise_(KeyboardInterrupt()),
          kind=KeyboardInterrupt)
    same(os.path.exists(FOLDER + "/k.tar"), False)
    fails(image.export, {}, kind=TypeError)
    fails(image.export, FOLDER + "/k.tar", progress=raise_at_the_end, kind=KeyboardInterrupt)
    same(b"ustar" in slurp(FOLDER + "/k.tar"), True)
with case("import"):
    imported, phases = FOLDER + "/i.dwarfs", []
    builder = dwarfs.Builder(level=1)
    builder.add_archive(tar, progress=lambda now: phases.append(now.phase))
    builder.write(imported)
    same(dwarfs.Phase.IMPORT in phases, True)
    same(dwarfs.compare(IMAGE, imported), [])
    os.mkdir(FOLDER + "/more")
    spit(FOLDER + "/more/a.txt", b"other")
    builder = dwarfs.Builder()
    builder.add_archive(tar)
    builder.add_image(image)
    builder.add_tree(FOLDER + "/more")
    builder.write(imported, overwrite=True)
    with dwarfs.open(imported) as merged:
        same(((merged / "a.txt").read_bytes(), (merged / "skip~").read_bytes()), (b"other", b"old"))
        same(len(list(merged)), 5)
    same(fails(dwarfs.Builder().add_archive, TREE + "/a.txt").code, -8)
    same(fails(dwarfs.Builder().add_archive, FOLDER + "/none", kind=FileNotFoundError).code, -9)
    fails(dwarfs.Builder().add_archive, tar, progress=lambda now: raise_(KeyboardInterrupt()),
          kind=KeyboardInterrupt)
    same(str(fails(dwarfs.Builder().add_image, tar, kind=TypeError)),
         f"an open image is needed, not {tar!r}")
    fails(dwarfs.Builder().add_base, None, kind=TypeError)
with case("compare"):
    same(dwarfs.compare(image, TREE), [])
    differences = dwarfs.compare(image, FOLDER + "/i.dwarfs", ignore=["mtime", "xattr"])
    same([tuple(d) for d in differences if d.kind == "size"],
         [("size", "a.txt", None, b"18", b"5")])
    differences = dwarfs.compare(IMAGE, FOLDER + "/c.dwarfs", ignore=["mtime"])
    same((differences[0].kind, differences[0].path), ("only-a", "skip~"))
    same(dwarfs.compare(image, image, time_resolution_ns=1), [])
    same(fails(dwarfs.compare, image, FOLDER + "/none", kind=FileNotFoundError).code, -9)
    fails(dwarfs.compare, image, TREE, ignore=["nothing"], kind=ValueError)
    fails(dwarfs.compare, None, image, kind=TypeError)
with case("rewrite"):
    output, reports = FOLDER + "/rewritten.dwarfs", []
    dwarfs.rewrite(image, output, compression="null", progress=reports.append)
    same((len(reports) > 0, dwarfs.compare(IMAGE, output)), (True, []))
    before = os.path.getsize(output)
    dwarfs.rewrite(output, output, level=5, block_bits=16, change_block_size=True, overwrite=True)
    same((os.path.getsize(output) < before, dwarfs.compare(IMAGE, output)), (True, []))
    spit(FOLDER + "/header.dwarfs", b"#!/bin/sh\n" + slurp(output))
    dwarfs.rewrite(FOLDER + "/header.dwarfs", output, blocks=False, overwrite=True)
    same(slurp(output)[:16], b"#!/bin/sh\nDWARFS")
    same(fails(dwarfs.rewrite, image, output, kind=FileExistsError).code, -12)
    same(fails(dwarfs.rewrite, image, FOLDER + "/w.dwarfs", categories="none").code, -2)
    same(fails(dwarfs.rewrite, TREE + "/a.txt", FOLDER + "/w.dwarfs").code, -7)
    fails(dwarfs.rewrite, image, FOLDER + "/w.dwarfs", no_option=1, kind=TypeError)
    same(os.path.exists(FOLDER + "/w.dwarfs"), False)
with case("wrong type"):
    with (image / "a.txt").open("rb", 0) as file:
        for wrong in file._handle, "text", 5, True, sys.stdout, None:
            fails(native.dwarfs_image_bytes, wrong, kind=TypeError)
        fails(native.dwarfs_file_read, file._handle, b"cannot be written", 0,
              kind=(TypeError, BufferError))
    fails(native.dwarfs_image_bytes, kind=TypeError)
    fails(dwarfs.pack, TREE, FOLDER + "/w.dwarfs", no_option=1, kind=TypeError)
    fails(dwarfs.pack, TREE, FOLDER + "/w.dwarfs", level="1", kind=TypeError)
    fails(dwarfs.open, {}, kind=TypeError)
    fails(dwarfs.open, None, kind=TypeError)
    same(fails(native.dwarfs_entry_stat, image._handle, 1 << 30, native.dwarfs_stat_new()).code,
         -3)
with case("use after close"):
    closed = dwarfs.open(IMAGE)
    file, path = (closed / "a.txt").open("rb", 0), closed / "sub"
    closed.close()
    closed.close()
    same(closed.closed, True)
    same(file.read(5), b"first")
    file.close()
    file.close()
    same(str(fails(closed.check, kind=ValueError)), "the image is closed")
    for use in (closed.walk, path.iterdir, path.stat, path.readlink, path.xattrs, path.open,
                file.read, file.tell, file.readline, lambda: file.seek(0),
                lambda: file.pread(1, 0), lambda: closed.size,
                lambda: closed.extract(FOLDER + "/w"), lambda: closed.export(FOLDER + "/w.tar"),
                lambda: dwarfs.compare(TREE, closed), lambda: dwarfs.Builder().add_image(closed),
                lambda: dwarfs.rewrite(closed, FOLDER + "/w.dwarfs")):
        fails(use, kind=ValueError)
with case("children keep parents"):
    file, walk = (dwarfs.open(IMAGE) / "a.txt").open("rb", 0), dwarfs.open(IMAGE).walk()
    gc.collect()
    same(file.pread(5, 0), b"first")
    same(str(next(walk)), "")
    same(next(walk).exists(follow_symlinks=False), True)
    file.close()
with case("open and close"):
    data, before = slurp(IMAGE), 0
    for number in range(10_000):
        dwarfs.open(data).close()
        if number == 2000:
            before = resident()
    more = resident() - before
    if more > 4 << 20:
        raise Unexpected(f"{more} bytes more")
with case("threads"):
    sizes = []

    def read_many():
        sizes.append([len((image / "sub/b.bin").read_bytes()) for _ in range(20)])
    readers = [threading.Thread(target=read_many) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    same(sizes, [[256_000] * 20] * 4)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning) \
            if sys.version_info >= (3, 12) else contextlib.nullcontext():
        child = os.fork()  # CPython warns of it where the image has threads
    if child == 0:
        os._exit(0 if (image / "a.txt").read_bytes() == TEXT else 1)
    same(os.waitpid(child, 0)[1], 0)
# Handles are not counted; each open image has a descriptor.
with case("handles"):
    image.close()
    del file, walk
    gc.collect()
    before = descriptors()
    with dwarfs.open(IMAGE) as opened, (opened / "a.txt").open("rb", 0):
        same(descriptors(), before + 1)
    same(descriptors(), before)
    forgotten = [dwarfs.open(IMAGE).walk() for _ in range(20)]
    same(descriptors(), before + 20)
    del forgotten
    gc.collect()
    same(descriptors(), before)
