# SPDX-License-Identifier: MIT
"""Images as file systems of fsspec, of the version that is installed."""
import collections
import errno
import http.server
import importlib.metadata
import io
import multiprocessing
import os
import pathlib
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

try:
    import fsspec
    import dwarfs
    import dwarfs.fsspec
except ImportError as error:
    print(f"not installed: {error}")
    sys.exit(77)

TIMEOUT = 120
METHODS = multiprocessing.get_all_start_methods()
FILES = {"a": b"", "b": b"hello", "deeply/nested/path": b"stuff",
         "data/one.csv": b"x,y\n1,2\n", "data/two.csv": b"x,y\n3,4\n5,6\n"}
DIRECTORIES = ["data", "deeply", "deeply/nested"]


def read_all(fs):
    """In a child process: the contents of all files."""
    return {name: fs.cat_file(name) for name in fs.find("")}


def read_on(file):
    return file.read()


class Counted:
    """A module whose functions are counted when they are called."""

    def __init__(self, module):
        self.module, self.calls = module, collections.Counter()

    def __getattr__(self, name):
        found = getattr(self.module, name)
        if not name.startswith("dwarfs_"):
            return found

        def call(*arguments):
            self.calls[name] += 1
            return found(*arguments)
        return call


class Bucket(http.server.BaseHTTPRequestHandler):
    """What a client of S3 needs to read objects: their sizes, and ranges of them."""

    protocol_version = "HTTP/1.1"
    objects = {}
    ranges = []  # that were asked for

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.respond(False)

    def do_GET(self):
        self.respond(True)

    def respond(self, with_data):
        data = self.objects.get(self.path.partition("?")[0])
        if data is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first, last = 0, len(data) - 1
        wanted = self.headers.get("Range")
        if with_data and wanted:
            first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
            last = min(last, len(data) - 1)
        self.send_response(206 if with_data and wanted else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Sun, 13 Sep 2020 12:26:40 GMT")
        self.end_headers()
        if with_data:
            self.ranges.append((first, last))
            self.wfile.write(data[first:last + 1])


class Case(unittest.TestCase):
    def setUp(self):
        dwarfs.fsspec.register()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-fsspec-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.path = str(self.dir / "image.dwarfs")
        builder = dwarfs.Builder(level=1)
        for name, content in FILES.items():
            builder.add(name, content, mtime=1_600_000_000)
        builder.write(self.path)
        self.fs = fsspec.filesystem("dwarfs", fo=self.path)


class Archive(Case):
    """What fsspec asks of each archive."""

    def test_repr(self):
        self.assertIn("DwarfsFileSystem", repr(self.fs))
        self.assertIn("Archive-like", str(self.fs))

    def test_empty_archive(self):
        builder = dwarfs.Builder(level=1)
        builder.add("", mode=stat.S_IFDIR | 0o755)
        builder.write(self.dir / "empty.dwarfs")
        fs = fsspec.filesystem("dwarfs", fo=str(self.dir / "empty.dwarfs"))
        self.assertEqual(fs.find(""), [])
        self.assertEqual(fs.find("", withdirs=True), [])
        self.assertEqual(fs.ls(""), [])

    def test_glob(self):
        self.assertEqual(self.fs.glob("*/*/*th"), ["deeply/nested/path"])
        self.assertEqual(self.fs.glob("data/*.csv"), ["data/one.csv", "data/two.csv"])
        self.assertEqual(self.fs.glob("*b*"), ["b"])
        self.assertEqual(self.fs.glob("./*b*"), ["b"])
        self.assertEqual(self.fs.glob("./data//./t*"), ["data/two.csv"])
        self.assertEqual(self.fs.expand_path("./deeply//nested", recursive=True),
                         ["deeply/nested", "deeply/nested/path"])

    def test_mapping(self):
        mapping = self.fs.get_mapper()
        self.assertEqual(sorted(mapping), sorted(FILES))
        self.assertEqual(mapping["b"], b"hello")
        with self.assertRaises(KeyError):
            mapping["c"]

    def test_pickle(self):
        data = pickle.dumps(self.fs)
        self.assertLess(len(data), 1000)
        self.assertEqual(pickle.loads(data).cat("b"), b"hello")

    def test_all_directory_names(self):
        self.assertEqual(self.fs._all_dirnames(FILES), set(DIRECTORIES))
        self.assertEqual(self.fs._all_dirnames([]), set())

    def test_ls(self):
        self.assertEqual(self.fs.ls("", detail=False), ["a", "b", "data", "deeply"])
        self.assertEqual(self.fs.ls("/", detail=False), self.fs.ls("", detail=False))
        self.assertEqual(self.fs.ls("deeply/", detail=False), ["deeply/nested"])
        self.assertEqual(self.fs.ls("deeply/nested", detail=False), ["deeply/nested/path"])
        self.assertEqual([(info["name"], info["type"], info["size"])
                          for info in self.fs.ls("")],
                         [("a", "file", 0), ("b", "file", 5), ("data", "directory", 0),
                          ("deeply", "directory", 0)])
        self.assertEqual(self.fs.ls("b", detail=False), ["b"])
        with self.assertRaises(FileNotFoundError):
            self.fs.ls("none")

    def test_find(self):
        self.assertEqual(self.fs.find(""), sorted(FILES))
        self.assertEqual(self.fs.find("", withdirs=True), sorted([*FILES, *DIRECTORIES]))
        self.assertEqual(self.fs.find("deeply"), ["deeply/nested/path"])
        self.assertEqual(self.fs.find("", maxdepth=1), ["a", "b"])
        self.assertEqual(self.fs.find("b"), ["b"])
        self.assertEqual(self.fs.find("none"), [])
        self.assertEqual(self.fs.find("", detail=True)["b"]["size"], 5)

    def test_walk(self):
        self.assertEqual([(path, list(dirs), list(files))
                          for path, dirs, files in self.fs.walk("")],
                         [("", ["data", "deeply"], ["a", "b"]),
                          ("data", [], ["one.csv", "two.csv"]),
                          ("deeply", ["nested"], []), ("deeply/nested", [], ["path"])])
        _, dirs, files = next(iter(self.fs.walk("", detail=True)))
        self.assertEqual((dirs["deeply"]["type"], files["b"]["size"]), ("directory", 5))

    def test_info(self):
        for name in "", *DIRECTORIES:
            info = self.fs.info(name)
            self.assertEqual((info["name"], info["type"], info["size"]),
                             (name, "directory", 0))
        for name, content in FILES.items():
            info = self.fs.info(name)
            self.assertEqual((info["name"], info["type"], info["size"]),
                             (name, "file", len(content)))
            self.assertEqual(info["mtime"], 1_600_000_000)
        with self.assertRaises(FileNotFoundError):
            self.fs.info("none")

    def test_isdir_and_isfile(self):
        for name in DIRECTORIES:
            self.assertTrue(self.fs.isdir(name) and not self.fs.isfile(name))
        for name in FILES:
            self.assertTrue(self.fs.isfile(name) and not self.fs.isdir(name))
        self.assertFalse(self.fs.isdir("none") or self.fs.isfile("none"))
        self.assertTrue(self.fs.exists("deeply") and not self.fs.exists("none"))

    def test_an_empty_file(self):
        self.assertEqual(self.fs.cat("a"), b"")
        with self.fs.open("a") as file:
            self.assertEqual(file.read(), b"")


class More(Case):
    def test_chained_urls(self):
        with fsspec.open(f"dwarfs://data/one.csv::file://{self.path}") as file:
            self.assertEqual(file.read(), FILES["data/one.csv"])
        files = fsspec.open_files(f"dwarfs://data/*.csv::{self.path}", mode="r")
        self.assertEqual([name.path for name in files], ["data/one.csv", "data/two.csv"])
        with files[1] as file:
            self.assertEqual(file.read(), FILES["data/two.csv"].decode())

    def test_an_image_that_is_not_local_is_read_by_ranges(self):
        memory = fsspec.filesystem("memory")
        memory.pipe("/image.dwarfs", pathlib.Path(self.path).read_bytes())
        self.addCleanup(memory.rm, "/image.dwarfs")
        with fsspec.open("dwarfs://deeply/nested/path::memory://image.dwarfs") as file:
            self.assertEqual(file.read(), b"stuff")

    def make_large(self, name):
        """An image of 100 files that cannot be compressed, in blocks of 64 KiB; returns the contents
        of the files."""
        contents = {f"{number:02}": os.urandom(60_000) for number in range(100)}
        builder = dwarfs.Builder(level=1, block_bits=16, compression="null")
        for path, content in contents.items():
            builder.add(path, content)
        builder.write(self.dir / name)
        return contents

    def test_what_is_read_of_an_image_that_is_not_local(self):
        """The metadata, and the blocks of a file; not the whole image, and no more when a file is
        opened."""
        contents = self.make_large("large.dwarfs")
        data = (self.dir / "large.dwarfs").read_bytes()
        memory = fsspec.filesystem("memory")
        memory.pipe("/large.dwarfs", data)
        self.addCleanup(memory.rm, "/large.dwarfs")
        sizes = []
        cat_file = type(memory).cat_file

        def counted(fs, path, start=None, end=None, **more):
            found = cat_file(fs, path, start=start, end=end, **more)
            sizes.append(len(found))
            return found
        with unittest.mock.patch.object(type(memory), "cat_file", counted):
            fs = fsspec.filesystem("dwarfs", fo="memory://large.dwarfs", lazy=True)
            before = sum(sizes)
            self.assertLess(before, len(data) / 20)
            file = fs.open("50")
            self.assertEqual(sum(sizes), before)
            with file:
                self.assertEqual(file.read(10), contents["50"][:10])
            self.assertGreater(sum(sizes), before)
            self.assertLess(sum(sizes) - before, 3 << 16)

    def test_no_more_is_read_than_a_buffer(self):
        builder = dwarfs.Builder(level=1)
        builder.add("large", bytes(range(256)) * 40_000)
        builder.write(self.dir / "large.dwarfs")
        fs = fsspec.filesystem("dwarfs", fo=str(self.dir / "large.dwarfs"))
        sizes = []
        readinto = dwarfs.File.readinto

        def counted(file, buffer):
            sizes.append(readinto(file, buffer))
            return sizes[-1]
        with unittest.mock.patch.object(dwarfs.File, "readinto", counted):
            with fs.open("large") as file:
                self.assertEqual(sizes, [])
                self.assertEqual(file.read(10), bytes(range(10)))
        self.assertEqual(len(sizes), 1)
        self.assertLessEqual(sizes[0], 1 << 16)

    def test_a_listing_costs_what_the_directory_has(self):
        calls = []
        for more in 0, 500:
            builder = dwarfs.Builder(level=1)
            for name in "ab", "cde":
                for number in range(3):
                    builder.add(f"{name}/{number}", b"")
            for number in range(more):
                builder.add(f"cde/sub/{number}", b"")
                builder.add(f"many/{number}", b"")
            builder.write(self.dir / f"{more}.dwarfs")
            fs = fsspec.filesystem("dwarfs", fo=str(self.dir / f"{more}.dwarfs"))
            counted = Counted(dwarfs.fsspec._dwarfs)
            with unittest.mock.patch("dwarfs.fsspec._dwarfs", counted), \
                    unittest.mock.patch("dwarfs._path._dwarfs", counted):
                self.assertEqual(fs.ls("ab", detail=False), ["ab/0", "ab/1", "ab/2"])
            calls.append(counted.calls)
        self.assertEqual(calls[0]["dwarfs_inode_stat"], 3)
        self.assertEqual(calls[0], calls[1])

    def test_an_image_in_an_object_store(self):
        try:
            import s3fs  # noqa: F401
        except ImportError:
            self.skipTest("s3fs is not installed")
        contents = self.make_large("large.dwarfs")
        data = (self.dir / "large.dwarfs").read_bytes()
        self.addCleanup(Bucket.ranges.clear)
        Bucket.objects["/bucket/dir/a.dwarfs"] = data
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        options = {"key": "key", "secret": "secret", "skip_instance_cache": True,
                   "endpoint_url": f"http://127.0.0.1:{server.server_port}"}
        with fsspec.open("dwarfs://50::s3://bucket/dir/a.dwarfs", s3=options) as file:
            self.assertEqual(file.read(), contents["50"])
        files = fsspec.open_files("dwarfs://1*::s3://bucket/dir/a.dwarfs", s3=options)
        found = {}
        for each in files:
            with each as file:
                found[each.path] = file.read()
        self.assertEqual(found, {name: content for name, content in contents.items()
                                 if name.startswith("1")})
        self.assertLess(max(last - first for first, last in Bucket.ranges), len(data) / 2)
        with self.assertRaises(FileNotFoundError):
            fsspec.filesystem("dwarfs", fo="s3://bucket/none", target_options=options)

    def test_an_installed_package_registers_itself(self):
        try:
            importlib.metadata.version("dwarfs")
        except importlib.metadata.PackageNotFoundError:
            self.skipTest("the package is not installed")
        program = "import fsspec, sys; print(fsspec.filesystem('dwarfs', fo=sys.argv[1]).cat('b'))"
        ran = subprocess.run([sys.executable, "-c", program, self.path], check=True,
                             stdout=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(ran.stdout, "b'hello'\n")

    def test_an_open_file_as_image(self):
        with open(self.path, "rb") as file:
            self.assertEqual(dwarfs.fsspec.DwarfsFileSystem(fo=file).cat("b"), b"hello")
        data = io.BytesIO(pathlib.Path(self.path).read_bytes())
        self.assertEqual(dwarfs.fsspec.DwarfsFileSystem(fo=data).cat("b"), b"hello")

    def test_ranges(self):
        self.assertEqual(self.fs.cat_file("b", 1, 3), b"el")
        self.assertEqual(self.fs.cat_file("b", -2), b"lo")
        self.assertEqual(self.fs.cat_file("b", 1, -1), b"ell")
        self.assertEqual(self.fs.cat_file("b", 9, 12), b"")
        paths = ["deeply/nested/path", "b", "none", "b"]
        found = self.fs.cat_ranges(paths, [1, 0, 0, 3], [3, 2, 1, None])
        self.assertEqual(found[:2] + found[3:], [b"tu", b"he", b"lo"])
        self.assertIsInstance(found[2], FileNotFoundError)
        with self.assertRaises(FileNotFoundError):
            self.fs.cat_ranges(paths, 0, 1, on_error="raise")
        with self.assertRaises(ValueError):
            self.fs.cat_ranges(paths, [0], [1])

    def test_ranges_of_many_blocks_decompress_each_once(self):
        """With a cache of about one block, the order of reading counts."""
        builder = dwarfs.Builder(level=1, block_bits=16, order="none")
        contents = {f"f{number:03}": os.urandom(3000) + bytes(7000) for number in range(80)}
        for name, content in contents.items():
            builder.add(name, content)
        builder.write(self.dir / "many.dwarfs")
        fs = fsspec.filesystem("dwarfs", fo=str(self.dir / "many.dwarfs"),
                               cache_bytes=150_000, workers=0)
        names = sorted(contents, key=lambda name: name[::-1])
        found = fs.cat_ranges(names, 0, 10_000)
        self.assertEqual(found, [contents[name] for name in names])
        numbers = fs.image._context.cache_numbers()
        stored = sum(len(content) for content in contents.values())
        self.assertGreater(fs.image.block_count, 5)
        self.assertLessEqual(numbers["decoded_bytes"], 1.3 * stored)

    def test_links(self):
        builder = dwarfs.Builder(level=1)
        builder.add("dir/file", b"text")
        builder.add("to_file", target="dir/file")
        builder.add("to_dir", target="/dir")
        builder.add("dir/cycle", target="..")
        builder.add("broken", target="none")
        builder.write(self.dir / "links.dwarfs")
        fs = fsspec.filesystem("dwarfs", fo=str(self.dir / "links.dwarfs"))
        self.assertEqual(fs.find(""), ["broken", "dir/cycle", "dir/file", "to_dir", "to_file"])
        info = fs.info("to_file")
        self.assertEqual((info["type"], info["size"], info["destination"]),
                         ("file", 4, "dir/file"))
        self.assertEqual(fs.cat("to_file"), b"text")
        self.assertEqual(fs.ls("to_dir", detail=False), ["to_dir/cycle", "to_dir/file"])
        self.assertEqual(fs.info("broken")["type"], "link")
        self.assertEqual(fs.info(pathlib.PurePosixPath("broken"))["type"], "link")
        self.assertEqual(fs.info(pathlib.PurePosixPath("to_dir"))["type"], "directory")

    def test_files(self):
        with self.fs.open("data/two.csv") as file:
            self.assertEqual(file.readline(), b"x,y\n")
            copy = pickle.loads(pickle.dumps(file))
            self.assertEqual(copy.read(), b"3,4\n5,6\n")
            self.assertEqual(file.seek(-4, 2), len(FILES["data/two.csv"]) - 4)
            self.assertEqual(file.size, len(FILES["data/two.csv"]))
        with self.fs.open("data/two.csv", "r") as file:
            self.assertEqual(file.readlines(), ["x,y\n", "3,4\n", "5,6\n"])
        with self.assertRaises(OSError):
            self.fs.open("new", "wb")
        for change in (self.fs.mkdir, self.fs.makedirs, self.fs.rmdir):
            for name in "new", "data":
                with self.assertRaises(OSError):
                    change(name)
        self.fs.makedirs("data", exist_ok=True)
        with self.assertRaises(FileExistsError):
            self.fs.makedirs("b", exist_ok=True)
        with self.assertRaises(FileNotFoundError):
            self.fs.open("none")
        with self.assertRaises(IsADirectoryError):
            self.fs.open("data")

    def test_caching_file_systems(self):
        builder = dwarfs.Builder(level=1)
        files = {**FILES, "large": os.urandom(300_000)}
        for name, content in files.items():
            builder.add(name, content)
        builder.write(self.dir / "large.dwarfs")
        for kind in "simplecache", "filecache", "blockcache":
            storage = str(self.dir / kind)
            for _ in "from the image", "from the cache":
                for name, content in files.items():
                    url = f"{kind}::dwarfs://{name}::file://{self.dir}/large.dwarfs"
                    with self.subTest(url):
                        with fsspec.open(url, **{kind: {"cache_storage": storage}}) as file:
                            self.assertEqual(file.read(), content)
            fs = fsspec.filesystem(kind, target_protocol="dwarfs", cache_storage=storage,
                                   target_options={"fo": str(self.dir / "large.dwarfs")})
            self.assertEqual(fs.ls("data", detail=False), ["data/one.csv", "data/two.csv"])
            self.assertEqual(fs.find(""), sorted(files))
            with fs.open("large") as file:
                file.seek(200_000)
                self.assertEqual(file.read(1000), files["large"][200_000:201_000])
                self.assertEqual(file.tell(), 201_000)
                file.seek(-5, 2)
                self.assertEqual(file.read(), files["large"][-5:])
            self.assertTrue(file.closed)
            with fs.open("data/two.csv", "r") as file:
                self.assertEqual(list(file), ["x,y\n", "3,4\n", "5,6\n"])

    def test_blocks_are_fetched_when_they_are_needed(self):
        builder = dwarfs.Builder(level=1)
        builder.add("large", bytes(range(256)) * 4000)
        builder.write(self.dir / "large.dwarfs")
        fs = fsspec.filesystem("blockcache", target_protocol="dwarfs",
                               cache_storage=str(self.dir / "cache"),
                               target_options={"fo": str(self.dir / "large.dwarfs")})
        sizes = []
        pread = dwarfs.File.pread

        def counted(file, size, offset):
            sizes.append(size)
            return pread(file, size, offset)
        with unittest.mock.patch.object(dwarfs.File, "pread", counted):
            with fs.open("large", block_size=100_000) as file:
                self.assertEqual(file.read(10), bytes(range(10)))
                file.seek(512_000)
                self.assertEqual(file.read(10), bytes(range(10)))
                file.seek(0)
                self.assertEqual(file.read(10), bytes(range(10)))
        self.assertGreater(len(sizes), 1)
        self.assertLess(sum(sizes), 500_000)

    def test_copying_to_the_disk(self):
        def copied(folder):
            return {str(path.relative_to(folder)): path.read_bytes()
                    for path in folder.rglob("*") if path.is_file()}
        (self.dir / "there").mkdir()
        for number, root in enumerate(("", "/")):
            for target in self.dir / "there", self.dir / f"new{number}" / "below":
                for end in "", "/":
                    with self.subTest(root=root, target=target, end=end):
                        self.fs.get(root, str(target) + end, recursive=True)
                        self.assertEqual(copied(target), FILES)
        below = {name[5:]: content for name, content in FILES.items() if name[:5] == "data/"}
        self.fs.get("data", str(self.dir / "data"), recursive=True)
        self.assertEqual(copied(self.dir / "data"), below)
        self.fs.get("data/one.csv", str(self.dir / "far" / "one"))
        self.fs.get(["a", "b"], [str(self.dir / "far" / "a"), str(self.dir / "far" / "b")])
        self.assertEqual(copied(self.dir / "far"), {
            "one": FILES["data/one.csv"], "b": b"hello", "a": b""})
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()),
                         ["data", "far", "image.dwarfs", "new0", "new1", "there"])
        buffer = io.BytesIO()
        self.fs.get_file("b", buffer)
        self.assertEqual(buffer.getvalue(), b"hello")

    def test_every_change_is_refused(self):
        for change in (lambda: self.fs.rm("b"), lambda: self.fs.rm("data", recursive=True),
                       lambda: self.fs.rm_file("b"), lambda: self.fs.cp_file("b", "c"),
                       lambda: self.fs.copy("b", "c"), lambda: self.fs.mv("b", "c"),
                       lambda: self.fs.pipe("c", b"x"), lambda: self.fs.touch("c"),
                       lambda: self.fs.put(self.path, "c"), lambda: self.fs.open("c", "wb")):
            with self.assertRaises(OSError) as caught:
                change()
            self.assertEqual(caught.exception.errno, errno.EROFS)

    def test_bad_images(self):
        (self.dir / "bad").write_bytes(b"no image")
        with self.assertRaises(dwarfs.CorruptError):
            fsspec.filesystem("dwarfs", fo=str(self.dir / "bad"))
        with self.assertRaises(FileNotFoundError):
            fsspec.filesystem("dwarfs", fo=str(self.dir / "missing"))

    def test_other_processes(self):
        for method in METHODS:
            with self.subTest(method):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    found = pool.map_async(read_all, [self.fs] * 4).get(TIMEOUT)
                    self.assertEqual(found, [FILES] * 4)

    def test_a_child_by_fork_opens_the_image_again(self):
        before = self.fs.image
        self.assertIs(self.fs.image, before)
        with unittest.mock.patch("os.getpid", return_value=os.getpid() + 1):
            self.assertIsNot(self.fs.image, before)
            self.assertEqual(self.fs.cat("b"), b"hello")

    def replace(self):
        builder = dwarfs.Builder(level=1)
        builder.add("b", b"replaced")
        builder.add("new", b"")
        builder.write(self.path, overwrite=True)

    def test_a_replaced_image(self):
        """Old and new instances, and children, read the image that is there."""
        url = f"dwarfs://b::file://{self.path}"
        with fsspec.open(url) as old:
            self.assertEqual(fsspec.core.url_to_fs(url)[0].cat("b"), b"hello")
            self.replace()
            self.assertEqual(old.read(), b"hello")
        new = fsspec.filesystem("dwarfs", fo=self.path)
        for fs in self.fs, new, fsspec.core.url_to_fs(url)[0], pickle.loads(pickle.dumps(self.fs)):
            self.assertEqual(fs.find(""), ["b", "new"])
            self.assertEqual(fs.cat("b"), b"replaced")
            self.assertIs(fs.image, new.image)
        if "fork" in METHODS:
            with multiprocessing.get_context("fork").Pool(1) as pool:
                self.assertEqual(pool.apply_async(read_all, [self.fs]).get(TIMEOUT),
                                 {"b": b"replaced", "new": b""})
        os.unlink(self.path)
        self.assertEqual(self.fs.cat("b"), b"replaced")

    def test_what_is_read_decides_about_equality(self):
        def made(folder, content):
            (self.dir / folder).mkdir()
            builder = dwarfs.Builder(level=1)
            builder.add("x", content)
            builder.write(self.dir / folder / "i.dwarfs")
            os.chdir(self.dir / folder)
            return fsspec.filesystem("dwarfs", fo="i.dwarfs")
        self.addCleanup(os.chdir, os.getcwd())
        one, other = made("one", b"1"), made("other", b"2")
        self.assertNotEqual(one, other)
        self.assertEqual(pickle.loads(pickle.dumps(one)), one)
        self.assertEqual(hash(pickle.loads(pickle.dumps(one))), hash(one))
        before = hash(self.fs)
        self.replace()
        self.assertNotEqual(hash(self.fs), before)

    def test_a_replaced_image_that_is_not_local(self):
        memory = fsspec.filesystem("memory")
        self.addCleanup(memory.rm, "/replaced.dwarfs")
        for source in self.path, None:
            if source is None:
                self.replace()
            with open(self.path, "rb") as data:
                memory.pipe("/replaced.dwarfs", data.read())
            fs, _ = fsspec.core.url_to_fs("dwarfs://b::memory://replaced.dwarfs")
            if source is not None:
                old = fs
        self.assertEqual(fs.cat("b"), b"replaced")
        self.assertEqual(old.cat("a"), b"")
        with unittest.mock.patch("os.getpid", return_value=os.getpid() + 1):
            with self.assertRaisesRegex(dwarfs.InvalidError, "not the image"):
                old.cat("b")
            self.assertEqual(fs.cat("b"), b"replaced")

    def test_instances_share_an_image(self):
        copies = [pickle.loads(pickle.dumps(self.fs)) for _ in range(3)]
        for fs in *copies, fsspec.filesystem("dwarfs", fo=self.path):
            self.assertIs(fs.image, self.fs.image)
        self.assertIsNot(fsspec.filesystem("dwarfs", fo=self.path, lazy=True).image, self.fs.image)
        self.fs.image.close()
        self.assertEqual(copies[0].cat("b"), b"hello")

    def test_a_relative_path(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        found = [fsspec.filesystem("dwarfs", fo="image.dwarfs"),
                 dwarfs.fsspec.DwarfsFileSystem("image.dwarfs")]
        os.chdir("/")
        for fs in found:
            self.assertEqual(pickle.loads(pickle.dumps(fs)).cat("b"), b"hello")
            with unittest.mock.patch("os.getpid", return_value=os.getpid() + 1):
                self.assertEqual(fs.cat("b"), b"hello")

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.read_csv(f"dwarfs://data/two.csv::file://{self.path}")
        self.assertEqual(frame["y"].tolist(), [4, 6])

    def test_pyarrow(self):
        try:
            import pyarrow.dataset
        except ImportError:
            self.skipTest("pyarrow is not installed")
        found = pyarrow.dataset.dataset("data", format="csv", filesystem=self.fs)
        self.assertEqual(sorted(found.to_table().column("x").to_pylist()), [1, 3, 5])

    def test_duckdb(self):
        try:
            import duckdb
        except ImportError:
            self.skipTest("duckdb is not installed")
        with duckdb.connect() as connection:
            connection.register_filesystem(self.fs)
            found = connection.sql("SELECT sum(x), sum(y) FROM read_csv('dwarfs://data/*.csv')")
            self.assertEqual(found.fetchall(), [(9, 12)])


if __name__ == "__main__":
    unittest.main()
