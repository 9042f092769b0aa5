#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ABI of libdwarfs: its version maps and the dump that changes are compared with.

    abi.py map                  write lib/libdwarfs.map and lib/libdwarfs-reader.map: add new
                                functions to the newest node
    abi.py dump                 write tests/abi/libdwarfs.abi
    abi.py diff                 compare the headers with that dump; exit 0 when they are compatible

A released node never loses a symbol. A node belongs to the version in which its functions were
added; functions that are new go to the node of the version in meson.build. `dump` is for new
functions and, before the first release, for changes on purpose; `diff` is a test. Dump and diff
need abidw and abidiff (Debian: abigail-tools), and x86_64, of which the dump is.

The dump is that of a library generated from the headers: a function without a body for each
declaration. So it has public types only, and is independent of members of private ones.
Compilation and the test of symbols verify that the real library has these functions with these
types. Three more kinds of functions make the dump contain what no function of the library has
in its type: enum_X() returns the enum X, inline_X() has the type of the inline function X, and
macro_X() returns an enum with the value of the macro X.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = os.path.join(ROOT, "include", "dwarfs")
MAP = os.path.join(ROOT, "lib", "libdwarfs.map")
# A process may load this library and libdwarfs.so, of different versions: it has its own nodes.
READER_MAP = os.path.join(ROOT, "lib", "libdwarfs-reader.map")
DUMP = os.path.join(ROOT, "tests", "abi", "libdwarfs.abi")

# Macros that are not constants, or change with each release.
NO_CONSTANTS = r"DWARFS_(BEGIN_DECLS|END_DECLS|API|VERSION_\w+|\w+_H)$"
# Macros whose value is a struct of one number.
NUMBERED = ("DWARFS_ROOT_ENTRY", "DWARFS_ROOT_INODE")


def headers(names=None):
    """The text of each header (all of them, by default) without comments, and without continued
    lines."""
    for header in sorted(names or os.listdir(HEADERS)):
        if header.endswith(".h"):
            with open(os.path.join(HEADERS, header), encoding="utf-8") as source:
                text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
            yield text.replace("\\\n", " ")


def reader_headers():
    with open(os.path.join(HEADERS, "reader.h"), encoding="utf-8") as source:
        return re.findall(r"#include <dwarfs/(\w+\.h)>", source.read())


def prototypes(names=None):
    """The public functions of headers, in the order of these: name -> declaration."""
    found = {}
    for text in headers(names):
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for part in text.split("DWARFS_API")[1:]:
            declaration = " ".join(part[:part.index(";")].split())
            found[re.search(r"(\w+)\s*\(", declaration).group(1)] = declaration
    return found


def other_interfaces():
    """C code of functions for what is not in the type of a function of the library."""
    text = "\n".join(headers())
    code = [f"enum {name} enum_{name}(void) {{ __builtin_trap(); }}"
            for name in re.findall(r"^enum (\w+) \{", text, re.M)]
    code += [f"{result} inline_{name}({parameters}) {{ __builtin_trap(); }}"
             for result, name, parameters in re.findall(
                 r"^static inline ([\w \*]*?)(\w+)\(([^)]*)\)\n\{", text, re.M)]
    macros = [name for name in re.findall(r"^#define (\w+)[ \t]+\S", text, re.M)
              if not re.match(NO_CONSTANTS, name) and name not in NUMBERED]
    code += [f"enum macro_{name} {{ value_of_{name} = ({name}) }};\n"
             f"enum macro_{name} macro_{name}(void) {{ __builtin_trap(); }}" for name in macros]
    code += [f"__typeof__({name}) macro_{name}(void) {{ return {name}; }}" for name in NUMBERED]
    return "\n".join(code) + "\n"


def nodes(path):
    """The nodes of a map in their order: name -> symbols."""
    with open(path, encoding="utf-8") as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    found = {}
    for name, body in re.findall(r"([\w.]+)\s*\{(.*?)\}", text, flags=re.S):
        part = re.search(r"global:(.*?)(local:|$)", body, flags=re.S)
        found[name] = re.findall(r"(\w+)\s*;", part.group(1)) if part else []
    return found


def version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as source:
        return re.search(r"version: '(\d+\.\d+)\.", source.read()).group(1)


def write_map(path, prefix, names):
    known = nodes(path)
    new = sorted(set(names) - {symbol for symbols in known.values() for symbol in symbols})
    gone = sorted({symbol for symbols in known.values() for symbol in symbols} - set(names))
    if gone:
        sys.exit(f"in {os.path.basename(path)}, but no longer declared: " + ", ".join(gone))
    known.setdefault(prefix + version(), []).extend(new)
    lines, before = ["# SPDX-License-Identifier: MIT\n"], ""
    for number, (node, symbols) in enumerate(known.items()):
        lines.append(node + " {\n\tglobal:\n")
        lines += [f"\t\t{symbol};\n" for symbol in sorted(symbols)]
        if number == 0:
            lines.append("\tlocal:\n\t\t*;\n")
        lines.append("}" + before + ";\n")
        before = " " + node
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(lines)


def dump(path):
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "headers.c")
        library = os.path.join(scratch, "libdwarfs.so.0")
        with open(source, "w", encoding="utf-8") as out:
            out.write("#include <dwarfs/dwarfs.h>\n")
            for declaration in prototypes().values():
                out.write(declaration + " { __builtin_trap(); }\n")
            out.write(other_interfaces())
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-g", "-gdwarf-4", "-O0",
                        "-shared", "-fPIC", "-fno-builtin", "-Wl,-soname,libdwarfs.so.0",
                        "-I", os.path.dirname(HEADERS), source, "-o", library], check=True)
        subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
                        "--no-elf-needed", "--exported-interfaces-only", "--out-file", path,
                        library], check=True)
    with open(path, encoding="utf-8") as made:
        text = re.sub(r" path='[^']*headers\.c'", " path='headers.c'", made.read())
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def diff():
    with tempfile.TemporaryDirectory() as scratch:
        new = os.path.join(scratch, "new.abi")
        dump(new)
        done = subprocess.run(["abidiff", "--no-added-syms", DUMP, new], capture_output=True,
                              text=True, check=False)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


def main():
    arguments = sys.argv[1:]
    if arguments == ["map"]:
        write_map(MAP, "LIBDWARFS_", prototypes())
        write_map(READER_MAP, "LIBDWARFS_READER_", prototypes(reader_headers()))
    elif arguments == ["dump"]:
        dump(DUMP)
    elif arguments == ["diff"]:
        sys.exit(diff())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
