#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsextract: its effects on a disk, and what it must never do."""
import os
import re
import resource
import signal
import stat
import subprocess

import tap
import walker
from scratch import (NOBODY, extract, file_system, must_fail, must_work, need_root, pack,
                     place, read, scratch, write)

suite = tap.Suite()


def simple_image():
    """An image of a few files in two directories, made once."""
    tap.tool("MKDWARFS")
    tree = place("simple")
    if not os.path.exists(tree):
        write(tree + "/a/one", b"1\n")
        write(tree + "/a/two", b"2\n")
        write(tree + "/b/three", b"3\n")
        write(tree + "/four", b"4\n")
        os.symlink("a/one", tree + "/link")
        pack(tree)
    return tree + ".dwarfs"


# -- the command line -----------------------------------------------------------------------

with suite.case("without arguments it prints its usage"):
    done = extract()
    must_work(done)
    assert "Usage: dwarfsextract" in done.stdout

with suite.case("help and version"):
    assert "--continue-on-error" in extract("--help").stdout
    assert extract("--version").stdout.startswith("dwarfsextract ")

with suite.case("invalid options are refused"):
    must_fail(extract("--no-such-option"), "--no-such-option")
    must_fail(extract("-i", "x", "--perfmon=x"), "'x' for --perfmon")
    must_fail(extract("-i", "x", "--perfmon-trace=x"), "--perfmon-trace needs --perfmon")
    must_fail(extract("-i", "x", "-o", "-"), "needs --format")
    must_fail(extract("-i", "x", "--format-filters=zstd"), "need --format")
    must_fail(extract("-i", "x", "--num-disk-writers=1025"), "--num-disk-writers")
    must_fail(extract("-i", "x", "--set-owner=no such user"), "no such user")
    for option in ("--set-owner", "--set-group"):
        must_fail(extract("-i", "x", option + "=4294967295"),
                  f"'4294967295' for {option}: must be between 0 and 4294967294")
    must_fail(extract("-i", "x", "-ftar", "-ox.tar", "--no-same-owner"), "owners")
    must_fail(extract("-i", "x", "--same-owner", "--no-same-owner"), "mutually exclusive")
    must_fail(extract("-i", "x", "--no-same-owner", "--same-owner"), "mutually exclusive")
    for option in ("--set-owner=5", "--set-group=5"):
        must_fail(extract("-i", "x", "--no-same-owner", option), "--no-same-owner excludes")

with suite.case("a missing file or one that is not an image is named"):
    must_fail(extract("-i", place("nothing")), place("nothing"))
    write(place("no image"), b"hello" * 100)
    must_fail(extract("-i", place("no image"), "-o", place("none")), place("no image"))
    assert not os.path.exists(place("none")), "the target was created"

with suite.case("a plain extraction, image as an argument, into the current directory"):
    image = simple_image()
    os.mkdir(place("here"))
    must_work(extract(image, cwd=place("here")))
    walker.must_agree(walker.describe(place("simple")), walker.describe(place("here")),
                      resolution_ns=10**9)

with suite.case("the progress on standard output ends with 100%"):
    done = extract("-i", simple_image(), "-o", place("progress"), "--stdout-progress")
    must_work(done)
    assert done.stdout.endswith("100%\n"), done.stdout

with suite.case("an image after a prefix, detected or by option"):
    with open(place("prefixed"), "wb") as out:
        out.write(b"#!/bin/sh\n" + b"#" * 1000 + b"\n" + read(simple_image()))
    must_work(extract("-i", place("prefixed"), "-o", place("prefix auto")))
    must_work(extract("-i", place("prefixed"), "-o", place("prefix told"), "-O", "1011"))
    must_fail(extract("-i", place("prefixed"), "-o", place("prefix wrong"), "-O", "7"))
    walker.must_agree(walker.describe(place("simple")), walker.describe(place("prefix told")),
                      resolution_ns=10**9)

# -- existing files --------------------------------------------------------------------------

with suite.case("directories are merged"):
    image = simple_image()
    write(place("merge/a/mine"), b"mine\n")
    os.chmod(place("merge/a"), 0o700)
    must_work(extract("-i", image, "-o", place("merge")))
    assert read(place("merge/a/mine")) == b"mine\n"
    assert read(place("merge/a/one")) == b"1\n"
    before, after = os.stat(place("simple/a")), os.stat(place("merge/a"))
    assert before.st_mode == after.st_mode
    assert int(before.st_mtime) == int(after.st_mtime)

with suite.case("a file that exists is an error and stays"):
    write(place("exists/a/one"), b"mine\n")
    done = extract("-i", simple_image(), "-o", place("exists"))
    must_fail(done, place("exists/a/one"), "File exists")
    assert read(place("exists/a/one")) == b"mine\n"

with suite.case("with --continue-on-error the rest is written, and counted"):
    write(place("exists2/a/one"), b"mine\n")
    write(place("exists2/b"), b"a file where a directory goes\n")
    done = extract("-i", simple_image(), "-o", place("exists2"), "--continue-on-error")
    must_fail(done, place("exists2/a/one"), place("exists2/b"), "3 errors")
    assert read(place("exists2/a/one")) == b"mine\n"
    assert read(place("exists2/a/two")) == b"2\n"
    assert read(place("exists2/four")) == b"4\n"

with suite.case("symbolic links in the target are never followed"):
    outside = place("outside")
    os.mkdir(outside)
    os.mkdir(place("links"))
    os.symlink(outside, place("links/a"))
    os.symlink(os.path.join(outside, "made"), place("links/four"))
    before = os.stat(outside)
    done = extract("-i", simple_image(), "-o", place("links"), "--continue-on-error")
    must_fail(done, place("links/a"), place("links/four"))
    assert os.listdir(outside) == [], os.listdir(outside)
    after = os.stat(outside)
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
    assert os.readlink(place("links/a")) == outside
    assert read(place("links/b/three")) == b"3\n"

with suite.case("links of the image are not followed during the extraction"):
    tree = place("hostile")
    write(tree + "/z/file", b"z\n")
    os.symlink(place("hostile-target"), tree + "/a")
    os.symlink("/", tree + "/root")
    os.symlink("../..", tree + "/up")
    os.mkdir(place("hostile-target"))
    os.chmod(place("hostile-target"), 0o700)
    must_work(extract("-i", pack(tree), "-o", place("hostile out")))
    assert os.readlink(place("hostile out/up")) == "../.."
    assert stat.S_IMODE(os.stat(place("hostile-target")).st_mode) == 0o700

with suite.case("the target may be missing, but not its parent, and has to be a directory"):
    must_fail(extract("-i", simple_image(), "-o", place("no/such/parent")),
              place("no/such/parent"))
    write(place("a file"))
    must_fail(extract("-i", simple_image(), "-o", place("a file")), place("a file"))

# -- attributes -----------------------------------------------------------------------------

with suite.case("directories without write permission, as an ordinary user"):
    tree = place("closed")
    write(tree + "/in/deeper/file", b"x\n", 0o400)
    os.chmod(tree + "/in/deeper", 0o500)
    os.chmod(tree + "/in", 0o555)
    image = pack(tree)
    os.chmod(image, 0o644)
    os.mkdir(place("closed out"))
    how = {}
    if os.geteuid() == 0:
        os.chown(place("closed out"), NOBODY, NOBODY)
        how = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    must_work(extract("-i", image, "-o", place("closed out"), **how))
    made = os.stat(place("closed out/in/deeper"))
    assert stat.S_IMODE(made.st_mode) == 0o500
    assert stat.S_IMODE(os.stat(place("closed out/in")).st_mode) == 0o555
    if os.geteuid() == 0:
        assert (made.st_uid, made.st_gid) == (NOBODY, NOBODY), made

with suite.case("a user does not get a setuid file from one of another owner"):
    need_root()
    tree = place("setuid")
    write(tree + "/theirs", b"x\n", 0o6755)
    write(tree + "/mine", b"x\n", 0o755)
    os.chown(tree + "/mine", NOBODY, NOBODY)
    os.chmod(tree + "/mine", 0o6711)
    image = pack(tree)
    os.mkdir(place("setuid out"))
    os.chown(place("setuid out"), NOBODY, NOBODY)
    must_work(extract("-i", image, "-o", place("setuid out"), user=NOBODY, group=NOBODY,
                      extra_groups=[]))
    assert stat.S_IMODE(os.stat(place("setuid out/theirs")).st_mode) == 0o755
    assert stat.S_IMODE(os.stat(place("setuid out/mine")).st_mode) == 0o6711
    must_work(extract("-i", image, "-o", place("setuid root")))
    theirs, mine = os.stat(place("setuid root/theirs")), os.stat(place("setuid root/mine"))
    assert stat.S_IMODE(theirs.st_mode) == 0o6755 and theirs.st_uid == 0
    assert stat.S_IMODE(mine.st_mode) == 0o6711 and mine.st_uid == NOBODY

with suite.case("a directory of another owner keeps its mode, with a warning"):
    need_root()
    os.mkdir(place("shared out"))
    os.chmod(place("shared out"), 0o777)
    done = extract("-i", simple_image(), "-o", place("shared out"), user=NOBODY, group=NOBODY,
                   extra_groups=[])
    assert done.returncode == 0 and "warning" in done.stderr, done
    assert stat.S_IMODE(os.stat(place("shared out")).st_mode) == 0o777
    assert read(place("shared out/a/one")) == b"1\n"

with suite.case("devices and specials can be left out; without rights they are errors"):
    need_root()
    tree = place("special")
    os.mkdir(tree)
    os.mkfifo(tree + "/fifo", 0o640)
    os.mknod(tree + "/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    write(tree + "/file")
    image = pack(tree, "-l0", "--with-devices", "--with-specials")
    must_work(extract("-i", image, "-o", place("special out")))
    null = os.stat(place("special out/null"))
    assert stat.S_ISCHR(null.st_mode) and null.st_rdev == os.makedev(1, 3)
    assert stat.S_ISFIFO(os.stat(place("special out/fifo")).st_mode)
    must_work(extract("-i", image, "-o", place("special none"), "--skip-devices",
                      "--skip-specials"))
    assert os.listdir(place("special none")) == ["file"]
    os.mkdir(place("special user"))
    os.chown(place("special user"), NOBODY, NOBODY)
    done = extract("-i", image, "-o", place("special user"), "--continue-on-error",
                   user=NOBODY, group=NOBODY, extra_groups=[])
    must_fail(done, place("special user/null"), "1 error")
    assert sorted(os.listdir(place("special user"))) == ["fifo", "file"]

with suite.case("holes are preserved, large ones too"):
    tree = place("sparse")
    os.mkdir(tree)
    with open(tree + "/huge", "wb") as out:
        out.write(b"begin")
        out.seek(1 << 36)
        out.write(b"end")
    with open(tree + "/all hole", "wb") as out:
        out.truncate(1 << 33)
    with open(tree + "/hole at the end", "wb") as out:
        out.write(b"x" * 5000)
        out.truncate(1 << 30)
    done = extract("-i", pack(tree), "-o", place("sparse out"))
    must_work(done)
    for name in os.listdir(tree):
        before, after = os.stat(f"{tree}/{name}"), os.stat(place("sparse out/") + name)
        assert before.st_size == after.st_size
        assert after.st_blocks * 512 < 1 << 20, (name, after.st_blocks)
    with open(place("sparse out/huge"), "rb") as made:
        assert made.read(8) == b"begin\0\0\0"
        made.seek(1 << 36)
        assert made.read() == b"end"

with suite.case("formats up to 2.2: entries with their own attributes are their own files"):
    for name in ("compat-v0.2.0", "compat-v0.3.0"):
        out = place(name)
        must_work(extract("-i", tap.data("images", name + ".dwarfs"), "-o", out,
                          "--skip-devices"))
        same = [os.stat(f"{out}/{path}") for path in
                ("bench.sh", "foo/bla.sh", "foo/1/2/3/4/5/6/7/8/9/blubb")]
        other = os.stat(out + "/foo/1/2/3/4/5/z")
        assert len({found.st_ino for found in same}) == 1
        assert other.st_ino != same[0].st_ino
        assert (int(other.st_mtime), int(same[0].st_mtime)) == (1616013759, 1606301923)
        assert read(out + "/bench.sh") == read(out + "/foo/1/2/3/4/5/z")

# -- limits ---------------------------------------------------------------------------------


def make_deep(root, levels, name):
    """A chain of directories, each with a file; paths become longer than the system allows."""
    os.mkdir(root)
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for level in range(levels):
        os.mkdir(name, dir_fd=here)
        inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inside
        fd = os.open("file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=here)
        os.write(fd, b"%d\n" % level)
        os.close(fd)
        if level == levels - 1:
            os.link("file", "same file", src_dir_fd=here, dst_dir_fd=here)
    os.close(here)


def check_deep(root, levels, name):
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for level in range(levels):
        inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
        os.close(here)
        here = inside
        fd = os.open("file", os.O_RDONLY, dir_fd=here)
        assert os.read(fd, 100) == b"%d\n" % level
        os.close(fd)
    assert os.stat("file", dir_fd=here).st_nlink == 2
    assert stat.S_IMODE(os.fstat(here).st_mode) == 0o755
    os.close(here)


for levels, name in ((400, "d" * 200), (4000, "d")):
    with suite.case(f"{levels} nested directories, with few descriptors"):
        tree = place(f"deep {levels}")
        os.umask(0o022)
        make_deep(tree, levels, name)
        image = pack(tree)
        done = extract("-i", image, "-o", tree + " out", preexec_fn=lambda:
                       resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160)))
        must_work(done)
        check_deep(tree + " out", levels, name)

with suite.case("a full disk is reported with the file, which is removed"):
    tree = place("large")
    for number in range(8):
        write(f"{tree}/file{number}", tap.random_bytes(300000))
    image = pack(tree, "-l0")
    with file_system("size=1m") as disk:
        done = extract("-i", image, "-o", disk)
        must_fail(done, "No space left on device", disk + "/file")
        for name in os.listdir(disk):
            assert read(f"{disk}/{name}") == read(f"{tree}/{name}"), name
        assert 0 < len(os.listdir(disk)) < 8

with suite.case("hard links beyond the limit of the disk become copies"):
    need_root()
    tree = place("many links")
    write(tree + "/0", b"linked\n")
    limit = os.pathconf(tree, "PC_LINK_MAX")
    if limit > 70000:
        raise tap.Skip(f"{limit} links are possible here")
    for number in range(1, limit):
        os.link(tree + "/0", f"{tree}/{number}")
    image = pack(tree)
    must_work(extract("-i", image, "-o", place("many links out")))
    assert os.stat(place("many links out/0")).st_nlink == limit

with suite.case("the result is the same for any number of workers and any cache"):
    tree = place("workers")
    common = tap.random_bytes(150000)
    for index in range(40):
        # Parts of the first file recur, so that files are spread over blocks.
        write(f"{tree}/{index % 7}/{index}", common[index * 1000:index * 1000 + 60000] +
              tap.random_bytes(5000 + index * 777) + common[:30000])
    write(tree + "/first", common)
    write(tree + "/empty")
    with open(tree + "/holes", "wb") as out:
        out.truncate(3 << 20)
        out.seek(1 << 20)
        out.write(common)
    os.link(tree + "/first", tree + "/5/again")
    image = pack(tree, "-l1", "-S17")
    for words in (["-n0"], ["-n", "1"], ["--num-workers=5"], ["-n3", "-s", "0"], ["-s100k"]):
        target = place("workers " + "".join(words))
        must_work(extract("-i", image, "-o", target, *words))
        walker.must_agree(walker.describe(tree), walker.describe(target),
                          resolution_ns=10**9)
        assert os.stat(target + "/first").st_nlink == 2
        assert os.stat(target + "/holes").st_blocks * 512 < 1 << 20
    must_fail(extract("-i", image, "-n", "x"), "num-workers")

with suite.case("files that are spread over blocks are complete, or absent"):
    with open(image, "r+b") as file:
        file.seek(400000)
        byte = file.read(1)
        file.seek(400000)
        file.write(bytes([byte[0] ^ 1]))
    target = place("workers damaged")
    done = extract("-i", image, "-o", target, "--continue-on-error", "-n2")
    must_fail(done, "extraction finished with")
    lost = 0
    for path, dirs, names in os.walk(tree):
        for name in names:
            full = os.path.join(path, name)
            made = target + full[len(tree):]
            if os.path.exists(made):
                assert read(full) == read(made), made
            else:
                assert made in done.stderr, done.stderr
                lost += 1
    assert 0 < lost < 40, lost
    target = place("workers stopped")
    must_fail(extract("-i", image, "-o", target, "-n2"), "extraction aborted")
    for path, dirs, names in os.walk(target):
        for name in names:
            made = os.path.join(path, name)
            assert read(made) == read(tree + made[len(target):]), made

with suite.case("a damaged block loses only its files"):
    tree = place("damaged")
    for number in range(6):
        write(f"{tree}/file{number}", tap.random_bytes(1 << 20))
    image = pack(tree, "-l0")
    with open(image, "r+b") as file:
        where = read(image).find(read(tree + "/file3")[1000:1100])
        assert where > 0
        file.seek(where)
        file.write(bytes([read(tree + "/file3")[1000] ^ 1]))
    done = extract("-i", image, "-o", place("damaged stop"))
    must_fail(done, place("damaged stop/file"))
    done = extract("-i", image, "-o", place("damaged on"), "--continue-on-error")
    must_fail(done, place("damaged on/file3"))
    made = os.listdir(place("damaged on"))
    assert "file3" not in made and len(made) >= 4, made
    for name in made:
        assert read(place("damaged on/") + name) == read(f"{tree}/{name}")

with suite.case("a signal stops it, and the incomplete file is removed"):
    tree = place("slow")
    os.mkdir(tree)
    with open(tree + "/zeros", "wb") as out:
        out.truncate(1 << 30)
    image = pack(tree, "-l1", "--no-sparse-files")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        out = place(f"slow {number}")
        with subprocess.Popen([tap.tool("DWARFSEXTRACT"), "-i", image, "-o", out,
                               "--stdout-progress"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            first = byte = process.stdout.read(1)
            while byte and not re.search(rb" [1-9][0-9]?%", first):
                byte = process.stdout.read(1)
                first += byte
            process.send_signal(number)
            errors = process.stderr.read()
            code = process.wait(timeout=20)
        assert first[-1:] == b"%", first
        assert code == 1 and b"cancelled" in errors, (code, errors)
        assert os.listdir(out) == [], os.listdir(out)

subprocess.run(["chmod", "-R", "u+rwx", scratch], check=False, stderr=subprocess.DEVNULL)
subprocess.run(["rm", "-rf", scratch], check=False)
suite.finish()
