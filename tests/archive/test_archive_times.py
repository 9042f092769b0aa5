# SPDX-License-Identifier: MIT
"""Times from 1906 to 2400 in archives of each format, out and back in.

A format that cannot hold a time gets the nearest one, with a warning and the exit code 1; the
entry and its contents are stored.
"""
import os
import subprocess
import tarfile

import absent
import dated
import decoded
import scratch
import tap

NANO = 10**9
OCTAL, WORD = 8**11 - 1, 2**32 - 1

# The first and last second of a format, and the step of its times.
FORMATS = {
    "pax": (None, None, 1), "paxr": (None, None, NANO), "gnutar": (0, OCTAL, NANO),
    "ustar": (0, OCTAL, NANO), "v7tar": (0, OCTAL, NANO), "cpio": (0, OCTAL, NANO),
    "newc": (0, WORD, NANO), "bin": (0, WORD, NANO), "zip": (0, WORD, NANO),
    "7zip": (0, 1833029933770, 100), "xar": (-2208988800, 253402300799, NANO), "mtree": (None, None, 1),
    "iso9660": (-2208988800, 5869583999, NANO), "argnu": (0, 10**12 - 1, NANO),
}


def clamp(time, least, most, step):
    """The nearest time that a format holds."""
    seconds, rest = divmod(time, NANO)
    if least is not None:
        seconds = max(seconds, least)
    if most is not None:
        seconds = min(seconds, most)
    first, last = tap.library_times()
    seconds = max(first, min(seconds, last))
    if seconds != time // NANO:
        rest = 0
    return seconds * NANO + rest // step * step


def export(image, form):
    archive = image + "." + form
    done = scratch.extract("-i", image, "-f", form, "-o", archive)
    return archive, done


def import_times(archive):
    """{path: nanoseconds} of the files; checks their contents."""
    image = archive + ".dwarfs"
    subprocess.run([tap.tool("MKDWARFS"), "-i", archive, "-o", image, "--force", "--no-progress",
                    "-l1", "--no-section-index", "--time-resolution=1ns"], check=True,
                   capture_output=True)
    found = decoded.Image(scratch.read(image))
    return {path: found.time(inode) for path, inode in found.paths().items()}


def check(image, times, form):
    least, most, step = FORMATS[form]
    archive, done = export(image, form)
    files = {path: time for path, time in times.items() if path}
    early_or_late = [path for path, time in files.items()
                     if clamp(time, least, most, 1) != time]
    for path in files:
        warning = f"{path.decode()}: the {form} format cannot hold its time"
        assert (warning in done.stderr) == (path in early_or_late), (path, done.stderr)
    assert done.returncode == (1 if early_or_late else 0), done
    if form == "mtree":
        return
    back = import_times(archive)
    for path, time in files.items():
        expected = {clamp(time, least, most, step)}
        if form == "paxr":  # where it needs more than ustar, it has fractions, too
            expected.add(clamp(time, least, most, 1))
        assert back[path] in expected, (form, path, back[path], expected)


def check_tar(image, times):
    """As another program reads it."""
    with tarfile.open(export(image, "pax")[0]) as archive:
        for path, time in times.items():
            member = archive.getmember(path.decode() or ".")
            time = clamp(time, None, None, 1)
            text = member.pax_headers.get("mtime")
            assert abs(member.mtime - time / NANO) < 1e-3, (path, member.mtime)
            sign = "-" if time < 0 else ""
            # A decimal number: minus 60.5 is half a second before minus 60.
            seconds, point, _ = text.partition(".")
            assert seconds == f"{sign}{abs(time) // NANO}", (path, text)
            assert bool(point) == bool(time % NANO), (path, text)


def make_far(folder):
    """A folder with files of times of the years -1000 to 70000; as dated.make()."""
    seconds = (-93722486400, -2208988801, -2208988800, 253402300799, 253402300800,
               1833029933770, 1833029933771, 2146846464000)
    times = {str(second).encode(): second * NANO + 250000000 for second in seconds}
    os.makedirs(folder)
    for name, time in times.items():
        path = os.path.join(folder, name.decode())
        scratch.write(path, b"data")
        try:
            os.utime(path, ns=(time, time))
        except OverflowError:
            raise tap.Skip("time_t has 32 bits")
        if os.stat(path).st_mtime_ns != time:
            raise tap.Skip("the file system has no such times")
    return times


def main():
    try:
        absent.need_for_options(["archive"])
        tap.tool("MKDWARFS"), tap.tool("DWARFSEXTRACT")
        decoded.hashes(b"")
        tree = scratch.place("dated")
        times = dated.make(tree)
    except (tap.Skip, decoded.Unavailable) as reason:
        tap.skip_all(str(reason))
    image = scratch.pack(tree, "-l1", "--time-resolution=1ns")
    suite = tap.Suite()
    for form in FORMATS:
        with suite.case(form):
            absent.need_format(form)
            check(image, times, form)
    for form in "7zip", "xar":
        with suite.case(f"{form}, far from now"):
            absent.need_format(form)
            far = scratch.place("far." + form)
            times_far = make_far(far)
            check(scratch.pack(far, "-l1", "--time-resolution=1ns"), times_far, form)
    with suite.case("pax, read by another program"):
        check_tar(image, times)
    suite.finish()


main()
