#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Output of dwarfsck --export-metadata: every stored field of the metadata."""
import importlib
import json
import os
import re
import sys
import types

import cli
from cli import run
import tap

# The example of dwarfs-format: one file of three bytes.
EXAMPLE = """
4457415246530205b84e8db84a2023c521068bba9116a87ffe2823a875f121de
37069b69d39ff7c1ace909e546ec260200000000000000000300000000000000
68690a4457415246530205e2478e7fd2d3af22f2f3fe832f6c8f46b597eb7052
4f4f06b8eb0d68fbc2dc78670b2cb71db757b201000000070000002802000000
000000111b184c00150014081b0018000002150014021b001800000415001404
1b0018000006150014041b014c061404140000180000081500140a1b034c0214
001401000414021400000614061400001800000a150014041b014c0414041400
001800000c1500140c1b034c02140014030004140414000006140a1400001800
000e150014061b0018000010150014081b024c0414021400000e140e14010018
0000121500140c1b034c02140014030004140414000006141014000018000014
1500140a1b00180000161500140e1b034c021414140300041404140000061402
14000018000018150014021b014c0414021400001800001a150014201b001800
001c1500140e1b034c02141414030004140414000006141a1400001800001e15
0014081b024c02140214000004140e140100180000201500140c1b034c021414
14010004140214000006141e140000180000221500143e1b0018000024150014
221b0018000026150014041b024c021402140000101402140100180000281500
14061b024c0214021400000414261401001800002a1500140e1b034c02141414
03000414041400000614181400001800002c150014101b024c02140214000004
142a1401001800002e151a14c8011b0d4c02140814000004140c140900061412
1415000814161421000e1418142f0010141814310012141c1433001414201441
00181422144d001e1424148b010020140414ad010024142814b1010026142c14
b70100180000142e1502004457415246530205608bd8e8448713ca6f0e94f89d
46bc689de09bf7e0a7e51236eee3b372714ae8e131ea53ea37d4e60200000008
00000024000000000000005bf7851b5780f8a93200c0df0d0309f002ed41a481
0b612e74787402000000000000000044574152465302052db6a0af2f5cecd54d
86454a16188797a59f7c15823dd1b9075bf6bf173aa0956b424053370f951d03
00000009000000200000000000000000000000000000004300000000000700ab
020000000008000f03000000000900
"""

INODE = {"name_index_v2_2": 0, "mode_index": 0, "inode_v2_2": 0, "owner_index": 0,
         "group_index": 0, "atime_offset": 0, "mtime_offset": 0, "ctime_offset": 0,
         "btime_offset": 0, "atime_subsec": 0, "mtime_subsec": 0, "ctime_subsec": 0,
         "btime_subsec": 0, "nlink_minus_one": 0}

# Every mandatory field, and the optional ones that are set.
EXAMPLE_TABLES = {
    "chunks": [{"block": 0, "offset": 0, "size": 3}],
    "directories": [{"parent_entry": 0, "first_entry": 1, "self_entry": 0},
                    {"parent_entry": 0, "first_entry": 2, "self_entry": 0}],
    "inodes": [INODE, dict(INODE, mode_index=1, mtime_offset=7)],
    "chunk_table": [0, 1],
    "entry_table_v2_2": [],
    "symlink_table": [],
    "uids": [0],
    "gids": [0],
    "modes": [0o40755, 0o100644],
    "names": ["a.txt"],
    "symlinks": [],
    "timestamp_base": 1700000000,
    "chunk_inode_offset": 0,
    "link_inode_offset": 0,
    "block_size": 1 << 16,
    "total_fs_size": 3,
    "options": {"mtime_only": True, "packed_chunk_table": False, "packed_directories": False,
                "packed_shared_files_table": False, "has_btime": False,
                "inodes_have_nlink": True},
    "dir_entries": [{"name_index": 0, "inode_num": 0}, {"name_index": 0, "inode_num": 1}],
}


def oracle():
    """The slow decoder of the test data; its codecs and hashes are not needed."""
    folder = tap.data("oracle")
    if not os.path.exists(os.path.join(folder, "dw.py")):
        raise tap.Skip("no second decoder")
    for name in ("xxhash", "zstandard", "lz4", "lz4.block", "brotli"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("dw")
    finally:
        sys.path.remove(folder)


def plain(value):
    """A value of the second decoder, as in JSON."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"hex": value.hex()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def plain_maps(tables):
    """Maps are lists of pairs in JSON."""
    for owner, name in ((tables.get("reg_file_size_cache"), "size_lookup"),
                        (tables.get("reg_file_size_cache"), "allocated_size_lookup"),
                        (tables, "block_category_metadata")):
        if owner and name in owner:
            owner[name] = {str(key): value for key, value in owner[name]}
    return tables


class Export(cli.Case):
    def export(self, image, code=0):
        return json.loads(self.expect(run("DWARFSCK", "--export-metadata=-", image), code).out)

    def test_the_example_of_the_format(self):
        image = self.write("example.dwarfs", bytes.fromhex("".join(EXAMPLE.split())))
        self.assertEqual(self.export(image), EXAMPLE_TABLES)

    def stored(self, image, name):
        """The bytes of a section that is not compressed; None for one that is."""
        info = self.info(image)
        with open(image, "rb") as data:
            data.seek(info["image_offset"])
            whole = data.read()
        for section in info["sections"]:
            if section["type"] == name and section["compression"] == "NONE":
                start = section["offset"] + (64 if info["version"]["minor"] >= 2 else 8)
                return whole[start:start + section["size"]]
        return None

    def test_every_field_is_what_a_second_decoder_finds(self):
        dw = oracle()
        root = tap.data("images")
        images = [os.path.join(parent, name) for parent, _, names in os.walk(root)
                  for name in names if name.endswith(".dwarfs")]
        compared = 0
        for image in sorted(images):
            if image.endswith("future-features.dwarfs"):
                continue
            schema = self.stored(image, "METADATA_V2_SCHEMA")
            metadata = self.stored(image, "METADATA_V2")
            if schema is None or metadata is None:
                continue
            layouts, top, _ = dw.schema(schema)
            found = dw.thaw(dw.Fz(layouts, metadata), (top, 0, 0), dw.META)
            with self.subTest(image=image):
                self.assertEqual(self.export(image), plain_maps(plain(found)))
            compared += 1
        self.assertGreater(compared, 8)

    def test_the_tables_are_those_of_the_tree(self):
        """Compressed sections are decompressed first, packed tables stay packed."""
        image = self.pack("--pack-metadata=all", "-l5", "--keep-all-times")
        tables = self.export(image)
        info = self.info(image)
        self.assertEqual(len(tables["inodes"]), info["inode_count"])
        self.assertEqual(len(tables["dir_entries"]), info["entry_count"])
        self.assertTrue(tables["options"]["packed_directories"])
        self.assertFalse(tables["options"]["mtime_only"])
        self.assertEqual(sum(item["first_entry"] for item in tables["directories"]),
                         info["entry_count"])
        self.assertEqual(tables["features"], ["sparsefiles"])
        self.assertEqual(tables["names"], [])

    def test_what_is_not_utf8_is_hexadecimal(self):
        self.write("tree/plain")
        self.write(b"tree/\xff\x01".decode("utf-8", "surrogateescape"))
        image = self.pack("--pack-metadata=plain", tree=self.path("tree"))
        self.assertEqual(self.export(image)["names"], ["plain", {"hex": "ff01"}])

    def test_control_characters_are_escaped(self):
        self.write('tree/\x1b"\\\n\x7f\x9b')
        image = self.pack("--pack-metadata=plain", tree=self.path("tree"))
        result = run("DWARFSCK", "--export-metadata=-", image)
        self.assertEqual(json.loads(result.out)["names"], ['\x1b"\\\n\x7f\x9b'])
        self.assertNotRegex(result.out, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Output(cli.Case):
    def test_a_file_is_what_goes_to_stdout(self):
        image, path = self.pack(), self.path("out.json")
        self.expect(run("DWARFSCK", image, "--export-metadata", path), 0)
        with open(path, "rb") as out:
            self.assertEqual(out.read(), run("DWARFSCK", image, "--export-metadata=-").raw)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o666 & ~self.mask())
        self.assertEqual(self.leftovers(), [])

    def mask(self):
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def leftovers(self):
        return [name for name in os.listdir(self.dir) if "json." in name]

    def test_a_file_that_is_there_is_replaced_and_keeps_its_mode(self):
        image = self.pack()
        path = self.write("out.json", b"old", 0o600)
        self.expect(run("DWARFSCK", image, f"--export-metadata={path}"), 0)
        with open(path, encoding="utf-8") as out:
            json.load(out)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_a_failure_leaves_the_old_file(self):
        image = self.pack()
        path = self.write("out.json", b"old")

        def limit():
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

        self.expect(run("DWARFSCK", image, f"--export-metadata={path}", preexec_fn=limit), 1,
                    f"cannot write '{path}': File too large")
        with open(path, "rb") as out:
            self.assertEqual(out.read(), b"old")
        self.assertEqual(self.leftovers(), [])

    def test_what_cannot_be_opened_or_written(self):
        image = self.pack()
        missing = self.path("missing", "out.json")
        self.expect(run("DWARFSCK", image, f"--export-metadata={missing}"), 1,
                    f"cannot open '{missing}': No such file or directory")
        self.expect(run("DWARFSCK", image, "--export-metadata=/dev/full"), 1,
                    "cannot write '/dev/full': No space left on device")
        with open("/dev/full", "wb") as full:
            self.expect(run("DWARFSCK", image, "--export-metadata=-", stdout=full), 1,
                        "cannot write to standard output")

    def test_the_image_is_not_replaced(self):
        image = self.pack()
        link = self.path("link")
        os.symlink(image, link)
        with open(image, "rb") as file:
            before = file.read()
        for path in (image, link):
            self.expect(run("DWARFSCK", image, f"--export-metadata={path}"), 1,
                        f"'{path}' is the image itself")
            with open(image, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_one_thing_at_a_time(self):
        image = self.pack()
        for other in ("-l", "-j", "-H", "--checksum=md5", "--cat=a.txt"):
            self.expect(run("DWARFSCK", image, "--export-metadata=-", other), 1,
                        "mutually exclusive")

    def test_a_checker_may_look_first(self):
        image = self.pack()
        result = self.expect(run("DWARFSCK", image, "--export-metadata=-",
                                 "--check-integrity"), 0)
        self.assertTrue(re.match(r'\{\n  "chunks": \[', result.out), result.out[:50])


if __name__ == "__main__":
    cli.main()
