# SPDX-License-Identifier: MIT
"""Files with times from 1906 to 2400, where 32 bits, 33 bits or a missing sign would show."""
import datetime
import os

import tap

NANO = 10**9
YEARS = (1906, 1969, 1970, 2038, 2106, 2400)


def moment(year):
    """The middle of a year, with a fraction of a second; in nanoseconds since 1970."""
    when = datetime.datetime(year, 7, 1, 12, 34, 56, tzinfo=datetime.timezone.utc)
    return int(when.timestamp()) * NANO + 123456789


def make(folder, years=YEARS, own=1950):
    """A folder of a year with a file of each of others, read a second before it was written.

    Gives {path: nanoseconds}.
    """
    times = {str(year).encode(): moment(year) for year in years}
    os.makedirs(folder)
    for name, time in times.items():
        path = os.path.join(folder, name.decode())
        with open(path, "w", encoding="ascii") as out:
            out.write(f"written in {name.decode()}\n")
        os.utime(path, ns=(time - NANO, time))
        if os.stat(path).st_mtime_ns != time:
            raise tap.Skip("the file system has no such times")
    times[b""] = moment(own)
    os.utime(folder, ns=(times[b""], times[b""]))
    return times
