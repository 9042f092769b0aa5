# SPDX-License-Identifier: MIT
"""Check that the source tree is laid out as CONTRIBUTING.md says: tests mirror the folders of
lib/ and utils/, a module includes only those below it, guards have the name of their header.

test_layout.py SOURCE_ROOT
"""
import collections
import os
import re
import sys

import tap

ROOT = sys.argv[1]
MOST_MODULES = 14  # of a folder; x.c and x.h are one

# Tests named after a property of the whole module, not after one of its files.
OF_A_MODULE = {
    "archive": ("archive", "archive_images", "archive_round", "archive_times"),
    "codec": ("decoder", "estimate", "memory", "parts"),
    "extract": ("damaged_attributes",),
    "utils/common": ("few_threads", "library_loading", "shrinking"),
    "utils/dwarfsck": ("inputs",),
    "utils/dwarfsextract": ("hostile",),
    "utils/mkdwarfs": ("blocks", "codecs", "hostile", "image_faults", "image_sharing", "leftout",
                       "memory", "predictions", "read_failures", "rewrite"),
}
# Tests of a file in a subfolder that has one test only.
ELSEWHERE = {"codec/test_lzma2.c": "lib/codec/lzma/lzma2.c",
             "codec/test_positions.c": "lib/codec/encode/positions.c",
             "codec/test_samples.c": "lib/codec/encode/samples.c"}
# Files of lib/, and folders that end with a slash, without a test of their name: the tests that
# cover them.
COVERED_BY = {
    "lib/archive/": ("tests/api/test_archive_import.c", "tests/api/test_archive_export.c"),
    "lib/archive/export/": ("tests/archive/test_archive.py", "tests/archive/test_archive_times.py",
                            "tests/api/test_archive_export.c"),
    "lib/archive/import/": ("tests/utils/mkdwarfs/test_archive.py",
                            "tests/utils/mkdwarfs/test_leftout.py",
                            "tests/api/test_archive_import.c"),
    "lib/base/allocator.c": ("tests/base/test_memory.c", "tests/api/test_nomem.c"),
    "lib/base/braces.c": ("tests/base/test_patterns.c",),
    "lib/base/pattern.c": ("tests/write/options/test_filter.c",),
    "lib/base/read_line.c": ("tests/write/options/test_filter.c",),
    "lib/base/version.c": ("tests/api/test_open.c",),
    "lib/format/side/digest_table_write.c": ("tests/format/side/test_digest_table.c",),
    "lib/rewrite/source_sections.c": ("tests/rewrite/test_image_source.c",
                                      "tests/rewrite/test_rewrite.c"),
    "lib/write/budget/memory_plan.c": ("tests/write/budget/test_budget.c",),
    "lib/write/budget/memory_steps.c": ("tests/write/budget/test_budget.c",),
    "lib/write/build_copy.c": ("tests/rewrite/test_rewrite.c",),
    "lib/write/build_sections.c": ("tests/write/test_build.c",
                                   "tests/interop/test_strict.py"),
    "lib/write/inspect/assign_contents.c": ("tests/write/inspect/test_inspect.c",),
    "lib/write/inspect/digest_match.c": ("tests/write/digests/test_digests.c",),
    "lib/write/order/auto/file_division.c": ("tests/write/order/auto/test_interleave.c",),
    "lib/write/images/equal_blocks.c": ("tests/write/images/test_kept_blocks.c",
                                        "tests/utils/mkdwarfs/test_image.py"),
    "lib/write/images/kept_block_writer.c": ("tests/write/images/test_kept_blocks.c",
                                             "tests/rewrite/test_rewrite.c"),
    "lib/write/images/kept_chunks.c": ("tests/write/images/test_kept_blocks.c",),
    "lib/write/images/needed_blocks.c": ("tests/write/images/test_kept_blocks.c",
                                         "tests/utils/mkdwarfs/test_image.py"),
    "lib/write/images/shared_blocks.c": ("tests/utils/mkdwarfs/test_image_sharing.py",),
    "lib/write/segment/segmenter.c": ("tests/write/segment/test_segment.c",),
    "lib/write/segment/kept_anchors.c": ("tests/rewrite/test_add_image.c",
                                         "tests/write/digests/test_digests.c"),
    "lib/write/items/entry_record.c": ("tests/write/items/test_add_item.c",
                                       "tests/write/items/test_layers.c",
                                       "tests/rewrite/test_add_image.c"),
    "lib/read/metadata/image_digests.c": ("tests/write/digests/test_digests.c",),
    "lib/codec/": ("tests/codec/test_codec.c", "tests/codec/test_decoder.c"),
    "lib/codec/encode/": ("tests/codec/test_codec.c", "tests/codec/test_estimate.c",
                          "tests/codec/test_memory.c"),
    "lib/codec/lzma/": ("tests/codec/test_lzma.c", "tests/codec/test_lzma2.c"),
    "lib/compare/": ("tests/api/test_compare.c", "tests/utils/dwarfsck/test_diff.py"),
    "lib/extract/": ("tests/extract/test_extract.py", "tests/extract/test_extract_patterns.py",
                     "tests/extract/test_extract_trouble.py"),
    "lib/format/freeze_types.c": ("tests/format/test_freeze.c",),
    "lib/format/history_write.c": ("tests/interop/test_strict.py", "tests/rewrite/test_rewrite.c"),
    "lib/format/metadata_types.c": ("tests/format/test_freeze.c",),
    "lib/format/side.c": ("tests/read/test_xattr.c",),
    "lib/format/xattrs_write.c": ("tests/format/test_xattrs.c",),
    "lib/hash/": ("tests/hash/test_hash.c",),
    "lib/os/": ("tests/os/test_create.c", "tests/os/test_io.c", "tests/os/test_sink.c"),
    "lib/os/bsd/": ("scripts/platforms",),
    "lib/os/windows/": ("scripts/platforms",),
    "lib/pool/": ("tests/pool/test_pool.c",),
    "lib/read/check/checker.c": ("tests/read/check/test_rules.c", "tests/read/check/test_check.c"),
    "lib/read/check/file_rules.c": ("tests/read/check/test_rules.c",),
    "lib/read/check/name_rules.c": ("tests/read/check/test_rules.c",),
    "lib/read/cache/context_cache.c": ("tests/read/cache/test_cache.c", "tests/base/test_context.c"),
    "lib/read/cache/extent_tree.c": ("tests/read/cache/test_extents.c",),
    "lib/read/cache/keep_ranges.c": ("tests/read/cache/test_extents.c",),
    "lib/read/cache/decode_limit.c": ("tests/api/test_thrashing.c",),
    "lib/read/cache/turns.c": ("tests/api/test_thrashing.c", "tests/api/test_turns.c"),
    "lib/read/image/image_info.c": ("tests/read/image/test_image.c",),
    "lib/read/file.c": ("tests/api/test_file.c", "tests/read/test_file_threads.c"),
}
# Folders of tests of the product as a whole.
OF_THE_PRODUCT = {"abi", "api", "badfs", "bench", "bindings", "compat", "embed", "examples",
                  "interop", "portable", "roundtrip", "source", "support"}
# The modules of the reader.
READER = ("base", "os", "pool", "hash", "format", "codec", "read")
# These implement the headers of lib/os again.
OTHER_PLATFORMS = ("lib/os/windows/", "lib/os/bsd/")
# The same stage in two modules.
SAME_NAMES = {"metadata.c"}


def files(*folders, endings):
    """Paths relative to the root, sorted."""
    found = []
    for folder in folders:
        for parent, folders_inside, names in os.walk(os.path.join(ROOT, folder)):
            folders_inside[:] = [name for name in folders_inside if not name.startswith(".")]
            found += [os.path.relpath(os.path.join(parent, name), ROOT) for name in names
                      if name.endswith(endings)]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as source:
        return source.read()


def includes(path):
    """(form, name) of each include, where form is < or a quotation mark."""
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', read(path), re.M)


def none(problems):
    assert not problems, "\n" + "\n".join(problems)


# -- the checks ----------------------------------------------------------------------------

def tests_have_a_file():
    problems = []
    for test in files("tests", endings=(".c", ".py")):
        folder, name = os.path.split(os.path.relpath(test, "tests"))
        stem = os.path.splitext(name)[0]
        if folder.split("/")[0] in OF_THE_PRODUCT or not stem.startswith("test_"):
            continue
        stem = stem[len("test_"):]
        if stem in OF_A_MODULE.get(folder, ()):
            continue
        if os.path.join(folder, name) in ELSEWHERE:
            tested = ELSEWHERE[os.path.join(folder, name)]
            if not os.path.exists(os.path.join(ROOT, tested)):
                problems.append(f"{test}: there is no {tested}")
            continue
        mirrored = folder if folder.startswith("utils/") else os.path.join("lib", folder)
        place = os.path.join(ROOT, mirrored)
        known = {os.path.splitext(entry)[0] for entry in os.listdir(place)} \
            if os.path.isdir(place) else set()
        if not any(stem == entry or stem.startswith(entry + "_") for entry in known):
            problems.append(f"{test}: no file of {mirrored}/ has the name {stem}")
    none(problems)


def files_have_a_test():
    """Every file of lib/ has a test of its name, or is in COVERED_BY."""
    problems = []
    for path in files("lib", endings=".c"):
        folder, name = os.path.split(os.path.relpath(path, "lib"))
        if not (os.path.exists(os.path.join(ROOT, "tests", folder, "test_" + name))
                or path in ELSEWHERE.values()
                or any(path == entry or entry.endswith("/") and path.startswith(entry)
                       for entry in COVERED_BY)):
            problems.append(f"{path}: no tests/{folder}/test_{name}")
    problems += [f"COVERED_BY: there is no {name}" for entry, tests in COVERED_BY.items()
                 for name in (entry, *tests) if not os.path.exists(os.path.join(ROOT, name))]
    none(problems)


def exceptions_are_needed():
    for folder, names in OF_A_MODULE.items():
        for name in names:
            paths = [f"tests/{folder}/test_{name}.{ending}" for ending in ("c", "py")]
            assert any(os.path.exists(os.path.join(ROOT, path)) for path in paths), paths


def names_are_unique():
    by_name = collections.defaultdict(list)
    for path in files("lib", endings=".c"):
        if path.startswith(OTHER_PLATFORMS):
            continue
        by_name[os.path.basename(path)].append(path)
    none([" and ".join(paths) for name, paths in by_name.items()
          if len(paths) > 1 and name not in SAME_NAMES])


def folders_are_small():
    modules = collections.defaultdict(set)
    for path in files("lib", endings=(".c", ".h")):
        modules[os.path.dirname(path)].add(os.path.splitext(os.path.basename(path))[0])
    none([f"{folder}: {len(names)} modules" for folder, names in modules.items()
          if len(names) > MOST_MODULES])


def module_order():
    """The modules of lib/, lowest first, as lib/meson.build lists them."""
    order = re.findall(r"^\s*subdir\('(\w+)'\)", read("lib/meson.build"), re.M)
    assert len(order) > 8, order
    return order


def modules_include_downwards():
    order = module_order()
    problems = []
    for path in files("lib", endings=(".c", ".h")):
        module = path.split("/")[1]
        for form, name in includes(path):
            included = name.split("/")[0]
            if form == "<" and included == "dwarfs" or included not in order:
                continue
            if order.index(included) > order.index(module):
                problems.append(f"{path} includes {name}, of a module above")
            if {module, included} == {"read", "write"}:
                problems.append(f"{path} includes {name}: read and write are independent")
    none(problems)


def only_public_headers_outside():
    """The programs, bindings and examples use the library as any program does."""
    order = module_order()
    problems = []
    for path in files("utils", "bindings", "examples",
                      endings=(".c", ".h", ".i", ".cpp", ".hpp")):
        own = {os.path.join(parent, name) for parent in ("", "utils", os.path.dirname(path))
               for form, name in includes(path) if form == '"'
               and os.path.exists(os.path.join(ROOT, parent, name))}
        for form, name in includes(path):
            if form == "<":
                if name.split("/")[0] in order:
                    problems.append(f"{path} includes {name}")
            elif not any(found.endswith(name) for found in own) and name != "config.h":
                problems.append(f"{path} includes {name}")
            elif name.split("/")[0] in order:
                problems.append(f"{path} includes {name}")
    none(problems)


def guards_match():
    problems = []
    for path in files("include", "lib", endings=".h"):
        head, rest = path.split("/", 1)
        # The other dwarfs.h, installed if there is no writer.
        rest = rest.replace("reader_only/", "dwarfs/")
        words = rest if head == "include" else "dw/" + rest
        wanted = re.sub(r"[^A-Z0-9]", "_", words.upper())
        found = re.search(r"^#ifndef (\w+)\n#define (\w+)$", read(path), re.M)
        if not found or found.group(1) != wanted or found.group(2) != wanted:
            problems.append(f"{path}: the guard is not {wanted}")
    none(problems)


def file_scope_names(text):
    """Static functions and variables, and tags of types, that a file defines."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    static = r"^(?:static|INLINE)\s(?:[\w\s*]|__attribute__\(\(\w+\)\))*?[\s*]"
    return ({name for name in re.findall(static + r"(\w+)\(", text, re.M) if "__" not in name}
            | set(re.findall(static + r"(\w+)(?:\[[^\]]*\])*(?: =|;)", text, re.M))
            | set(re.findall(r"^((?:struct|union|enum) \w+) \{", text, re.M)))


def reader_files():
    """The sources of the reader, as its meson.build files list them, and their headers."""
    todo = [f"lib/{module}/{name}" for module in READER
            for body in re.findall(rf"^\s*{module}_sources \+?= files\((.*?)\)",
                                   read(f"lib/{module}/meson.build"), re.S | re.M)
            for name in re.findall(r"'([^']+)'", body)]
    found = set()
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += [f"lib/{name}" for form, name in includes(path)
                     if form == '"' and name != "config.h"]
    return sorted(found)


def reader_names_are_unique():
    """So that scripts/amalgamate.py can join the files; local macros end with their file."""
    owners = collections.defaultdict(set)
    for path in reader_files():
        for name in file_scope_names(read(path)):
            owners[name].add(path)
    assert len(owners) > 500, len(owners)
    none([f"{name}: {', '.join(sorted(paths))}" for name, paths in sorted(owners.items())
          if len(paths) > 1])


# Functions that allocate or free, of the C library.
ALLOCATORS = re.compile(
    r"(?<![\w.>])((?:m|c|re|v|pv)alloc|reallocarray|posix_memalign|aligned_alloc|memalign|"
    r"w?c?strn?dup|wcsdup|v?asprintf|getline|getdelim|open_memstream|realpath|scandir|free|"
    r"tempnam|get_current_dir_name|canonicalize_file_name)\b(?!\.h)")
# What is used there: the allocator itself, memory for its blocks at multiples of huge pages, and the
# copy of what realpath() gives.
ALLOCATING = {"lib/base/allocator.c": {"malloc", "calloc", "realloc", "free"},
              "lib/os/posix/pages.c": {"posix_memalign"},
              "lib/os/posix/dir.c": {"realpath", "free"}}


def without_comments(text):
    """A blank in place of each comment and string."""
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def calls_of_allocators(text):
    """Calls, and functions that are passed on; members of that name are neither."""
    code = re.sub(r"[*]+free;", " ", without_comments(text))
    code = re.sub(r"^\s*#.*$", " ", code, flags=re.M)
    return set(ALLOCATORS.findall(code)) - ({"malloc"} if "attribute__((malloc" in code else set())


def memory_is_of_the_allocator():
    """See lib/base/allocator.h."""
    assert calls_of_allocators("x = malloc(1); y->free(z); /* free(x) */") == {"malloc"}
    assert calls_of_allocators(".close = free, strdup(a)") == {"free", "strdup"}
    problems = []
    for path in files("lib", endings=(".c", ".h")):
        found = calls_of_allocators(read(path))
        allowed = ALLOCATING.get(path, set())
        problems += [f"{path} uses {name}()" for name in sorted(found - allowed)]
        problems += [f"{path} does not use {name}()" for name in sorted(allowed - found)]
    none(problems)


def public_functions_use_the_allocator():
    """Those with an object and an error begin with DW_USE_ALLOCATOR_OF()."""
    problems, count = [], 0
    for path in files("lib", endings=".c"):
        if path in ("lib/archive/absent.c", "lib/base/error.c"):
            continue
        for name, parameters, start in re.findall(
                r"^\w[\w\s*]*?\b(dwarfs_\w+)\(([^;{)]*)\)\n\{\n([^\n]*)", read(path), re.M):
            first = re.match(r"(?:const )?dwarfs_(\w+) \*(\w+),", parameters)
            if not first or "dwarfs_error **" not in parameters or first.group(1) == "allocator":
                continue
            count += 1
            if start != f"\tDW_USE_ALLOCATOR_OF({first.group(2)});":
                problems.append(f"{path}: {name}()")
    assert count > 100, count
    none(problems)


def every_file_has_its_licence():
    none([path for path in files("include", "lib", "utils", "tests", "fuzz", "bench", "examples",
                                 "scripts", endings=(".c", ".h", ".py", ".sh", "meson.build"))
          if "SPDX-License-Identifier: MIT" not in read(path)[:400]])


def main():
    suite = tap.Suite()
    for name, check in (
            ("tests are named after the file that they test", tests_have_a_file),
            ("every file of lib/ has a test of its name, or a test that covers it",
             files_have_a_test),
            ("the exceptions among tests exist", exceptions_are_needed),
            ("no two source files of lib/ share a name", names_are_unique),
            (f"no folder of lib/ has more than {MOST_MODULES} modules", folders_are_small),
            ("a module includes only those below it", modules_include_downwards),
            ("programs, bindings and examples use public headers", only_public_headers_outside),
            ("include guards are named after the path", guards_match),
            ("no two files of the reader define the same name", reader_names_are_unique),
            ("memory is allocated by lib/base/allocator.c alone", memory_is_of_the_allocator),
            ("public functions use the allocator of their object",
             public_functions_use_the_allocator),
            ("every source file names its licence", every_file_has_its_licence)):
        with suite.case(name):
            check()
    suite.finish()


main()
