# SPDX-License-Identifier: MIT
"""The headers, the version map and the built libraries must agree.

test_abi.py SHARED_LIBRARY READER_LIBRARY INTERNAL_LIBRARY CC [CXX]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

# What a library must not use: it prints nothing, does not end the process, and does not change
# environment, locale, working directory, umask or signals.
FORBIDDEN = """printf vprintf puts putchar perror fputs fputc fwrite fprintf vfprintf
__printf_chk __vprintf_chk __fprintf_chk __vfprintf_chk stdout stderr stdin
exit _exit _Exit quick_exit abort raise kill atexit __assert_fail __assert_perror_fail __assert
getenv secure_getenv setenv putenv unsetenv setlocale chdir fchdir umask
signal sigaction sigprocmask setitimer alarm system popen fork execv execve
daemon syslog srand rand random strtok strerror getpwnam getpwuid""".split()

root = os.environ["DWARFS_SOURCE_ROOT"]
include = os.path.join(root, "include")
shared, reader, internal, cc, *cxx = sys.argv[1:]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def headers():
    folder = os.path.join(include, "dwarfs")
    return sorted(name for name in os.listdir(folder) if name.endswith(".h"))


def included(header):
    """The project's headers that a header includes."""
    with open(os.path.join(include, "dwarfs", header)) as source:
        return set(re.findall(r"#include <dwarfs/(\w+\.h)>", source.read()))


def declared(wanted=None):
    """Functions that the headers (all of them, by default) declare as public."""
    names = set()
    for header in wanted or headers():
        with open(os.path.join(include, "dwarfs", header)) as source:
            text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for part in text.split("DWARFS_API")[1:]:
            names.add(re.search(r"(\w+)\s*\(", part).group(1))
    return names


def exported(library=shared):
    """Symbols that a shared library exports, without the names of version nodes."""
    found = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            found[name.split("@")[0]] = name
    return found


def sources():
    """The C files and headers of the library and the programs."""
    return sorted(os.path.join(folder, name) for part in ("lib", "utils")
                  for folder, _, names in os.walk(os.path.join(root, part))
                  for name in names if name.endswith((".c", ".h")))


def mapped(name):
    """The symbols of each node of a version map: name -> global symbols or patterns."""
    with open(os.path.join(root, "lib", name)) as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    nodes = {}
    for name, body in re.findall(r"([\w.]+)\s*\{(.*?)\}", text, flags=re.S):
        part = re.search(r"global:(.*?)(local:|$)", body, flags=re.S)
        nodes[name] = re.findall(r"([\w*]+)\s*;", part.group(1)) if part else []
    return nodes


def in_manual():
    """Functions that have an entry in the list of the library's manual page."""
    with open(os.path.join(root, "man", "libdwarfs.3")) as source:
        text = source.read()
    part = re.search(r"^\.Sh FUNCTIONS$(.*?)^\.Sh ", text, flags=re.S | re.M)
    return re.findall(r"^\.It Fn (\w+)$", part.group(1), flags=re.M) if part else []


def under_wrong_headers():
    """Functions in the manual's list of a header that does not declare them."""
    with open(os.path.join(root, "man", "libdwarfs.3")) as source:
        parts = re.split(r"^\.Ss Functions of dwarfs/(\w+\.h)$", source.read(), flags=re.M)
    wrong = []
    for header, text in zip(parts[1::2], parts[2::2]):
        with open(os.path.join(include, "dwarfs", header)) as source:
            declares = set(re.findall(r"\b(dwarfs_\w+)\(", source.read()))
        listed = re.findall(r"^\.It Fn (\w+)$", text.split("\n.Sh ")[0], flags=re.M)
        wrong += [f"{header}: {name}" for name in listed if name not in declares]
    return wrong


def unlisted_headers():
    """Headers that the section HEADERS of the manual does not name."""
    with open(os.path.join(root, "man", "libdwarfs.3")) as source:
        named = set(re.findall(r"^\.It In dwarfs/(\w+\.h)$", source.read(), flags=re.M))
    return sorted(set(headers()) - named - {"dwarfs.h", "reader.h"})


def without_comments():
    """The text of all headers."""
    folder = os.path.join(include, "dwarfs")
    return "\n".join(re.sub(r"/\*.*?\*/", "", open(os.path.join(folder, name)).read(), flags=re.S)
                     for name in headers())


def commented():
    """(comment, result, name, [(type, name)]) of each function and callback of the headers."""
    found = []
    for header in headers():
        with open(os.path.join(include, "dwarfs", header)) as source:
            text = source.read()
        for comment, before, name, rest in re.findall(
                r"/\*\*((?:(?!\*/).)*)\*/\s*(?:DWARFS_API|typedef)\s+([^;{#]*?)"
                r"(?:\(\*)?\b(dwarfs_\w+)\)?\s*\(([^;]*)\);", text, flags=re.S):
            parameters = [re.match(r"(.*?)(\w+)$", " ".join(part.split())).groups()
                          for part in rest.split(",")]
            comment = " ".join(line.strip(" *\t") for line in comment.splitlines())
            found.append((comment, " ".join(before.split()), name,
                          [(kind.strip(), word) for kind, word in parameters]))
    return found


def enums():
    return set(re.findall(r"^enum (dwarfs_\w+) \{", without_comments(), flags=re.M))


# Codes are int by the convention of all functions; the numbers of sections and the bits of
# attributes are stored in images, or several in one value, as the parts of a rewrite are.
NO_ENUM = {"dwarfs_code", "dwarfs_section_type", "dwarfs_rewrite_part"}


def enum_parameters():
    """What a comment calls a value of an enum is declared as one, and each enum is used."""
    used = set()
    missed = declared() - {name for _, _, name, _ in commented()}
    assert not missed, f"not understood: {sorted(missed)}"
    for comment, result, name, parameters in commented():
        types = dict((word, kind) for kind, word in parameters)
        used.update(re.findall(r"enum (\w+)", " ".join([result, *types.values()])))
        for word, enum in re.findall(r"@param (\w+) +(?:receives )?an? (dwarfs_\w+)", comment):
            assert enum not in enums() or f"enum {enum}" in types[word], \
                f"{name}: {word} is not an enum {enum}"
        said = re.search(r"@return (?:the|an?) (dwarfs_\w+)", comment)
        assert not said or said.group(1) not in enums() or "*" in result or \
            result == f"enum {said.group(1)}", f"{name}: the result is not an {said.group(1)}"
    assert used >= enums() - NO_ENUM, f"not the type of a parameter: {enums() - NO_ENUM - used}"


PROGRAM = """#include <dwarfs/dwarfs.h>
int try_it(const dwarfs_image *image, dwarfs_context *context);
int try_it(const dwarfs_image *image, dwarfs_context *context)
{
	dwarfs_entry entry = DWARFS_ROOT_ENTRY;
	dwarfs_inode inode = DWARFS_ROOT_INODE;
	char name[DWARFS_NAME_BUFFER_BYTES];

	(void)image, (void)context, (void)entry, (void)inode, (void)name;
	return %s;
}
"""
GOOD = ["dwarfs_entry_inode(image, entry, &inode, 0)",
        "dwarfs_entry_name(image, entry, name, sizeof(name), 0, 0)",
        "dwarfs_link_read(image, inode, name, sizeof(name), 0, 0)",
        "dwarfs_find(image, name, &entry, 0)",
        "(int)(entry = dwarfs_entry_at(inode.number)).number",
        "dwarfs_context_set_log(context, DWARFS_LOG_INFO, 0, 0, 0)"]
BAD = ["dwarfs_entry_inode(image, inode, &inode, 0)",
       "dwarfs_entry_name(image, inode, name, sizeof(name), 0, 0)",
       "dwarfs_entry_name(image, 1, name, sizeof(name), 0, 0)",
       "dwarfs_link_read(image, entry, name, sizeof(name), 0, 0)",
       "dwarfs_link_read(image, 1, name, sizeof(name), 0, 0)",
       "(int)(entry = inode).number",
       "(int)(inode = entry).number",
       "entry == inode"]
# C converts numbers to enums without a warning.
BAD_CXX = ["dwarfs_context_set_log(context, 1, 0, 0, 0)",
           "dwarfs_context_set_log(context, DWARFS_PHASE_SCAN, 0, 0, 0)"]


def compiles(compiler, language, standard, expression):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "try." + language)
        with open(path, "w") as out:
            out.write(PROGRAM % expression)
        return subprocess.run([compiler, "-std=" + standard, "-I", include, "-fsyntax-only", path],
                              capture_output=True, text=True).returncode == 0


def types_are_kept_apart(compiler, language, standard, bad):
    refused = [text for text in GOOD if not compiles(compiler, language, standard, text)]
    assert not refused, f"does not compile: {refused}"
    accepted = [text for text in bad if compiles(compiler, language, standard, text)]
    assert not accepted, f"compiles: {accepted}"


def self_contained(compiler, language, *flags):
    with tempfile.TemporaryDirectory() as scratch:
        for header in headers():
            path = os.path.join(scratch, "try." + language)
            with open(path, "w") as out:
                out.write(f"#include <dwarfs/{header}>\n#include <dwarfs/{header}>\n"
                          "int main(void) { return 0; }\n")
            done = subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror",
                                   "-pedantic-errors", "-I", include, "-fsyntax-only", path],
                                  capture_output=True, text=True)
            assert done.returncode == 0, f"{header}: {done.stderr}"


DEPRECATED = """#include <dwarfs/dwarfs.h>
DWARFS_DEPRECATED_FOR(dwarfs_newer) int dwarfs_older(void);
int try_it(void);
int try_it(void)
{
	return %s;
}
"""


def deprecated_is_said():
    """A call of a function that was marked gives a warning with the name of the new one."""
    for expression, wanted in ("dwarfs_older()", True), ("0", False):
        done = subprocess.run([cc, "-std=c11", "-I", include, "-fsyntax-only", "-x", "c", "-"],
                              input=DEPRECATED % expression, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert ("use dwarfs_newer" in done.stderr) == wanted, done.stderr


def linkable():
    """A program that takes the address of every declared function links with the library."""
    names = sorted(declared())
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "all.c")
        with open(path, "w") as out:
            out.write("#include <dwarfs/dwarfs.h>\ntypedef void (*any)(void);\n"
                      "any all[] = {" + ", ".join(f"(any){name}" for name in names) + "};\n"
                      "int main(void) { return all[0] == 0; }\n")
        done = subprocess.run([cc, "-std=c11", "-I", include, path, shared,
                               "-Wl,-rpath," + os.path.dirname(shared), "-o",
                               os.path.join(scratch, "all")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def internal_symbols():
    """(defined, wanted) symbols of our own objects."""
    defined, wanted = set(), set()
    for line in run("nm", "-g", internal).splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0] in "Uw":
            wanted.add(fields[1])
        elif len(fields) == 3:
            defined.add(fields[2])
    return defined, wanted


def undocumented():
    """Public functions whose comment lacks "Threads:" or "Since", or that have none."""
    lacking = []
    for header in headers():
        with open(os.path.join(include, "dwarfs", header)) as source:
            text = source.read()
        for match in re.finditer(r"((?:/\*\*(?:(?!\*/).)*?\*/\n)?)^DWARFS_API ([^;{]*?)\(", text,
                                 flags=re.S | re.M):
            words = " ".join(match.group(1).replace("*", " ").split())
            if "Threads:" not in words or not re.search(r"Since \d+\.\d+", words):
                lacking.append(match.group(2).split()[-1].lstrip("*"))
    return lacking


# What is said of all: "user" is passed to the callback, "err" is explained in api.h.
SAID_OF_ALL = {"user", "err"}


def incomplete():
    """Functions and callbacks whose comment lacks the result (it may be that of another function),
    or a parameter if it describes others; callbacks that do not say which threads call them."""
    lacking = []
    for comment, result, name, parameters in commented():
        if result != "void" and not re.search(r"@return|\b[Aa]s dwarfs_\w+\(\)", comment):
            lacking.append(f"{name}: @return")
        said = set(re.findall(r"@param (\w+)", comment))
        if said or name.endswith("_fn"):
            lacking += [f"{name}: @param {word}" for _, word in parameters
                        if word not in said | SAID_OF_ALL and word != "void"]
            lacking += [f"{name}: no parameter {word}"
                        for word in said - {word for _, word in parameters}]
        if "Threads:" not in comment:
            lacking.append(f"{name}: Threads")
    return lacking


# Words for what becomes of an object or of memory that a function returns.
OWNERSHIP = r"\bfree|\brelease|\bborrowed\b|\bvalid\b|\bstatic\b"
# Words for errors besides the codes: those of another function, or of a callback.
ERRORS = r"DWARFS_ERR_|\b[Aa]s dwarfs_\w+\(\)|\bcode of\b|\bcannot fail\b"
# Names of parameters that do not tell the unit.
NO_UNIT = r"(\w+_)?(offset|position|size|length|room|value|time)(_out)?"


def unclear():
    """Functions and callbacks whose comment lacks who owns an output, which errors there are, or
    the unit of a number."""
    lacking = []
    for comment, result, name, parameters in commented():
        parts = re.split(r"(?=@param|@return|Threads:|Since \d)", comment)
        said = {part.split()[1]: part for part in parts if part.startswith("@param")}
        returned = [part for part in parts if part.startswith("@return")]
        for kind, word in parameters:
            if kind == "dwarfs_error **":
                if word != parameters[0][1] and result == "int" and \
                        not re.search(ERRORS, " ".join(returned) or comment):
                    lacking.append(f"{name}: errors")
            elif "**" in kind and not re.search(OWNERSHIP, comment):
                lacking.append(f"{name}: who owns {word}")
            elif re.fullmatch(r"(u?int\d+_t|size_t|int)( \*)?", kind) and word in said and \
                    re.fullmatch(NO_UNIT, word) and "byte" not in said[word]:
                lacking.append(f"{name}: unit of {word}")
    return lacking


def reader_exceptions():
    """The headers that the manual says reader.h does not include."""
    with open(os.path.join(root, "man", "libdwarfs.3")) as source:
        found = re.search(r"\nhas: all except ([\w, ]+)\.\n", source.read())
    return {word + ".h" for word in re.split(r", | and ", found.group(1))}


def main():
    for program in ("nm", cc):
        if not shutil.which(program):
            tap.skip_all(f"no {program}")
    sanitized = "__asan_init" in run("nm", shared) or "__tsan_init" in run("nm", shared)
    suite = tap.Suite()
    with suite.case("every header is self-contained in C11"):
        self_contained(cc, "c", "-std=c11")
    with suite.case("every header is self-contained in C++"):
        if not cxx or not shutil.which(cxx[0]):
            raise tap.Skip("no C++ compiler")
        self_contained(cxx[0], "cc", "-std=c++11")
    with suite.case("entries and inodes cannot be confused in C"):
        types_are_kept_apart(cc, "c", "c11", BAD)
    with suite.case("entries, inodes and enums cannot be confused in C++"):
        if not cxx or not shutil.which(cxx[0]):
            raise tap.Skip("no C++ compiler")
        types_are_kept_apart(cxx[0], "cc", "c++11", BAD + BAD_CXX)
    with suite.case("a deprecated function is named with its replacement"):
        deprecated_is_said()
    with suite.case("values of enums have their type"):
        enum_parameters()
    with suite.case("names say bytes, not size or room"):
        names = set(re.findall(r"\b(?:dwarfs|DWARFS)_\w+", without_comments()))
        assert len(names) > 400, len(names)
        vague = sorted(name for name in names if re.search(r"_(size|room|ROOM)$", name))
        assert not vague, vague
    with suite.case("dwarfs.h includes every header"):
        found = included("dwarfs.h") | included("reader.h")
        assert "reader.h" in included("dwarfs.h")
        assert found == set(headers()) - {"dwarfs.h"}, found ^ set(headers())
    with suite.case("reader.h declares what the reader's library exports"):
        names = declared(included("reader.h"))
        only = names ^ exported(reader).keys()
        assert not only, f"declared or exported only: {sorted(only)}"
        nodes = {name.rpartition("@")[2] for name in exported(reader).values()}
        assert nodes == {"LIBDWARFS_READER_0.1"}, nodes
    with suite.case("what the headers declare is what the library exports"):
        only_declared = declared() - exported().keys()
        only_exported = exported().keys() - declared()
        assert not only_declared, f"declared, not exported: {sorted(only_declared)}"
        assert not only_exported, f"exported, not declared: {sorted(only_exported)}"
    with suite.case("the reader needs no encoder and no libarchive"):
        needs = run("nm", "-D", "--undefined-only", reader).split()
        assert any(name.startswith("XXH") for name in needs), needs
        bad = [name for name in needs
               if re.match(r"BrotliEncoder|ZSTD_(C|compress)|LZ4_compress|FLAC__stream_encoder|"
                           r"lzma_(.*encode|easy)|archive_", name)]
        assert not bad, bad
    with suite.case("every function says which threads may call it, and since when"):
        lacking = undocumented()
        assert not lacking, lacking
    with suite.case("comments describe results, all parameters, and threads of callbacks"):
        lacking = incomplete()
        assert not lacking, lacking
    with suite.case("comments say who owns outputs, which errors there are, and in which unit"):
        lacking = unclear()
        assert not lacking, lacking
    with suite.case("the manual names the headers that the reader lacks"):
        lacks = set(headers()) - included("reader.h") - {"dwarfs.h", "reader.h"}
        assert reader_exceptions() == lacks, reader_exceptions() ^ lacks
    with suite.case("the manual lists every function, once"):
        listed = in_manual()
        assert set(listed) == declared(), f"{sorted(set(listed) ^ declared())}"
        assert len(listed) == len(set(listed)), "some are listed twice"
        wrong = under_wrong_headers()
        assert not wrong, wrong
        unlisted = unlisted_headers()
        assert not unlisted, unlisted
    for library, name in ((shared, "libdwarfs.map"), (reader, "libdwarfs-reader.map")):
        with suite.case(f"{name} lists each export of its library by name"):
            listed = {f"{symbol}@@{node}" for node, symbols in mapped(name).items()
                      for symbol in symbols}
            found = set(exported(library).values())
            assert listed == found, f"exported or listed only: {sorted(listed ^ found)}"
    with suite.case("a program that uses every function links"):
        if sanitized:
            raise tap.Skip("the library needs a sanitizer's runtime")
        linkable()
    defined, wanted = internal_symbols()
    with suite.case("symbols of a static library begin with dwarfs_ or dw_"):
        strangers = {name for name in defined if not name.startswith(("dwarfs_", "dw_"))
                     and not name.startswith(("__asan", "__odr_asan", "__tsan", "_sub_", "__x86."))}
        assert not strangers, f"{sorted(strangers)}"
    with suite.case("the library uses no forbidden function of the system"):
        bad = {name.split("@")[0] for name in wanted} & set(FORBIDDEN)
        assert not bad, f"{sorted(bad)}"
    with suite.case("the library has the soname libdwarfs.so.0"):
        dynamic = run("readelf", "-d", shared)
        assert "[libdwarfs.so.0]" in dynamic, dynamic
    with suite.case("no symbol of the library can be written from outside"):
        kinds = {line.split()[-1]: line.split()[-2]
                 for line in run("nm", "-D", "--defined-only", shared).splitlines()}
        data = [name for name, kind in kinds.items() if kind in "BDVSG"]
        assert not data, f"exported variables: {data}"
    with suite.case("only base/bytes.h depends on the byte order of the host"):
        knows = re.compile(r"__BYTE_ORDER__|\bendian\.h|\bhto[lb]e\d|\b[lb]e\d+toh\b|"
                           r"__builtin_bswap|\b[hn]to[hn][sl]\b")
        found = [path for path in sources() if knows.search(open(path).read())]
        assert found == [os.path.join(root, "lib", "base", "bytes.h")], found
    with suite.case("no file of the library has mutable global state"):
        if sanitized:
            raise tap.Skip("a sanitizer adds its own")
        state = [line for line in run("nm", internal).splitlines()
                 if len(line.split()) == 3 and line.split()[1] in "bBC"]
        # The allocator of each thread, which is in the section of such variables.
        objdump = run(cc, "-print-prog-name=objdump").strip()  # which knows the machine of cc
        threads = [line.split()[-1] for line in run(objdump, "-t", internal).splitlines()
                   if "\t" in line and line.split("\t")[0].endswith(".tbss")
                   and not line.endswith(".tbss")]
        # Some compilers add local labels for places that have a name, too.
        assert [name for name in threads if not name.startswith(".L")] == [
            "dw_current_allocator"], threads
        state = [line for line in state if line.split()[-1] not in threads]
        assert not state, f"{state}"
    suite.finish()


main()
