#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfs: which requests the kernel makes, and where they are served."""
import collections
import contextlib
import importlib.machinery
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import mount
import tap
from scratch import pack, place, scratch, write

suite = tap.Suite()
try:
    DRIVER = mount.available()
    tap.tool("MKDWARFS")
except tap.Skip as why:
    tap.skip_all(str(why))
CPUS = sorted(os.sched_getaffinity(0))


def statistics(path):
    return json.loads(os.getxattr(path, "user.dwarfs.driver.perfmon"))


def need_two_cpus():
    if len(CPUS) < 2:
        raise tap.Skip("needs two CPUs")


def driver_of(path):
    return int(os.getxattr(path, "user.dwarfs.driver.pid"))


def affinities(pid):
    """The CPUs that each thread of a process may use."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            found.append(os.sched_getaffinity(int(task)))
    return found


# Reads a CPU or nothing from each line, moves there, looks up a name that is not there, so that
# each time a request is made, and writes a line.
CALLER = """
import os, sys
for number, line in enumerate(sys.stdin):
    if line.strip():
        os.sched_setaffinity(0, [int(line)])
    assert not os.path.lexists(f"{sys.argv[1]}/missing {os.getpid()} {number}")
    print("done", flush=True)
"""


class Caller:
    """A process that makes one request when it is told to."""

    def __init__(self, path):
        self.process = subprocess.Popen([sys.executable, "-c", CALLER, path], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def request(self, cpu=""):
        self.process.stdin.write(f"{cpu}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


write(place("tree") + "/file", b"contents")
IMAGE = pack(place("tree"))

with suite.case("requests of one process are served on its CPU, also after it has moved"):
    need_two_cpus()
    for mode in ("auto", "caller"):
        with mount.mounted(IMAGE, "-o", "busy_poll=off,affinity=" + mode) as path, \
                Caller(path) as caller:
            pid = driver_of(path)
            for cpu in (CPUS[0], CPUS[1], CPUS[0]):
                caller.request(cpu)
                for _ in range(200):
                    caller.request()
                assert {cpu} in affinities(pid), (cpu, affinities(pid))

with suite.case("concurrent requests are served on any CPU, unless forced"):
    need_two_cpus()
    for mode, spreads in (("auto", True), ("caller", False)):
        with mount.mounted(IMAGE, "-o", "busy_poll=off,affinity=" + mode) as path, \
                Caller(path) as one, Caller(path) as other:
            one.request(CPUS[0])
            other.request(CPUS[1])
            for _ in range(200):
                one.request()
                other.request()
            known = statistics(path)["affinity"]
            assert (known["cpu"] == -1) == spreads, known
            assert (known["concurrent_requests"] > 0) == spreads, known
            pid = driver_of(path)
            for _ in range(200):  # and again for one process
                one.request()
            assert {CPUS[0]} in affinities(pid), affinities(pid)

with suite.case("no thread changes its CPUs with affinity=none, or where there is only one"):
    for options, allowed in (("affinity=none", set(CPUS)), ("affinity=auto", {CPUS[-1]}),
                             ("affinity=caller", {CPUS[-1]})):
        os.sched_setaffinity(0, allowed)  # what the driver is started with
        try:
            with mount.mounted(IMAGE, "-o", options) as path:
                os.sched_setaffinity(0, CPUS)
                with Caller(path) as caller:
                    caller.request(CPUS[0])
                    for _ in range(100):
                        caller.request()
                    known = statistics(path)["affinity"]
                    assert known == {"cpu": -1, "queries": 0, "moves": 0,
                                     "concurrent_requests": 0}, known
                    assert set(map(frozenset, affinities(driver_of(path)))) == {
                        frozenset(allowed)}
        finally:
            os.sched_setaffinity(0, CPUS)

with suite.case("CPUs that the driver gets later are respected"):
    need_two_cpus()
    with mount.mounted(IMAGE, "-o", "affinity=auto,busy_poll=off") as path, Caller(path) as caller:
        pid = driver_of(path)
        caller.request(CPUS[0])
        for _ in range(100):
            caller.request()
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {CPUS[1]})
        for _ in range(1000):
            caller.request()
        assert all(found == {CPUS[1]} for found in affinities(pid)), affinities(pid)

POLL_SECONDS = 120  # after which a thread is taken not to poll

with suite.case("a thread polls for requests that come soon, if it may and has a second CPU"):
    need_two_cpus()
    for options in ("affinity=none", "affinity=auto", "affinity=auto,max_threads=1"):
        with mount.mounted(IMAGE, "-o", options) as path:
            limit = time.monotonic() + POLL_SECONDS
            number = 0
            while statistics(path)["busy_poll"]["found"] == 0:
                assert time.monotonic() < limit, options
                for number in range(number, number + 100):
                    assert not os.path.lexists(f"{path}/none {number}")
    # Forced: for each request, also if it comes late, and on one CPU.
    os.sched_setaffinity(0, [CPUS[0]])
    try:
        with mount.mounted(IMAGE, "-o", "busy_poll=on") as path:
            for number in range(20):
                time.sleep(0.01)
                assert not os.path.lexists(f"{path}/none {number}")
            assert sum(statistics(path)["busy_poll"].values()) >= 20, statistics(path)
    finally:
        os.sched_setaffinity(0, CPUS)
    for options, allowed in (("affinity=none,busy_poll=off", CPUS), ("affinity=none", [CPUS[0]]),
                             ("affinity=none,clone_fd", CPUS)):
        os.sched_setaffinity(0, allowed)  # what the driver is started with
        try:
            with mount.mounted(IMAGE, "-o", options) as path:
                os.sched_setaffinity(0, CPUS)
                for number in range(1000):
                    assert not os.path.lexists(f"{path}/none {number}")
                found = statistics(path)["busy_poll"]
                assert found == {"found": 0, "given_up": 0}, (options, found)
        finally:
            os.sched_setaffinity(0, CPUS)

with suite.case("requests by io_uring: if that is demanded, or wanted and possible"):
    for option in ("", "io_uring=off,"):
        with mount.mounted(IMAGE, "-o", option + "affinity=auto") as path:
            assert statistics(path)["io_uring"] == {"is_used": False, "requests": 0}
    with mount.mounted(IMAGE, "-o", "io_uring=try") as path, Caller(path) as caller:
        caller.request()
        found = statistics(path)
        is_used = found["io_uring"]["is_used"]
        assert (found["io_uring"]["requests"] > 0) == is_used, found
    if is_used:
        with mount.mounted(IMAGE, "-o", "io_uring=on,affinity=caller") as path, \
                Caller(path) as caller:
            for cpu in CPUS:
                for _ in range(100):
                    caller.request(cpu)
            found = statistics(path)
            assert found["io_uring"]["requests"] >= 100 * len(CPUS), found
            assert found["affinity"]["moves"] == 0, found
    else:
        refused = subprocess.run([DRIVER, IMAGE, place("tree"), "-o", "io_uring=on"], text=True,
                                 stderr=subprocess.PIPE, check=False)
        assert refused.returncode == 1, refused
        assert re.fullmatch("dwarfs: -o io_uring=on: (this libfuse does not have it"
                            "|the kernel does not offer it: .*|it cannot be started)\n",
                            refused.stderr), refused
        assert not os.path.ismount(place("tree")), "mounted"

# -- how many requests are made -------------------------------------------------------------

SUFFIXES = len(importlib.machinery.all_suffixes())
FOLDERS, FILES = 20, 10  # so few that a page has room for the list of each folder
SIZES = [1, 100, 4096, 5000, 20000, 70000, 131072]
# What the kernel asks once.
KEPT = ("readdirplus", "readlink", "read", "lookup", "open", "opendir")
# What begins and ends a mount, in tests.
ENDS = {"init": 1, "statfs": 3, "getattr": 6, "getxattr": 8, "destroy": 1}


def nested_tree():
    """Folders in folders, each with the same number of files, and one link."""
    tree = place("nested")
    if not os.path.exists(tree):
        folder = tree
        for number in range(FOLDERS):
            for file in range(FILES):
                write(f"{folder}/file{file}", bytes([file]) * SIZES[(number + file) % len(SIZES)])
            os.symlink("file0", folder + "/link")
            write(f"{folder}/module{number}.py",
                  f"import package.module{number + 1}\n".encode() if number < 9 else b"x = 1\n")
            folder += f"/folder{number % 3}" if number % 3 else "/side"
        write(tree + "/package/__init__.py", b"")
        for number in range(30):
            write(f"{tree}/package/module{number}.py",
                  f"import package.module{number + 1}\n".encode() if number < 29 else b"x = 1\n")
        pack(tree, "-l1")
    return tree


def list_all(path):
    for folder, _, files in os.walk(path):
        for name in files:
            os.lstat(os.path.join(folder, name))


def read_all(path):
    for folder, _, files in os.walk(path):
        for name in files:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY)  # open() asks for a terminal
            while os.read(fd, 1 << 20):
                pass
            os.close(fd)


def windows(size):
    """The most reads of a file whose reader takes a part of a page first: the kernel reads four
    pages, and then at least twice as many each time."""
    count = 1
    while 16384 * (2 ** count - 1) < size:
        count += 1
    return count


def run_tar(path):
    subprocess.run("tar cf - . | cat > /dev/null", shell=True, cwd=path, check=True)


def run_python(path):
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-S", "-c",
                    f"import sys; sys.path.insert(0, {path!r}); import package.module0"],
                   env=environment, cwd="/", check=True)


@contextlib.contextmanager
def logged(image, counts, *options):
    """A mount; afterwards counts has the requests of each kind as libfuse logs them, also those
    without a function in the driver."""
    with tempfile.TemporaryDirectory(prefix="dwarfs-mount-") as path, \
            tempfile.TemporaryFile() as log:
        process = subprocess.Popen([DRIVER, image, path, "-d", *options],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while not os.path.ismount(path):
                assert process.poll() is None and time.monotonic() < deadline, "not mounted"
                time.sleep(0.01)
            yield path
        finally:
            subprocess.run(["fusermount3", "-u", "-z", path], check=False)
            process.wait(timeout=20)
        log.seek(0)
        kinds = re.findall(rb"unique: \d+, opcode: (\w+) ", log.read())
    counts.update(kind.decode().lower() for kind in kinds)


def within(counts, bounds):
    """Whether there is no other kind of request, nor more of any."""
    allowed = {**ENDS, **bounds}
    return all(number <= allowed.get(kind, 0) for kind, number in counts.items())


with suite.case("requests for each entry: a walk, tar and the start of Python, and once more"):
    tree = nested_tree()
    folders = sum(1 for _ in os.walk(tree))
    names = [os.path.join(folder, name) for folder, _, files in os.walk(tree) for name in files]
    sizes = [os.path.getsize(name) for name in names if not os.path.islink(name)]
    sizes = [size for size in sizes if size > 0]
    lists = {"opendir": 1, "readdirplus": 2 * folders, "readlink": FOLDERS}
    # The second list of each folder says that it is complete. Opens are refused once.
    for name, act, bounds in (
            ("walk", list_all, lists),
            ("read", read_all, {**lists, "open": 1, "flush": 1, "read": len(sizes)}),
            ("tar", run_tar, {**lists, "open": 1, "flush": 1, "read": sum(map(windows, sizes))}),
            # Of the root and the package: the list, and which kinds of modules there are not. open()
            # of Python asks whether a file is a terminal.
            ("python", run_python, {"opendir": 1, "readdirplus": 4, "lookup": SUFFIXES + 3, "open": 1,
                                    "flush": 1, "read": 31, "ioctl": 62})):
        if name == "tar" and not shutil.which("tar"):
            continue
        # Who else drops the caches of the system causes more requests, but not each time.
        for attempt in range(8):
            logged_counts = collections.Counter()
            with logged(nested_tree() + ".dwarfs", logged_counts) as path:
                act(path)
                once = statistics(path)["requests"]
                act(path)
                twice = statistics(path)["requests"]
            for kind in KEPT:
                assert twice.get(kind, 0) == logged_counts[kind], (name, twice, logged_counts)
            assert once["readdirplus"] > 0
            if within(logged_counts, bounds) and all(
                    once.get(kind, 0) == twice.get(kind, 0) for kind in KEPT):
                break
        else:
            raise AssertionError((name, logged_counts, bounds, once, twice))

subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=False)
suite.finish()
