# SPDX-License-Identifier: MIT
"""The Java package, used as by a program: the cases of Scenarios.java in one process, with the
checks of -Xcheck:jni.

    test_java.py JAVA JAR FOLDER_OF_LIBRARY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import absent
import tap
from test_scenarios import NEED_ARCHIVES, OPERATIONS

JAVA, JAR, LIBRARY = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]
SOURCE = pathlib.Path(__file__).with_name("Scenarios.java")
ROOT = SOURCE.parent.parent.parent
# A fast compiler, as the process is short. All of the heap is in memory from the start, so that what
# a case measures is other memory.
OPTIONS = ["-Xcheck:jni", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms128m", "-Xmx128m",
           "-XX:+AlwaysPreTouch", "-Dfile.encoding=UTF-8"]
COMPLAINTS = ("WARNING in native method", "WARNING: JNI", "FATAL ERROR in native method")


def report(lines, suite):
    """Turn the lines of the process into cases; returns those that belong to none."""
    rest, failed = [], None
    for line in lines + ["ok"]:
        is_case = line.startswith(("ok", "not ok "))
        if failed is not None and is_case:
            with suite.case(failed[0]):
                if failed[0] in NEED_ARCHIVES:
                    absent.need("archive")
                raise AssertionError("\n".join(failed[1:]))
            failed = None
        if line.startswith("ok "):
            with suite.case(line[3:]):
                pass
        elif line.startswith("not ok "):
            failed = [line[7:]]
        elif failed is not None:
            failed.append(line)
        elif not is_case:
            rest.append(line)
    return rest


def run(*words, **more):
    return subprocess.run([JAVA, *OPTIONS, f"-Djava.library.path={LIBRARY}", "-cp", JAR, *words],
                          capture_output=True, text=True, errors="backslashreplace",
                          env=dict(os.environ, LC_ALL="C.UTF-8"), **more)


def examples(suite, folder):
    """The example, and the program in README.md."""
    (folder / "photos").mkdir()
    (folder / "photos" / "notes.txt").write_text("text")
    (folder / "photos" / "notes.txt~").write_text("old")
    example = ROOT / "examples" / "ListImage.java"
    with suite.case("the example packs and lists"):
        done = run(example, "pack", folder / "photos", folder / "x.dwarfs")
        assert (done.returncode, done.stdout) == (0, "1 files\n"), done
        done = run(example, "list", folder / "x.dwarfs", "**.txt")
        assert (done.returncode, done.stdout) == (0, "4 /notes.txt\n"), done
    with suite.case("the program in README.md runs"):
        absent.need("archive")
        found = re.findall(r"```java\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        assert len(found) == 1, found
        (folder / "Photos.java").write_text(found[0])
        done = run(folder / "Photos.java", cwd=folder)
        assert done.returncode == 0, done
        assert done.stdout.splitlines() == ["4 notes.txt", "3 notes.txt~", "text"], done


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-java-") as folder:
        done = run(SOURCE, folder)
    rest = report(done.stdout.splitlines(), suite)
    with suite.case("there is a case for each operation of all languages"):
        missing = [name for name in OPERATIONS
                   if not re.search(f"^(not )?ok {name}$", done.stdout, re.MULTILINE)]
        assert not missing, missing
    with suite.case("the process ends by itself"):
        assert rest == ["done"] and done.returncode in (0, 1), (done.returncode, rest[-20:],
                                                                done.stderr[-2000:])
    with suite.case("-Xcheck:jni has no complaints"):
        found = [line for line in rest + done.stderr.splitlines()
                 if any(complaint in line for complaint in COMPLAINTS)]
        assert not found, found[:10]
    with tempfile.TemporaryDirectory(prefix="dwarfs-java-") as folder:
        examples(suite, pathlib.Path(folder))
    suite.finish()


main()
