#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsextract below a directory with a default access control list: extracted files have the
lists of the input, and no others."""
import errno
import os
import stat
import struct

import tap
from scratch import extract, must_work, pack, place, read, remove_tree, write

suite = tap.Suite()
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
NO_ID = 2**32 - 1


def acl(*entries):
    """A value of system.posix_acl_*: entries of tag, permissions and number."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


# Only the users it names: more restrictive than any umask.
OF_TARGET = acl((1, 7, NO_ID), (2, 7, 4711), (4, 0, NO_ID), (16, 7, NO_ID), (32, 0, NO_ID))
OF_FILE = acl((1, 6, NO_ID), (2, 4, 99), (4, 4, NO_ID), (16, 4, NO_ID), (32, 0, NO_ID))
OF_FOLDER = acl((1, 7, NO_ID), (4, 5, NO_ID), (8, 5, 12), (16, 5, NO_ID), (32, 0, NO_ID))


def set_list(path, which, value):
    try:
        os.setxattr(path, which, value)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise tap.Skip("no access control lists here: " + path) from None
        raise


def look(root):
    """Modes and lists of what is below a directory."""
    rows = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(folder, name)
            rows[os.path.relpath(path, root)] = (
                stat.S_IMODE(os.lstat(path).st_mode),
                {key: os.getxattr(path, key, follow_symlinks=False)
                 for key in os.listxattr(path, follow_symlinks=False) if "posix_acl" in key})
    return rows


def make_tree():
    tree = place("tree")
    if not os.path.exists(tree):
        write(tree + "/small", b"small\n", 0o640)
        write(tree + "/deep/er/large", tap.random_bytes(3 << 20), 0o664)
        write(tree + "/deep/none", b"", 0o444)
        write(tree + "/with a list", b"x", 0o640)
        os.mkdir(tree + "/folder")
        os.chmod(tree + "/folder", 0o2775)
        write(tree + "/folder/in it", b"y", 0o604)
        os.link(tree + "/small", tree + "/folder/again")
        os.symlink("small", tree + "/link")
        os.mkfifo(tree + "/fifo")
        os.chmod(tree + "/fifo", 0o622)
        set_list(tree + "/with a list", ACCESS, OF_FILE)
        set_list(tree + "/folder", DEFAULT, OF_FOLDER)
    return tree


def make_image(*options):
    return pack(make_tree(), "-l1", "--with-specials", *options)


def make_target(name):
    os.mkdir(place(name))
    set_list(place(name), DEFAULT, OF_TARGET)
    return place(name)


def must_be_as_packed(target):
    want, got = look(make_tree()), look(target)
    assert got == want, [(path, got.get(path), row) for path, row in want.items()
                         if got.get(path) != row]


for words in ([], ["-n0"], ["-n3", "--num-disk-writers=2"]):
    with suite.case("a target with a default list  " + " ".join(words)):
        target = make_target("with" + "".join(words))
        must_work(extract("-i", make_image(), "-o", target, *words))
        must_be_as_packed(target)
        assert os.getxattr(target, DEFAULT) == OF_TARGET

with suite.case("a target created below such a directory"):
    target = make_target("above") + "/new"
    must_work(extract("-i", make_image(), "-o", target))
    must_be_as_packed(target)
    assert os.listxattr(target) == [], os.listxattr(target)

with suite.case("an existing subdirectory with a list keeps it"):
    target = place("partly")
    os.makedirs(target + "/deep")
    set_list(target + "/deep", DEFAULT, OF_TARGET)
    must_work(extract("-i", make_image(), "-o", target))
    assert os.getxattr(target + "/deep", DEFAULT) == OF_TARGET
    os.removexattr(target + "/deep", DEFAULT)
    must_be_as_packed(target)

with suite.case("no list remains with an image without extended attributes"):
    image = make_image("--no-xattrs")
    target = make_target("plain")
    must_work(extract("-i", image, "-o", target))
    for path, (mode, lists) in look(target).items():
        assert not lists, (path, lists)
        assert mode == stat.S_IMODE(os.lstat(make_tree() + "/" + path).st_mode), path

with suite.case("with --no-xattrs lists of the target are inherited"):
    target = make_target("theirs")
    must_work(extract("-i", make_image(), "-o", target, "--no-xattrs"))
    rows = look(target)
    assert rows["folder"][1][DEFAULT] == OF_TARGET
    assert struct.pack("<HHI", 2, 7, 4711) in rows["small"][1][ACCESS]
    assert read(target + "/small") == b"small\n"

with suite.case("files of old images that need a copy for each of their names"):
    for name in ("compat-v0.2.0", "compat-v0.3.0"):
        image = tap.data("images", name + ".dwarfs")
        target, other = make_target(name), place(name + " plain")
        must_work(extract("-i", image, "-o", target, "--skip-devices"))
        must_work(extract("-i", image, "-o", other, "--skip-devices"))
        assert look(target) == look(other)

remove_tree()
suite.finish()
