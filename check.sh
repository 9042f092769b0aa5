#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh: install what is missing (Debian), build, and run every test.
#
# Builds plainly, with the address and undefined-behaviour sanitizers, and with the thread
# sanitizer, below build/; runs each with the tests that suit it, some under valgrind, too.
# Ends with "N passed, N failed, N skipped" and fails if anything did.
set -eu

cd -- "$(dirname -- "$0")"
. scripts/setup.sh
setup_install build check
exec python3 scripts/check.py "$@"
