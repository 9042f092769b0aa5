#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images of trees that no file system can have: huge holes, duplicate paths, directories that are
not a tree. Exported, compared, summarized and extracted."""
import hashlib
import io
import os
import shutil
import signal
import subprocess
import tarfile
import time

os.environ["LC_ALL"] = "C"

import absent  # noqa: E402
import cli  # noqa: E402
from cli import IS_NATIVE, run  # noqa: E402
import tap  # noqa: E402

EIB = 1 << 60
GIB = 1 << 30
DATA = b"0123456789abcdef" * 4096  # the block size of craft_tree

FORMATS = ("pax", "paxr", "gnutar", "ustar", "v7tar", "newc", "cpio", "bin", "zip", "7zip",
           "iso9660", "xar", "mtree", "mtree-classic", "shar", "shardump", "argnu", "arbsd",
           "warc", "raw")
LISTS = ("mtree", "mtree-classic")
SPARSE = ("pax", "paxr")


def read_sparse(archive, member):
    """The data of a file with holes, by offset, as far as it is not zeros."""
    source = archive.extractfile(member)
    found = {}
    for offset, size in member.sparse:
        source.seek(offset)
        if size:
            found[offset] = source.read(size)
    return found


class Hostile(cli.Case):
    def image(self, *lines):
        path = self.path("image.dwarfs")
        subprocess.run([tap.tool("CRAFT_TREE"), path], input="".join(f"{line}\n" for line in lines),
                       text=True, check=True)
        return path

    def export(self, image, form, *options, code=0, name="archive"):
        """Returns the archive and the messages."""
        absent.need("archive")
        path = self.path(name)
        if os.path.exists(path):
            os.unlink(path)
        result = self.expect(run("DWARFSEXTRACT", "-i", image, "-f", form, "-o", path, *options,
                                 timeout=60), code)
        self.assertEqual(os.path.exists(path), code == 0 or "--continue-on-error" in options)
        return path, result.err

    def members(self, path):
        with tarfile.open(path) as archive:
            return archive.getnames()


class HugeHoles(Hostile):
    def test_kept_where_holes_are(self):
        """Holes before, between and after data, without libarchive."""
        image = self.image(f"0 f a h{EIB},d20,h{2 * EIB},d7,h4096,d16", f"0 f b d9,h{EIB}",
                           f"0 f c h{3 * EIB}", "0 f d d100,h4096,d50", "0 f e d12",
                           "0 f g d65536,d65536,d3", "0 f h @0")
        sizes = {"a": 3 * EIB + 4139, "b": EIB + 9, "c": 3 * EIB, "d": 4246, "e": 12,
                 "g": 131075}
        data = {"a": {EIB: DATA[:20], 3 * EIB + 20: DATA[:7], 3 * EIB + 4123: DATA[:16]},
                "b": {0: DATA[:9]}, "c": {}, "d": {0: DATA[:100], 4196: DATA[:50]}}
        for form, *options in [("pax",), ("paxr",), ("pax", "--format-filters=gzip,b64encode",
                                "--format-options=gzip:compression-level=1,hdrcharset=BINARY"),
                               ("pax", "--num-workers=0"), ("pax", "--archive-order=tree")]:
            with self.subTest(form=form, options=options):
                path, said = self.export(image, form, *options)
                self.assertEqual(said, "")
                if len(options) == 2:
                    self.unpack(path)
                with tarfile.open(path) as archive:
                    self.assertEqual({m.name: m.size for m in archive if m.isreg()}, sizes)
                    for name, pieces in data.items():
                        self.assertEqual(read_sparse(archive, archive.getmember(name)), pieces)
                    for name, expected in (("e", DATA[:12]), ("g", DATA + DATA + DATA[:3])):
                        self.assertEqual(archive.extractfile(name).read(), expected)
                    self.assertEqual(archive.getmember("h").linkname, "a")
                self.assertEqual(os.stat(path).st_blocks < 4096, True)

    def unpack(self, path):
        """bsdtar reads uuencoded archives; Python does not."""
        if not shutil.which("bsdcat"):
            raise tap.Skip("no bsdcat")
        with open(path + ".plain", "wb") as out:
            subprocess.run(["bsdcat", path], stdout=out, check=True)
        os.replace(path + ".plain", path)

    def test_same_bytes_as_without_relay(self):
        """Holes below and above the limit give archives that differ in the hole's size only."""
        def write(hole):
            image = self.image(f"0 f a d20,h{hole},d65530", "0 f b h8192,d700", "0 f c d5")
            with open(self.export(image, "pax")[0], "rb") as archive:
                return archive.read()
        below, above = write((1 << 40) - 9000), write((1 << 40) + 9000)
        self.assertEqual(len(below), len(above))
        differ = sum(below[at:at + 512] != above[at:at + 512] for at in range(0, len(below), 512))
        self.assertLessEqual(differ, 3)  # a header, attributes, and the map

    def test_refused_before_the_first_byte(self):
        image = self.image(f"0 f dir d5,h{4 * EIB}", "0 f text d5")
        for form in FORMATS:
            if form in SPARSE + LISTS:
                continue
            with self.subTest(form):
                _, said = self.export(image, form, code=1)
                self.assertIn(f"dir: holes of {4 * EIB} bytes, which the {form} format would",
                              said)
                piped = run("DWARFSEXTRACT", "-i", image, "-f", form, timeout=60)
                self.assertEqual((piped.code, piped.raw), (1, b""))

    def test_lists_need_no_contents(self):
        image = self.image(f"0 f a h{4 * EIB}", "0 f text d5")
        for form in LISTS:
            with open(self.export(image, form)[0], encoding="ascii") as listing:
                self.assertIn(f"size={4 * EIB}", listing.read())
            self.export(image, form, "--format-options=md5", code=1)

    def test_left_out(self):
        image = self.image(f"0 f a d5,h{4 * EIB}", "0 f b d5,h4096", "0 f c @0", "0 f d d7")
        path, said = self.export(image, "gnutar", "--continue-on-error", code=1)
        self.assertEqual(self.members(path), [".", "b", "d"])
        self.assertIn("a: holes of", said)
        self.assertIn("c: holes of", said)
        self.assertIn("finished with 2 errors", said)

    def test_many_that_are_small(self):
        """Their sum is huge: those that fit are stored, in the order of the tree."""
        image = self.image(*(f"0 f {name} d5,h{30 * GIB}" for name in "abcd"))
        self.export(image, "gnutar", code=1)
        listing, _ = self.export(image, "mtree")
        self.assertTrue(listing)
        path, said = self.export(image, "zip", "--format-options=zip:compression=store", code=1)
        self.assertIn(": c: holes", said)

    def test_allowed(self):
        """It starts, and can be cancelled."""
        absent.need("archive")
        image = self.image(f"0 f a h{100 * GIB}")
        for form in ("gnutar", "zip", "shar"):
            with subprocess.Popen([tap.tool("DWARFSEXTRACT"), "-i", image, "-f", form,
                                   "--allow-huge-holes"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                self.assertTrue(process.stdout.read(4096))
                process.send_signal(signal.SIGTERM)
                while process.stdout.read(1 << 20):  # a closed pipe could end it before the signal
                    pass
                self.assertEqual(process.wait(60), 1)
        self.expect(run("DWARFSEXTRACT", "-i", image, "--allow-huge-holes"), 1)

    def test_sizes_that_lie(self):
        """The cache of sizes hides a hole from the attributes."""
        image = self.image("block 27", f"0 f a d10,h{4 * EIB}", "size 0 100000000", "0 f b d7")
        for form in ("pax", "gnutar"):
            _, said = self.export(image, form, code=1)
            self.assertIn("a: the contents continue after the end of the file, at 100000000", said)

    def test_compared(self):
        """Holes are not read, with data in order or out of order."""
        first = f"0 f a h{EIB},d20,h{2 * EIB},d7,h4096"
        image = self.image(first, "0 f b d9")
        other = self.path("other.dwarfs")
        os.rename(image, other)
        image = self.image(first, "0 f b d9")
        self.expect(run("DWARFSCK", "--diff", image, other, timeout=60), 0)
        image = self.image(f"0 f a h{EIB},d20,h{2 * EIB},d6,h4097", "0 f b d9")
        result = self.expect(run("DWARFSCK", "--diff", image, other, timeout=60), 1)
        self.assertEqual(result.out, "! a: contents\n")
        archive, _ = self.export(image, "pax")
        self.expect(run("DWARFSCK", "--diff", image, archive, timeout=60), 0)

    def test_summed_up(self):
        image = self.image(f"0 f a d3,h{4 * EIB}", "0 f b d9,h4096", "0 f c d9")
        result = self.expect(run("DWARFSCK", "--checksum=sha256", image, timeout=60), 1)
        sums = {"b": DATA[:9] + bytes(4096), "c": DATA[:9]}
        lines = [f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in sums.items()]
        self.assertEqual(sorted(result.out.splitlines()), sorted(lines))
        self.assertIn(f"a: not read: it has holes of {4 * EIB} bytes; see --allow-huge-holes",
                      result.err)
        for action in (["--checksum=sha256", "--allow-huge-holes"], ["--cat=a"]):
            with subprocess.Popen([tap.tool("DWARFSCK"), image, *action],
                                  stdout=subprocess.DEVNULL) as process:
                time.sleep(0.2)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), -signal.SIGTERM)
        self.expect(run("DWARFSCK", image, "--allow-huge-holes"), 1)

    def test_packed_again(self):
        """mkdwarfs reads the archive of such an image, and a directory with such files."""
        image = self.image(f"0 f a h{EIB},d20,h{2 * EIB}", f"0 f b d5,h{EIB}")
        archive, _ = self.export(image, "pax")
        packed = self.path("packed.dwarfs")
        self.expect(run("MKDWARFS", "-i", archive, "-o", packed, "--no-progress", timeout=60), 0)
        self.expect(run("DWARFSCK", "--diff", image, packed, timeout=60), 0)
        self.assertLess(os.stat(packed).st_size, 4096)

    def test_extracted(self):
        """A hole, or an error of the file system; in no case does it write zeros."""
        image = self.image(f"0 f a d5,h{4 * EIB}", "0 f b d5")
        result = run("DWARFSEXTRACT", "-i", image, "-o", self.path("out"), timeout=60)
        if result.code == 0:
            self.assertEqual(os.stat(self.path("out", "a")).st_size, 4 * EIB + 5)
        else:
            self.assertIn("out/a: cannot", result.err)
            self.assertFalse(os.path.exists(self.path("out", "a")))


class SamePath(Hostile):
    TREES = {
        "link first": (["0 l a %s", "0 d a 1", "0 f z d4", "1 f x d5"], [".", "a", "z"]),
        "directory first": (["0 d a 1", "0 l a %s", "0 f z d4", "1 f x d5"],
                            [".", "a", "a/x", "z"]),
        "not sorted": (["0 f z d4", "0 l a %s", "0 f m d3", "0 d a 1", "1 f x d5"],
                       [".", "a", "z", "m"]),
        "deeper": (["0 d d 1", "1 l a %s", "1 d a 2", "1 f z d4", "2 d b 3", "3 f x d5"],
                   [".", "d", "d/a", "d/z"]),
        "files": (["0 f a d4", "0 f a d5", "0 f a d6"], [".", "a"]),
        "links of a file": (["0 f a d4", "0 f b d5", "0 f b @0"], [".", "a", "b"]),
    }

    def trees(self):
        self.elsewhere = self.path("elsewhere")
        os.makedirs(self.elsewhere, exist_ok=True)
        for name, (lines, left) in self.TREES.items():
            with self.subTest(name):
                target = self.elsewhere.replace("%", "%25")
                yield self.image(*(line.replace("%s", target) for line in lines)), left
                self.assertEqual(os.listdir(self.elsewhere), [])

    def test_exported(self):
        absent.need("archive")
        for image, left in self.trees():
            name = "b" if "b" in left else "d/a" if "d" in left else "a"
            for form in ("pax", "ustar", "newc", "zip", "7zip", "mtree", "shar"):
                _, said = self.export(image, form, code=1)
                self.assertIn(f"{name}: another entry of its directory has the same name", said)
            for order in ("data", "tree"):
                path, said = self.export(image, "pax", "--continue-on-error",
                                         f"--archive-order={order}", code=1)
                self.assertIn(f"dwarfsextract: {name}: another entry", said)
                self.assertEqual(sorted(self.members(path)), sorted(left))
                self.unpack(path)

    def unpack(self, path):
        """Read by tar, which restores links."""
        if shutil.which("tar"):
            out = self.path("unpacked")
            os.mkdir(out)
            subprocess.run(["tar", "-xf", path, "-C", out], check=True)
            shutil.rmtree(out)

    def test_patterns(self):
        image = self.image("0 l a target", "0 d a 1", "0 f z d4", "1 f x d5")
        self.export(image, "pax", "z", code=1)  # a directory and an entry of it have the same path
        self.assertEqual(self.members(self.export(image, "pax", "z", "--continue-on-error",
                                                  code=1)[0]), [".", "z"])
        image = self.image("0 f a d1", "0 f a d2", "0 f z d4")
        self.assertEqual(self.members(self.export(image, "pax", "z")[0]), [".", "z"])

    def test_not_sorted_alone_is_fine(self):
        image = self.image("0 f c d4", "0 f a d5", "0 f b d6", "0 f aa d1")
        self.assertEqual(sorted(self.members(self.export(image, "pax")[0])),
                         [".", "a", "aa", "b", "c"])

    def test_extracted(self):
        for image, _ in self.trees():
            for options in ([], ["--continue-on-error"]):
                out = self.path("out")
                self.expect(run("DWARFSEXTRACT", "-i", image, "-o", out, *options), 1)
                shutil.rmtree(out)

    def test_compared(self):
        tree = self.path("tree")
        os.makedirs(tree)
        for image, left in self.trees():
            name = "b" if "b" in left else "d/a" if "d" in left else "a"
            for sides in ((image, tree), (tree, image), (image, image)):
                result = self.expect(run("DWARFSCK", "--diff", *sides), 2)
                self.assertIn(f"{image}: '{name}': the image has several entries of this path",
                              result.err)
                for line in result.out.splitlines():
                    self.assertNotIn(line[2:], (name, name + "/x", name + "/b"))

    def test_many(self):
        """Bounded time and memory: directories that are not sorted, and repeat one name."""
        count = 3000 if not IS_NATIVE else 30000
        image = self.image(*(f"0 f {'same' if i % 2 else f'n{count - i}'} d1"
                             for i in range(count)))
        path, said = self.export(image, "pax", "--continue-on-error", "--log-level=fatal", code=1)
        self.assertIn(f"finished with {count // 2 - 1} errors", said)
        self.assertEqual(len(self.members(path)), count // 2 + 2)


class Impossible(Hostile):
    """Values that no system has: owners, numbers of devices, targets of links."""

    def checked(self, image, text):
        self.expect(run("DWARFSCK", "-q", image), 1, text)

    def test_owner(self):
        image = self.image("owner 4294967295", "0 f a d5")
        self.checked(image, "no valid owner")
        _, messages = self.export(image, "pax", "--continue-on-error", code=1)
        self.assertIn("a: the image has no valid value for: owner", messages)
        out = self.path("out")
        result = self.expect(run("DWARFSEXTRACT", "-i", image, "-o", out), 1)
        self.assertIn("/a: the image has no valid value for: owner", result.err)
        self.assertIn(os.stat(os.path.join(out, "a")).st_uid, (65534, os.geteuid()))

    def test_device(self):
        """It is lost, and the files are not."""
        image = self.image("0 f a d5", "0 c b 0x100000103", "0 f c d6")
        self.checked(image, "the number of device 0 has more than 32 bits")
        out = self.path("out")
        result = self.expect(run("DWARFSEXTRACT", "-i", image, "-o", out), 1)
        self.assertIn("/b: no device can have the number", result.err)
        self.assertEqual(sorted(os.listdir(out)), ["a", "c"])
        self.assertIn("b: no device", self.export(image, "pax", code=1)[1])
        path, _ = self.export(image, "pax", "--continue-on-error", code=1)
        self.assertEqual(sorted(self.members(path)), [".", "a", "c"])

    def test_target(self):
        for size in (0, 4096):
            image = self.image("0 f a d5", "0 l b " + ("x" * size or "%00"))
            self.checked(image, "the target of link 0")
            wrong = f"b: the target of the symbolic link has {size} bytes instead of 1 to 4095"
            out = self.path(f"out{size}")
            result = self.expect(run("DWARFSEXTRACT", "-i", image, "-o", out), 1)
            self.assertIn(wrong, result.err)
            self.assertIn(wrong, self.export(image, "pax", code=1)[1])
            path, _ = self.export(image, "pax", "--continue-on-error", code=1)
            self.assertEqual(sorted(self.members(path)), [".", "a"])


class NoTree(Hostile):
    def test_refused(self):
        """A directory with two parents, and directories that share entries. The second place of
        a directory can be left out."""
        for lines in (["0 d a 1", "0 d b 1", "1 f x d1"],
                      ["0 l a t", "0 d a 1", "0 d b 1", "1 f x d1"],
                      ["0 d a 1", "0 d b 2", "0 f c d1", "1 f x d1", "2 f y d1", "range 2 1"],
                      ["0 d a 2", "0 d b 1", "1 f x d1", "1 d y 2", "2 f z d1"]):
            with self.subTest(lines):
                image = self.image(*lines)
                for options in ([], ["--continue-on-error"]):
                    result = run("DWARFSEXTRACT", "-i", image, "-f", "pax", *options, timeout=60)
                    self.assertEqual(result.code, 1)
                    if options and "range" not in lines[-1]:
                        with tarfile.open(fileobj=io.BytesIO(result.raw)) as archive:
                            names = archive.getnames()
                        self.assertLessEqual([name[-2:] for name in names].count("/x"), 1)
                    else:
                        self.assertEqual(result.raw, b"")
                    self.assertRegex(result.err, "not a tree|has the same name|impossible entries")
                self.expect(run("DWARFSCK", "--diff", image, image, timeout=60), 2)
                self.expect(run("DWARFSEXTRACT", "-i", image, "-o", self.path("out")), 1)
                shutil.rmtree(self.path("out"), ignore_errors=True)


if __name__ == "__main__":
    cli.main()
