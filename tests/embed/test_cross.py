# SPDX-License-Identifier: MIT
"""A cross build, with the tests, for a machine whose programs cannot be run here.

test_cross.py CC

The compiler is that of this machine: what is tested is that the build runs no program.
"""
import json
import os
import platform
import sys

import embed

CC = sys.argv[1]
CROSS = """\
[binaries]
c = {cc!r}
ar = 'ar'
pkgconfig = 'pkg-config'
[host_machine]
system = {system!r}
cpu_family = {machine!r}
cpu = {machine!r}
endian = {endian!r}
[properties]
needs_exe_wrapper = true
"""


def test_configuration(suite, scratch):
    with suite.case("a cross build without an emulator is configured, with the tests"):
        path, build = os.path.join(scratch, "cross"), os.path.join(scratch, "build")
        with open(path, "w", encoding="utf-8") as out:
            out.write(CROSS.format(cc=CC, system=platform.system().lower(), machine=platform.machine(),
                                   endian=sys.byteorder))
        embed.run("meson", "setup", build, embed.ROOT, "--cross-file", path, "-Dtests=enabled")
        assert json.loads(embed.run("meson", "introspect", build, "--tests"))


embed.run_with_meson(test_configuration)
