# SPDX-License-Identifier: MIT
"""Spark reads an image by the file system of Hadoop in the Java package.

    test_spark.py JAR FOLDER_OF_LIBRARY CLASS_PATH

CLASS_PATH is that of the option hadoop: the jars of a pyspark, which is used. To run it:

    pip install --target DIRECTORY pyspark==3.5.3
    meson setup BUILD "-Dhadoop=DIRECTORY/pyspark/jars/*"
    meson test -C BUILD bindings-spark
"""
import collections
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import tap

JAR, LIBRARY, CLASS_PATH = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
FILES = 60


def make_tree(root):
    """Returns the contents of files by their path."""
    contents = {}
    for number in range(FILES):
        path = f"dir{number % 4}/sub{number % 3}/file {number}.txt"
        contents[path] = "".join(f"line {line} of {number}\n" for line in range(number * 7)).encode()
    for number in range(3):
        rows = "".join(f"{number},{row},{row * row}\n" for row in range(1000))
        contents[f"tables/{number}.csv"] = b"table,row,square\n" + rows.encode()
    for path, data in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "tables" / "link.csv").symlink_to("0.csv")
    (root / "tables" / "lost.csv").symlink_to("missing")
    return contents


def session(image):
    # The folder that has the package whose jars were compiled against.
    package = pathlib.Path(CLASS_PATH).parent.parent.parent
    sys.path.insert(0, str(package))
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        tap.skip_all(f"no pyspark beside the jars of the option hadoop: {error}")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return (SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.extraClassPath", JAR)
            .config("spark.driver.extraJavaOptions", f"-Djava.library.path={LIBRARY}")
            .config("spark.hadoop.fs.dwarfs.image", str(image))
            .config("spark.hadoop.fs.dwarfs.image.inner", "dwarfs:///inner.dwarfs")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate())


def cases(suite, spark, contents):
    texts = [path for path in contents if path.endswith(".txt")]
    lines = collections.Counter(line for path in texts
                                for line in contents[path].decode().splitlines())
    with suite.case("binaryFiles gives the files"):
        found = spark.sparkContext.binaryFiles("dwarfs:///dir*/*/*").collect()
        assert {path: bytes(data) for path, data in found} == {
            f"dwarfs:/{path}": contents[path] for path in texts}, [path for path, _ in found][:3]
    with suite.case("text gives the lines of all files"):
        found = spark.read.option("recursiveFileLookup", "true").text("dwarfs:///", pathGlobFilter="*.txt")
        assert collections.Counter(row.value for row in found.collect()) == lines
    with suite.case("text is split into partitions that read parts of a file"):
        big = spark.sparkContext.textFile("dwarfs:///dir3/sub2/file 59.txt", 7)
        assert big.getNumPartitions() == 7
        assert big.collect() == contents["dir3/sub2/file 59.txt"].decode().splitlines()
    with suite.case("csv gives the rows, links included and lost ones not"):
        found = spark.read.csv("dwarfs:///tables", header=True, inferSchema=True)
        rows = collections.Counter(
            tuple(int(value) for value in row) for number in (0, 0, 1, 2)
            for row in list(csv.reader(contents[f"tables/{number}.csv"].decode().splitlines()))[1:])
        assert collections.Counter(map(tuple, found.collect())) == rows
        assert found.groupBy("table").sum("square").count() == 3
    with suite.case("an image in a file system of Hadoop is opened through it"):
        found = spark.read.text("dwarfs://inner/small.txt")
        assert [row.value for row in found.collect()] == ["inside"]
    with suite.case("a missing path and writing are refused"):
        for action, words in ((lambda: spark.read.text("dwarfs:///none").collect(), "does not exist"),
                              (lambda: spark.range(3).write.csv("dwarfs:///new"), "read-only"),
                              (lambda: spark.read.text("dwarfs://other/").collect(),
                               "fs.dwarfs.image.other is missing")):
            try:
                action()
            except Exception as error:  # of Java, by py4j
                assert words in str(error), error
            else:
                raise AssertionError("nothing was raised")


def main():
    suite = tap.Suite()
    mkdwarfs = tap.tool("MKDWARFS")
    with tempfile.TemporaryDirectory(prefix="dwarfs-spark-") as folder:
        root = pathlib.Path(folder)
        os.chdir(root)  # Spark leaves files where it runs
        tree, inner = root / "tree", root / "inner"
        tree.mkdir()
        inner.mkdir()
        contents = make_tree(tree)
        (inner / "small.txt").write_text("inside\n")
        for source, image in ((inner, tree / "inner.dwarfs"), (tree, root / "image.dwarfs")):
            subprocess.run([mkdwarfs, "-i", source, "-o", image, "-l", "3", "-S", "16"], check=True,
                           capture_output=True)
        spark = session(root / "image.dwarfs")
        spark.sparkContext.setLogLevel("OFF")
        try:
            cases(suite, spark, contents)
        finally:
            spark.stop()
    suite.finish()


main()
