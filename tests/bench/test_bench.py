# SPDX-License-Identifier: MIT
"""The programs of bench/: reproducible data sets, stored results, reported losses, languages."""
import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest.mock

import tap

BENCH = os.path.join(os.environ["DWARFS_SOURCE_ROOT"], "bench")
sys.path.insert(0, BENCH)

import bindings  # noqa: E402  (found by the path above)
import concurrency  # noqa: E402
import fetched  # noqa: E402
import generate  # noqa: E402
import matrix  # noqa: E402
import records  # noqa: E402
import report  # noqa: E402
import store  # noqa: E402
import threads  # noqa: E402

DATA = "1 files, 1 bytes"


def digest(directory):
    found = hashlib.sha256()
    for path, below, names in os.walk(directory):
        below.sort()
        for name in sorted(names):
            with open(os.path.join(path, name), "rb") as source:
                found.update(os.path.relpath(os.path.join(path, name), directory).encode())
                found.update(source.read())
    return found.hexdigest()


def lines(directory, release, name):
    with open(os.path.join(directory, release, "lib", name), encoding="utf-8") as source:
        return source.read().split("\n")


def common(first, second):
    """The share of one list's lines that the other one has, too."""
    have = set(second)
    return sum(line in have for line in first) / len(first)


def compare(path, *words):
    return subprocess.run([sys.executable, os.path.join(BENCH, "compare.py"), *words,
                           "--results", path], capture_output=True, text=True, check=False)


def results(commit, sizes, cpu=1.0):
    """Results with one sample for each set and command."""
    return {"given": {}, "measured": {commit: {
        name: {command: {"data": DATA, "samples": [[size, cpu, 1.0, 2**20, 1]]}
               for command, size in by_command.items()} for name, by_command in sizes.items()}}}


def merged(*parts):
    out = {"given": {}, "measured": {}}
    for part in parts:
        out["measured"].update(part["measured"])
        out["given"].update(part["given"])
    return out


def lost(found, against="other"):
    made = matrix.Report(found, "ours", against)
    made.text()
    return made.lost


def test_generated(suite, top):
    with suite.case("generated: the same bytes from the same seed, others from another"):
        names = [generate.generate(os.path.join(top, name), 12, 0.02) for name in "ab"]
        assert names[0] == names[1] == generate.RELEASES
        assert digest(os.path.join(top, "a")) == digest(os.path.join(top, "b"))
        with unittest.mock.patch.object(generate, "RELEASES", generate.RELEASES[:1]):
            [first] = generate.generate(os.path.join(top, "c"), 13, 0.02)
        assert digest(os.path.join(top, "a", first)) != digest(os.path.join(top, "c", first))
    a = os.path.join(top, "a")
    with suite.case("generated: files and releases have much in common, but are not equal"):
        for first, second in ((("1.4.1", "services.js"), ("1.4.1", "server.js")),
                              (("1.4.1", "services.js"), ("1.4.1", "legacy.js")),
                              (("1.10.2", "server.js"), ("1.10.5", "server.js")),
                              (("1.10.2", "server.js"), ("1.11.0", "server.js"))):
            share = common(lines(a, *first), lines(a, *second))
            assert 0.4 < share < 1, (first, second, share)
    with suite.case("generated: no marker of the generator remains, releases have many files"):
        for path, _, names in os.walk(a):
            for name in names:
                with open(os.path.join(path, name), "rb") as source:
                    text = source.read()
                assert text.translate(None, b"\2\3\4") == text, name
        assert sum(len(names) for _, _, names in os.walk(a)) > 130 * len(generate.RELEASES)


def test_records(suite):
    with suite.case("mail: the same messages each time; answers quote"):
        mails = [records.Mail(5), records.Mail(5)]
        texts = [[mail.message(number) for number in range(200)] for mail in mails]
        assert texts[0] == texts[1]
        assert len(set(texts[0])) == 200
        assert sum("\n> " in text for text in texts[0]) > 40
    with suite.case("table: rows have the requested count and width"):
        for name, columns in records.Tables.SHAPES.items():
            made = list(getattr(records.Tables(5), name)(100))
            assert made == list(getattr(records.Tables(5), name)(100))
            assert len(made) == 100 and len(made[0]) == len(columns.split(",")), name
            assert [row[0] for row in made] == list(range(1, 101))
    with suite.case("dumps: the same days each time, of which most rows stay as they are"):
        pair = [records.Dumps(5, 1000), records.Dumps(5, 1000)]
        before = "".join(pair[0].statements())
        for dumps in pair:
            dumps.next_day()
        texts = ["".join(dumps.statements()) for dumps in pair]
        assert texts[0] == texts[1]
        kept = set(before.split("),(")) & set(texts[0].split("),("))
        assert 0.6 < len(kept) / len(pair[0].rows) < 0.9
        assert len(pair[0].rows) == 1000 + records.Dumps.NEW - records.Dumps.GONE


def test_stamps(suite, top):
    with suite.case("stamps: times and modes of all entries depend on their names only"):
        seen = []
        for name in ("x", "y"):
            for part in ("1/a/f", "1/g", "2/a/f", "h"):
                path = os.path.join(top, name, part)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="ascii") as out:
                    out.write(part)
                os.chmod(path, 0o600)
            directory = os.path.join(top, name)
            fetched.stamp_all(directory, ["1", "2", "h"])
            seen.append([(os.path.relpath(path, directory), os.stat(path).st_mode)
                         + ((os.stat(path).st_mtime_ns,) if path != directory else ())
                         for path in sorted([directory, *(os.path.join(at, entry)
                                                          for at, below, names
                                                          in os.walk(directory)
                                                          for entry in below + names)])])
        assert seen[0] == seen[1]
        assert all(mode & 0o777 in (0o644, 0o755) for _, mode, *_ in seen[0])


def test_store(suite, top):
    path = os.path.join(top, "results.json")
    with suite.case("results: two processes that add at the same time lose nothing"):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import store\n"
                "for number in range(40):\n"
                "    store.add(sys.argv[2], 'c', sys.argv[3], f'-l{number}', 'd',"
                " [number, 1, 1, 1, 1], False)\n")
        running = [subprocess.Popen([sys.executable, "-c", code, BENCH, path, name])
                   for name in ("one", "two", "three")]
        assert [process.wait() for process in running] == [0, 0, 0]
        found = store.load(path)["measured"]["c"]
        assert {name: len(found[name]) for name in found} == {"one": 40, "two": 40, "three": 40}
    with suite.case("results: a line for each command, sorted, the same when stored again"):
        with open(path, encoding="utf-8") as source:
            text = source.read()
        json.loads(text)
        assert sum('"samples"' in line for line in text.split("\n")) == 120
        store.save(path, store.load(path))
        with open(path, encoding="utf-8") as source:
            assert source.read() == text
    with suite.case("results: samples of other data are replaced, not mixed"):
        store.add(path, "c", "one", "-l1", "d", [3, 1, 1, 1, 1], True)
        assert store.figures(store.load(path), "c", "one")["-l1"]["size"] == 2
        store.add(path, "c", "one", "-l1", "e", [9, 1, 1, 1, 1], True)
        assert store.figures(store.load(path), "c", "one", "e")["-l1"]["size"] == 9
        assert "-l1" not in store.figures(store.load(path), "c", "one", "d")


def test_resume(suite, top):
    sets = os.path.join(top, "sets")
    for name in ("small", "other"):
        os.makedirs(os.path.join(sets, name))
        with open(os.path.join(sets, name, "f"), "w", encoding="ascii") as out:
            out.write("some text\n" * 1000)
    path = os.path.join(top, "kept.json")
    words = [sets, "--mkdwarfs", os.environ["MKDWARFS"], "--sets", "small,other", "--only", "ours",
             "--levels", "3,z9", "--orders", "auto,path", "--commit", "ours", "--check"]
    with suite.case("compare: what was measured is kept, and not measured again"):
        assert len(compare(path, *words, "--list").stdout.splitlines()) == 8
        part = compare(path, *words, "--levels", "3", "--sets", "small")
        assert part.returncode == 0 and part.stderr.count("bytes, cpu") == 2, part.stderr
        assert len(compare(path, *words, "--list").stdout.splitlines()) == 6
        rest = compare(path, *words)
        assert rest.returncode == 0 and rest.stderr.count("bytes, cpu") == 6, rest.stderr
        assert compare(path, *words).stderr == ""
    with suite.case("compare: other data in a set are measured anew"):
        with open(os.path.join(sets, "small", "f"), "a", encoding="ascii") as out:
            out.write("more")
        assert len(compare(path, *words, "--list").stdout.splitlines()) == 4
    with suite.case("compare: both matrices, the tables and the picture of a commit"):
        made = compare(path, "--report", "--commit", "ours")
        assert made.returncode == 0, made.stderr
        for title in ("Bytes", "Orders at `-l3`", "Orders at `-l7 -C zstd:level=9`"):
            assert "#### " + title in made.stdout, made.stdout
        made = compare(path, "--tables", "--commit", "ours", "--svg", os.path.join(top, "p.svg"))
        assert made.returncode == 0 and "### small" in made.stdout, made.stderr
        with open(os.path.join(top, "p.svg"), encoding="utf-8") as source:
            assert "mkdwarfs" in source.read()
    with suite.case("compare: a missing set or program is named"):
        made = compare(path, *words, "--sets", "absent")
        assert made.returncode and "no set absent" in made.stderr
        made = compare(path, *words, "--only", "nothing")
        assert made.returncode and "no program named nothing" in made.stderr


def run_bindings(top, *words):
    return subprocess.run([sys.executable, os.path.join(BENCH, "bindings.py"),
                           os.path.join(top, "tree"), os.environ["DWARFS_BUILD_ROOT"],
                           "--files", "30", "--rounds", "1", "--times", "2", *words],
                          capture_output=True, text=True, check=False)


def run_threads(top, *words):
    return subprocess.run([sys.executable, os.path.join(BENCH, "threads.py"),
                           os.path.join(top, "tree"), os.environ["DWARFS_BUILD_ROOT"],
                           "--rounds", "2", *words], capture_output=True, text=True, check=False)


def test_bindings(suite, top):
    os.makedirs(os.path.join(top, "tree", "ü"))
    for number in range(7):
        with open(os.path.join(top, "tree", "ü", f"{number} a"), "wb") as out:
            out.write(b"text" * number)
    built = [one.name for one in bindings.languages(os.environ["DWARFS_BUILD_ROOT"])
             if one.is_built()]
    if "DWARFS_SANITIZED" in os.environ:
        built = ["C"]
    with suite.case("bindings: all languages that are built read the same, with a ratio each"):
        if "DWARFS_EMULATOR" in os.environ:
            raise tap.Skip("bindings.py runs programs of this machine only")
        path = os.path.join(top, "bindings.json")
        made = run_bindings(top, "--only", ",".join(built), "--results", path)
        assert made.returncode == 0, made.stderr
        with open(path, encoding="utf-8") as kept:
            found = json.load(kept)
        assert set(built) <= set(found["seconds"]), (built, found)
        for reader, jobs in found["seconds"].items():
            assert found["sums"][reader].get("all", [7, 84]) == [7, 84], found
            assert min(jobs.values()) > 0 and f"| {reader} | " in made.stdout, made.stdout
        for name in built:
            assert set(found["seconds"][name]) >= {"all", "random", "stat"}, found
    with suite.case("threads: one and two threads and processes of each language read the same"):
        if "DWARFS_EMULATOR" in os.environ:
            raise tap.Skip("threads.py runs programs of this machine only")
        with_threads = [name for name in built if name in threads.LANGUAGES]
        made = run_threads(top, "--only", ",".join(with_threads), "--results", path)
        assert made.returncode == 0 and "7 files, 84 bytes\n" in made.stdout, made.stderr
        with open(path, encoding="utf-8") as kept:
            found = json.load(kept)["rates"]
        assert sorted(found) == sorted(with_threads), found
        for name, rates in found.items():
            assert set(rates) == set(threads.KINDS) and f"| {name} | " in made.stdout, made.stdout
            assert all(len(some) == 2 and min(some) > 0 for some in rates.values()), found
    with suite.case("threads: each half has about as many bytes, and a language must have threads"):
        first, second = threads.halves(os.path.join(top, "tree"))
        assert (len(first), len(second)) == (6, 1), (first, second)
        made = run_threads(top, "--only", "Perl")
        assert made.returncode and "no language with threads named Perl" in made.stderr, made.stderr
    with suite.case("bindings: a reader that reads other bytes than C ends the run"):
        measured = bindings.Measurement()
        measured.add("C", "all", 1.0, [7, 84])
        measured.add("Perl", "all", 2.0, [7, 84])
        try:
            measured.add("Perl", "all", 2.0, [7, 85])
        except SystemExit as ended:
            assert "Perl, all: [7, 85]" in str(ended), ended
        else:
            raise AssertionError("it went on")
        assert measured.ratio("Perl", "all", "C") == "0.500"
    with suite.case("bindings: an unknown language is named"):
        made = run_bindings(top, "--only", "C,Basic")
        assert made.returncode and "no language named Basic" in made.stderr, made.stderr


def run_python(name, *words):
    """A program of bench that uses the Python package of the build."""
    package = os.path.join(os.environ["DWARFS_BUILD_ROOT"], "bindings", "python")
    return subprocess.run([sys.executable, os.path.join(BENCH, name), "--package", package, *words],
                          capture_output=True, text=True, check=False)


def test_python(suite, top):
    is_built = any(one.name == "Python" and one.is_built()
                   for one in bindings.languages(os.environ["DWARFS_BUILD_ROOT"]))
    if not is_built or "DWARFS_SANITIZED" in os.environ or "DWARFS_EMULATOR" in os.environ:
        return
    with suite.case("planning: all files are in a partition"):
        made = run_python("planning.py", "--files", "2500", "--times", "2")
        assert made.returncode == 0, made.stderr
        assert made.stdout.startswith("2500 files in "), made.stdout
    with suite.case("planning: one partition decompresses each block of an image once"):
        image = os.path.join(top, "planned.dwarfs")
        subprocess.run([os.environ["MKDWARFS"], "-i", BENCH, "-o", image, "-S12", "--no-progress",
                        "--log-level=error"], check=True)
        made = run_python("planning.py", image, "--partitions", "1,3", "--times", "1")
        assert made.returncode == 0, made.stderr
        found = re.findall(r"(\d+) blocks decompressed, the image has (\d+):", made.stdout)
        (one, blocks), (three, _) = [tuple(map(int, pair)) for pair in found]
        assert one == blocks > 9 and three >= one, made.stdout
    with suite.case("counting: each engine that is installed counts the same lines"):
        try:
            import fsspec  # noqa: F401
        except ImportError as error:
            raise tap.Skip(str(error)) from error
        made = run_python("counting.py", os.path.join(top, "tree"), "--times", "1")
        assert made.returncode == 0, made.stderr
        for engine in "dask", "ray":
            assert f"{engine}: " in made.stdout, made.stdout


def test_orders(suite):
    orders = {f"-l3 --order={order}": 10**8 for order in matrix.ORDERS}
    with suite.case("matrix: auto that is 2 % larger than the best fixed order is lost"):
        assert not lost(results("ours", {"s": {**orders, "-l3": 101 * 10**6}}))
        found = lost(results("ours", {"s": {**orders, "-l3": 103 * 10**6}}))
        assert len(found) == 1 and "Orders at `-l3`" in found[0] and "auto: 1.030" in found[0]
    with suite.case("matrix: a fixed order that grows is lost, but not revpath"):
        other = results("other", {"s": orders})
        for order, count in (("path", 1), ("nilsimsa", 1), ("revpath", 0)):
            ours = results("ours", {"s": {**orders, f"-l3 --order={order}": 10**8 + 5000}})
            assert len(lost(merged(ours, other))) == count, order


def test_levels(suite):
    given = {"given": {matrix.UPSTREAM: {"s": {"-l7": {"size": 10**7, "cpu": 50, "memory": 9}}},
                       matrix.ELSEWHERE: {"s": {"mksquashfs-zstd": {"cpu": 25}}}}, "measured": {}}
    peers = results(store.PEERS, {"s": {"mksquashfs-zstd": 2 * 10**7, "wim": 9 * 10**6},
                                  "t": {"mksquashfs-xz": 10**7, "wim": 11 * 10**6}}, cpu=20.0)
    with suite.case("matrix: larger than upstream is lost, and slower by the yardstick"):
        for size, cpu, count in ((90, 20.0, 0), (101, 20.0, 2), (90, 41.0, 2)):
            ours = results("ours", {"s": {"-l7": size * 10**5}}, cpu)
            assert len(lost(merged(ours, peers, given))) == count, (size, cpu)
    with suite.case("matrix: a set without upstream's figures counts against the smaller peer"):
        for size, count in ((10**7, 0), (101 * 10**5, 1)):
            ours = results("ours", {"t": {"-l9": size}, "s": {"-l9": 10**7}})
            assert sum(line.startswith("Size to the smaller") for line in
                       lost(merged(ours, peers, {"given": {matrix.UPSTREAM: {
                           "s": {"-l9": {"size": 10**7}}}}, "measured": {}}))) == count, size
    with suite.case("matrix: a level larger than a lower one is lost"):
        for sizes, count in (((5, 4, 3, 2), 0), ((5, 4, 3, 3.1), 1), ((5, 6, 3, 3.01), 1)):
            by_level = {f"-l{level}": size * 10**6 for level, size in zip(matrix.LEVELS, sizes)}
            assert len(lost(results("ours", {"s": by_level}))) == count, sizes
    with suite.case("matrix: figures of other data are left out"):
        ours = results("ours", {"s": {"-l3": 10**6}})
        ours["measured"]["ours"]["s"]["-l5"] = {"data": "9 files, 9 bytes",
                                                "samples": [[10**7, 1, 1, 1, 1]]}
        text = matrix.report(ours, "ours", "other")
        assert "1 000 000" in text and "10 000 000" not in text
    with suite.case("matrix: the kept results can be reported"):
        kept = store.load(os.path.join(BENCH, "results.json"))
        for commit in kept["measured"]:
            if commit != store.PEERS:
                assert commit in matrix.report(kept, commit, "227ecd3")
                with contextlib.redirect_stdout(io.StringIO()):
                    assert report.tables(kept, commit)
                    assert report.picture(kept, commit).endswith("</svg>\n")


def test_concurrency(suite, top):
    tree = os.path.join(top, "concurrency")
    os.makedirs(tree)
    for name, size in (("small", 10), ("large", 4 * concurrency.PIECE)):
        with open(os.path.join(tree, name), "wb") as out:
            out.write(bytes(size))
    with suite.case("concurrency: small and large files are told apart"):
        paths = concurrency.find_paths(tree)
        assert paths == {"small": ["small"], "large": [("large", 4 * concurrency.PIECE)]}
    with suite.case("concurrency: all processes of a mix are waited for"):
        for mix in concurrency.MIXES:
            total, spread = concurrency.run(mix, 6, tree, paths)
            assert total > 0 and spread >= 1
    with suite.case("concurrency: a process that fails ends the measurement"):
        os.unlink(os.path.join(tree, "small"))
        try:
            with open(os.devnull, "w", encoding="ascii") as nowhere:
                stderr = os.dup(2)
                os.dup2(nowhere.fileno(), 2)
                try:
                    concurrency.run("mixed", 3, tree, paths)
                finally:
                    os.dup2(stderr, 2)
                    os.close(stderr)
        except SystemExit as end:
            assert "has failed" in str(end)
        else:
            assert False, "it went on"


def main():
    suite = tap.Suite()
    with tempfile.TemporaryDirectory(prefix="dwarfs-test-") as top:
        test_generated(suite, top)
        test_records(suite)
        test_stamps(suite, top)
        test_store(suite, top)
        test_resume(suite, top)
        test_bindings(suite, top)
        test_python(suite, top)
        test_orders(suite)
        test_levels(suite)
        test_concurrency(suite, top)
    suite.finish()


main()
