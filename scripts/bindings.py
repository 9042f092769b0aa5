#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the bindings that need packages of PyPI: the part `bindings` of check.sh.

    bindings.py OUTPUT

Builds the sdist and the wheel (scripts/wheels.py), installs the wheel in virtual environments with
the oldest and the newest fsspec, and runs the tests there. Builds the Java package with the file
system of Hadoop, and reads an image by Spark. A test whose packages cannot be
installed is skipped with the reason. Ends with "N passed, N failed, N skipped".
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests", "bindings")
ENVIRONMENTS = (
    # name, packages, tests
    ("oldest", ["fsspec==2022.11.0"], ["test_fsspec.py"]),
    ("newest", ["fsspec", "mypy", "dask[dataframe,distributed]", "pandas", "pyarrow", "duckdb"],
     ["test_fsspec.py", "test_typing.py", "test_dask.py", "test_python.py", "test_native.py",
      "test_distributed.py", "test_processes.py"]),
    ("ratarmount", ["ratarmountcore>=0.11"], ["test_ratarmount.py"]),
    ("ray", ["ray[data]", "fsspec", "pandas"], ["test_ray.py"]),
)
PYSPARK = "pyspark==3.5.3"
LIMIT = 300  # seconds for a test or an installation that hangs


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def skip(self, what, why):
        self.skipped += 1
        print(f"skipped: {what}: {why}", flush=True)

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
        print(f"{'failed' if failed else 'passed'}: {what}", flush=True)
        if failed:
            print(text, flush=True)

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
            print(f"skipped: {what}: {name}: {why}", flush=True)
        self.passed += max(0, int(ran.group(1)) - failed - skipped) if ran else 0
        self.failed += failed
        self.skipped += skipped
        print(f"{'failed' if failed else 'passed'}: {what}", flush=True)
        if failed:
            print(text, flush=True)


def run(*command, **options):
    """The exit code and the output of a program; None if it hangs."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace",
                              timeout=LIMIT, check=False, **options)
    except subprocess.TimeoutExpired:
        return None, f"not finished after {LIMIT} seconds"
    return done.returncode, done.stdout


def last_line(text):
    return (text.strip().splitlines() or ["no output"])[-1]


def test(folder, wheel, packages, names, counts):
    """Install packages and the wheel in an environment of their own, and run tests there."""
    python = os.path.join(folder, "bin", "python")
    code, text = run(sys.executable, "-m", "venv", "--clear", folder)
    if code == 0:
        code, text = run(python, "-m", "pip", "install", "--quiet", *packages)
    if code != 0:
        for name in names:
            counts.skip(name, f"{' '.join(packages)} cannot be installed: {last_line(text)}")
        return
    code, text = run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    if code != 0:
        counts.failed += 1
        print(text)
        return
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env.update(PYTHONDONTWRITEBYTECODE="1", DWARFS_BINDINGS="installed")
    for name in names:
        code, text = run(python, os.path.join(TESTS, name), "-v", env=env, cwd=folder)
        counts.add(f"{name} ({packages[0]})", code, text)


def spark(folder, counts):
    """Build the Java package with the jars of a pyspark, and read an image by it."""
    name, python = "test_spark.py", os.path.join(folder, "bin", "python")
    build = os.path.join(folder, "build")
    if not shutil.which("javac"):
        counts.skip(name, "no JDK")
        return
    code, text = run(sys.executable, "-m", "venv", "--clear", folder)
    if code == 0:
        code, text = run(python, "-m", "pip", "install", "--quiet", PYSPARK)
    if code != 0:
        counts.skip(name, f"{PYSPARK} cannot be installed: {last_line(text)}")
        return
    (jars,) = glob.glob(os.path.join(folder, "lib", "python*", "site-packages", "pyspark", "jars"))
    jars = os.path.join(jars, "*")
    code, text = run("meson", "setup", build, ROOT, "-Djava=enabled", f"-Dhadoop={jars}",
                     "-Dpython=disabled", "-Dtests=disabled")
    if code == 0:
        code, text = run("meson", "compile", "-C", build, "mkdwarfs", "dwarfs_jni", "dwarfs-jar")
    built = glob.glob(os.path.join(build, "bindings", "java", "dwarfs-*.jar"))
    if code != 0 or len(built) != 1:
        counts.failed += 1
        print(text)
        return
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", MKDWARFS=os.path.join(build, "utils", "mkdwarfs"),
               PYTHONPATH=os.path.join(ROOT, "tests", "support"))
    code, text = run(python, os.path.join(TESTS, name), built[0], os.path.join(build, "bindings", "java"),
                     jars, env=env, cwd=folder)
    counts.add_tap(f"{name} ({PYSPARK})", code, text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = os.path.abspath(sys.argv[1])
    # A shell lets background processes ignore it, and the programs started here would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    counts = Counts()
    code, text = run(sys.executable, os.path.join(ROOT, "scripts", "wheels.py"), output)
    if code != 0 and re.search(r"No matching distribution|Could not find a version|"
                               r"Max retries|NewConnectionError|ReadTimeout", text):
        counts.skip("all", f"no packages from PyPI: {last_line(text)}")
    elif code != 0:
        counts.failed += 1
        print(text)
    else:
        counts.passed += 1
        print("passed: wheels.py")
        wheel = text.strip().splitlines()[-1]
        for name, packages, names in ENVIRONMENTS:
            test(os.path.join(output, name), wheel, packages, names, counts)
    spark(os.path.join(output, "spark"), counts)
    print(f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
