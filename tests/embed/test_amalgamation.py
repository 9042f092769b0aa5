# SPDX-License-Identifier: MIT
"""dwarfs-reader.c and dwarfs-reader.h: made by scripts/amalgamate.py, compiled by one line of cc.

test_amalgamation.py SOURCE...
"""
import os
import sys
import tempfile

import embed
import tap

MOST_BYTES = 250_000  # of code and constants, with zstd
ALL = ["-DDWARFS_HAVE_LZ4=1", "-DDWARFS_HAVE_LZMA=1", "-DDWARFS_HAVE_BROTLI=1",
       "-DDWARFS_HAVE_FLAC=1", "-DDWARFS_HAVE_BLAKE2=1", "-DDWARFS_HAVE_NETTLE=1"]
ALL_LIBRARIES = ["-llz4", "-llzma", "-lbrotlidec", "-lFLAC", "-lb2", "-lnettle"]
LIBRARIES = ["-lxxhash", "-lzstd", "-lpthread"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CONVERSIONS = ["-Wconversion", "-Wsign-conversion"]  # clang warns of each use of an enum as int
EMBEDDED = '-DEMBED_HEADER="dwarfs-reader.h"'

sources = sys.argv[1:]


def build(scratch, *flags, output="reader", libraries=()):
    """One line of the compiler, for the program and the library."""
    output = os.path.join(scratch, output)
    embed.run("cc", *flags, EMBEDDED, "-I", scratch, embed.READER_C,
              os.path.join(scratch, "dwarfs-reader.c"), "-o", output, *libraries, *LIBRARIES)
    return output


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-embed-") as scratch:
        made = [os.path.join(scratch, f"dwarfs-reader.{kind}") for kind in "ch"]
        with suite.case("the two files are reproducible"):
            script = os.path.join(embed.ROOT, "scripts", "amalgamate.py")
            embed.run(sys.executable, script, embed.ROOT, *made, *sources)
            texts = [open(path, encoding="utf-8").read() for path in made]
            embed.run(sys.executable, script, embed.ROOT, *made, *sources)
            assert texts == [open(path, encoding="utf-8").read() for path in made]
            assert '#include "' not in texts[1] and texts[0].count('#include "') == 1
        with suite.case("one line of cc, without a warning; the program lists and reads an image"):
            image = embed.make_image(scratch)
            program = build(scratch, "-Os", *STRICT)  # as for an embedded system with little memory
            embed.expect(embed.run(program, image), verifies_sha=False)
        with suite.case(f"the program has at most {MOST_BYTES} bytes"):
            embed.need("size")
            found = embed.text_bytes(program)
            print(f"# {found} bytes of code and constants")
            assert found <= MOST_BYTES, found
        library = os.path.join(scratch, "dwarfs-reader.o")
        with suite.case("programs that check what they use"):
            embed.run("cc", "-O0", "-c", made[0], "-o", library)

            def build_check(name):
                output = os.path.join(scratch, name)
                embed.run("cc", EMBEDDED, "-I", scratch, embed.check_source(name), library, "-o",
                          output, *LIBRARIES)
                return output
            embed.run_checks(build_check, image)
        with suite.case("with every codec and nettle"):
            if os.environ.get("DWARFS_CODECS_ABSENT"):
                raise tap.Skip("not every codec is installed")
            program = build(scratch, "-O0", *ALL, output="all", libraries=ALL_LIBRARIES)
            embed.expect(embed.run(program, image), verifies_sha=True)
        for standard in ("c11", "c17"):
            with suite.case(f"no warning of clang -std={standard} {' '.join(STRICT)}"):
                embed.need("clang")
                embed.run("clang", f"-std={standard}", *STRICT, "-fsyntax-only", made[0])
        with suite.case("no warning of gcc -std=c17, nor of a conversion, with every codec"):
            embed.need("gcc")
            codecs = [] if os.environ.get("DWARFS_CODECS_ABSENT") else ALL
            embed.run("gcc", "-std=c17", *STRICT, *CONVERSIONS, *codecs, "-fsyntax-only", made[0])
        with suite.case("the header is C++, and the program that includes it"):
            embed.need("c++")
            for standard in ("c++11", "c++20"):
                embed.run("c++", f"-std={standard}", *STRICT, "-pedantic-errors", EMBEDDED,
                          "-I", scratch, "-fsyntax-only", "-x", "c++", embed.READER_C)
    suite.finish()


main()
