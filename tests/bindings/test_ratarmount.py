# SPDX-License-Identifier: MIT
"""Images as mount sources of ratarmountcore."""
import os
import pathlib
import shutil
import stat
import sys
import tarfile
import tempfile
import unittest

try:
    import dwarfs
    import ratarmountcore.mountsource
    from dwarfs.ratarmount import DwarfsMountSource, register
    from ratarmountcore.mountsource.compositing.automount import AutoMountLayer
    from ratarmountcore.mountsource.compositing.union import UnionMountSource
    from ratarmountcore.mountsource.compositing.versioning import FileVersionLayer
    from ratarmountcore.mountsource.factory import open_mount_source
except ImportError as error:
    print(f"not installed: {error}")
    sys.exit(77)

LARGE = os.urandom(100_000)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-ratarmount-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.path = str(self.dir / "image.dwarfs")
        builder = dwarfs.Builder(level=1)
        builder.add("top", b"text\n", mode=0o640, uid=5, gid=6, mtime=1_600_000_000,
                    xattrs={"user.note": b"\0value"})
        builder.add("sub/deep/large", LARGE)
        builder.add("link", target="sub/deep")
        builder.add("sub/\udcff", b"odd")
        builder.write(self.path)


class Source(Case):
    def setUp(self):
        super().setUp()
        self.source = self.enterContext(DwarfsMountSource(self.path))

    def test_is_a_mount_source(self):
        self.assertIsInstance(self.source, ratarmountcore.mountsource.MountSource)
        self.assertTrue(self.source.is_immutable())

    def test_lookup(self):
        info = self.source.lookup("/top")
        self.assertEqual((info.size, info.mtime, info.mode, info.uid, info.gid, info.linkname),
                         (5, 1_600_000_000, stat.S_IFREG | 0o640, 5, 6, ""))
        self.assertEqual(self.source.lookup("top"), info)
        self.assertEqual(self.source.lookup("/top", 1), info)
        self.assertIsNone(self.source.lookup("/top", 2))
        self.assertIsNone(self.source.lookup("/none"))
        self.assertIsNone(self.source.lookup("/top/below"))
        self.assertTrue(stat.S_ISDIR(self.source.lookup("/").mode))
        link = self.source.lookup("/link")
        self.assertTrue(stat.S_ISLNK(link.mode))
        self.assertEqual(link.linkname, "sub/deep")

    def test_versions(self):
        self.assertEqual([self.source.versions(path) for path in ("/top", "/", "/none")],
                         [1, 1, 0])
        self.assertTrue(self.source.exists("/link"))
        self.assertTrue(self.source.is_dir("/sub"))
        self.assertFalse(self.source.is_dir("/top"))

    def test_list(self):
        found = self.source.list("/")
        self.assertEqual(list(found), ["link", "sub", "top"])
        self.assertEqual(found["top"], self.source.lookup("/top"))
        self.assertEqual(self.source.list_mode("/"),
                         {name: info.mode for name, info in found.items()})
        self.assertEqual(list(self.source.list("/sub")), ["deep", "\udcff"])
        for path in "/top", "/none":
            self.assertIsNone(self.source.list(path))
            self.assertIsNone(self.source.list_mode(path))

    def test_contents(self):
        large = self.source.lookup("/sub/deep/large")
        self.assertEqual(self.source.read(large, 100, 50_000), LARGE[50_000:50_100])
        self.assertEqual(self.source.read(large, 100, len(LARGE)), b"")
        self.assertEqual(self.source.read(large, 100, len(LARGE) - 10), LARGE[-10:])
        for buffering in -1, 0, 4096:
            with self.source.open(large, buffering) as file:
                file.seek(-10, os.SEEK_END)
                self.assertEqual(file.read(), LARGE[-10:])
        with self.assertRaises(IsADirectoryError):
            self.source.open(self.source.lookup("/sub"))

    def test_xattrs(self):
        info = self.source.lookup("/top")
        self.assertEqual(self.source.list_xattr(info), ["user.note"])
        self.assertEqual(self.source.get_xattr(info, "user.note"), b"\0value")
        self.assertIsNone(self.source.get_xattr(info, "user.other"))
        self.assertEqual(self.source.list_xattr(self.source.lookup("/link")), [])

    def test_statfs(self):
        found = self.source.statfs()
        self.assertEqual((found["f_bsize"], found["f_bfree"], found["f_namemax"]), (512, 0, 255))

    def test_closing(self):
        file = self.source.open(self.source.lookup("/top"))
        with DwarfsMountSource(self.source.image) as other:
            self.assertIsNotNone(other.lookup("/top"))
        self.assertIsNotNone(self.source.lookup("/top"))
        self.source.close()
        self.source.close()
        self.assertEqual(file.read(), b"text\n")
        with self.assertRaisesRegex(ValueError, "closed"):
            self.source.lookup("/top")


class Layers(Case):
    def setUp(self):
        super().setUp()
        register()
        register()

    def read(self, source, path):
        return source.read(source.lookup(path), 1 << 20, 0)

    def test_images_are_opened_by_the_factory(self):
        with open_mount_source(self.path) as source:
            self.assertIsInstance(source, DwarfsMountSource)
            self.assertEqual(self.read(source, "/sub/deep/large"), LARGE)
        with open(self.path, "rb") as file, open_mount_source(file) as source:
            self.assertEqual(self.read(source, "/top"), b"text\n")

    def test_other_files_are_not(self):
        (self.dir / "other").write_bytes(b"\0none" * 1000)
        with self.assertRaises(Exception) as caught:
            open_mount_source(str(self.dir / "other"))
        self.assertIn("unrecognized format", str(caught.exception))

    def test_an_image_in_an_archive(self):
        with tarfile.open(self.dir / "outer.tar", "w") as tar:
            tar.add(self.path, "inner.dwarfs")
        with open_mount_source(str(self.dir / "outer.tar"), indexFilePath=":memory:") as outer:
            with AutoMountLayer(outer, recursive=True,
                                recursiveExtensions=["/archive", ".dwarfs"]) as source:
                self.assertEqual(self.read(source, "/inner.dwarfs/top"), b"text\n")
                self.assertEqual(sorted(source.list("/inner.dwarfs")), ["link", "sub", "top"])

    def test_with_other_sources(self):
        builder = dwarfs.Builder(level=1)
        builder.add("top", b"new\n")
        builder.write(self.dir / "second.dwarfs")
        with UnionMountSource([DwarfsMountSource(self.path),
                               DwarfsMountSource(self.dir / "second.dwarfs")]) as source:
            self.assertEqual(self.read(source, "/top"), b"new\n")
            self.assertEqual(self.read(source, "/sub/deep/large"), LARGE)
            self.assertEqual(source.versions("/top"), 2)
            self.assertEqual(source.statfs()["f_namemax"], 255)
        with FileVersionLayer(DwarfsMountSource(self.path)) as source:
            self.assertEqual(self.read(source, "/top.versions/1"), b"text\n")


if __name__ == "__main__":
    unittest.main()
