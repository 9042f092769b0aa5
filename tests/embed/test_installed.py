# SPDX-License-Identifier: MIT
"""Programs that find the installed libraries by pkg-config and by CMake, shared and static.

test_installed.py BUILD_DIRECTORY shared|static|both CC
"""
import glob
import os
import shutil
import sys
import tempfile

import embed
import tap

BUILD, CHOSEN, CC = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
KINDS = ("shared", "static") if CHOSEN == "both" else (CHOSEN,)
PACK_C = os.path.join(embed.ROOT, "examples", "pack.c")


def install(scratch):
    """The folder that has lib and include."""
    root = os.path.join(scratch, "root")
    embed.run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root)
    return os.path.dirname(glob.glob(os.path.join(root, "**", "include"), recursive=True)[0])


def library_folder(prefix):
    return os.path.dirname(os.path.dirname(
        glob.glob(os.path.join(prefix, "**", "libdwarfs.pc"), recursive=True)[0]))


def flags(prefix, package, kind):
    """The words of pkg-config for a package."""
    folder = os.path.join(library_folder(prefix), "pkgconfig")
    return embed.run("pkg-config", f"--define-variable=prefix={prefix}",
                     *["--static"][:kind == "static"], "--cflags", "--libs", package,
                     env={**os.environ, "PKG_CONFIG_PATH": folder}).split()


def static_only(prefix, scratch):
    """The same tree as an installation with -Ddefault_library=static has."""
    folder = os.path.join(scratch, "static-only")
    shutil.copytree(prefix, folder, symlinks=True)
    for path in glob.glob(os.path.join(folder, "**", "libdwarfs*.so*"), recursive=True):
        os.unlink(path)
    return folder


def check_programs(prefix, kind, reader, pack):
    """One program packs a tree, the other reads the image; both in this folder."""
    scratch = os.path.dirname(pack)
    environment = {**os.environ, "LD_LIBRARY_PATH": library_folder(prefix)}
    image = f"{pack}.dwarfs"
    embed.run(pack, embed.make_tree(os.path.join(scratch, "tree")), image, env=environment)
    embed.expect(embed.run(reader, image, env=environment), verifies_sha=True)
    needed = embed.run("readelf", "-d", reader) + embed.run("readelf", "-d", pack)
    for library in ("libdwarfs-reader.so.0", "libdwarfs.so.0"):
        assert (f"[{library}]" in needed) == (kind == "shared"), needed


def test_pkg_config(suite, prefix, kind, scratch):
    if kind == "static" and "shared" in KINDS:
        prefix = static_only(prefix, scratch)
    programs = []
    with suite.case(f"pkg-config, {kind}"):
        embed.need("pkg-config", "readelf")
        for name, source, package in (("reader", embed.READER_C, "libdwarfs-reader"),
                                      ("pack", PACK_C, "libdwarfs")):
            programs.append(os.path.join(scratch, f"{name}-{kind}"))
            embed.run(CC, "-std=c11", source, "-o", programs[-1], *flags(prefix, package, kind))
        check_programs(prefix, kind, *programs)
    with suite.case(f"pkg-config, {kind}: programs that check what they use"):
        embed.need("pkg-config")
        environment = {**os.environ, "LD_LIBRARY_PATH": library_folder(prefix)}

        def build(name, package="libdwarfs-reader"):
            program = os.path.join(scratch, f"{name}-{kind}")
            embed.run(CC, "-std=c11", embed.check_source(name), "-o", program,
                      *flags(prefix, package, kind), "-lpthread")
            return program
        embed.run_checks(build, f"{programs[-1]}.dwarfs", env=environment)
        embed.run(build("writer", "libdwarfs"), f"{programs[-1]}.dwarfs", env=environment)


def test_loaded_libraries(suite, prefix):
    with suite.case("pkg-config requires of the libraries that may be loaded those that are linked"):
        embed.need("readelf")
        folder = library_folder(prefix)
        for package in ("libdwarfs-reader", "libdwarfs"):
            needed = embed.run("readelf", "-d", os.path.join(folder, f"{package}.so"))
            with open(os.path.join(folder, "pkgconfig", f"{package}.pc"), encoding="ascii") as file:
                required = file.read()
            for name, library in (("libarchive", "libarchive"), ("flac", "libFLAC"),
                                  ("libb2", "libb2")):
                assert (name in required) == (f"{library}.so" in needed), (required, needed)


def test_everything_static(suite, prefix, scratch):
    with suite.case("pkg-config, a reader without any shared library"):
        program = os.path.join(scratch, "reader-without-shared")
        words = flags(prefix, "libdwarfs-reader", "static")
        for word in words:
            found = word.startswith("-l") and embed.run(CC, f"-print-file-name=lib{word[2:]}.a")
            if found and "dwarfs" not in word and "/" not in found:
                raise tap.Skip(f"no static library for {word}")
        embed.run(CC, "-static", embed.READER_C, "-o", program, *words)
        image = glob.glob(os.path.join(scratch, "pack-*.dwarfs"))[0]
        embed.expect(embed.run(program, image), verifies_sha=True)


def test_cmake(suite, prefix, scratch):
    build = os.path.join(scratch, "cmake")
    with suite.case(f"CMake, {' and '.join(KINDS)}"):
        embed.need("cmake", "pkg-config", "readelf")
        embed.run("cmake", "-G", "Ninja", "-S", embed.HERE, "-B", build,
                  "-DKINDS=" + ";".join(KINDS), f"-DCMAKE_PREFIX_PATH={prefix}",
                  f"-DCMAKE_C_COMPILER={CC}")
        embed.run("cmake", "--build", build)
        for kind in KINDS:
            programs = [os.path.join(build, kind, f"{name}-{kind}") for name in ("reader", "pack")]
            check_programs(prefix, kind, *programs)
            environment = {**os.environ, "LD_LIBRARY_PATH": library_folder(prefix)}
            embed.run_checks(lambda name, kind=kind: os.path.join(build, kind, f"{name}-{kind}"),
                             f"{programs[-1]}.dwarfs", env=environment)
            embed.run(os.path.join(build, kind, f"writer-{kind}"), f"{programs[-1]}.dwarfs",
                      env=environment)


def main():
    if not shutil.which("meson"):
        tap.skip_all("no meson")
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-embed-") as scratch:
        prefix = None
        with suite.case("the project installs"):
            prefix = install(scratch)
        for kind in KINDS:
            test_pkg_config(suite, prefix, kind, scratch)
        if "shared" in KINDS:
            test_loaded_libraries(suite, prefix)
        if "static" in KINDS:
            test_everything_static(suite, prefix, scratch)
        test_cmake(suite, prefix, scratch)
    suite.finish()


main()
