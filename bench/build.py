#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare our mkdwarfs with mksquashfs on the same tree, in one run.

    bench/build.py MKDWARFS DIRECTORY [--rounds 2] [--levels 5,7] [--svg FILE]

The peer is `mksquashfs -comp zstd -Xcompression-level 22 -b 1M` of the system (Debian:
squashfs-tools). The programs take turns, A B A B, so that what else the machine does hurts both
alike; of each, the median of the rounds counts. Prints size, wall time, processor time and peak
memory, and the ratio of each to the peer's; --svg draws the ratios.
"""
import argparse
import html
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

COLUMNS = (("size", "MB", 1e6), ("wall", "s", 1), ("cpu", "s", 1), ("memory", "MiB", 2**20))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mkdwarfs")
    parser.add_argument("directory")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--levels", default="5,7")
    parser.add_argument("--svg")
    return parser.parse_args()


def measure(command, output):
    """Run a program; its output's size, wall and processor seconds, peak bytes."""
    if os.path.exists(output):
        os.unlink(output)
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    if process.returncode:
        sys.exit(f"{os.path.basename(command[0])} ended with {process.returncode}")
    return {"size": os.path.getsize(output), "wall": wall,
            "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024}


def contestants(arguments, scratch):
    output = os.path.join(scratch, "image")
    peer = ["mksquashfs", arguments.directory, output, "-comp", "zstd", "-Xcompression-level",
            "22", "-b", "1M", "-noappend", "-no-progress", "-quiet"]
    yield "mksquashfs zstd 22, 1 MiB", peer, output
    for level in arguments.levels.split(","):
        yield f"mkdwarfs -l {level}", [os.path.abspath(arguments.mkdwarfs), "-i",
                                       arguments.directory, "-o", output, "-f", "-l", level,
                                       "--no-progress"], output


def table(results):
    peer = next(iter(results.values()))
    lines = ["| program | " + " | ".join(f"{name} ({unit})" for name, unit, _ in COLUMNS) +
             " | " + " | ".join(f"{name} ratio" for name, _, _ in COLUMNS) + " |",
             "|---" * (1 + 2 * len(COLUMNS)) + "|"]
    for name, values in results.items():
        cells = [f"{values[column] / unit:.1f}" for column, _, unit in COLUMNS]
        cells += [f"{values[column] / peer[column]:.3f}" for column, _, _ in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(results):
    """Bars of the ratios to the peer, as SVG; 1 is a line."""
    peer_name, peer = next(iter(results.items()))
    ours = {name: values for name, values in results.items() if name != peer_name}
    colours = ("#4878a8", "#d08030", "#509050", "#905090")
    bar, gap, left, width = 16, 14, 90, 640
    largest = max(values[column] / peer[column]
                  for values in ours.values() for column, _, _ in COLUMNS)
    scale = (width - left - 70) / max(largest, 1.05)
    parts = []
    y = 34
    for column, _, _ in COLUMNS:
        parts.append(f'<text x="{left - 8}" y="{y + bar * len(ours) / 2 + 4:.0f}" '
                     f'text-anchor="end">{column}</text>')
        for number, values in enumerate(ours.values()):
            ratio = values[column] / peer[column]
            parts.append(f'<rect x="{left}" y="{y}" width="{ratio * scale:.1f}" '
                         f'height="{bar - 2}" fill="{colours[number % 4]}"/>')
            parts.append(f'<text x="{left + ratio * scale + 6:.1f}" y="{y + 11}">'
                         f'{ratio:.2f}</text>')
            y += bar
        y += gap
    one = left + scale
    parts.append(f'<line x1="{one:.1f}" y1="26" x2="{one:.1f}" y2="{y - gap + 4}" '
                 'stroke="#303030" stroke-dasharray="4 3"/>')
    x = left
    for number, name in enumerate(ours):
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" '
                     f'fill="{colours[number % 4]}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{html.escape(name)}</text>')
        x += 150
    parts.append(f'<text x="10" y="16">relative to {html.escape(peer_name)} = 1; '
                 'smaller is better</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 24}" '
            'font-family="sans-serif" font-size="12">\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(parts) +
            "\n</svg>\n")


def main():
    arguments = parse()
    if not shutil.which("mksquashfs"):
        sys.exit("no mksquashfs here (Debian: squashfs-tools)")
    rounds = {}
    with tempfile.TemporaryDirectory(prefix="dwarfs-bench-") as scratch:
        for number in range(arguments.rounds):
            for name, command, output in contestants(arguments, scratch):
                values = measure(command, output)
                rounds.setdefault(name, []).append(values)
                print(f"# round {number + 1}, {name}: {values['wall']:.1f} s", file=sys.stderr)
                os.unlink(output)
    results = {name: {column: statistics.median(values[column] for values in measured)
                      for column, _, _ in COLUMNS} for name, measured in rounds.items()}
    print(f"{os.cpu_count()} processors, {arguments.rounds} rounds in turns, medians\n")
    print(table(results))
    if arguments.svg:
        with open(arguments.svg, "w", encoding="utf-8") as out:
            out.write(picture(results))


if __name__ == "__main__":
    main()
