#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the bindings that need packages of PyPI: the part `bindings` of check.sh.

    bindings.py OUTPUT

Builds the sdist and the wheel (scripts/wheels.py), installs the wheel in virtual environments with
the oldest and the newest fsspec, and runs the tests there. Builds the Java package with the file
system of Hadoop, and reads an image by Spark. Two of these are done at a time, as much of it is
waiting for packages and servers. A test whose packages cannot be installed is skipped with the
reason. Ends with the time of each step and "N passed, N failed, N skipped".

One pip installs packages in all environments, without compiling them: Python compiles what the
tests import.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests", "bindings")
ENVIRONMENTS = (
    # name, packages, tests; the longest first
    ("newest", ["fsspec", "mypy", "dask[dataframe,distributed]", "pandas", "pyarrow", "duckdb", "s3fs"],
     ["test_fsspec.py", "test_typing.py", "test_dask.py", "test_python.py", "test_native.py",
      "test_distributed.py", "test_processes.py"]),
    # A node of Ray must have started after 30 seconds.
    ("ray", ["ray[data]", "fsspec", "pandas", "--compile"], ["test_ray.py"]),
    ("ratarmount", ["ratarmountcore>=0.11"], ["test_ratarmount.py"]),
    ("oldest", ["fsspec==2022.11.0"], ["test_fsspec.py"]),
)
PYSPARK = "pyspark==3.5.3"
LIMIT = 600  # seconds for a test or an installation that hangs, beside another one
AT_A_TIME = 2
STEPS = []


class Step(typing.NamedTuple):
    """A program that was run."""

    began: float
    ended: float
    processor: float
    name: str


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
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        # Not by wait(), which does not tell the time of the processor.
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, **options)
        pid = 0
        while not pid:
            time.sleep(0.02)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if not pid and time.monotonic() - began > LIMIT:
                os.kill(child.pid, signal.SIGKILL)  # child.kill() may wait for it, too
                _, status, usage = os.wait4(child.pid, 0)
                break
        child.returncode = os.waitstatus_to_exitcode(status)
        STEPS.append(Step(began, time.monotonic(), usage.ru_utime + usage.ru_stime, step))
        if not pid:
            return None, f"not finished after {LIMIT} seconds"
        output.seek(0)
        return child.returncode, output.read()


def say_steps(began):
    """When each step began, its time, and that of the processor, in seconds."""
    say("\n   from  seconds  processor  step")
    for step in sorted(STEPS):
        say(f"{step.began - began:7.1f}  {step.ended - step.began:7.1f}  {step.processor:9.1f}  "
            f"{step.name}")
    say(f"{'':7}  {time.monotonic() - began:7.1f}  {sum(step.processor for step in STEPS):9.1f}  all, "
        f"load average {os.getloadavg()[1]:.1f}\n")


def last_line(text):
    return (text.strip().splitlines() or ["no output"])[-1]


class Environments:
    """Virtual environments below a folder, with packages that one pip installs: to create pip in each
    of them takes as much time as to install many packages."""

    def __init__(self, folder):
        self.folder = folder
        self._pip = os.path.join(folder, "pip", "bin", "python")
        self.code, self.text = run("pip", sys.executable, "-m", "venv", "--clear", os.path.join(folder, "pip"))

    def create(self, name, *packages):
        """The exit code and the output."""
        if self.code != 0:
            return self.code, self.text
        folder = os.path.join(self.folder, name)
        code, text = run(f"{name}: environment", sys.executable, "-m", "venv", "--clear", "--without-pip",
                         folder)
        return self.install(name, "packages", *packages) if code == 0 else (code, text)

    def install(self, name, what, *packages):
        return run(f"{name}: {what}", self._pip, "-m", "pip", "--python", self.python(name), "install",
                   "--quiet", "--no-compile", *packages)

    def python(self, name):
        return os.path.join(self.folder, name, "bin", "python")


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


def test(environments, name, built, packages, tests):
    """Install packages and the wheel, once it is built, in an environment of their own, and run tests
    there."""
    counts = Counts()
    code, text = environments.create(name, *packages)
    if code != 0:
        for one in tests:
            counts.skip(one, f"{' '.join(packages)} cannot be installed: {last_line(text)}")
        return counts
    wheel = built.result()[1]
    if not wheel:
        return counts
    code, text = environments.install(name, "wheel", "--no-deps", wheel)
    if code != 0:
        counts.failed += 1
        say(text)
        return counts
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env["DWARFS_BINDINGS"] = "installed"
    for one in tests:
        code, text = run(f"{name}: {one}", environments.python(name), os.path.join(TESTS, one), "-v",
                         env=env, cwd=os.path.join(environments.folder, name))
        counts.add(f"{one} ({packages[0]})", code, text)
    return counts


def spark(environments):
    """Build the Java package with the jars of a pyspark, and read an image by it."""
    counts = Counts()
    name, folder = "test_spark.py", os.path.join(environments.folder, "spark")
    build = os.path.join(folder, "build")
    if not shutil.which("javac"):
        counts.skip(name, "no JDK")
        return counts
    code, text = environments.create("spark", PYSPARK)
    if code != 0:
        counts.skip(name, f"{PYSPARK} cannot be installed: {last_line(text)}")
        return counts
    (jars,) = glob.glob(os.path.join(folder, "lib", "python*", "site-packages", "pyspark", "jars"))
    jars = os.path.join(jars, "*")
    code, text = run("spark: meson setup", "meson", "setup", build, ROOT, "-Djava=enabled", f"-Dhadoop={jars}",
                     "-Dpython=disabled", "-Dtests=disabled",
                     "-Ddebug=false", "-Doptimization=0")  # half the time, and it reads small files
    if code == 0:
        code, text = run("spark: meson compile", "meson", "compile", "-C", build, "mkdwarfs", "dwarfs_jni", "dwarfs-jar")
    built = glob.glob(os.path.join(build, "bindings", "java", "dwarfs-*.jar"))
    if code != 0 or len(built) != 1:
        counts.failed += 1
        say(text)
        return counts
    env = dict(os.environ, MKDWARFS=os.path.join(build, "utils", "mkdwarfs"),
               PYTHONPATH=os.path.join(ROOT, "tests", "support"))
    code, text = run(f"spark: {name}", environments.python("spark"), os.path.join(TESTS, name), built[0], os.path.join(build, "bindings", "java"),
                     jars, env=env, cwd=folder)
    counts.add_tap(f"{name} ({PYSPARK})", code, text)
    return counts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output, began = os.path.abspath(sys.argv[1]), time.monotonic()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process of Dask would compile pandas
    # A shell lets background processes ignore it, and the programs started here would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with concurrent.futures.ThreadPoolExecutor(1) as builder, \
            concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as tester:
        built = builder.submit(build, output)
        environments = Environments(output)
        first, *others = [(test, environments, name, built, packages, names)
                          for name, packages, names in ENVIRONMENTS]
        # Spark needs no wheel, for which the others wait.
        tests = [tester.submit(*call) for call in (first, (spark, environments), *others)]
        counts = built.result()[0]
        for done in tests:
            counts.join(done.result())
    say_steps(began)
    print(f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
