# SPDX-License-Identifier: MIT
"""Reading and making images with several processes."""
import collections
import concurrent.futures
import errno
import hashlib
import itertools
import multiprocessing
import os
import pathlib
import pickle
import shutil
import stat
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

try:
    import dwarfs
    from dwarfs import _listing, _look, _search, _tasks, distributed
except ImportError as error:
    print(f"the Python package is not built: {error}")
    sys.exit(77)


def digest(path, data):
    return str(path), hashlib.sha256(data).hexdigest()


def digests_of(part):
    return part.map(digest)


class Inline:
    """An executor that works when it is told to, and loses some of the tasks."""

    def __init__(self, lose=0):
        self.lose = lose
        self.submitted = 0
        self.names = collections.Counter()

    def submit(self, function, *arguments):
        self.submitted += 1
        self.names[arguments[0].__name__] += 1
        future = concurrent.futures.Future()
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        if self.lose:
            self.lose -= 1
            future.set_exception(concurrent.futures.BrokenExecutor("the worker was killed"))
        else:
            future.set_result(function(*arguments))
        return future


class Refusing:
    """An executor that is broken from the beginning."""

    def submit(self, function, *arguments):
        raise concurrent.futures.BrokenExecutor("no workers")


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-distributed-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.tree = self.dir / "tree"
        for number in range(40):
            folder = self.tree / f"release-{number % 8}"
            (folder / "sub").mkdir(parents=True, exist_ok=True)
            text = b"".join(b"line %d of file %d in a release\n" % (line, number // 8)
                            for line in range(400))
            (folder / "sub" / f"file-{number // 8}.txt").write_bytes(
                text + b"release %d\n" % (number % 8))
        for number in range(3):
            (self.tree / f"same-{number}").write_bytes(bytes(range(256)) * 100)
        (self.tree / "random").write_bytes(os.urandom(60_000))
        (self.tree / "empty").write_bytes(b"")
        (self.tree / "none").mkdir()
        os.symlink("random", self.tree / "link")
        os.link(self.tree / "same-0", self.tree / "none" / "hard")
        os.chmod(self.tree / "random", 0o640)
        for path in self.tree.rglob("*"):
            os.utime(path, (10 ** 9, 10 ** 9), follow_symlinks=False)
        self.output = self.dir / "out.dwarfs"

    def pack(self, executor, **options):
        options = {"shares": 3, "level": 1, "block_bits": 16, "create_timestamp": False,
                   "history": False, **options}
        return distributed.pack(self.tree, self.output, executor, overwrite=True, **options)

    def assert_is_tree(self):
        with dwarfs.open(self.output) as image:
            image.check(dwarfs.CheckLevel.INTEGRITY)
        self.assertEqual(dwarfs.compare(self.tree, str(self.output)), [])
        self.assertEqual(sorted(name for name in os.listdir(self.dir)), ["out.dwarfs", "tree"])


class Packing(Case):
    def test_processes(self):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            self.pack(executor)
        self.assert_is_tree()

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            self.pack(executor)
        self.assert_is_tree()

    def test_equal_files_are_stored_once(self):
        self.pack(Inline())
        self.assert_is_tree()
        contents = {path.read_bytes() for path in self.tree.rglob("*") if path.is_file()}
        with dwarfs.open(self.output) as image:
            stored = sum(section.bytes for section in image.sections
                         if section.type == "BLOCK")
        self.assertLessEqual(stored, sum(map(len, contents)))

    def test_the_image_depends_on_the_shares_alone(self):
        images = []
        for executor in Inline(), Inline(lose=2), Refusing():
            self.pack(executor)
            images.append(self.output.read_bytes())
        with concurrent.futures.ThreadPoolExecutor(3) as executor:
            self.pack(executor)
        images.append(self.output.read_bytes())
        self.pack(Inline(), share_workers=3)
        images.append(self.output.read_bytes())
        self.assertEqual(len(set(images)), 1)

    @mock.patch.object(distributed._dwarfs, "dwarfs_usable_processors", lambda: 64)
    def test_shares_of_a_machine_divide_its_processors(self):
        def part(name, processors):
            return distributed._part(str(self.dir / name), frozenset(range(processors)), "here-")

        def write(processors, *names):
            for name in names:
                distributed._write_processors(str(self.dir / name), frozenset(processors))
        names = "here-0", "here-1", "here-2"
        write(range(8), *names, "there-0")
        self.assertEqual([part(name, 8) for name in names], [3, 3, 2])
        self.assertEqual([part(name, 2) for name in names], [1, 1, 1])
        write(range(8, 16), "here-2")  # those of the others are not for it
        self.assertEqual([part(name, 8) for name in names[:2]], [4, 4])
        lost = os.stat(self.dir / "here-1").st_mtime - distributed._LOST_SECONDS - 1
        os.utime(self.dir / "here-0", (lost, lost))
        self.assertEqual(part("here-1", 8), 8)
        write(range(8), *names)
        with mock.patch.object(distributed._dwarfs, "dwarfs_usable_processors", lambda: 4):
            self.assertEqual([part(name, 8) for name in names], [2, 1, 1])

    @mock.patch.object(distributed._dwarfs, "dwarfs_usable_processors", lambda: 64)
    def test_the_processors_of_a_share_that_is_complete_are_used(self):
        context = mock.Mock()
        four = frozenset(range(4))
        with mock.patch.object(distributed, "_DIVIDE_SECONDS", 0.01):
            def wait_for(workers):
                until = time.monotonic() + 60
                context.set_workers.reset_mock()
                while mock.call(workers) not in context.set_workers.mock_calls:
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.01)
            with distributed._divided(context, four, str(self.dir / "0.dwarfs")):
                wait_for(4)
                with distributed._divided(mock.Mock(), four, str(self.dir / "1.dwarfs")):
                    wait_for(2)
                wait_for(4)
        self.assertEqual(os.listdir(self.dir), ["tree"])

    def test_a_folder_that_is_gone_changes_nothing(self):
        context = mock.Mock()
        gone = str(self.dir / "gone" / "0.dwarfs")
        with distributed._divided(context, frozenset(range(4)), gone):
            pass
        context.set_workers.assert_not_called()

    def test_batches_of_few_files(self):
        for start in "spawn", "fork":
            context = multiprocessing.get_context(start)
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor, \
                    mock.patch.object(_listing, "BATCH_FILES", 3):
                self.pack(executor)
            self.assert_is_tree()

    def test_bad_numbers_of_workers_are_found_before_any_work(self):
        executor = mock.Mock()
        for workers in -1, "x", 10**6:
            with self.assertRaises(Exception):
                self.pack(executor, share_workers=workers)
        executor.submit.assert_not_called()

    def test_nothing_more_begins_after_an_error(self):
        class Third(Inline):
            futures = []

            def submit(self, function, *arguments):
                if len(self.futures) == 3:
                    raise ValueError("no more")
                self.futures.append(mock.Mock(**{"result.return_value": function(*arguments)}))
                return self.futures[-1]
        executor = Third()
        with self.assertRaisesRegex(ValueError, "no more"):
            self.pack(executor)
        executor.futures[-1].cancel.assert_called_once()

    def test_shares_end_after_an_error(self):
        """Also those that are being packed; they leave nothing behind."""
        ends, packing = [], set()

        def pack_share(roots, wanted, output, *more):
            if output.endswith("0.dwarfs"):
                deadline = time.monotonic() + 60
                while len(packing) < 2 and time.monotonic() < deadline:
                    time.sleep(0.01)
                raise ValueError("of a share")
            try:
                return original(roots, wanted, output, *more)
            except OSError as error:
                ends.append(error)
                raise

        def stat(path, *arguments, **options):  # of the folder, as a share is packed
            if ".shares-" in str(path):
                packing.add(threading.get_ident())
            return original_stat(path, *arguments, **options)
        original, original_stat = distributed._pack_share, os.stat
        for number in range(8):
            (self.tree / f"random-{number}").write_bytes(os.urandom(2_000_000))
        with concurrent.futures.ThreadPoolExecutor(3) as executor, \
                mock.patch.object(distributed, "_pack_share", pack_share), \
                mock.patch.object(distributed.os, "stat", stat):
            with self.assertRaisesRegex(ValueError, "of a share"):
                self.pack(executor, level=9, share_workers=1, compression="lzma:level=9")
            self.assertEqual(os.listdir(self.dir), ["tree"])
        self.assertEqual(os.listdir(self.dir), ["tree"])
        # Not by an error of the library, which would find the end of its folder last.
        self.assertEqual([type(error) for error in ends], [FileNotFoundError] * len(ends))
        self.assertTrue(ends)

    def test_a_folder_is_removed_while_files_are_made(self):
        folder = self.dir / "out.shares-x"
        folder.mkdir()
        made = threading.Event()

        def make():
            for number in itertools.count():
                try:
                    (folder / f"{number}").write_bytes(b"")
                except FileNotFoundError:
                    return
                if number == 200:
                    made.set()
        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        self.assertTrue(made.wait(60))
        distributed._remove(str(folder))
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual(os.listdir(self.dir), ["tree"])

    def test_shares_take_about_the_same_time(self):
        """Files that have their first lines in common with others take half as long."""
        def contents(number, size, features):
            return [_search.Content((f"{features(i)[0]:04}-{i}.txt",), size, features(i))
                    for i in range(number)]
        different = contents(100, 1000, lambda i: (i, i + 1000))
        alike = contents(200, 1000, lambda i: (2000 + i // 20, 3000 + i // 20))
        shares = distributed._assign(different + alike, 2)
        self.assertEqual([len(share) for share in shares], [104, 196])
        common = contents(200, 1000, lambda i: (4000, 4001))
        shares = distributed._assign(different + common, 2)
        self.assertEqual([len(share) for share in shares], [150, 150])
        self.assertEqual(distributed._assign([], 2), [[], []])
        empty = _search.Content(("x",), 0, ())
        self.assertEqual(distributed._assign([empty], 2), [[empty], []])

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no pipes")
    def test_what_is_no_longer_a_file_is_not_read(self):
        """It may have been replaced since its directory was listed. To open a pipe does not wait."""
        os.mkfifo(self.dir / "pipe")
        nothing = [(b"", ())] * 4
        files = [(str(path), True, is_large) for path in (self.dir / "pipe", "/dev/zero")
                 for is_large in (False, True)]
        with concurrent.futures.ProcessPoolExecutor(1) as processes:
            future = processes.submit(_search._look_at_files, files)
            try:
                self.assertEqual(future.result(60), nothing)
            except concurrent.futures.TimeoutError:
                for process in processes._processes.values():
                    process.kill()
                raise

    def test_features_of_equal_files_are_found_once(self):
        path = self.dir / "lines"
        path.write_text("a line of enough bytes\n" * 3 + "another one, too, is there\n")
        first = _search._look_at_files([(str(path), True, False)])
        with mock.patch.object(_look, "_features") as features:
            self.assertEqual(_search._look_at_files([(str(path), True, False)]), first)
        features.assert_not_called()
        self.assertEqual(len(first[0][1]), 2)
        self.assertEqual(_search._look_at_files([(str(path), False, False)]), [(b"", first[0][1])])
        self.assertEqual(_search._look_at_files([(str(self.dir / "none"), True, False)]), [(b"", ())])
        path.unlink()

    def test_a_lost_share_is_done_again(self):
        executor = Inline(lose=3)
        self.pack(executor)
        self.assert_is_tree()
        self.assertEqual(executor.lose, 0)
        whole = Inline()
        self.pack(whole)
        self.assertEqual(executor.submitted, whole.submitted + 3)
        self.assertEqual(whole.names["_pack_share"], 3)

    def test_workers_that_are_killed(self):
        """The pool is broken then, and this process does all the work."""
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(
                2, mp_context=context, initializer=os._exit, initargs=(1,)) as executor:
            self.pack(executor)
        self.assert_is_tree()

    def test_a_worker_that_is_killed_while_shares_are_packed(self):
        class Killing:
            """Its worker ends instead of packing the second share."""

            def __init__(self, pool):
                self.pool, self.shares = pool, 0

            def submit(self, function, *arguments):
                self.shares += arguments[0] is distributed._pack_share
                if self.shares == 2:
                    self.shares += 1
                    return self.pool.submit(os._exit, 1)
                return self.pool.submit(function, *arguments)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            executor = Killing(pool)
            self.pack(executor)
            self.assertEqual(executor.shares > 2, True)
            with self.assertRaises(concurrent.futures.BrokenExecutor):
                pool.submit(os.getpid)
        self.assert_is_tree()

    def test_a_worker_that_is_always_lost(self):
        with self.assertRaises(concurrent.futures.BrokenExecutor):
            self.pack(Inline(lose=1000), retries=2)
        self.assertEqual(os.listdir(self.dir), ["tree"])

    def test_errors_of_workers_are_raised(self):
        executor = Inline()
        with self.assertRaises(dwarfs.InvalidError):
            self.pack(executor, compression="zstd:level=999")
        self.assertEqual(os.listdir(self.dir), ["tree"])

    def test_what_is_refused(self):
        with self.assertRaisesRegex(TypeError, "include"):
            self.pack(Inline(), include=lambda entry: True)
        with self.assertRaises(ValueError):
            self.pack(Inline(), shares=0)
        with self.assertRaisesRegex(ValueError, "retries"):
            self.pack(Inline(), retries=-1)
        with self.assertRaisesRegex(TypeError, "paths"):
            self.pack(Inline(), paths="empty")
        with self.assertRaisesRegex(dwarfs.InvalidError, "filter rules"):
            self.pack(Inline(), paths=["empty"], filters=["- x"])
        with self.assertRaisesRegex(dwarfs.InvalidError, "empty name"):
            distributed.pack({"a//b": self.tree}, self.output, Inline())
        (self.dir / "file").write_bytes(b"")
        for name, kind in (("missing", FileNotFoundError), ("file", NotADirectoryError)):
            with self.assertRaises(kind) as caught:
                distributed.pack(self.dir / name, self.output, Inline())
            self.assertEqual(caught.exception.filename, str(self.dir / name))
        with self.assertRaises(FileNotFoundError) as caught:
            distributed.pack(self.dir, self.dir / "missing/output", Inline())
        self.assertEqual(caught.exception.filename, str(self.dir / "missing"))
        self.output.write_bytes(b"")
        with self.assertRaises(FileExistsError):
            distributed.pack(self.tree, self.output, Inline())
        self.assertEqual(self.output.read_bytes(), b"")

    def test_an_output_inside_of_the_source(self):
        """Neither the shares nor an earlier output are packed."""
        source = self.dir / "tree"
        output, link = source / "none" / "out.dwarfs", self.dir / "link"
        os.symlink(source, link)
        before = dwarfs.pack(source, None).files
        for sources in [source], [link], {"pre/fix": source}, [source / "release-0", source]:
            for _ in range(2):
                with self.subTest(sources):
                    counts = distributed.pack(sources, output, Inline(), shares=3, level=1,
                                              overwrite=True)
                    self.assertEqual(counts.errors, 0)
                    if isinstance(sources, dict) or len(sources) == 1:
                        self.assertEqual(counts.files, before)
                    with dwarfs.open(output) as image:
                        self.assertEqual([str(path) for path in image.root.rglob("*out.dwarfs*")],
                                         [])
                    self.assertEqual(sorted(os.listdir(source / "none")), ["hard", "out.dwarfs"])

    def test_an_output_whose_name_begins_with_dots(self):
        output = self.dir / "tree" / "..out.dwarfs"
        distributed.pack(self.dir / "tree", output, Inline(), shares=3, level=1)
        with dwarfs.open(output) as image:
            self.assertEqual([str(path) for path in image.root.rglob("*out.dwarfs*")], [])

    def test_progress_is_that_of_the_merge(self):
        phases = set()
        self.pack(Inline(), progress=lambda now: phases.add(now.phase))
        self.assertIn(dwarfs.Phase.DONE, phases)

    def test_paths(self):
        paths = ["release-1/sub/file-0.txt", pathlib.Path("link"), b"none/hard"]
        self.pack(Inline(), paths=paths)
        with dwarfs.open(self.output) as image:
            self.assertEqual(sorted(str(path) for path in image.walk()),
                             ["", "link", "none", "none/hard", "release-1", "release-1/sub",
                              "release-1/sub/file-0.txt"])
            self.assertEqual((image / "none/hard").read_bytes(),
                             (self.tree / "none/hard").read_bytes())
        with self.assertRaises(FileNotFoundError):
            self.pack(Inline(), paths=["missing"])
        with self.assertRaisesRegex(ValueError, "paths"):
            distributed.pack({"in": self.tree}, self.output, Inline(), overwrite=True,
                             paths=paths)

    def test_bytes(self):
        distributed.pack(os.fsencode(self.tree), os.fsencode(self.output), Inline(), level=1)
        self.assert_is_tree()
        distributed.pack({b"in/": os.fsencode(self.tree)}, self.output, Inline(), level=1,
                         overwrite=True)
        with dwarfs.open(self.output) as image:
            self.assertEqual((image / "in/random").read_bytes(),
                             (self.tree / "random").read_bytes())

    def test_sources_with_prefixes_and_filters(self):
        other = self.dir / "other"
        (other / "deep").mkdir(parents=True)
        (other / "deep/a.txt").write_bytes(b"text of another tree")
        (other / "deep/b.tmp").write_bytes(b"left out")
        distributed.pack({"": self.tree / "release-1", "in/it": other}, self.output, Inline(),
                         shares=2, level=1, filters=["- *.tmp"])
        with dwarfs.open(self.output) as image:
            self.assertEqual((image / "in/it/deep/a.txt").read_bytes(), b"text of another tree")
            self.assertFalse((image / "in/it/deep/b.tmp").exists())
            self.assertEqual(
                (image / "sub/file-0.txt").read_bytes(),
                (self.tree / "release-1/sub/file-0.txt").read_bytes())

    def test_one_source_with_filters(self):
        distributed.pack(self.tree, self.output, Inline(), shares=2, level=1,
                         filters=["- file-0.txt"])
        with dwarfs.open(self.output) as image:
            self.assertFalse((image / "release-1/sub/file-0.txt").exists())
            self.assertTrue((image / "release-1/sub/file-1.txt").exists())

    def test_similar_files_meet(self):
        shares = distributed._assign(
            [_search.Content((f"r{number % 5}/{name}",), 1000, ())
             for number, name in enumerate(["a.c", "b.txt", "c.h", "d.py"] * 5)], 4)
        self.assertEqual([len(share) for share in shares], [5, 5, 5, 5])
        for share in shares:
            self.assertEqual(len({os.path.basename(content.paths[0]) for content in share}), 1)

    def test_contents_with_a_rare_line_in_common_are_a_cluster(self):
        clusters = distributed._cluster([
            _search.Content(("a.x",), 1, (7, 8)), _search.Content(("b.y",), 1, (8,)),
            _search.Content(("c.z",), 1, (9,))])
        self.assertEqual(sorted(map(len, clusters)), [1, 2])


class Recording(Inline):
    """Keeps what is submitted, and how many batches of directories were not taken at a time."""

    def __init__(self, lose=()):
        super().__init__()
        self.lists, self.given, self.most = [], 0, 0
        self.losing = set(lose)  # numbers of the batches that are lost once

    def submit(self, function, *arguments):
        future = super().submit(function, *arguments)
        if arguments[0] is not _listing._list:
            return future
        number = len(self.lists)
        self.lists.append((arguments[1][1], future.result()[1]))
        self.given += 1
        self.most = max(self.most, self.given)
        counted = mock.Mock()

        def take():
            self.given -= 1
            if number in self.losing:
                raise concurrent.futures.BrokenExecutor("the worker was killed")
            return future.result()
        counted.result = take
        return counted


class Listing(Case):
    """The workers list what the library itself finds in the directories."""

    def setUp(self):
        super().setUp()
        for number in range(60):
            (self.tree / f"release-{number % 8}" / f"more-{number}").mkdir()
        self.other = self.dir / "other"
        (self.other / "release-1").mkdir(parents=True)
        for name in "random", "none", "release-1/new.txt", "release-1/sub", os.fsdecode(b"\xff\n"):
            (self.other / name).write_bytes(b"of another directory\n" * 5)
        os.symlink("none", self.other / "same-1")  # instead of a file
        (self.other / "empty").mkdir()  # likewise
        (self.other / "empty/file").write_bytes(b"large" * 20_000)
        self.addCleanup(shutil.rmtree, self.other)

    def by_library(self, sources, filters, paths=None):
        found = set()

        def include(entry):
            if stat.S_ISREG(entry.mode):
                found.add((entry.path, entry.size))
            return True
        builder = dwarfs.Builder(include=include, filters=filters)
        if paths is not None:
            builder._add_directory(sources[0][1], paths)
        for prefix, directory in sources if paths is None else ():
            builder.add_tree(directory, prefix)
        builder.write(None)
        return found

    def by_workers(self, sources, filters, paths=None, executor=None):
        with _tasks.Tasks(executor or Inline(), 3) as tasks:
            found = list(_listing.list_files(tasks, sources, filters, 2) if paths is None
                         else _listing.list_paths(tasks, sources, paths, 2))
        self.assertEqual(len({path for (path, _, _), _ in found}), len(found))
        for (path, root, size), look in found:
            source = _listing.source_of(sources, root, path)
            with open(source, "rb") as data:
                wanted = hashlib.blake2b(data.read(), digest_size=16).digest()
            self.assertIn(look and look[0], (wanted, None))
            if _listing.BATCH_FILES > len(found):
                self.assertEqual(look is None, size > _look.HEAD_BYTES)
        return {(path, size) for (path, _, size), _ in found}

    def assert_same(self, sources, filters=(), paths=None):
        sources = tuple((prefix, str(directory)) for prefix, directory in sources)
        wanted = self.by_library(sources, filters, paths)
        self.assertTrue(wanted)
        for count in 1, 7, 2000:
            with self.subTest(sources, filters=filters, count=count), \
                    mock.patch.object(_listing, "BATCH_FILES", count):
                self.assertEqual(self.by_workers(sources, list(filters), paths), wanted)

    def test_directories(self):
        tree, other = self.tree, self.other
        for sources in ([("", tree)], [("", tree), ("", other)], [("", other), ("", tree)],
                        [("in/it", tree)], [("in/it", tree), ("in", other), ("", other)],
                        [("release-1", other), ("", tree)], [("", tree), ("release-1/sub", other)]):
            self.assert_same(sources)

    def test_filters(self):
        for filters in (["- file-0.txt"], ["- sub/"], ["+ /release-1/***", "- *.txt"],
                        ["- /in", "+ *"], ["- empty"]):
            self.assert_same([("", self.tree)], filters)
            self.assert_same([("", self.tree), ("", self.other)], filters)
            self.assert_same([("in", self.tree), ("", self.other)], filters)

    def test_paths(self):
        self.assert_same([("", self.tree)], paths=["random", "none", "none/hard", "random", "link",
                                                   "release-1/sub/file-0.txt"])

    def test_paths_longer_than_the_system_takes(self):
        above = os.open(self.tree, os.O_RDONLY)
        for number in range(45):
            name = "d" * 100
            os.mkdir(name, dir_fd=above)
            below = os.open(name, os.O_RDONLY, dir_fd=above)
            os.close(above)
            above = below
            with open("file", "wb", opener=lambda name, flags: os.open(
                    name, flags, 0o644, dir_fd=above)) as out:
                out.write(b"deep")
        os.close(above)
        sources = (("", str(self.tree)),)
        with _tasks.Tasks(Inline(), 0) as tasks:
            found = {(path, size) for (path, _, size), _ in
                     _listing.list_files(tasks, sources, [], 2)}
        self.assertEqual(found, self.by_library(sources, []))
        self.assertGreater(max(len(path) for path, _ in found), 4500)
        self.pack(Inline())
        self.assertEqual(dwarfs.compare(self.tree, str(self.output)), [])

    def test_what_is_lost_is_listed_again(self):
        sources = (("", str(self.tree)),)
        with mock.patch.object(_listing, "BATCH_FILES", 5):
            whole = Recording()
            wanted = self.by_workers(sources, [], executor=whole)
            self.assertGreater(len(whole.lists), 10)
            losing = Recording(lose=[0, 3, 4])
            self.assertEqual(self.by_workers(sources, [], executor=losing), wanted)
        again = [batch for number, (batch, _) in enumerate(losing.lists) if number in losing.losing]
        self.assertEqual(sorted(batch for batch, _ in losing.lists),
                         sorted([batch for batch, _ in whole.lists] + again))
        self.assertEqual(len(again), 3)

    def test_batches_have_bounds(self):
        """At most two for each worker at a time, and a worker does not list another directory when
        it has enough entries."""
        for number in range(600):
            (self.tree / f"release-{number % 8}" / f"{number}").mkdir()
        with mock.patch.object(_listing, "BATCH_FILES", 20), \
                mock.patch.object(_listing, "_BATCH_DIRECTORIES", 10):
            executor = Recording()
            self.by_workers((("", str(self.tree)),), [], executor=executor)
        self.assertEqual(executor.most, 4)
        largest = max(len(list(path.iterdir())) for path in self.tree.rglob("*") if path.is_dir())
        for given, (found, left) in executor.lists:
            self.assertLessEqual(len(given), 10)
            self.assertLessEqual(len(found) + len(left), len(given) + 20 + largest)

    def test_a_worker_reads_no_more_small_files_than_a_batch_has(self):
        roots = (("", str(self.tree)),)
        with mock.patch.object(_listing, "BATCH_FILES", 7):
            files, _ = _listing._list(roots, [("release-1/sub", (0,)), ("release-2/sub", (0,))], [])
        self.assertEqual([look is None for _, look in files], [False] * 7 + [True] * (len(files) - 7))
        self.assertGreater(len(files), 7)

    def test_a_worker_that_cannot_read_a_directory(self):
        """Its files are read by the process that merges the shares."""
        original = _listing._scan

        def scan(path):
            if path.endswith("release-3/sub"):
                raise PermissionError(errno.EACCES, "not for this worker", path)
            return original(path)
        with mock.patch.object(_listing, "_scan", scan):
            counts = self.pack(Inline())
        self.assertEqual(counts.errors, 0)
        self.assertEqual(dwarfs.compare(self.tree, str(self.output)), [])

    @unittest.skipIf(sys.platform == "win32", "no permissions")
    def test_a_directory_that_cannot_be_read(self):
        """It is empty in the image, and an error is counted, as with dwarfs.pack()."""
        closed = self.tree / "release-3" / "sub"
        closed.chmod(0)
        self.addCleanup(closed.chmod, 0o755)
        if os.geteuid() == 0:
            self.pack(Inline())  # imports what another user may not be able to read
            os.chmod(self.dir, 0o777)
            self.output.unlink()
            os.seteuid(65534)
            self.addCleanup(os.seteuid, 0)
        for sources in [self.tree], [self.tree, self.other]:
            counts = distributed.pack(sources, self.output, Inline(), level=1, overwrite=True)
            self.assertEqual(counts.errors, 1)
            with dwarfs.open(self.output) as image:
                self.assertEqual(list((image / "release-3/sub").iterdir()), [])
                self.assertTrue((image / "release-2/sub/file-0.txt").is_file())

    def test_files_of_rules(self):
        """The rules are read once, where pack() is called."""
        rules, more = self.dir / "rules", self.dir / "more"
        rules.write_text(f"# a comment\n\n+ file-1.txt\r\n.  {more}\n")
        more.write_bytes(b"- file-*\n- \xff*")
        filters = [f" . {rules}"]
        given = list(distributed._without_files(filters))
        self.assertEqual(given, ["+ file-1.txt", "- file-*", os.fsdecode(b"- \xff*")])
        sources = (("", str(self.tree)), ("", str(self.other)))
        self.assertEqual(self.by_workers(sources, given), self.by_library(sources, filters))

        class Removing(Inline):
            def submit(self, function, *arguments):
                for path in rules, more:
                    path.unlink(missing_ok=True)
                return super().submit(function, *arguments)
        with mock.patch.object(distributed, "_merger", return_value=dwarfs.Builder()), \
                self.assertRaisesRegex(RuntimeError, "enough"):
            with mock.patch.object(distributed, "_assign", side_effect=RuntimeError("enough")):
                self.pack(Removing(), filters=filters)
        self.assertFalse(rules.exists())


class Partitions(Case):
    def setUp(self):
        super().setUp()
        dwarfs.pack(self.tree, self.output, level=1, block_bits=16)
        self.context = dwarfs.Context(timing=True, workers=0)
        self.image = dwarfs.open(self.output, context=self.context)
        self.files = {str(path.relative_to(self.tree)): path.read_bytes()
                      for path in self.tree.rglob("*")
                      if path.is_file() and not path.is_symlink()}

    def test_all_files_once(self):
        for count in 1, 2, 3, 8, 1000:
            with self.subTest(count):
                parts = distributed.partitions(self.image, count)
                self.assertLessEqual(len(parts), count)
                names = [str(path) for part in parts for path in part]
                self.assertEqual(sorted(names), sorted(self.files))
                self.assertEqual(sum(part.size for part in parts),
                                 sum(map(len, self.files.values())))
        self.assertGreater(len(distributed.partitions(self.image, 3)), 1)
        with self.assertRaises(ValueError):
            distributed.partitions(self.image, 0)
        for image, count in (self.output, 1), (self.image, 2.5), (self.image, "2"):
            with self.assertRaises(TypeError):
                distributed.partitions(image, count)
        for paths in "random", b"random", self.image / "random":
            with self.subTest(paths), self.assertRaisesRegex(TypeError, "list"):
                distributed.partitions(self.image, 1, paths=paths)

    def test_sizes_are_as_equal_as_blocks_allow(self):
        for sizes, count, wanted in (
                ([113, 116, 149, 97, 20], 2, [229, 266]),
                ([113, 116, 149, 97, 20], 4, [113, 116, 149, 117]),
                ([2, 1, 100, 1, 1], 2, [3, 102]), ([1, 1, 100, 1, 2], 2, [102, 3]),
                ([100, 1, 1], 3, [100, 1, 1]), ([5] * 8, 8, [5] * 8), ([5] * 9, 2, [25, 20]),
                ([0, 0], 2, [0]), ([3], 8, [3])):
            files = [(f"{number}", size, number) for number, size in enumerate(sizes)]
            with self.subTest(sizes, count=count), \
                    mock.patch.object(distributed, "_files", return_value=files):
                parts = distributed.partitions(self.image, count)
                self.assertEqual([part.size for part in parts], wanted)
                self.assertEqual([name for part in parts for name in part._names],
                                 [name for name, _, _ in files])

    def test_more_files_than_are_listed_at_once(self):
        count = distributed._BATCH_ENTRIES * 2 + 1
        names = [os.fsdecode(b"\xff%d" % number) for number in range(count)]
        builder = dwarfs.Builder(level=1)
        for number, name in enumerate(names):
            builder.add(name, b"%d" % number)
        builder.write(self.dir / "many.dwarfs")
        with dwarfs.open(self.dir / "many.dwarfs") as image:
            part, = distributed.partitions(image, 1)
            self.assertEqual(sorted(map(str, part)), sorted(names))

    def test_some_files(self):
        part, = distributed.partitions(self.image, 1, paths=["random", "/none//hard", "link"])
        self.assertEqual(sorted(map(str, part)), ["none/hard", "random"])
        self.assertEqual(str(part[0].image), str(self.image))

    def test_only_these_files_are_opened(self):
        given = os.environ.get("DWARFS_TEST_DATA")
        if not given or not os.path.isdir(os.path.join(given, "badfs")):
            self.skipTest("no damaged images")
        damaged = "foo/1/2/3/4/5/6/7/8/9/b"
        with dwarfs.open(os.path.join(given, "badfs", "crafted",
                                      "meta-chunk-end-outside-block.dwarfs")) as image:
            part, = distributed.partitions(image, 1, paths=["bench.sh"])
            self.assertEqual([str(path) for path in part], ["bench.sh"])
            for paths in [damaged], None:
                with self.assertRaises(dwarfs.CorruptError):
                    distributed.partitions(image, 1, paths=paths)

    def test_contents(self):
        for part in distributed.partitions(self.image, 4):
            copy = pickle.loads(pickle.dumps(part))
            self.assertEqual(len(copy), len(part))
            self.assertEqual(dict(digests_of(copy)),
                             {str(path): hashlib.sha256(self.files[str(path)]).hexdigest()
                              for path in part})

    def test_each_block_is_decompressed_once_in_a_partition(self):
        part, = distributed.partitions(self.image, 1)
        self.assertGreater(self.image.block_count, 4)
        before = self.context.latencies()["decode"]["times"]
        part.map(digest)
        times = self.context.latencies()["decode"]["times"] - before
        self.assertGreater(times, 0)
        self.assertLessEqual(times, self.image.block_count)

    def test_an_exception_of_the_function(self):
        def fail(path, data):
            raise KeyError(str(path))
        with self.assertRaises(KeyError):
            distributed.partitions(self.image, 1)[0].map(fail)

    def test_holes(self):
        builder = dwarfs.Builder(level=1)
        builder.add("sparse", [(100_000, b"data")], size=200_000)
        builder.add("hole", size=1000)
        builder.write(self.dir / "sparse.dwarfs")
        with dwarfs.open(self.dir / "sparse.dwarfs") as image:
            part, = distributed.partitions(image, 1)
            self.assertEqual(
                {str(path): data for path, data in part.map(lambda path, data: (path, data))},
                {"sparse": bytes(100_000) + b"data" + bytes(99_996), "hole": bytes(1000)})


if __name__ == "__main__":
    unittest.main()
