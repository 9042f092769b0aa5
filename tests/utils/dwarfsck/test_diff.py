#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsck --diff: every kind of difference between images, directories and archives."""
import io
import os
import shutil
import stat
import subprocess
import tarfile

import absent
import cli
from cli import run
import tap

LOCALE = {**os.environ, "LC_ALL": "C"}


def differ(*words, **options):
    return run("DWARFSCK", "--diff", *words, env=LOCALE, **options)


def add(archive, name, contents=b"", kind=tarfile.REGTYPE, **fields):
    """An entry with attributes that do not depend on the user of the test."""
    member = tarfile.TarInfo(name)
    member.type = kind
    member.size = len(contents)
    member.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    member.mtime = 1000
    for field, value in fields.items():
        setattr(member, field, value)
    archive.addfile(member, io.BytesIO(contents))


class Case(cli.Case):
    def image(self, tree, name="image.dwarfs", *options):
        path = self.path(name)
        self.expect(run("MKDWARFS", "-i", tree, "-o", path, "-f", "-l", "1", "-S", "16",
                        "--no-progress", "--with-specials", "--with-devices", *options), 0)
        return path

    def tar(self, tree, name="archive.tar", *options):
        if not shutil.which("tar"):
            raise tap.Skip("no tar")
        path = self.path(name)
        subprocess.run(["tar", "-C", tree, "--format=pax", *options, "-cf", path, "."],
                       check=True)
        absent.need("archive")
        return path

    def lines(self, *words, code=1, **options):
        return self.expect(differ(*words, **options), code).out.splitlines()

    def twins(self):
        """Two directories that are the same."""
        one = self.tree("one")
        other = self.path("other")
        subprocess.run(["cp", "-a", one, other], check=True)
        return one, other


class Equal(Case):
    def test_of_every_sort(self):
        tree = self.tree()
        os.mkfifo(self.path("tree", "fifo"), 0o640)
        os.utime(self.path("tree"), (5, 5))
        sides = [tree, self.image(tree), self.tar(tree)]
        for one in sides:
            for other in sides:
                result = self.expect(differ(one, other), 0)
                self.assertEqual((result.out, result.err), ("", ""), (one, other))

    def test_images_of_other_shape(self):
        tree = self.tree()
        first = self.image(tree, "first.dwarfs")
        others = (["-l", "0"], ["-S", "12"], ["--order=revpath"], ["--no-section-index"],
                  ["--no-sparse-files"], ["--pack-metadata=none"])
        for number, options in enumerate(others):
            other = self.image(tree, f"{number}.dwarfs", *options)
            self.expect(differ(first, other), 0)

    def test_an_image_behind_a_header(self):
        tree = self.tree()
        image = self.image(tree)
        with open(image, "rb") as made:
            framed = self.write("framed", b"#!/bin/sh\nexit\n" * 999 + made.read())
        self.expect(differ(framed, tree), 0)
        self.expect(differ(framed, tree, "-O", "auto"), 0)
        self.expect(differ(framed, tree, "-O", "1"), 2)

    def test_archives_from_a_pipe(self):
        tree = self.tree()
        for name, options in (("x.tar", []), ("x.tar.gz", ["-z"])):
            path = self.tar(tree, name, *options)
            with open(path, "rb") as archive:
                self.expect(differ(tree, "-", stdin=archive), 0)
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
                self.expect(differ("-", self.image(tree), stdin=cat.stdout), 0)

    def test_xar_archives(self):
        tree = self.path("several")
        for number in range(3):
            self.write(f"several/{number}", bytes([number]) * 5000 * (number + 1))
        image, archive = self.image(tree), self.path("several.xar")
        if run("DWARFSEXTRACT", "-i", image, "-f", "xar", "-o", archive).code:
            raise tap.Skip("no archives, or none of xar")
        self.expect(differ(image, archive), 0)
        self.expect(differ(archive, tree), 0)

    def test_workers(self):
        tree = self.tree()
        image = self.image(tree)
        for workers in ("0", "1", "7"):
            self.expect(differ(tree, image, "-n", workers, "-s", "100k"), 0)

    def test_names_of_every_byte(self):
        tree = os.fsencode(self.path("tree"))
        os.mkdir(tree)
        for byte in set(range(1, 256)) - {ord("/"), ord(".")}:
            with open(os.path.join(tree, bytes([byte])), "wb") as out:
                out.write(bytes([byte]))
            os.mkdir(os.path.join(tree, b"d" + bytes([byte])))
            with open(os.path.join(tree, b"d" + bytes([byte]), b"in"), "wb") as out:
                out.write(bytes([byte]))
        sides = [os.fsdecode(tree), self.image(tree), self.tar(tree)]
        for one in sides:
            for other in sides:
                self.expect(differ(one, other), 0)

    def test_verbose_counts(self):
        tree = self.tree()
        result = self.expect(differ("-v", tree, self.image(tree)), 0)
        self.assertIn("entries: 13 and 13; differences: 0", result.err)


class Kinds(Case):
    def change(self, path):
        """Make every kind of difference in a copy of tree(); returns the expected output."""
        def at(*names):
            return os.path.join(path, *names)

        def keep_time(name, action):
            status = os.lstat(at(name))
            action(at(name))
            os.utime(at(name), ns=(status.st_atime_ns, status.st_mtime_ns),
                     follow_symlinks=False)
        times = {name: os.stat(at(name)).st_mtime_ns for name in ("", "sub", "sub/deep")}

        os.unlink(at("empty"))
        os.mkdir(at("new"))
        with open(at("new", "file"), "wb"):
            pass
        os.chmod(at("sub", "deep", "b.sh"), 0o4711)
        with open(at("same.txt"), "rb") as old:
            contents = bytearray(old.read())
        contents[3000] ^= 1
        keep_time("same.txt", lambda name: open(name, "r+b").write(contents))
        keep_time("sub/noise", lambda name: open(name, "r+b").truncate(29999))
        os.utime(at("sub", "c.bin"), (0, 1000000000))
        os.unlink(at("link"))
        os.symlink("a.txt", at("link"))
        os.utime(at("link"), (cli.FIRST_TIME, cli.FIRST_TIME + 5), follow_symlinks=False)
        os.unlink(at("sub", "hard.txt"))
        shutil.copy2(at("a.txt"), at("sub", "hard.txt"))
        os.unlink(at("hole"))
        os.mkdir(at("hole"))
        for name, mtime in times.items():
            os.utime(at(name), ns=(mtime, mtime))
        return [
            "- empty",
            "! hole: type: file -> directory",
            "! link: target: sub/c.bin -> a.txt",
            "+ new",
            "+ new/file",
            "! same.txt: contents",
            "! sub/c.bin: mtime: 2020-09-13 12:26:45 -> 2001-09-09 01:46:40",
            "! sub/deep/b.sh: mode: 0755 -> 4711",
            "! sub/hard.txt: links: a.txt -> none",
            "! sub/noise: size: 30000 -> 29999",
        ]

    def test_all(self):
        one, other = self.twins()
        wanted = self.change(other)
        mirrored = []
        for line in wanted:
            sign, rest = line.split(" ", 1)
            if " -> " in rest:
                what, values = rest.rsplit(": ", 1) if "mtime" not in rest else (
                    rest.split(": ", 2)[0] + ": mtime", rest.split(": ", 2)[2])
                before, after = values.split(" -> ")
                rest = f"{what}: {after} -> {before}"
            mirrored.append({"-": "+", "+": "-", "!": "!"}[sign] + " " + rest)
        pairs = [(one, other)]
        pairs += [(self.image(one, "one.dwarfs"), self.image(other, "other.dwarfs")),
                  (self.image(one, "one.dwarfs"), other)]
        pairs += [(self.tar(one, "one.tar"), self.tar(other, "other.tar")),
                  (self.tar(one, "one.tar"), self.image(other, "other.dwarfs"))]
        for left, right in pairs:
            self.assertEqual(self.lines(left, right), wanted, (left, right))
            self.assertEqual(self.lines(right, left), mirrored, (right, left))

    def test_ignore(self):
        one, other = self.twins()
        wanted = self.change(other)
        words = ("only-a", "only-b", "type", "mode", "mtime", "size", "contents", "target",
                 "links")
        for word in words:
            def names(line, word=word):
                return {"only-a": line.startswith("- "), "only-b": line.startswith("+ "),
                        "contents": line.endswith(": contents")}.get(word, f": {word}: " in line)
            left = [line for line in wanted if not names(line)]
            self.assertLess(len(left), len(wanted))
            self.assertEqual(self.lines(one, other, "--diff-ignore", word), left)
        self.expect(differ(one, other, "--diff-ignore=" + ",".join(words)), 0)

    def test_quiet(self):
        one, other = self.twins()
        self.change(other)
        result = self.expect(differ("-q", one, other), 1)
        self.assertEqual((result.out, result.err), ("", ""))

    def test_owners(self):
        if os.geteuid() != 0:
            raise tap.Skip("not root")
        one, other = self.twins()
        os.chown(os.path.join(one, "a.txt"), 1000, 4000000000)
        os.chown(os.path.join(other, "a.txt"), 1001, 7)
        wanted = [f"! {name}: {line}" for name in ("a.txt", "sub/hard.txt")
                  for line in ("owner: 1000 -> 1001", "group: 4000000000 -> 7")]
        self.assertEqual(self.lines(one, other), wanted)
        self.assertEqual(self.lines(self.image(one), other), wanted)
        self.assertEqual(self.lines(self.tar(one), other), wanted)
        self.expect(differ(one, other, "--diff-ignore=owner,group"), 0)

    def test_devices(self):
        one, other = self.path("one"), self.path("other")
        for path, number in ((one, os.makedev(240, 0x12345)), (other, os.makedev(240, 5))):
            os.mkdir(path)
            try:
                os.mknod(os.path.join(path, "device"), stat.S_IFCHR | 0o600, number)
            except PermissionError as error:
                raise tap.Skip("no devices can be made here") from error
            os.utime(os.path.join(path, "device"), (1, 1))
            os.utime(path, (1, 1))
        wanted = ["! device: device: 240,74565 -> 240,5"]
        self.assertEqual(self.lines(one, other), wanted)
        self.assertEqual(self.lines(self.image(one), other), wanted)
        self.assertEqual(self.lines(self.tar(one), other), wanted)

    def test_extended_attributes(self):
        one, other = self.twins()
        try:
            for path, name, value in ((one, "user.same", b"same"), (other, "user.same", b"same"),
                                      (one, "user.text", b"text"), (other, "user.text", b"t"),
                                      (one, "user.gone", b"\0\1"), (other, "user.new", b"")):
                os.setxattr(os.path.join(path, "a.txt"), name, value)
        except OSError as error:
            raise tap.Skip(f"no attributes here: {error}") from error
        texts = ['xattr user.gone: 0x0001 -> none', 'xattr user.new: none -> ""',
                 'xattr user.text: "text" -> "t"']
        wanted = [f"! {name}: {text}" for name in ("a.txt", "sub/hard.txt") for text in texts]
        self.assertEqual(self.lines(one, other), wanted)
        self.assertEqual(self.lines(self.image(one), other), wanted)
        self.assertEqual(self.lines(self.tar(one, "x.tar", "--xattrs"), self.image(other)),
                         wanted)
        self.assertEqual(self.lines(self.image(one, "bare.dwarfs", "--no-xattrs"), one), [
            f'! {name}: xattr user.{word}: none -> {value}' for name in ("a.txt", "sub/hard.txt")
            for word, value in (("gone", "0x0001"), ("same", '"same"'), ("text", '"text"'))])
        self.expect(differ(one, other, "--diff-ignore=xattr"), 0)


class Times(Case):
    def test_resolution(self):
        one, other = self.twins()
        for path, nanoseconds in ((one, 123456789), (other, 123999999)):
            os.utime(os.path.join(path, "empty"), ns=(0, 10**18 + nanoseconds))
        text = "! empty: mtime: 2001-09-09 01:46:40"
        self.expect(differ(one, other), 0)
        self.expect(differ(one, other, "--diff-resolution=ms"), 0)
        self.assertEqual(self.lines(one, other, "--diff-resolution", "us"),
                         [text + ".123456000 -> 2001-09-09 01:46:40.123999000"])
        self.assertEqual(self.lines(one, other, "--diff-resolution=ns"),
                         [text + ".123456789 -> 2001-09-09 01:46:40.123999999"])
        # An image of whole seconds has no fractions to compare.
        self.expect(differ(self.image(one), other, "--diff-resolution=ns"), 0)
        exact = self.image(one, "exact.dwarfs", "--time-resolution=ns")
        self.expect(differ(exact, one, "--diff-resolution=ns"), 0)
        self.assertEqual(len(self.lines(exact, other, "--diff-resolution=ns")), 1)
        ustar = self.tar(one, "ustar.tar", "--format=ustar")
        self.expect(differ(ustar, one, "--diff-resolution=ns"), 0)

    def test_coarse_steps(self):
        one, other = self.twins()
        for path, seconds in ((one, 1000), (other, 1001)):
            os.utime(os.path.join(path, "empty"), (0, seconds))
        self.expect(differ(one, other), 1)
        self.expect(differ(one, other, "--diff-resolution=2s"), 0)

    def test_before_1970(self):
        one, other = self.twins()
        times = {one: -2 * 10**18 + 123456789, other: -10**9 + 5 * 10**8}
        for path, nanoseconds in times.items():
            os.utime(os.path.join(path, "empty"), ns=(0, nanoseconds))
            if os.stat(os.path.join(path, "empty")).st_mtime_ns != nanoseconds:
                self.skipTest("the file system has no such times")
        exact = self.image(one, "exact.dwarfs", "--time-resolution=ns")
        whole = self.image(one, "whole.dwarfs")
        for side in one, exact, whole, self.tar(one):
            self.expect(differ(side, one, "--diff-resolution=ns"), 0)
            self.assertEqual(self.lines(side, other),
                             ["! empty: mtime: 1906-08-16 20:26:40 -> 1969-12-31 23:59:59"])
        self.assertEqual(self.lines(exact, other, "--diff-resolution=ns"),
                         ["! empty: mtime: 1906-08-16 20:26:40.123456789 -> "
                          "1969-12-31 23:59:59.500000000"])
        os.utime(os.path.join(one, "empty"), ns=(0, -10**9 + 7 * 10**8))
        late = self.image(one, "late.dwarfs", "--time-resolution=ns")
        self.expect(differ(late, other), 0)
        self.assertEqual(len(self.lines(late, other, "--diff-resolution=ms")), 1)
        os.utime(os.path.join(one, "empty"), ns=(0, 3 * 10**8))
        self.assertEqual(self.lines(self.image(one, "zero.dwarfs"), other),
                         ["! empty: mtime: 1970-01-01 00:00:00 -> 1969-12-31 23:59:59"])


class Archives(Case):
    def archive(self, name, make):
        path = self.path(name)
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
            make(archive)
        absent.need("archive")
        return path

    def test_attributes_that_are_written_twice(self):
        """As some programs do, for the readers of both ways; one of them encodes names."""
        def twice(archive):
            add(archive, "file", pax_headers={
                "SCHILY.xattr.user.a": "1", "LIBARCHIVE.xattr.user.a": "MQ",
                "SCHILY.xattr.user.b%20c": "2", "LIBARCHIVE.xattr.user.b%20c": "Mg"})

        def once(archive):
            add(archive, "file", pax_headers={
                "LIBARCHIVE.xattr.user.a": "MQ", "LIBARCHIVE.xattr.user.b%20c": "Mg"})

        def other(archive):
            add(archive, "file", pax_headers={"LIBARCHIVE.xattr.user.a": "MQ"})
        a, b = self.archive("a.tar", twice), self.archive("b.tar", once)
        image = self.image(a)
        for right in (b, image):
            self.expect(differ(a, right), 0)
        self.assertEqual(self.expect(differ(image, self.archive("c.tar", other)), 1).out,
                         '! file: xattr user.b c: "2" -> none\n')

    def test_the_last_entry_of_a_path_counts(self):
        def twice(archive):
            add(archive, "./file", b"old")
            add(archive, "hard", kind=tarfile.LNKTYPE, linkname="./file")
            add(archive, "/file", b"new")

        def once(archive):
            add(archive, "file", b"new")
            add(archive, "hard", b"old")
        self.expect(differ(self.archive("a.tar", twice), self.archive("b.tar", once)), 0)

    def test_directories_that_are_not_mentioned(self):
        def deep(archive):
            add(archive, "a/b/c/file", b"x")
            add(archive, "a.b", b"x")
        tree = self.path("tree")
        os.makedirs(os.path.join(tree, "a", "b", "c"), 0o700)
        for name in ("a/b/c/file", "a.b"):
            self.write("tree/" + name, b"x")
            os.utime(self.path("tree", name), (1000, 1000))
        path = self.archive("deep.tar", deep)
        self.expect(differ(path, tree, "--diff-ignore=owner,group"), 0)
        os.mkdir(self.path("tree", "a", "more"))
        self.assertEqual(self.lines(path, tree, "--diff-ignore=owner,group"), ["+ a/more"])

    def test_hard_links(self):
        def linked(archive):
            add(archive, "one", b"data")
            add(archive, "two", kind=tarfile.LNKTYPE, linkname="one")
            add(archive, "three", kind=tarfile.LNKTYPE, linkname="two")

        def apart(archive):
            add(archive, "one", b"data")
            add(archive, "two", b"data")
            add(archive, "three", kind=tarfile.LNKTYPE, linkname="two")
        left, right = self.archive("a.tar", linked), self.archive("b.tar", apart)
        self.expect(differ(left, left), 0)
        self.assertEqual(self.lines(left, right),
                         ["! three: links: one -> none", "! two: links: one -> three"])
        self.expect(differ(left, right, "--diff-ignore=links"), 0)

    def test_cpio_has_the_contents_behind(self):
        if not shutil.which("cpio"):
            raise tap.Skip("no cpio")
        tree = self.tree()
        names = subprocess.run(["find", ".", "-print0"], cwd=tree, check=True,
                               stdout=subprocess.PIPE).stdout
        archive = subprocess.run(["cpio", "-0", "-o", "-H", "newc", "--quiet"], cwd=tree,
                                 input=names, check=True, stdout=subprocess.PIPE).stdout
        path = self.write("x.cpio", archive)
        absent.need("archive")
        self.expect(differ(path, tree), 0)

    def test_damage_is_trouble(self):
        tree = self.tree()
        path = self.tar(tree)
        with open(path, "rb") as archive:
            contents = archive.read()
        for size in (0, 100, 512, 5000, len(contents) // 2):
            cut = self.write("cut.tar", contents[:size])
            result = self.expect(differ(cut, tree), 2)
            self.assertIn(cut, result.err)
        with open(self.write("cut.tar", contents[:700]), "rb") as cut:
            self.expect(differ(tree, "-", stdin=cut), 2, "standard input")

    def test_links_to_nothing_are_trouble(self):
        path = self.path("bad.tar")
        with tarfile.open(path, "w") as archive:
            add(archive, "link", kind=tarfile.LNKTYPE, linkname="nowhere")
        absent.need("archive")
        self.expect(differ(path, self.tree()), 2, "nowhere")


class Trouble(Case):
    def test_command_lines(self):
        tree = self.tree()
        for words, text in (([], "needs two"), ([tree], "needs two"),
                            ([tree, tree, tree], "unrecognized argument"),
                            ([tree, tree, "--diff-ignore=grmpf"], "'grmpf' for --diff-ignore"),
                            ([tree, tree, "--diff-ignore=trouble"], "'trouble'"),
                            ([tree, tree, "--diff-resolution=0"], "for --diff-resolution"),
                            ([tree, tree, "--diff-resolution=x"], "for --diff-resolution"),
                            ([tree, tree, "--diff-resolution="], "for --diff-resolution"),
                            ([tree, tree, "-l"], "mutually exclusive")):
            self.expect(differ(*words), 2, text)
        for words in (["--diff-ignore=mode"], ["--diff-resolution=ns"]):
            self.expect(run("DWARFSCK", tree, *words), 1, "need --diff")

    def test_sides_that_are_none(self):
        tree = self.tree()
        missing = self.path("missing")
        text = self.write("text", b"no image\n" * 10000)
        for bad in (missing, text, "/dev/null"):
            self.expect(differ(tree, bad), 2, bad)
            self.expect(differ(bad, tree), 2, bad)

    def test_a_damaged_block(self):
        tree = self.tree()
        image = self.image(tree)
        block = self.info(image)["sections"][0]
        with open(image, "rb") as made:
            contents = bytearray(made.read())
        contents[block["offset"] + 64 + block["compressed_size"] // 2] ^= 4
        damaged = self.write("damaged.dwarfs", bytes(contents))
        result = self.expect(differ(damaged, tree), 2, damaged)
        self.assertEqual(result.out, "")
        self.expect(differ(tree, damaged, "--diff-ignore=contents"), 0)

    def test_files_that_cannot_be_read(self):
        if os.geteuid() != 0:
            raise tap.Skip("not root")
        one, other = self.twins()
        os.chmod(self.dir, 0o755)
        for path in (one, other):
            os.chmod(os.path.join(path, "sub", "noise"), 0)
        self.expect(differ(one, other), 0)
        result = run("DWARFSCK", "--diff", one, other, user=65534, group=65534)
        self.expect(result, 2, "sub/noise", "Permission denied")

    def test_full_output(self):
        if not os.path.exists("/dev/full"):
            raise tap.Skip("no /dev/full")
        one, other = self.twins()
        os.chmod(os.path.join(other, "empty"), 0)
        with open("/dev/full", "wb") as full:
            self.expect(differ(one, other, stdout=full), 2, "cannot write to standard output")


if __name__ == "__main__":
    cli.main()
