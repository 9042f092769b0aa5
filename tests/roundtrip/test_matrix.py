# SPDX-License-Identifier: MIT
"""Combinations of options: every image is checked, extracted, and independent of the number of
threads.

test_matrix.py [pairs]

Any two values of different options occur in at least one image, and any three of those in TRIPLES
with codecs of CODECS, unless only pairs are requested. Each image is checked, and is extracted by the library; the result
must equal the tree of rich.py. Those that cover the pairs are made twice, with different numbers of
workers, which must give the same bytes.
"""
import itertools
import os
import random
import subprocess
import sys
import tempfile

import absent
import rich
import tap
import tree
import walker

COLUMNS = ["type", "mode", "mtime", "size", "nlink", "rdev", "target", "sha256"]
WORKERS = (("0", "8"), ("1", "8"), ("0", "1"))

AXES = {
    "codec": [["-C", codec] for codec in ("null", "lz4", "lz4hc:level=3", "zstd:level=1",
                                          "zstd:level=5:long", "lzma:level=0", "brotli:quality=2")],
    "block": [["-S", bits] for bits in ("12", "16", "27")],
    "order": [["--order", order] for order in ("none", "path", "revpath", "auto", "similarity",
                                               "nilsimsa:max-children=16:max-cluster-size=32",
                                               "explicit:file={list}")],
    "categories": [[], ["--categorize"],
                   ["--categorize=pcmaudio,incompressible", "--incompressible-fragments"]],
    "window": [["-W", "0"], ["-W", "6", "-w", "1"], ["-W", "12", "-w", "3"],
               ["-W", "10", "-w", "0", "-B", "1"]],
    "more": [[], ["--metadata-compression=null"], ["--file-hash=none"], ["--no-sparse-files"],
             ["-L", "2g"], ["--max-similarity-size", "50k"], ["--no-category-names"]],
}


# Options that interact: contents and compression of blocks, and earlier stages.
TRIPLES = [("codec", "block", "order"), ("order", "categories", "window"),
           ("block", "categories", "window")]

# An encoder sees the bytes of a block and nothing of the earlier stages, which see whether blocks are
# compressed at all, and from which distance. So the others, which are slower, occur in pairs only.
CODECS = ("null", "lz4", "zstd:level=5:long")


def covering(axes, triples):
    """Few rows of one value for each axis that cover all pairs and the triples."""
    rng = random.Random(27182)
    names = list(axes)
    sizes = [len(values) for values in axes.values()]
    groups = list(itertools.combinations(range(len(sizes)), 2))
    groups += [tuple(sorted(map(names.index, triple))) for triple in triples]
    missing = {tuple(zip(group, values)) for group in groups
               for values in itertools.product(*(
                   [number for number in range(sizes[axis]) if len(group) == 2
                    or names[axis] != "codec" or axes["codec"][number][-1] in CODECS]
                   for axis in group))}
    rows = []

    def met(row):
        return {tuple((axis, row[axis]) for axis in group) for group in groups}
    while missing:
        best, most = None, -1
        first = max(missing, key=lambda wanted: (len(wanted), wanted))
        for _ in range(40):
            row = [rng.randrange(size) for size in sizes]
            for axis, value in first:
                row[axis] = value
            new = len(met(row) & missing)
            if new > most:
                best, most = row, new
        missing -= met(best)
        rows.append([values[number] for values, number in zip(axes.values(), best)])
    return rows


def run(variable, *words):
    done = subprocess.run([tap.tool(variable), *words], capture_output=True, text=True,
                          errors="replace")
    assert done.returncode == 0, f"{variable} ended with {done.returncode}: {done.stderr}"


def pack(source, image, workers, options):
    run("MKDWARFS", "-i", source, "-o", image, "-f", "-l", "3", "--no-progress", "-N", workers,
        "--num-scanner-workers", workers, "--no-history", "--no-create-timestamp",
        "--log-level=error", *options)
    with open(image, "rb") as made:
        return made.read()


def explicit_list(expected, path):
    """Some of the files, in an arbitrary order, and some that do not exist."""
    files = [name for name, row in expected.items() if row["type"] == "f"]
    files = [name for name in files if b"\n" not in os.fsencode(name)]
    random.Random(5).shuffle(files)
    with open(path, "wb") as out:
        for name in files[:len(files) // 2] + ["not/there"]:
            out.write(os.fsencode(name) + b"\n")


def check(source, expected, scratch, workers, options):
    image = os.path.join(scratch, "image")
    target = os.path.join(scratch, "target")
    images = {count: pack(source, image, count, options) for count in workers}
    assert len(set(images.values())) == 1, f"{workers} workers give different images"
    run("DWARFSCK", "-q", "--check-integrity", image)
    try:
        run("DWARFSEXTRACT", "-i", image, "-o", target)
        walker.must_agree(expected, walker.describe(target), columns=COLUMNS,
                          holes="--no-sparse-files" not in options, resolution_ns=10**9)
    finally:
        tree.remove(target)


def main(triples="triples"):
    for variable in ("MKDWARFS", "DWARFSCK", "DWARFSEXTRACT"):
        try:
            tap.tool(variable)
        except tap.Skip as reason:
            tap.skip_all(reason)
    inputs = os.path.join(os.environ.get("DWARFS_TEST_DATA", ""), "inputs")
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-matrix-") as scratch:
        source = os.path.join(scratch, "source")
        rich.make(source, inputs if os.path.isdir(inputs) else None)
        expected = walker.describe(source)
        listed = os.path.join(scratch, "list")
        explicit_list(expected, listed)
        compared = set()  # pairs of values
        for number, row in enumerate(covering(AXES, TRIPLES if triples == "triples" else [])):
            options = [word for words in row for word in words]
            workers = WORKERS[number % 3]
            with suite.case(" ".join(options)):
                absent.need_for_options(options)
                pairs = set(itertools.combinations([(axis, *words) for axis, words
                                                    in zip(AXES, row)], 2))
                if pairs <= compared:
                    workers = workers[-1:]
                compared |= pairs
                check(source, expected, scratch, workers,
                      [word.replace("{list}", listed) for word in options])
    suite.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
