#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the bindings that need packages of PyPI: the part `bindings` of check.sh.

    bindings.py OUTPUT

Builds the sdist and the wheel (scripts/wheels.py), installs the wheel in virtual environments with
the oldest and the newest fsspec, and runs the tests there. Builds the Java package with the file
system of Hadoop, and reads an image by Spark. Two of these are done at a time, as much of it is
waiting for packages and servers. A test whose packages cannot be installed is skipped with the
reason. Ends with "N passed, N failed, N skipped".
"""
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests", "bindings")
ENVIRONMENTS = (
    # name, packages, tests; the longest first
    ("newest", ["fsspec", "mypy", "dask[dataframe,distributed]", "pandas", "pyarrow", "duckdb", "s3fs"],
     ["test_fsspec.py", "test_typing.py", "test_dask.py", "test_python.py", "test_native.py",
      "test_distributed.py", "test_processes.py"]),
    ("ray", ["ray[data]", "fsspec", "pandas"], ["test_ray.py"]),
    ("ratarmount", ["ratarmountcore>=0.11"], ["test_ratarmount.py"]),
    ("oldest", ["fsspec==2022.11.0"], ["test_fsspec.py"]),
)
PYSPARK = "pyspark==3.5.3"
LIMIT = 600  # seconds for a test or an installation that hangs, beside another one
AT_A_TIME = 2
TIMES = []  # beginning, end and name of each step


class Counts:
    """The counts of some tests; what they print is complete lines, also beside other tests."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def join(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def skip(self, what, why):
        self.skipped += 1
        say(f"skipped: {what}: {why}")

    def add_tap(self, what, returncode, text):
        """The cases of a test that prints TAP."""
        skipped = len(re.findall(r"^ok \d+ .*# SKIP", text, re.M))
        failed = len(re.findall(r"^not ok ", text, re.M))
        passed = len(re.findall(r"^ok \d+ ", text, re.M)) - skipped
        if (returncode or not passed) and not failed:
            failed = 1
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.say_result(what, returncode, text, failed)

    def add(self, what, returncode, text):
        """The cases of a test by unittest."""
        ran = re.search(r"^Ran (\d+) tests? in", text, re.M)
        ending = re.search(r"^(?:OK|FAILED)(?: \((.*)\))?$", text, re.M)
        notes = dict(re.findall(r"(\w+)=(\d+)", ending.group(1) or "")) if ending else {}
        failed = int(notes.get("failures", 0)) + int(notes.get("errors", 0))
        skipped = int(notes.get("skipped", 0))
        if returncode == 77 and not ran:
            self.skip(what, text.strip().splitlines()[-1])
            return
        if returncode and not failed or not ran:
            failed += 1
        for name, why in re.findall(r"^(\w+) .*\.\.\. skipped (.*)$", text, re.M):
            say(f"skipped: {what}: {name}: {why}")
        self.passed += max(0, int(ran.group(1)) - failed - skipped) if ran else 0
        self.failed += failed
        self.skipped += skipped
        self.say_result(what, returncode, text, failed)

    @staticmethod
    def say_result(what, returncode, text, failed):
        if failed:
            say(f"failed: {what}: exit code {returncode}\n{text}")
        else:
            say(f"passed: {what}")


def say(text):
    """One write, which another thread does not divide."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run(step, *command, **options):
    """The exit code and the output of a program; None if it hangs. Its time is that of a step."""
    began = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace",
                              timeout=LIMIT, check=False, **options)
    except subprocess.TimeoutExpired:
        return None, f"not finished after {LIMIT} seconds"
    finally:
        TIMES.append((began, time.monotonic(), step))
    return done.returncode, done.stdout


def say_times(began):
    """When each step began and how long it took, in seconds."""
    say("\n   from  seconds  step")
    for start, end, step in sorted(TIMES):
        say(f"{start - began:7.1f}  {end - start:7.1f}  {step}")


def last_line(text):
    return (text.strip().splitlines() or ["no output"])[-1]


def build(output):
    """The counts of the build, and the path of the wheel, or None."""
    counts, wheel = Counts(), None
    code, text = run("wheels.py", sys.executable, os.path.join(ROOT, "scripts", "wheels.py"), output)
    if code != 0 and re.search(r"No matching distribution|Could not find a version|"
                               r"Max retries|NewConnectionError|ReadTimeout", text):
        counts.skip("all", f"no packages from PyPI: {last_line(text)}")
    elif code != 0:
        counts.failed += 1
        say(text)
    else:
        counts.passed += 1
        say("passed: wheels.py")
        wheel = last_line(text)
    return counts, wheel


def test(folder, built, packages, names):
    """Install packages and the wheel, once it is built, in an environment of their own, and run tests
    there."""
    counts = Counts()
    python, name = os.path.join(folder, "bin", "python"), os.path.basename(folder)
    code, text = run(f"{name}: environment", sys.executable, "-m", "venv", "--clear", folder)
    if code == 0:
        code, text = run(f"{name}: packages", python, "-m", "pip", "install", "--quiet", *packages)
    if code != 0:
        for name in names:
            counts.skip(name, f"{' '.join(packages)} cannot be installed: {last_line(text)}")
        return counts
    wheel = built.result()[1]
    if not wheel:
        return counts
    code, text = run(f"{name}: wheel", python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    if code != 0:
        counts.failed += 1
        say(text)
        return counts
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env.update(PYTHONDONTWRITEBYTECODE="1", DWARFS_BINDINGS="installed")
    for name in names:
        code, text = run(f"{os.path.basename(folder)}: {name}", python, os.path.join(TESTS, name), "-v",
                         env=env, cwd=folder)
        counts.add(f"{name} ({packages[0]})", code, text)
    return counts


def spark(folder):
    """Build the Java package with the jars of a pyspark, and read an image by it."""
    counts = Counts()
    name, python = "test_spark.py", os.path.join(folder, "bin", "python")
    build = os.path.join(folder, "build")
    if not shutil.which("javac"):
        counts.skip(name, "no JDK")
        return counts
    code, text = run("spark: environment", sys.executable, "-m", "venv", "--clear", folder)
    if code == 0:
        code, text = run("spark: packages", python, "-m", "pip", "install", "--quiet", PYSPARK)
    if code != 0:
        counts.skip(name, f"{PYSPARK} cannot be installed: {last_line(text)}")
        return counts
    (jars,) = glob.glob(os.path.join(folder, "lib", "python*", "site-packages", "pyspark", "jars"))
    jars = os.path.join(jars, "*")
    code, text = run("spark: meson setup", "meson", "setup", build, ROOT, "-Djava=enabled", f"-Dhadoop={jars}",
                     "-Dpython=disabled", "-Dtests=disabled")
    if code == 0:
        code, text = run("spark: meson compile", "meson", "compile", "-C", build, "mkdwarfs", "dwarfs_jni", "dwarfs-jar")
    built = glob.glob(os.path.join(build, "bindings", "java", "dwarfs-*.jar"))
    if code != 0 or len(built) != 1:
        counts.failed += 1
        say(text)
        return counts
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", MKDWARFS=os.path.join(build, "utils", "mkdwarfs"),
               PYTHONPATH=os.path.join(ROOT, "tests", "support"))
    code, text = run(f"spark: {name}", python, os.path.join(TESTS, name), built[0], os.path.join(build, "bindings", "java"),
                     jars, env=env, cwd=folder)
    counts.add_tap(f"{name} ({PYSPARK})", code, text)
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output, began = os.path.abspath(sys.argv[1]), time.monotonic()
    # A shell lets background processes ignore it, and the programs started here would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with concurrent.futures.ThreadPoolExecutor(1) as builder, \
            concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as tester:
        built = builder.submit(build, output)
        tests = [tester.submit(test, os.path.join(output, name), built, packages, names)
                 for name, packages, names in ENVIRONMENTS]
        tests.append(tester.submit(spark, os.path.join(output, "spark")))
        counts = built.result()[0]
        for done in tests:
            counts.join(done.result())
    say_times(began)
    print(f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
