# SPDX-License-Identifier: MIT
"""The rules that an image must follow so that every reader accepts it, including upstream's.

    strict.check(open(path, "rb").read())     # raises decoded.Broken, or returns the image

Stricter than a reader needs to be: images that pass can be listed, extracted, mounted and printed
by all readers. Of images of format 2.3 and later.
"""
from decoded import Broken, Image, sums

FEATURES = {b"sparsefiles"}
LARGE_HOLE = 0xFFFFFFFF
CLASSES = {0o040000: 0, 0o120000: 1, 0o100000: 2, 0o060000: 3, 0o020000: 3, 0o140000: 4,
           0o010000: 4}


def need(holds, rule):
    if not holds:
        raise Broken(rule)


def steps_up(numbers):
    return all(a <= b for a, b in zip(numbers, numbers[1:]))


# -- fields that upstream's dwarfsck prints ------------------------------------------------------

def check_history(image):
    """Its dwarfsck requires these, and exits with an error if they are missing."""
    for number, step in enumerate(image.history):
        what = f"history step {number}: "
        for name in "version", "system_id", "compiler_id":
            need(name in step, what + f"no {name}")
        version = step["version"]
        for name in "major", "minor", "patch":
            need(name in version, what + f"no {name} version")
        need("git_desc" in version, what + "no git_desc")
        need(version.get("is_release") or "git_branch" in version,
             what + "neither a release nor a git_branch")


# -- tables ---------------------------------------------------------------------------------------

def check_sections(image):
    for number, section in enumerate(image.sections):
        need(section.number == number, f"section {number} has the number {section.number}")
        need(section.minor == image.sections[0].minor, "sections of several versions")


def check_options(metadata):
    options = metadata["options"] or {}
    resolution = options.get("time_resolution_sec")
    multiplier = options.get("subsecond_resolution_nsec_multiplier")
    need(resolution != 0, "the time resolution is zero")
    need(multiplier is None or (0 < multiplier < 10**9 and 10**9 % multiplier == 0 and
                                resolution in (None, 1)), "the fraction of times")
    features = set(metadata["features"] or [])
    need(features <= FEATURES, "an unknown feature")
    need((metadata["hole_block_index"] is not None) == (b"sparsefiles" in features),
         "holes without their feature")
    size = metadata["block_size"]
    need(size > 0 and size & (size - 1) == 0, "the block size is not a power of two")
    return options


def check_inodes(metadata, options):
    """Attributes; gives where each class begins."""
    multiplier = options.get("subsecond_resolution_nsec_multiplier") or 0
    classes = []
    for number, row in enumerate(metadata["inodes"]):
        need(row["mode_index"] < len(metadata["modes"]), f"inode {number}: mode")
        mode = metadata["modes"][row["mode_index"]]
        need(mode <= 0o177777 and mode & 0o170000 in CLASSES, f"inode {number}: type")
        classes.append(CLASSES[mode & 0o170000])
        for table, index in (("uids", "owner_index"), ("gids", "group_index")):
            need(not metadata[table] or row[index] < len(metadata[table]),
                 f"inode {number}: {index}")
        for which in "atime", "mtime", "ctime", "btime":
            need(row[which + "_subsec"] * multiplier < 10**9, f"inode {number}: {which}")
            # No overflow, which some readers check.
            need(metadata["timestamp_base"] + row[which + "_offset"] < 1 << 64 or
                 options["mtime_only"] and which != "mtime", f"inode {number}: {which} overflows")
    need(steps_up(classes), "inodes are not sorted by class")
    for table in "modes", "uids", "gids":
        need(len(metadata[table]) <= len(classes), f"too many {table}")
    return [sum(1 for found in classes if found < wanted) for wanted in range(6)]


def check_directories(metadata, options, first_of):
    """Gives the first entry of each directory."""
    entries, rows = metadata["dir_entries"], metadata["directories"]
    first = [row["first_entry"] for row in rows]
    if options["packed_directories"]:
        need(not any(row["parent_entry"] or row["self_entry"] for row in rows), "packed parents")
        first = sums(first)[1:]
    need(len(rows) == first_of[1] + 1 and len(rows) > 1, "the number of directories")
    need(first[0] == 1 and first[-1] == len(entries) and steps_up(first), "ranges of directories")
    need(entries[0]["inode_num"] == 0, "the root is not the first entry")
    owner, own = {}, {0: 0}
    for number in range(len(rows) - 1):
        for entry in range(first[number], first[number + 1]):
            owner[entry] = number
            inode = entries[entry]["inode_num"]
            need(inode < len(metadata["inodes"]), f"entry {entry} has no inode")
            if inode < first_of[1]:
                need(inode not in own, f"directory {inode} is in two places")
                own[inode] = entry
    need(len(own) == first_of[1], "a directory is nowhere")
    for number in range(1, first_of[1]):
        need(own[number] < first[number], f"directory {number} is before its parent")
        if not options["packed_directories"]:
            need(rows[number]["parent_entry"] == own[owner[own[number]]], "a wrong parent")
            need(rows[number]["self_entry"] in (0, own[number]), "a wrong self entry")
    named = [entry["inode_num"] for entry in entries]
    need(set(named) == set(range(len(metadata["inodes"]))), "an inode without a name")
    others = [inode for inode in named if not first_of[2] <= inode < first_of[3]]
    need(len(others) == len(set(others)), "two names of an inode that is not a file")
    return first


def check_names(image, first):
    entries, names = image.metadata["dir_entries"], image.names()
    used = [entry["name_index"] for entry in entries[1:]]
    need(len(names) == max(used, default=-1) + 1, "the number of names")
    for begin, end in zip(first, first[1:]):
        listed = [names[entry["name_index"]] for entry in entries[begin:end]]
        need(all(a < b for a, b in zip(listed, listed[1:])), "names are not sorted")
        for name in listed:
            need(0 < len(name) < 256 and not set(b"/\0") & set(name) and name not in (b".", b".."),
                 f"the name {name!r}")


def check_links(image, first_of):
    table, links = image.metadata["symlink_table"], image.links()
    need(len(table) == first_of[2] - first_of[1], "the number of symbolic links")
    need(len(links) == max(table, default=-1) + 1, "the number of targets")
    for target in links:
        need(0 < len(target) <= 4095 and b"\0" not in target, f"the target {target!r}")
    need(len(image.metadata["devices"] or []) == first_of[4] - first_of[3], "the number of devices")


# -- contents -------------------------------------------------------------------------------------

def check_files(metadata, options, first_of):
    """Gives the chunk table."""
    files, shared = first_of[3] - first_of[2], metadata["shared_files_table"] or []
    if options["packed_shared_files_table"]:
        shared = [i for i, count in enumerate(shared) for _ in range(count + 2)]
    need(len(shared) <= files and shared[:1] in ([], [0]), "shared files")
    need(all(0 <= b - a <= 1 for a, b in zip(shared, shared[1:])), "the order of shared files")
    table = metadata["chunk_table"]
    if options["packed_chunk_table"]:
        table = sums(table)[1:]
    need(len(table) - 1 == files - len(shared) + (shared[-1] + 1 if shared else 0),
         "the size of the chunk table")
    need(table[0] == 0 and steps_up(table) and table[-1] == len(metadata["chunks"]),
         "the chunk table")
    return table


def chunk_bytes(image, chunk, sizes):
    metadata, block = image.metadata, chunk["block"]
    if metadata["hole_block_index"] is not None and block == metadata["hole_block_index"]:
        if chunk["offset"] == LARGE_HOLE:
            need(chunk["size"] < len(metadata["large_hole_size"] or []), "a large hole")
            return metadata["large_hole_size"][chunk["size"]]
        need(chunk["offset"] < metadata["block_size"], "a hole")
        return chunk["size"] * metadata["block_size"] + chunk["offset"]
    need(block < len(image.blocks), "a chunk in no block")
    if block not in sizes:
        sizes[block] = len(image.blocks[block].unpacked())
        need(sizes[block] <= metadata["block_size"], "a block is too large")
    need(chunk["offset"] + chunk["size"] <= sizes[block], "a chunk outside its block")
    return chunk["size"]


def check_contents(image, table):
    metadata, known = image.metadata, {}
    lengths = [chunk_bytes(image, chunk, known) for chunk in metadata["chunks"]]
    need(all(0 < length < 1 << 63 for length in lengths), "a chunk without bytes")
    cache = metadata["reg_file_size_cache"] or {"size_lookup": [], "min_chunk_count": 0}
    keys = [key for key, _ in cache["size_lookup"]]
    need(keys == sorted(set(keys)), "the order of the size cache")
    for key, size in cache["size_lookup"]:
        need(key + 1 < len(table), "a size of no file")
        need(table[key + 1] - table[key] >= cache["min_chunk_count"], "the size of a short file")
        need(sum(lengths[table[key]:table[key + 1]]) == size, "a wrong size")


def check_categories(image):
    metadata = image.metadata
    blocks, names = metadata["block_categories"], metadata["category_names"] or []
    if blocks is not None:
        need(len(blocks) == len(image.blocks), "the number of categories")
        need(all(index < len(names) for index in blocks), "a category without a name")
    pairs = metadata["block_category_metadata"] or []
    keys = [block for block, _ in pairs]
    need(keys == sorted(set(keys)), "the order of category metadata")
    for block, index in pairs:
        need(block < len(image.blocks) and
             index < len(metadata["category_metadata_json"] or []), "category metadata")


def check(data):
    image = Image(data)
    metadata = image.metadata
    check_history(image)
    check_sections(image)
    options = check_options(metadata)
    need(metadata["dir_entries"], "no entries")
    first_of = check_inodes(metadata, options)
    first = check_directories(metadata, options, first_of)
    check_names(image, first)
    check_links(image, first_of)
    check_contents(image, check_files(metadata, options, first_of))
    check_categories(image)
    return image
