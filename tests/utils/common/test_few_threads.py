#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A system that permits fewer threads than requested, or none: everything works, with the same
results."""
import ctypes
import hashlib
import os
import resource
import subprocess
import sys
import tempfile

import cli
from cli import run
import mount
import tap

PRELOAD = sys.argv.pop(1)
NUMBERS = (0, 1, 2, 5)


def with_few(number):
    """The environment of a program with this many threads."""
    return tap.preloading(PRELOAD, dict(os.environ, FEW_THREADS=str(number)))


def tree_of(path):
    found = {}
    for parent, folders, files in os.walk(path):
        for name in folders + files:
            whole = os.path.join(parent, name)
            data = None
            if os.path.isfile(whole) and not os.path.islink(whole):
                with open(whole, "rb") as file:
                    data = hashlib.sha256(file.read()).hexdigest()
            found[os.path.relpath(whole, path)] = data
    return found


class Programs(cli.Case):
    def setUp(self):
        super().setUp()
        self.source = self.tree()
        for number in range(300):
            self.write(f"tree/many/{number:03}", b"%d\n" % number * 900)

    def test_the_preload_works(self):
        """The limit is effective; otherwise the other cases would test nothing."""
        try:
            ctypes.CDLL(PRELOAD)
        except OSError as error:
            self.skipTest(f"Python is of another machine: {error}")
        program = ("import threading\n"
                   "try:\n threading.Thread(target=print).start()\n"
                   "except RuntimeError:\n print('none')\n")
        done = subprocess.run([sys.executable, "-c", program], env=with_few(0),
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "none\n")

    def test_threads_of_zstd(self):
        """libarchive does not go on without them: the message says so."""
        image = self.pack(tree=self.source)
        words = [image, "-f", "pax", "-o", self.path("a.tar.zst"), "--format-filters=zstd"]
        done = run("DWARFSEXTRACT", *words, "--format-options=zstd:threads=3", env=with_few(0))
        if "not built in" in done.err or "Undefined option" in done.err:
            self.skipTest("libarchive has no such option")
        self.expect(done, 1, "no thread could be started: without the option threads none")
        self.expect(run("DWARFSEXTRACT", *words, env=with_few(0)), 0)

    def test_an_image_is_the_same(self):
        images = set()
        for number in NUMBERS:
            image = self.path(f"{number}.dwarfs")
            self.expect(run("MKDWARFS", "-i", self.source, "-o", image, "-l3", "-S14", "-N4",
                            "--no-history", "--no-create-timestamp", "--no-progress",
                            env=with_few(number)), 0)
            with open(image, "rb") as file:
                images.add(file.read())
        self.assertEqual(len(images), 1)

    def test_an_archive_is_taken_and_made(self):
        image = self.pack(tree=self.source)
        for number in NUMBERS:
            tar = self.path(f"{number}.tar")
            again = self.path(f"{number}-again.dwarfs")
            env = with_few(number)
            self.expect(run("DWARFSEXTRACT", "-i", image, "-f", "pax", "-o", tar, "-n4",
                            env=env), 0)
            self.expect(run("MKDWARFS", "-i", tar, "-o", again, "-l2", "-N4", "--no-progress",
                            env=env), 0)
            self.expect(run("DWARFSCK", "--diff", "-q", image, again, "-n4", env=env), 0)

    def test_a_check_and_checksums(self):
        image = self.pack(tree=self.source)
        plain = self.expect(run("DWARFSCK", image, "--checksum=md5", "-n4"), 0).out
        for number in NUMBERS:
            env = with_few(number)
            self.expect(run("DWARFSCK", "-q", "--check-integrity", image, "-n4", env=env), 0)
            result = run("DWARFSCK", image, "--checksum=md5", "-n4", env=env)
            self.assertEqual(self.expect(result, 0).out, plain)
            self.expect(run("DWARFSCK", "-q", "--diff", image, self.source, "-n4", env=env), 0)

    def test_extraction(self):
        image = self.pack(tree=self.source)
        for number in NUMBERS:
            out = self.path(f"out{number}")
            self.expect(run("DWARFSEXTRACT", "-i", image, "-o", out, "-n4",
                            "--num-disk-writers=3", env=with_few(number)), 0)
            self.assertEqual(tree_of(out), tree_of(self.source))

    def test_salvage(self):
        image = self.pack(tree=self.source)
        for number in NUMBERS:
            out = self.path(f"saved{number}")
            self.expect(run("DWARFSCK", "--salvage", out, image, "-n4",
                            env=with_few(number)), 0)
            self.assertEqual(tree_of(out), tree_of(self.source))


class Mount(cli.Case):
    def mounted(self, image, number, *options):
        """Run the driver with this many threads; returns its messages."""
        driver = mount.available()
        path = tempfile.mkdtemp(dir=self.dir)
        process = subprocess.Popen([driver, image, path, "-f", *options], env=with_few(number),
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            while not os.path.ismount(path):
                self.assertIsNone(process.poll(), "the mount failed")
            found = tree_of(path)
        finally:
            subprocess.run(["fusermount3", "-u", "-z", path], check=False, capture_output=True)
            text = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, text)
        return found, text

    def test_a_mount_answers(self):
        source = self.tree()
        image = self.pack(tree=source)
        for number in NUMBERS:
            for options in ("workers=3", "workers=3,verify=lazy,preload_all",
                            "workers=0,tidy_strategy=time,tidy_interval=10ms"):
                found, text = self.mounted(image, number, "-o", options)
                self.assertEqual(found, tree_of(source))
                if number == 0:
                    self.assertIn("nothing is decoded ahead", text)
                    self.assertIn("no more threads", text)
                self.assertLessEqual(text.count("no more threads"), 1, text)

    def test_a_mount_in_the_background_warns(self):
        """Before the command ends: afterwards its messages go nowhere."""
        driver = mount.available()
        image = self.pack(tree=self.tree())
        path = tempfile.mkdtemp(dir=self.dir)
        try:
            done = subprocess.run([driver, image, path, "-o", "workers=3"], env=with_few(0),
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("nothing is decoded ahead", done.stderr)
        finally:
            subprocess.run(["fusermount3", "-u", "-z", path], check=False, capture_output=True)

    def test_a_mount_of_a_user_who_has_no_threads(self):
        """The system itself refuses threads: root makes the mount before."""
        mount.available()
        if os.environ.get("DWARFS_EMULATOR"):
            raise tap.Skip("the emulator itself starts a thread")
        if os.geteuid() != 0:
            raise tap.Skip("needs root, to become a user without permission for threads")
        image = self.pack()
        path = self.path("point")
        os.mkdir(path)
        os.chmod(self.dir, 0o755)
        device = os.open("/dev/fuse", os.O_RDWR)
        how = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"dwarfs", path.encode(), b"fuse", 0, how.encode()) != 0:
            os.close(device)
            raise tap.Skip("cannot mount here: " + os.strerror(ctypes.get_errno()))

        def become_somebody():
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

        process = subprocess.Popen(
            [tap.tool_for_anybody("DWARFS"), image, f"/dev/fd/{device}", "-f"],
            preexec_fn=become_somebody, pass_fds=[device], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        os.close(device)
        try:
            with open(path + "/a.txt", "rb") as file:
                self.assertEqual(file.read(), b"first\n" * 1000)
            self.assertEqual(len(os.listdir(path + "/sub")), 5)
        finally:
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)
            text = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, text)
        self.assertIn("the system gives 0 of 2 threads", text)


if __name__ == "__main__":
    cli.main()
