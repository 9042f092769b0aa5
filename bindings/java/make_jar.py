#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compile the Java package and put it into a jar. Equal input gives an equal jar."""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

# Without the compiler that is for long runs: half of the time.
SHORT_RUN = "-J-XX:TieredStopAtLevel=1"
DATE = "2020-01-01T00:00:00+00:00"  # of all files in the jar
MANIFEST = """Automatic-Module-Name: org.libdwarfs
Implementation-Title: libdwarfs
Implementation-Version: {version}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--javac", required=True)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--class-path", default="", help="of libraries that the jar does not have")
    parser.add_argument("--service", action="append", help="a file for META-INF/services")
    parser.add_argument("sources", nargs="+")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        classes = pathlib.Path(folder) / "classes"
        services = classes / "META-INF" / "services"
        services.mkdir(parents=True)
        for service in words.service:
            shutil.copyfile(service, services / pathlib.Path(service).name)
        subprocess.run([words.javac, SHORT_RUN, "--release", "17", "-encoding", "UTF-8",
                        "-Xlint:all,-classfile,-path", "-proc:none", "-cp", words.class_path or classes,
                        "-d", classes, *words.sources], check=True)
        manifest = pathlib.Path(folder) / "manifest"
        manifest.write_text(MANIFEST.format(version=words.version))
        subprocess.run([words.jar, SHORT_RUN, "--create", "--file", words.output, "--manifest", manifest,
                        "--date", DATE, "-C", classes, "."], check=True)


main()
