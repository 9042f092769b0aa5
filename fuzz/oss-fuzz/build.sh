#!/bin/bash -eu
# SPDX-License-Identifier: MIT
#
# Run by OSS-Fuzz in its container: builds the fuzzers into $OUT, each with its seeds and its
# dictionary. Compiler, flags, sanitizer and engine are in the environment, as OSS-Fuzz sets them.
# The libraries that the fuzzers need are copied to $OUT/lib, since the machines that run them do
# not have them.
source_root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
build=${WORK:?}/build
out=${OUT:?}

rm -rf -- "$build"
# shellcheck disable=SC2016
meson setup "$build" "$source_root" --buildtype=plain -Dfuzz=true -Db_lundef=false \
  -Ddefault_library=static -Dtools=disabled -Dfuse=disabled -Dpython=disabled -Dtests=disabled \
  "-Dc_link_args=-Wl,--disable-new-dtags,-rpath,\$ORIGIN/lib" \
  "-Dcpp_link_args=-Wl,--disable-new-dtags,-rpath,\$ORIGIN/lib"
ninja -C "$build" fuzzers

mkdir -p "$out/lib"
for program in "$build"/fuzz/fuzz-*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  name=$(basename -- "$program")
  case $name in fuzz-replay-*) continue ;; esac
  cp -- "$program" "$out/$name"
  # All libraries except those of the C library and the compiler, which every machine has.
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|ld-linux[^/]*)\.so' |
    while read -r library; do cp -nL -- "$library" "$out/lib/"; done
  seeds=${name#fuzz-}
  case $seeds in sections | operations) seeds=image ;; esac
  python3 -m zipfile -c "$out/${name}_seed_corpus.zip" "$source_root/fuzz/seeds/$seeds"/*
  cp -- "$source_root/fuzz/dictionaries/$seeds.dict" "$out/$name.dict"
done
