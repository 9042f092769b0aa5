#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfs: contents of a mounted image, and start and end of a mount."""
import concurrent.futures
import contextlib
import errno
import fcntl
import json
import mmap
import os
import random
import resource
import signal
import stat
import subprocess
import tempfile
import time

import absent
import dated
import mount
import tap
from scratch import pack, place, read, scratch, write

suite = tap.Suite()
try:
    DRIVER = mount.available()
except tap.Skip as why:
    tap.skip_all(str(why))


def run(*arguments, **how):
    return subprocess.run([DRIVER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60, **how)


def open_files_of(argument):
    """What processes with this in their command line have open; others may end meanwhile."""
    found = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if argument.encode() not in read(f"/proc/{process}/cmdline"):
                continue
            for entry in os.scandir(f"/proc/{process}/fd"):
                with contextlib.suppress(FileNotFoundError):
                    found.add(os.readlink(entry.path))
    return found


def raises(number, function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        assert error.errno == number, (function, arguments, error)
        return
    raise AssertionError(f"{function}{arguments} works")


def until(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def mount_line(path):
    """Source, place, type and options of a mount."""
    with open("/proc/self/mounts") as mounts:
        lines = [line.split() for line in mounts]
    return [line[:4] for line in lines if line[1] == path][0]


@contextlib.contextmanager
def in_background(image, *options, **how):
    """Mount as users do; returns the path and the pid of the driver."""
    path = tempfile.mkdtemp(prefix="mnt-", dir=scratch)
    done = run(image, path, *options, **how)
    assert done.returncode == 0, done
    pid = None
    try:
        assert os.path.ismount(path), "not mounted when the program returned"
        pid = int(os.getxattr(path, "user.dwarfs.driver.pid"))
        yield path, pid
    finally:
        if os.path.ismount(path):
            subprocess.run(["fusermount3", "-u", "-z", path], check=True)
        if pid:
            until(lambda: not is_running(pid), "the driver did not end")


def upstream(name):
    return tap.data("images", name + ".dwarfs")


def with_many():
    """An image with a large directory and several blocks, made once."""
    tap.tool("MKDWARFS")
    tree = place("many")
    if not os.path.exists(tree):
        rng = random.Random(7)
        os.makedirs(tree + "/dir")
        for number in range(20000):
            with open(f"{tree}/dir/an entry with a long name {number:05d}", "wb") as out:
                out.write(b"%d\n" % number)
        for number in range(40):
            write(f"{tree}/files/{number}", rng.randbytes(rng.randrange(1, 700000)))
        pack(tree)
    return tree + ".dwarfs"


# -- the command line -----------------------------------------------------------------------

with suite.case("without arguments: usage on standard output, exit 1"):
    done = run()
    assert done.returncode == 1 and "usage: dwarfs" in done.stdout and not done.stderr, done

with suite.case("help and version, whatever else is given"):
    for others in ((), ("one", "two", "three"), ("-o", "no_such_option,cachesize=lots")):
        for option, text in (("-h", "usage: dwarfs"), ("--help", "usage: dwarfs"),
                             ("-V", "dwarfs "), ("--version", "dwarfs ")):
            done = run(option, *others)
            assert done.returncode == 0 and done.stdout.startswith(text), done

with suite.case("bad values, missing images and mount points are named"):
    for option in ("cachesize=lots", "offset=here", "uid=no such user", "debuglevel=loud",
                   "workers=many", "readahead=-1", "mlock=perhaps", "decratio=1.5",
                   "tidy_strategy=never", "tidy_interval=5x", "tidy_max_age=soon",
                   "block_allocator=stack", "seq_detector=no", "perfmon=fuse+cpu",
                   "verify=never", "affinity=all", "io_uring=never", "busy_poll=always", "max_read=4095",
                   "max_read=4g", "max_threads=0", "max_threads=100001", "max_idle_threads=-5",
                   "image_offset=here", "uid=4294967295", "gid=4294967295"):
        done = run(upstream("data"), scratch, "-o", option)
        name, value = option.split("=")
        assert done.returncode == 3, done
        assert f"'{value.split('+')[-1]}' for -o {name}" in done.stderr, done
    for option in ("preload_category=no such category",
                   "analysis_file=/no/such/directory/file"):
        done = run(upstream("data"), scratch, "-o", option)
        assert done.returncode == 1 and "-o " + option.split("=")[0] in done.stderr, done
    for option, words in (("tidy_strategy=never", "use none, time or swap"),
                          ("verify=never", "use eager or lazy"),
                          ("perfmon=cpu", "filesystem_v2, inode_reader_v2 or block_cache"),
                          ("tidy_interval=5x", "seconds, or one with ms, s, m, h or d"),
                          ("cachesize=lots", "bytes, or one with k, m, g or t")):
        done = run(upstream("data"), scratch, "-o", option)
        assert words in done.stderr, done
    done = run(place("nothing"), scratch)
    assert done.returncode == 1 and place("nothing") in done.stderr, done
    done = run(upstream("data"), place("no mount point"))
    assert done.returncode == 4, done
    assert f"'{place('no mount point')}': No such file or directory" in done.stderr, done
    assert not os.path.ismount(scratch)
    done = run(upstream("data"))
    assert done.returncode == 1 and "mount point" in done.stderr, done

with suite.case("a mount point that is a file is refused, and nothing is mounted on it"):
    write(place("file"), b"still here")
    done = run(upstream("data"), place("file"))
    try:
        assert done.returncode == 4, done
        assert f"'{place('file')}' must be a directory" in done.stderr, done
        assert not os.path.ismount(place("file")), done
        assert read(place("file")) == b"still here"
    finally:
        if os.path.ismount(place("file")):
            subprocess.run(["fusermount3", "-u", "-z", place("file")], check=False)

with suite.case("an unknown feature is named"):
    absent.need_for_image(upstream("future-features"))
    done = run(upstream("future-features"), scratch)
    assert done.returncode == 1 and "this-feature-will-never-exist" in done.stderr, done

with suite.case("options of older versions only warn"):
    with mount.mounted(upstream("data"), "-o", "enable_nlink,cache_image,no_cache_image") as path:
        assert os.listdir(path)

# -- beginning and end ----------------------------------------------------------------------

with suite.case("it is mounted when the program returns, and gone after the unmount"):
    with in_background(upstream("data")) as (path, pid):
        source, _, kind, options = mount_line(path)
        assert source == os.path.realpath(upstream("data")), source
        assert kind == "fuse.dwarfs", kind
        assert "ro" in options.split(",") and "default_permissions" in options, options
        subprocess.run(["fusermount3", "-u", path], check=True)
        until(lambda: not is_running(pid), "the driver did not end")

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    with suite.case(f"{signal.Signals(number).name} unmounts"):
        with in_background(upstream("data")) as (path, pid):
            os.kill(pid, number)
            until(lambda: not os.path.ismount(path), "still mounted")
        path = tempfile.mkdtemp(prefix="mnt-", dir=scratch)
        process = subprocess.Popen([DRIVER, upstream("data"), path, "-f"])
        until(lambda: os.path.ismount(path), "not mounted")
        process.send_signal(number)
        assert process.wait(timeout=20) == 0
        assert not os.path.ismount(path)

with suite.case("a signal unmounts also while a file is open"):
    with in_background(upstream("data")) as (path, pid):
        name = next(os.path.join(folder, files[0]) for folder, _, files in os.walk(path) if files)
        fd = os.open(name, os.O_RDONLY)
        os.kill(pid, signal.SIGTERM)
        until(lambda: not os.path.ismount(path), "still mounted")
        with contextlib.suppress(OSError):  # the driver has ended
            os.close(fd)

with suite.case("it works without standard descriptors"):
    path = tempfile.mkdtemp(prefix="mnt-", dir=scratch)
    subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', DRIVER, upstream("data"), path],
                   check=True, timeout=60)
    try:
        assert os.path.ismount(path)
        assert read(path + "/format.sh")
    finally:
        subprocess.run(["fusermount3", "-u", path], check=True)

with suite.case("a session that does not begin is a failure, also in the background"):
    device = os.open("/dev/fuse", os.O_RDWR)  # which is not mounted
    for options in ([], ["-f"]):
        done = run(upstream("data"), f"/dev/fd/{device}", *options, pass_fds=[device])
        assert done.returncode == 1 and "starting the session" in done.stderr, done
    os.close(device)

with suite.case("descriptors of the caller are closed in the background, also by auto_unmount"):
    lock = os.open(place("lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    high = min(limit[1], 4096) - 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (high + 1, limit[1]))
    os.dup2(lock, high)
    for options in ((), ("-o", "auto_unmount")):
        with in_background(upstream("data"), *options, pass_fds=[lock, high]) as (path, pid):
            found = open_files_of(path)
            assert found and place("lock") not in found, found
    os.close(high)
    os.close(lock)
    with open(upstream("data"), "rb") as source:  # what the arguments name stays open
        name = f"/dev/fd/{source.fileno()}"
        with in_background(name, pass_fds=[source.fileno()]) as (path, _):
            assert read(path + "/format.sh")

with suite.case("commas and backslashes in the path of the image"):
    name = place("a,b\\c,ro,x=y.dwarfs")
    write(name, read(upstream("data")))
    with in_background(name) as (path, _):
        assert mount_line(path)[0] == name.replace("\\", "\\134"), mount_line(path)
        assert read(path + "/format.sh")

with suite.case("one request at a time, and with other ways to serve them"):
    for options in (("-s",), ("-s", "-o", "busy_poll=off"), ("-o", "clone_fd"), ("-o", "max_threads=2,max_idle_threads=1"),
                    ("-o", "auto_unmount")):
        with in_background(upstream("data"), *options) as (path, _):
            assert read(path + "/format.sh")

# -- contents -------------------------------------------------------------------------------

with suite.case("statfs as in the images"):
    checked = 0
    with open(tap.data("images", "images.json")) as source:
        records = json.load(source)["images"]
    for record in records:
        if "statvfs" not in record:
            continue
        with mount.mounted(tap.data("images", record["file"])) as path:
            found = os.statvfs(path)
            want = record["statvfs"]
            got = {"bsize": found.f_bsize, "frsize": found.f_frsize, "blocks": found.f_blocks,
                   "files": found.f_files}
            assert {key: got[key] for key in want} == want, (record["file"], got, want)
            assert found.f_bfree == 0 and found.f_flag & os.ST_RDONLY
        checked += 1
    assert checked >= 7, checked

with suite.case("times from 1906 to 2400, also by stat(1)"):
    times = dated.make(place("dated"))
    for resolution in 1, dated.NANO:
        pack(place("dated"), "-l1", f"--time-resolution={resolution}ns")
        with mount.mounted(place("dated.dwarfs")) as path:
            for name, nanoseconds in times.items():
                got = os.lstat(os.path.join(path, os.fsdecode(name))).st_mtime_ns
                seconds, rest = divmod(nanoseconds // resolution * resolution, dated.NANO)
                seconds = min(seconds, tap.library_times()[1])
                assert got == seconds * dated.NANO + rest, (name, resolution, got)
            for name in b"1906", b"1969":
                shown = subprocess.run(["stat", "-c", "%Y", os.path.join(path, os.fsdecode(name))],
                                       capture_output=True, check=True).stdout
                assert int(shown) == times[name] // dated.NANO < 0, shown

with suite.case("errors are those of a read-only file system"):
    with mount.mounted(upstream("compat-v0.9.10")) as path:
        raises(errno.EROFS, os.open, path + "/new", os.O_WRONLY | os.O_CREAT)
        raises(errno.EROFS, os.open, path + "/format.sh", os.O_WRONLY)
        raises(errno.EROFS, os.open, path + "/format.sh", os.O_RDWR)
        raises(errno.EROFS, os.unlink, path + "/format.sh")
        raises(errno.EROFS, os.mkdir, path + "/new")
        raises(errno.EROFS, os.rename, path + "/format.sh", path + "/new")
        raises(errno.EROFS, os.chmod, path + "/format.sh", 0o600)
        raises(errno.EROFS, os.truncate, path + "/format.sh", 0)
        raises(errno.EROFS, os.setxattr, path, "user.x", b"")
        raises(errno.ENOENT, os.stat, path + "/missing")
        raises(errno.ENOENT, os.stat, path + "/missing")  # now from the page cache
        raises(errno.ENOTDIR, os.listdir, path + "/format.sh")
        raises(errno.ENOTDIR, os.stat, path + "/format.sh/x")
        raises(errno.EINVAL, os.readlink, path + "/format.sh")
        raises(errno.ENAMETOOLONG, os.stat, path + "/" + "n" * 256)
        raises(errno.ENOENT, os.stat, path + "/" + "n" * 255)
        directory = os.open(path, os.O_RDONLY)
        raises(errno.EISDIR, os.read, directory, 10)
        os.close(directory)

with suite.case("extended attributes"):
    with in_background(upstream("compat-v0.9.10")) as (path, pid):
        assert sorted(os.listxattr(path)) == [
            "user.dwarfs.driver.perfmon", "user.dwarfs.driver.pid", "user.dwarfs.inodeinfo"]
        # Not listed, so that copies of a file do not have it.
        assert os.listxattr(path + "/format.sh") == os.listxattr(path + "/foo") == []
        # The kernel does not read those of a link.
        assert os.listxattr(path + "/foo/bad", follow_symlinks=False) == []
        raises(errno.ENODATA, os.getxattr, path + "/format.sh", "user.dwarfs.driver.pid")
        raises(errno.ENODATA, os.getxattr, path, "user.other")
        info = json.loads(os.getxattr(path + "/format.sh", "user.dwarfs.inodeinfo"))
        found = os.stat(path + "/format.sh")
        assert info["size"] == found.st_size and info["mode"] == found.st_mode
        assert info["inode"] == found.st_ino - 1 and info["uid"] == found.st_uid
        assert info["modestring"] == stat.filemode(found.st_mode)
        assert sum(chunk["size"] for chunk in info["chunks"]) == found.st_size
        assert all(set(chunk) == {"block", "offset", "size"} for chunk in info["chunks"])
        assert info["chunk_count"] == len(info["chunks"]) > 0
        assert "chunks" not in json.loads(os.getxattr(path, "user.dwarfs.inodeinfo"))
        assert is_running(pid)

with suite.case("the chunks of a file, with holes and categories, up to the limit"):
    tree = place("chunked")
    os.makedirs(tree)
    with open(tree + "/holes", "wb") as out:
        for number in range(300):
            out.seek(number << 16)
            out.write(b"%d" % number * 500)
    write(tree + "/noise", tap.random_bytes(1 << 20))
    image = pack(tree, "-l1", "--categorize=incompressible")
    with mount.mounted(image) as path:
        info = json.loads(os.getxattr(path + "/holes", "user.dwarfs.inodeinfo"))
        assert len(info["chunks"]) == 256 < info["chunk_count"], info["chunk_count"]
        assert any("hole" in chunk for chunk in info["chunks"]), info["chunks"]
        info = json.loads(os.getxattr(path + "/noise", "user.dwarfs.inodeinfo"))
        assert {chunk["category"] for chunk in info["chunks"]} == {"incompressible"}, info
        assert sum(chunk["size"] for chunk in info["chunks"]) == 1 << 20

with suite.case("the chunks of a file end where a long name of a category would exceed the limit"):
    for category, most in (("short", 256), ("n" * 255, 255), ("%01" * 255, 255)):
        image = place("categories.dwarfs")
        lines = f"category {category}\n0 f file " + ",".join(["d10", "d12"] * 150) + "\n"
        subprocess.run([tap.tool("CRAFT_TREE"), image], input=lines, text=True, check=True)
        with mount.mounted(image) as path:
            text = os.getxattr(path + "/file", "user.dwarfs.inodeinfo")
            info = json.loads(text)
            assert info["chunk_count"] == 300 and 0 < len(info["chunks"]) <= most, info
            assert len(text) > 55000 or most == len(info["chunks"]) == 256, len(text)
            assert all(len(chunk["category"]) == len(category.replace("%01", "n"))
                       for chunk in info["chunks"])

with suite.case("owner, group and write permissions can be replaced"):
    with mount.mounted(upstream("data"), "-o", "uid=4242,gid=2323,readonly,blocksize=64k") as path:
        for folder, directories, files in os.walk(path):
            for name in directories + files:
                found = os.lstat(os.path.join(folder, name))
                assert (found.st_uid, found.st_gid) == (4242, 2323)
                assert stat.S_ISLNK(found.st_mode) or not found.st_mode & 0o222
                assert found.st_blksize == (4096 if name in directories else 65536), name

with suite.case("the preferred size of reads of a directory holds its entries, and no more"):
    tree = place("sizes")
    for count in (0, 20, 60, 1000, 5000):
        os.makedirs(f"{tree}/{count}")
        for n in range(count):
            write(f"{tree}/{count}/a file that has the number {n}", b"")
    with mount.mounted(pack(tree)) as path:
        for count, size in ((0, 4096), (20, 4096), (60, 16384), (1000, 262144), (5000, 524288)):
            assert os.lstat(f"{path}/{count}").st_blksize == size, count
            assert len(os.listdir(f"{path}/{count}")) == count
    with mount.mounted(pack(tree), "-o", "blocksize=2k") as path:
        assert {os.lstat(f"{path}/{count}").st_blksize for count in (0, 20, 5000)} == {2048}

with suite.case("permissions are checked for owner, group and others"):
    if os.geteuid() != 0:
        raise tap.Skip("needs root")
    tree = place("permissions")
    write(tree + "/owner", b"o", 0o400)
    write(tree + "/group", b"g", 0o040)
    write(tree + "/other", b"t", 0o004)
    write(tree + "/none", b"n", 0o000)
    os.chmod(tree, 0o755)
    for name in os.listdir(tree):
        os.chown(f"{tree}/{name}", 5001, 5002)
    with mount.mounted(pack(tree), "-o", "allow_other") as path:
        def readable(user, group):
            code = ("import os,sys\n"
                    "print(*[n for n in sorted(os.listdir(sys.argv[1]))"
                    " if os.access(sys.argv[1] + '/' + n, os.R_OK)])")
            done = subprocess.run(["python3", "-c", code, path], user=user, group=group,
                                  extra_groups=[], capture_output=True, text=True, check=True)
            return done.stdout.split()
        assert readable(5001, 1) == ["owner"]
        assert readable(1, 5002) == ["group"]
        assert readable(1, 1) == ["other"]
        assert readable(0, 0) == ["group", "none", "other", "owner"]

with suite.case("a large directory is listed completely, by several readers at once"):
    with mount.mounted(with_many()) as path:
        want = sorted(os.listdir(place("many/dir")))
        assert sorted(os.listdir(path + "/dir")) == want
        assert sorted(entry.name for entry in os.scandir(path + "/dir")) == want
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for names in pool.map(lambda _: os.listdir(path + "/dir"), range(16)):
                assert sorted(names) == want
        assert os.stat(path + "/dir").st_size == 20000
        assert os.stat(path + "/dir").st_nlink == 1
        assert read(path + "/dir/" + want[12345]) == read(place("many/dir/") + want[12345])

with suite.case("many threads read, also with a small cache and without the page cache"):
    image = with_many()
    names = os.listdir(place("many/files"))
    want = {name: read(f"{place('many')}/files/{name}") for name in names}
    for options in ("cachesize=512m", "cachesize=1m,no_cache_files", "cachesize=0"):
        with mount.mounted(image, "-o", options) as path:
            def check(seed):
                rng = random.Random(seed)
                for _ in range(60):
                    name = rng.choice(names)
                    at = rng.randrange(len(want[name]))
                    size = rng.randrange(1, 100000)
                    with open(f"{path}/files/{name}", "rb") as source:
                        source.seek(at)
                        assert source.read(size) == want[name][at:at + size], (name, at, size)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                list(pool.map(check, range(8)))

with suite.case("holes are found"):
    tree = place("sparse")
    os.mkdir(tree)
    with open(tree + "/file", "wb") as out:
        out.write(b"b" * 8192)
        out.seek(1 << 30)
        out.write(b"e" * 4096)
        out.truncate(1 << 31)
    for options in ("cache_sparse", "no_cache_sparse"):
        with mount.mounted(pack(tree), "-o", options) as path:
            fd = os.open(path + "/file", os.O_RDONLY)
            assert os.fstat(fd).st_size == 1 << 31
            assert os.fstat(fd).st_blocks * 512 < 1 << 20
            assert os.lseek(fd, 0, os.SEEK_DATA) == 0
            assert os.lseek(fd, 0, os.SEEK_HOLE) == 8192
            assert os.lseek(fd, 8192, os.SEEK_DATA) == 1 << 30
            assert os.lseek(fd, 1 << 30, os.SEEK_HOLE) == (1 << 30) + 4096
            raises(errno.ENXIO, os.lseek, fd, (1 << 30) + 4096, os.SEEK_DATA)
            raises(errno.ENXIO, os.lseek, fd, 1 << 31, os.SEEK_HOLE)
            assert os.pread(fd, 4, (1 << 30) - 2) == b"\0\0ee"
            with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
                assert mapped[8190:8194] == b"bb\0\0" and mapped[1 << 30] == ord("e")
            os.close(fd)

with suite.case("two images in one file, by offset and size; after a prefix by detection"):
    first, second = read(upstream("data")), read(upstream("unixlink"))
    write(place("two"), first + second)
    done = run(place("two"), scratch)  # which are of different versions
    assert done.returncode == 1, done
    write(place("padded"), first + bytes(4096))
    done = run(place("padded"), scratch)
    assert done.returncode == 1 and "give its size with -o imagesize" in done.stderr, done
    with mount.mounted(place("padded"), "-o", f"imagesize={len(first)}") as path:
        assert os.listdir(path)
    with mount.mounted(place("two"), "-o", f"imagesize={len(first)}") as path:
        one = sorted(os.listdir(path))
    for option in ("offset", "image_offset"):
        with mount.mounted(place("two"), "-o", f"{option}={len(first)}") as path:
            two = sorted(os.listdir(path))
    assert one != two
    with mount.mounted(upstream("unixlink")) as path:
        assert two == sorted(os.listdir(path))
    write(place("prefixed"), b"#!/bin/sh\nexit\n" + first)
    with mount.mounted(place("prefixed"), "-o", "offset=auto") as path:
        assert one == sorted(os.listdir(path))
    done = run(place("prefixed"), scratch)
    assert done.returncode == 1, done

with suite.case("an image inside a mounted image"):
    with mount.mounted(upstream("datadata")) as outer:
        inner = os.path.join(outer, os.listdir(outer)[0])
        with mount.mounted(inner) as path, mount.mounted(upstream("data")) as same:
            assert os.listdir(path) == os.listdir(same)
            assert read(path + "/format.sh") == read(same + "/format.sh")

with suite.case("an image that is replaced by its successor stays mounted as it was"):
    tree, more = place("replaced"), place("added")
    for number in range(6):
        write(f"{tree}/file{number}", random.Random(number).randbytes(1 << 20))
    write(f"{more}/file1", b"another one")
    image = pack(tree, "-l0")
    with mount.mounted(image, "-o", "no_cache_files,cachesize=1m") as path:
        assert read(path + "/file0") == read(tree + "/file0")
        before = os.stat(image).st_ino
        subprocess.run([tap.tool("MKDWARFS"), "-i", image, "-i", more, "-o", image, "-f",
                        "--no-progress", "-F", "- file5"], check=True, capture_output=True)
        assert os.stat(image).st_ino != before
        assert len(os.listdir(path)) == 6, os.listdir(path)
        for number in range(6):
            assert read(f"{path}/file{number}") == read(f"{tree}/file{number}"), number
        with mount.mounted(image) as new:
            assert len(os.listdir(new)) == 5, os.listdir(new)
            assert read(new + "/file1") == b"another one"

with suite.case("a damaged block is an error of its files only"):
    tree = place("damaged")
    for number in range(6):
        write(f"{tree}/file{number}", random.Random(number).randbytes(1 << 20))
    image = pack(tree, "-l0")
    where = read(image).find(read(tree + "/file3")[1000:1100])
    assert where > 0
    with open(image, "r+b") as file:
        file.seek(where)
        file.write(bytes([read(tree + "/file3")[1000] ^ 1]))
    with mount.mounted(image) as path:
        good = 0
        raises(errno.EIO, read, path + "/file3")
        for number in range(6):
            with contextlib.suppress(OSError):
                assert read(f"{path}/file{number}") == read(f"{tree}/file{number}")
                good += 1
        assert good >= 4, good

with suite.case("a damaged compressed block, with early and late verification"):
    tree = place("harmed")
    rng = random.Random(11)
    for number in range(6):
        write(f"{tree}/file{number}",
              b"".join(b"%d %d\n" % (number, rng.randrange(100)) for _ in range(70000)))
    image = pack(tree, "-l1", "-S19")
    info = json.loads(subprocess.run([tap.tool("DWARFSCK"), image, "--json"],
                                     capture_output=True, check=True, text=True).stdout)
    blocks = [section for section in info["sections"] if section["type"] == "BLOCK"]
    assert len(blocks) >= 4, blocks
    contents = bytearray(read(image))
    contents[blocks[2]["offset"] + 64 + blocks[2]["compressed_size"] // 2] ^= 0x10
    write(image, contents)
    for options in ("verify=eager", "verify=eager,cachesize=1m,no_cache_files",
                    "verify=lazy,no_cache_files", "verify=lazy,no_cache_files,cachesize=0"):
        with mount.mounted(image, "-o", options) as path:
            for attempt in range(4):  # both errors and right contents stay the same
                failed = set()

                def compare(number):
                    name = f"file{number % 6}"
                    try:
                        found = read(f"{path}/{name}")
                    except OSError as error:
                        assert error.errno == errno.EIO, error
                        failed.add(name)
                        return
                    # With lazy verification the hash is compared after the whole block was
                    # decoded.
                    if attempt > 0 or "eager" in options:
                        assert found == read(f"{tree}/{name}"), (options, name)
                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    list(pool.map(compare, range(24)))
                if attempt > 0 or "eager" in options:
                    assert 1 <= len(failed) <= 3, (options, failed)

subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=False)
suite.finish()
