#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build in several ways, run the tests of each, and count.

    check.py [PART...]     plain (default), address, thread, valgrind, platforms, or all of these;
                           bindings

A test program that reports its cases (TAP, cmocka, unittest) counts as its cases, any other as
one. Skipped cases are listed with the reason, for each part the ten slowest tests with their
times, and what failed again at the end, where it is found in a log of any length. The builds stay in build/check-*, so a second run is quick.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = max(2, os.cpu_count() or 2) + 1  # as tests wait for disks, mounts and time, too
SLOWEST = 10
NO_BINDINGS = [f"-D{language}=disabled" for language in ("python", "java", "perl", "ruby", "lua")]
FAILURE_LINES = 40  # of the output of a test that failed, repeated at the end
MEMORY = "/dev/shm"
MEMORY_BYTES = 3 << 30  # free, for the files of three tests at a time


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.reasons = {}
        self.failures = []  # a text for each test that failed

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def skip(self, reason, count=1):
        self.skipped += count
        self.reasons[reason] = self.reasons.get(reason, 0) + count

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count_cases(record):
    """The cases that a test program reported, or the program itself as one."""
    counts = Counts()
    text = record.get("stdout", "") + "\n" + record.get("stderr", "")
    for line in text.splitlines():
        tap = re.match(r"\s*(not )?ok\b[^#]*(#\s*(?:SKIP|skip)\S*\s*(.*))?", line)
        cmocka = re.match(r"\[  (?:     OK|FAILED |SKIPPED) \] (?!\d+ test)", line)
        if tap:
            if tap.group(2):
                counts.skip(tap.group(3) or "no reason given")
            elif tap.group(1):
                counts.failed += 1
            else:
                counts.passed += 1
        elif cmocka:
            if "OK" in cmocka.group():
                counts.passed += 1
            elif "SKIPPED" in cmocka.group():
                counts.skip("see the test's log")
            else:
                counts.failed += 1
    ran = re.search(r"^Ran (\d+) tests? in", text, re.M)
    if ran and not (counts.passed or counts.failed or counts.skipped):
        ending = re.search(r"^(OK|FAILED)(?: \((.*)\))?$", text, re.M)
        notes = dict(re.findall(r"(\w+)=(\d+)", ending.group(2) or "")) if ending else {}
        counts.failed = int(notes.get("failures", 0)) + int(notes.get("errors", 0))
        if int(notes.get("skipped", 0)):
            counts.skip("see the test's log", int(notes["skipped"]))
        counts.passed = max(0, int(ran.group(1)) - counts.failed - counts.skipped)
    result = record["result"]
    if result == "SKIP" and not (counts.passed or counts.skipped):
        said = text.strip().split("\n")[-1].strip()
        said = re.sub(r"^1\.\.0\s*#\s*SKIP\s*", "", said)
        counts.skip(said or "no reason given")
    elif result not in ("OK", "SKIP", "EXPECTEDFAIL") and not counts.failed:
        counts.failed += 1
    elif result == "OK" and not (counts.passed or counts.failed or counts.skipped):
        counts.passed += 1
    if counts.failed:
        counts.failures.append(describe_failure(record, text))
    return counts


def describe_failure(record, text):
    """The name of a test that failed, its result, the cases that failed, and the end of its
    output."""
    lines = text.rstrip().splitlines()
    end = lines[-FAILURE_LINES:]
    cases = [line for line in lines[:-FAILURE_LINES]
             if re.match(r"\s*not ok\b|\[  FAILED|\[   LINE|(FAIL|ERROR): |.*Sanitizer:|.*runtime error:",
                         line)]
    return "\n".join([f"{record.get('name', 'test')}: {record['result']}", *cases, *end])


def print_slowest(records):
    """The tests that took longest, with their wall-clock times."""
    records = sorted(records, key=lambda record: -record["duration"])[:SLOWEST]
    if records:
        print(f"\nslowest {len(records)} tests:")
    for record in records:
        print(f"{record['duration']:8.1f} s  {record['name'].rpartition(' / ')[2]}")


@contextlib.contextmanager
def temporary_files():
    """The environment of tests, with temporary files in memory if it can hold all of them:
    creating a file on ext4 soon after many were removed takes several times as long. Files that
    must be on a disk (in the suite "disk") are on one in any case."""
    with contextlib.ExitStack() as stack:
        environment = dict(os.environ)
        if "TMPDIR" not in environment and memory_will_do():
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="dwarfs-check-", dir=MEMORY))
            os.chmod(folder, 0o1777)  # as /tmp: some tests run programs as another user
            environment["TMPDIR"] = folder
        yield environment


def memory_will_do():
    """Whether MEMORY is a file system with enough space, extended attributes, and executable
    files."""
    try:
        status = os.statvfs(MEMORY)
        if (status.f_flag & (os.ST_NOEXEC | os.ST_NOSUID | os.ST_NODEV | os.ST_RDONLY)
                or status.f_bavail * status.f_frsize < MEMORY_BYTES):
            return False
        with tempfile.NamedTemporaryFile(dir=MEMORY) as file:
            os.setxattr(file.name, "user.test", b"1")
        return True
    except OSError:
        return False


class Build:
    """One build directory. Line tables are the only debug information: the rest takes a third of
    the build time and is not used in logs."""

    def __init__(self, name, options):
        self.folder = os.path.join(ROOT, "build", "check-" + name)
        # Without -O2 gcc warns of variables as uninitialized that are not.
        warnings = "" if name == "plain" else " -Wno-maybe-uninitialized"
        self.options = ["-Ddebug=false", "-Ddefault_library=both", "-Dc_args=-g1" + warnings, "-Dtests=enabled", *options]

    def configure(self):
        """Configure, and again if the folder of test data or the options have changed."""
        note = os.path.join(self.folder, "test-data")
        data = "\n".join([os.environ.get("DWARFS_TEST_DATA", ""), *self.options])
        command = ["meson", "setup", self.folder, ROOT, *self.options]
        if os.path.exists(os.path.join(self.folder, "build.ninja")):
            known = open(note, encoding="utf-8").read() if os.path.exists(note) else None
            command = [] if known == data else [*command, "--reconfigure"]
        if command:
            done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
            if done.returncode:
                print(done.stdout)
                done.check_returncode()
            with open(note, "w", encoding="utf-8") as out:
                out.write(data)

    def compile(self, tests=None):
        """Build everything, or the programs of some tests, and the tools for scripts."""
        targets = []
        if tests is not None:
            targets = {os.path.relpath(test["cmd"][0], self.folder) for test in tests
                       if self.is_program(test)}
            if not all(map(self.is_program, tests)):
                listed = self.introspect("--targets")
                targets |= {os.path.relpath(target["filename"][0], self.folder)
                            for target in listed if target["type"] == "executable"
                            and target["defined_in"].startswith((
                                os.path.join(ROOT, "utils"),
                                os.path.join(ROOT, "tests", "support")))}
        subprocess.run(["ninja", "-C", self.folder, "--quiet", *sorted(targets)], check=True)

    def introspect(self, what):
        listed = subprocess.run(["meson", "introspect", self.folder, what], check=True,
                                stdout=subprocess.PIPE)
        return json.loads(listed.stdout)

    def chosen(self, wanted):
        """The tests for which wanted(test, suites) is true."""
        return [test for test in self.introspect("--tests")
                if wanted(test, {suite.rpartition(":")[2] for suite in test["suite"]})]

    def is_program(self, test):
        """Whether the test is a program of the build, not a script that runs programs."""
        return test["cmd"][0].startswith(self.folder + os.sep)

    def run(self, chosen=None, setup=None, prefix=(), variables=None):
        """Run tests (all, by default), count their cases, and print which were the slowest."""
        command = [*prefix, "meson", "test", "-C", self.folder, "--no-rebuild",
                   "--num-processes", str(JOBS), "--print-errorlogs"]
        log = "testlog.json"
        if setup:
            command += ["--setup", setup]
            log = f"testlog-{setup}.json"
        if chosen is not None:
            if not chosen:
                return Counts()
            command += sorted({test["name"] for test in chosen})
        log = os.path.join(self.folder, "meson-logs", log)
        if os.path.exists(log):
            os.unlink(log)
        with temporary_files() as environment:
            done = subprocess.run(command, env=environment | (variables or {}))
        total = Counts()
        records = []
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    try:
                        record = json.loads(line)
                    except ValueError:
                        print(f"{log}: cut off")
                        total.failed += 1
                        break
                    records.append(record)
                    counts = count_cases(record)
                    total.add(counts)
                    for reason, count in counts.reasons.items():
                        print(f"skipped: {record['name']}: {reason}"
                              + (f" ({count} cases)" if count > 1 else ""))
        print_slowest(records)
        if done.returncode and not total.failed:
            total.failed = 1
        return total


class Reader:
    """The independent reader of tests/interop, built by cargo in a separate process; if that
    fails, its test reports why."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "tests", "interop")

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        paths = os.path.join(ROOT, "tests", "support")
        self.child = subprocess.Popen(
            [sys.executable, os.path.join(ROOT, "tests", "interop", "test_interop.py"),
             self.folder, "build"], env={**os.environ, "PYTHONPATH": paths,
                                         "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __exit__(self, *error):
        self.child.wait()


def quiet_aslr():
    """The thread sanitizer of older compilers does not support much address randomization."""
    try:
        if subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0:
            return ("setarch", "-R")
    except FileNotFoundError:
        pass
    return ()


# What SWIG writes only passes values on, and takes a seventh of the build time to be optimized.
PLAIN = ["-Doptimization=2", "-Dswig_args=-O0,-U_FORTIFY_SOURCE"]

# Their programs are run by valgrind too.
SCENARIOS = ("bindings-python-scenarios", "bindings-perl", "bindings-lua")


def plain():
    build = Build("plain", PLAIN)
    with Reader(build.folder):
        build.configure()
        build.compile()
    return build.run()


def address():
    """Every program in C, and the scripts that run the tools on hostile or unusual input."""
    build = Build("address", ["-Doptimization=1", "-Db_sanitize=address,undefined",
                              "-Db_lundef=false", *NO_BINDINGS])
    build.configure()
    build.compile()
    return build.run(build.chosen(
        lambda test, suites: build.is_program(test) or suites & {"tools", "badfs"}
        or test["name"] == "roundtrip/level 0"))


def thread():
    """Tests that start threads."""
    build = Build("thread", ["-Doptimization=1", "-Db_sanitize=thread", "-Db_lundef=false", *NO_BINDINGS])
    build.configure()
    tests = build.chosen(lambda test, suites: "threads" in suites)
    build.compile(tests)
    return build.run(tests, prefix=quiet_aslr())


def valgrind():
    """Uses of uninitialized bytes, which the sanitizers do not detect; and the bindings, where
    interpreters cannot be built with sanitizers."""
    build = Build("plain", PLAIN)
    build.configure()
    tests = build.chosen(lambda test, suites: "valgrind" in suites)
    scenarios = build.chosen(lambda test, suites: test["name"] in SCENARIOS)
    build.compile(None if scenarios else tests)
    total = build.run(tests, setup="valgrind")
    total.add(build.run(scenarios, variables={"DWARFS_SCENARIOS": "valgrind"}))
    return total


def platforms():
    """Other machines with a part of the tests, each standard of the language, and the reader in one
    file."""
    counted = None
    with subprocess.Popen([sys.executable, os.path.join(ROOT, "scripts", "platforms"), "fast"],
                          stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            counted = re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped$", line) or counted
    return Counts(*map(int, counted.groups())) if counted else Counts(failed=1)


def bindings():
    """The Python package as pip installs it, with packages of PyPI that use it."""
    counted = None
    folder = os.path.join(ROOT, "build", "check-bindings")
    with subprocess.Popen([sys.executable, os.path.join(ROOT, "scripts", "bindings.py"), folder],
                          stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            counted = re.match(r"(\d+) passed, (\d+) failed, (\d+) skipped$", line) or counted
    return Counts(*map(int, counted.groups())) if counted else Counts(failed=1)


STEPS = {"plain": plain, "address": address, "thread": thread, "valgrind": valgrind,
         "platforms": platforms, "bindings": bindings}
ON_REQUEST = {"bindings"}  # not in "all": needs packages of PyPI


def main(names):
    names = names or ["plain"]
    unknown = [name for name in names if name not in STEPS and name != "all"]
    if unknown:
        sys.exit(f"no such part: {', '.join(unknown)}; there are {', '.join(STEPS)} and all")
    if "all" in names:
        names = [name for name in STEPS if name in names or name not in ON_REQUEST]
    total = Counts()
    lines = []
    for name in names:
        print(f"\n== {name}", flush=True)
        began = time.monotonic()
        try:
            counts = STEPS[name]()
        except subprocess.CalledProcessError as error:
            print(f"{' '.join(map(str, error.cmd))} ended with {error.returncode}")
            counts = Counts(failed=1)
        if not counts.passed and not counts.failed:
            print("no test was run")
            counts.failed = 1
        total.add(counts)
        lines.append(f"{name}: {counts} in {time.monotonic() - began:.0f} s")
    for failure in total.failures:
        print("\nfailed: " + failure)
    print("\n" + "\n".join(lines))
    print(total)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
