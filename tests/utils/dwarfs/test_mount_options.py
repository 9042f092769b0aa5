#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfs: the effect of every option, and requests that the kernel need not send."""
import contextlib
import ctypes
import errno
import functools
import json
import mmap
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import absent
import mount
import tap
from scratch import pack, place, read, scratch, write

suite = tap.Suite()
try:
    DRIVER = mount.available()
    tap.tool("MKDWARFS")
except tap.Skip as why:
    tap.skip_all(str(why))
ROOT = os.geteuid() == 0


def run(*arguments, program=DRIVER, **how):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60, **how)


def until(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def need_root():
    if not ROOT:
        raise tap.Skip("needs root")


def raises(number, function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        assert error.errno == number, (function, arguments, error)
        return
    raise AssertionError(f"{function}{arguments} works")


def mount_options(path):
    """The options of a mount as the kernel has them."""
    with open("/proc/self/mounts") as mounts:
        return [line.split()[3].split(",") for line in mounts if line.split()[1] == path][-1]


def statistics(path):
    return json.loads(os.getxattr(path, "user.dwarfs.driver.perfmon"))


def settled(path):
    """The statistics, once no request is being answered: each is counted after its answer."""
    before, after = None, statistics(path)
    while before != after:
        time.sleep(0.02)
        before, after = after, statistics(path)
        for known in (before, after):
            known.get("fuse", {}).pop("getxattr", None)
            known["requests"].pop("getxattr", None)
            known["io_uring"].pop("requests", None)
    return after


def count(path, part, name):
    return statistics(path).get(part, {}).get(name, {}).get("count", 0)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def command_of(pid):
    try:
        return os.fsdecode(read(f"/proc/{pid}/cmdline"))
    except OSError:
        return ""


@contextlib.contextmanager
def unmounted_after(path):
    try:
        yield
    finally:
        if os.path.ismount(path):
            subprocess.run(["fusermount3", "-u", "-z", path], check=False)


def drop_caches():
    need_root()
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w") as control:
            control.write("2\n")  # inodes; contents stay
    except OSError as error:
        raise tap.Skip(f"cannot drop caches: {error}")


def the_tree():
    """A tree of text, with a link and a large file without holes; and its image."""
    tree = place("tree")
    if not os.path.exists(tree):
        rng = random.Random(3)
        words = [rng.randbytes(7).hex().encode() for _ in range(3000)]
        for folder in range(8):
            for number in range(60):
                write(f"{tree}/dir{folder}/file{number:03}",
                      b" ".join(rng.choices(words, k=rng.randrange(1, 2000))))
        write(tree + "/large", b"\n".join(rng.choices(words, k=500000)))
        os.symlink("dir0/file000", tree + "/link")
        pack(tree, "-l4", "-S16")
    return tree


TREE = the_tree()
IMAGE = TREE + ".dwarfs"


@functools.cache
def contents_of_tree():
    """By path."""
    return {os.path.relpath(os.path.join(folder, name), TREE): read(os.path.join(folder, name))
            for folder, _, files in os.walk(TREE) for name in files}


def check_all(path, wanted=None):
    """Compare all files with those of the tree, or only some."""
    for where, contents in (wanted or contents_of_tree()).items():
        assert read(os.path.join(path, where)) == contents, where


def part_of_tree():
    """The large file, the link, and every third file of each directory."""
    return {where: contents for where, contents in contents_of_tree().items()
            if not where.startswith("dir") or int(where[-3:]) % 3 == 0}


# -- all of them ----------------------------------------------------------------------------

with suite.case("contents are right with each option"):
    for option in ("cachesize=1m", "cachesize=0", "workers=0", "workers=5", "readahead=300k",
                   "mlock=none", "mlock=try", "decratio=0", "decratio=0.5", "decratio=1",
                   "preload_all", "preload_all,workers=0", "case_insensitive",
                   "tidy_strategy=time,tidy_interval=1ms,tidy_max_age=0",
                   "tidy_strategy=swap,tidy_interval=1ms", "block_allocator=malloc",
                   "block_allocator=mmap", "seq_detector=0", "seq_detector=1",
                   "seq_detector=1,cachesize=1m,no_cache_files",
                   "perfmon=fuse+filesystem_v2+inode_reader_v2+block_cache", "verify=lazy",
                   "verify=eager", "no_cache_files", "cache_sparse", "offset=auto",
                   "affinity=caller", "affinity=none", "affinity=none,busy_poll=off",
                   "busy_poll=auto", "busy_poll=off", "busy_poll=on", "affinity=caller,busy_poll=on", "clone_fd", "io_uring=try", "io_uring=off", "image_offset=auto", "max_threads=1",
                   "max_idle_threads=0"):
        with mount.mounted(IMAGE, "-o", option) as path:
            check_all(path, part_of_tree())

with suite.case("words of fstab for mount(8) are accepted, unknown ones are not"):
    words = ("rw,defaults,noauto,nofail,_netdev,user,x-systemd.automount,relatime,comment=x,"
             "nodiratime,diratime,iversion,noiversion,mand,nomand")
    with mount.mounted(IMAGE, "-o", words) as path:
        raises(errno.EROFS, os.mkdir, path + "/new")
    done = run(IMAGE, tempfile.mkdtemp(dir=scratch), "-o", "no_such_option")
    assert done.returncode == 3 and "no_such_option" in done.stderr, done
    path = tempfile.mkdtemp(dir=scratch)
    with unmounted_after(path):  # as far as libfuse has it, it must not be ignored
        done = run(IMAGE, path, "-o", "nosymfollow")
        if done.returncode == 0:
            assert "nosymfollow" in mount_options(path)
        else:
            assert done.returncode == 3 and "nosymfollow" in done.stderr, done
    done = run(IMAGE, path, "-o", "remount,nosuid")
    assert done.returncode == 3 and "mount -i -o remount" in done.stderr, done

with suite.case("options without effect are reported"):
    path = tempfile.mkdtemp(dir=scratch)
    for option, warns in (("block_allocator=malloc", True), ("block_allocator=mmap", False),
                          ("cache_image", True)):
        with unmounted_after(path):
            done = run(IMAGE, path, "-o", option)
            assert done.returncode == 0 and ("has no effect" in done.stderr) == warns, done
            subprocess.run(["fusermount3", "-u", path], check=True)

with suite.case("options that exclude or need each other, or exceed limits"):
    for options, words in (("preload_all,preload_category=x", ("preload_category", "exclude")),
                           ("perfmon_trace=/dev/null", ("-o perfmon_trace needs -o perfmon",)),
                           ("busy_poll=on,clone_fd", ("busy_poll=on", "clone_fd", "exclude")),
                           ("busy_poll=on,io_uring=try", ("busy_poll=on", "io_uring", "exclude")),
                           ("tidy_strategy=time,tidy_interval=0", ("tidy_interval",)),
                           ("tidy_strategy=time,tidy_interval=0ms", ("'0ms'", "tidy_interval")),
                           ("blocksize=4g", ("'4g'", "blocksize", "to 4g - 1"))):
        done = run(IMAGE, tempfile.mkdtemp(dir=scratch), "-o", options)
        assert done.returncode == 3, done
        assert all(word in done.stderr for word in words), done

with suite.case("mappings of files that the kernel does not cache"):
    want = read(TREE + "/large")
    with mount.mounted(IMAGE, "-o", "no_cache_files") as path, open(path + "/large", "rb") as file:
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as mapped:
            assert mapped[:] == want
        try:
            with mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
                assert mapped[:] == want
        except OSError as error:  # libfuse or the kernel does not support it
            assert error.errno == errno.ENODEV, error

# -- requests that are not made -------------------------------------------------------------

with suite.case("listing a tree with attributes needs no look-ups"):
    with mount.mounted(IMAGE, "-o", "perfmon=fuse") as path:
        found = sum(1 for _, folders, files in os.walk(path) for _ in folders + files)
        assert found == 8 * 60 + 8 + 2
        for folder, _, files in os.walk(path):
            for name in files:
                os.lstat(os.path.join(folder, name))
        made = {name: timer["count"] for name, timer in settled(path)["fuse"].items()}
        assert made["readdirplus"] > 0 and "readdir" not in made, made
        assert made.get("lookup", 0) <= 1, made  # of the target of the link
        assert made.get("getattr", 0) <= 1, made

with suite.case("listings, links, attributes, contents and missing names are requested once"):
    with mount.mounted(IMAGE, "-o", "perfmon=fuse,seq_detector=0") as path:
        def visit():
            os.listdir(path + "/dir1")
            os.readlink(path + "/link")
            os.stat(path + "/dir2/file003")
            read(path + "/dir2/file003")
            raises(errno.ENOENT, os.stat, path + "/missing")
            raises(errno.ENOENT, os.stat, path + "/dir2/missing")
        visit()
        before = settled(path)["fuse"]
        visit()
        after = settled(path)["fuse"]
        # open() asks each time whether a file is a terminal.
        for name in after.keys() - {"ioctl"}:
            assert after[name]["count"] == before[name]["count"], (name, before, after)

with suite.case("files are opened without a request, unless it has an effect"):
    tree = place("with-hole")
    os.makedirs(tree)
    with open(tree + "/file", "wb") as out:
        out.truncate(1 << 20)
    write(tree + "/other", b"other")
    pack(tree)
    # Holes of 80 MiB, which are more than the data, and less.
    large, balanced = place("with-large-hole"), place("with-balanced-hole")
    for folder, data in ((large, 1 << 20), (balanced, 81 << 20)):
        write(folder + "/data", bytes(range(256)) * (data >> 8))
        with open(folder + "/file", "wb") as out:
            out.truncate(80 << 20)
        pack(folder)
    unknown = place("without-size-of-holes.dwarfs")
    subprocess.run([tap.tool("CRAFT_TREE"), unknown], input="0 f file h4096,d10\n0 f more d20\n",
                   text=True, check=True)
    for image, options, asks in ((IMAGE, "cache_files", False), (IMAGE, "cache_sparse", False),
                                 (IMAGE, "no_cache_files", True),
                                 (IMAGE, "analysis_file=" + place("list"), True),
                                 (tree + ".dwarfs", "no_cache_sparse", True),
                                 (tree + ".dwarfs", "cache_sparse", False),
                                 (tree + ".dwarfs", "cache_files", False),
                                 (large + ".dwarfs", "cache_files", True),
                                 (large + ".dwarfs", "cache_sparse", False),
                                 (balanced + ".dwarfs", "cache_files", False),
                                 (unknown, "cache_files", True),
                                 (unknown, "cache_sparse", False),
                                 (balanced + ".dwarfs", "no_cache_sparse", True)):
        with mount.mounted(image, "-o", "perfmon=fuse," + options) as path:
            names = [entry.path for folder, _, files in os.walk(path)
                     for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
            for name in names:
                os.close(os.open(name, os.O_RDONLY))
            opens = settled(path)["fuse"].get("open", {"count": 0})["count"]
            assert opens == len(names) if asks else opens <= 1, (options, opens, len(names))
            raises(errno.EROFS, os.open, names[0], os.O_RDWR)
            raises(errno.EROFS, os.open, names[0], os.O_WRONLY)

with suite.case("the kernel reads no more at a time than permitted, also in the background"):
    path = tempfile.mkdtemp(dir=scratch)
    with unmounted_after(path):
        done = run(IMAGE, path, "-o", "max_read=64k,perfmon=fuse")
        assert done.returncode == 0 and os.path.ismount(path), done
        assert read(path + "/large") == read(TREE + "/large")
        reads = statistics(path)["requests"]["read"]
        assert reads >= os.path.getsize(TREE + "/large") >> 16, reads
        subprocess.run(["fusermount3", "-u", path], check=True)

with suite.case("the kernel reads more at a time than by default"):
    need_root()
    with mount.mounted(IMAGE) as path:
        device = os.stat(path).st_dev
        control = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
        if not os.access(control, os.W_OK):
            raise tap.Skip("read_ahead_kb cannot be set here")
        # Requests are served before it is set.
        until(lambda: read(control) == b"1024\n", "the read-ahead is not set")

with suite.case("as lower layer of an overlay"):
    need_root()
    with mount.mounted(IMAGE) as path, tempfile.TemporaryDirectory(dir=scratch) as base:
        for name in ("upper", "work", "all"):
            os.mkdir(f"{base}/{name}")
        done = run("-t", "overlay", "overlay", "-o",
                   f"lowerdir={path},upperdir={base}/upper,workdir={base}/work", base + "/all",
                   program="mount")
        if done.returncode != 0:
            # Some file systems cannot be the upper layer: then use none.
            write(base + "/more/extra", b"extra")
            done = run("-t", "overlay", "overlay", "-o", f"lowerdir={path}:{base}/more",
                       base + "/all", program="mount")
        if done.returncode != 0:
            raise tap.Skip("no overlays here: " + done.stderr.strip())
        try:
            check_all(base + "/all")
            assert os.readlink(base + "/all/link") == "dir0/file000"
            assert len(os.listdir(base + "/all/dir3")) == 60
            for _ in range(2):
                assert read(base + "/all/dir4/file005") == read(TREE + "/dir4/file005")
            if not os.path.exists(base + "/more"):
                with open(base + "/all/dir5/file005", "ab") as file:
                    file.write(b"more")
                assert read(base + "/all/dir5/file005") == read(TREE + "/dir5/file005") + b"more"
                os.unlink(base + "/all/dir5/file006")
                assert len(os.listdir(base + "/all/dir5")) == 59
                os.mkdir(base + "/all/dir5/new")
        finally:
            subprocess.run(["umount", base + "/all"], check=True)

with suite.case("an overlay on ext4 copies up a file of many chunks, with its own attributes only"):
    need_root()
    tree, base = place("holes"), place("overlay")
    os.makedirs(tree)
    os.makedirs(base)
    with open(tree + "/holes", "wb") as out:
        for number in range(300):
            out.seek(number << 16)
            out.write(b"%d" % number * 500)
    with open(base + "/store", "wb") as out:
        out.truncate(64 << 20)
    try:
        run("-q", base + "/store", program="/sbin/mkfs.ext4", check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        raise tap.Skip("no mkfs.ext4") from None
    with mount.mounted(pack(tree, "-l1")) as path, contextlib.ExitStack() as stack:
        for name in ("ext4", "all"):
            os.mkdir(f"{base}/{name}")
        done = run("-o", "loop", base + "/store", base + "/ext4", program="mount")
        if done.returncode != 0:
            raise tap.Skip("no loop mounts here: " + done.stderr.strip())
        stack.callback(subprocess.run, ["umount", base + "/ext4"], check=True)
        for name in ("upper", "work"):
            os.mkdir(f"{base}/ext4/{name}")
        done = run("-t", "overlay", "overlay", "-o",
                   f"lowerdir={path},upperdir={base}/ext4/upper,workdir={base}/ext4/work",
                   base + "/all", program="mount")
        if done.returncode != 0:
            raise tap.Skip("no overlays here: " + done.stderr.strip())
        stack.callback(subprocess.run, ["umount", base + "/all"], check=True)
        with open(base + "/all/holes", "ab") as file:
            file.write(b"more")
        assert read(base + "/all/holes") == read(tree + "/holes") + b"more"
        names = os.listxattr(base + "/ext4/upper/holes")
        assert not any(name.startswith("user.") for name in names), names

with suite.case("nothing can be written where root has remounted it for writing"):
    need_root()
    with mount.mounted(IMAGE) as path:
        done = run("-i", "-o", "remount,rw", path, program="mount")
        if done.returncode != 0:
            raise tap.Skip("no remounts here: " + done.stderr.strip())
        file, new = path + "/dir0/file000", path + "/new"
        for action in (lambda: open(file, "ab").close(), lambda: open(new, "wb").close(),
                       lambda: os.chmod(file, 0o600), lambda: os.utime(path),
                       lambda: os.truncate(file, 0), lambda: os.unlink(file),
                       lambda: os.mkdir(new), lambda: os.rmdir(path + "/dir0"),
                       lambda: os.mkfifo(new), lambda: os.symlink("x", new),
                       lambda: os.link(file, new), lambda: os.rename(file, new),
                       lambda: os.setxattr(file, "user.x", b"x"),
                       lambda: os.removexattr(file, "user.x")):
            try:
                action()
            except OSError as error:
                assert error.errno == errno.EROFS, error
            else:
                raise AssertionError("something was written")
        check_all(path)

# -- decoding ahead -------------------------------------------------------------------------

with suite.case("files that are read in order are decoded ahead, others are not"):
    names = sorted(f"dir{folder}/file{number:03}" for folder in (2, 3) for number in range(60))
    for options, order, ahead in (("seq_detector=4", names, True),
                                  ("seq_detector=0", names, False),
                                  ("workers=0", names, False),
                                  ("seq_detector=4", names[::-1], False)):
        with mount.mounted(IMAGE, "-o", "perfmon=fuse+block_cache," + options) as path:
            for folder in ("dir2", "dir3"):
                list(os.scandir(f"{path}/{folder}"))
            for name in order:
                assert read(f"{path}/{name}") == read(f"{TREE}/{name}")
            if ahead:
                until(lambda: count(path, "block_cache", "prefetch") > 0, "nothing is prefetched")
            else:
                assert count(path, "block_cache", "prefetch") == 0, (options, order[0])

with suite.case("a large file that is read in order is decoded ahead"):
    for options, ahead in (("seq_detector=2", True), ("seq_detector=0", False),
                           ("seq_detector=0,readahead=1m", True)):
        with mount.mounted(IMAGE, "-o", "perfmon=block_cache," + options) as path:
            assert read(path + "/large") == read(TREE + "/large")
            if ahead:
                until(lambda: count(path, "block_cache", "readahead") > 0, "nothing is read ahead")
            else:
                assert count(path, "block_cache", "readahead") == 0

with suite.case("blocks are loaded at the start: all, or those of a category"):
    with mount.mounted(IMAGE, "-o", "preload_all,perfmon=block_cache") as path:
        until(lambda: statistics(path)["cache"]["decoded_bytes"] > 5_000_000, "nothing is loaded")
    with mount.mounted(IMAGE) as path:
        assert statistics(path)["cache"]["decoded_bytes"] == 0
    with mount.mounted(IMAGE, "-o", "preload_all,cachesize=1m,perfmon=block_cache") as path:
        until(lambda: statistics(path)["cache"]["decoded_bytes"] > 500_000, "nothing is loaded")
        assert statistics(path)["cache"]["most_used_bytes"] <= 1 << 20
    tree = place("mixed")
    write(tree + "/noise", random.Random(1).randbytes(3 << 20))
    write(tree + "/text", b"text and more text\n" * 300000)
    image = pack(tree, "-l4", "-S18", "--categorize=incompressible")
    with mount.mounted(image, "-o", "preload_category=incompressible,perfmon=block_cache") as path:
        until(lambda: statistics(path)["cache"]["blocks"] >= 12, "nothing is loaded")
        time.sleep(0.05)
        assert statistics(path)["cache"]["blocks"] == 12  # of 256 KiB each: none of the text
        assert read(path + "/noise") == read(tree + "/noise")

# -- memory ---------------------------------------------------------------------------------

with suite.case("blocks that are not read are freed"):
    with mount.mounted(IMAGE, "-o", "tidy_strategy=time,tidy_interval=20ms,tidy_max_age=20ms"
                       ",perfmon=block_cache") as path:
        check_all(path)
        until(lambda: statistics(path)["cache"]["used_bytes"] == 0, "memory is kept")
        assert count(path, "block_cache", "trim") > 0
        assert read(path + "/large") == read(TREE + "/large")

with suite.case("metadata is kept in memory"):
    if os.environ.get("DWARFS_SANITIZED"):
        raise tap.Skip("sanitizers do not lock memory")
    with mount.mounted(IMAGE, "-o", "mlock=try") as path:
        pid = os.getxattr(path, "user.dwarfs.driver.pid").decode()
        with open(f"/proc/{pid}/status") as status:
            locked = int(re.search(r"VmLck:\s*(\d+)", status.read()).group(1))
        assert locked > 0 or not ROOT, locked

# -- names ----------------------------------------------------------------------------------

with suite.case("names are found in any case"):
    tree = place("cases")
    write(tree + "/Readme.TXT", b"readme")
    write(tree + "/Ärger/ΣΊΣΥΦΟΣ/Straße", b"deep")
    write(tree + "/ЖУК", b"beetle")
    write(os.fsdecode(os.fsencode(tree) + b"/RAW\xff\xc3"), b"raw")
    pack(tree)
    with mount.mounted(tree + ".dwarfs", "-o", "case_insensitive") as path:
        assert read(path + "/README.txt") == read(path + "/Readme.TXT") == b"readme"
        assert read(path + "/äRGER/σίσυφος/sTRAßE") == b"deep"
        assert read(path + "/жук") == b"beetle"
        assert read(os.fsdecode(os.fsencode(path) + b"/raw\xff\xc3")) == b"raw"
        raises(errno.ENOENT, os.stat, path + "/readme")
        raises(errno.ENOENT, os.stat, path + "/ärger/missing")
        raises(errno.ENOTDIR, os.stat, path + "/README.TXT/x")
        assert sorted(os.listdir(path)) == sorted(os.listdir(tree))
    with mount.mounted(tree + ".dwarfs") as path:
        raises(errno.ENOENT, os.stat, path + "/README.txt")
    write(tree + "/Ärger/clash", b"1")
    write(tree + "/Ärger/CLASH", b"2")
    done = run(pack(tree), tempfile.mkdtemp(dir=scratch), "-o", "case_insensitive")
    assert done.returncode == 1 and "'CLASH' and 'clash'" in done.stderr, done

# -- what is reported -----------------------------------------------------------------------

with suite.case("the image is not overwritten by what is reported"):
    before = read(IMAGE)
    for options in (f"analysis_file={IMAGE}", f"perfmon=fuse,perfmon_trace={IMAGE}"):
        done = run(IMAGE, tempfile.mkdtemp(dir=scratch), "-o", options)
        assert done.returncode == 1 and "is the image itself" in done.stderr, done
        assert read(IMAGE) == before

with suite.case("the list of opened files, in order"):
    target = place("opened.txt")
    with mount.mounted(IMAGE, "-o", f"analysis_file={target}") as path:
        for name in ("dir3/file007", "large", "link", "dir1/file001", "dir3/file007"):
            read(f"{path}/{name}")
        os.listdir(path + "/dir5")
    assert read(target) == b"dir3/file007\nlarge\ndir0/file000\ndir1/file001\n", read(target)

ALWAYS = {"affinity", "busy_poll", "cache", "io_uring", "requests"}  # of the statistics, without perfmon

with suite.case("times and numbers"):
    trace = place("trace.json")
    with mount.mounted(IMAGE, "-o", f"perfmon=fuse+inode_reader_v2,perfmon_trace={trace}") as path:
        check_all(path)
        found = statistics(path)
    assert set(found) == {*ALWAYS, "fuse", "inode_reader_v2"}
    assert found["cache"]["decoded_bytes"] > 0 and found["cache"]["budget_bytes"] == 512 << 20
    for part in ("fuse", "inode_reader_v2"):
        timer = found[part]["read"]
        assert timer["count"] == sum(number for _, number in timer["histogram"]) > 0
        assert 0 < timer["p50_ns"] <= timer["p90_ns"] <= timer["p99_ns"]
        assert timer["max_ns"] <= timer["histogram"][-1][0] and timer["total_ns"] > 0
    with open(trace) as source:
        events = json.load(source)["traceEvents"]
    assert {event["cat"] for event in events} == {"fuse", "inode_reader_v2"}
    assert sum(event["name"] == "read" for event in events) >= 2 * found["fuse"]["read"]["count"]
    with mount.mounted(IMAGE) as path:
        assert set(statistics(path)) == ALWAYS

with suite.case("statistics that grow between the queries of size and value"):
    libc = ctypes.CDLL(None, use_errno=True)
    name = b"user.dwarfs.driver.perfmon"
    every = "fuse+filesystem_v2+inode_reader_v2+block_cache"
    with mount.mounted(IMAGE, "-o", "perfmon=" + every) as path:
        size = libc.getxattr(os.fsencode(path), name, None, 0)
        check_all(path)
        assert size > 0
        for _ in range(50):
            size = libc.getxattr(os.fsencode(path), name, None, 0)
            os.listdir(path)
            assert 0 < size <= 65536, size
            room = ctypes.create_string_buffer(size)
            got = libc.getxattr(os.fsencode(path), name, room, size)
            assert 0 < got <= size, (got, size, os.strerror(ctypes.get_errno()))
            assert set(json.loads(room.raw[:got])) == {*ALWAYS, *every.split("+")}

with suite.case("times of the library"):
    with mount.mounted(IMAGE, "-o", "perfmon=block_cache,cachesize=1m") as path:
        check_all(path)
        found = settled(path)
    assert set(found) == {*ALWAYS, "block_cache"}
    for name in ("read", "decode", "load"):
        timer = found["block_cache"][name]
        assert timer["count"] == sum(number for _, number in timer["histogram"]) > 0, timer
        assert timer["min_ns"] <= timer["p50_ns"] <= timer["p90_ns"] <= timer["p99_ns"], timer
        assert timer["p99_ns"] <= timer["max_ns"] < timer["histogram"][-1][0], timer
        assert timer["max_ns"] <= timer["total_ns"], timer
    assert found["block_cache"]["decode"]["count"] == found["cache"]["misses"], found

# -- beginning and end ----------------------------------------------------------------------

with suite.case("a mount point next to the image"):
    image = place("beside.dwarfs")
    shutil.copyfile(IMAGE, image)
    path = place("beside")
    with unmounted_after(path):
        done = run("--auto-mountpoint", image)
        assert done.returncode == 0 and os.path.ismount(path), done
        assert read(path + "/dir0/file000") == read(TREE + "/dir0/file000")
        subprocess.run(["fusermount3", "-u", path], check=True)
        until(lambda: not os.path.exists(path), "the directory remains")
        os.mkdir(path)
        done = run("--auto-mountpoint", image, "-o", "cachesize=1m")
        assert done.returncode == 0 and os.path.ismount(path), done
        pid = int(os.getxattr(path, "user.dwarfs.driver.pid"))
        subprocess.run(["fusermount3", "-u", path], check=True)
        until(lambda: not is_running(pid), "the driver did not end")
        assert os.listdir(path) == []  # it was there before, and stays
        os.rmdir(path)
    write(place("no image.dwarfs"), b"no image")
    done = run("--auto-mountpoint", place("no image.dwarfs"))
    assert done.returncode == 1 and not os.path.exists(place("no image")), done
    shutil.copyfile(IMAGE, place("extensionless"))
    for arguments, word, code in (
            (("--auto-mountpoint", place("extensionless")), "extension", 4),
            (("--auto-mountpoint", image, scratch), "exclude", 3),
            (("--auto-mountpoint", place("nothing.dwarfs")), "nothing.dwarfs", 1)):
        done = run(*arguments)
        assert done.returncode == code and word in done.stderr, done
    assert not os.path.exists(place("nothing"))
    write(path, b"a file")
    done = run("--auto-mountpoint", image)
    assert done.returncode == 4 and "must be a directory" in done.stderr, done
    assert read(path) == b"a file"

with suite.case("a directory next to the image that is in use is not mounted on"):
    image = place("used.dwarfs")
    shutil.copyfile(IMAGE, image)
    path = place("used")
    write(path + "/mine", b"mine")
    done = run("--auto-mountpoint", image)
    assert done.returncode == 4 and f"'{path}' is not empty" in done.stderr, done
    assert not os.path.ismount(path) and read(path + "/mine") == b"mine"
    os.unlink(path + "/mine")
    with unmounted_after(path):
        assert run("--auto-mountpoint", image).returncode == 0
        done = run("--auto-mountpoint", image)
        assert done.returncode == 4, done
        assert f"'{path}' is already a mount point" in done.stderr, done
        assert read(path + "/dir0/file000") == read(TREE + "/dir0/file000")
        subprocess.run(["fusermount3", "-u", path], check=True)

with suite.case("a mount point that the system refuses"):
    need_root()
    image = place("readable.dwarfs")
    shutil.copyfile(IMAGE, image)
    path = tempfile.mkdtemp(dir=scratch)
    for name in (scratch, path, image):
        os.chmod(name, 0o755)

    def become_somebody():
        os.setgroups([])
        os.setgid(54321)
        os.setuid(54321)

    done = run(image, path, preexec_fn=become_somebody, program=tap.tool_for_anybody("DWARFS"))
    assert done.returncode == 4 and not os.path.ismount(path), done

with suite.case("without a /dev/null that can be opened"):
    need_root()
    null = place("null")
    with open(null, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
    for redirected, code in (("", 0), ("0<&-", 1)):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", "mount --bind \"$1\" /dev/null && "
                               f"exec setpriv --reuid 54321 --clear-groups \"$2\" --help {redirected}",
                               "sh", null, tap.tool_for_anybody("DWARFS")],
                              capture_output=True, text=True, check=False)
        assert done.returncode == code, done
        assert code == 0 or "/dev/null: Permission denied" in done.stderr, done

with suite.case("as mount(8) calls it"):
    if os.environ.get("DWARFS_EMULATOR"):
        raise tap.Skip("the emulator starts the program by another name")
    helper = place("mount.dwarfs")
    os.symlink(DRIVER, helper)
    path = tempfile.mkdtemp(dir=scratch)
    with unmounted_after(path):
        done = run(IMAGE, path, "-sfnv", "-o", "rw", program=helper)
        assert done.returncode == 0 and not os.path.ismount(path), done
        done = run(IMAGE, path, "-n", "-v", "-s", "-o", "rw,noauto,nofail,cachesize=64m,uid=77",
                   "-t", "dwarfs", program=helper)
        assert done.returncode == 0 and os.path.ismount(path), done
        assert os.stat(path + "/large").st_uid == 77
        check_all(path)
        subprocess.run(["fusermount3", "-u", path], check=True)
    done = run(place("nothing"), path, "-o", "rw", program=helper)
    assert done.returncode == 32 and "nothing" in done.stderr, done
    done = run(IMAGE, path, "-N", "1", "-o", "rw", program=helper)
    assert done.returncode == 32, done


def with_helper():
    """A folder with the helper of mount(8) in sbin, and a mount point mnt."""
    base = tempfile.mkdtemp(dir=scratch)
    for name in ("sbin", "mnt"):
        os.mkdir(f"{base}/{name}")
    for name in ("mount.dwarfs", "dwarfs"):
        os.symlink(DRIVER, f"{base}/sbin/{name}")
    return base


with suite.case("by mount(8) itself, from a line of fstab"):
    need_root()
    base = with_helper()
    write(base + "/fstab", f"{IMAGE} {base}/mnt dwarfs noauto,nofail,user,gid=4242,nosuid 0 0\n".encode())
    # In a separate mount namespace, where the link is in /sbin.
    script = (f"mount -t overlay overlay -o lowerdir={base}/sbin:/sbin /sbin || exit 77\n"
              f"mount -T {base}/fstab {base}/mnt || exit 1\n"
              f"grep ' {base}/mnt ' /proc/self/mounts\n"
              f"stat -c %g {base}/mnt/large; cat {base}/mnt/dir0/file000 | cksum\n"
              f"umount {base}/mnt\n"
              f"test -x /sbin/mount.fuse || exit 0\n"
              f"mount -t fuse 'dwarfs#{IMAGE}' {base}/mnt -o uid=77,nosuid || exit 1\n"
              f"stat -c %u {base}/mnt/large; umount {base}/mnt\n")
    done = run("-m", "sh", "-c", script, program="unshare")
    if done.returncode == 77 or "unshare" in done.stderr:
        raise tap.Skip("no mount namespace:  " + done.stderr.strip())
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) in (3, 4) and lines[3:] in ([], ["77"]), done
    assert " fuse.dwarfs ro,nosuid" in lines[0] and lines[1] == "4242", done
    assert lines[2] == run(TREE + "/dir0/file000", program="cksum").stdout.split("/")[0].strip()

with suite.case("setuid programs and devices through mount(8): what is permitted by default and by options"):
    need_root()
    base = with_helper()
    shutil.copyfile(IMAGE, base + "/shifted")
    with open(base + "/shifted", "r+b") as file:
        contents = file.read()
        file.seek(0)
        file.write(b"prefix" + contents)
    script = f"mount -t overlay overlay -o lowerdir={base}/sbin:/sbin /sbin || exit 77\n"
    expected = []
    for arguments, refused in ((f"-t dwarfs {IMAGE}", {"nosuid", "nodev"}),
                               (f"-t dwarfs -o suid,dev {IMAGE}", {"nosuid", "nodev"}),
                               (f"-t dwarfs -o allow_suid {IMAGE}", {"nodev"}),
                               (f"-t dwarfs -o allow_suid,allow_dev,noexec {IMAGE}", {"noexec"}),
                               (f"-t dwarfs -o image_offset=6 {base}/shifted",
                                {"nosuid", "nodev"}),
                               (f"-t fuse.dwarfs {IMAGE}", set()),
                               (f"-t fuse.dwarfs -o nosuid {IMAGE}", {"nosuid"})):
        if "fuse" not in arguments or os.path.exists("/sbin/mount.fuse"):
            script += (f"mount {arguments} {base}/mnt || exit 1\n"
                       f"grep ' {base}/mnt ' /proc/self/mounts; umount {base}/mnt\n")
            expected.append((arguments, refused))
    script += f"mount -t dwarfs {IMAGE} {base}/mnt && mount -o remount,suid {base}/mnt; echo $?\n"
    script += f"mount -i -o remount,suid {base}/mnt; grep ' {base}/mnt ' /proc/self/mounts\n"
    script += f"umount {base}/mnt\n"
    done = run("-m", "sh", "-c", script, program="unshare")
    if done.returncode == 77 or "unshare" in done.stderr:
        raise tap.Skip("no mount namespace:  " + done.stderr.strip())
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == len(expected) + 2, done
    known = {"nosuid", "nodev", "noexec"}
    for line, (arguments, refused) in zip(lines, expected):
        assert known & set(line.split()[3].split(",")) == refused, (arguments, line)
    assert lines[-2] in ("3", "32") and "mount -i -o remount" in done.stderr, done
    assert "nosuid" not in lines[-1], lines

with suite.case("a mount that is detached while a file is open ends when that is closed"):
    path = tempfile.mkdtemp(dir=scratch)
    with unmounted_after(path):
        assert run(IMAGE, path).returncode == 0
        pid = int(os.getxattr(path, "user.dwarfs.driver.pid"))
        with open(path + "/large", "rb") as source:
            subprocess.run(["umount", "-l", path] if ROOT else ["fusermount3", "-u", "-z", path],
                           check=True)
            assert not os.path.ismount(path)
            assert source.read() == read(TREE + "/large")
            assert is_running(pid)
        until(lambda: not is_running(pid), "the driver did not end")

with suite.case("a driver that is killed under auto_unmount leaves no mount and no process"):
    path = tempfile.mkdtemp(prefix="with space ", dir=scratch)

    def is_gone():
        with open("/proc/self/mounts") as mounts:
            return not any(line.split()[1] == path.replace(" ", "\\040") for line in mounts)

    def is_unwatched():
        return not any(path in command_of(pid) for pid in os.listdir("/proc") if pid.isdigit())

    with unmounted_after(path):
        for how in (signal.SIGKILL, signal.SIGTERM, None):
            assert run(IMAGE, path, "-o", "auto_unmount").returncode == 0
            assert not is_gone() and not is_unwatched()
            if how:
                os.kill(int(os.getxattr(path, "user.dwarfs.driver.pid")), how)
            else:
                subprocess.run(["fusermount3", "-u", path], check=True)
            until(is_gone, "still mounted")
            until(is_unwatched, "the other process did not end")
    done = run(place("nothing"), path, "-o", "auto_unmount")
    assert done.returncode == 1, done
    until(is_unwatched, "the other process did not end")

with suite.case("a killed reader leaves no block pinned"):
    absent.need("lzma")
    slow = place("slow")
    if not os.path.exists(slow):  # one block that takes some 40 ms to decode
        for name, size in (("before", 20000), ("large", 3 << 20), ("after", 20000)):
            write(f"{slow}/{name}", read(TREE + "/large")[:size])
        pack(slow, "-l1", "-S26", "-C", "lzma:level=0", "--order=none")
    whole = read(slow + "/large")
    # The first are killed while the only block is decoded for all of them.
    for options in ("cachesize=1m", "cachesize=1m,no_cache_files", "cachesize=64m,workers=0",
                    "tidy_strategy=time,tidy_interval=10ms,tidy_max_age=0"):
        with mount.mounted(slow + ".dwarfs", "-o", options) as path:
            waiting = f"/sys/fs/fuse/connections/{os.minor(os.stat(path).st_dev)}/waiting"
            for number in range(25):
                readers = [subprocess.Popen(["tail", "-c", "10000", f"{path}/{name}"],
                                            stdout=subprocess.DEVNULL)
                           for name in ("large", "after", "before")]
                time.sleep(0.0015 * number)
                for reader in readers:
                    reader.kill()
                for reader in readers:
                    reader.wait()
            if os.path.exists(waiting):  # if the fusectl file system is mounted
                until(lambda: int(read(waiting)) == 0, "requests are stuck")
            assert read(path + "/large") == whole
            assert read(path + "/after") == whole[:20000] == read(path + "/before")
            if "tidy" in options:
                until(lambda: statistics(path)["cache"]["used_bytes"] == 0, "a block is pinned")
            else:
                budget = statistics(path)["cache"]["budget_bytes"]
                until(lambda: statistics(path)["cache"]["used_bytes"] <= budget,
                      "memory is held")

# -- memory ---------------------------------------------------------------------------------


def resident(pid, what):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(what))


with suite.case("memory stays within the cache and 64 MiB, and is freed"):
    if os.environ.get("DWARFS_SANITIZED"):
        raise tap.Skip("a sanitizer uses memory itself")
    for size, threads in ((1, 4), (8, 32), (64, 8)):
        with mount.mounted(IMAGE, "-o", f"cachesize={size}m,no_cache_files,tidy_strategy=time,"
                           "tidy_interval=1s,tidy_max_age=1s") as path:
            pid = int(os.getxattr(path, "user.dwarfs.driver.pid"))
            readers = [subprocess.Popen(["sh", "-c", f"cat {path}/large {path}/dir{i % 8}/*"],
                                        stdout=subprocess.DEVNULL) for i in range(threads)]
            for reader in readers:
                assert reader.wait() == 0
            assert resident(pid, "VmHWM") <= (size + 64) << 20, resident(pid, "VmHWM")
            until(lambda: resident(pid, "VmRSS") <= 64 << 20, "memory is held")

# -- handles --------------------------------------------------------------------------------


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]


with suite.case("files are found again by their handles, as for NFS"):
    need_root()
    libc = ctypes.CDLL(None, use_errno=True)
    with mount.mounted(IMAGE) as path:
        handles = {}
        for name in ("", "dir3", "dir3/file011", "large", "dir7/file059"):
            handle, number = Handle(bytes=128), ctypes.c_int()
            done = libc.name_to_handle_at(-100, os.fsencode(f"{path}/{name}"),
                                          ctypes.byref(handle), ctypes.byref(number), 0)
            assert done == 0, (name, os.strerror(ctypes.get_errno()))
            handles[name] = handle
        drop_caches()
        root = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name, handle in reversed(handles.items()):
                fd = libc.open_by_handle_at(root, ctypes.byref(handle), os.O_RDONLY)
                assert fd >= 0, (name, os.strerror(ctypes.get_errno()))
                try:
                    if os.path.isdir(f"{TREE}/{name}"):
                        assert sorted(os.listdir(fd)) == sorted(os.listdir(f"{TREE}/{name}"))
                        assert os.readlink(f"/proc/self/fd/{fd}") == f"{path}/{name}".rstrip("/")
                    else:
                        assert os.pread(fd, 1 << 24, 0) == read(f"{TREE}/{name}")
                finally:
                    os.close(fd)
            last = handles["large"]
            ctypes.memset(ctypes.addressof(last) + 8, 0xee, 4)
            assert libc.open_by_handle_at(root, ctypes.byref(last), os.O_RDONLY) < 0
            assert ctypes.get_errno() == errno.ESTALE
        finally:
            os.close(root)

NFS_SERVER = """
NFS_CORE_PARAM {{ NFS_Protocols = 4; NFS_Port = {port}; Bind_addr = 127.0.0.1;
                  Enable_NLM = false; Enable_RQUOTA = false; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; }}
EXPORT {{ Export_Id = 1; Path = {path}; Pseudo = /image; Access_Type = RO; Protocols = 4;
         Transports = TCP; SecType = sys; Squash = No_Root_Squash; Filesystem_Id = 4711.1;
         FSAL {{ Name = VFS; }} }}
"""


@contextlib.contextmanager
def exported(path):
    """Let an NFS server that uses file handles export a mount; returns the URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = place("nfs.log")
    write(place("nfs.conf"), NFS_SERVER.format(path=path, port=port).encode())
    write(log)
    os.makedirs("/run/ganesha", exist_ok=True)
    os.makedirs("/var/lib/nfs/ganesha", exist_ok=True)
    server = subprocess.Popen(["ganesha.nfsd", "-F", "-f", place("nfs.conf"), "-L", log,
                               "-p", place("nfs.pid"), "-N", "EVENT"])
    try:
        deadline = time.monotonic() + 15
        while b"NFS SERVER INITIALIZED" not in read(log):
            if server.poll() is not None or time.monotonic() > deadline:
                raise tap.Skip("the NFS server does not start here")
            time.sleep(0.05)
        yield lambda name: f"nfs://127.0.0.1/image/{name}?version=4&nfsport={port}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


with suite.case("exported by an NFS server"):
    need_root()
    for needed in ("ganesha.nfsd", "nfs-ls", "nfs-cat"):
        if not shutil.which(needed):
            raise tap.Skip(f"no {needed}")
    with mount.mounted(IMAGE) as path, exported(path) as url:
        for _ in range(2):
            listed = subprocess.run(["nfs-ls", url("dir3")], stdout=subprocess.PIPE, check=True,
                                    text=True).stdout.splitlines()
            assert sorted(line.split()[-1] for line in listed) == sorted(os.listdir(
                TREE + "/dir3")), listed
            for name in ("large", "dir3/file011", "dir7/file059"):
                contents = subprocess.run(["nfs-cat", url(name)], stdout=subprocess.PIPE,
                                          check=True).stdout
                assert contents == read(f"{TREE}/{name}"), name
            drop_caches()  # the server has only the handles of the files

subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=False)
suite.finish()
