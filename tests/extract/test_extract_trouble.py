#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsextract: killed, on a full disk, in directories without write permission, and against an
attacker."""
import contextlib
import json
import os
import pwd
import re
import resource
import signal
import stat
import subprocess
import threading
import time

import faults
import rich
import tap
import walker
from scratch import (NOBODY, extract, file_system, must_fail, must_work, need_root, pack,
                     place, read, remove_tree, scratch, with_names, write)

suite = tap.Suite()

AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def files_below(root):
    for folder, _, names in os.walk(root):
        for name in names:
            yield os.path.join(folder, name)


def spread_tree():
    """Small and large files, most of which share parts, so that they are in many blocks."""
    tree = place("spread")
    if not os.path.exists(tree):
        common = tap.random_bytes(1 << 20)
        for index in range(60):
            write(f"{tree}/{index % 6}/{index % 3}/small{index}", tap.random_bytes(index * 500))
            if index % 5 == 0:
                write(f"{tree}/{index % 6}/large{index}",
                      common[index * 999:] + tap.random_bytes(900000) + common[:500000])
        pack(tree, "-l1", "-S16")
    return tree


# -- one tree, many threads -----------------------------------------------------------------

with suite.case("the same tree with 1 to 8 threads, and with more writers"):
    tree = place("rich")
    rich.make(tree)
    image = pack(tree, "-l1", "-S16", "--keep-all-times", "--time-resolution=1ns",
                 *(("--with-devices", "--with-specials") if os.geteuid() == 0 else ()))
    want = None
    for words in (["-n0"], ["-n1"], ["-n2"], ["-n3"], ["-n8"], ["-n0", "--num-disk-writers=3"],
                  ["-n2", "--num-disk-writers=6"]):
        target = place("rich " + "".join(words).replace("-", ""))
        must_work(extract("-i", image, "-o", target, *words))
        got = walker.describe(target)
        want = want or got
        walker.must_agree(want, got, holes=True)
    walker.must_agree(walker.describe(tree), want, columns=["type", "mode", "size", "sha256",
                                                            "target", "mtime"])

with suite.case("no temporary file remains when no directory can be opened"):
    tree = place("faulty")
    write(tree + "/a/b/c/large", tap.random_bytes(3 << 20))
    write(tree + "/a/b/other", tap.random_bytes(3 << 20))
    write(tree + "/d/small", b"small")
    image, lost = pack(tree, "-l0", "-S16"), 0
    for number in [*range(1, 40), 1000000]:
        target = place(f"out {number}")
        done = extract("-i", image, "-o", target, "-n2", "--continue-on-error",
                       env=faults.environment(f"openat:{number}"))
        assert done.returncode in (0, 1), done
        lost += done.returncode == 1
        for path in files_below(target):
            assert not os.path.basename(path).startswith(".dwarfs-"), (number, path)
            assert read(path) == read(path.replace(target, tree)), (number, path)
    assert 5 < lost < 40, lost

with suite.case("a failed run does not change existing files"):
    tree, target = place("newer"), place("was there")
    write(tree + "/sub/dir/file", b"new")
    os.chmod(tree + "/sub", 0o755)
    write(target + "/sub/dir/file", b"old")
    os.chmod(target, 0o751)
    os.chmod(target + "/sub", 0o740)
    os.utime(target + "/sub", (5, 5))
    image = pack(tree)
    must_fail(extract("-i", image, "-o", target), "sub/dir/file")
    found = os.stat(target + "/sub")
    assert (found.st_mode & 0o7777, found.st_mtime) == (0o740, 5), found
    assert os.stat(target).st_mode & 0o7777 == 0o751
    with open(target + "/sub/dir/file", "rb") as file:
        assert file.read() == b"old"
    # With --continue-on-error existing directories get the attributes of the image.
    must_fail(extract("-i", image, "-o", target, "--continue-on-error"), "sub/dir/file")
    assert os.stat(target + "/sub").st_mode & 0o7777 == 0o755

with suite.case("many directories, so that they are made by several threads"):
    tree = place("wide")
    for number in range(900):
        write(f"{tree}/{number % 30}/{number}/file", b"%d" % number)
        os.chmod(f"{tree}/{number % 30}/{number}", (0o755, 0o500, 0o711)[number % 3])
        os.symlink("file", f"{tree}/{number % 30}/link{number}")
    image = pack(tree)
    for words in (["-n1"], ["-n4"]):
        target = place("wide out" + words[0])
        must_work(extract("-i", image, "-o", target, *words))
        walker.must_agree(walker.describe(tree), walker.describe(target),
                          columns=["type", "mode", "mtime", "sha256", "target"],
                          resolution_ns=10**9)

with suite.case("the umask does not show"):
    tree = place("wide/3")
    image = pack(tree)
    for mask in (0o000, 0o077, 0o027):
        target = place(f"umask {mask:o}")
        must_work(extract("-i", image, "-o", target, umask=mask))
        walker.must_agree(walker.describe(tree), walker.describe(target),
                          columns=["type", "mode", "mtime"], resolution_ns=10**9)

# -- interrupted ----------------------------------------------------------------------------

with suite.case("killed at any time: files with final names are complete, old ones unchanged"):
    tree = spread_tree()
    image = tree + ".dwarfs"
    complete, temporaries = 0, 0
    for attempt in range(24):
        target = place(f"killed {attempt}")
        write(target + "/mine", b"mine\n")
        write(target + "/0/mine", b"mine\n")
        with subprocess.Popen([tap.tool("DWARFSEXTRACT"), "-i", image, "-o", target, "-n3"],
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(0.001 * attempt)
            process.kill()
        assert read(target + "/mine") == b"mine\n" == read(target + "/0/mine")
        for path in files_below(target):
            if os.path.basename(path) == "mine":
                continue
            if os.path.basename(path).startswith(".dwarfs-"):
                temporaries += 1
                continue
            original = tree + path[len(target):]
            assert read(path) == read(original), path
            assert int(os.stat(path).st_mtime) == int(os.stat(original).st_mtime), path
            complete += 1
    print(f"# {complete} files were complete, {temporaries} temporary names were left")

with suite.case("killed at each write: no file has its name before it is complete"):
    tree = place("steps")
    for index in range(4):
        write(f"{tree}/small{index}", tap.random_bytes(5000 + index))
    image = pack(tree, "-l1")
    left, number, ended = 0, 0, False
    while not ended:
        number += 1
        target = place(f"step {number}")
        done = extract("-i", image, "-o", target, "-n1",
                       env=faults.environment(f"kill:{number}"))
        ended = done.returncode == 0
        assert ended or done.returncode == -9, done
        for path in files_below(target):
            if os.path.basename(path).startswith(".dwarfs-"):
                left += 1
            else:
                assert read(path) == read(tree + path[len(target):]), (number, path)
    assert (left, number) == (4, 5), (left, number)

with suite.case("after a failure or a signal no temporary name remains"):
    tree = spread_tree()
    image = tree + ".dwarfs"
    target = place("taken")
    write(target + "/5/large5", b"mine\n")
    write(target + "/1/1/small1", b"mine\n")
    done = extract("-i", image, "-o", target, "-n3", "--continue-on-error")
    must_fail(done, "/5/large5", "/1/1/small1", "File exists", "2 errors")
    assert read(target + "/5/large5") == b"mine\n" == read(target + "/1/1/small1")
    for path in files_below(target):
        if read(path) != b"mine\n":
            assert read(path) == read(tree + path[len(target):]), path
    assert len(list(files_below(target))) == len(list(files_below(tree)))
    for attempt in range(8):
        target = place(f"stopped {attempt}")
        with subprocess.Popen([tap.tool("DWARFSEXTRACT"), "-i", image, "-o", target, "-n2"],
                              stderr=subprocess.PIPE) as process:
            time.sleep(0.005 + 0.002 * attempt)
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
        if process.returncode == -signal.SIGTERM:
            continue  # before it could be caught
        for path in files_below(target) if os.path.exists(target) else ():
            assert read(path) == read(tree + path[len(target):]), path

# -- no space -------------------------------------------------------------------------------

with suite.case("a disk that becomes full: existing files are complete"):
    tree = spread_tree()
    for size in ("3m", "9m"):
        for words in (["-n1"], ["-n4"], ["-n4", "--continue-on-error"]):
            with file_system(f"size={size}") as target:
                done = extract("-i", tree + ".dwarfs", "-o", target, *words)
                must_fail(done, "No space left on device", target + "/")
                for path in files_below(target):
                    assert read(path) == read(tree + path[len(target):]), path

with suite.case("a disk without free inodes"):
    with file_system("nr_inodes=40") as target:
        done = extract("-i", spread_tree() + ".dwarfs", "-o", target)
        must_fail(done, "No space left on device", "cannot make the")
        for path in files_below(target):
            assert read(path) == read(spread_tree() + path[len(target):]), path

with suite.case("a limit for the size of files"):
    tree = spread_tree()
    target = place("limited")
    done = extract("-i", tree + ".dwarfs", "-o", target, "--continue-on-error", preexec_fn=lambda:
                   resource.setrlimit(resource.RLIMIT_FSIZE, (600000, 600000)))
    must_fail(done, "File too large", "/large5", "12 errors")
    left = {path[len(target):] for path in files_below(target)}
    assert left == {path[len(tree):] for path in files_below(tree) if "large" not in path}

with suite.case("a target that cannot be written to"):
    with file_system("ro") as target:
        must_fail(extract("-i", spread_tree() + ".dwarfs", "-o", target),
                  "Read-only file system")
        must_fail(extract("-i", spread_tree() + ".dwarfs", "-o", target + "/new"),
                  "Read-only file system", target + "/new")

with suite.case("an existing directory without write permission"):
    tree = spread_tree()
    os.chmod(tree + ".dwarfs", 0o644)
    target = place("readonly")
    os.makedirs(target + "/1/1")
    os.makedirs(target + "/2")
    how = {}
    if os.geteuid() == 0:
        how = AS_NOBODY
        for folder in ("", "/1", "/1/1", "/2"):
            os.chown(target + folder, NOBODY, NOBODY)
    os.chmod(target + "/1/1", 0o555)
    done = extract("-i", tree + ".dwarfs", "-o", target, "--continue-on-error", **how)
    must_fail(done, target + "/1/1/small", "Permission denied")
    assert os.listdir(target + "/1/1") == []
    assert read(target + "/2/2/small2") == read(tree + "/2/2/small2")

with suite.case("names that the target cannot hold"):
    need_root()
    tree = place("names")
    for name in ("plain", "colon:in it", "star*", "question?"):
        write(f"{tree}/{name}", name.encode())
    os.symlink("plain", tree + "/link")
    image = pack(tree)
    store = place("fat")
    write(store)
    os.truncate(store, 4 << 20)
    try:
        subprocess.run(["mkfs.vfat", store], check=True, capture_output=True)
    except FileNotFoundError:
        raise tap.Skip("no mkfs.vfat") from None
    with file_system("loop", kind="vfat", source=store) as target:
        done = extract("-i", image, "-o", target, "--continue-on-error", "--no-same-owner")
        must_fail(done, target + "/colon:in it", target + "/star*", target + "/link")
        assert read(target + "/plain") == b"plain"

# -- against an attacker --------------------------------------------------------------------

with suite.case("links that another process creates meanwhile are not followed"):
    tree = place("moving")
    for number in range(400):
        write(f"{tree}/{number % 20}/{number}/file", b"x" * 5000)
    image = pack(tree)
    outside = place("moving outside")
    os.mkdir(outside)
    os.chmod(outside, 0o700)
    before = os.stat(outside)
    swaps = 0
    for attempt in range(6):
        target = place(f"moving out {attempt}")
        os.mkdir(target)
        ended = threading.Event()

        def swap():
            global swaps
            while not ended.is_set():
                for number in range(20):
                    with contextlib.suppress(OSError):
                        os.rename(f"{target}/{number}", f"{target}/away{number}")
                        os.symlink(outside, f"{target}/{number}")
                        swaps += 1

        thread = threading.Thread(target=swap)
        thread.start()
        done = extract("-i", image, "-o", target, "-n2", "--continue-on-error")
        ended.set()
        thread.join()
        assert done.returncode in (0, 1), done
    after = os.stat(outside)
    assert os.listdir(outside) == [], os.listdir(outside)
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    print(f"# {swaps} directories were replaced by links")

with suite.case("names that lead outside of the target are refused, the rest is written"):
    tree = place("evil")
    for name in ("Q1", "W2/inner", "AA_etc_BB", "S", "good", "dir/good"):
        write(f"{tree}/{name}", name.encode())
    os.symlink(place("evil link target"), tree + "/Z9link")
    # Times could have the bytes of a name.
    image = with_names(pack(tree, "-l1", "--pack-metadata=none", "--set-time=1",
                            "--no-create-timestamp"),
                       {b"Q1": b"..", b"W2": b"..", b"AA_etc_BB": b"../etc/BB"})
    for words in (["-n1"], ["-n4"]):
        nest = place("evil nest" + words[0])
        os.mkdir(nest)
        done = extract("-i", image, "-o", nest + "/out", "--continue-on-error", *words)
        assert done.returncode == 1, done
        assert os.listdir(nest) == ["out"], os.listdir(nest)
        left = {path[len(nest):] for path in files_below(nest)}
        assert left <= {"/out/S", "/out/good", "/out/dir/good", "/out/Z9link"}, left
        assert not os.path.exists(place("evil link target"))

with suite.case("a fifo, a device or a link in place of a file is not changed"):
    tree = spread_tree()
    target = place("in the way")
    os.makedirs(target + "/5")
    os.makedirs(target + "/1/1")
    os.mkfifo(target + "/5/large5")
    os.symlink(place("nowhere"), target + "/1/1/small1")
    os.symlink("/dev/null", target + "/0")
    done = extract("-i", tree + ".dwarfs", "-o", target, "--continue-on-error")
    must_fail(done, "/5/large5", "/1/1/small1", target + "/0: ")
    assert stat.S_ISFIFO(os.lstat(target + "/5/large5").st_mode)
    assert not os.path.exists(place("nowhere"))
    assert os.readlink(target + "/0") == "/dev/null"

# -- owners ---------------------------------------------------------------------------------


def owned_image():
    tree = place("owned")
    if not os.path.exists(tree):
        write(tree + "/in/theirs", b"x", 0o4755)
        write(tree + "/in/group", b"x", 0o2755)
        write(tree + "/mine", b"x")
        os.symlink("mine", tree + "/link")
        os.chown(tree + "/mine", 12345, 54321)
        pack(tree)
    return tree + ".dwarfs"


with suite.case("owners by name and by number"):
    need_root()
    user = pwd.getpwuid(NOBODY).pw_name
    must_work(extract("-i", owned_image(), "-o", place("as image")))
    made = os.stat(place("as image/mine"))
    assert (made.st_uid, made.st_gid) == (12345, 54321)
    for number, (words, uid, gid) in enumerate((
            ([f"--set-owner={user}"], NOBODY, 0),
            (["--set-owner=77", "--set-group=78"], 77, 78),
            (["--set-group", "78"], 0, 78))):
        target = place(f"owned {number}")
        must_work(extract("-i", owned_image(), "-o", target, *words))
        for name in ("", "/in", "/in/theirs", "/link"):
            made = os.lstat(target + name)
            assert (made.st_uid, made.st_gid) == (uid, gid), (words, name, made)
        made = os.stat(target + "/in/theirs")
        assert bool(made.st_mode & stat.S_ISUID) == (uid == 0), (words, made)
        made = os.stat(target + "/in/group")
        assert bool(made.st_mode & stat.S_ISGID) == (gid == 0), (words, made)

with suite.case("directories do not inherit the setgid bit of the target's parent"):
    need_root()
    tree, parent = place("modes"), place("with setgid")
    for name, mode in (("usual", 0o755), ("private", 0o700), ("group", 0o2755)):
        os.makedirs(f"{tree}/{name}")
        os.chmod(f"{tree}/{name}", mode)
    pack(tree)
    os.mkdir(parent)
    os.chown(parent, 0, 5)
    os.chmod(parent, 0o2755)
    must_work(extract("-i", tree + ".dwarfs", "-o", parent + "/out"))
    for name in ("", "/usual", "/private", "/group"):
        made, given = os.stat(parent + "/out" + name), os.stat(tree + name)
        assert made.st_mode == given.st_mode and made.st_gid == 0, (name, made)

with suite.case("without owners files belong to the user, without setuid bits of others"):
    need_root()
    target = place("not same")
    must_work(extract("-i", owned_image(), "-o", target, "--no-same-owner"))
    assert os.stat(target + "/mine").st_uid == 0
    assert os.stat(target + "/in/theirs").st_mode & 0o7777 == 0o4755  # it was root's

with suite.case("without root, owners that cannot be set are reported, and files are written"):
    need_root()
    target = place("insists")
    os.mkdir(target)
    os.chown(target, NOBODY, NOBODY)
    done = extract("-i", owned_image(), "-o", target, "--same-owner", "--continue-on-error",
                   **AS_NOBODY)
    must_fail(done, "cannot set the owner", target + "/mine")
    assert read(target + "/mine") == b"x"
    must_work(extract("-i", owned_image(), "-o", target + "/own", f"--set-owner={NOBODY}",
                      f"--set-group={NOBODY}", **AS_NOBODY))

# -- damage, and times ----------------------------------------------------------------------

with suite.case("without verification a damaged block is extracted unchanged"):
    tree = place("flipped")
    write(tree + "/file", tap.random_bytes(100000))
    image = pack(tree, "-l0")
    contents = read(image)
    where = contents.find(read(tree + "/file")[:64]) + 1000
    with open(image, "r+b") as out:
        out.seek(where)
        out.write(bytes([contents[where] ^ 1]))
    must_fail(extract("-i", image, "-o", place("flipped 1")), "XXH3")
    must_work(extract("-i", image, "-o", place("flipped 2"), "--disable-integrity-check"))
    made, was = read(place("flipped 2/file")), read(tree + "/file")
    assert sum(a != b for a, b in zip(made, was)) == 1 and len(made) == len(was)

with suite.case("times of the parts of the work, and a trace of them"):
    trace = place("trace.json")
    done = extract("-i", spread_tree() + ".dwarfs", "-o", place("timed"), "-n2",
                   "--perfmon=filesystem_v2+block_cache", "--perfmon-trace", trace)
    assert done.returncode == 0, done
    assert "[filesystem_v2.extracting]" in done.stderr, done.stderr
    found = re.search(r"\[block_cache\.decode\] (\d+) times", done.stderr)
    assert found, done.stderr
    events = json.loads(read(trace))["traceEvents"]
    assert sum(event["name"] == "decode" for event in events) == int(found[1])
    assert {event["cat"] for event in events} == {"filesystem_v2", "block_cache"}
    assert all(event["dur"] >= 0 and event["ph"] == "X" for event in events)
    done = extract("-i", spread_tree() + ".dwarfs", "-o", place("timed 3"), "--perfmon=inode_reader_v2")
    assert done.returncode == 0 and "[inode_reader_v2.read] 0 times\n" in done.stderr, done
    must_fail(extract("-i", spread_tree() + ".dwarfs", "-o", place("timed 2"), "--perfmon",
                      "block_cache", "--perfmon-trace", place("no/such/folder")),
              place("no/such/folder"))

with suite.case("messages with the time and the thread"):
    done = extract("-i", spread_tree() + ".dwarfs", "-o", place("timed"), "--log-with-context",
                   "--continue-on-error")
    assert done.returncode == 1, done
    for line in done.stderr.splitlines():
        assert re.match(r"dwarfsextract: \[\d+\.\d{6} \d+\] .", line), line

remove_tree()
suite.finish()
