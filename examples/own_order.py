#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make an image with a custom order and custom rules.

    own_order.py DIRECTORY IMAGE

Leaves out backup files of editors, compresses logs in separate blocks with lzma, and stores files
of one type together: by extension, then by name with the newest version next to older ones, as in
a directory of releases.
"""
import os
import sys

import dwarfs


def include(entry):
    return not entry.path.endswith(("~", ".swp"))


def category(file):
    return "logs" if file.path.endswith(".log") else None


def order(files):
    def rule(file):
        folder, name = os.path.split(file.path)
        return os.path.splitext(name)[1], name, folder
    return sorted(files, key=rule)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    counts = dwarfs.pack(sys.argv[1], sys.argv[2], include=include, category=category,
                         categories=["logs"], compression={"logs": "lzma:level=9"}, order=order)
    for part in counts.categories:
        print(f"{part.name}: {part.bytes_in} bytes became {part.bytes_packed}")
    print(f"{counts.files} files, {counts.bytes_out} bytes")


main()
