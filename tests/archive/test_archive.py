#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsextract --format: contents of archives, read by other programs; LC_ALL=C."""
import hashlib
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
import zipfile

import absent
import faults
import tap
import tree
import walker
from scratch import file_system, need_root, pack, place, read, scratch, with_names, write

os.environ["LC_ALL"] = "C"
absent.need_all("archive")
suite = tap.Suite()

MAGIC = {"tar": b"ustar", "gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ",
         "bzip2": b"BZh", "lz4": b"\x04\x22\x4d\x18", "compress": b"\x1f\x9d", "lzip": b"LZIP",
         "zip": b"PK\x03\x04", "7zip": b"7z\xbc\xaf", "cpio": b"070707", "ar": b"!<arch>"}


def export(*arguments, **how):
    how = {"capture_output": True, "timeout": 300, **how}
    return subprocess.run([tap.tool("DWARFSEXTRACT"), *arguments], **how)


def must_fail(done, *texts):
    assert done.returncode == 1, done
    for text in texts:
        assert os.fsencode(text) in done.stderr, done.stderr


def must_work(done):
    assert done.returncode == 0 and not done.stderr, done


def shown(path):
    """A path as in messages: without control characters."""
    letters = dict(zip(range(7, 14), "abtnvfr"))
    out = b""
    for character in path.decode("utf-8", "surrogateescape"):
        plain = character.encode("utf-8", "surrogateescape")
        code = ord(character)
        if code < 32 or 127 <= code < 160 or 0xdc80 <= code < 0xdca0:
            plain = b"".join(b"\\" + (letters[byte] if byte in letters
                                      else f"{byte:03o}").encode() for byte in plain)
        out += plain
    return out


def need(program):
    if not shutil.which(program):
        raise tap.Skip(f"{program} is not installed")


def keep_all(image_tree):
    return pack(image_tree, "-l1", "--with-devices", "--with-specials", "--keep-all-times",
                "--time-resolution=ns")


def rich_tree():
    """A tree with every type of entry except sockets, and its image; made once."""
    tap.tool("MKDWARFS")
    where = place("rich")
    if not os.path.exists(where):
        tree.make(where, huge=False)
        times = os.stat(where + "/special")
        os.unlink(where + "/special/socket")
        os.utime(where + "/special", ns=(times.st_atime_ns, times.st_mtime_ns))
        keep_all(where)
    return where


def described():
    if "rich" not in described.__dict__:
        described.rich = walker.describe(rich_tree())
    return described.rich


def simple_image():
    tap.tool("MKDWARFS")
    where = place("simple")
    if not os.path.exists(where):
        write(where + "/a/one.c", b"1\n")
        write(where + "/a/two.h", b"2\n")
        write(where + "/b/deep/three.c", b"3\n")
        write(where + "/four", b"4\n" * 50000)
        pack(where)
    return where + ".dwarfs"


def fresh(name):
    path = tempfile.mkdtemp(prefix=name + "-", dir=scratch)
    return path


def unpack(command, folder, **how):
    """The tree that a program extracts. Programs of libarchive lose names in the C locale."""
    how["env"] = dict(os.environ, LC_ALL="C.UTF-8" if "bsd" in command[0] else "C")
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, **how)
    assert done.returncode == 0, (command, done.stderr[-2000:])
    return walker.describe(folder)


def copied(rows, leave=lambda path, row: False, links=True, times=1, ids=True):
    """The rows expected from a format with limitations."""
    out = {}
    for path, row in rows.items():
        if leave(path, row):
            continue
        row = dict(row)
        if row["type"] == "l":
            row["mode"] = None
            # Without an inode number, hard links to links are restored as two files.
        if row["type"] != "f" or not links:
            row["nlink"] = None
        if not ids:
            row["uid"] = row["gid"] = None
        if path == b".":
            row["mode"] = row["uid"] = row["gid"] = row["mtime"] = None
        out[path] = row
    return out


def no_utf8(path, row):
    for text in (path, row["target"] or b""):
        try:
            text.decode()
        except UnicodeDecodeError:
            return True
    return False


# -- the command line -----------------------------------------------------------------------

with suite.case("an unknown format: the known ones are listed"):
    must_fail(export("-i", simple_image(), "-f", "nonsense", "-o", place("x.tar")),
              "No such format 'nonsense'", "gnutar", "newc", "7zip", "iso9660")
    assert not os.path.exists(place("x.tar"))

with suite.case("invalid options are refused"):
    image = simple_image()
    must_fail(export("-i", image, "-f", "auto", "-o", place("a.unknown")), "a.unknown")
    must_fail(export("-i", image, "-f", "auto"), "needs the name of a file")
    must_fail(export("-i", image, "-f", "tar", "--stdout-progress"),
              "cannot use --stdout-progress with --output=-")
    must_fail(export("-i", image, "-f", "tar", "--format-filters=nonsense", "-o", place("b.tar")),
              "No such filter 'nonsense'")
    must_fail(export("-i", image, "-f", "tar", "--format-options=nonsense=1",
                     "-o", place("b.tar")), "nonsense")
    must_fail(export("-i", image, "-f", "tar", "--archive-order=size", "-o", place("b.tar")),
              "invalid order 'size'")
    assert not os.path.exists(place("b.tar"))

with suite.case("a type that the format has not is left out, if asked for"):
    types = place("types")
    os.mkdir(types)
    write(types + "/file", b"x")
    os.mkfifo(types + "/fifo")
    os.symlink("file", types + "/link")
    must_work(subprocess.run([tap.tool("MKDWARFS"), "-i", types, "-o", place("types.dwarfs"), "-l1",
                              "--with-specials", "--no-progress", "--log-level=warn"],
                             capture_output=True))
    for name, left_out in (("bin", ["fifo"]), ("pwb", ["fifo", "link"]), ("raw", ["fifo", "link"])):
        path = place("types." + name)
        options = ["-i", place("types.dwarfs"), "-f", name, "-o", path, "--set-owner=0",
                   "--set-group=0"]
        must_fail(export(*options), f"fifo: the {name} format cannot hold")
        assert not os.path.exists(path)
        must_fail(export(*options, "--continue-on-error"),
                  *(f"{entry}: the {name} format cannot hold" for entry in left_out))
        if name == "raw":
            assert read(path) == b"x"
        else:
            listed = subprocess.run(["bsdtar", "-tf", path], capture_output=True, check=True)
            assert sorted(listed.stdout.split()) == sorted(
                entry.encode() for entry in (".", "file", "link") if entry not in left_out), listed

with suite.case("everything may belong to one owner"):
    must_fail(export("-i", simple_image(), "-f", "tar", "--no-same-owner", "-o", place("o.tar")),
              "--no-same-owner")
    must_work(export("-i", simple_image(), "-f", "tar", "--set-owner=4242", "--set-group=4343",
                     "-o", place("o.tar")))
    with tarfile.open(place("o.tar")) as archive:
        assert {(member.uid, member.gid) for member in archive} == {(4242, 4343)}

with suite.case("the setuid bit of another owner is not kept"):
    owned = place("su")
    os.makedirs(owned + "/d")
    write(owned + "/f", b"x")
    os.chmod(owned + "/f", 0o6755)
    os.chmod(owned + "/d", 0o2755)
    must_work(subprocess.run([tap.tool("MKDWARFS"), "-i", owned, "-o", place("su.dwarfs"),
                              "--set-owner=1", "--set-group=2", "--no-progress", "-l1",
                              "--log-level=warn"], capture_output=True))
    for options, mode in (([], 0o6755), (["--set-owner=1", "--set-group=2"], 0o6755),
                          (["--set-owner=0"], 0o2755), (["--set-group=0"], 0o4755),
                          (["--set-owner=0", "--set-group=0"], 0o755)):
        must_work(export("-i", place("su.dwarfs"), "-f", "tar", "-o", place("su.tar"), *options))
        with tarfile.open(place("su.tar")) as archive:
            assert archive.getmember("f").mode == mode, (options, oct(mode))
            assert archive.getmember("d").mode == 0o2755, options

with suite.case("a terminal gets no archive"):
    master, slave = tap.terminal()
    done = export("-i", simple_image(), "-f", "tar", capture_output=False, stdout=slave,
                  stderr=subprocess.PIPE)
    os.close(slave)
    os.close(master)
    must_fail(done, "terminal")

with suite.case("the image itself is not overwritten"):
    image = simple_image()
    before = read(image)
    must_fail(export("-i", image, "-f", "tar", "-o", image), "is the image itself")
    must_fail(export("-i", image, "-f", "tar", "-o", place("trace.tar"), "--perfmon=block_cache",
                     f"--perfmon-trace={image}"), "is the image itself")
    assert read(image) == before

with suite.case("format and filters by name"):
    for name, magic in {"a.tar": "tar", "a.tar.gz": "gzip", "a.tgz": "gzip", "a.tar.zst": "zstd",
                        "a.tzst": "zstd", "a.tar.xz": "xz", "a.txz": "xz", "a.tbz2": "bzip2",
                        "a.tar.lz4": "lz4", "a.tar.Z": "compress", "a.tar.lz": "lzip",
                        "a.cpio": "cpio", "a.cpio.gz": "gzip", "a.zip": "zip", "a.jar": "zip",
                        "a.7z": "7zip"}.items():
        must_work(export("-i", simple_image(), "-f", "auto", "-o", place(name)))
        begin = read(place(name))[:512]
        want = MAGIC[magic]
        assert begin.startswith(want) or (magic == "tar" and begin[257:262] == want), name
        os.unlink(place(name))

with suite.case("several filters, and their options"):
    must_work(export("-i", simple_image(), "-f", "ustar", "--format-filters=gzip,b64encode",
                     "--format-options=gzip:compression-level=1,!timestamp",
                     "-o", place("f.txt")))
    assert read(place("f.txt")).startswith(b"begin-base64 "), read(place("f.txt"))[:30]
    must_work(export("-i", simple_image(), "-f", "tar",
                     "--format-filters=zstd", "--format-options=compression-level=19",
                     "-o", place("f.19")))
    must_work(export("-i", simple_image(), "-f", "tar",
                     "--format-filters=zstd", "--format-options=compression-level=1",
                     "-o", place("f.1")))
    assert read(place("f.19")) != read(place("f.1"))

# -- tar ------------------------------------------------------------------------------------

with suite.case("pax, read by Python: every attribute"):
    rows = described()
    must_work(export("-i", place("rich.dwarfs"), "-f", "pax", "-o", place("rich.tar")))
    seen = {}
    kinds = {tarfile.REGTYPE: "f", tarfile.DIRTYPE: "d", tarfile.SYMTYPE: "l",
             tarfile.CHRTYPE: "c", tarfile.BLKTYPE: "b", tarfile.FIFOTYPE: "p",
             tarfile.LNKTYPE: "f"}
    with tarfile.open(place("rich.tar"), encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            path = member.name.encode("utf-8", "surrogateescape")
            assert path not in seen, path
            want = rows[path]
            kind = "f" if member.issparse() else kinds[member.type]
            got = {"type": kind, "mode": member.mode, "uid": member.uid, "gid": member.gid}
            for column, value in got.items():
                if column != "mode" or kind != "l":
                    assert value == want[column], (path, column, value, want[column])
            stamp = member.pax_headers.get("mtime", str(int(member.mtime)))
            whole, _, part = stamp.partition(".")
            assert int(whole) * 10**9 + int(part.ljust(9, "0")) == want["mtime"], (path, stamp)
            if kind == "l":
                assert member.linkname.encode("utf-8", "surrogateescape") == want["target"]
            elif kind in "cb":
                assert (member.devmajor, member.devminor) == want["rdev"], path
            elif member.islnk():
                first = member.linkname.encode("utf-8", "surrogateescape")
                assert first in seen and rows[first]["inode"] == want["inode"], path
            elif kind == "f":
                body = archive.extractfile(member).read()
                assert hashlib.sha256(body).hexdigest() == want["sha256"], path
            if b"/" in path:
                assert os.path.dirname(path) in seen, f"{path} is before its directory"
            seen[path] = member
    assert seen.keys() == rows.keys(), seen.keys() ^ rows.keys()
    links = sum(member.islnk() for member in seen.values())
    assert links == 3, links  # of links/file twice, of links/no bytes once
    assert os.path.getsize(place("rich.tar")) < 24 << 20, "holes were written"

with suite.case("pax: a file with holes and a long name that is not UTF-8 keeps it"):
    folder, name = place("long").encode(), b"\xff" + b"a" * 99
    os.makedirs(folder)
    with open(folder + b"/" + name, "wb") as out:
        out.write(b"x" * 4096)
        out.seek(1 << 20)
        out.write(b"y" * 4096)
    pack(folder.decode())
    must_work(export("-i", place("long.dwarfs"), "-f", "pax", "-o", place("long.tar")))
    with tarfile.open(place("long.tar"), encoding="utf-8", errors="surrogateescape") as archive:
        member = archive.getmembers()[-1]
        assert member.name.encode("utf-8", "surrogateescape") == name, member.name
        assert archive.extractfile(member).read() == read(folder + b"/" + name)
    os.truncate(folder + b"/" + name, 1 << 43)
    pack(folder.decode())
    done = export("-i", place("long.dwarfs"), "-f", "pax", "-o", place("huge.tar"))
    assert done.returncode == 1 and b"cannot hold huge holes" in done.stderr, done.stderr

with suite.case("pax, unpacked by bsdtar: the same tree, holes too"):
    need("bsdtar")
    need_root()
    # It cannot create names that are not UTF-8.
    must_work(export("-i", place("rich.dwarfs"), "-f", "pax", "-o", place("utf8.tar"), *[
        f"--pattern={name}" for name in sorted(os.listdir(rich_tree())) if name != "names"],
        "--pattern=names/n*"))
    got = unpack(["bsdtar", "-xpf", place("utf8.tar")], fresh("bsdtar"))
    expected = copied(described(), leave=lambda path, row: path.startswith(b"names/") and
                      not path.startswith(b"names/n"))
    del expected[b"."]
    del got[b"."]
    walker.must_agree(expected, got)
    for path, row in expected.items():
        if path.startswith(b"holes/"):
            assert row["extents"] == got[path]["extents"], path
    # Access times are not compared: reading the original changed them.

with suite.case("pax, unpacked by GNU tar: the same tree"):
    need_root()
    got = unpack(["tar", "--delay-directory-restore", "--numeric-owner", "-xpf",
                  place("rich.tar")], fresh("gnu"))
    walker.must_agree(copied(described()), got)

with suite.case("in the order of the tree any tar restores directories"):
    need_root()
    must_work(export("-i", place("rich.dwarfs"), "-f", "tar", "--archive-order=tree",
                     "-o", place("ordered.tar")))
    got = unpack(["tar", "--numeric-owner", "-xpf", place("ordered.tar")], fresh("ordered"))
    walker.must_agree(copied(described()), got)
    with tarfile.open(place("ordered.tar"), encoding="utf-8",
                      errors="surrogateescape") as archive:
        names = [os.fsencode(name) for name in archive.getnames()]
    inside = [number for number, name in enumerate(names) if name.startswith(b"thousand/")]
    assert len(inside) == 1000
    assert inside == list(range(inside[0], inside[0] + 1000)), "a directory is torn apart"

with suite.case("gnutar, unpacked by GNU tar: the same but for parts of seconds"):
    need_root()
    must_work(export("-i", place("rich.dwarfs"), "-f", "gnutar", "-o", place("gnu.tar")))
    got = unpack(["tar", "--delay-directory-restore", "--numeric-owner", "-xpf",
                  place("gnu.tar")], fresh("gnutar"))
    walker.must_agree(copied(described()), got, resolution_ns=10**9)
    os.unlink(place("gnu.tar"))

with suite.case("ustar: entries that it cannot hold are named, the others are stored"):
    need_root()
    done = export("-i", place("rich.dwarfs"), "-f", "ustar", "-o", place("u.tar"),
                  "--continue-on-error")
    must_fail(done, "Numeric user ID too large", "links/longest", "errors")
    named = {line.split(b": ")[1] for line in done.stderr.splitlines()[:-1]}
    with tarfile.open(place("u.tar"), encoding="utf-8", errors="surrogateescape") as archive:
        there = {name.encode("utf-8", "surrogateescape") for name in archive.getnames()}
    lost = described().keys() - there
    big = {path for path, row in described().items() if max(row["uid"], row["gid"]) > 0o7777777}
    assert big <= lost
    for path in lost:
        assert shown(path) in named, path
    assert len(lost) == int(done.stderr.split(b"finished with ")[1].split()[0]), len(lost)

# -- cpio -----------------------------------------------------------------------------------

with suite.case("newc, unpacked by GNU cpio and by bsdcpio: hard links with one copy"):
    need_root()
    must_work(export("-i", place("rich.dwarfs"), "-f", "newc", "-o", place("rich.newc")))
    for program in "cpio", "bsdcpio":
        need(program)
        with open(place("rich.newc"), "rb") as source:
            got = unpack([program, "-idm", "--quiet"], fresh(program), stdin=source)
        expected = copied(described(), leave=lambda path, row: path == b".")
        del got[b"."]
        for row in expected.values():
            if row["type"] == "d":
                row["mtime"] = None  # GNU cpio sets it before it creates the contents
            if row["type"] == "l":
                row["mtime"] = None
        walker.must_agree(expected, got, resolution_ns=10**9)

with suite.case("odc: each name of a file has its contents, and they become hard links again"):
    need("cpio")
    need_root()
    where = place("small ids")
    if not os.path.exists(where):
        write(where + "/one", b"contents\n" * 1000)
        os.link(where + "/one", where + "/two")
        os.mkfifo(where + "/fifo")
        os.symlink("one", where + "/link")
    must_work(export("-i", keep_all(where), "-f", "cpio", "-o", place("small.cpio")))
    with open(place("small.cpio"), "rb") as source:
        got = unpack(["cpio", "-idm", "--quiet"], fresh("odc"), stdin=source)
    expected = copied(walker.describe(where))
    expected[b"link"]["mtime"] = None  # is not set by cpio
    walker.must_agree(expected, got, resolution_ns=10**9)
    done = export("-i", place("rich.dwarfs"), "-f", "cpio", "-o", place("rich.cpio"))
    must_fail(done, "extraction aborted", "the number of its owner or group")
    assert not os.path.exists(place("rich.cpio"))

def with_devices(name, devices):
    """An image with a character device for each pair of numbers."""
    where = place(name)
    if not os.path.exists(where + ".dwarfs"):
        os.mkdir(where)
        for major, minor in devices:
            os.mknod(f"{where}/{major}_{minor}", stat.S_IFCHR | 0o600, os.makedev(major, minor))
        keep_all(where)
    return where + ".dwarfs"


with suite.case("devices whose numbers a cpio cannot hold are named"):
    need_root()
    devices = [(8, 1), (255, 255), (256, 1), (1023, 255), (1024, 0), (15, 256), (4095, 1048575)]
    image = with_devices("devices", devices)
    for name, most in ("cpio", 1023), ("bin", 255), ("pwb", 255):
        done = export("-i", image, "-f", name, "-o", place("devices.cpio"), "--continue-on-error")
        left = [f"{a}_{b}" for a, b in devices if a > most or b > 255]
        must_fail(done, "the numbers of this device", f"finished with {len(left)} errors")
        for path in left:
            assert f"{path}: ".encode() in done.stderr, (name, path)
    must_work(export("-i", image, "-f", "newc", "-o", place("devices.cpio")))

with suite.case("a name that ends a cpio is refused there"):
    folder = place("trailer")
    os.makedirs(folder + "/a")
    for name in "TRAILER!!!", "a/TRAILER!!!", "z":
        write(f"{folder}/{name}", b"1")
    image = pack(folder)
    for name in "cpio", "newc", "bin", "pwb":
        done = export("-i", image, "-f", name, "-o", place("trailer.cpio"), "--continue-on-error")
        must_fail(done, f"TRAILER!!!: the {name} format cannot hold a file of this name",
                  "finished with 1 error")
    must_work(export("-i", image, "-f", "ustar", "-o", place("trailer.tar")))

with suite.case("names and targets of spaces only are refused for a xar"):
    absent.need_format("xar")
    folder = place("spaces")
    os.makedirs(folder + "/a/ ")
    for name in " ", "a/  ", "a/ b", "a/c ", "a/ /d":
        write(f"{folder}/{name}" if name != " " else f"{folder}/   ", b"1")
    os.symlink("  ", folder + "/link")
    os.symlink("/ /x ", folder + "/good")
    image = pack(folder)
    must_fail(export("-i", image, "-f", "xar", "-o", place("spaces.xar")), "of spaces only")
    done = export("-i", image, "-f", "xar", "-o", place("spaces.xar"), "--continue-on-error")
    must_fail(done, "the xar format cannot hold a name of spaces only",
              "link: the xar format cannot hold a target of spaces only")
    must_work(export("-i", image, "-f", "newc", "-o", place("spaces.cpio")))
    image = place("spaces.xar.dwarfs")
    must_work(subprocess.run([tap.tool("MKDWARFS"), "-i", place("spaces.xar"), "-o", image,
                              "--log-level=warn", "--no-progress"], capture_output=True))
    done = subprocess.run([tap.tool("DWARFSCK"), "-l", image], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["a", "a/ b", "a/c ", "good"], done

with suite.case("devices in a xar have their numbers when it is read again"):
    need_root()
    absent.need_format("xar")
    image = with_devices("devices", devices)
    must_work(export("-i", image, "-f", "xar", "-o", place("devices.xar")))
    keep_all(place("devices.xar"))
    for other in "devices.xar", "devices.xar.dwarfs":
        done = subprocess.run([tap.tool("DWARFSCK"), "--diff", "--diff-ignore=mtime,mode", image,
                               place(other)], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stdout, (other, done)

# -- other formats --------------------------------------------------------------------------

with suite.case("zip, read by Python and unzip: contents, modes, links"):
    done = export("-i", place("rich.dwarfs"), "-f", "auto", "-o", place("rich.zip"),
                  "--skip-devices", "--skip-specials", "--continue-on-error")
    left = [path for path, row in described().items() if no_utf8(path, row)]
    must_fail(done, "cannot hold a name that is not UTF-8", f"{len(left)} errors")
    rows = copied(described(), leave=lambda path, row: no_utf8(path, row) or row["type"] in "pcb")
    del rows[b"."]
    with zipfile.ZipFile(place("rich.zip")) as archive:
        seen = set()
        for member in archive.infolist():
            path = os.fsencode(member.filename.rstrip("/").encode())
            want = rows[path]
            mode = member.external_attr >> 16
            assert walker.TYPES[stat.S_IFMT(mode)] == want["type"], path
            if want["type"] != "l":
                assert stat.S_IMODE(mode) == want["mode"], path
            body = archive.read(member)
            if want["type"] == "f":
                assert hashlib.sha256(body).hexdigest() == want["sha256"], path
            elif want["type"] == "l":
                assert body == want["target"], path
            seen.add(path)
    assert seen == rows.keys(), seen ^ rows.keys()
    if shutil.which("unzip"):
        subprocess.run(["unzip", "-tqq", place("rich.zip")], check=True, capture_output=True)
    os.unlink(place("rich.zip"))

def held(name, path, row):
    """Whether a format can hold an entry with these names, numbers and depth."""
    text = path + (row["target"] or b"")
    if no_utf8(path, row):
        return False
    if name == "xar":
        return min(text) >= 32 and 127 not in text and max(row["uid"], row["gid"]) < 1 << 31
    if name == "iso9660":
        # libarchive fails where it has to move directories or to shorten the target of a link.
        link = os.path.basename(path) + b"/" + row["target"] if row["target"] else b""
        return path.count(b"/") + (row["type"] == "d") <= 7 and len(link) + link.count(b"/") <= 100
    return True


for name, options, resolution, lost in (
        ("7zip", (), 100, {"links": False, "ids": False}),
        ("iso9660", ("--format-options=!joliet",), 10**9, {}),
        ("xar", (), 10**9, {})):
    with suite.case(f"{name}, unpacked by bsdtar: entries that it cannot hold are named"):
        need("bsdtar")
        need_root()
        absent.need_format(name)
        done = export("-i", place("rich.dwarfs"), "-f", name, "-o", place("rich." + name),
                      "--skip-devices", "--continue-on-error", *options)
        got = unpack(["bsdtar", "-xpf", place("rich." + name)], fresh(name))
        everything = {path: row for path, row in described().items()
                      if path != b"." and row["type"] not in "cb"}
        left = [path for path, row in everything.items() if not held(name, path, row)]
        must_fail(done, "UTF-8", f"finished with {len(left)} errors")
        for path in left:
            assert shown(path) in done.stderr, path
        expected = copied(everything, leave=lambda path, row: path in left, **lost)
        for path in [path for path in got if path not in expected]:
            assert got.pop(path)["type"] == "d", path  # bsdtar creates missing parents
        for path, row in expected.items():
            if name == "xar":
                row["mode"] = row["mode"] and row["mode"] & 0o777
                row["mtime"] = None if row["type"] == "d" else row["mtime"]
        walker.must_agree(expected, got, resolution_ns=resolution, links=name != "7zip")
        os.unlink(place("rich." + name))

with suite.case("iso9660: paths that are too long for Joliet are named, and nothing else"):
    where = place("long paths")
    long_part, cut = "d" * 60, "\u00e9" * 62 + "\U0001f409" * 4  # of which Joliet has 64 units
    fits = [f"{'/'.join([long_part] * 3)}/{'f' * 56}", f"{cut}/{'b' * 54}/{'c' * 55}", "short"]
    breaks = [f"{'/'.join([long_part] * 3)}/{'g' * 57}", f"{cut}/{'b' * 54}/{'c' * 56}"]
    for name in fits + breaks:
        write(f"{where}/{name}", name.encode())
    image = pack(where)
    done = export("-i", image, "-f", "iso9660", "-o", place("long.iso"), "--continue-on-error")
    must_fail(done, *breaks, "its path takes 241 bytes, of which Joliet holds 240",
              "finished with 2 errors")
    if shutil.which("bsdtar"):
        got = subprocess.run(["bsdtar", "-tf", place("long.iso")], capture_output=True, check=True,
                             env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout.decode().splitlines()
        assert set(fits) <= set(got) and not set(breaks) & set(got), got
    for options in "!joliet", "iso9660:!joliet":
        must_work(export("-i", image, "-f", "iso9660", "-o", place("long.iso"),
                         "--format-options=" + options))
    must_fail(export("-i", image, "-f", "iso9660", "-o", place("long.iso"),
                     "--format-options=joliet=long"), "Joliet holds 240", "extraction aborted")

with suite.case("iso9660: a file that is too large, with its size"):
    where = place("too large")
    write(where + "/small", b"small")
    with open(where + "/large", "wb") as out:
        out.truncate((1 << 32) + 5)
    image = pack(where)
    done = export("-i", image, "-f", "iso9660", "-o", place("large.iso"))
    must_fail(done, "large: a file of 4294967301 bytes: the iso9660 format cannot hold more than "
              "4294967295, but with the option iso-level=3", "extraction aborted")
    done = export("-i", image, "-f", "iso9660", "-o", place("large.iso"), "--continue-on-error")
    must_fail(done, "large: a file of 4294967301 bytes", "finished with 1 error")
    assert os.path.getsize(place("large.iso")) < 1 << 20

with suite.case("with an invalid attribute name GNU tar still restores the others"):
    tree_path = place("odd attributes")
    write(tree_path + "/one", b"1")
    write(tree_path + "/two", b"2")
    try:
        os.setxattr(tree_path + "/one", "user.plain", b"a value")
        os.setxattr(tree_path + "/two", "user.na\u00efve", b"another")
    except OSError as error:
        raise tap.Skip(f"no attributes here: {error.strerror}") from error
    must_work(export("-i", pack(tree_path), "-f", "pax", "-o", place("odd.tar")))
    os.mkdir(place("odd out"))
    done = subprocess.run(["tar", "--xattrs", "--xattrs-include=user.*", "-xf", place("odd.tar"),
                           "-C", place("odd out")], capture_output=True, check=False)
    assert done.returncode == 0, done
    assert os.getxattr(place("odd out/one"), "user.plain") == b"a value"

with suite.case("shar, unpacked by sh"):
    # The writer of libarchive leaks two names.
    leaky = {**os.environ,
             "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    must_work(export("-i", simple_image(), "-f", "shar", "-o", place("s.shar"), env=leaky))
    got = unpack(["sh", place("s.shar")], fresh("shar"))
    expected = walker.describe(place("simple"))
    walker.must_agree(expected, got, columns=("type", "size", "sha256"))

with suite.case("mtree, checked by bsdtar: a list"):
    need("bsdtar")
    must_work(export("-i", simple_image(), "-f", "mtree", "--format-options=sha256",
                     "-o", place("s.mtree")))
    text = read(place("s.mtree")).decode()
    assert text.startswith("#mtree"), text[:50]
    assert hashlib.sha256(b"4\n" * 50000).hexdigest() in text

with suite.case("ar and raw hold files only"):
    must_fail(export("-i", simple_image(), "-f", "ar", "-o", place("x.a")),
              "Regular file required", "extraction aborted")
    must_fail(export("-i", simple_image(), "-f", "raw", "-o", place("x.raw")),
              "the raw format cannot hold anything but a file")
    assert not os.path.exists(place("x.a")) and not os.path.exists(place("x.raw"))
    write(place("one file/it"), b"just this\n" * 3)
    must_work(export("-i", pack(place("one file")), "-f", "raw", "-o", place("x.raw"),
                     "--format-filters=none"))
    assert read(place("x.raw")) == b"just this\n" * 3

# -- sockets, patterns ----------------------------------------------------------------------

with suite.case("a socket ends the run, or is named and counted, or left out"):
    where = place("with socket")
    tree_maker = tree.Tree(where, True, False)
    os.makedirs(where)
    tree_maker.specials()
    write(where + "/zzz", b"behind\n")
    image = keep_all(where)
    done = export("-i", image, "-f", "tar", "-o", place("s.tar"))
    must_fail(done, "special/socket", "cannot archive socket", "extraction aborted")
    assert not os.path.exists(place("s.tar"))
    done = export("-i", image, "-f", "tar", "-o", place("s.tar"), "--continue-on-error")
    must_fail(done, "special/socket", "finished with 1 error")
    names = tarfile.open(place("s.tar")).getnames()
    assert "zzz" in names and "special/fifo" in names and "special/socket" not in names
    must_work(export("-i", image, "-f", "tar", "-o", place("s.tar"), "--skip-specials"))
    names = tarfile.open(place("s.tar")).getnames()
    assert "zzz" in names and "special/fifo" not in names

with suite.case("patterns, with the directories above"):
    def names(*patterns):
        arguments = [f"--pattern={pattern}" for pattern in patterns]
        done = export("-i", simple_image(), "-f", "tar", "-o", place("p.tar"), *arguments)
        assert done.returncode == 0, done
        assert (b"matches nothing" in done.stderr) == (patterns == ("none*",)), done
        return sorted(tarfile.open(place("p.tar")).getnames())
    assert names("**/*.c") == [".", "a", "a/one.c", "b", "b/deep", "b/deep/three.c"]
    assert names("b") == [".", "b", "b/deep", "b/deep/three.c"]
    assert names("i:A/TWO.*", "four") == [".", "a", "a/two.h", "four"]
    assert names("none*") == []

# -- the output --------------------------------------------------------------------------

with suite.case("standard output, a pipe and a file get the same bytes"):
    image = place("rich.dwarfs")
    rich_tree()
    must_work(export("-i", image, "-f", "pax", "-o", place("same.tar")))
    want = hashlib.sha256(read(place("same.tar"))).hexdigest()
    done = export("-i", image, "-f", "pax")
    assert done.returncode == 0 and hashlib.sha256(done.stdout).hexdigest() == want
    done = export("-i", image, "-f", "pax", "-o", "-", "-n", "0", "-s", "1m")
    assert done.returncode == 0 and hashlib.sha256(done.stdout).hexdigest() == want
    os.mkfifo(place("pipe"))
    with subprocess.Popen(["sha256sum", place("pipe")], stdout=subprocess.PIPE) as reader:
        must_work(export("-i", image, "-f", "pax", "-o", place("pipe")))
        assert reader.stdout.read().split()[0].decode() == want
    assert stat.S_ISFIFO(os.stat(place("pipe")).st_mode)

with suite.case("an existing file is replaced at the end, and keeps its mode"):
    write(place("there.tar"), b"before", 0o640)
    must_work(export("-i", simple_image(), "-f", "tar", "-o", place("there.tar")))
    assert tarfile.is_tarfile(place("there.tar"))
    assert stat.S_IMODE(os.stat(place("there.tar")).st_mode) == 0o640

with suite.case("an archive is synced to disk before it is renamed, unless --no-sync"):
    for form in "pax", "zip":
        output, log = place("synchronized." + form), place("calls")
        for words, old in ([], False), ([], True), (["--no-sync"], False), (["--no-sync"], True):
            for path in output, log:
                if os.path.exists(path):
                    os.remove(path)
            if old:
                write(output, b"old")
            must_work(export("-i", simple_image(), "-f", form, "-o", output, *words,
                             env=faults.environment("O_TMPFILE", log)))
            with open(log, encoding="ascii") as lines:
                calls = lines.read().split("\n")
            assert os.path.getsize(output) > 3
            if words:
                assert not [call for call in calls if call.startswith("fsync")], calls
                continue
            named = max(n for n, call in enumerate(calls) if call in ("link", "rename"))
            assert calls.index("fsync file") < named < calls.index("fsync directory"), calls
            assert calls.count("fsync file") == 1, calls

with suite.case("a full device is an error"):
    for name in "tar", "zip", "7zip", "newc":
        done = export("-i", simple_image(), "-f", name, "-o", "/dev/full")
        must_fail(done, "No space left on device", "extraction aborted")
        with open("/dev/full", "wb") as full:
            done = export("-i", simple_image(), "-f", name, capture_output=False, stdout=full,
                          stderr=subprocess.PIPE)
        must_fail(done, "No space left on device")


with suite.case("a full disk: an error, no file, and an existing file is kept"):
    rich_tree()
    with file_system("size=2m") as disk:
        must_fail(export("-i", place("rich.dwarfs"), "-f", "tar", "-o", disk + "/x.tar",
                         "--continue-on-error"), "No space left on device")
        assert os.listdir(disk) == [], os.listdir(disk)
        write(disk + "/x.tar", b"before")
        must_fail(export("-i", place("rich.dwarfs"), "-f", "tar", "-o", disk + "/x.tar"),
                  "No space left on device")
        assert os.listdir(disk) == ["x.tar"] and read(disk + "/x.tar") == b"before"

with suite.case("a closed pipe ends it"):
    with subprocess.Popen([tap.tool("DWARFSEXTRACT"), "-i", place("rich.dwarfs"), "-f", "tar"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
        writer.stdout.read(1000)
        writer.stdout.close()
        assert writer.wait(timeout=60) != 0

# -- damage ---------------------------------------------------------------------------------

with suite.case("a damaged block: its files are named, the others are stored"):
    where = place("damaged")
    rng = tree.random.Random(7)
    for number in range(40):
        write(f"{where}/file{number:02}", rng.randbytes(30000))
    write(where + "/large", rng.randbytes(3 << 20))
    image = pack(where, "-l1", "-S", "16", "--order=path", "--no-progress")
    whole = bytearray(read(image))
    for at in range(400000, 400100):
        whole[at] ^= 0x55
    write(place("damaged too.dwarfs"), whole)
    done = export("-i", place("damaged too.dwarfs"), "-f", "tar", "-o", place("d.tar"))
    must_fail(done, "extraction aborted")
    assert not os.path.exists(place("d.tar"))
    done = export("-i", place("damaged too.dwarfs"), "-f", "tar", "-o", place("d.tar"),
                  "--continue-on-error")
    must_fail(done, "finished with")
    named = {os.fsdecode(line.split(b": ")[1]) for line in done.stderr.splitlines()[:-1]}
    with tarfile.open(place("d.tar")) as archive:
        there = set(archive.getnames()) - {"."}
        for name in there:
            assert archive.extractfile(name).read() == read(f"{where}/{name}"), name
    assert there | named == set(os.listdir(where)) and not there & named
    assert 1 <= len(named) <= 5, named

with suite.case("names that would lead outside of a target directory are refused"):
    where = place("evil")
    for name in ("Q1", "W2/inner", "good", "dir/good"):
        write(f"{where}/{name}", name.encode())
    image = with_names(pack(where, "-l1", "--pack-metadata=none"), {b"Q1": b"..", b"W2": b".."})
    done = export("-i", image, "-f", "tar", "-o", place("evil.tar"))
    must_fail(done, "cannot be a name", "extraction aborted")
    assert not os.path.exists(place("evil.tar"))
    for words in ([], ["--archive-order=tree"], ["-n0"], ["--pattern=**"]):
        done = export("-i", image, "-f", "tar", "-o", place("evil.tar"), "--continue-on-error",
                      *words)
        must_fail(done, "?: metadata: the name of entry", "cannot be a name",
                  "finished with 2 errors")
        with tarfile.open(place("evil.tar")) as archive:
            assert sorted(archive.getnames()) == [".", "dir", "dir/good", "good"]
            for name in "good", "dir/good":
                assert archive.extractfile(name).read() == name.encode()

with suite.case("an invalid name in a subdirectory: the directory is named"):
    where = place("evil below")
    for name in ("some/where/Q1", "some/where/z", "some/zz"):
        write(f"{where}/{name}", name.encode())
    image = with_names(pack(where, "-l1", "--pack-metadata=none"), {b"Q1": b"./"})
    done = export("-i", image, "-f", "zip", "-o", place("evil.zip"), "--continue-on-error")
    must_fail(done, "some/where/?: metadata", "finished with 1 error")
    with zipfile.ZipFile(place("evil.zip")) as archive:
        assert archive.read("some/where/z") == b"some/where/z"
        assert sorted(archive.namelist()) == ["some/", "some/where/", "some/where/z", "some/zz"]

with suite.case("a directory with a damaged group: it is stored, with its entries"):
    image = tap.data("badfs", "crafted", "meta-inode-group-index-out-of-range.dwarfs")
    for words, want in ((["--pattern=foo/bar"], {"foo/bar"}),
                        (["--pattern=**"], {"foo/bar", "foo/1/fmt.sh", "empty"})):
        done = export("-i", image, "-f", "tar", "-o", place("group.tar"), "--continue-on-error",
                      "--skip-devices", *words)
        must_fail(done, "foo: the image has no valid value for: group", "finished with 1 error")
        with tarfile.open(place("group.tar")) as archive:
            names = set(archive.getnames())
        assert want <= names and "foo" in names, names
        assert "empty" in want or names == {".", "foo", "foo/bar"}, names

with suite.case("files whose chunks are damaged are named, in any order"):
    image = tap.data("badfs", "crafted", "meta-chunk-block-out-of-range.dwarfs")
    for words in ([], ["--archive-order=tree"]):
        done = export("-i", image, "-f", "tar", "-o", place("chunk.tar"), "--continue-on-error",
                      "--skip-devices", *words)
        must_fail(done, "foo/1/2/3/4/5/6/7/8/9/b: metadata: a chunk", "finished with 1 error")
        with tarfile.open(place("chunk.tar")) as archive:
            names = set(archive.getnames())
        assert "perl-exec.sh" in names and "foo/1/2/3/4/5/6/7/8/9/b" not in names, names

shutil.rmtree(scratch, ignore_errors=True)
suite.finish()
