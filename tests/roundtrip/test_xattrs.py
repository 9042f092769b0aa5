# SPDX-License-Identifier: MIT
"""Round trips of extended attributes and times, by mount and extraction."""
import contextlib
import ctypes
import errno
import json
import os
import shutil
import struct
import subprocess
import tempfile

import absent
import mount
import tap

PRIVILEGED = os.geteuid() == 0
NOBODY = 65534
suite = tap.Suite()
folder = tempfile.TemporaryDirectory(prefix="dwarfs-xattr-", dir=tap.disk())
os.chmod(folder.name, 0o755)


def place(*names):
    return os.path.join(folder.name, *names)


def make(path, contents="", mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as out:
        out.write(contents)
    os.chmod(path, mode)
    return path


def run(variable, *arguments, code=0, **options):
    find = tap.tool_for_anybody if "user" in options else tap.tool
    done = subprocess.run([find(variable), *arguments], capture_output=True, text=True,
                          errors="surrogateescape", timeout=300, **options)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def pack(source, *options, code=0, **how):
    image = source + ".dwarfs"
    done = run("MKDWARFS", "-i", source, "-o", image, "-f", "-l7", "--no-progress", *options,
               code=code, **how)
    run("DWARFSCK", image, "--check-integrity", "-q")
    pack.said = done.stderr
    return image


def extract(image, *options, **how):
    target = tempfile.mkdtemp(dir=folder.name)
    if "user" in how:
        os.chown(target, how["user"], -1)
    run.last = run("DWARFSEXTRACT", "-i", image, "-o", target, *options, **how)
    return target


def need(*programs):
    for program in programs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            raise tap.Skip(f"no {program} here")


def do(*command):
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return subprocess.run([shutil.which(command[0], path=path), *command[1:]], check=True,
                          capture_output=True, text=True).stdout


def attributes(path):
    """The attributes that the system shows, without those that a mount generates."""
    found = {}
    for name in os.listxattr(path, follow_symlinks=False):
        if not name.startswith("user.dwarfs."):
            found[name] = os.getxattr(path, name, follow_symlinks=False)
    return found


def describe(root):
    """Path -> attributes, of a directory and all entries below."""
    found = {b".": attributes(root)}
    root = os.fsencode(root)
    for parent, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(parent, name)
            found[os.path.relpath(path, root)] = attributes(path)
    return found


def must_agree(expected, root):
    found = describe(root)
    assert expected.keys() == found.keys(), expected.keys() ^ found.keys()
    for path, row in expected.items():
        assert row == found[path], (path, row, found[path])


def acl(*entries):
    """The value of system.posix_acl_*: entries are (tag, permissions, number)."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NONE = 0xFFFFFFFF
FOR_NOBODY = acl((USER_OBJ, 6, NONE), (USER, 4, NOBODY), (GROUP_OBJ, 0, NONE), (MASK, 4, NONE),
                 (OTHER, 0, NONE))
FOR_CHILDREN = acl((USER_OBJ, 7, NONE), (GROUP_OBJ, 5, NONE), (GROUP, 7, 33), (MASK, 7, NONE),
                   (OTHER, 0, NONE))
CAPABILITY = struct.pack("<IIIII", 0x02000001, 1 << 2, 0, 0, 0)  # dac_read_search, effective


def make_tree(root):
    """Attributes of every namespace that can be set here, on every type of file."""
    make(f"{root}/plain", "plain")
    make(f"{root}/user", "user")
    make(f"{root}/locked", "locked")
    make(f"{root}/below/deep/file", "below")
    os.link(f"{root}/user", f"{root}/below/again")
    os.symlink("user", f"{root}/link")
    os.mkfifo(f"{root}/fifo")
    make(os.path.join(os.fsencode(root), b"\xff\xfe odd\n").decode("utf-8", "surrogateescape"))
    os.setxattr(root, "user.root", b"of the root")
    os.setxattr(f"{root}/user", "user.comment", b"several\0bytes\xff\n")
    os.setxattr(f"{root}/user", "user.empty", b"")
    os.setxattr(f"{root}/user", "user." + "n" * 250, b"long name")
    os.setxattr(f"{root}/locked", "user.comment", b"several\0bytes\xff\n")
    os.setxattr(f"{root}/below", "user.a/b \xe9".encode("latin-1"), b"x" * 1500)
    os.setxattr(os.path.join(os.fsencode(root), b"\xff\xfe odd\n"), "user.odd", b"name")
    if not PRIVILEGED:
        os.chmod(f"{root}/locked", 0o444)
        return
    for path in ("user", "link", "fifo", "below"):
        os.setxattr(f"{root}/{path}", "trusted.of", path.encode(), follow_symlinks=False)
    os.setxattr(f"{root}/plain", "security.capability", CAPABILITY)
    os.setxattr(f"{root}/locked", "system.posix_acl_access", FOR_NOBODY)
    os.setxattr(f"{root}/below", "system.posix_acl_default", FOR_CHILDREN)
    os.setxattr(f"{root}/below/deep", "security.selinux", b"system_u:object_r:etc_t:s0\0")
    os.chown(f"{root}/plain", 3, 4)  # which removes the capability
    os.chmod(f"{root}/plain", 0o4755)
    os.setxattr(f"{root}/plain", "security.capability", CAPABILITY)


def sections(image):
    report = json.loads(run("DWARFSCK", "-j", image).stdout)
    return {row["type"]: row for row in report["sections"]}


def probe_attributes(root):
    make(f"{root}/probe")
    os.setxattr(f"{root}/probe", "user.probe", b"1")
    os.unlink(f"{root}/probe")


source = place("source")
try:
    probe_attributes(source)
except OSError as why:
    tap.skip_all(f"no extended attributes in {folder.name}: {why}")
with contextlib.suppress(PermissionError):
    make_tree(source)
expected = describe(source)
SPECIALS = ["--with-specials"]

for title, options in {"as packed by default": [], "without an index": ["--no-section-index"],
                       "without history": ["--no-history"], "uncompressed": ["-l0"],
                       "after a header": ["--header", "/bin/true"],
                       "with one thread": ["-N1", "--num-scanner-workers", "1"],
                       "with lzma metadata": ["--metadata-compression", "lzma"]}.items():
    with suite.case(f"by mount, {title}"):
        image = pack(source, *SPECIALS, *options)
        with mount.mounted(image, "-o", "offset=auto") as mounted:
            must_agree(expected, mounted)
    with suite.case(f"by extraction, {title}"):
        image = pack(source, *SPECIALS, *options)
        target = extract(image, "-O", "auto")
        must_agree(expected, target)
        if PRIVILEGED:
            status = os.stat(f"{target}/plain")
            assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (3, 4, 0o4755)
        assert os.stat(f"{target}/locked").st_mode == os.stat(f"{source}/locked").st_mode
        assert os.path.samefile(f"{target}/user", f"{target}/below/again")

with suite.case("a list of paths has their attributes"):
    listed = make(place("list"), "below/deep\nuser\n")
    image = source + ".dwarfs"
    run("MKDWARFS", "-i", source, "--input-list", listed, "-o", image, "-f", "--no-progress")
    few = {path: expected[path] for path in (b".", b"below", b"below/deep", b"user")}
    must_agree(few, extract(image))

with suite.case("the same bytes, with attributes and without"):
    fixed = ["--no-history", "--no-create-timestamp"]
    bare = place("bare")
    make(f"{bare}/a/file", "contents")
    with open(pack(bare, *fixed), "rb") as one, \
            open(pack(bare, *fixed, "--no-xattrs"), "rb") as other:
        assert one.read() == other.read()
    before = open(pack(source, *fixed, "-N4"), "rb").read()
    assert before == open(pack(source, *fixed, "-N1"), "rb").read()
    assert "XATTRS" in sections(source + ".dwarfs")

with suite.case("none are stored when none are wanted"):
    image = pack(source, "--no-xattrs")
    assert "XATTRS" not in sections(image)
    with mount.mounted(image) as mounted:
        assert not any(describe(mounted).values())

with suite.case("only attributes that the rules include are stored"):
    def stored(*options):
        return {name for row in describe(extract(pack(source, *options))).values()
                for name in row}

    every = {name for path, row in expected.items() for name in row if path != b"fifo"}
    assert stored("--xattrs-include", "user.*") == {n for n in every if n.startswith("user.")}
    assert stored("--xattrs-exclude", "user.*", "--xattrs-exclude=*selinux") == \
        {n for n in every if not n.startswith("user.") and not n.endswith("selinux")}
    assert stored("--xattrs-include", "user.*", "--xattrs-include", "trusted.??",
                  "--xattrs-exclude", "*[mn]*") == \
        {n for n in every if n.startswith(("user.", "trusted.")) and
         "m" not in n and "n" not in n}
    run("MKDWARFS", "-i", source, "-o", place("never"), "--xattrs-include", "", code=1)
    assert not os.path.exists(place("never"))

with suite.case("extraction omits them if requested"):
    image = pack(source)
    assert not any(describe(extract(image, "--no-xattrs")).values())
    assert any(describe(extract(image)).values())

with suite.case("attributes that a mount generates are not packed"):
    image = pack(source)
    with mount.mounted(image) as mounted:
        assert "user.dwarfs.driver.pid" in os.listxattr(mounted)
        again = place("again.dwarfs")
        run("MKDWARFS", "-i", mounted, "-o", again, "--no-progress")
    with mount.mounted(again) as mounted:
        found = describe(mounted)
    assert found == {path: row for path, row in expected.items() if path != b"fifo"}
    with open(image, "rb") as file:
        assert b"user.dwarfs" not in file.read()

with suite.case("a mount answers as the manual says"):
    image = pack(source)
    with mount.mounted(image) as mounted:
        names = os.listxattr(mounted)
        assert {"user.dwarfs.driver.pid", "user.dwarfs.inodeinfo", "user.root"} <= set(names)
        for path, name, number in ((f"{mounted}/user", "user.none", errno.ENODATA),
                                   (f"{mounted}/none", "user.none", errno.ENOENT)):
            try:
                os.getxattr(path, name)
                raise AssertionError(f"{path} has {name}")
            except OSError as error:
                assert error.errno == number, error
        libc = ctypes.CDLL(None, use_errno=True)
        path = f"{mounted}/user".encode()
        value = ctypes.create_string_buffer(4)
        assert libc.getxattr(path, b"user.comment", value, 4) == -1
        assert ctypes.get_errno() == errno.ERANGE
        assert libc.getxattr(path, b"user.comment", None, 0) == 15
        assert libc.listxattr(path, value, 4) == -1 and ctypes.get_errno() == errno.ERANGE
        try:
            os.setxattr(f"{mounted}/user", "user.comment", b"")
            raise AssertionError("a mount can be written to")
        except OSError as error:
            assert error.errno == errno.EROFS, error

with suite.case("getfacl and getcap agree"):
    if not PRIVILEGED:
        raise tap.Skip("needs root")
    need("setcap", "getcap", "setfacl", "getfacl")
    tree = place("tools")
    make(f"{tree}/program", "", 0o755)
    make(f"{tree}/folder/file", "")
    do("setcap", "cap_net_raw,cap_net_admin=ep", f"{tree}/program")
    do("setfacl", "-m", "u:1234:rwx,g:55:r-x", f"{tree}/folder/file")
    do("setfacl", "-m", "d:u:1234:rwx,u:77:--x", f"{tree}/folder")
    image = pack(tree)

    def shown(root):
        found = do("getcap", "-r", root), do("getfacl", "-n", "-p", "-R", root)
        return [sorted(text.replace(root, "").split("\n\n")) for text in found]

    wanted = shown(tree)
    assert "net_raw" in "".join(wanted[0]) and "user:1234:" in "".join(wanted[1])
    assert shown(extract(image)) == wanted
    with mount.mounted(image) as mounted:
        assert shown(mounted) == wanted

with suite.case("a program on a mount has its capabilities"):
    if not PRIVILEGED:
        raise tap.Skip("needs root")
    need("cat")
    tree = place("capable")
    os.mkdir(tree)
    shutil.copy(shutil.which("cat"), f"{tree}/cat")
    secret = make(place("secret"), "nobody may read this", 0o600)
    capability = os.path.join(tree, "cat")
    os.setxattr(capability, "security.capability", CAPABILITY)
    image = pack(tree)

    def reads(root):
        done = subprocess.run([f"{root}/cat", secret], user=NOBODY, group=NOBODY,
                              extra_groups=[], capture_output=True)
        return done.stdout == b"nobody may read this"

    if not reads(tree):
        raise tap.Skip("capabilities of files do not count here")
    assert reads(extract(image))
    with mount.mounted(image, "-o", "allow_other,suid") as mounted:
        os.chmod(os.path.dirname(mounted), 0o1777)
        assert reads(mounted)
    with mount.mounted(pack(tree, "--no-xattrs"), "-o", "allow_other,suid") as mounted:
        assert not reads(mounted)

with suite.case("a mount obeys access control lists"):
    if not PRIVILEGED:
        raise tap.Skip("needs root")
    tree = place("lists")
    make(f"{tree}/listed", "listed", 0o600)
    make(f"{tree}/other", "other", 0o600)
    os.setxattr(f"{tree}/listed", "system.posix_acl_access", FOR_NOBODY)

    def may_read(path):
        return subprocess.run(["cat", path], user=NOBODY, group=NOBODY, extra_groups=[],
                              capture_output=True).returncode == 0

    with mount.mounted(pack(tree), "-o", "allow_other") as mounted:
        assert may_read(f"{mounted}/listed")
        assert not may_read(f"{mounted}/other")

with suite.case("without privileges the permitted attributes are set, the others are reported"):
    if not PRIVILEGED:
        raise tap.Skip("needs root")
    image = pack(source)
    os.chmod(image, 0o644)
    target = extract(image, user=NOBODY, group=NOBODY, extra_groups=[])
    found = describe(target)
    for path, row in found.items():
        row.pop("security.selinux", None)  # which any user may set
        kept = {name: value for name, value in expected[path].items()
                if name.startswith(("user.", "system."))}
        assert row == kept, (path, row, kept)
    for namespace in "trusted", "security":
        assert f"'{namespace}." in run.last.stderr, run.last.stderr
    assert "'user." not in run.last.stderr, run.last.stderr

with suite.case("what cannot be read is reported and counted"):
    if not PRIVILEGED:
        raise tap.Skip("needs root")
    tree = place("unreadable")
    make(f"{tree}/folder/secret", "secret", 0o600)
    os.setxattr(f"{tree}/folder/secret", "user.secret", b"secret")
    os.chmod(folder.name, 0o777)
    image = place("unreadable.dwarfs")
    done = run("MKDWARFS", "-i", tree, "-o", image, "-f", "--no-progress", "--hollow", code=2,
               user=NOBODY, group=NOBODY, extra_groups=[])
    os.chmod(folder.name, 0o755)
    assert "extended attributes of" in done.stderr and "folder/secret" in done.stderr, done.stderr
    assert not any(describe(extract(image)).values())

with suite.case("many files with few sets take little space"), \
        tempfile.TemporaryDirectory(prefix="dwarfs-xattr-") as in_memory:
    try:
        probe_attributes(in_memory)
    except OSError:
        in_memory = folder.name
    tree = os.path.join(in_memory, "many")
    for i in range(10000):
        if i % 500 == 0:
            os.makedirs(f"{tree}/{i // 500}")
        path = f"{tree}/{i // 500}/{i}"
        with open(path, "w", encoding="ascii") as out:
            out.write(str(i))
        os.setxattr(path, "user.label", b"system_u:object_r:type%d_t:s0" % (i * 7919 % 13))
    image = pack(tree)
    row = sections(image)["XATTRS"]
    assert row["size"] < 10000 + 2000, row
    if "zstd" not in absent.ABSENT:
        assert row["compressed_size"] < 7500, row
    with mount.mounted(image) as mounted:
        for i in range(0, 10000, 997):
            assert os.getxattr(f"{mounted}/{i // 500}/{i}", "user.label") == \
                b"system_u:object_r:type%d_t:s0" % (i * 7919 % 13)
    everywhere = os.path.join(in_memory, "everywhere")
    shutil.copytree(tree, everywhere)
    do_set = [os.path.join(parent, name) for parent, _, files in os.walk(everywhere)
              for name in files]
    for path in do_set:
        os.setxattr(path, "user.label", b"the same")
    assert sections(pack(everywhere))["XATTRS"]["size"] < 120

with suite.case("dwarfsck lists them"):
    tree = place("told")
    make(f"{tree}/file", "1")
    make(f"{tree}/plain", "2")
    os.setxattr(f"{tree}/file", "user.text", b'a "text" of\\ours')
    os.setxattr(f"{tree}/file", "user.bytes", b"\0\xff\n")
    image = pack(tree, "--keep-birth-times")
    lines = run("DWARFSCK", image, "-l", "-v").stdout.splitlines()
    assert [line.split()[-1] for line in lines if line[0] == "-"] == ["file", "plain"], lines
    more = [line for line in lines if line[0] != "-" and "born" not in line]
    assert more == ["    user.bytes=0x00ff0a", '    user.text="a \\"text\\" of\\\\ours"'], more
    assert json.loads(run("DWARFSCK", "-j", image).stdout)["xattr_names"] == \
        ["user.bytes", "user.text"]
    assert "extended attributes: user.bytes, user.text\n" in run("DWARFSCK", image, "-d3").stdout
    assert "birth" in run("DWARFSCK", image, "-d3").stdout
    plain = pack(tree, "--no-xattrs")
    assert json.loads(run("DWARFSCK", "-j", plain).stdout)["xattr_names"] == []
    assert "user." not in run("DWARFSCK", plain, "-l", "-v").stdout

with suite.case("damage is detected, and loses nothing else"):
    image = pack(source, *SPECIALS)
    row = sections(image)["XATTRS"]
    data = bytearray(open(image, "rb").read())
    data[row["offset"] + 64 + row["compressed_size"] // 2] ^= 4
    broken = place("broken.dwarfs")
    with open(broken, "wb") as out:
        out.write(data)
    done = run("DWARFSCK", broken, "--check-integrity", code=1)
    assert "XATTRS" in done.stderr + done.stdout, done
    with mount.mounted(broken) as mounted:
        assert open(f"{mounted}/plain", encoding="ascii").read() == "plain"
        try:
            os.getxattr(f"{mounted}/plain", "user.comment")
            raise AssertionError("a damaged section is served")
        except OSError as error:
            assert error.errno == errno.EIO, error

# -- times ---------------------------------------------------------------------------------


def birth(path):
    """Nanoseconds since 1970, or None where the file system has no such time."""
    text = do("stat", "-c", "%W %w", path).split()
    if text[0] == "0":
        return None
    return int(text[0]) * 10**9 + int(text[2].split(".")[1])


def info(path):
    return json.loads(os.getxattr(path, "user.dwarfs.inodeinfo"))


def nanoseconds(time):
    return time["seconds"] * 10**9 + time["nanoseconds"]


with suite.case("times are kept as far as requested"):
    tree = place("times")
    make(f"{tree}/file", "1")
    os.utime(f"{tree}/file", ns=(1111111111123456789, 1222222222987654321))
    status = os.stat(f"{tree}/file")
    with mount.mounted(pack(tree, "--keep-all-times", "--time-resolution", "ns")) as mounted:
        found = os.stat(f"{mounted}/file")
        assert (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns) == \
            (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)
        assert "btime" not in info(f"{mounted}/file")
    target = extract(tree + ".dwarfs")
    found = os.stat(f"{target}/file")
    assert (found.st_atime_ns, found.st_mtime_ns) == (status.st_atime_ns, status.st_mtime_ns)
    with mount.mounted(pack(tree)) as mounted:
        found = os.stat(f"{mounted}/file")
        assert found.st_atime_ns == found.st_mtime_ns == found.st_ctime_ns == 1222222222 * 10**9

with suite.case("times of birth are kept where the file system has them"):
    need("stat")
    born = {path: birth(f"{place('times')}/{path}") for path in (".", "file")}
    if None in born.values():
        raise tap.Skip("the file system has no times of birth")
    tree = place("times")
    for options, step in (([], 10**9), (["--time-resolution", "ns"], 1),
                          (["--keep-all-times", "--time-resolution", "us"], 1000)):
        with mount.mounted(pack(tree, "--keep-birth-times", *options)) as mounted:
            for path, expected_birth in born.items():
                found = info(f"{mounted}/{path}")
                assert nanoseconds(found["btime"]) == expected_birth // step * step, found
                assert nanoseconds(found["mtime"]) == \
                    os.stat(f"{tree}/{path}").st_mtime_ns // step * step

suite.finish()
