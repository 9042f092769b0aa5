# SPDX-License-Identifier: MIT
"""An invalid attribute loses that attribute only, never contents.

Images are made by mkdwarfs with plain tables, a value of an inode is changed, and the hashes are
recomputed. Then the check reports it, and extraction, salvage and mount return the contents.
"""
import os
import shutil
import stat
import subprocess
import tarfile

import absent
import decoded
import mount
import scratch
import tap

ME, GROUP = 4321, 8765
NAMES = ("a", "b", "c", "d/e", "d/f")


def make():
    """An image of five files of several owners, modes and times, without an index."""
    tree = scratch.place("tree")
    for number, name in enumerate(NAMES):
        path = os.path.join(tree, name)
        scratch.write(path, b"contents of " + name.encode(), 0o4755 if number == 1 else 0o640)
        os.utime(path, ns=(0, 10**18 + number * 223456789))
    os.symlink("a", os.path.join(tree, "link"))
    os.mkfifo(os.path.join(tree, "fifo"))
    if os.geteuid() == 0:
        os.chown(os.path.join(tree, "b"), ME, GROUP)
        os.chown(os.path.join(tree, "a"), GROUP, ME)
        os.chmod(os.path.join(tree, "b"), 0o4755)
    return scratch.read(scratch.pack(tree, "-l0", "--no-section-index", "--with-specials",
                                     "--time-resolution=1ms"))


class Patch:
    """The bits of a column of inodes, located by the schema.

    Three owners take two bits, and a thousand milliseconds ten: all ones are out of range.
    """

    def __init__(self, image):
        self.image = image
        found = {section.type: section for section in decoded.sections(image)}
        schema = decoded.Thrift(found[decoded.SCHEMA].unpacked()).struct()
        self.data = bytearray(found[decoded.METADATA].unpacked())
        self.frozen = decoded.Frozen(schema, bytes(self.data))
        self.root = (self.frozen._layout(self.frozen.root), 0, 0)
        self.inodes = decoded.Image(image).paths()

    def put(self, path, field, value):
        """All ones where value is None."""
        rows = self.frozen._items(self.frozen._child(self.root, 3))
        layout, first, bit = self.frozen._child(rows[self.inodes[path.encode()]], field)
        width = layout.get(2, 0)
        assert width > 0, "the column has no bits"
        value = (1 << width) - 1 if value is None else value
        at = 8 * first + bit
        whole = int.from_bytes(self.data, "little")
        whole = whole & ~(((1 << width) - 1) << at) | value << at
        self.data = bytearray(whole.to_bytes(len(self.data), "little"))
        return self

    def done(self, name):
        path = scratch.place(name + ".dwarfs")
        with open(path, "wb") as out:
            out.write(decoded.replaced(self.image, decoded.METADATA, bytes(self.data)))
        return path


MODE, OWNER, GROUP_INDEX, MTIME_SUBSEC = 2, 4, 5, 11


def check(image, word):
    done = subprocess.run([tap.tool("DWARFSCK"), image], capture_output=True, text=True)
    assert done.returncode == 1 and word in done.stderr + done.stdout, done


def contents(folder, skip=()):
    for name in NAMES:
        if name not in skip:
            assert scratch.read(os.path.join(folder, name)) == b"contents of " + name.encode(), name
    assert os.readlink(os.path.join(folder, "link")) == "a"


def extract(image, word, path):
    out = image + ".out"
    shutil.rmtree(out, ignore_errors=True)
    done = scratch.extract("-i", image, "-o", out)
    assert done.returncode == 1, done
    place = os.path.join(out, path).rstrip("/")
    assert f"{place}: the image has no valid value for: {word}" in done.stderr, done.stderr
    assert "everything was extracted" in done.stderr, done.stderr
    contents(out)
    return out


def diff(*words):
    return subprocess.run([tap.tool("DWARFSCK"), "--diff", *words], capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"})


def differs(image, intact, path, word, ignore):
    """It is reported, loses that attribute only, and can be ignored."""
    other = intact + ".other"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(intact, other, symlinks=True, copy_function=shutil.copy2,
                    ignore=shutil.ignore_patterns("fifo"))
    done = diff(image, other)
    assert done.returncode == 2, done
    want = f"{image}: '{path}': the image has no valid value for: {word}"
    assert done.stderr.count(want) == 1 and done.stderr.count("\n") == 1, done.stderr
    changed = [line for line in done.stdout.splitlines() if f" {path} " in line + " "]
    assert not any(word.split()[-1] in line for line in changed), done.stdout
    scratch.write(os.path.join(other, path), b"Contents of " + path.encode())
    done = diff(image, other)
    assert done.returncode == 2 and want in done.stderr, done
    assert any("contents" in line for line in done.stdout.splitlines() if path in line), done
    done = diff(image, other, f"--diff-ignore={ignore}")
    assert done.returncode == 1 and not done.stderr, done


def salvage(image):
    out = image + ".saved"
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([tap.tool("DWARFSCK"), "--salvage", out, image], capture_output=True,
                          text=True)
    assert done.returncode == 1, done
    contents(out)


def xattrs_cannot_be_read():
    tree = scratch.place("labelled")
    for name in "one", "two":
        scratch.write(os.path.join(tree, name), name.encode())
        try:
            os.setxattr(os.path.join(tree, name), "user.label", b"red")
        except OSError as error:
            raise tap.Skip("no extended attributes where temporary files are") from error
    image = scratch.read(scratch.pack(tree, "-l1", "--no-section-index"))
    section, = (one for one in decoded.sections(image) if one.type == decoded.XATTRS)
    bad = scratch.place("labels.dwarfs")
    with open(bad, "wb") as out:
        out.write(decoded.replaced(image, decoded.XATTRS, bytes(len(section.unpacked()))))
    done = diff(bad, tree)
    assert done.returncode == 2 and not done.stdout, done
    assert done.stderr.count("\n") == 1 and f"{bad}: '': " in done.stderr, done
    scratch.write(os.path.join(tree, "two"), b"TWO")
    os.utime(tree, (0, 0))
    done = diff(bad, tree)
    assert done.returncode == 2 and "two" in done.stdout and "one" not in done.stdout, done
    done = diff(bad, tree, "--diff-ignore=xattr")
    assert done.returncode == 1 and not done.stderr and "two" in done.stdout, done


def main():
    try:
        for variable in "MKDWARFS", "DWARFSCK", "DWARFSEXTRACT":
            tap.tool(variable)
        decoded.hashes(b"")
        image = make()
        image_path = scratch.place("tree.dwarfs")
    except (tap.Skip, decoded.Unavailable) as reason:
        tap.skip_all(reason)
    suite = tap.Suite()
    damage = {"mode": (MODE, "mode"), "owner": (OWNER, "owner"), "group": (GROUP_INDEX, "group"),
              "time": (MTIME_SUBSEC, "modification time")}
    images = {}
    for name, (field, word) in damage.items():
        with suite.case(f"an invalid {name} loses nothing else"):
            if name in ("owner", "group") and os.geteuid() != 0:
                raise tap.Skip("all files have one owner")
            path = "c" if name != "owner" else "b"
            patch = Patch(image)
            images[name] = patch.put(path, field, None).done(name)
            check(images[name], f"no valid {word}")
            out = extract(images[name], word, path)
            salvage(images[name])
            status = os.stat(os.path.join(out, path))
            if name == "mode":
                assert stat.S_IMODE(status.st_mode) == 0o600, oct(status.st_mode)
            if name == "owner":
                assert status.st_uid == 65534 and not status.st_mode & stat.S_ISUID, status
            if name == "group":
                assert status.st_gid == 65534, status
            if name == "time":
                assert status.st_mtime_ns == 10**18, status.st_mtime_ns
            differs(images[name], scratch.place("tree"), path, word,
                    "mtime" if name == "time" else name)
    with suite.case("two images with the same invalid attribute: it cannot be compared"):
        done = diff(images["mode"], images["mode"])
        assert done.returncode == 2 and not done.stdout, done
        assert done.stderr.count("'c': the image has no valid value for: mode") == 2, done
    with suite.case("they are in archives"):
        absent.need_for_options(["archive"])
        for name, (_, word) in damage.items():
            if name not in images:
                continue
            archive = images[name] + ".tar"
            done = scratch.extract("-i", images[name], "-f", "pax", "-o", archive)
            assert done.returncode == 1, done
            assert f"the image has no valid value for: {word}" in done.stderr, done.stderr
            with tarfile.open(archive) as opened:
                for path in NAMES:
                    assert opened.extractfile(path).read() == b"contents of " + path.encode(), path
    with suite.case("a directory, and the root"):
        for path in "d", "":
            bad = Patch(image).put(path, MODE, None).done("dir")
            out = extract(bad, "mode", path)
            assert stat.S_IMODE(os.stat(os.path.join(out, path)).st_mode) == 0o700
    with suite.case("a fifo without a mode is omitted, as nothing else has its type"):
        bad = Patch(image).put("fifo", MODE, None).done("fifo")
        check(bad, "no valid mode")
        out = bad + ".out"
        done = scratch.extract("-i", bad, "-o", out, "--continue-on-error")
        assert done.returncode == 1 and "fifo" in done.stderr, done
        contents(out)
        done = diff(bad, image_path)
        assert done.returncode == 2 and not done.stdout, done
        assert f"{bad}: 'fifo': " in done.stderr and done.stderr.count("\n") == 1, done
    with suite.case("unreadable extended attributes are reported once"):
        xattrs_cannot_be_read()
    with suite.case("they are mounted"):
        tap.tool("DWARFS")
        for name, path in (("mode", "c"), ("owner", "b"), ("time", "c"), ("fifo", "fifo")):
            bad = scratch.place(name + ".dwarfs")
            if not os.path.exists(bad):
                continue
            with mount.mounted(bad) as folder:
                listed = sorted(os.listdir(folder))
                assert listed == ["a", "b", "c", "d", "fifo", "link"], listed
                contents(folder)
                if name == "fifo":
                    try:
                        os.lstat(os.path.join(folder, path))
                        raise AssertionError("a fifo without a mode has attributes")
                    except OSError:
                        continue
                status = os.lstat(os.path.join(folder, path))
                if name == "mode":
                    assert status.st_mode == stat.S_IFREG | 0o600, oct(status.st_mode)
                if name == "owner":
                    assert status.st_uid == 65534 and not status.st_mode & stat.S_ISUID, status
    suite.finish()


main()
