# SPDX-License-Identifier: MIT
"""Report the cases of a test program as TAP lines, which the build system reads: its tests
have protocol: 'tap'.

    suite = tap.Suite()
    with suite.case("reads a file"):
        assert ...
    suite.finish()

A case fails by any exception, and is skipped by tap.Skip("why"), or if the text of the exception has
a message of the programs that a codec or libarchive was not built in, and that is so.
"""
import atexit
import os
import pty
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback


# Programs inherit what is ignored, as after nohup or in the background of a script, and could not be
# interrupted.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


class Skip(Exception):
    """A requirement of a case is missing."""


random_bytes = random.Random(20).randbytes  # incompressible, and the same in each run


class _Case:
    def __init__(self, suite, name):
        self.suite = suite
        self.name = name

    def __enter__(self):
        self.began = time.monotonic()
        return self

    def __exit__(self, kind, error, trace):
        self.suite._report(self.name, error, trace, time.monotonic() - self.began)
        return kind is None or issubclass(kind, Exception)


class Suite:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def case(self, name):
        return _Case(self, name)

    def _report(self, name, error, trace, seconds):
        number = self.passed + self.failed + self.skipped + 1
        text = "".join(traceback.format_exception(type(error), error, trace)) if error else ""
        if error and not isinstance(error, Skip) and os.environ.get("DWARFS_CODECS_ABSENT"):
            import absent  # which imports this module
            error = Skip(absent.missing_in(text)) if absent.missing_in(text) else error
        if error is None:
            self.passed += 1
            print(f"ok {number} - {name}")
        elif isinstance(error, Skip):
            self.skipped += 1
            print(f"ok {number} - {name} # SKIP {error}")
        else:
            self.failed += 1
            print(f"not ok {number} - {name}")
            for line in text.encode("utf-8", "backslashreplace").decode().splitlines():
                print(f"# {line}")
        if seconds > 5:
            print(f"# {seconds:.1f} s")
        sys.stdout.flush()

    def finish(self):
        """Print the plan and exit."""
        print(f"1..{self.passed + self.failed + self.skipped}")
        sys.exit(1 if self.failed else 0)


def skip_all(reason):
    """Exit at once: nothing can be tested."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def tool(variable):
    """The path of a program of ours, from the environment."""
    path = os.environ.get(variable)
    if not path or not os.access(path, os.X_OK):
        raise Skip(f"{variable} is not built")
    return path


def library_times():
    """The first and last second that libarchive and libfuse can represent."""
    bits = int(os.environ.get("DWARFS_TIME_BITS", 64))
    return -2**(bits - 1), 2**(bits - 1) - 1


def command(program, *words):
    """The command that runs a program of the build, which may be for another machine."""
    return [*os.environ.get("DWARFS_EMULATOR", "").split(), program, *words]


def preloading(library, environment=None):
    """The environment in which our programs preload a library; an emulator must not preload it."""
    if os.environ.get("DWARFS_STATIC"):
        raise Skip("nothing can be preloaded into a static program")
    environment = dict(os.environ if environment is None else environment)
    if os.environ.get("DWARFS_EMULATOR"):
        environment["QEMU_SET_ENV"] = "LD_PRELOAD=" + library
    else:
        environment["LD_PRELOAD"] = library
    return environment


def tool_for_anybody(variable):
    """The same for a user without access to the build folder: then a copy, with its library."""
    path = os.path.realpath(tool(variable))
    parents = path.split("/")[:-1]
    if all(os.stat("/".join(parents[:n]) or "/").st_mode & 1 for n in range(1, len(parents) + 1)):
        return path
    copies = tempfile.mkdtemp(prefix="dwarfs-tools-")
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    os.chmod(copies, 0o755)
    build = os.path.dirname(os.path.dirname(path))
    for folder in "utils", "lib":
        os.mkdir(os.path.join(copies, folder), 0o755)
    for name in os.listdir(os.path.join(build, "lib")):
        if ".so" in name and not name.endswith((".p", ".symbols")):
            shutil.copy(os.path.join(build, "lib", name), os.path.join(copies, "lib"))
    return shutil.copy(path, os.path.join(copies, "utils"))


def terminal():
    """A pseudo-terminal: master and slave descriptor."""
    try:
        return pty.openpty()
    except OSError as error:
        raise Skip(f"no pseudo-terminals here: {error}") from error


def disk():
    """The folder for temporary files that must be on a disk, in tests of the suite "disk"; None is
    that of other temporary files. Only what needs it: creating a file on ext4 soon after many were
    removed takes several times as long as in memory."""
    return os.environ.get("DWARFS_DISK")


def data(*parts):
    """A path in the folder of test data."""
    root = os.environ.get("DWARFS_TEST_DATA", "")
    path = os.path.join(root, *parts)
    if not root or not os.path.exists(path):
        raise Skip("no test data: set DWARFS_TEST_DATA")
    return path
