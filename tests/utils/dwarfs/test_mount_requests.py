#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfs: where requests are served."""
import contextlib
import json
import os
import subprocess
import sys

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
        with mount.mounted(IMAGE, "-o", "affinity=" + mode) as path, Caller(path) as caller:
            pid = driver_of(path)
            for cpu in (CPUS[0], CPUS[1], CPUS[0]):
                caller.request(cpu)
                for _ in range(200):
                    caller.request()
                assert {cpu} in affinities(pid), (cpu, affinities(pid))

with suite.case("concurrent requests are served on any CPU, unless forced"):
    need_two_cpus()
    for mode, spreads in (("auto", True), ("caller", False)):
        with mount.mounted(IMAGE, "-o", "affinity=" + mode) as path, \
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
    with mount.mounted(IMAGE) as path, Caller(path) as caller:
        pid = driver_of(path)
        caller.request(CPUS[0])
        for _ in range(100):
            caller.request()
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {CPUS[1]})
        for _ in range(1000):
            caller.request()
        assert all(found == {CPUS[1]} for found in affinities(pid)), affinities(pid)

subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=False)
suite.finish()
