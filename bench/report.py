# SPDX-License-Identifier: MIT
"""Reports of the measured figures: a table for each set, with targets, and a picture.

Upstream's mkdwarfs 0.15.3 does not run in this comparison. Its figures were measured elsewhere and
are in the file of results: sizes and peaks of the same data are used directly; its processor time
is stated as a multiple of what mksquashfs 4.5.1 (zstd 22, 1 MiB) takes on the same machine for the
same set, and so is the size on rootfs, which changes with the distribution's updates.
"""
from __future__ import annotations

import dataclasses
import html
import math

import matrix
import store
from store import Figures

YARDSTICK = matrix.YARDSTICK

OURS, PEERS, UPSTREAMS = "#c04020", "#305080", "#707070"
BEYOND = 8  # a program whose file is this many times the smallest is listed, not drawn

LABELS = {"mksquashfs-zstd": "mksquashfs zstd 22, 1 MiB", "mksquashfs-xz": "mksquashfs xz, 1 MiB",
          "erofs": "mkfs.erofs lz4hc 12", "wim": "wimcapture --solid",
          "tar-zstd": "tar, zstd -22 --long=31", "tar-xz": "tar, xz -9", "lrzip": "tar, lrzip -L9",
          "zpaq": "zpaq -m4"}


TARGETS = {
    "releases": {"mkdwarfs-3": {"size": 0.9, "cpu": 0.7},
                 "mkdwarfs-7": {"size": 0.95, "cpu": 0.6, "memory": 0.5},
                 "mkdwarfs-9": {"size": 0.97}, "mkdwarfs-7 -C null": {"cpu": 1 / 3}},
    "rootfs": {"mkdwarfs-7": {"size": 0.96, "cpu": 0.75}},
    "logs": {"mkdwarfs-7": {"size": 0.95, "cpu": 0.6, "memory": 0.5},
             "mkdwarfs-9": {"size": 0.97}, "mkdwarfs-7 -C null": {"cpu": 1 / 3}},
}


def by_set(results: store.Results, commit: str) -> dict[str, dict[str, Figures]]:
    """The figures of each set: peers by name, ours as "mkdwarfs-" and the level or options."""
    made = matrix.Report(results, commit, commit)
    out = {}
    for name in made.sets:
        out[name] = dict(made.peers[name])
        for options, figures in made.ours[name].items():
            out[name]["mkdwarfs-" + options.removeprefix("-l")] = figures
    return out


def label(name: str) -> str:
    if name in LABELS:
        return LABELS[name]
    return name.replace("mkdwarfs-", "mkdwarfs -l ")


def upstream(results: store.Results, set_name: str, name: str,
             figures: dict[str, Figures]) -> Figures:
    if not name.startswith("mkdwarfs-"):
        return {}
    return matrix.upstream(results, set_name, name.replace("mkdwarfs-", "-l"),
                           figures.get(YARDSTICK))


def verdict(set_name: str, name: str, ratios: Figures) -> str:
    """The targets with their bounds, and whether they are met."""
    words = []
    for column, bound in TARGETS.get(set_name, {}).get(name, {}).items():
        if column not in ratios:
            continue
        met = ratios[column] <= bound
        words.append(f"{column} ≤ {bound:.2f}: {'met' if met else '**missed**'}")
    return ", ".join(words)


def row(results: store.Results, set_name: str, name: str, figures: dict[str, Figures]) -> str:
    values = figures[name]
    yardstick = figures.get(YARDSTICK)
    theirs = upstream(results, set_name, name, figures)
    ratios = {column: values[column] / theirs[column] for column in theirs}
    cells = [label(name), f"{int(values['size']):,}".replace(",", " "), f"{values['cpu']:.1f}",
             f"{values['wall']:.1f}", f"{values['memory'] / 2**20:.0f}"]
    for column in ("size", "cpu"):
        cells.append(f"{values[column] / yardstick[column]:.3f}" if yardstick else "")
    for column in ("size", "cpu", "memory"):
        cells.append(f"{ratios[column]:.3f}" if column in ratios else "")
    cells.append(verdict(set_name, name, ratios))
    return "| " + " | ".join(cells) + " |"


def table(results: store.Results, set_name: str, figures: dict[str, Figures]) -> str:
    """A set's table in Markdown: peers by size, then ours."""
    ours = [name for name in figures if name.startswith("mkdwarfs-")]
    peers = sorted((name for name in figures if name not in ours),
                   key=lambda name: figures[name]["size"])
    lines = [f"### {set_name}", "",
             "| program | bytes | cpu s | wall s | peak MiB | size : squashfs | cpu : squashfs | "
             "size : upstream | cpu : upstream | memory : upstream | targets |",
             "|---|" + "---:|" * 9 + "---|"]
    lines += [row(results, set_name, name, figures) for name in peers + sorted(ours)]
    return "\n".join(lines) + "\n"


def tables(results: store.Results, commit: str) -> str:
    return "\n".join(table(results, name, figures)
                     for name, figures in by_set(results, commit).items())


@dataclasses.dataclass
class Point:
    text: str
    values: Figures
    colour: str
    square: bool = False


class Panel:
    """A plot of size over processor time, both on logarithmic axes."""
    width, height, left, right, top, bottom = 760, 440, 64, 110, 34, 44

    def __init__(self, points: list[Point], origin: int) -> None:
        self.origin = origin
        self.x = self.axis([point.values["cpu"] for point in points])
        self.y = self.axis([point.values["size"] / 1e6 for point in points])
        self.parts: list[str] = []
        self.points = points
        self.taken = [self.box(*self.place(point.values), -5, -5, 10, 10) for point in points]

    @staticmethod
    def axis(values: list[float]) -> tuple[float, float]:
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = 0.03 + 0.06 * (high - low)
        return low - margin, high + margin

    @staticmethod
    def box(x: float, y: float, dx: float, dy: float, width: float,
            height: float) -> tuple[float, float, float, float]:
        return x + dx, y + dy, x + dx + width, y + dy + height

    def place(self, values: Figures) -> tuple[float, float]:
        high = self.height - self.top - self.bottom
        across = (math.log10(values["cpu"]) - self.x[0]) / (self.x[1] - self.x[0])
        up = (math.log10(values["size"] / 1e6) - self.y[0]) / (self.y[1] - self.y[0])
        return (self.left + across * (self.width - self.left - self.right),
                self.origin + self.height - self.bottom - up * high)

    @staticmethod
    def ticks(span: tuple[float, float]) -> list[float]:
        """Round values within a range of powers of ten: few if it is wide, more if not."""
        steps = (1, 2, 5) if span[1] - span[0] > 0.8 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
        values = [step * 10**power for power in range(math.floor(span[0]), math.ceil(span[1]) + 1)
                  for step in steps]
        return [value for value in values if span[0] <= math.log10(value) <= span[1]]

    def write(self, x: float, y: float, text: str, more: str = "") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{html.escape(text)}</text>')

    def frame(self, title: str) -> None:
        top, bottom = self.origin + self.top, self.origin + self.height - self.bottom
        end = self.width - self.right
        self.write(self.left, self.origin + 20, title, ' font-weight="bold"')
        for value in self.ticks(self.x):
            x, _ = self.place({"cpu": value, "size": 1e6})
            self.parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="#e0e0e0"/>')
            self.write(x, bottom + 16, f"{value:g}", ' text-anchor="middle"')
        for value in self.ticks(self.y):
            _, y = self.place({"cpu": 1, "size": value * 1e6})
            self.parts.append(f'<path d="M{self.left} {y:.1f}H{end}" stroke="#e0e0e0"/>')
            self.write(self.left - 6, y + 4, f"{value:g}", ' text-anchor="end"')
        self.write(end + 8, bottom + 16, "processor s")
        self.write(8, self.origin + 36, "MB")

    def room(self, x: float, y: float, text: str) -> tuple[float, float]:
        """The position of a text next to its point, without covering others if possible."""
        width = 6.4 * len(text)
        tries = [(8, -6), (-8 - width, -6), (-width / 2, -20), (-width / 2, 8), (8, -18), (8, 6),
                 (-8 - width, -18), (-8 - width, 6), (8, -30), (8, 18), (-8 - width, 18)]
        boxes = [self.box(x, y, dx, dy, width, 12) for dx, dy in tries]
        free = [box for box in boxes if box[0] > self.left and not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for other in self.taken)]
        self.taken.append((free or boxes)[0])
        return self.taken[-1][0], self.taken[-1][1] + 10

    def draw(self) -> None:
        for point in self.points:
            x, y = self.place(point.values)
            shape = (f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="none" '
                     f'stroke="{point.colour}" stroke-width="1.5"/>' if point.square else
                     f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{point.colour}"/>')
            self.parts.append(shape)
            self.write(*self.room(x, y, point.text), point.text, f' fill="{point.colour}"')

    def join(self, points: list[Point]) -> None:
        places = " ".join("{:.1f},{:.1f}".format(*self.place(point.values)) for point in points)
        if points:
            self.parts.append(f'<polyline points="{places}" fill="none" '
                              f'stroke="{points[0].colour}"/>')


def plot(results: store.Results, set_name: str, figures: dict[str, Figures],
         origin: int) -> list[str]:
    """One set: our levels joined by a line, peers, upstream's levels as squares."""
    levels = [Point("-l " + name[9:], figures[name], OURS)
              for name in sorted(figures) if name.startswith("mkdwarfs-") and name[9:].isdigit()]
    others = [Point(name, values, PEERS) for name, values in figures.items()
              if not name.startswith("mkdwarfs-")]
    if not levels + others:
        return []
    largest = BEYOND * min(point.values["size"] for point in levels + others)
    beyond = [point for point in others if point.values["size"] > largest]
    theirs = []
    for options in results["given"].get(matrix.UPSTREAM, {}).get(set_name, {}):
        values = matrix.upstream(results, set_name, options, figures.get(YARDSTICK))
        if "size" in values and "cpu" in values:
            theirs.append(Point("up " + options[2:], values, UPSTREAMS, True))
    panel = Panel(levels + [point for point in others if point not in beyond] + theirs, origin)
    title = set_name + "".join(f"; beyond: {point.text}, {point.values['size'] / 1e6:.0f} MB, "
                               f"{point.values['cpu']:.0f} s" for point in beyond)
    panel.frame(title)
    panel.join(levels)
    panel.draw()
    return panel.parts


def picture(results: store.Results, commit: str) -> str:
    """Size over processor time, one plot below the other: nearer to the corner is better."""
    parts: list[str] = []
    origin = 24
    for name, figures in by_set(results, commit).items():
        parts += (plotted := plot(results, name, figures, origin))
        origin += Panel.height if plotted else 0
    height = 6 + origin
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{Panel.width}" height="{height}" '
            'font-family="sans-serif" font-size="11">\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>\n'
            '<text x="8" y="16">size over processor time: low and left is better; '
            'red: mkdwarfs; squares: upstream 0.15.3 by its level, computed</text>\n' +
            "\n".join(parts) + "\n</svg>\n")
