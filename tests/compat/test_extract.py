# SPDX-License-Identifier: MIT
"""Every image by another writer, extracted, compared with its manifest."""
import errno
import os
import stat
import subprocess
import tempfile

import absent
import images
import tap
import tree
import walker

PRIVILEGED = os.geteuid() == 0


def may_make_devices(scratch):
    try:
        path = os.path.join(scratch, "device")
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.unlink(path)
        return True
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES):
            raise
        return False


def extract(tool, image, target, devices):
    command = [tool, "-i", image.path, "-o", target]
    if not devices:
        command.append("--skip-devices")
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")


def readable(rows):
    """Without privileges, files that their owner may not read cannot be compared."""
    return all(row["mode"] & 0o400 for row in rows.values() if row["type"] in "df")


def check(tool, image, scratch, devices):
    target = os.path.join(scratch, "target")
    try:
        done = extract(tool, image, target, devices)
        assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}"
        expected = images.manifest(image, as_shown=True)
        if not devices:
            expected = {path: row for path, row in expected.items() if row["type"] not in "cb"}
        if not PRIVILEGED and not readable(expected):
            raise tap.Skip("only root can read all that was extracted")
        actual = walker.describe(target)
        for row in expected.values():
            if row["type"] == "l":
                row["mode"] = None  # the same for every link on Linux
        columns = ["type", "mode", "mtime", "size", "rdev", "target", "sha256"]
        if PRIVILEGED:
            columns += ["uid", "gid"]
        else:
            for row in expected.values():  # a file of another owner gets no setuid
                row["mode"] = row["mode"] and row["mode"] & 0o1777
            for row in actual.values():
                row["mode"] &= 0o1777
        if image.minor > 2:
            columns.append("nlink")
        walker.must_agree(expected, actual, columns=columns,
                          links=image.minor > 2 and expected[b"."]["inode"] is not None)
        for path, row in expected.items():
            # Reading moves the access time of a link or directory on some file systems.
            if row["atime"] is not None and row["type"] == "f":
                assert actual[path]["atime"] == row["atime"], \
                    f"{path!r}: atime is {actual[path]['atime']}, expected {row['atime']}"
        usage = sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
                    for folder, _, names in os.walk(target) for name in names)
        assert usage < 256 << 20, f"the holes were written: {usage} bytes in use"
    finally:
        tree.remove(target)


def main():
    suite = tap.Suite()
    try:
        tool = tap.tool("DWARFSEXTRACT")
        every_image = images.load()
    except tap.Skip as reason:
        tap.skip_all(reason)
    with tempfile.TemporaryDirectory(prefix="dwarfs-extract-") as scratch:
        devices = may_make_devices(scratch)
        if not devices:
            print("# devices are omitted: they cannot be created here")
        for image in every_image:
            with suite.case(image.name):
                absent.need_for_image(image.path)
                if image.refused:
                    target = os.path.join(scratch, "refused")
                    done = extract(tool, image, target, devices)
                    assert done.returncode == 1, f"ended with {done.returncode}"
                    for feature in image.facts["features"]:
                        assert feature in done.stdout, f"{feature} is not named: {done.stdout}"
                else:
                    check(tool, image, scratch, devices)
    suite.finish()


main()
