# SPDX-License-Identifier: MIT
"""Fresh mounts for measurements, by dwarfs and its peers, and the images for them."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

# What mounts an image, and the format of its image. squashfs-1M has blocks of 1 MiB, with which its
# images are smallest.
KINDS = ("dwarfs", "squashfs", "squashfs-1M", "erofs", "squashfuse", "erofsfuse")
IMAGES = {"dwarfs": "dwarfs", "squashfs": "squashfs", "squashfs-1M": "squashfs-1M",
          "squashfuse": "squashfs", "erofs": "erofs", "erofsfuse": "erofs"}
OPTIONS = {"dwarfs": ["-l7"], "squashfs": ["-Xcompression-level", "22"],
           "squashfs-1M": ["-b", "1M", "-Xcompression-level", "22"], "erofs": []}


def call(*words: str) -> None:
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.decode(errors='replace')}")


def available(kind: str) -> bool:
    """Whether this machine can mount that."""
    system = kind.split("-", maxsplit=1)[0]
    if system in ("squashfs", "erofs"):
        with open("/proc/filesystems", encoding="ascii") as known:
            return system in known.read().split() and os.geteuid() == 0
    return kind == "dwarfs" or shutil.which(kind) is not None


def make(kind: str, tree: str, image: str, programs: str, options: list[str]) -> str:
    """Make the image of a tree, unless it exists."""
    if not os.path.exists(image):
        print(f"# making {image}", file=sys.stderr, flush=True)
        partial = image + ".partial"
        if kind == "dwarfs":
            call(os.path.join(programs, "mkdwarfs"), "-i", tree, "-o", partial, "-f",
                 "--no-progress", "--with-devices", "--with-specials", *options)
        elif kind.startswith("squashfs"):
            call("mksquashfs", tree, partial, "-comp", "zstd", "-noappend", "-no-progress",
                 "-quiet", *options)
        else:
            call("mkfs.erofs", "-zlz4hc,12", "-C65536", *options, partial, tree)
        os.rename(partial, image)
    return image


def drop_caches() -> None:
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as control:
        control.write("3")


def warm(path: str) -> None:
    """Read a file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


class Fresh:
    """A new mount with only the image, find and the files of ready() in the kernel's caches."""

    def __init__(self, kind: str, image: str, programs: str, options: str = "",
                 ready: Callable[[], object] | None = None) -> None:
        self.image, self.ready = image, ready
        loop = ["mount", "-o", "loop,ro", "-t"]
        self.words = {
            "dwarfs": [os.path.join(programs, "dwarfs"), image, "DIR",
                       *(["-o", options] if options else [])],
            "squashfs": [*loop, "squashfs", image, "DIR"],
            "squashfs-1M": [*loop, "squashfs", image, "DIR"],
            "erofs": [*loop, "erofs", image, "DIR"],
            "squashfuse": ["squashfuse", image, "DIR"],
            "erofsfuse": ["erofsfuse", image, "DIR"],
        }[kind]

    def command(self, directory: str) -> list[str]:
        """What mounts it there."""
        return [directory if word == "DIR" else word for word in self.words]

    def __enter__(self) -> str:
        self.dir = tempfile.mkdtemp(prefix="bench-")
        drop_caches()
        warm(self.image)
        call("find", self.dir, "-ls")
        if self.ready:
            self.ready()
        call(*self.command(self.dir))
        return self.dir

    def __exit__(self, *_: object) -> None:
        for _attempt in range(100):
            if not os.path.ismount(self.dir):
                break
            subprocess.run(["umount", self.dir], stderr=subprocess.DEVNULL, check=False)
            time.sleep(0.05)
        os.rmdir(self.dir)


def seconds(function: Callable[[], object]) -> float:
    began = time.monotonic()
    function()
    return time.monotonic() - began


def cold_and_warm(rounds: int, mount: Callable[[], Fresh],
                  function: Callable[[str], float]) -> tuple[float, float]:
    """The minimum of several first and second times, each pair on a separate mount."""
    times = []
    for _ in range(rounds):
        with mount() as directory:
            times.append((function(directory), function(directory)))
    return min(pair[0] for pair in times), min(pair[1] for pair in times)


def save(path: str | None, results: dict[str, Any]) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1, sort_keys=True)


def ratios(title: str, rows: list[str], results: dict[str, dict[str, float]], columns: list[str],
           base: str) -> None:
    """A table: seconds of the base, and ratios of the others to it."""
    print(f"| {title} | " + " | ".join(
        f"{name}, s" if name == base else f"{name} : {base}" for name in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for row in rows:
        cells = []
        for name in columns:
            value, unit = results.get(name, {}).get(row), results.get(base, {}).get(row)
            if value is None or not unit:
                cells.append("")
            else:
                cells.append(f"{value:.4f}" if name == base else f"{value / unit:.2f}")
        print(f"| {row} | " + " | ".join(cells) + " |")
