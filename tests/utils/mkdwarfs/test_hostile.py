#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Truncated, damaged or hostile archives, and archives larger than memory: an error that names the
entry and no image, or a defined result; and limits hold."""
import gzip
import hashlib
import io
import lzma
import os
import random
import resource
import signal
import subprocess
import tarfile
import unittest
import zipfile

os.environ["LC_ALL"] = "C"

import cli  # noqa: E402
from cli import IS_NATIVE, run  # noqa: E402
from archives import (END, IS_ROOT, Archives, base256, directory, entry, everything,  # noqa: E402
                      header, link, pax, symlink, tar)
import tap  # noqa: E402

BLOCK = 512


class Broken(Archives):
    def refuse(self, data, *texts, **more):
        result = self.put(data, code=1, **more)
        for text in texts:
            self.assertIn(text, result.err)
        return result

    def test_cut_off_anywhere(self):
        """After every block, and in the middle of some."""
        data = tar([entry("a", b"x" * 700), entry("long" * 60, b"y" * 10), directory("d"),
                    symlink("d/l", "a"), entry("d/e")])
        end = data.rindex(b"ustar") // BLOCK * BLOCK + BLOCK
        for at in [*range(0, end + 1, BLOCK), 100, 700, 1600, end - 20]:
            with self.subTest(at=at):
                self.refuse(data[:at], pipe=at % 1024 == 0)
        self.put(data[:end] + bytes(BLOCK))
        self.put(data[:end] + bytes(2 * BLOCK))

    def test_cut_off_filters(self):
        data = tar([entry("a", random.Random(1).randbytes(200000))])
        for packed in (gzip.compress(data), lzma.compress(data),
                       lzma.compress(data, lzma.FORMAT_ALONE)):
            for cut in (1, 10, len(packed) // 2, len(packed) - 40):
                self.refuse(packed[:-cut])
                self.refuse(packed[:-cut], pipe=True)

    def test_cut_off_zip(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", b"x" * 10000)
            archive.writestr("b", b"y" * 10000)
        data = out.getvalue()
        for cut in (1, 30, 100, 5000, 15000):
            result = run("MKDWARFS", "-i", self.write("z", data[:-cut]), "-o",
                         self.path("image"), "-f", "-l0", "--no-progress")
            # Without its directory it may be read from its start, if that is intact.
            if result.code == 0:
                self.assertEqual(self.names(), ["a", "b"])
                self.assertLess(cut, 200)
            else:
                self.expect(result, 1)

    def test_damaged_zip(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("name", random.Random(2).randbytes(5000))
        data = bytearray(out.getvalue())
        data[2000] ^= 1
        self.refuse(bytes(data), "'name'")

    def test_damaged_header(self):
        data = bytearray(tar([entry("a", b"1"), entry("b", b"2")], tarfile.USTAR_FORMAT))
        data[1024 + 5] ^= 1
        self.refuse(bytes(data))

    def test_encrypted(self):
        # A local header with the bit of encryption, and a directory.
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("secret", b"x" * 100)
        data = bytearray(out.getvalue())
        data[6] |= 1
        data[data.index(b"PK\1\2") + 8] |= 1
        result = self.refuse(bytes(data), "secret")
        self.assertIn("encrypted", result.err)

    def test_no_archive(self):
        for data in (b"", b"x", b"just text\n" * 100, bytes(100), tap.random_bytes(5000),
                     b"\x7fELF" + bytes(1000)):
            self.refuse(data, "must be a directory or an archive")
            self.refuse(data, "standard input: not an archive", pipe=True)

    def test_images_are_no_archives(self):
        image = self.pack()
        with open(image, "rb") as file:
            data = file.read()
        os.remove(image)
        self.refuse(data, "standard input: not an archive", pipe=True)
        self.put(data, code=0)


class Hostile(Archives):
    def refuse(self, data, *texts):
        result = self.put(data, code=1)
        for text in texts:
            self.assertIn(text, result.err)

    def test_paths_that_lead_out(self):
        for name in ("../evil", "a/../../evil", "/..", "..", "a/.."):
            self.refuse(tar([entry(name, b"x")]), f"'{name}'", "'..'")
        self.refuse(tar([entry("a"), link("b", "../a")]), "'b'", "'..'")
        self.put(tar([entry("/etc/passwd", b"x")]))
        self.assertEqual(self.names(), ["etc", "etc/passwd"])

    def test_names_that_cannot_be(self):
        self.refuse(tar([entry("d/" + "n" * 256, b"x")]), "n" * 256)
        self.refuse(header(b"") + END, "has no name")
        self.refuse(tar([entry("./", b"file")][:1], tarfile.PAX_FORMAT).replace(b"./\0", b".\0\0"))
        for length in (4096, 5000, 70000):
            data = tar([symlink("l", "x" * length), entry("f", b"x")])
            self.refuse(data, "'l'", f"1 to 4095 bytes, not {length}")
            self.put(data, "--continue-on-error", code=2)
            self.assertEqual(self.names(), ["f"])
        self.put(tar([symlink("l", "x" * 4095)]))
        self.expect(run("DWARFSCK", "-q", self.path("image")), 0)

    def test_nothing_is_written_elsewhere(self):
        outside = self.path("outside")
        os.mkdir(outside)
        self.put(tar([symlink("out", outside), symlink("up", "..")]))
        for data in (tar([symlink("out", outside), entry("out/evil", b"x")]),
                     tar([symlink("up", ".."), entry("up/evil", b"x")]),
                     tar([symlink("out", outside), link("evil", "out/evil")])):
            self.refuse(data)
        self.assertEqual(os.listdir(outside), [])

    def test_hard_links_to_nothing(self):
        self.refuse(tar([link("b", "gone")]), "'b'", "'gone'")
        self.refuse(tar([entry("a"), link("b", "d/gone")]), "'b'", "'d/gone'")
        self.refuse(tar([directory("d"), link("b", "d")]), "'b'")

    def test_hard_links_in_circles(self):
        self.refuse(tar([link("a", "a")]), "'a'", "itself")
        self.refuse(tar([link("a", "b"), link("b", "a")]), "itself")
        ring = [link(f"n{i}", f"n{(i + 1) % 200}") for i in range(200)]
        done = run("MKDWARFS", "-i", self.write("ring", tar(ring)), "-o", self.path("image"), "-f",
                   "-l0", "--no-progress")
        self.assertIn(done.code, (1, 2), done.err)
        if done.code == 2:
            self.assertEqual(self.names(), [])

    def test_sizes_out_of_this_world(self):
        for size in (base256(1 << 63), base256((1 << 63) - 1), base256((1 << 64) + 5),
                     b"\xff" * 12, base256(1 << 62)):
            self.refuse(header(b"a", size) + b"x" * BLOCK + END)
        for size in (b"9223372036854775808", b"9223372036854775807", b"-1",
                     b"99999999999999999999999"):
            self.refuse(pax((b"size", size)) + header(b"a") + b"x" * BLOCK + END)
            sparse = (pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
                          (b"GNU.sparse.name", b"s"), (b"GNU.sparse.realsize", size)) +
                      header(b"x", b"%011o" % 1024) + b"1\n0\n512\n".ljust(BLOCK, b"\0") +
                      b"y" * BLOCK + END)
            done = run("MKDWARFS", "-i", self.write("s", sparse), "-o", self.path("image"), "-f",
                       "-l0", "--no-progress")
            self.assertIn(done.code, (0, 1), done.err)  # a hole may be as large as that

    def test_holes_that_overlap(self):
        sparse = (pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
                      (b"GNU.sparse.name", b"s"), (b"GNU.sparse.realsize", b"2000")) +
                  header(b"x", b"%011o" % 1536) +
                  b"2\n1000\n512\n0\n512\n".ljust(BLOCK, b"\0") + b"y" * 2 * BLOCK + END)
        self.refuse(sparse, "'s'")

    def test_numbers_that_do_not_fit(self):
        self.refuse(pax((b"uid", b"-5")) + header(b"a") + END, "'a'")
        self.refuse(header(b"a", gid=b"\xff" * 8) + END, "'a'")
        for field in (b"uid", b"gid"):
            data = pax((field, b"4294967296")) + header(b"a") + header(b"b") + END
            self.refuse(data, "'a'", "4294967296")
            self.put(data, "--continue-on-error", code=2)
            self.assertEqual(self.names(), ["b"])
            data = pax((field, b"4294967295")) + header(b"a") + END
            self.assertIn("becomes 65534", self.put(data, code=2).err)
            self.expect(run("DWARFSCK", self.path("image")), 0)
        self.put(pax((b"uid", b"4294967294")) + header(b"a") + END)
        for numbers in ((b"SCHILY.devmajor", b"4096"), (b"SCHILY.devminor", b"1048576")):
            self.refuse(pax(numbers) + header(b"a", kind=b"3") + END, "'a'", "device")
        self.put(header(b"a", mode=b"7777777") + END)

    def test_strange_types(self):
        """Unknown types of tar are files, according to POSIX."""
        self.put(header(b"a", kind=b"Z") + header(b"v", kind=b"V") + END)
        self.assertEqual(self.names(), ["a"])

    def test_attributes_without_end(self):
        self.refuse(pax((b"SCHILY.xattr." + b"n" * 300, b"v")) + header(b"a") + END, "'a'")
        bad = bytearray(pax((b"SCHILY.xattr.user.x", b"v")))
        bad[512:514] = b"99"
        done = run("MKDWARFS", "-i", self.write("x", bytes(bad) + header(b"a") + END), "-o",
                   self.path("image"), "-f", "-l0", "--no-progress")
        self.assertIn(done.code, (1, 2), done.err)
        self.assertIn("pax", done.err)

    def test_very_deep(self):
        """No recursion, for any depth."""
        for depth in (2500, 10000):
            data = (pax((b"path", b"a/" * depth + b"f")) + header(b"x") +
                    pax((b"path", b"a/" * depth + b"g")) + header(b"x") + END)
            done = run("MKDWARFS", "-i", self.write("deep", data), "-o", self.path("image"), "-f",
                       "-l0", "--no-progress")
            self.assertIn(done.code, (0, 1), done.err)
            if done.code == 0:
                self.expect(run("DWARFSCK", "-q", self.path("image")), 0)

    def test_changes_at_random(self):
        """In no case a crash, and an image that is written is valid."""
        rng = random.Random(3)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("d/f", b"text " * 300)
        seeds = [tar(list(everything())[:9], form)
                 for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)]
        seeds += [out.getvalue(), gzip.compress(seeds[2])]
        for number in range(60):
            data = bytearray(rng.choice(seeds))
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(min(len(data), 4000))
                data[at:at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
            with self.subTest(number=number):
                done = run("MKDWARFS", "-i", self.write("changed", bytes(data)), "-o",
                           self.path("image"), "-f", "-l0", "--no-progress")
                self.assertIn(done.code, (0, 1, 2), done.err)
                if done.code != 1:
                    self.expect(run("DWARFSCK", "-q", "--check-integrity", self.path("image")), 0)


class Inputs(Archives):
    def test_standard_input_once(self):
        for words in (["-i", "-", "-i", "-"], ["-i", "-", "--header=-"]):
            self.expect(run("MKDWARFS", *words, "-o", self.path("x")), 1,
                        "standard input can be read for one thing only")

    def test_lists_need_a_directory(self):
        archive = self.write("a.tar", tar([entry("a")]))
        self.expect(run("MKDWARFS", "-i", archive, "--input-list=-", "-o", self.path("x")), 1,
                    "--input-list needs one directory")

    def test_no_place_for_contents(self):
        noise = tap.random_bytes(3 << 20)
        result = self.put(tar([entry("a", noise)]), "--spool-dir", self.path("gone"), "-L100m",
                          pipe=True)
        self.assertEqual(result.code, 0)  # it fits into memory
        result = self.put(tar([entry("a", noise * 5)]), "--spool-dir", self.path("gone"), "-L100m",
                          pipe=True, code=1)
        self.assertIn(self.path("gone"), result.err)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", b"x")
        self.assertIn("gone", self.put(out.getvalue(), "--spool-dir", self.path("gone"), pipe=True,
                                       code=1).err)

    def test_a_stream_that_does_not_fit_on_the_disk(self):
        if not IS_ROOT:
            raise tap.Skip("only root may mount a small disk")
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk],
                                 capture_output=True, check=False)
        if mounted.returncode:
            raise tap.Skip("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        rng = random.Random(4)
        entries = [entry(f"f{i}", rng.randbytes(1 << 20)) for i in range(30)]
        result = self.put(tar(entries), "--spool-dir", disk, "-L100m", pipe=True, code=1)
        self.assertIn("No space left on device", result.err)
        self.assertIn(disk, result.err)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", rng.randbytes(6 << 20))
        result = self.put(out.getvalue(), "--spool-dir", disk, pipe=True, code=1)
        self.assertIn("No space left on device", result.err)
        self.assertEqual(os.listdir(disk), [])

    @unittest.skipIf(os.environ.get("DWARFS_EMULATOR"),
                     "an emulator catches every signal, so it does not show when the program does")
    def test_interrupted_while_it_waits(self):
        with subprocess.Popen([tap.tool("MKDWARFS"), "-i", "-", "-o", self.path("image"),
                               "--no-progress"], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdin.write(tar([entry("a", b"x")])[:600])
            process.stdin.flush()
            self.wait_for_handler(process, signal.SIGINT)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=30), 1)
            self.assertIn(b"interrupted: no image was made", process.stderr.read())
            process.stdin.close()
        self.assertEqual(os.listdir(self.dir), [])

    def test_progress(self):
        data = tar([entry(f"f{i}", b"x" * 10000) for i in range(300)])
        result = self.put(data, "--progress=ascii")
        self.assertIn("reading", result.err)


@unittest.skipUnless(IS_NATIVE, "the instrumentation uses memory itself")
class Memory(Archives):
    """Streams larger than the limit; peaks as counted by the kernel."""

    def stream(self, pieces, *options):
        """Feed an archive of one file through a pipe; returns the peak in bytes, and the
        messages."""
        command = [tap.tool("MKDWARFS"), "-i", "-", "-o", self.path("image"), "-f",
                   "--no-progress", *options]
        with open(self.path("said"), "wb") as said:
            read_end, write_end = os.pipe()
            child = os.posix_spawn(command[0], command, os.environ, file_actions=[
                (os.POSIX_SPAWN_DUP2, read_end, 0), (os.POSIX_SPAWN_DUP2, said.fileno(), 2),
                (os.POSIX_SPAWN_CLOSE, write_end)])
            os.close(read_end)
            with open(write_end, "wb", buffering=0) as out:
                for piece in pieces:
                    view = memoryview(piece)
                    while view:
                        view = view[out.write(view):]
        _, status, usage = os.wait4(child, 0)
        with open(self.path("said"), "rb") as said:
            text = said.read().decode()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, text)
        return self.peak(text, usage)

    def peak(self, text, usage):
        """As counted by the kernel, unless that is the memory of this process at the fork; then as
        reported by the program."""
        number, unit = text.rsplit("peak memory ", 1)[1].split()[:2]
        told = float(number) * {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
        mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return usage.ru_maxrss << 10 if usage.ru_maxrss > mine else told

    def test_zeros(self):
        size = 2 << 30
        piece = bytes(1 << 20)

        def pieces():
            yield pax((b"size", b"%d" % size)) + header(b"zeros")
            for _ in range(size >> 20):
                yield piece
            yield END

        peak = self.stream(pieces(), "-L100m", "-l3", "-N2")
        self.assertLessEqual(peak, 100 << 20)
        self.assertEqual(self.listing(self.path("image"))["zeros"][2], str(size))
        self.assertLess(os.path.getsize(self.path("image")), 1 << 20)

    def test_noise(self):
        """Several times the limit, in one file and in many, read back unchanged."""
        rng = random.Random(5)
        digest = hashlib.sha256()
        size = 200 << 20

        def pieces():
            yield header(b"noise", b"%011o" % size)
            for _ in range(size >> 20):
                piece = rng.randbytes(1 << 20)
                digest.update(piece)
                yield piece
            for number in range(3000):
                yield header(b"f%d" % number, b"%011o" % 2000) + rng.randbytes(2000).ljust(2048,
                                                                                          b"\0")
            yield END

        peak = self.stream(pieces(), "-L64m", "-l1", "-N2")
        self.assertLessEqual(peak, 64 << 20)
        sums = run("DWARFSCK", "--checksum=sha256", self.path("image")).out
        self.assertIn(f"{digest.hexdigest()}  noise\n", sums)
        self.assertEqual(sums.count("\n"), 3001)

    def test_many_names(self):
        def pieces():
            for number in range(60000):
                yield header(b"directory %d/name of file %d" % (number // 100, number))
            yield END

        peak = self.stream(pieces(), "-L64m", "-l1", "-N1")
        self.assertLessEqual(peak, 64 << 20)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    cli.main()
