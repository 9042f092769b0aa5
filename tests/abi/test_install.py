# SPDX-License-Identifier: MIT
"""An installation: a program finds headers and library through libdwarfs.pc.

test_install.py BUILD_DIRECTORY shared|static|both CC
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import tap

PROGRAM = r"""
#include <dwarfs/dwarfs.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	int ret = dwarfs_image_open(NULL, argv[argc - 1], NULL, &image, &err);

	printf("%s %s\n", dwarfs_version_string(), dwarfs_strerror(ret));
	dwarfs_error_free(err);
	dwarfs_image_free(image);
	return 0;
}
"""
build, kinds, cc = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
KINDS = ("shared", "static") if kinds == "both" else (kinds,)
FILES = {"shared": ("libdwarfs.so", "libdwarfs.so.0", "libdwarfs-reader.so.0"),
         "static": ("libdwarfs.a", "libdwarfs-reader.a")}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def find(root, pattern):
    found = glob.glob(os.path.join(root, "**", pattern), recursive=True)
    assert found, f"{pattern} is not installed"
    return found[0]


def placed(flag, root):
    """-I and -L of a folder below the root, or if it is not there, of the system; None if it has
    none."""
    if flag[:2] not in ("-I", "-L"):
        return flag
    paths = [path for path in (flag[2:], flag[2:].removeprefix(root)) if os.path.exists(path)]
    return flag[:2] + paths[0] if paths else None


def program(root, scratch, static):
    config = find(root, "libdwarfs.pc")
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=root,
                       PKG_CONFIG_LIBDIR=os.path.dirname(config))
    # The dependencies are libraries of the system, not below the root.
    system = (os.environ.get("DWARFS_PKG_CONFIG_LIBDIR")
              or run("pkg-config", "--variable", "pc_path", "pkg-config").strip())
    environment["PKG_CONFIG_LIBDIR"] += ":" + system
    wanted = ["--static"] if static else []
    flags = run("pkg-config", "--cflags", "libdwarfs", env=environment).split()
    libraries = run("pkg-config", *wanted, "--libs", "libdwarfs", env=environment).split()
    flags = [flag for flag in (placed(flag, root) for flag in flags) if flag]
    libraries = [flag for flag in (placed(flag, root) for flag in libraries) if flag]
    source = os.path.join(scratch, "program.c")
    with open(source, "w") as out:
        out.write(PROGRAM)
    binary = os.path.join(scratch, "static" if static else "shared")
    if static:
        libraries = [find(root, "libdwarfs.a") if flag == "-ldwarfs" else flag
                     for flag in libraries]
        assert any(flag.endswith("libdwarfs.a") for flag in libraries), libraries
    run(cc, "-std=c11", *flags, source, "-o", binary, *libraries)
    where = os.path.dirname(config)
    emulator = os.environ.get("DWARFS_EMULATOR", "").split()
    said = run(*emulator, binary, "/dev/null",
               env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(where)))
    assert said.split()[0].count(".") == 2, said
    needed = run("readelf", "-d", binary)
    assert ("[libdwarfs.so.0]" in needed) != static, "linked with the wrong library"


def main():
    for name in ("meson", "pkg-config", "readelf"):
        if not shutil.which(name):
            tap.skip_all(f"no {name}")
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-install-") as scratch:
        root = os.path.join(scratch, "root")
        with suite.case("the project installs"):
            run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        with suite.case("libraries, headers, tools and manuals are installed"):
            for kind in KINDS:
                for name in FILES[kind]:
                    find(root, name)
            for name in ("libdwarfs.pc", "libdwarfs-reader.pc", "dwarfsConfig.cmake",
                         "libdwarfs-0/dwarfs/dwarfs.h", "libdwarfs-0/dwarfs/builder.h",
                         "libdwarfs-0/dwarfs/reader.h"):
                find(root, name)
            for name in ("mkdwarfs", "dwarfsck", "dwarfsextract", "dwarfs"):
                if not os.path.exists(os.path.join(build, "utils", name)):
                    raise tap.Skip(f"{name} is not built")
                assert os.access(find(root, "bin/" + name), os.X_OK)
                find(root, f"man1/{name}.1")
            find(root, "man3/libdwarfs.3")
        for kind, library in (("shared", "libdwarfs.so.0"), ("static", "libdwarfs.a")):
            with suite.case(f"a program finds the {kind} library"):
                if kind not in KINDS:
                    raise tap.Skip(f"not built: -Ddefault_library={kinds}")
                symbols = run("nm", *["-D"][:kind == "shared"], find(root, library))
                if "__asan_init" in symbols or "__tsan_init" in symbols:
                    raise tap.Skip("the library needs a sanitizer's runtime")
                program(root, scratch, kind == "static")
    suite.finish()


main()
