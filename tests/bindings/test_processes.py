# SPDX-License-Identifier: MIT
"""Images in the processes that multiprocessing starts by fork, spawn and forkserver.

A child that hangs is an error: each is waited for TIMEOUT seconds at most.
"""
import multiprocessing
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import unittest
import warnings

try:
    import dwarfs
except ImportError as error:
    print(f"the Python package is not built: {error}")
    sys.exit(77)

TIMEOUT = 60
FILES = 24
METHODS = multiprocessing.get_all_start_methods()
READ, REFUSED, WRONG = 10, 11, 12  # exit codes of children


def data_of(number):
    return (random.Random(number).randbytes(1999) * 11)[:20_000 + number]


def name_of(number):
    return f"dir/{number:02}"


def is_right(image, number):
    return (image / name_of(number)).read_bytes() == data_of(number)


# The image of the parent, for children by fork.
parent_image = None


def read_from_parent(number):
    return is_right(parent_image, number)


def read_by_path(arguments):
    path, number = arguments
    return is_right(dwarfs.open(path), number)


def read_path(arguments):
    path, number = arguments
    return path.read_bytes() == data_of(number)


def read_and_exit(path):
    """The image of the parent is read, or refused in the same way each time; one that is
    opened here is read."""
    outcomes = set()
    own = dwarfs.open(path)
    for number in range(FILES):
        try:
            outcomes.add(READ if is_right(parent_image, number) else WRONG)
        except dwarfs.Error as error:
            is_stated = (error.code == dwarfs.ErrorCode.INVALID and
                         "when the process was forked" in str(error))
            outcomes.add(REFUSED if is_stated else WRONG)
        if not is_right(own, number):
            outcomes.add(WRONG)
    os._exit(outcomes.pop() if len(outcomes) == 1 else WRONG)


def start(process):
    with warnings.catch_warnings():
        # Later versions of Python warn of forks in processes with threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()


def exit_code_of(process):
    """None if the process hangs."""
    process.join(TIMEOUT)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    return code


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-processes-"))
        tree = cls.dir / "tree"
        (tree / "dir").mkdir(parents=True)
        for number in range(FILES):
            (tree / name_of(number)).write_bytes(data_of(number))
        cls.path = str(cls.dir / "image.dwarfs")
        dwarfs.pack(tree, cls.path, level=3, block_bits=16)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def setUp(self):
        global parent_image
        # A cache of one block: nearly each read decompresses.
        self.context = dwarfs.Context(cache_bytes=100_000, workers=0)
        parent_image = dwarfs.open(self.path, context=self.context)
        self.assertTrue(is_right(parent_image, 0))

    def map(self, method, function, arguments):
        with multiprocessing.get_context(method).Pool(3) as pool:
            return pool.map_async(function, arguments).get(TIMEOUT)

    @unittest.skipUnless("fork" in METHODS, "the system has no fork()")
    def test_children_by_fork_read_the_image_of_the_parent(self):
        self.assertEqual(self.map("fork", read_from_parent, range(FILES)), [True] * FILES)
        self.assertTrue(is_right(parent_image, 1))

    def test_children_of_each_kind_open_the_image(self):
        for method in METHODS:
            with self.subTest(method):
                found = self.map(method, read_by_path,
                                 [(self.path, number) for number in range(6)])
                self.assertEqual(found, [True] * 6)

    def test_images_and_paths_are_passed_to_other_processes(self):
        for method in METHODS:
            with self.subTest(method):
                found = self.map(method, read_path,
                                 [(parent_image / name_of(number), number)
                                  for number in range(6)])
                self.assertEqual(found, [True] * 6)

    @unittest.skipUnless("fork" in METHODS, "the system has no fork()")
    def test_threads_read_while_the_process_forks(self):
        stop, wrong = threading.Event(), []

        def read_on(first):
            number = first
            while not stop.is_set():
                number = (number + 7) % FILES
                if not is_right(parent_image, number):
                    wrong.append(number)
                    return

        for number in range(FILES):
            self.assertTrue(is_right(parent_image, number))
        readers = [threading.Thread(target=read_on, args=(i,)) for i in range(4)]
        for reader in readers:
            reader.start()
        try:
            codes = []
            for _ in range(30):
                child = multiprocessing.get_context("fork").Process(
                    target=read_and_exit, args=(self.path,))
                start(child)
                codes.append(exit_code_of(child))
        finally:
            stop.set()
            for reader in readers:
                reader.join(TIMEOUT)
        self.assertFalse(any(reader.is_alive() for reader in readers), "a reader hangs")
        self.assertEqual(wrong, [])
        self.assertLessEqual(set(codes), {READ, REFUSED}, codes)
        print(f"{codes.count(REFUSED)} of {len(codes)} children were refused",
              file=sys.stderr)
        # The parent reads on.
        self.assertTrue(is_right(parent_image, 2))

    @unittest.skipUnless("spawn" in METHODS and "forkserver" in METHODS,
                         "the system has no fork server")
    def test_threads_read_while_other_children_start(self):
        stop = threading.Event()

        def read_on():
            while not stop.is_set():
                is_right(parent_image, 5)

        reader = threading.Thread(target=read_on)
        reader.start()
        try:
            for method in "spawn", "forkserver":
                with self.subTest(method):
                    self.assertEqual(self.map(method, read_by_path, [(self.path, 3)]), [True])
        finally:
            stop.set()
            reader.join(TIMEOUT)


if __name__ == "__main__":
    unittest.main()
