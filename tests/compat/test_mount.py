# SPDX-License-Identifier: MIT
"""Every image by another writer, mounted, compared with its manifest."""
import os

import absent
import images
import mount
import tap
import walker

NANO = images.NANO


def numbers_differ_by_a_constant(expected, actual):
    """Inode numbers are those of the image plus a constant that makes the root's number valid."""
    shifts = {actual[path]["inode"][1] - row["inode"]
              for path, row in expected.items() if row["inode"] is not None}
    assert len(shifts) <= 1, f"inode numbers are shifted by {sorted(shifts)[:5]}"


def one_set_of_attributes_for_each_inode(expected):
    """Up to format 2.2 entries that share an inode may have the times of either."""
    by_inode = {}
    for row in expected.values():
        by_inode.setdefault(row["inode"], []).append(row)
    return by_inode


def check(image):
    expected = images.manifest(image, as_shown=True)
    for row in expected.values():
        if row["atime"] is None:
            row["atime"] = row["ctime"] = row["mtime"]
    # As with the established driver, an image after a prefix needs an option.
    options = ["-o", "offset=auto"] if image.name.endswith("header") else []
    with mount.mounted(image.path, *options) as path:
        actual = walker.describe(path)
        blocks = os.statvfs(path)
    columns = ["type", "mode", "uid", "gid", "size", "nlink", "rdev", "target", "sha256"]
    times = ["mtime", "atime", "ctime"]
    if image.minor > 2:
        walker.must_agree(expected, actual, columns=columns + times, links=False)
        numbers_differ_by_a_constant(expected, actual)
    else:
        own_numbers = len({row["inode"] for row in actual.values()}) == len(actual)
        if own_numbers:
            columns.remove("nlink")
        walker.must_agree(expected, actual, columns=columns, links=False)
        twins = one_set_of_attributes_for_each_inode(expected)
        for path, row in expected.items():
            for column in times:
                allowed = {twin[column] for twin in twins[row["inode"]]}
                assert actual[path][column] in allowed, \
                    f"{path!r}: {column} is {actual[path][column]}, expected one of {allowed}"
        if not own_numbers:
            numbers_differ_by_a_constant(expected, actual)
    for path, row in expected.items():
        if row["type"] == "d":
            assert actual[path]["size"] == row["size"], \
                f"{path!r}: size is {actual[path]['size']}, not {row['size']} entries"
            assert actual[path]["nlink"] == 1, f"{path!r}: nlink is {actual[path]['nlink']}"
        if row["type"] == "l":
            assert actual[path]["size"] == len(row["target"]), f"{path!r}: size of the link"
    if "statvfs" in image.facts:
        want = image.facts["statvfs"]
        got = {"bsize": blocks.f_bsize, "frsize": blocks.f_frsize, "blocks": blocks.f_blocks,
               "files": blocks.f_files}
        assert got == want, f"statvfs gives {got}, expected {want}"


def main():
    suite = tap.Suite()
    try:
        mount.available()
        every_image = images.load()
    except tap.Skip as reason:
        tap.skip_all(reason)
    for image in every_image:
        with suite.case(image.name):
            absent.need_for_image(image.path)
            if image.refused:
                try:
                    with mount.mounted(image.path):
                        pass
                except AssertionError as error:
                    for feature in image.facts["features"]:
                        assert feature in str(error), f"{feature} is not named: {error}"
                else:
                    raise AssertionError("it was mounted")
            else:
                check(image)
    suite.finish()


main()
