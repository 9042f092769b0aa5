#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dwarfsextract: which entries patterns select, and their directories and links."""
import os
import shutil
import subprocess

import tap
import walker
from scratch import pack, place, remove_tree, write

suite = tap.Suite()

FILES = ("top.c", "top.h", "README", "sub/one.c", "sub/one.H", "sub/deep/two.c",
         "sub/deep/er/three.c", "Sub2/four.c", "other/{odd}", "other/a,b", "other/[x]",
         "other/back\\slash", "other/\xe4.txt", "empty.d/x/y/z")
EVERYTHING = {"sub", "sub/deep", "sub/deep/er", "Sub2", "other", "empty", "empty/inner",
              "empty.d", "empty.d/x", "empty.d/x/y", "link", *FILES}


def some_tree():
    tree = place("tree")
    for name in FILES:
        write(f"{tree}/{name}", name.encode())
    os.makedirs(tree + "/empty/inner")
    os.symlink("sub", tree + "/link")
    for folder, mode in (("sub", 0o750), ("sub/deep", 0o705), ("empty", 0o711)):
        os.chmod(f"{tree}/{folder}", mode)
        os.utime(f"{tree}/{folder}", ns=(10**18, 10**18 + 5 * 10**9))
    return tree


def extract(*arguments):
    return subprocess.run([tap.tool("DWARFSEXTRACT"), "-i", image, *arguments],
                          capture_output=True, text=True, timeout=120)


def names(root):
    """Every path below a root; links are not followed."""
    found = set()
    for folder, dirs, files in os.walk(root):
        found |= {os.path.relpath(os.path.join(folder, name), root) for name in dirs + files}
    return found


def with_parents(paths):
    found = set()
    for path in paths:
        while path:
            found.add(path)
            path = os.path.dirname(path)
    return found


def below(*folders):
    return {path for path in EVERYTHING
            if any(path == folder or path.startswith(folder + "/") for folder in folders)}


tap.tool("MKDWARFS")
tree = some_tree()
image = pack(tree)

CASES = [
    (["top.c"], {"top.c"}),
    (["/top.c"], {"top.c"}),
    (["./top.c"], {"top.c"}),
    (["*.c"], {"top.c"}),
    (["?op.[ch]"], {"top.c", "top.h"}),
    (["top.[!c]"], {"top.h"}),
    (["*/one.c"], {"sub/one.c"}),
    (["**/*.c"], {path for path in FILES if path.endswith(".c")}),
    (["**.c"], {path for path in FILES if path.endswith(".c")}),
    (["sub/**/*.c"], {path for path in FILES if path.startswith("sub/") and path.endswith(".c")}),
    (["sub/**"], below("sub")),
    (["**/er/**"], below("sub/deep/er")),
    (["sub/deep"], below("sub/deep")),
    (["sub/deep/"], below("sub/deep")),
    (["sub/one.c/"], set()),
    (["s*"], below("sub")),
    (["i:s*"], below("sub", "Sub2")),
    (["i:**/*.h"], {"top.h", "sub/one.H"}),
    (["**/*.h"], {"top.h"}),
    (["{top.c,sub/deep/*,Sub{1,2}/four.c}"], below("top.c", "sub/deep", "Sub2/four.c")
     - {"sub/deep"}),
    (["**/{one,two}.c"], {"sub/one.c", "sub/deep/two.c"}),
    (["other/\\{odd\\}"], {"other/{odd}"}),
    (["other/a\\,b"], {"other/a,b"}),
    (["other/{a\\,b,none}"], {"other/a,b"}),
    (["other/\\[x\\]"], {"other/[x]"}),
    (["other/[[]x[]]"], {"other/[x]"}),
    (["other/back\\\\slash"], {"other/back\\slash"}),
    (["other/?.txt"], {"other/\xe4.txt"}),
    (["empty"], below("empty")),
    (["link"], {"link"}),
    (["link/**"], set()),
    (["nothing", "**/nothing"], set()),
    (["top.c", "README", "**/z"], {"top.c", "README", "empty.d/x/y/z"}),
    (["**"], EVERYTHING),
    (["*"], EVERYTHING),
]

for number, (patterns, expected) in enumerate(CASES):
    with suite.case("patterns " + " ".join(patterns)):
        target = place(f"out {number}")
        done = extract("-o", target, *patterns)
        assert done.returncode == 0, done
        assert all("matches nothing" in line for line in done.stderr.splitlines()), done
        found = {os.fsencode(path) for path in names(target)}
        expected = {os.fsencode(path) for path in with_parents(expected)}
        assert found == expected, (sorted(found - expected), sorted(expected - found))

with suite.case("--pattern is the same, and may be given again and mixed"):
    target = place("mixed")
    done = extract("--pattern", "top.c", "-o", target, "--pattern=i:readme", "sub/one.c")
    assert done.returncode == 0, done
    assert names(target) == {"top.c", "README", "sub", "sub/one.c"}

with suite.case("parent directories have their attributes, too"):
    target = place("parents")
    assert extract("-o", target, "sub/deep/two.c").returncode == 0
    want, got = walker.describe(tree), walker.describe(target)
    walker.must_agree({path: want[path] for path in got if path != b"sub/deep/er"}, got,
                      columns=["type", "mode", "mtime", "sha256"], resolution_ns=10**9)

with suite.case("hard links of which one name is chosen, or both"):
    linked = place("linked")
    write(linked + "/a/first", b"linked\n" * 1000)
    os.mkdir(linked + "/b")
    os.link(linked + "/a/first", linked + "/b/second")
    os.link(linked + "/a/first", linked + "/b/third")
    image = pack(linked)
    assert extract("-o", place("one name"), "b/second").returncode == 0
    assert names(place("one name")) == {"b", "b/second"}
    assert os.stat(place("one name/b/second")).st_nlink == 1
    assert extract("-o", place("two names"), "b").returncode == 0
    assert os.stat(place("two names/b/third")).st_nlink == 2

with suite.case("a pattern that matches nothing is named; the others are extracted"):
    image = place("tree") + ".dwarfs"
    for arguments in (("-o", place("unmatched")), ("-f", "ustar", "-o", place("unmatched.tar"))):
        for patterns, unmatched in ((("none",), {"none"}),
                                    (("top.c", "nothing/*.c", "i:NO*"), {"nothing/*.c", "i:NO*"}),
                                    (("{nix,nought}",), {"{nix,nought}"}),
                                    (("{nix,top}.c",), set()),
                                    (("sub", "sub/deep/two.c"), set()),
                                    (("sub", "sub/deep/er/none"), {"sub/deep/er/none"}),
                                    (("**", "Sub2/*"), set()),
                                    (("top.c/",), {"top.c/"}),
                                    (("sub/",), set())):
            done = extract(*arguments, *patterns)
            assert done.returncode == 0, done
            told = done.stderr.splitlines()
            wanted = {f"dwarfsextract: warning: pattern '{text}' matches nothing"
                      for text in unmatched}
            assert set(told) == wanted and len(told) == len(wanted), (patterns, done.stderr)
            shutil.rmtree(place("unmatched"), ignore_errors=True)
            if os.path.exists(place("unmatched.tar")):
                os.unlink(place("unmatched.tar"))

with suite.case("the log level decides whether such patterns are named"):
    done = extract("-o", place("unmatched"), "none", "--log-level=error")
    assert done.returncode == 0 and done.stderr == "", done

with suite.case("excluded entries do not count as missed by a pattern"):
    if os.geteuid() == 0:
        fifo = place("fifo")
        os.makedirs(fifo)
        os.mkfifo(fifo + "/pipe")
        done = subprocess.run([tap.tool("DWARFSEXTRACT"), "-i",
                               pack(fifo, "--with-specials"), "-o", place("unmatched"),
                               "pipe", "--skip-specials"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", done

with suite.case("invalid patterns are refused before anything is written"):
    for pattern, why in (("[a", "unmatched ["), ("{a,b", "unmatched {"), ("a\\", "nothing after"),
                         ("", "empty pattern"), ("i:", "empty pattern"), ("/", "empty pattern"),
                         ("[z-a]", "a range"), ("x" * 5000, "4096 bytes"),
                         ("{a,b}" * 20, "alternatives")):
        done = extract("-o", place("senseless"), "--pattern", pattern)
        assert done.returncode == 1 and why in done.stderr, done
    assert not os.path.exists(place("senseless"))

remove_tree()
suite.finish()
