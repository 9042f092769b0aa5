# SPDX-License-Identifier: MIT
"""A folder with static libraries, built from Debian's source packages by any C compiler.

For platforms for which Debian has no libraries: musl, Windows. The sources come from the archives
that apt knows; the packages of the system are not changed.
"""
import functools
import glob
import os
import re
import shutil
import subprocess

import sysroot

# How each source package is built: by its configure script, by make in a folder, or by the
# compiler alone from files.
CONFIGURE = {
    "nettle": ["--disable-public-key", "--disable-assembler", "--disable-documentation",
               "--disable-openssl"],
    "xz-utils": ["--disable-xz", "--disable-xzdec", "--disable-lzmadec", "--disable-lzmainfo",
                 "--disable-lzma-links", "--disable-scripts", "--disable-doc", "--disable-nls"],
    "flac": ["--disable-ogg", "--disable-cpplibs", "--disable-programs", "--disable-examples",
             "--disable-doxygen-docs"],
    "libarchive": ["--disable-bsdtar", "--disable-bsdcpio", "--disable-bsdcat", "--without-xml2",
                   "--without-expat", "--without-openssl", "--with-nettle", "--disable-acl",
                   "--disable-xattr"],
}
FILES = {
    "bzip2": ("bz2", ["blocksort.c", "bzlib.c", "compress.c", "crctable.c", "decompress.c", "huffman.c",
                      "randtable.c"], ["bzlib.h"], []),
    "zlib": ("zlib", ["*.c"], ["zlib.h", "zconf.h"], ["-DHAVE_UNISTD_H"]),
    "libb2": ("libb2", ["src/blake2b-ref.c", "src/blake2s-ref.c", "src/blake2bp.c", "src/blake2sp.c"],
              ["src/blake2.h"], ["-DSUFFIX="]),
    "xxhash": ("libxxhash", ["xxhash.c"], ["xxhash.h"], []),
    "lz4": ("liblz4", ["lib/lz4.c", "lib/lz4hc.c", "lib/lz4frame.c", "lib/xxhash.c"],
            ["lib/lz4.h", "lib/lz4hc.h", "lib/lz4frame.h"], ["-DXXH_NAMESPACE=LZ4_"]),
    "libzstd": ("libzstd", ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c"],
                ["lib/zstd.h", "lib/zstd_errors.h"], ["-DZSTD_DISABLE_ASM", "-DXXH_NAMESPACE=ZSTD_"]),
    "brotli": ("libbrotlienc", ["c/common/*.c", "c/enc/*.c", "c/dec/*.c"],
               ["c/include/brotli"], ["-Ic/include"]),
    "jansson": ("jansson", ["src/*.c"], ["src/jansson.h", "android/jansson_config.h"],
                ["-Iandroid", "-Isrc", "-DINITIAL_HASHTABLE_ORDER=3", "-DHAVE_STDINT_H",
                 "-DHAVE_INTTYPES_H", "-DHAVE_UNISTD_H", "-DHAVE_SYS_TYPES_H", "-DHAVE_STRTOLL",
                 "-DHAVE_LOCALE_H", "-DHAVE_LOCALECONV", "-DHAVE_SYS_TIME_H",
                 "-DHAVE_GETTIMEOFDAY"]),
    "cmocka": ("cmocka", ["src/cmocka.c"], ["include/cmocka.h"],
               ["-Iinclude", "-DHAVE_STDINT_H", "-DHAVE_INTTYPES_H", "-DHAVE_SIGNAL_H",
                "-DHAVE_STRUCT_TIMESPEC", "-DHAVE_CLOCK_GETTIME_REALTIME", "-DHAVE_STRSIGNAL",
                "-include", "stdint.h"]),
}
# Of configure; the options have all of it.
EMPTY = {"jansson": "src/jansson_private_config.h", "libb2": "src/config.h"}
ALIAS = {"zlib": "z"}
ALSO = {"libbrotlienc": ["libbrotlidec"]}  # other names of the same library
NEEDED = {"xxhash", "libzstd", "nettle"}  # without the others, some codecs or tests are missing
LIBRARIES = tuple(sorted([*CONFIGURE, *FILES], key=lambda name: (name == "libarchive", name)))
# A patch may make a source look newer than what was generated from it.
NOT_GENERATED = {name: ":" for name in ("AUTOCONF", "AUTOHEADER", "AUTOMAKE", "ACLOCAL")}


def source_lists(folder):
    """Lists of the archives of the system, for sources instead of packages."""
    lists = os.path.join(folder, "sources")
    os.makedirs(lists, exist_ok=True)
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as given:
            text = re.sub(r"^(Types:|)( ?)deb\b.*?(?=$| (?:\[|\w+:))", r"\1\2deb-src", given.read(),
                          flags=re.M)
        with open(os.path.join(lists, os.path.basename(path)), "w", encoding="utf-8") as out:
            out.write(text)
    return lists


def fetch(folder, package):
    """The path of the unpacked, patched sources."""
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, encoding="utf-8",
                                  stdout=subprocess.PIPE).stdout.strip()
    options = [*sysroot.apt_options(folder, architecture), "-o", "Dir::Etc::SourceList=/dev/null",
               "-o", "Dir::Etc::SourceParts=" + source_lists(folder)]
    if not glob.glob(os.path.join(folder, "lists", "*Sources*")):
        subprocess.run(["apt-get", *options, "-qq", "update"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    place = os.path.join(folder, "source", package)
    os.makedirs(place, exist_ok=True)
    for version in [] if glob.glob(os.path.join(place, "*", "")) else versions(options, package):
        # A mirror may list an update whose sources it lacks; an earlier version is used then.
        try:
            run(["apt-get", *options, "-qq", "source", "--only-source", f"{package}={version}"],
                place)
            break
        except subprocess.CalledProcessError:
            print(f"{package} {version}: no sources", flush=True)
    unpacked = glob.glob(os.path.join(place, "*", ""))
    if not unpacked:
        raise subprocess.CalledProcessError(100, ["apt-get", "source", package])
    return unpacked[0]


def versions(options, package):
    """Those that the archives list, latest first."""
    shown = subprocess.run(["apt-cache", *options, "showsrc", "--only-source", package],
                           check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           encoding="utf-8").stdout
    found = set(re.findall(r"^Version: (\S+)$", shown, re.M))
    later = functools.cmp_to_key(lambda a, b: -1 if subprocess.run(
        ["dpkg", "--compare-versions", a, "gt", b], check=False).returncode == 0 else 1)
    return sorted(found, key=later)


def run(command, folder, environment=None):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace", check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode:
        print(done.stdout[-5000:])
        done.check_returncode()


def by_configure(source, root, compiler, host, archiver, options, jobs):
    build = subprocess.run(["gcc", "-dumpmachine"], check=True, encoding="utf-8",
                           stdout=subprocess.PIPE).stdout.strip()
    # Different names: otherwise configure assumes a native build.
    build = build.replace("-linux", "-pc-linux")
    run(["./configure", f"--build={build}", f"--host={host}", f"--prefix={root}", f"--libdir={root}/lib",
         "--enable-static", "--disable-shared", *options], source,
        {"CC": " ".join(compiler), "CC_FOR_BUILD": "gcc", "AR": archiver[0], "RANLIB": archiver[0].removesuffix("ar") + "ranlib",
         "CFLAGS": "-O2 -fPIC", "CPPFLAGS": f"-I{root}/include", "LDFLAGS": f"-L{root}/lib",
         **NOT_GENERATED})
    run(["make", "-j", str(jobs), "install"], source)
    # libarchive names iconv, which the C library has, as a package.
    for path in glob.glob(os.path.join(root, "lib/pkgconfig", "libarchive.pc")):
        with open(path, encoding="utf-8") as given:
            text = re.sub(r"^(Requires.*?):.*$",
                          lambda line: line.group().replace("iconv", "").rstrip(" ,"),
                          given.read(), flags=re.M)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)


def by_compiler(source, root, compiler, archiver, recipe):
    name, patterns, headers, options = recipe
    if name in EMPTY:
        with open(os.path.join(source, EMPTY[name]), "w", encoding="utf-8"):
            pass
    files = sorted(path for pattern in patterns for path in glob.glob(os.path.join(source, pattern)))
    for path in files:
        run([*compiler, "-O2", "-fPIC", *options, "-c", os.path.relpath(path, source)], source)
    objects = [os.path.basename(path)[:-2] + ".o" for path in files]
    for folder in ("lib/pkgconfig", "include"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    archive = "lib" + ALIAS.get(name, name.removeprefix("lib")) + ".a"
    run([*archiver, "rcs", os.path.join(root, "lib", archive), *objects], source)
    for header in headers:
        path = os.path.join(source, header)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(root, "include", os.path.basename(header)),
                            dirs_exist_ok=True)
        else:
            shutil.copy(path, os.path.join(root, "include"))
    version = re.search(r"-(\d[\d.]*)", os.path.basename(source.rstrip("/")))
    for known in [name, *ALSO.get(name, [])]:
        with open(os.path.join(root, "lib/pkgconfig", known + ".pc"), "w", encoding="utf-8") as out:
            out.write(f"Name: {known}\nDescription: {known}\nVersion: "
                      f"{version.group(1) if version else '1.0'}\n"
                      f"Cflags: -I{root}/include\n"
                      f"Libs: -L{root}/lib -l{archive[3:-2]}{' -lm' if 'brotli' in name else ''}\n")


def make(folder, cache, compiler, host, archiver=("ar",), libraries=LIBRARIES, jobs=2):
    """The path of a prefix with these libraries; sources are kept in cache."""
    root = os.path.join(folder, "root")
    for package in libraries:
        note = os.path.join(folder, "built-" + package)
        recipe = repr(CONFIGURE.get(package) or FILES[package])
        if os.path.exists(note) and open(note, encoding="utf-8").read() == recipe:
            continue
        work = os.path.join(folder, "work", package)
        shutil.rmtree(work, ignore_errors=True)
        try:
            source = fetch(cache, package)
        except subprocess.CalledProcessError:
            if package in NEEDED:
                raise
            print(f"{package}: no sources; built without it", flush=True)
            continue
        shutil.copytree(source, work, symlinks=True)
        if package in CONFIGURE:
            by_configure(work, root, compiler, host, archiver, CONFIGURE[package], jobs)
        else:
            by_compiler(work, root, compiler, archiver, FILES[package])
        shutil.rmtree(work)
        with open(note, "w", encoding="utf-8") as out:
            out.write(recipe)
    return root
