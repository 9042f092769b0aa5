# SPDX-License-Identifier: MIT
"""Workers of an executor that are killed while they work for dwarfs.distributed.pack()."""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import time

import dwarfs
from dwarfs import distributed

SECONDS = 120
OPTIONS = {"shares": 2, "level": 1, "block_bits": 16, "create_timestamp": False, "history": False}


def work_until_killed(folder, task, arguments):
    """By a worker: the process that begins first does not return a result."""
    try:
        os.close(os.open(os.path.join(folder, "begun"), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return task(*arguments)
    with open(os.path.join(folder, "pid.part"), "w", encoding="ascii") as out:
        out.write(str(os.getpid()))
    os.rename(os.path.join(folder, "pid.part"), os.path.join(folder, "pid"))
    task(*arguments)
    time.sleep(SECONDS)
    raise AssertionError("the worker was not killed")


class Killing:
    """An executor, a process of which is killed when it has begun a task of a name."""

    def __init__(self, executor, name, output, folder):
        self.names = collections.Counter()
        self.pid = None
        self.visible = []  # beside the output, when the process was killed
        self._executor, self._name, self._output, self._folder = executor, name, output, folder
        self._thread = threading.Thread(target=self._kill, daemon=True)
        self._thread.start()

    def submit(self, function, task, arguments):
        self.names[task.__name__] += 1
        if task.__name__ == self._name and self.names[task.__name__] == 1:
            task, arguments = work_until_killed, (str(self._folder), task, arguments)
        return self._executor.submit(function, task, arguments)

    def join(self):
        self._thread.join(SECONDS)

    def _kill(self):
        if not wait_for((self._folder / "pid").exists):
            return
        if self._name == "_pack_share":
            wait_for(lambda: any(self._output.parent.glob("*.shares-*/*")))
        self.visible = [path.name for path in self._output.parent.iterdir()]
        self.pid = int((self._folder / "pid").read_text())
        os.kill(self.pid, signal.SIGKILL)


def wait_for(condition):
    until = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def has_ended(pid):
    """Not at once, but when its parent has waited for it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class PackingWithLosses:
    """Tests for an executor, with its cases in a unittest.TestCase."""

    def make_tree(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-killing-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.tree, self.output = self.dir / "data/tree", self.dir / "data/made.dwarfs"
        for number in range(40):
            folder = self.tree / f"{number % 4}/deep"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.txt").write_bytes(b"line of file %d\n" % number * 2000)
            (folder / f"{number}.bin").write_bytes(os.urandom(20_000))
        for path in self.tree.rglob("*"):
            os.utime(path, (10 ** 9, 10 ** 9))

    def pack_with_loss(self, executor, name):
        """Pack with an executor that loses a worker, and return how often each function was
        submitted. The image is that of a run without losses."""
        self.make_tree()
        killing = Killing(executor, name, self.output, self.dir)
        distributed.pack(self.tree, self.output, killing, **OPTIONS)
        killing.join()
        self.assertIsNotNone(killing.pid)
        self.assertTrue(wait_for(lambda: has_ended(killing.pid)))
        self.assertNotIn("made.dwarfs", killing.visible)
        self.assertEqual([path for path in killing.visible if ".shares-" not in path], ["tree"])
        self.assertEqual(sorted(path.name for path in self.output.parent.iterdir()),
                         ["made.dwarfs", "tree"])
        self.assertEqual(dwarfs.compare(self.tree, str(self.output)), [])
        with dwarfs.open(self.output) as image:
            image.check(dwarfs.CheckLevel.INTEGRITY)
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            distributed.pack(self.tree, self.dir / "whole.dwarfs", threads, **OPTIONS)
        self.assertEqual(self.output.read_bytes(), (self.dir / "whole.dwarfs").read_bytes())
        return killing.names
