# SPDX-License-Identifier: MIT
"""The headers must be compatible with the dump of the ABI; see scripts/abi.py."""
import os
import platform
import shutil
import subprocess
import sys
import tempfile

import tap

ROOT = os.environ["DWARFS_SOURCE_ROOT"]


def changed(old, new, header="image.h"):
    """Run the comparison on a copy of the tree in which a header was changed."""
    with tempfile.TemporaryDirectory() as copy:
        for part in ("include/dwarfs", "scripts", "tests/abi"):
            shutil.copytree(os.path.join(ROOT, part), os.path.join(copy, part))
        path = os.path.join(copy, "include", "dwarfs", header)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        assert text.count(old) >= 1, old
        with open(path, "w", encoding="utf-8") as out:
            out.write(text.replace(old, new, 1))
        return compare(copy)


def compare(root):
    return subprocess.run([sys.executable, os.path.join(root, "scripts", "abi.py"), "diff"],
                          capture_output=True, text=True, check=False)


def refused(done, name):
    assert done.returncode != 0 and name in done.stdout, done.stdout + done.stderr


def main():
    for program in ("abidw", "abidiff", "cc"):
        if not shutil.which(program):
            tap.skip_all(f"no {program} (Debian: abigail-tools)")
    if platform.machine() != "x86_64":
        tap.skip_all("the dump is of x86_64")
    suite = tap.Suite()
    with suite.case("the headers are compatible with tests/abi/libdwarfs.abi"):
        done = compare(ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
    with suite.case("another type of a result is refused, with the name of the function"):
        refused(changed("uint64_t dwarfs_image_offset(", "uint32_t dwarfs_image_offset("),
                "dwarfs_image_offset")
    with suite.case("a function that is gone is refused"):
        refused(changed("DWARFS_API uint64_t dwarfs_image_offset(const dwarfs_image *image);",
                        ""), "dwarfs_image_offset")
    with suite.case("another value of a constant is refused"):
        refused(changed("\tDWARFS_VERIFY_LAZY,", "\tDWARFS_VERIFY_LAZY = 7,"), "DWARFS_VERIFY_LAZY")
    with suite.case("another value of a constant that no function has in its type is refused"):
        refused(changed("\tDWARFS_ERR_IO = -4,", "\tDWARFS_ERR_IO = -40,", "error.h"),
                "DWARFS_ERR_IO")
        refused(changed("\tDWARFS_SECTION_SCHEMA = 7,", "\tDWARFS_SECTION_SCHEMA = 6,"),
                "DWARFS_SECTION_SCHEMA")
        refused(changed("\tDWARFS_REWRITE_METADATA = 2,", "", "rewrite.h"),
                "DWARFS_REWRITE_METADATA")
    with suite.case("a further constant is accepted"):
        done = changed("\tDWARFS_ERR_LIMIT = -16,", "\tDWARFS_ERR_LIMIT = -16,\n"
                       "\tDWARFS_ERR_MORE = -17,", "error.h")
        assert done.returncode == 0, done.stdout + done.stderr
    with suite.case("another value of a macro is refused"):
        refused(changed("DWARFS_NAME_BUFFER_BYTES 256", "DWARFS_NAME_BUFFER_BYTES 64", "walk.h"),
                "DWARFS_NAME_BUFFER_BYTES")
        refused(changed("DWARFS_OFFSET_AUTO UINT64_MAX", "DWARFS_OFFSET_AUTO 0"),
                "DWARFS_OFFSET_AUTO")
        refused(changed("#define DWARFS_SIZE_AUTO UINT64_MAX", ""), "DWARFS_SIZE_AUTO")
    with suite.case("another inline function is refused"):
        refused(changed("dwarfs_entry dwarfs_entry_at(uint32_t", "dwarfs_entry dwarfs_entry_at(int",
                        "walk.h"), "dwarfs_entry_at")
    with suite.case("another member of a struct is refused"):
        refused(changed("\tsize_t bytes;\n};", "\tsize_t bytes;\n\tint more;\n};", "file.h"),
                "dwarfs_iovec")
    with suite.case("a further function is accepted"):
        done = changed("DWARFS_API uint64_t dwarfs_image_offset(",
                       "DWARFS_API int dwarfs_more(void);\n"
                       "DWARFS_API uint64_t dwarfs_image_offset(")
        assert done.returncode == 0, done.stdout + done.stderr
    suite.finish()


if __name__ == "__main__":
    main()
