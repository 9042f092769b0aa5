# SPDX-License-Identifier: MIT
"""The file of results: own measurements by commit, set and command; and those of others.

    {"given": {SOURCE: {SET: {OPTIONS: {"size": BYTES, "cpu": SECONDS, "memory": MIB, ...}}}},
     "measured": {COMMIT: {SET: {COMMAND: {"data": DATA, "samples": [SAMPLE, ...]}}}}}

COMMIT is that of the mkdwarfs measured, or "peers"; COMMAND its options or the name of the peer.
DATA identifies the contents of the set: figures for other data are excluded from comparisons. A
sample is a list of COLUMNS. One command is one line, in order, so that differences of the file can
be read.

Several processes may add results at the same time: the file is read again under a lock, and new
results are added.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import statistics
from collections.abc import Iterator
from typing import Any

COLUMNS = ("size", "cpu", "wall", "memory", "threads")  # bytes, seconds, seconds, bytes, 0 for all
PEERS = "peers"
Figures = dict[str, float]
Results = dict[str, Any]


def load(path: str) -> Results:
    if not os.path.exists(path):
        return {"given": {}, "measured": {}}
    with open(path, encoding="utf-8") as source:
        results: Results = json.load(source)
        return results


def text(value: Any, depth: int = 0) -> str:
    """JSON with a line for each command: objects below the fourth level are not broken."""
    if depth == 4 or not isinstance(value, dict) or not value:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    room = " " * (depth + 1)
    parts = [f"{room}{json.dumps(key, ensure_ascii=False)}: {text(value[key], depth + 1)}"
             for key in sorted(value)]
    return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"


def save(path: str, results: Results) -> None:
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text(results) + "\n")
    os.replace(path + ".new", path)


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def add(path: str, commit: str, set_name: str, command: str, data: str,
        sample: list[float], more: bool) -> None:
    """Store a sample; with more, in addition to existing ones of the same data."""
    with locked(path):
        results = load(path)
        commands = results["measured"].setdefault(commit, {}).setdefault(set_name, {})
        entry = commands.get(command)
        if not entry or not more or entry["data"] != data:
            entry = {"data": data, "samples": []}
        entry["samples"].append(sample)
        commands[command] = entry
        save(path, results)


def samples(results: Results, commit: str, set_name: str, command: str, data: str) -> int:
    """The number of samples of these data."""
    entry = results["measured"].get(commit, {}).get(set_name, {}).get(command)
    return len(entry["samples"]) if entry and entry["data"] == data else 0


def figures(results: Results, commit: str, set_name: str, data: str = "") -> dict[str, Figures]:
    """The medians of a commit's commands on a set; of certain data only, if given."""
    return {command: {column: statistics.median(sample[number] for sample in entry["samples"])
                      for number, column in enumerate(COLUMNS)}
            for command, entry in results["measured"].get(commit, {}).get(set_name, {}).items()
            if not data or entry["data"] == data}


def newest_data(results: Results, set_name: str, commits: list[str]) -> str:
    """The data of a set that the first of these commits was measured with."""
    for commit in commits:
        for entry in results["measured"].get(commit, {}).get(set_name, {}).values():
            data: str = entry["data"]
            return data
    return ""
