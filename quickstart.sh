#!/bin/sh
# SPDX-License-Identifier: MIT
#
# quickstart.sh [DIRECTORY]: see it work.
#
# Installs what is missing (Debian), builds, packs the directory (/usr/share/doc unless told
# otherwise) into an image, checks the image, mounts it, or extracts it where there is no
# FUSE, lists it, says how small it got, and cleans up. The build stays in build/quickstart.
set -eu

case ${1-} in
  -h | --help)
    echo "usage: $0 [DIRECTORY]"
    exit 0
    ;;
esac
directory=$(cd -- "${1:-/usr/share/doc}" && pwd -P)
cd -- "$(dirname -- "$0")"
. scripts/setup.sh

scratch=
driver=
clean_up() {
  if [ -n "$driver" ]; then
    fusermount3 -u "$scratch/mount" 2>/dev/null || kill "$driver" 2>/dev/null || true
    wait "$driver" 2>/dev/null || true
  fi
  if [ -n "$scratch" ]; then
    chmod -R u+rwX "$scratch" 2>/dev/null || true
    rm -rf "$scratch"
  fi
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

say() {
  printf '\n== %s\n' "$*"
}

say "Setting up and building"
setup_install build
build=build/quickstart
if [ ! -f "$build/build.ninja" ]; then
  meson setup "$build" --buildtype=release -Dtests=disabled -Dpython=disabled -Djava=disabled \
    -Dperl=disabled -Druby=disabled -Dlua=disabled >/dev/null
fi
ninja -C "$build" --quiet
tools=$PWD/$build/utils

scratch=$(mktemp -d)
image=$scratch/image.dwarfs
# Bytes of files and links, hard links once, as mkdwarfs counts them.
input_bytes=$(find "$directory" \( -type f -o -type l \) -printf '%D:%i %s\n' 2>/dev/null |
  sort -u | awk '{ sum += $2 } END { printf "%.0f", sum }')
level=7
[ "$input_bytes" -lt 67108864 ] || level=4
[ "$input_bytes" -lt 1073741824 ] || level=1

say "Packing $directory at level $level"
code=0
"$tools/mkdwarfs" -i "$directory" -o "$image" -l "$level" || code=$?
case $code in
  0) ;;
  2) echo "Some files could not be read; the image holds the rest." ;;
  *) exit "$code" ;;
esac

say "Checking the image"
"$tools/dwarfsck" -i "$image" --check-integrity -d 1

mkdir "$scratch/mount"
if [ -w /dev/fuse ] && command -v fusermount3 >/dev/null 2>&1; then
  "$tools/dwarfs" "$image" "$scratch/mount" -f >"$scratch/driver.log" 2>&1 &
  driver=$!
  tries=0
  while ! mountpoint -q "$scratch/mount"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ] || ! kill -0 "$driver" 2>/dev/null; then
      echo "Mounting failed: $(cat "$scratch/driver.log")"
      wait "$driver" 2>/dev/null || true
      driver=
      break
    fi
    sleep 0.1
  done
fi
if [ -n "$driver" ]; then
  say "Mounted; its first entries"
else
  say "No FUSE here: extracted; its first entries"
  "$tools/dwarfsextract" -i "$image" -o "$scratch/mount"
fi
ls -l "$scratch/mount" | head -n 12
echo "$(find "$scratch/mount" | wc -l) entries in all"

image_bytes=$(stat -c %s "$image")
say "Done"
awk -v input="$input_bytes" -v image="$image_bytes" 'BEGIN {
  printf "%.1f MB became %.1f MB: 1 : %.2f\n", input / 1e6, image / 1e6, input / image
}'
