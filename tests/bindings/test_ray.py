# SPDX-License-Identifier: MIT
"""The workers of Ray as makers and readers of images."""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

try:
    import ray
    import dwarfs
    from dwarfs import distributed
    from killing import PackingWithLosses
except ImportError as error:
    print(f"not installed: {error}")
    sys.exit(77)


def setUpModule():
    for attempt in range(3):  # a busy machine may not start a node in the 30 seconds that it has
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            return
        except Exception as error:
            ray.shutdown()
            if attempt == 2 or "startup" not in str(error):
                raise


def tearDownModule():
    ray.shutdown()


class Ray(unittest.TestCase):
    def test_data_sets_of_binary_files(self):
        try:
            import ray.data
            import fsspec
            import dwarfs.fsspec
        except ImportError as error:
            self.skipTest(f"not installed: {error}")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-ray-"))
        self.addCleanup(shutil.rmtree, folder)
        contents = {f"dir/{number}": b"contents %d" % number for number in range(20)}
        builder = dwarfs.Builder(level=1)
        for name, data in contents.items():
            builder.add(name, data)
        builder.write(folder / "x.dwarfs")
        dwarfs.fsspec.register()
        fs = fsspec.filesystem("dwarfs", fo=str(folder / "x.dwarfs"))
        rows = ray.data.read_binary_files("dir", filesystem=fs, include_paths=True).take_all()
        self.assertEqual({row["path"]: row["bytes"] for row in rows}, contents)

    def test_making_and_reading(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-ray-"))
        self.addCleanup(shutil.rmtree, folder)
        tree = folder / "tree"
        tree.mkdir()
        for number in range(20):
            (tree / f"{number}.txt").write_bytes(b"line %d\n" % number * 500)
            os.utime(tree / f"{number}.txt", (10 ** 9, 10 ** 9))
        made = folder / "made.dwarfs"
        executor = distributed.RayExecutor()
        self.assertEqual(executor._max_workers, 2)
        distributed.pack(tree, made, executor, level=1, block_bits=14, temporary=folder)
        self.assertEqual(dwarfs.compare(tree, str(made)), [])
        with dwarfs.open(made) as image:
            futures = [executor.submit(lambda part: part.map(lambda path, data: len(data)), part)
                       for part in distributed.partitions(image, 2)]
            self.assertEqual(sum(sum(future.result()) for future in futures),
                             sum(path.stat().st_size for path in tree.iterdir()))


class Losses(PackingWithLosses, unittest.TestCase):
    """A worker is killed by SIGKILL."""

    def test_ray_does_a_share_again(self):
        names = self.pack_with_loss(distributed.RayExecutor(), "_pack_share")
        self.assertEqual(names["_pack_share"], 2)

    def test_pack_does_a_share_again(self):
        """Ray does not."""
        names = self.pack_with_loss(distributed.RayExecutor(max_retries=0), "_pack_share")
        self.assertEqual(names["_pack_share"], 3)

    def test_pack_lists_directories_again(self):
        names = self.pack_with_loss(distributed.RayExecutor(max_retries=0), "_list")
        self.assertEqual(names["_list"], 2)


if __name__ == "__main__":
    unittest.main()
