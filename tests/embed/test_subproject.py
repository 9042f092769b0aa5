# SPDX-License-Identifier: MIT
"""As a meson subproject: only the libraries are built; reader-only builds, and what they install;
programs that pack.

test_subproject.py FOLDER CC

The project that embeds the library stays configured in FOLDER, so that rebuilding is quick.
"""
import glob
import json
import os
import re
import shutil
import sys

import embed

FOLDER, CC = os.path.abspath(sys.argv[1]), sys.argv[2]
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


def parent(name, dependency, programs, *options):
    """The build folder of a project of programs {NAME: SOURCE}, with the library in its folder
    subprojects."""
    root = os.path.join(FOLDER, name)
    build = os.path.join(root, "build")
    files = {"meson.build": PARENT.replace("DEPENDENCY", dependency)
             .replace("PROGRAMS", str(list(programs))),
             "options": "\n".join([embed.ROOT, PARENT, *programs, *options])}
    old = os.path.join(root, "options")
    if os.path.exists(old) and open(old, encoding="utf-8").read() == files["options"] \
            and os.path.exists(os.path.join(build, "build.ninja")):
        return build
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(os.path.join(root, "subprojects"))
    os.symlink(embed.ROOT, os.path.join(root, "subprojects", "libdwarfs"))
    os.symlink(os.path.join(embed.HERE, "check.h"), os.path.join(root, "check.h"))
    for program, source in programs.items():
        os.symlink(source, os.path.join(root, program + ".c"))
    for name, text in files.items():
        with open(os.path.join(root, name), "w", encoding="utf-8") as out:
            out.write(text)
    embed.run("meson", "setup", build, root, "-Doptimization=0", "-Ddebug=false", *options)
    return build


def introspect(build, what):
    return json.loads(embed.run("meson", "introspect", build, what))


def targets(build):
    """(name, kind) of the targets that are built by default."""
    return {(target["name"], target["type"]) for target in introspect(build, "--targets")
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
    prefix = introspect(build, "--buildoptions")
    prefix = next(option["value"] for option in prefix if option["name"] == "prefix")
    return root + prefix


def test_reader_only(suite, scratch):
    build = None
    with suite.case("a reader-only subproject builds only the static library"):
        build = parent("reader-only", "libdwarfs-reader", PROGRAMS, "-Ddefault_library=static",
                       *[f"-Dlibdwarfs:{option}" for option in READER_ONLY])
        assert targets(build) == executables(PROGRAMS) | {
            ("dwarfs-reader", "static library"),
            ("dwarfs-reader-objects", "static library")}, targets(build)
        assert introspect(build, "--tests") == []
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
        build = parent("complete", "libdwarfs", {**PROGRAMS, **WRITERS}, "-Ddefault_library=shared")
        found = targets(build)
        assert found == executables({**PROGRAMS, **WRITERS}) | {
            ("dwarfs", "shared library"), ("dwarfs-reader", "shared library"),
            ("dwarfs-archive", "static library"), ("dwarfs-internal", "static library"),
            ("dwarfs-reader-objects", "static library")}, found
        assert introspect(build, "--tests") == []
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
