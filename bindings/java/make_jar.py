#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compile the Java package and put it into a jar.

    make_jar.py JAVAC JAR OUTPUT VERSION SERVICES SOURCE.java ...

SERVICES is the file for META-INF/services. Equal input gives an equal jar.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

DATE = "2020-01-01T00:00:00+00:00"  # of all files in the jar


def main(javac, jar, output, version, services, *sources):
    with tempfile.TemporaryDirectory() as folder:
        classes = pathlib.Path(folder) / "classes"
        target = classes / "META-INF" / "services"
        target.mkdir(parents=True)
        shutil.copyfile(services, target / pathlib.Path(services).name)
        subprocess.run([javac, "--release", "17", "-encoding", "UTF-8", "-Xlint:all",
                        "-proc:none", "-d", classes, *sources], check=True)
        manifest = pathlib.Path(folder) / "manifest"
        manifest.write_text("Automatic-Module-Name: org.libdwarfs\n"
                            f"Implementation-Title: libdwarfs\nImplementation-Version: {version}\n")
        subprocess.run([jar, "--create", "--file", output, "--manifest", manifest,
                        "--date", DATE, "-C", classes, "."], check=True)


main(*sys.argv[1:])
