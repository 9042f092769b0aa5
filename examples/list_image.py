#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pack a directory without backup files, or list an image:

    list_image.py pack DIRECTORY IMAGE
    list_image.py list IMAGE
"""
import stat
import sys

import dwarfs


def pack(directory, output):
    dwarfs.pack(directory, output, level=5, include=lambda entry: not entry.path.endswith("~"))


def list_files(image):
    with dwarfs.open(image) as opened:
        for path in opened.walk():
            attributes = path.lstat()
            if stat.S_ISREG(attributes.st_mode):
                print(f"{attributes.st_size:8d} {path}")


def main():
    try:
        if len(sys.argv) == 4 and sys.argv[1] == "pack":
            pack(*sys.argv[2:])
        elif len(sys.argv) == 3 and sys.argv[1] == "list":
            list_files(sys.argv[2])
        else:
            sys.exit(__doc__)
    except dwarfs.Error as error:
        sys.exit(str(error))


main()
