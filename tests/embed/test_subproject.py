# SPDX-License-Identifier: MIT
"""As a meson subproject: only the libraries are built; reader-only builds, and what they install;
programs that pack.

test_subproject.py CC

An object that the build under test has of the same source, by the same command but for the
optimization, and with the same generated headers, is not compiled again.
"""
import functools
import glob
import json
import os
import re
import shlex
import sys

import embed

CC = sys.argv[1]
READER_ONLY = ["writer=disabled", "nettle=disabled", "zstd=enabled"] + \
    [f"{name}=disabled" for name in ("lz4", "lzma", "brotli", "flac", "blake2")]
PARENT = """\
project('parent', 'c')
subproject('libdwarfs')
library = dependency('DEPENDENCY')
foreach name : PROGRAMS
  executable(name, name + '.c', dependencies: [library, dependency('threads')])
endforeach
"""
PROGRAMS = {name: embed.check_source(name) for name in ("reader", *embed.CHECKS)}
WRITERS = {"pack": os.path.join(embed.ROOT, "examples", "pack.c"),
           "writer": embed.check_source("writer")}


# Copies an object from a folder that has one of this path, and compiles it otherwise.
COMPILER = """\
#!/bin/sh
before=
for word; do
	[ "$before" = -o ] && [ -e OBJECTS/"$word" ] && exec cp OBJECTS/"$word" "$word"
	before=$word
done
exec CC "$@"
"""


def parent(scratch, name, dependency, programs, *options):
    """The build folder of a project of programs {NAME: SOURCE}, with the library in its folder
    subprojects."""
    root = os.path.join(scratch, name)
    build = os.path.join(root, "build")
    objects = os.path.join(root, "objects")
    os.makedirs(os.path.join(root, "subprojects"))
    os.symlink(embed.ROOT, os.path.join(root, "subprojects", "libdwarfs"))
    os.symlink(os.path.join(embed.HERE, "check.h"), os.path.join(root, "check.h"))
    for program, source in programs.items():
        os.symlink(source, os.path.join(root, program + ".c"))
    with open(os.path.join(root, "meson.build"), "w", encoding="utf-8") as out:
        out.write(PARENT.replace("DEPENDENCY", dependency).replace("PROGRAMS", str(list(programs))))
    compiler = os.path.join(root, "cc")
    with open(compiler, "w", encoding="utf-8") as out:
        out.write(COMPILER.replace("OBJECTS", shlex.quote(objects)).replace("CC", shlex.quote(CC)))
    os.chmod(compiler, 0o755)
    embed.run("meson", "setup", build, root, "-Doptimization=0", "-Ddebug=false", *options,
              env={**os.environ, "CC": compiler})
    provide_objects(build, objects)
    return build


@functools.cache
def real(folder):
    return os.path.realpath(folder)


@functools.cache
def compilations(build, library):
    """(source, words of the command but for what may differ) -> the object, of the sources of
    the library, whose part of the folder build is the folder library."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as source:
        listed = json.load(source)
    found = {}
    for one in listed:
        folder, name = os.path.split(one["file"])
        path = os.path.join(real(os.path.join(build, folder)), name)
        if not path.startswith(os.path.join(real(embed.ROOT), "lib", "")):
            continue
        words = []
        for word in shlex.split(one["command"])[1:]:
            if word.startswith("-I"):
                folder = real(os.path.join(build, word[2:]))
                word = "-I" + folder.replace(os.path.join(library, ""), "BUILD/")
            if word[:2] not in ("-O", "-g") and not word.startswith((one["output"], one["file"])):
                words.append(word)
        found[(path, tuple(words))] = one["output"]
    return found


@functools.cache
def generated(build):
    """Object -> the files of the folder build that it depends on, of what is up to date."""
    found = {}
    for line in embed.run("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith(" "):
            if files is not None and not line.startswith(("    /", "    ..")):
                files.append(line.strip())
        elif line:
            files = [] if line.endswith("(VALID)") else None
            if files is not None:
                found[line.partition(":")[0]] = files
    return found


def same_contents(*paths):
    if not all(map(os.path.exists, paths)):
        return False
    first, second = (open(path, "rb").read() for path in paths)
    return first == second


def provide_objects(build, objects):
    """Fill the folder objects with those that the build under test has."""
    tested = os.path.realpath(os.environ["DWARFS_BUILD_ROOT"])
    library = os.path.join(os.path.realpath(build), "subprojects", "libdwarfs")
    known = compilations(tested, tested)
    depends = generated(tested)
    for key, output in compilations(build, library).items():
        other = known.get(key)
        if other in depends and os.path.exists(os.path.join(tested, other)) and all(
                same_contents(os.path.join(tested, file), os.path.join(library, file))
                for file in depends[other]):
            target = os.path.join(objects, output)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.path.join(tested, other), target)


def introspect(build, what):
    """What "meson introspect" prints, which takes the time of a start of Meson to read it."""
    with open(os.path.join(build, "meson-info", f"intro-{what}.json"), encoding="utf-8") as source:
        return json.load(source)


def targets(build):
    """(name, kind) of the targets that are built by default."""
    return {(target["name"], target["type"]) for target in introspect(build, "targets")
            if target["build_by_default"]}


def executables(programs):
    return {(name, "executable") for name in programs}


def headers(*lists):
    """The headers in lists of include/meson.build, and dwarfs.h."""
    with open(os.path.join(embed.ROOT, "include", "meson.build"), encoding="utf-8") as source:
        text = source.read()
    return {"dwarfs.h"} | {name for wanted in lists for name in re.findall(
        r"dwarfs/(\w+\.h)", re.search(rf"{wanted} = files\((.*?)\)", text, re.S).group(1))}


def install(build, scratch):
    """The folder that has lib and include."""
    root = os.path.join(scratch, "root")
    embed.run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
    prefix = introspect(build, "buildoptions")
    prefix = next(option["value"] for option in prefix if option["name"] == "prefix")
    return root + prefix


def test_reader_only(suite, scratch):
    build = None
    with suite.case("a reader-only subproject builds only the static library"):
        build = parent(scratch, "reader-only", "libdwarfs-reader", PROGRAMS,
                       "-Ddefault_library=static",
                       *[f"-Dlibdwarfs:{option}" for option in READER_ONLY])
        assert targets(build) == executables(PROGRAMS) | {
            ("dwarfs-reader", "static library"),
            ("dwarfs-reader-objects", "static library")}, targets(build)
        assert introspect(build, "tests") == []
        embed.run("ninja", "-C", build)
    image = None
    with suite.case("its program lists and reads an image, and verifies XXH3 only"):
        image = embed.make_image(scratch)
        embed.expect(embed.run(os.path.join(build, "reader"), image), verifies_sha=False)
    with suite.case("programs that check what they use"):
        embed.run_checks(lambda name: os.path.join(build, name), image)
    prefix = None
    with suite.case("it installs library, headers and descriptions of the reader"):
        prefix = install(build, scratch)
        names = {os.path.relpath(path, prefix)
                 for path in glob.glob(os.path.join(prefix, "**"), recursive=True)
                 if not os.path.isdir(path)}
        found = {os.path.basename(name) for name in names}
        assert found == headers("reader_headers") | {
            "libdwarfs-reader.a", "libdwarfs-reader.pc", "dwarfsConfig.cmake",
            "dwarfsConfigVersion.cmake"}, sorted(found)
    with suite.case("a program finds it by pkg-config --static, with <dwarfs/dwarfs.h>"):
        embed.need("pkg-config")
        config = os.path.dirname(glob.glob(os.path.join(prefix, "**", "libdwarfs-reader.pc"),
                                           recursive=True)[0])
        flags = embed.run("pkg-config", f"--define-variable=prefix={prefix}", "--static",
                          "--cflags", "--libs", "libdwarfs-reader",
                          env={**os.environ, "PKG_CONFIG_PATH": config}).split()
        assert not {"-lnettle", "-larchive", "-llz4"} & set(flags), flags
        program = os.path.join(scratch, "program")
        embed.run(CC, embed.READER_C, "-o", program, *flags)
        embed.expect(embed.run(program, image), verifies_sha=False)


def test_complete(suite, scratch):
    build = None
    with suite.case("a subproject with the writer has only the shared libraries"):
        build = parent(scratch, "complete", "libdwarfs", {**PROGRAMS, **WRITERS},
                       "-Ddefault_library=shared")
        found = targets(build)
        assert found == executables({**PROGRAMS, **WRITERS}) | {
            ("dwarfs", "shared library"), ("dwarfs-reader", "shared library"),
            ("dwarfs-archive", "static library"), ("dwarfs-internal", "static library"),
            ("dwarfs-reader-objects", "static library")}, found
        assert introspect(build, "tests") == []
        embed.run("ninja", "-C", build, *PROGRAMS, *WRITERS)
    image = os.path.join(scratch, "packed.dwarfs")
    with suite.case("its program packs a directory, and another one reads the image"):
        tree = embed.make_tree(os.path.join(scratch, "packed"))
        embed.run(os.path.join(build, "pack"), tree, image)
        embed.expect(embed.run(os.path.join(build, "reader"), image), verifies_sha=True)
    with suite.case("programs that check what they use, with the writer"):
        embed.run_checks(lambda name: os.path.join(build, name), image)
        embed.run(os.path.join(build, "writer"), image)


embed.run_with_meson(test_reader_only, test_complete)
