# SPDX-License-Identifier: MIT
"""Images as sources of Dask, and its workers as makers of images."""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

try:
    import dask
    import dask.bag
    import dask.dataframe
    import distributed as dask_distributed
    import dwarfs
    import dwarfs.fsspec
    from dwarfs import distributed
    from killing import PackingWithLosses
except ImportError as error:
    print(f"not installed: {error}")
    sys.exit(77)


def lines_of(path, data):
    return data.count(b"\n")


class Dask(unittest.TestCase):
    def setUp(self):
        dwarfs.fsspec.register()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dwarfs-dask-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.tree = self.dir / "tree"
        self.lines, self.sum = [], 0
        for number in range(30):
            folder = self.tree / f"day-{number % 5}"
            folder.mkdir(parents=True, exist_ok=True)
            rows = [f"{number},{row}\n" for row in range(200)]
            (folder / f"{number}.csv").write_text("".join(["n,row\n", *rows]))
            self.lines += ["n,row\n", *rows]
            self.sum += sum(range(200))
            os.utime(folder / f"{number}.csv", (10 ** 9, 10 ** 9))
        self.image = str(self.dir / "x.dwarfs")
        dwarfs.pack(self.tree, self.image, level=1, block_bits=14)

    def test_bags(self):
        bag = dask.bag.read_text(f"dwarfs://**/*.csv::file://{self.image}")
        for scheduler in "sync", "threads", "processes":
            with self.subTest(scheduler):
                self.assertEqual(sorted(bag.compute(scheduler=scheduler)), sorted(self.lines))

    def test_a_bag_of_the_whole_tree(self):
        bag = dask.bag.read_text(f"dwarfs://**::file://{self.image}")
        self.assertEqual(sorted(bag.compute(scheduler="threads")), sorted(self.lines))

    def test_data_frames(self):
        frame = dask.dataframe.read_csv(f"dwarfs://**/*.csv::file://{self.image}")
        self.assertEqual(int(frame["row"].sum().compute(scheduler="threads")), self.sum)

    def test_partitions(self):
        parts = distributed.partitions(dwarfs.open(self.image), 4)
        self.assertGreater(len(parts), 1)
        tasks = [dask.delayed(distributed.Partition.map)(part, lines_of) for part in parts]
        found = dask.compute(*tasks, scheduler="threads")
        self.assertEqual(sum(map(sum, found)), len(self.lines))

    def test_workers_make_an_image(self):
        with dask_distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                           dashboard_address=None,
                                           local_directory=str(self.dir)) as cluster, \
                dask_distributed.Client(cluster) as client:
            distributed.pack(self.tree, self.dir / "made.dwarfs", client.get_executor(),
                             shares=2, level=1, temporary=self.dir)
        self.assertEqual(dwarfs.compare(self.tree, str(self.dir / "made.dwarfs")), [])


class Losses(PackingWithLosses, unittest.TestCase):
    """A worker of a cluster of processes is killed by SIGKILL."""

    def pack_in_cluster(self, name, allowed_failures):
        folder = tempfile.mkdtemp(prefix="dwarfs-dask-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        with dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures}), \
                dask_distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                              dashboard_address=None,
                                              local_directory=folder) as cluster, \
                dask_distributed.Client(cluster) as client:
            return self.pack_with_loss(client.get_executor(), name)

    def test_dask_does_a_share_again(self):
        self.assertEqual(self.pack_in_cluster("_pack_share", 3)["_pack_share"], 2)

    def test_pack_does_a_share_again(self):
        """Dask gives up."""
        self.assertEqual(self.pack_in_cluster("_pack_share", 0)["_pack_share"], 3)

    def test_pack_lists_directories_again(self):
        self.assertEqual(self.pack_in_cluster("_list", 0)["_list"], 2)


if __name__ == "__main__":
    unittest.main()
