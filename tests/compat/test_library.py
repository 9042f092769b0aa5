# SPDX-License-Identifier: MIT
"""Every image by another writer, read by the library: each column of its manifest, each fact.

test_library.py DESCRIBE
"""
import os
import subprocess
import sys
import tempfile

import absent
import images
import tap
import walker

COLUMNS = ("type", "mode", "uid", "gid", "mtime", "atime", "ctime", "size", "nlink", "inode",
           "rdev", "target", "sha256")

# Large files, which are nearly all hole: SHA-256 of the whole, as in the manifests, and of the grains
# that are not all zeros, as describe prints it after it has read them as a whole.
LARGE = {
    "afe0dc4dbee1ecf292de38f72aaa37e2643df75f265e992adb116bdeedbc4fe6":
        "1b93aea48d7254c749e5f301873936439c14dde9c3f2836da185ae37ab1c9ec1",
    "7f06c62352aebd8125b2a1841e2b9e1ffcbed602f381c3dcb3200200e383d1d5":
        "c998746b7d79abda4cd80f44bef3e947d11c65205d1fd5f68f60bb7610ece0dd",
}
describe_program = os.path.abspath(sys.argv[1])


def run(*arguments):
    return subprocess.run(tap.command(describe_program, *arguments), capture_output=True)


def described(*arguments):
    done = run(*arguments)
    if done.returncode:
        raise AssertionError(f"describe ended with {done.returncode}: {done.stderr.decode()}")
    return images.parse_description(done.stdout)


def only(facts, name):
    values = [fact[1:] for fact in facts if fact[0] == name]
    assert len(values) <= 1, f"{name} is given {len(values)} times"
    return values[0][0] if values else None


def every(facts, name):
    return [fact[1] for fact in facts if fact[0] == name]


def must_be(name, value, expected):
    assert value == expected, f"{name} is {value!r}, expected {expected!r}"


def compare_rows(image, facts, rows):
    expected = images.manifest(image)
    mtime_only = only(facts, "mtime_only") == "1"
    for row in expected.values():
        for column in ("atime", "ctime"):
            if row[column] is None and mtime_only:
                row[column] = row["mtime"]
    differences = walker.compare(expected, rows, columns=(), links=False)
    for path in expected.keys() & rows.keys():
        for column in COLUMNS:
            want = expected[path][column]
            if column == "sha256":
                want = LARGE.get(want, want)
            if want is None and column in ("atime", "ctime", "inode"):
                continue
            if want != rows[path][column]:
                differences.append(f"{path!r}: {column} is {rows[path][column]!r}, "
                                   f"expected {want!r}")
    shown = "\n".join(sorted(differences)[:12])
    assert not differences, f"{len(differences)} differences:\n{shown}"
    images.links_add_up(rows)


def compare_history(facts, expected):
    steps = []
    for name, *values in facts:
        if name == "history":
            steps.append({"argument": [], "library": []})
        elif steps and name in ("argument", "library"):
            steps[-1][name].append(values[0])
        elif steps and name in ("version", "system", "compiler", "time"):
            steps[-1][name] = values[0]
    must_be("steps of the history", len(steps), len(expected))
    for step, want in zip(steps, expected):
        assert want["version"] in step["version"], f"{step['version']!r} of {want['version']!r}"
        must_be("system", step["system"], want.get("system_id", ""))
        must_be("compiler", step["compiler"], want.get("compiler_id", ""))
        must_be("arguments", step["argument"], want.get("arguments") or [])
        must_be("libraries", sorted(step["library"]), sorted(want.get("library_versions") or []))
        must_be("time", step.get("time"), str(want["timestamp"]) if "timestamp" in want else None)


def compare_facts(image, facts):
    expected = image.facts
    must_be("format", f"2.{only(facts, 'format_minor')}", expected["format_version"])
    must_be("offset", int(only(facts, "offset")), expected["image_header_bytes"])
    must_be("bytes", int(only(facts, "bytes")),
            expected["bytes"] - expected["image_header_bytes"])
    must_be("index", only(facts, "has_index") == "1", expected["has_section_index"])
    for name in ("block_size", "inodes", "entries", "total_fs_size"):
        must_be(name, int(only(facts, name)), expected[name])
    must_be("total_hardlink_size", int(only(facts, "total_hardlink_size")),
            expected.get("total_hardlink_size", 0))
    must_be("created_by", only(facts, "created_by"), expected.get("dwarfs_version"))
    must_be("created_on", only(facts, "created_on"),
            str(expected["create_timestamp"]) if "create_timestamp" in expected else None)
    must_be("mtime_only", only(facts, "mtime_only") == "1",
            expected["options"].get("mtime_only", False))
    must_be("features", every(facts, "feature"), expected.get("features") or [])
    must_be("categories", every(facts, "category"), expected.get("category_names") or [])
    if "block_categories" in expected:
        must_be("categories of blocks", [int(n) for n in every(facts, "block_category")],
                expected["block_categories"])
    packing = every(facts, "packing")
    for option in ("packed_chunk_table", "packed_directories", "packed_shared_files_table"):
        must_be(option, option in packing, expected["options"].get(option, False))
    sections = [fact[1:] for fact in facts if fact[0] == "section"]
    must_be("number of sections", len(sections), len(expected["sections"]))
    for number, (section, want) in enumerate(zip(sections, expected["sections"])):
        kind, codec, offset, stored, size, own_number = section
        must_be(f"section {number}", (kind, codec, int(offset), int(stored), int(size)),
                (want["type"], want["compression"], want["offset"], want["stored_size"],
                 want["size"]))
        must_be(f"number of section {number}", int(own_number), want.get("number", number))
    must_be("blocks", int(only(facts, "blocks")),
            sum(section["type"] == "BLOCK" for section in expected["sections"]))
    compare_history(facts, expected.get("history") or [])


def behind_prefixes(suite, every_image):
    """Any image from format 2.2 on reads the same after any prefix."""
    stub = open(tap.data("images", "v0.15.3", "stub.sh"), "rb").read()
    prefixes = {"one byte": b"x", "half a magic": b"DWARFSDWARF", "a script": stub,
                "decoys": b"DWARFS\x02\x05" * 40 + b"DWARFS\x02\x05" + bytes(56),
                "a page and a byte": bytes(4097)}
    chosen = [image for image in every_image if not image.refused and image.minor >= 2 and
              image.name in ("compat-v0.3.0", "compat-v0.4.1", "compat-v0.5.6",
                             "compat-v0.9.10", "data", "data-plain-noindex", "winlink",
                             "setuidgid-v0.5.6", "data-brotli")]
    with tempfile.TemporaryDirectory() as scratch:
        for image in chosen:
            with suite.case(f"{image.name} after prefixes"):
                absent.need_for_image(image.path)
                contents = open(image.path, "rb").read()
                plain = described(image.path)[image.path][1]
                for name, prefix in prefixes.items():
                    path = os.path.join(scratch, "image")
                    with open(path, "wb") as out:
                        out.write(prefix + contents)
                    for offset in ([], ["--offset", str(len(prefix))]):
                        facts, rows = described(*offset, path)[path]
                        must_be(f"offset after {name}", int(only(facts, "offset")), len(prefix))
                        assert rows == plain, f"differs after {name} {offset}"
        with suite.case("two images in one file, by offset and size"):
            pair = [image for image in every_image if image.name in ("data", "unixlink")]
            bytes_of = [open(image.path, "rb").read() for image in pair]
            path = os.path.join(scratch, "pair")
            with open(path, "wb") as out:
                out.write(b"".join(bytes_of))
            offset = 0
            for image, contents in zip(pair, bytes_of):
                rows = described("--offset", str(offset), "--size", str(len(contents)),
                                 path)[path][1]
                assert rows == described(image.path)[image.path][1], f"{image.name} differs"
                offset += len(contents)


def main():
    suite = tap.Suite()
    try:
        every_image = images.load()
    except tap.Skip as reason:
        tap.skip_all(reason)
    # One process reads them all, so that the large file is read over its hole once.
    together = [image.path for image in every_image
                if not image.refused and absent.can_read(image.path)]
    done = run(*together)
    found = images.parse_description(done.stdout) if done.returncode == 0 else {}
    for image in every_image:
        with suite.case(image.name):
            absent.need_for_image(image.path)
            if image.refused:
                done = run(image.path)
                assert done.returncode == 1, f"describe ended with {done.returncode}"
                for feature in image.facts["features"]:
                    assert feature in done.stderr.decode(), \
                        f"{feature} is not named: {done.stderr.decode()}"
                continue
            facts, rows = found[image.path] if found else described(image.path)[image.path]
            compare_rows(image, facts, rows)
            warnings = every(facts, "warning")
            if image.name.startswith("dir-sentinel"):
                assert warnings, "there should be a warning"
            elif image.minor >= 3:
                assert not warnings, f"warns: {warnings}"
            if "sections" in image.facts:
                compare_facts(image, facts)
            elif image.name == "header":
                stub = os.path.getsize(tap.data("images", "v0.15.3", "stub.sh"))
                must_be("offset", int(only(facts, "offset")), stub)
    behind_prefixes(suite, every_image)
    suite.finish()


main()
