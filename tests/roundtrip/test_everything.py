# SPDX-License-Identifier: MIT
"""Round trips of everything a directory can hold, by every kind of input and output.

test_everything.py tree     directory -> image -> archive -> image -> directory, and by tar
test_everything.py rootfs   a root file system as a tar stream -> image -> directory that runs

An independent walker compares the trees. The root file system consists of programs of this system,
or is the directory named by DWARFS_TEST_ROOTFS, such as one made by debootstrap.
"""
import contextlib
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile

import tap
import tree
import walker

NANO = 1000000000
PRIVILEGED = os.geteuid() == 0
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}
COLUMNS = ("type", "mode", "mtime", "size", "nlink", "rdev", "target", "sha256", "xattrs")
PACK = ["-l", "1", "--time-resolution", "ns", "--with-devices", "--with-specials",
        "--no-progress", "-f"]
CAP_NET_RAW = 13
NO_ID = 0xffffffff


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENVIRONMENT, check=False, **options)
    text = done.stderr.decode("utf-8", "replace")
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {text}"
    return done.stdout


def pipe(first, second):
    """Run first | second."""
    with subprocess.Popen(first, stdout=subprocess.PIPE, env=ENVIRONMENT) as source:
        run(*second, stdin=source.stdout)
    assert source.returncode == 0, f"{first} ended with {source.returncode}"


def columns():
    return COLUMNS + (("uid", "gid") if PRIVILEGED else ())


def agree(expected, path):
    actual = walker.describe(path)
    walker.must_agree(expected, actual, columns=columns(), holes=True)
    for name, row in expected.items():
        if row["xattrs"] and name not in actual:
            raise AssertionError(f"{name!r} is missing")


# -- attributes ----------------------------------------------------------------------------

def capability(number):
    """A value of security.capability: permitted and effective."""
    return struct.pack("<IIIII", 0x02000001, 1 << number, 0, 0, 0)


def acl(*entries):
    """A value of system.posix_acl_*: entries of tag, permissions and number."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


ACCESS = acl((0x01, 6, NO_ID), (0x02, 4, 1000), (0x02, 7, 4000000), (0x04, 4, NO_ID),
             (0x08, 6, 70001), (0x10, 7, NO_ID), (0x20, 0, NO_ID))
DEFAULT = acl((0x01, 7, NO_ID), (0x02, 5, 65534), (0x04, 5, NO_ID), (0x10, 5, NO_ID),
              (0x20, 5, NO_ID))


def attributes(root):
    """Give a tree of tree.py attributes of every namespace; returns how many could be set."""
    wanted = [("files/text", "user.text", b"value"), ("files/text", "user.empty", b""),
              ("files/text", "user.binary", bytes(range(256))),
              ("files/empty", "user.large", b"x" * 3000), ("names/new\nline", "user.line", b"\n"),
              ("links/file", "user.shared by three names", b"1"), ("thousand", "user.dir", b"d"),
              (".", "user.of the root", b"r"), ("files/random", "user.\u00fc".encode(), b"\xff"),
              ("files/text", "system.posix_acl_access", ACCESS),
              ("modes", "system.posix_acl_default", DEFAULT),
              ("modes", "system.posix_acl_access", ACCESS),
              ("files/one byte", "security.capability", capability(CAP_NET_RAW)),
              ("files/text", "trusted.overlay.opaque", b"y"),
              ("links/dangling", "trusted.of a link", b"l"),
              ("special/fifo", "trusted.of a fifo", b"f")]
    wanted += [(f"thousand/file{number:04d}", "user.label", b"%d" % (number % 5))
               for number in range(500)]
    taken = 0
    for path, name, value in wanted:
        path = os.path.join(root, path)
        status = os.lstat(path)
        with contextlib.suppress(OSError):
            os.setxattr(path, name, value, follow_symlinks=False)
            taken += 1
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)
    return taken


def make_tree(scratch):
    root = os.path.join(scratch, "source")
    tree.make(root, huge=False)
    os.unlink(os.path.join(root, "special", "socket"))  # which no archive can hold
    status = os.stat(root)
    taken = attributes(root)
    os.utime(os.path.join(root, "special"), ns=(0, 123456789 * NANO + 987654321))
    os.utime(root, ns=(status.st_atime_ns, status.st_mtime_ns))
    return root, taken


# -- a tree -------------------------------------------------------------------------------

def extract(image, target, *options):
    run(tap.tool("DWARFSEXTRACT"), "-i", image, "-o", target, *options)


def there_and_back(source, expected, scratch, format_options, name):
    """directory -> image -> archive -> image -> directory"""
    first, second = os.path.join(scratch, "first"), os.path.join(scratch, "second")
    archive, target = os.path.join(scratch, name), os.path.join(scratch, "target")
    run(tap.tool("MKDWARFS"), "-i", source, "-o", first, *PACK)
    extract(first, archive, *format_options)
    run(tap.tool("MKDWARFS"), "-i", archive, "-o", second, *PACK)
    try:
        extract(second, target)
        agree(expected, target)
        run(tap.tool("DWARFSCK"), "--diff", "--diff-resolution=ns", source, target)
        for pair in ((first, second), (first, archive), (archive, source), (second, source)):
            run(tap.tool("DWARFSCK"), "--diff", "--diff-resolution=ns", *pair)
    finally:
        tree.remove(target)


def through_pipes(source, expected, scratch):
    """The same through pipes."""
    first, second = os.path.join(scratch, "first"), os.path.join(scratch, "second")
    target = os.path.join(scratch, "target")
    run(tap.tool("MKDWARFS"), "-i", source, "-o", first, *PACK)
    pipe([tap.tool("DWARFSEXTRACT"), "-i", first, "-f", "pax", "-o", "-"],
         [tap.tool("MKDWARFS"), "-i", "-", "--input-format=tar", "-o", second, *PACK])
    try:
        extract(second, target)
        agree(expected, target)
    finally:
        tree.remove(target)


def drop_odd_attributes(source):
    """Names that no tar can read would make libarchive encode all names in its own way."""
    for path, row in walker.describe(source).items():
        path = os.path.join(os.fsencode(source), path)
        for name in row["xattrs"]:
            if not name.isascii() or not name.replace(".", "").replace("_", "").isalnum():
                with contextlib.suppress(OSError):  # another hard link had it, too
                    os.removexattr(path, name, follow_symlinks=False)
    return walker.describe(source)


def by_tar(source, expected, scratch):
    """Our archive extracted by GNU tar, and one of GNU tar extracted by our programs."""
    if not shutil.which("tar"):
        raise tap.Skip("no tar")
    image, archive = os.path.join(scratch, "first"), os.path.join(scratch, "x.tar")
    target = os.path.join(scratch, "target")
    words = ["--xattrs", "--xattrs-include=*", "--acls", "--numeric-owner"]
    expected = drop_odd_attributes(source)
    run(tap.tool("MKDWARFS"), "-i", source, "-o", image, *PACK)
    extract(image, archive, "-f", "pax")
    try:
        os.mkdir(target)
        run("tar", "-xpf", archive, "-C", target, "--delay-directory-restore", *words)
        agree(expected, target)
    finally:
        tree.remove(target)
    run("tar", "-C", source, "--format=pax", "--sparse", "-cf", archive, *words, ".")
    run(tap.tool("MKDWARFS"), "-i", archive, "-o", image, *PACK)
    try:
        extract(image, target)
        agree(expected, target)
    finally:
        tree.remove(target)


def check_tree(suite, scratch):
    source, taken = make_tree(scratch)
    expected = walker.describe(source)
    with suite.case("this file system stores attributes"):
        if taken < 500:
            raise tap.Skip("no extended attributes where temporary files are")
        kinds = {name for row in expected.values() for name in row["xattrs"]}
        if PRIVILEGED:
            for name in ("security.capability", "system.posix_acl_access",
                         "system.posix_acl_default", "trusted.of a link"):
                assert name in kinds, f"{name} is missing"
    for name, options in (("x.tar", ["-f", "pax"]),
                          ("x.tar.zst", ["-f", "auto", "--archive-order=tree"])):
        with suite.case(f"directory -> image -> {name} -> image -> directory"):
            there_and_back(source, expected, scratch, options, name)
    with suite.case("through pipes"):
        through_pipes(source, expected, scratch)
    with suite.case("with GNU tar on one side"):
        by_tar(source, expected, scratch)
    tree.remove(source)


# -- a root file system -------------------------------------------------------------------

def copy_into(root, path):
    """Copy a file of this system to the same path, with the links that lead to it."""
    target = root + path
    if os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
        copy_into(root, os.path.normpath(os.path.join(os.path.dirname(path),
                                                      os.readlink(path))))
    else:
        shutil.copy2(path, target)


def make_rootfs(root):
    """A small one: a shell, Python, and their files."""
    os.makedirs(root)
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink("/" + name):
            os.makedirs(os.path.join(root, os.readlink("/" + name)), exist_ok=True)
            os.symlink(os.readlink("/" + name), os.path.join(root, name))
    for program in ("/usr/bin/python3", "/bin/sh"):
        if not os.path.exists(program):
            raise tap.Skip(f"no {program}")
        copy_into(root, os.path.realpath(os.path.dirname(program)) + "/" +
                  os.path.basename(program))
        libraries = run("ldd", os.path.realpath(program)).decode().split()
        for path in sorted({word for word in libraries if word.startswith("/")}):
            copy_into(root, os.path.realpath(os.path.dirname(path)) + "/" +
                      os.path.basename(path))
    library = os.path.dirname(run("/usr/bin/python3", "-c",
                                  "print(__import__('os').__file__)").decode().strip())
    shutil.copytree(library, root + library, symlinks=True, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("test", "tests", "idlelib", "lib2to3",
                                                  "dist-packages", "site-packages", "config-*",
                                                  "__pycache__", "ensurepip"))
    for name, mode in (("tmp", 0o1777), ("etc", 0o755), ("root", 0o700), ("dev", 0o755)):
        os.makedirs(os.path.join(root, name), exist_ok=True)
        os.chmod(os.path.join(root, name), mode)
    with contextlib.suppress(PermissionError):
        os.mknod(os.path.join(root, "dev", "null"), stat.S_IFCHR | 0o666, os.makedev(1, 3))


def inside(root, path):
    """A file of the tree, with links in its path followed inside the tree."""
    for _ in range(40):
        if not os.path.islink(root + path):
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(root + path)))
    return root + path


def mark(root):
    """Capabilities and access control lists, as an administrator sets them."""
    python, shell = inside(root, "/usr/bin/python3"), inside(root, "/usr/bin/sh")
    run("setfacl", "-m", "u:7:---", python)
    run("setcap", "cap_net_raw,cap_net_bind_service+ep", python)
    os.chmod(shell, 0o4755)
    run("setcap", "cap_setuid+i", shell)
    run("setfacl", "-m", "u:1000:rwx,g:4242:r-x,m::rwx", os.path.join(root, "etc"))
    run("setfacl", "-d", "-m", "u:33:r-x", os.path.join(root, "etc"))


def told(root, *command):
    """The output of a program for a whole tree, without the path of the tree."""
    return sorted(run(*command, ".", cwd=root).splitlines())


def check_rootfs(suite, scratch):
    source = os.path.join(scratch, "source")
    target = os.path.join(scratch, "target")
    image = os.path.join(scratch, "image")
    with suite.case("a root file system, as a tar stream, extracted, runs"):
        if not PRIVILEGED:
            raise tap.Skip("not root")
        for program in ("setcap", "getcap", "setfacl", "getfacl", "tar", "chroot", "ldd"):
            if not shutil.which(program):
                raise tap.Skip(f"no {program}")
        given = os.environ.get("DWARFS_TEST_ROOTFS")
        if given:
            run("cp", "-a", given, source)
        else:
            make_rootfs(source)
        try:
            mark(source)
        except AssertionError as error:
            raise tap.Skip(f"attributes cannot be set here: {error}") from error
        expected = walker.describe(source)
        pipe(["tar", "-C", source, "--xattrs", "--xattrs-include=*", "--acls", "--numeric-owner",
              "--format=pax", "-c", "."],
             [tap.tool("MKDWARFS"), "-i", "-", "-o", image, *PACK])
        extract(image, target)
        agree(expected, target)
        for command in (["getcap", "-r"], ["getfacl", "-R", "-n", "-P"]):
            told_before, told_after = told(source, *command), told(target, *command)
            assert told_before == told_after, f"{command} has another result"
            assert len(told_after) > 1, f"{command} prints nothing"
        run("chroot", target, "/usr/bin/python3", "-B", "-c", "1")
        run("chroot", target, "/bin/sh", "-c", "exit 0")
        run(tap.tool("DWARFSCK"), "--diff", "--diff-resolution=ns", source, image)
    tree.remove(target)
    tree.remove(source)


def main(what):
    for variable in ("MKDWARFS", "DWARFSCK", "DWARFSEXTRACT"):
        try:
            tap.tool(variable)
        except tap.Skip as reason:
            tap.skip_all(reason)
    refused = subprocess.run([tap.tool("MKDWARFS"), "-i", "/dev/null", "--input-format=tar", "-o",
                              "/dev/null"], capture_output=True, check=False)
    if b"not built in" in refused.stderr:
        tap.skip_all("archives are not built in")
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-everything-") as scratch:
        {"tree": check_tree, "rootfs": check_rootfs}[what](suite, scratch)
    suite.finish()


main(*sys.argv[1:])
