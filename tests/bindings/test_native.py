# SPDX-License-Identifier: MIT
"""What programs in Python expect of paths, files, modules and archives, with images."""
import fnmatch
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import io
import itertools
import os
import pathlib
import pickle
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    from importlib.resources.abc import Traversable
except ImportError:
    from importlib.abc import Traversable

try:
    import dwarfs
except ImportError as error:
    print(f"the Python package is not built: {error}")
    sys.exit(77)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-native-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def pack(self, files, name="image.dwarfs"):
        builder = dwarfs.Builder(level=1)
        for path, content in files.items():
            if isinstance(content, str):
                builder.add(path, target=content)
            else:
                builder.add(path, content)
        builder.write(self.dir / name, overwrite=True)
        return self.dir / name


class Paths(Case):
    def setUp(self):
        super().setUp()
        self.image = dwarfs.open(self.pack({
            "a/b.tar.gz": b"text\n", "a/up": "/a/b.tar.gz", "abs": "/a", "far": "/../a/up",
            "gone": "/etc/passwd", "round": "/round"}))
        self.path = self.image / "a/b.tar.gz"

    def test_absolute_links_start_at_the_root_of_the_image(self):
        for path in "a/up", "abs/b.tar.gz", "abs/up", "far":
            with self.subTest(path):
                self.assertEqual((self.image / path).read_bytes(), b"text\n")
        self.assertTrue((self.image / "abs").is_dir())
        self.assertFalse((self.image / "gone").exists())
        with self.assertRaises(OSError):
            (self.image / "round").stat()

    def test_absolute_links_are_followed_as_by_dwarfsck(self):
        dwarfsck = os.environ.get("DWARFSCK")
        if not dwarfsck or not os.path.exists(dwarfsck):
            self.skipTest("dwarfsck is not built")
        for path in "a/up", "abs/up", "far":
            ran = subprocess.run([dwarfsck, "--cat", path, self.dir / "image.dwarfs"],
                                 stdout=subprocess.PIPE, check=True)
            self.assertEqual(ran.stdout, (self.image / path).read_bytes())

    def test_parts_of_a_path(self):
        path, root, image = self.path, self.image.root, self.image
        self.assertEqual(path.suffixes, [".tar", ".gz"])
        self.assertEqual(path.parents, (image / "a", root))
        self.assertEqual(root.parents, ())
        self.assertEqual(path.with_name("c"), image / "a/c")
        self.assertEqual(path.with_suffix(".xz"), image / "a/b.tar.xz")
        self.assertEqual(path.with_suffix(""), image / "a/b.tar")
        self.assertEqual(path.with_stem("c"), image / "a/c.gz")
        for name in "", "c/d", ".":
            with self.assertRaises(ValueError):
                path.with_name(name)
        for suffix in "gz", ".", ".g/z":
            with self.assertRaises(ValueError):
                path.with_suffix(suffix)
        with self.assertRaises(ValueError):
            root.with_name("c")

    def test_relations(self):
        path, image = self.path, self.image
        self.assertEqual(path.relative_to("a"), pathlib.PurePosixPath("b.tar.gz"))
        self.assertEqual(path.relative_to(image / "a"), pathlib.PurePosixPath("b.tar.gz"))
        self.assertEqual(path.relative_to("a", "b.tar.gz"), pathlib.PurePosixPath("."))
        self.assertEqual(path.relative_to(), pathlib.PurePosixPath("a/b.tar.gz"))
        self.assertTrue(path.is_relative_to("a"))
        self.assertFalse(path.is_relative_to("b"))
        with self.assertRaises(ValueError):
            path.relative_to("b")
        with self.assertRaises(ValueError):
            path.relative_to(dwarfs.open(self.dir / "image.dwarfs") / "a")

    def test_relations_by_way_of_parents(self):
        path = self.path
        self.assertEqual(path.relative_to("c", "d", walk_up=True),
                         pathlib.PurePosixPath("../../a/b.tar.gz"))
        self.assertEqual(path.relative_to("a", "c", walk_up=True),
                         pathlib.PurePosixPath("../b.tar.gz"))
        for parts in ("..",), ("a", "..", "b"):
            with self.assertRaises(ValueError):
                path.relative_to(*parts, walk_up=True)
        with self.assertRaises(ValueError):
            path.relative_to("a/b.tar")

    def test_resolving(self):
        image = self.image
        for path, real in {"a/b.tar.gz": "a/b.tar.gz", "a/up": "a/b.tar.gz", "abs": "a",
                           "abs/up": "a/b.tar.gz", "far": "a/b.tar.gz", "": "", "..": "",
                           "abs/../a/./up": "a/b.tar.gz", "abs/..": ""}.items():
            for strict in True, False:
                with self.subTest(path=path, strict=strict):
                    found = (image / path).resolve(strict)
                    self.assertEqual(found, image / real)
                    self.assertEqual(found.stat().st_ino, (image / path).stat().st_ino)
                    self.assertEqual(found.resolve(), found)
        for path, real in {"gone": "etc/passwd", "none/x": "none/x", "abs/none": "a/none",
                           "none/../abs": "a", "round": "round", "far/x": "a/b.tar.gz/x",
                           "far/..": "a"}.items():
            with self.subTest(path=path):
                self.assertEqual((image / path).resolve(), image / real)
                with self.assertRaises(OSError) as caught:
                    (image / path).resolve(strict=True)
                self.assertIsInstance(caught.exception, dwarfs.Error)
        with self.assertRaises(NotADirectoryError):
            (image / "far/x").resolve(True)
        with self.assertRaises(FileNotFoundError):
            (image / "none/x").resolve(True)
        image.close()
        with self.assertRaises(ValueError):
            self.path.resolve()

    def test_resolving_is_that_of_pathlib(self):
        tree = self.dir / "tree"
        (tree / "d" / "e").mkdir(parents=True)
        (tree / "d" / "file").write_bytes(b"x")
        for name, target in {"d/up": "..", "d/e/f": "../file", "l": "d/e", "m": "l/f",
                             "n": "none/m", "o": "d/up/d/up/l"}.items():
            (tree / name).symlink_to(target)
        dwarfs.pack(tree, self.dir / "tree.dwarfs", level=1)
        with dwarfs.open(self.dir / "tree.dwarfs") as image:
            for path in ("d/up", "d/e/f", "l", "m", "n", "o", "o/f", "l/..", "x/y",
                         "o/../up/m", "m/x"):
                for strict in False, True:
                    results = []
                    for start, root in (tree, tree.resolve()), (image.root, image.root):
                        try:
                            results.append((start / path).resolve(strict).relative_to(root))
                        except OSError as error:
                            results.append(error.errno)
                    with self.subTest(path=path, strict=strict):
                        self.assertEqual(results[0], results[1])

    def test_same_files(self):
        image, other = self.image, dwarfs.open(self.dir / "image.dwarfs")
        self.assertTrue(self.path.samefile("far"))
        self.assertTrue(self.path.samefile(image / "abs" / "up"))
        self.assertFalse(self.path.samefile("a"))
        self.assertFalse(self.path.samefile(other / "a/b.tar.gz"))
        with self.assertRaises(FileNotFoundError):
            self.path.samefile("none")
        with self.assertRaises(FileNotFoundError):
            (image / "none").samefile("a")

    def test_what_pathlib_has(self):
        path, root = self.path, self.image.root
        self.assertEqual(path.as_posix(), "a/b.tar.gz")
        self.assertEqual(path.absolute(), path)
        self.assertTrue(root.is_mount())
        self.assertFalse(path.is_mount() or path.is_junction())
        self.assertTrue((self.image / "abs").is_dir())
        self.assertFalse((self.image / "abs").is_dir(follow_symlinks=False))
        self.assertFalse((self.image / "far").is_file(follow_symlinks=False))
        writing = {"chmod", "lchmod", "hardlink_to", "link_to", "mkdir", "rename", "replace",
                   "rmdir", "symlink_to", "touch", "unlink", "write_bytes", "write_text",
                   "copy", "copy_into", "move", "move_into"}
        of_the_host = {"cwd", "home", "expanduser", "as_uri", "anchor", "drive", "root",
                       "is_absolute", "is_reserved"}
        other = {"from_uri", "with_segments", "parser", "info"}
        missing = {name for name in dir(pathlib.Path) if not name.startswith("_")
                   and not hasattr(dwarfs.Path, name)}
        self.assertEqual(missing - writing - of_the_host - other, set())

    def test_owners_have_the_names_of_the_system(self):
        file = self.dir / "file"
        file.write_bytes(b"")
        dwarfs.pack(self.dir, self.dir / "owned.dwarfs", level=1,
                    include=lambda entry: entry.path == "file")
        with dwarfs.open(self.dir / "owned.dwarfs") as image:
            try:
                self.assertEqual((image / "file").owner(), file.owner())
                self.assertEqual((image / "file").group(), file.group())
            except KeyError:
                self.skipTest("the user has no name")

    def test_matching_of_all_names(self):
        for pattern, matches in {"a/b.tar.gz": True, "**": True, "**/*.gz": True, "*.gz": False,
                                 "a/**": True, "/a/*": True, "b/**": False, "**/a/**/*": True,
                                 "a/*/b*": False, "": False}.items():
            with self.subTest(pattern):
                self.assertEqual(self.path.full_match(pattern), matches)

    def test_matching_of_all_names_is_that_of_an_expression(self):
        def expression(parts):
            return "/" + "".join("([^/]+/)*" if part == "**" else
                                 part.replace("*", "[^/]*") + "/" for part in parts)
        for parts in itertools.product(["**", "a", "b*"], repeat=5):
            for names in itertools.product(["a", "b", "bc"], repeat=4):
                self.assertEqual(
                    (self.image / "/".join(names)).full_match("/".join(parts)),
                    bool(re.fullmatch(expression(parts), f"/{'/'.join(names)}/")), (names, parts))

    def test_steps_of_many_wildcards(self):
        names, wildcards = ["a"] * 40, ["**", "a"] * 12
        directories = 41  # with the root and b
        image = dwarfs.open(self.pack({"/".join(names): b"", "b/c": b""}))
        with mock.patch("fnmatch.fnmatchcase", wraps=fnmatch.fnmatchcase) as compared:
            path = image / "/".join(names)
            self.assertTrue(path.full_match("/".join(wildcards)))
            self.assertFalse(path.full_match("/".join(wildcards + ["b"])))
            self.assertLess(compared.call_count, 2 * len(names) * len(wildcards))
            for pattern, count in ((wildcards, 40 - 11), (wildcards + ["b"], 0),
                                   (["**"] * 12, directories)):
                compared.reset_mock()
                with mock.patch.object(dwarfs.Path, "iterdir", autospec=True,
                                       side_effect=dwarfs.Path.iterdir) as listed:
                    self.assertEqual(len(list(image.root.glob("/".join(pattern)))), count)
                self.assertLessEqual(listed.call_count, directories * len(pattern))
                self.assertLessEqual(compared.call_count, (directories + 1) * len(pattern))

    def test_matching_is_that_of_pathlib(self):
        pure = pathlib.PurePosixPath("/a/b.tar.gz")
        for pattern in "*.gz", "a/*", "*/*.gz", "/a/*", "/*", "b", "/a/b.tar.gz", "x/a/*":
            with self.subTest(pattern):
                self.assertEqual(self.path.match(pattern), pure.match(pattern))

    def test_opening_as_pathlib_does(self):
        with self.path.open() as file:
            self.assertIsInstance(file, io.TextIOWrapper)
            self.assertEqual(file.read(), "text\n")
        with self.path.open("rb") as file:
            self.assertIsInstance(file, io.BufferedReader)
        with self.path.open("rb", 0) as file:
            self.assertIsInstance(file, dwarfs.File)
        for mode in "w", "a", "r+", "rw", "x", "bb":
            with self.assertRaises(ValueError):
                self.path.open(mode)

    def test_paths_are_traversable(self):
        self.assertIsInstance(self.path, Traversable)

    def test_errors_are_both(self):
        for act, builtin, own in (
                (lambda: (self.image / "no").stat(), FileNotFoundError, dwarfs.NotFoundError),
                (lambda: (self.path / "x").stat(), NotADirectoryError,
                 dwarfs.NotDirectoryError),
                (lambda: (self.image / "a").read_bytes(), IsADirectoryError,
                 dwarfs.IsDirectoryError),
                (lambda: dwarfs.Builder().write(self.dir / "image.dwarfs"), FileExistsError,
                 dwarfs.ExistsError),
                (lambda: dwarfs.Builder(level=99), ValueError, dwarfs.InvalidError)):
            with self.assertRaises(builtin) as caught:
                act()
            self.assertIsInstance(caught.exception, own)
            self.assertIsInstance(caught.exception, OSError)
            copy = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(copy), str(copy)), (own, str(caught.exception)))
        self.assertTrue(issubclass(dwarfs.AccessError, PermissionError))


class Special(dwarfs.Image):
    """A subclass of a program."""


class Named(dwarfs.Image):
    """One with other arguments and an attribute."""

    def __init__(self, name, file):
        super().__init__(file, lazy=True)
        self.name = name


class Pickles(Case):
    def test_a_subclass_with_other_arguments(self):
        file = self.pack({"a": b"text"})
        one, two = Named("one", file), Named("two", file)
        copies = pickle.loads(pickle.dumps([one, two, one]))
        self.assertEqual([(type(image), image.name) for image in copies],
                         [(Named, name) for name in ("one", "two", "one")])
        self.assertIs(copies[0], copies[2])
        self.assertEqual((copies[1] / "a").read_bytes(), b"text")
        self.assertEqual(vars(copies[1])["_options"]["lazy"], True)

    def test_a_subclass_stays_one(self):
        file = self.pack({"a": b"text"})
        copies = pickle.loads(pickle.dumps([Special(file), dwarfs.open(file), Special(file)]))
        self.assertEqual([type(image) for image in copies], [Special, dwarfs.Image, Special])
        self.assertIs(copies[0], copies[2])
        self.assertEqual((copies[0] / "a").read_bytes(), b"text")

    def test_copies_share_an_image(self):
        file = self.pack({"a": b"first"})
        context = dwarfs.Context(cache_bytes=1 << 20, workers=0)
        image = dwarfs.open(file, context=context, lazy=True)
        data = pickle.dumps([image / "a", image])
        self.assertLess(len(data), 1000)
        path, copy = pickle.loads(data)
        self.assertIs(path.image, copy)
        self.assertIs(pickle.loads(data)[1], copy)
        self.assertIsNot(copy, image)
        self.assertEqual(path.read_bytes(), b"first")
        copy.close()
        self.assertEqual(pickle.loads(data)[0].read_bytes(), b"first")

    def test_a_relative_path(self):
        self.pack({"a": b"text"})
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        found = dwarfs.open("image.dwarfs"), dwarfs.open(pathlib.Path("image.dwarfs"))
        os.chdir("/")
        for image in found:
            self.assertEqual((pickle.loads(pickle.dumps(image)) / "a").read_bytes(), b"text")

    def test_the_contents_must_be_the_same(self):
        file = self.pack({"a": b"first"})
        data = pickle.dumps(dwarfs.open(file))
        first = dwarfs.open(file).content_id
        shutil.copyfile(file, self.dir / "copy")
        self.assertEqual(dwarfs.open(self.dir / "copy").content_id, first)
        self.assertEqual(dwarfs.open(file.read_bytes()).content_id, first)
        self.pack({"a": b"other"})
        self.assertNotEqual(dwarfs.open(file).content_id, first)
        with self.assertRaisesRegex(dwarfs.InvalidError, "not the image that was pickled"):
            pickle.loads(data)
        file.unlink()
        with self.assertRaises(FileNotFoundError):
            pickle.loads(data)

    def test_what_cannot_be_reopened(self):
        file = self.pack({"a": b"first"})
        logged = dwarfs.Context(log=lambda level, message: None)
        for image in dwarfs.open(file.read_bytes()), dwarfs.open(file, context=logged):
            with self.assertRaisesRegex(TypeError, "cannot pickle"):
                pickle.dumps(image / "a")
        closed = dwarfs.open(file)
        closed.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            pickle.dumps(closed)


class Modules(Case):
    def setUp(self):
        super().setUp()
        for name, value in (("path", sys.path[:]), ("path_hooks", sys.path_hooks[:]),
                            ("meta_path", sys.meta_path[:]),
                            ("dont_write_bytecode", sys.dont_write_bytecode)):
            self.addCleanup(setattr, sys, name, value)
        sys.dont_write_bytecode = True  # of modules that are removed with the case
        self.addCleanup(self.forget)
        self.addCleanup(sys.path_importer_cache.clear)
        dwarfs.enable_imports()
        dwarfs.enable_imports()
        self.assertEqual(len(sys.path_hooks),
                         1 + sum(hook.__module__ != "dwarfs._importer"
                                 for hook in sys.path_hooks))

    def forget(self):
        for name in [name for name in sys.modules if name.split(".")[0].startswith("dwtest")]:
            del sys.modules[name]

    def test_modules_packages_and_resources(self):
        file = self.pack({
            "dwtest_one.py": b"value = 1\nwhere = __file__\n",
            "lib/dwtest_pack/__init__.py": b"from . import inner\nfrom .deep import leaf\n",
            "lib/dwtest_pack/inner.py": "# coding: latin-1\nname = '\xfc'\n".encode("latin-1"),
            "lib/dwtest_pack/data.txt": b"resource\n",
            "lib/dwtest_pack/deep/leaf.py": b"def fail():\n    raise KeyError('in leaf')\n",
            "lib/dwtest_bad.py": b"value =\n",
        })
        sys.path[:0] = [str(file), str(file / "lib")]
        import dwtest_one
        self.assertEqual(dwtest_one.value, 1)
        self.assertEqual(dwtest_one.where, str(file / "dwtest_one.py"))
        import dwtest_pack
        self.assertEqual(dwtest_pack.inner.name, "\xfc")
        self.assertEqual(dwtest_pack.__path__, [str(file / "lib/dwtest_pack")])
        files = importlib.resources.files(dwtest_pack)
        self.assertEqual((files / "data.txt").read_text(), "resource\n")
        with importlib.resources.as_file(files / "data.txt") as unpacked:
            self.assertEqual(unpacked.read_bytes(), b"resource\n")
        self.assertIn("value = 1", importlib.util.find_spec("dwtest_one").loader.get_source(
            "dwtest_one"))
        try:
            dwtest_pack.leaf.fail()
        except KeyError as error:
            frame = error.__traceback__.tb_next.tb_frame
            self.assertEqual(frame.f_code.co_filename,
                             str(file / "lib/dwtest_pack/deep/leaf.py"))
        with self.assertRaises(SyntaxError):
            import dwtest_bad  # noqa: F401
        with self.assertRaises(ModuleNotFoundError):
            import dwtest_none  # noqa: F401

    def test_a_relative_entry(self):
        """Locations are absolute, so that they stay valid after chdir()."""
        file = self.pack({"lib/dwtest_pack/__init__.py": b"", "lib/dwtest_pack/data": b"resource",
                          "lib/dwtest_pack/late.py": b"", "elsewhere": b"other"})
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        sys.path.insert(0, "image.dwarfs/lib/")
        import dwtest_pack
        self.assertEqual(dwtest_pack.__file__, str(file / "lib/dwtest_pack/__init__.py"))
        self.assertEqual(dwtest_pack.__path__, [str(file / "lib/dwtest_pack")])
        loader = dwtest_pack.__loader__
        self.assertEqual(loader.get_filename("dwtest_pack"), dwtest_pack.__file__)
        self.assertIsNone(dwtest_pack.__spec__.cached)
        self.assertFalse(hasattr(dwtest_pack, "__cached__"))
        self.assertEqual(loader.get_data("image.dwarfs/elsewhere"), b"other")
        os.chdir("/")
        self.assertEqual(pkgutil.get_data("dwtest_pack", "data"), b"resource")
        self.assertEqual(loader.get_data(str(file / "elsewhere")), b"other")
        import dwtest_pack.late
        self.assertEqual(dwtest_pack.late.__file__, str(file / "lib/dwtest_pack/late.py"))
        for path in str(file / "none"), str(self.dir / "other"), str(file) + "x", str(file):
            with self.subTest(path), self.assertRaises(FileNotFoundError):
                loader.get_data(path)

    def test_modules_are_listed(self):
        file = self.pack({"dwtest_one.py": b"", "dwtest_two.pyc": b"", "dwtest_two.py": b"",
                          "dwtest_pack/__init__.py": b"", "dwtest_pack/sub/__init__.pyc": b"",
                          "dwtest_pack/sub/leaf.py": b"", "dwtest_space/leaf.py": b"",
                          "data.txt": b"", "no.module.py": b"", "link.py": "dwtest_one.py"})
        self.assertEqual([(found.name, found.ispkg) for found in pkgutil.iter_modules([str(file)])],
                         [("dwtest_one", False), ("dwtest_pack", True), ("dwtest_two", False),
                          ("link", False)])
        sys.path.insert(0, str(file))
        import dwtest_pack
        self.assertEqual([found.name for found in pkgutil.iter_modules(
            dwtest_pack.__path__, "dwtest_pack.")], ["dwtest_pack.sub"])
        self.assertEqual([found.name for found in pkgutil.walk_packages([str(file / "dwtest_pack")])],
                         ["sub"])

    def test_invalidating_finds_the_new_image(self):
        file = self.pack({"dwtest_one.py": b""})
        sys.path.insert(0, str(file))
        import dwtest_one  # noqa: F401
        self.pack({"dwtest_late.py": b""})
        importlib.invalidate_caches()
        import dwtest_late  # noqa: F401

    def test_distributions(self):
        file = self.pack({"lib/Dw_Test.One-1.5.dist-info/METADATA":
                          b"Metadata-Version: 2.1\nName: Dw-Test.One\nVersion: 1.5\n",
                          "lib/Dw_Test.One-1.5.dist-info/entry_points.txt":
                          b"[dwtest]\nrun = dwtest_one:run\n",
                          "lib/Dw_Test.One-1.5.dist-info/RECORD": b"dwtest_one.py,,\n",
                          "lib/dwtest_two.egg-info": b"Name: dwtest_two\nVersion: 2\n",
                          "lib/dwtest_one.py": b"def run():\n    return 'run'\n"})
        (self.dir / "plain").write_bytes(b"no image")
        sys.path[:0] = [str(file / "lib"), str(self.dir / "plain")]
        metadata = importlib.metadata
        self.assertEqual(metadata.version("dw-test-one"), "1.5")
        self.assertEqual([point.load()() for point in metadata.entry_points(group="dwtest")],
                         ["run"])
        self.assertEqual([item.locate().read_bytes()[:3] for item in
                          metadata.files("dw.test.one")], [b"def"])
        self.assertEqual({found.name for found in metadata.distributions(
            path=[str(file / "lib")])}, {"Dw-Test.One", "dwtest_two"})
        self.assertEqual(metadata.version("dwtest_two"), "2")
        with self.assertRaises(metadata.PackageNotFoundError):
            metadata.version("dwtest")
        self.assertEqual(list(metadata.distributions(path=[str(self.dir / "plain")])), [])

    def test_compiled_modules(self):
        import py_compile
        source = self.dir / "m.py"
        source.write_text("value = 'compiled'\n")
        py_compile.compile(source, cfile=self.dir / "m.pyc", doraise=True)
        file = self.pack({"dwtest_c.pyc": (self.dir / "m.pyc").read_bytes()})
        sys.path.insert(0, str(file))
        import dwtest_c
        self.assertEqual(dwtest_c.value, "compiled")

    def test_other_entries_are_left_to_other_hooks(self):
        (self.dir / "plain").write_bytes(b"no image")
        (self.dir / "folder").mkdir()
        (self.dir / "folder/dwtest_disk.py").write_text("value = 'disk'\n")
        sys.path[:0] = [str(self.dir / "plain"), str(self.dir / "absent"),
                        str(self.dir / "folder")]
        import dwtest_disk
        self.assertEqual(dwtest_disk.value, "disk")

    def test_a_new_image_at_the_same_path(self):
        file = self.pack({"dwtest_one.py": b"value = 'old'\n"})
        sys.path.insert(0, str(file))
        import dwtest_one
        self.assertEqual(dwtest_one.value, "old")
        self.forget()
        self.pack({"dwtest_one.py": b"value = 'new'\n"})
        os.utime(file, (1, 1))
        sys.path_importer_cache.clear()
        import dwtest_one
        self.assertEqual(dwtest_one.value, "new")


class Archives(Case):
    def setUp(self):
        super().setUp()
        dwarfs.register_archive_format()
        dwarfs.register_archive_format()
        self.addCleanup(shutil.unregister_archive_format, "dwarfs")
        self.addCleanup(shutil.unregister_unpack_format, "dwarfs")
        tree = self.dir / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub/file").write_bytes(b"contents")
        (tree / "top").write_bytes(b"top")

    def test_both_ways(self):
        made = shutil.make_archive(str(self.dir / "new/archive"), "dwarfs", self.dir / "tree")
        self.assertEqual(made, str(self.dir / "new/archive.dwarfs"))
        shutil.unpack_archive(made, self.dir / "out")
        self.assertEqual((self.dir / "out/sub/file").read_bytes(), b"contents")
        self.assertEqual((self.dir / "out/top").read_bytes(), b"top")
        with self.assertRaises(FileExistsError):
            shutil.unpack_archive(made, self.dir / "out")
        with self.assertRaises(TypeError):  # as for zip: a filter that is ignored protects nobody
            shutil.unpack_archive(made, self.dir / "other", filter="data")

    def test_a_directory_of_a_tree(self):
        made = shutil.make_archive(str(self.dir / "part"), "dwarfs", self.dir / "tree", "sub")
        self.assertEqual(sorted(str(path) for path in dwarfs.open(made).walk()),
                         ["", "sub", "sub/file"])

    def test_as_other_formats(self):
        os.symlink("top", self.dir / "tree/link")
        os.symlink("sub", self.dir / "tree/folder")
        for base, options in (("top", {}), ("sub/file", {}), ("link", {}), ("folder", {}),
                              (".", {"owner": "no such owner", "group": "no such group"})):
            found = []
            for kind in "dwarfs", "gztar":
                made = shutil.make_archive(str(self.dir / "made"), kind, self.dir / "tree", base,
                                           **options)
                shutil.unpack_archive(made, self.dir / kind)
                found.append(sorted(str(path.relative_to(self.dir / kind))
                                    for path in (self.dir / kind).rglob("*")))
                shutil.rmtree(self.dir / kind)
            with self.subTest(base):
                self.assertEqual(*found)
        with dwarfs.open(self.dir / "made.dwarfs") as image:
            self.assertEqual((image / "top").stat().st_uid, os.stat(self.dir / "tree").st_uid)
        outside = str(self.dir / "tree/top")
        made = shutil.make_archive(str(self.dir / "made"), "dwarfs", None, outside)
        self.assertEqual((dwarfs.open(made) / outside).read_bytes(), b"top")
        with self.assertRaises(FileNotFoundError):
            shutil.make_archive(str(self.dir / "made"), "dwarfs", self.dir / "tree", "missing")

    def test_what_is_no_image(self):
        (self.dir / "bad.dwarfs").write_bytes(b"none")
        with self.assertRaises(shutil.ReadError):
            shutil.unpack_archive(self.dir / "bad.dwarfs", self.dir / "out")


class Interrupts(Case):
    def test_ctrl_c_stops_packing(self):
        """A signal that arrives while the library runs is raised by the call."""
        (self.dir / "tree").mkdir()
        for number in range(200):
            (self.dir / "tree" / str(number)).write_bytes(os.urandom(1000))

        def interrupt(state):
            if not sent:
                sent.append(True)
                signal.raise_signal(signal.SIGINT)
        sent = []
        with self.assertRaises(KeyboardInterrupt):
            dwarfs.pack(self.dir / "tree", self.dir / "out.dwarfs", progress=interrupt)
        self.assertTrue(sent)
        self.assertFalse((self.dir / "out.dwarfs").exists())

    def test_ctrl_c_without_a_callback(self):
        """The signal is sent by the reader of a file."""
        def pieces():
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                yield b"x" * 1000
        builder = dwarfs.Builder()
        with self.assertRaises(KeyboardInterrupt):
            builder.add("file", pieces())
            builder.write(self.dir / "out.dwarfs")
        self.assertFalse((self.dir / "out.dwarfs").exists())


LONGER_LIFE = """
import sys
import _xxsubinterpreters as interpreters
import dwarfs

images = [dwarfs.open(sys.argv[1]) for _ in range(100)]
for again in range(3):
    number = interpreters.create()
    interpreters.run_string(number, "import sys; sys.path[:0] = %r; import dwarfs" % sys.path)
    if again == 1:
        images.clear()
    interpreters.destroy(number)
    images += [dwarfs.open(sys.argv[1]) for _ in range(100)]
del images
print((dwarfs.open(sys.argv[1]) / "file").read_text())
"""


INTERPRETER = """
import dwarfs
try:
    dwarfs.open({missing!r})
except dwarfs.NotFoundError:
    with open({note!r}, "w") as note:
        note.write(dwarfs.NotFoundError.__name__)
"""


CALLBACKS = """
import _xxsubinterpreters as interpreters
import io
import logging
import threading
import dwarfs

tree, image, note = {tree!r}, {image!r}, {note!r}
found = []
here = interpreters.get_current()

def raises(kind, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        found.append(str(error) if kind is RuntimeError else kind.__name__)

def fail(*_):
    raise ZeroDivisionError

def include(entry):
    found.append(interpreters.get_current() == here)
    return True

def progress(snapshot):
    assert interpreters.get_current() == here

def check_all():
    dwarfs.pack(tree, None, include=include, progress=progress)
    for name in "include", "progress", "order", "category", "filter_report":
        raises(ZeroDivisionError, dwarfs.pack, tree, None, filters=["+ *"], **{{name: fail}})
    def nested(entry):
        raises(KeyError, dwarfs.pack, tree, None, include=lambda entry: {{}}["none"])
        return True
    dwarfs.pack(tree, None, include=nested)

check_all()
thread = threading.Thread(target=check_all)
thread.start()
thread.join()
builder = dwarfs.Builder(level=1)
builder.add("a", iter([b"one", b"two"]))
raises(ZeroDivisionError, builder.add, "b", map(fail, [1]))
builder.write(image)
with open(image, "rb") as file:
    data = file.read()
for source in image, data:
    with dwarfs.open(source) as opened:
        found.append(opened.path("a").read_text())
        found.append(opened.check())
raises(RuntimeError, dwarfs.open, io.BytesIO(data))
raises(RuntimeError, dwarfs.Context, log=logging.getLogger())
with open(note, "w") as output:
    print(found, file=output)
"""


class Interpreters(Case):
    def test_callbacks_run_in_the_interpreter_of_their_call(self):
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            self.skipTest("this Python has no _xxsubinterpreters")
        (self.dir / "tree").mkdir()
        (self.dir / "tree/file").write_bytes(b"text")
        note = self.dir / "note"
        number = interpreters.create(isolated=False)  # with threads
        try:
            interpreters.run_string(
                number, f"import sys; sys.path[:0] = {sys.path!r}\n" + CALLBACKS.format(
                    tree=str(self.dir / "tree"), image=str(self.dir / "sub.dwarfs"),
                    note=str(note)))
        finally:
            interpreters.destroy(number)
        once = [True, *5 * ["ZeroDivisionError"], "KeyError"]
        self.assertEqual(eval(note.read_text()), [
            *once, *once, "ZeroDivisionError", "onetwo", [], "onetwo", [],
            "an image in a Python file object can be used in the main interpreter only",
            "a log can be used in the main interpreter only"])
        self.assertEqual(dwarfs.pack(self.dir / "tree", None, include=lambda entry: True).files, 1)

    def test_another_interpreter_has_its_own_exceptions(self):
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            self.skipTest("this Python has no _xxsubinterpreters")
        missing, note = str(self.dir / "missing"), str(self.dir / "note")
        number = interpreters.create()
        try:
            interpreters.run_string(
                number, f"import sys; sys.path[:0] = {sys.path!r}\n" +
                INTERPRETER.format(missing=missing, note=note))
        finally:
            interpreters.destroy(number)
        self.assertEqual(pathlib.Path(note).read_text(), "NotFoundError")
        with self.assertRaises(dwarfs.NotFoundError):
            dwarfs.open(missing)


    def test_handles_live_longer_than_another_interpreter(self):
        """A handle drops the references it has taken, also if SWIG has made others since."""
        try:
            import _xxsubinterpreters
        except ImportError:
            self.skipTest("this Python has no _xxsubinterpreters")
        image = self.pack({"file": b"text"})
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), PYTHONMALLOC="debug")
        ran = subprocess.run([sys.executable, "-X", "faulthandler", "-c", LONGER_LIFE, image],
                             env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding="utf-8", check=False)
        self.assertEqual((ran.returncode, ran.stdout), (0, "text\n"))


class Docstrings(unittest.TestCase):
    def test_everything_public_has_one(self):
        missing = []
        for name in dwarfs.__all__:
            thing = getattr(dwarfs, name)
            if not thing.__doc__:
                missing.append(name)
            if isinstance(thing, type):
                missing += [f"{name}.{key}" for key, value in vars(thing).items()
                            if not key.startswith("_") and
                            (callable(value) or isinstance(value, property)) and
                            not (value.__doc__ or getattr(getattr(thing.__base__, key, None),
                                                          "__doc__", None))]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
