# SPDX-License-Identifier: MIT
"""Matrices "set x order" and "set x level": results of a commit, and missed targets.

Every cell is bytes or a ratio; those that miss a target are bold and marked with !, a cell without
figures is empty. Results on other data than the commit's are omitted.
"""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import store

SETS = ("releases rootfs logs bundles tools compiler icons wheels disk generated mail table photos "
        "git").split()
ORDERS = ("path", "revpath", "similarity", "nilsimsa")
LEVELS = ("3", "5", "7", "9")
METHODS = ("3", "z9", "5", "7", "9")  # levels whose orders are compared
ASCENDING = (LEVELS, ("z3", "z9", "z22"))  # the higher is never larger
UPSTREAM = "upstream 0.15.3, measured elsewhere"
YARDSTICK = "mksquashfs-zstd"
ELSEWHERE = "mksquashfs zstd 22 1M, measured elsewhere"
TARGET_PEERS = ("mksquashfs-xz", "wim")

ORDER_BOUND = 1.02  # auto to the best fixed order
MEAN_BOUND, CPU_MEAN_BOUND, CPU_BOUND = 0.95, 0.6, 1.0  # of level 7, to upstream
GENERATED_BOUND, GENERATED_CPU_BOUND = 0.6, 0.25  # level 7 of generated, to the other commit
Figures = store.Figures


def command(level: str, order: str = "auto") -> str:
    """The options of mkdwarfs for a level as compare.py names them, and an order."""
    options = {"z": f"-l7 -C zstd:level={level[1:]}", "n": "-l7 -C null"}.get(level[0],
                                                                            "-l" + level)
    return options + ("" if order == "auto" else f" --order={order}")


def slack(size: float) -> float:
    """The limit that counts as not larger than a size."""
    return size * 1.005 + 4096


def mean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def upstream(results: store.Results, set_name: str, options: str,
             yardstick: Figures | None) -> Figures:
    """Upstream's figures on the machine of the run, if known.

    Its size is used directly, or as a multiple of the reference's if the data change; its time as
    a multiple of the reference's if both were measured.
    """
    given = results["given"].get(UPSTREAM, {}).get(set_name, {}).get(options, {})
    theirs = results["given"].get(ELSEWHERE, {}).get(set_name, {}).get(YARDSTICK, {})
    out = {column: given[column] for column in ("size", "memory") if column in given}
    if yardstick:
        for column in ("size", "cpu"):
            if f"{column} : {YARDSTICK}" in given:
                out[column] = given[f"{column} : {YARDSTICK}"] * yardstick[column]
        if "cpu" in given and "cpu" in theirs:
            out["cpu"] = given["cpu"] / theirs["cpu"] * yardstick["cpu"]
    if "memory" in out:
        out["memory"] *= 2**20
    return out


@dataclasses.dataclass
class Cell:
    text: str = ""
    lost: bool = False

    def __str__(self) -> str:
        return f"**{self.text}** !" if self.lost else self.text


def ratio(value: float, other: float, lost: bool = False) -> Cell:
    return Cell(f"{value / other:.3f}", lost)


class Report:
    """All matrices of one commit."""

    def __init__(self, results: store.Results, commit: str, against: str) -> None:
        self.results, self.commit, self.against = results, commit, against
        measured = results["measured"]
        names = {name for source in (commit, store.PEERS) for name in measured.get(source, {})}
        self.sets = sorted(names, key=lambda name: (SETS.index(name) if name in SETS
                                                    else len(SETS), name))
        data = {name: store.newest_data(results, name, [commit, against, store.PEERS])
                for name in self.sets}
        self.ours = {name: store.figures(results, commit, name, data[name])
                     for name in self.sets}
        self.other = {name: store.figures(results, against, name, data[name])
                      for name in self.sets}
        self.peers = {name: store.figures(results, store.PEERS, name, data[name])
                      for name in self.sets}
        self.lost: list[str] = []

    def figure(self, name: str, options: str, column: str = "size") -> float | None:
        entry = self.ours[name].get(options)
        return entry[column] if entry else None

    def theirs(self, name: str, level: str) -> Figures:
        return upstream(self.results, name, command(level), self.peers[name].get(YARDSTICK))

    def matrix(self, title: str, columns: tuple[str, ...],
               cell: Callable[[str, str], Cell | None],
               means: Callable[[str, list[float]], bool] | None = None) -> str:
        """A table of the sets: a row each, but for those without any cell, then the means."""
        rows: list[str] = []
        values: dict[str, list[float]] = {column: [] for column in columns}
        for name in self.sets:
            cells = [cell(name, column) or Cell() for column in columns]
            for column, made in zip(columns, cells):
                if made.lost:
                    self.lost.append(f"{title}: {name}, {column}: {made.text}")
                if means and made.text:
                    values[column].append(float(made.text))
            if any(made.text for made in cells):
                rows.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
        if not rows:
            return ""
        if means:
            total = [Cell(f"{mean(values[column]):.3f}", means(column, values[column]))
                     if values[column] else Cell() for column in columns]
            self.lost += [f"{title}: mean, {column}: {made.text}"
                          for column, made in zip(columns, total) if made.lost]
            rows.append("| *geometric mean* | " + " | ".join(map(str, total)) + " |")
        return "\n".join([f"#### {title}", "", "| set | " + " | ".join(columns) + " |",
                          "|---|" + "---:|" * len(columns), *rows, ""])

    def fixed(self, name: str, level: str) -> dict[str, float]:
        sizes = {order: self.figure(name, command(level, order)) for order in ORDERS}
        return {order: size for order, size in sizes.items() if size}

    def order_cell(self, level: str) -> Callable[[str, str], Cell | None]:
        def cell(name: str, column: str) -> Cell | None:
            fixed = self.fixed(name, level)
            if not fixed:
                return None
            best = min(fixed, key=lambda order: fixed[order])
            if column == "best":
                return Cell(f"{best}, {int(fixed[best]):,}".replace(",", " ").replace("  ", ", "))
            size = self.figure(name, command(level, column))
            if not size:
                return None
            return ratio(size, fixed[best], column == "auto" and size > ORDER_BOUND * fixed[best])
        return cell

    def order_against(self, level: str) -> Callable[[str, str], Cell | None]:
        def cell(name: str, order: str) -> Cell | None:
            size = self.figure(name, command(level, order))
            other = self.other[name].get(command(level, order))
            if not size or not other:
                return None
            return ratio(size, other["size"],
                         order not in ("revpath", "auto") and size > other["size"] + 4096)
        return cell

    def bytes_cell(self, name: str, level: str) -> Cell | None:
        size = self.figure(name, command(level))
        return Cell(f"{int(size):,}".replace(",", " ")) if size else None

    def upstream_cell(self, column: str) -> Callable[[str, str], Cell | None]:
        def cell(name: str, level: str) -> Cell | None:
            value = self.figure(name, command(level), column)
            theirs = self.theirs(name, level).get(column)
            if not value or not theirs:
                return None
            if column == "size":
                return ratio(value, theirs, value > slack(theirs))
            return ratio(value, theirs, column == "cpu" and level == "7"
                         and value > CPU_BOUND * theirs)
        return cell

    def peers_cell(self, name: str, level: str) -> Cell | None:
        size = self.figure(name, command(level))
        peers = [self.peers[name][peer]["size"] for peer in TARGET_PEERS
                 if peer in self.peers[name]]
        if not size or not peers:
            return None
        return ratio(size, min(peers), level == "9" and not self.theirs(name, level)
                     and size > slack(min(peers)))

    def reference_cell(self, name: str, level: str) -> Cell | None:
        """To upstream where its size is known, or to the smaller peer; only the mean counts."""
        cell = self.upstream_cell("size")(name, level) or self.peers_cell(name, level)
        return Cell(cell.text) if cell else None

    def lower_cell(self, levels: tuple[str, ...]) -> Callable[[str, str], Cell | None]:
        def cell(name: str, level: str) -> Cell | None:
            size = self.figure(name, command(level))
            lower = [self.figure(name, command(other)) for other in levels[:levels.index(level)]]
            known = [other for other in lower if other]
            if not size or not known:
                return None
            return ratio(size, min(known), size > slack(min(known)))
        return cell

    def against_cell(self, column: str) -> Callable[[str, str], Cell | None]:
        def cell(name: str, level: str) -> Cell | None:
            value = self.figure(name, command(level), column)
            other = self.other[name].get(command(level))
            if not value or not other:
                return None
            bound = {"size": GENERATED_BOUND, "cpu": GENERATED_CPU_BOUND}[column]
            return ratio(value, other[column], name == "generated" and level == "7"
                         and self.commit != self.against and value > bound * other[column])
        return cell

    def order_part(self) -> list[str]:
        parts = []
        for level in METHODS:
            options = command(level)
            parts.append(self.matrix(f"Orders at `{options}`, to the best fixed one",
                                     ("best", *ORDERS, "auto"), self.order_cell(level)))
            if self.against != self.commit:
                parts.append(self.matrix(f"Orders at `{options}`, to those of {self.against}",
                                         (*ORDERS, "auto"), self.order_against(level)))
        return parts

    def level_part(self) -> list[str]:
        def sizes(level: str, values: list[float]) -> bool:
            return level == "7" and mean(values) > MEAN_BOUND

        def times(level: str, values: list[float]) -> bool:
            return level == "7" and mean(values) > CPU_MEAN_BOUND

        def free(_level: str, _values: list[float]) -> bool:
            return False
        parts = [self.matrix("Bytes", LEVELS, self.bytes_cell),
                 self.matrix("Size to upstream", LEVELS, self.upstream_cell("size"), free),
                 self.matrix("Size to the smaller of mksquashfs xz and wimcapture --solid",
                             LEVELS, self.peers_cell, free),
                 self.matrix("Size to upstream or, where it is not known, to that peer",
                             LEVELS, self.reference_cell, sizes),
                 self.matrix("Processor time to upstream", LEVELS,
                             self.upstream_cell("cpu"), times),
                 self.matrix("Peak memory to upstream", LEVELS,
                             self.upstream_cell("memory"), free)]
        parts += [self.matrix(f"Size to the smallest lower level ({', '.join(levels)})",
                              levels[1:], self.lower_cell(levels)) for levels in ASCENDING]
        if self.against != self.commit:
            parts += [self.matrix(f"{title} to {self.against}", LEVELS,
                                  self.against_cell(column), free)
                      for title, column in (("Size", "size"), ("Processor time", "cpu"))]
        return parts

    def text(self) -> str:
        parts = [part for part in self.level_part() + self.order_part() if part]
        lost = list(dict.fromkeys(self.lost))
        head = [f"### {self.commit}", "",
                f"{len(lost)} cells miss a target" + (":" if lost else "."), ""]
        head += [f"- {line}" for line in lost] + ([""] if lost else [])
        return "\n".join(head + parts)


def report(results: store.Results, commit: str, against: str) -> str:
    """Both matrices of a commit, missed targets first."""
    return Report(results, commit, against).text()
