#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh: install the missing packages (Debian), build, and run the tests.
#
#   ./check.sh              every test, in a plain build
#   ./check.sh all          and then what sanitizers, valgrind and other platforms can add to
#   ./check.sh PART...      plain, address, thread, valgrind or platforms
#   ./check.sh bindings     the Python package with packages of PyPI; not in "all", but
#                           "all bindings" is possible
#
# Builds below build/. Ends with "N passed, N failed, N skipped" and fails if a test did.
set -eu

cd -- "$(dirname -- "$0")"
. scripts/setup.sh
setup_install build check
case " $* " in *" bindings "*) setup_install bindings ;; esac
exec python3 scripts/check.py "$@"
