# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Sourced by quickstart.sh and check.sh: their dependencies, and how to install them.
#
#   setup_install build          to build the library and the tools
#   setup_install build check    and to run every test
#   setup_install platforms      for scripts/platforms, in addition
#   setup_install bindings       for scripts/bindings.py, in addition
#
# Installs missing packages by apt-get, as root or with sudo. Without apt-get, prints the names
# of the packages and continues.

# The one list of dependencies; CONTRIBUTING.md explains them.
setup_packages_build="gcc libc6-dev meson ninja-build pkg-config python3 libxxhash-dev nettle-dev
  libzstd-dev liblz4-dev liblzma-dev libbrotli-dev libflac-dev libb2-dev libjansson-dev
  libfuse3-dev fuse3 libarchive-dev zlib1g-dev"
setup_packages_check="g++ clang clang-format libclang-rt-14-dev libcmocka-dev swig python3-dev libperl-dev ruby ruby-dev lua5.4 liblua5.4-dev valgrind mandoc binutils cmake
  abigail-tools
  util-linux ca-certificates acl libacl1-dev libbz2-dev libxml2-dev attr libcap2-bin libarchive-tools cpio unzip dosfstools libpython3.11-testsuite"
setup_packages_platforms="gcc-i686-linux-gnu gcc-s390x-linux-gnu gcc-aarch64-linux-gnu qemu-user musl-tools make
  gcc-mingw-w64-x86-64-posix wine wine64 dpkg-dev python3-venv"
setup_packages_bindings="python3-venv git"
setup_packages_cargo="cargo-web rustc-web"
setup_packages_java="default-jdk-headless"

setup_is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

setup_as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    echo "Installing packages takes root or sudo." >&2
    return 1
  fi
}

setup_install() {
  setup_wanted=
  for setup_group in "$@"; do
    case $setup_group in
      build) setup_wanted="$setup_wanted $setup_packages_build" ;;
      check)
        setup_wanted="$setup_wanted $setup_packages_check"
        command -v cargo >/dev/null 2>&1 || setup_wanted="$setup_wanted $setup_packages_cargo"
        command -v javac >/dev/null 2>&1 || setup_wanted="$setup_wanted $setup_packages_java"
        ;;
      bindings) setup_wanted="$setup_wanted $setup_packages_bindings" ;;
      platforms) setup_wanted="$setup_wanted $setup_packages_platforms" ;;
    esac
  done
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "No apt-get here. On Debian 12 these packages would be installed:" $setup_wanted >&2
    return 0
  fi
  setup_missing=
  for setup_package in $setup_wanted; do
    setup_is_installed "$setup_package" || setup_missing="$setup_missing $setup_package"
  done
  [ -n "$setup_missing" ] || return 0
  echo "Installing:$setup_missing"
  setup_as_root apt-get -qq update || echo "apt-get update failed; trying without" >&2
  # shellcheck disable=SC2086
  setup_as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y --no-install-recommends install $setup_missing >/dev/null
}
