# SPDX-License-Identifier: MIT
"""The programs of the comparison: their command lines, and the measurement of one run.

A program is a list of steps that run one after the other; a step is a list of commands joined by
pipes, the last of which may write the file itself or its standard output.
"""
from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
import time
from typing import IO, Any

PEERS = ("mksquashfs-zstd", "mksquashfs-xz", "erofs", "wim", "tar-zstd", "tar-xz", "lrzip", "zpaq")
SQUASHFS = ["-b", "1M", "-noappend", "-no-progress", "-quiet"]
PACKAGES = {"mksquashfs": "squashfs-tools", "mkfs.erofs": "erofs-utils", "wimcapture": "wimtools",
            "zstd": "zstd", "xz": "xz-utils", "lrzip": "lrzip", "zpaq": "zpaq", "tar": "tar"}

THREADS = {"mksquashfs": ["-processors", "{}"], "wimcapture": ["--threads={}"]}


@dataclasses.dataclass
class Program:
    """The steps that pack a directory into one file; with capture, the file is the output of the
    last step."""
    name: str
    steps: list[list[list[str]]]
    output: str
    capture: bool = False

    def missing(self) -> list[str]:
        used = {command[0] for step in self.steps for command in step}
        return sorted(name for name in used if not shutil.which(name))

    def text(self, directory: str, scratch: str) -> str:
        """The command line for display: D is the directory, F the file."""
        steps = [" | ".join(shlex.join(command) for command in step) for step in self.steps]
        if self.capture:
            steps[-1] += " > " + self.output
        line = " && ".join(steps).replace(self.output, "F").replace(directory, "D")
        return line.replace(scratch + os.sep, "")


def peer(name: str, directory: str, scratch: str, threads: int = 0) -> Program:
    """The command of a peer, for a directory, into a file of the scratch directory."""
    program = plain_peer(name, directory, scratch)
    option = THREADS.get(program.steps[0][0][0])
    if threads and option:
        program.steps[0][0] += [part.format(threads) for part in option]
    return program


def plain_peer(name: str, directory: str, scratch: str) -> Program:
    out = os.path.join(scratch, "image")
    tar = ["tar", "cf", "-", "-C", directory, "."]
    plain = os.path.join(scratch, "plain.tar")
    if name == "mksquashfs-zstd":
        return Program(name, [[["mksquashfs", directory, out, "-comp", "zstd",
                                "-Xcompression-level", "22", *SQUASHFS]]], out)
    if name == "mksquashfs-xz":
        return Program(name, [[["mksquashfs", directory, out, "-comp", "xz", *SQUASHFS]]], out)
    if name == "erofs":
        return Program(name, [[["mkfs.erofs", "-zlz4hc,12", "-C65536", out, directory]]], out)
    if name == "wim":
        return Program(name, [[["wimcapture", "--unix-data", "--solid", directory, out]]], out)
    if name == "tar-zstd":
        zstd = ["zstd", "--ultra", "-22", "--long=31", "-T0", "-c"]
        return Program(name, [[tar, zstd]], out, True)
    if name == "tar-xz":
        return Program(name, [[tar, ["xz", "-9", "-T0", "-c"]]], out, True)
    if name == "lrzip":
        return Program(name, [[["tar", "cf", plain, "-C", directory, "."]],
                              [["lrzip", "-q", "-f", "-L9", "-o", out, plain]]], out)
    if name == "zpaq":
        archive = out + ".zpaq"
        return Program(name, [[["zpaq", "a", archive, directory, "-m4"]]], archive)
    raise ValueError(name)


def mkdwarfs(name: str, binary: str, options: list[str], directory: str, scratch: str) -> Program:
    out = os.path.join(scratch, "image")
    return Program(name, [[[binary, "-i", directory, "-o", out, "-f", "--with-devices",
                            "--with-specials", "--no-progress", *options]]], out)


def run_step(commands: list[list[str]], output: str | None, scratch: str) -> tuple[float, int]:
    """Run commands joined by pipes; their processor seconds, and the peak bytes of the largest."""
    processes: list[subprocess.Popen[bytes]] = []
    source: int | IO[bytes] | None = subprocess.DEVNULL
    with open(os.path.join(scratch, "messages"), "wb") as messages, \
            open(output or os.devnull, "wb") as sink:
        for command in commands:
            last = len(processes) == len(commands) - 1
            process = subprocess.Popen(command, stdin=source, stderr=messages,
                                       stdout=sink if last else subprocess.PIPE)
            if processes and processes[-1].stdout:
                processes[-1].stdout.close()
            source = process.stdout
            processes.append(process)
        cpu, peak, failed = 0.0, 0, []
        for process, command in zip(processes, commands):
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu += usage.ru_utime + usage.ru_stime
            peak = max(peak, usage.ru_maxrss * 1024)
            if process.returncode:
                failed.append(f"{os.path.basename(command[0])} ended with {process.returncode}")
    if failed:
        with open(os.path.join(scratch, "messages"), errors="replace") as messages:
            raise RuntimeError("; ".join(failed) + "\n" + messages.read()[-2000:])
    return cpu, peak


def measure(program: Program, scratch: str) -> dict[str, Any]:
    """Run a program once: bytes of its file, processor and wall seconds, peak bytes."""
    for entry in os.scandir(scratch):
        os.unlink(entry.path)
    cpu, peak = 0.0, 0
    began = time.monotonic()
    for number, step in enumerate(program.steps):
        captured = program.capture and number == len(program.steps) - 1
        used, largest = run_step(step, program.output if captured else None, scratch)
        cpu += used
        peak = max(peak, largest)
    return {"size": os.path.getsize(program.output), "cpu": round(cpu, 3),
            "wall": round(time.monotonic() - began, 3), "memory": peak,
            "when": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())}


def warm(directory: str) -> str:
    """Read every regular file once, so that all programs find them in the page cache.

    Returns their number and bytes, by which versions of a set are distinguished.
    """
    files = size = 0
    for path, _, names in os.walk(directory):
        for name in names:
            full = os.path.join(path, name)
            if os.path.isfile(full) and not os.path.islink(full):
                files += 1
                with open(full, "rb", buffering=0) as source:
                    while part := source.read(1 << 20):
                        size += len(part)
    return f"{files} files, {size} bytes"


def check(binary: str, image: str) -> None:
    """Fully check an image by the dwarfsck in the folder of mkdwarfs."""
    checker = os.path.join(os.path.dirname(binary), "dwarfsck")
    done = subprocess.run([checker, image, "--check-integrity", "--quiet"], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"dwarfsck refuses the image: {done.stdout}{done.stderr}")
