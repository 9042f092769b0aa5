# SPDX-License-Identifier: MIT
"""The bindings after an installation, where each interpreter searches for them.

    test_installed.py BUILD_DIRECTORY PREFIX LANGUAGE=INTERPRETER...

Installs the build below a temporary folder, and lets Python, Perl, Ruby, Lua and Java read an image
with what is there. With the prefix of an interpreter of the system, /usr or /usr/local, the folders must be
among those in which it searches by itself; for Java, only with /usr.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import tap

BUILD, PREFIX = os.path.abspath(sys.argv[1]), sys.argv[2]
INTERPRETERS = dict(word.split("=", 1) for word in sys.argv[3:])
CLASS = """
public class Read {
    public static void main(String[] words) throws Exception {
        try (var image = org.libdwarfs.Image.open(java.nio.file.Path.of(words[0]))) {
            System.out.print(new String(image.readAllBytes("a")));
        }
    }
}
"""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}"
    return done.stdout


class Perl:
    searched = ["-e", r'print "$_\n" for @INC']
    read = ["-e", 'use Dwarfs; print Dwarfs->open($ARGV[0])->read("a")']
    # The files, and what is between them and a folder that is searched.
    files = {"Dwarfs.pm": "", "Native.so": "auto/Dwarfs/Native"}

    @staticmethod
    def options(_):
        return []

    @staticmethod
    def variables(folders):
        return {"PERL5LIB": ":".join(folders)}


class Python(Perl):
    searched = ["-c", "import sys; print(*sys.path, sep='\\n')"]
    read = ["-c", 'import dwarfs, sys; print((dwarfs.open(sys.argv[1]) / "a").read_text(), end="")']
    files = {"_dwarfs.*so": "dwarfs"}

    @staticmethod
    def variables(folders):
        return {"PYTHONPATH": folders[0]}


class Ruby(Perl):
    searched = ["-e", "puts $LOAD_PATH"]
    read = ["-e", 'require "dwarfs"; print Dwarfs.open(ARGV[0]).read("a")']
    files = {"dwarfs.rb": "", "dwarfs_native.so": ""}

    @staticmethod
    def variables(folders):
        return {"RUBYLIB": ":".join(folders)}


class Lua(Perl):
    searched = ["-e", r"""for place in (package.path .. ";" .. package.cpath):gmatch("[^;]+") do
                             print((place:gsub("/%?%.%a+$", "")))
                         end"""]
    read = ["-e", 'io.write(require("dwarfs").open(arg[1]):read("a"))']
    files = {"dwarfs.lua": "", "dwarfs_native.so": ""}

    @staticmethod
    def options(folders):
        return ["-e", f"package.path, package.cpath = '{folders[0]}/?.lua', '{folders[1]}/?.so'"]

    @staticmethod
    def variables(_):
        return {}


class Java(Perl):
    searched = ["-XshowSettings:properties", "-version"]
    files = {"libdwarfs_jni.so": "", "dwarfs.jar": ""}

    @staticmethod
    def options(folders):
        return [f"-Djava.library.path={folders[0]}", "-cp", f"{folders[1]}/dwarfs.jar"]

    @staticmethod
    def variables(_):
        return {}


LANGUAGES = {"python": Python, "perl": Perl, "ruby": Ruby, "lua": Lua, "java": Java}


def installed(root, name, language, below):
    """The folder that is searched, and has the file."""
    found = [path for path in pathlib.Path(root).rglob(name)
             if language in str(path.parent.relative_to(root)) or name == "libdwarfs_jni.so"]
    assert len(found) == 1, f"{name}: {found}"
    folder = str(found[0].parent).removesuffix("/" + below if below else "")
    assert not below or folder != str(found[0].parent), f"{found[0]} is not in {below}"
    return folder


def check_language(language, interpreter, root, image, scratch):
    of = LANGUAGES[language]
    folders = [installed(root, name, language, below) for name, below in of.files.items()]
    read = getattr(of, "read", None)
    if language == "java":
        read = [scratch / "Read.java"]
        read[0].write_text(CLASS)
    command = [interpreter, *of.options(folders), *read, *(["-"] if language == "lua" else []), image]
    library = next(root.rglob("libdwarfs.so.0")).parent
    text = run(*command, cwd=scratch, stdin=subprocess.DEVNULL,
               env={**os.environ, **of.variables(folders), "LD_LIBRARY_PATH": str(library),
                    "PYTHONDONTWRITEBYTECODE": "1"})  # of modules that are removed with scratch
    assert text == "contents", text
    if PREFIX not in (("/usr",) if language == "java" else ("/usr", "/usr/local")) \
            or not interpreter.startswith("/usr/bin/"):
        return
    places = {os.path.normpath(place.strip().rpartition("= ")[2])
              for place in run(interpreter, *of.searched).splitlines()}
    for folder in folders if language != "java" else folders[:1]:
        assert folder.removeprefix(str(root)) in places, (folder, places)


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-installed-") as name:
        scratch = pathlib.Path(name)
        root, image = scratch / "root", scratch / "image.dwarfs"
        (scratch / "tree").mkdir()
        (scratch / "tree" / "a").write_text("contents")
        with suite.case("the project installs"):
            run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root)
        run(os.environ["MKDWARFS"], "-i", scratch / "tree", "-o", image, "--no-progress")
        for language, interpreter in INTERPRETERS.items():
            with suite.case(f"{language} reads an image with what is installed"):
                check_language(language, interpreter, root, image, scratch)
    suite.finish()


main()
