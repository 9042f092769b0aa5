#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Archives with entries that no image can hold, and with entries that exclude others: messages,
the image, and the exit code."""
import io
import os
import random
import re
import tarfile
import zipfile

os.environ["LC_ALL"] = "C"

import cli  # noqa: E402
from cli import run  # noqa: E402
from archives import (  # noqa: E402
    END, TIME, Archives, base256, directory, entry, header, link, pax, symlink, tar)

GOOD = [directory("d"), entry("d/first", b"1"), entry("last", b"2")]
ON = "--continue-on-error"


def newc(name, mode, data=b"", links=1, inode=1):
    head = b"070701" + b"".join(b"%08x" % value for value in (
        inode, mode, 0, 0, links, TIME, len(data), 0, 0, 0, 0, len(name) + 1, 0))
    return ((head + name + b"\0").ljust(-(-(len(head) + len(name) + 1) // 4) * 4, b"\0") +
            data.ljust(-(-len(data) // 4) * 4, b"\0"))


def between(*blocks):
    """Bad entries, with good ones before and after them."""
    front, back = (tar(part, tarfile.USTAR_FORMAT) for part in (GOOD[:2], GOOD[2:]))
    return (front[:512 * 3] + b"".join(blocks) + back[:1024] + END)


class LeftOut(Archives):
    def lose(self, data, *names, options=(), pipe=False):
        """Check that these entries are lost and the valid ones kept; returns the messages."""
        result = self.put(data, ON, *options, code=2, pipe=pipe)
        for name in names:
            self.assertRegex(result.err, rf"(?m)^mkdwarfs: .*{re.escape(name)}")
        count = len(names)
        self.assertIn(f"{count} entr{'y' if count == 1 else 'ies'} of archives could not be stored",
                      result.err)
        self.assertEqual(self.contents("d", "first"), b"1")
        self.assertEqual(self.contents("last"), b"2")
        return result

    def test_by_default_nothing_is_made(self):
        data = between(header(b"a/../b"))
        result = self.put(data, code=1)
        self.assertIn("'a/../b'", result.err)
        self.assertNotIn("left out", result.err)

    def test_each_is_named_and_counted(self):
        data = between(header(b"a/../b"), header(b"../out"), header(b""), header(b"d/first/below"),
                       header(b"toobig", gid=b"\xff" * 8), header(b"link", kind=b"2"),
                       pax((b"path", b"n" * 256)) + header(b"x"))
        for pipe in (False, True):
            result = self.lose(data, "'a/../b': has '..'", "'../out': has '..'", "has no name",
                               "d/first/below", "'toobig': an image cannot hold", "'link'",
                               "n" * 256, pipe=pipe)
            self.assertEqual(self.names(), ["d", "d/first", "last"])
            self.assertIn("filesystem created with 7 errors", result.err)

    def test_contents_that_cannot_be_read(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("d/first", "damaged", "last"):
                archive.writestr(name, {"d/first": b"1", "last": b"2"}.get(
                    name, random.Random(2).randbytes(5000)))
        data = bytearray(out.getvalue())
        data[2000] ^= 1
        self.lose(bytes(data), "'damaged'")
        self.assertEqual(self.names(), ["d", "d/first", "last"])

    def test_encrypted(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("d/first", b"1")
            archive.writestr("secret", b"x" * 100)
            archive.writestr("last", b"2")
        data = bytearray(out.getvalue())
        data[data.index(b"secret") - 30 + 6] |= 1
        data[data.rindex(b"secret") - 46 + 8] |= 1
        result = self.lose(bytes(data), "'secret'")
        self.assertIn("encrypted", result.err)

    def test_hard_links_to_what_is_left_out(self):
        data = between(header(b"gone/../x"), header(b"one", kind=b"1", linkname=b"gone/../x"),
                       header(b"two", kind=b"1", linkname=b"three"),
                       header(b"three", kind=b"1", linkname=b"four"),
                       header(b"four", kind=b"1", linkname=b"nothing"),
                       header(b"five", kind=b"1", linkname=b"last"),
                       header(b"self", kind=b"1", linkname=b"self"),
                       header(b"dir", kind=b"1", linkname=b"d"))
        self.lose(data, "'gone/../x'", "'one'", "'two'", "'three'", "'four'", "'self'", "dir")
        self.assertEqual(self.names(), ["d", "d/first", "five", "last"])
        self.assertTrue(os.path.samefile(os.path.join(self.path("out"), "five"),
                                         os.path.join(self.path("out"), "last")))

    def test_many_links_in_a_circle(self):
        ring = [header(b"n%d" % i, kind=b"1", linkname=b"n%d" % ((i + 1) % 300))
                for i in range(300)]
        result = self.put(between(*ring), ON, code=2)
        self.assertIn("300 entries of archives could not be stored", result.err)
        self.assertEqual(self.names(), ["d", "d/first", "last"])

    def test_files_of_cpio_whose_contents_come_late(self):
        good = [newc(b"d", 0o40755), newc(b"d/first", 0o100644, b"1"),
                newc(b"last", 0o100644, b"2")]
        trailer = newc(b"TRAILER!!!", 0)
        # An invalid later name loses only itself.
        data = b"".join([*good, newc(b"p", 0o100644, links=4, inode=7),
                         newc(b"../q", 0o100644, links=4, inode=7),
                         newc(b"last/r", 0o100644, links=4, inode=7),
                         newc(b"s", 0o100644, b"text", 4, 7), trailer])
        self.lose(data, "'../q'", "last/r")
        self.assertEqual(self.contents("p"), b"text")
        self.assertEqual(self.contents("s"), b"text")
        # The first name has the contents, so all names are lost with it.
        data = b"".join([*good, newc(b"last/p", 0o100644, links=2, inode=8),
                         newc(b"q", 0o100644, b"x", 2, 8), trailer])
        self.lose(data, "last/p", "'q'")
        self.assertEqual(self.names(), ["d", "d/first", "last"])

    def test_late_contents_with_a_name_that_cannot_be(self):
        good = [newc(b"d", 0o40755), newc(b"d/first", 0o100644, b"1"),
                newc(b"last", 0o100644, b"2")]
        trailer = newc(b"TRAILER!!!", 0)
        for bad in (0, 1, 2):
            names = [b"p", b"q", b"r"]
            names[bad] = b"../bad"
            data = [newc(name, 0o100644, b"text" if number == 2 else b"", 3, 9)
                    for number, name in enumerate(names)]
            self.lose(b"".join([*good, *data, trailer]), "'../bad'")
            for name in names[:bad] + names[bad + 1:]:
                self.assertEqual(self.contents(name.decode()), b"text")

    def test_late_contents_with_a_name_that_is_stripped(self):
        trailer = newc(b"TRAILER!!!", 0)
        for names, kept in (((b"p", b"s/q", b"s/r"), ["q", "r"]),
                            ((b"s/p", b"s/q", b"r"), ["p", "q"]), ((b"p", b"q", b"r"), [])):
            data = [newc(name, 0o100644, b"text" if number == 2 else b"", 3, 9)
                    for number, name in enumerate(names)]
            self.put(b"".join([*data, trailer]), "--strip-components=1")
            self.assertEqual(self.names(), kept)
            for name in kept:
                self.assertEqual(self.contents(name), b"text")

    def test_a_hard_link_does_not_lead_to_what_is_older(self):
        lost = header(b"f", gid=b"\x80\0\0\1\0\0\0\0")
        links = header(b"g", kind=b"1", linkname=b"f") + header(b"h", kind=b"1", linkname=b"g")
        older = tar([entry("f", b"old")])
        result = self.merge([older, lost + links + END], ON, code=2)
        self.assertRegex(result.err, "'g': is a hard link to 'f', which is left out")
        self.assertRegex(result.err, "'h': is a hard link to 'g', which is left out")
        self.assertEqual(self.names(), ["f"])
        self.assertEqual(self.contents("f"), b"old")
        newer = tar([entry("f", b"new")], tarfile.USTAR_FORMAT)[:1024]
        self.merge([older, lost + newer + links + END], ON, code=2)
        self.assertEqual(self.names(), ["f", "g", "h"])
        self.assertEqual(self.contents("h"), b"new")

    def test_attributes_that_cannot_be(self):
        data = between(pax((b"SCHILY.xattr." + b"n" * 300, b"v")) + header(b"a"))
        self.lose(data, "'a'")

    def test_what_is_wrong_with_the_archive_still_ends_it(self):
        data = between(header(b"a/../b"))
        for bad in (data[:-1024], data[:-1200], header(b"../x") + data[:512 * 3 + 100]):
            result = self.put(bad, ON, code=1)
            self.assertIn("'../x'" if bad[:2] == b".." else "'a/../b'", result.err)
        self.put(header(b"../x") + header(b"a", base256(1 << 62)) + b"x" * 512 + END, ON, code=1)
        self.put(b"no archive at all", ON, code=1)

    def test_in_one_of_several(self):
        result = self.merge([tar([entry("a", b"1"), entry("../x")]), tar([entry("b", b"2")]),
                             tar([entry("../y")])], ON, code=2)
        self.assertIn("2 entries of archives could not be stored", result.err)
        self.assertEqual(self.names(), ["a", "b"])

    def test_nothing_left_out_is_no_failure(self):
        result = self.put(tar(GOOD), ON)
        self.assertNotIn("left out", result.err)

    def test_it_is_for_archives(self):
        os.mkdir(self.path("only"))
        result = self.expect(run("MKDWARFS", "-i", self.path("only"), "-o", self.path("x"), ON), 1)
        self.assertIn("option '--continue-on-error' needs an archive", result.err)

    def test_each_message_with_the_time_and_the_thread(self):
        result = self.put(between(header(b"a/../b")), ON, "--log-with-context",
                          "--log-level=verbose", code=2)
        lines = result.err.splitlines()
        self.assertGreater(len(lines), 3)
        for line in lines:
            self.assertRegex(line, r"^mkdwarfs: \[\d+\.\d{6} \d+\] .")


class Replaced(Archives):
    """Directories that another entry replaces."""

    def warnings(self, result):
        return re.findall(r"mkdwarfs: (?:warning: )?entry '(.*)': replaces a directory with (.*)",
                          result.err)

    def test_within_an_archive(self):
        result = self.put(tar([directory("d"), entry("d/a", b"1"), entry("d/sub/b", b"2"),
                               entry("d/sub/c", b"3"), entry("d", b"now a file")]))
        self.assertEqual(self.warnings(result), [("d", "4 entries")])
        self.assertEqual(self.contents("d"), b"now a file")
        result = self.put(tar([entry("d/a", b"1"), symlink("d", "elsewhere")]))
        self.assertEqual(self.warnings(result), [("d", "1 entry")])
        result = self.put(tar([entry("d/a", b"1"), entry("f", b"2"), link("d", "f")]))
        self.assertEqual(self.warnings(result), [("d", "1 entry")])
        self.assertEqual(self.names(), ["d", "f"])

    def test_nothing_to_say(self):
        for entries in ([directory("d"), entry("d", b"1")],
                        [directory("d"), entry("d/a", b"1"), directory("d", mode=0o700)],
                        [entry("d/a", b"1"), entry("d/a", b"2")],
                        [entry("a", b"1"), symlink("a", "b")]):
            result = self.put(tar(entries))
            self.assertNotIn("replaces", result.err)

    def test_across_inputs(self):
        self.write("two/d", b"a file")
        os.makedirs(self.path("three"))
        os.symlink("x", self.path("three", "d"))
        lower = tar([entry("d/a", b"1"), entry("d/b", b"1")])
        for upper in (tar([entry("d", b"a file")]), self.path("two"), self.path("three")):
            result = self.merge([lower, upper])
            self.assertEqual(self.warnings(result), [("d", "2 entries")])
            self.assertEqual(self.names(), ["d"])
        os.makedirs(self.path("one", "d", "sub"))
        result = self.merge([self.path("one"), self.path("two")], "--prefix=p")
        self.assertEqual(self.warnings(result), [("p/d", "1 entry")])

    def test_a_layer_may_replace_what_is_below_it(self):
        lower = tar([entry("d/a", b"1"), entry("d/b", b"1")])
        result = self.merge([lower, tar([entry("d", b"a file")])], "--whiteouts")
        self.assertNotIn("replaces", result.err)
        self.assertEqual(self.names(), ["d"])
        result = self.merge([lower, tar([entry("d/new", b"2"), entry("d", b"a file")])],
                            "--whiteouts")
        self.assertEqual(self.warnings(result), [("d", "1 entry")])

    def test_told_before_a_failure(self):
        result = self.put(tar([entry("d/a", b"1"), entry("d", b"f"), entry("d/b", b"2")]), ON,
                          code=2)
        self.assertEqual(self.warnings(result), [("d", "1 entry")])
        self.assertIn("d/b", result.err)
        self.assertEqual(self.names(), ["d"])


if __name__ == "__main__":
    cli.main()
