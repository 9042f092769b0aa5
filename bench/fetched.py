# SPDX-License-Identifier: MIT
"""The data sets made from package registries.

Packages are fetched by npm, pip and apt-get as configured on this machine. Fetched files are kept
in a directory, one for each version, and unpacked again for each set. Modes and times are set
afterwards as by unpacking, the same on every machine.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

DJANGO = ("2.0.13 2.1.15 2.2.28 3.0.14 3.1.14 3.2.1 3.2.10 3.2.18 3.2.25 4.0.1 4.0.10 4.1.1 "
          "4.1.7 4.1.13 4.2.1 4.2.10 4.2.20 4.2.30 5.0.1 5.0.14 5.1.1 5.1.15 5.2.1 "
          "5.2.19").split()
PANDAS = "1.5.3 2.0.3 2.1.4 2.2.0 2.2.2 2.2.3".split()
NPM = {
    "bundles": ("monaco-editor", "0.30.1 0.33.0 0.36.1 0.40.0 0.44.0 0.48.0".split()),
    "tools": ("@swc/core-linux-x64-gnu",
              "1.3.0 1.3.30 1.3.60 1.3.80 1.3.100 1.4.0 1.5.0 1.6.0".split()),
    "compiler": ("typescript",
                 "4.0.8 4.1.6 4.2.4 4.3.5 4.4.4 4.5.5 4.6.4 4.7.4 4.8.4 4.9.5 5.0.4 5.1.6 5.2.2 "
                 "5.3.3 5.4.5 5.5.4".split()),
    "icons": ("bootstrap-icons",
              "1.5.0 1.6.0 1.7.0 1.8.0 1.9.0 1.10.0 1.10.5 1.11.0 1.11.3".split()),
}
SOURCES = ("grpc", "1.13.1 1.16.1 1.18.0 1.20.3 1.22.2 1.24.11".split())  # C, C++ and scripts
PICTURES = ("wesnoth-1.16-data", "plasma-workspace-wallpapers")
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".ogg")
PLATFORM = ["--python-version", "311", "--implementation", "cp", "--abi", "cp311",
            "--platform", "manylinux2014_x86_64"]
BEGAN = 1_750_000_000_000_000_000  # ns: time of the first file, as if unpacked then
STEP = 400_000  # ns from one file to the next


def stamp(path: str, mode: int, number: int) -> None:
    """Mode and time as after unpacking: increasing times at uneven intervals."""
    when = BEGAN + number * STEP + zlib.crc32(os.fsencode(os.path.basename(path))) % STEP
    os.chmod(path, mode)
    os.utime(path, ns=(when, when))


def stamp_all(directory: str, parts: list[str]) -> None:
    """The same modes and times on every machine, in the order of the set's parts."""
    number = 0
    for part in parts:
        if not os.path.isdir(os.path.join(directory, part)):
            stamp(os.path.join(directory, part), 0o644, number)
            number += 1
        for path, below, names in os.walk(os.path.join(directory, part), topdown=True):
            below.sort()
            for name in sorted(names):
                stamp(os.path.join(path, name), 0o644, number)
                number += 1
        for path, _, _ in os.walk(os.path.join(directory, part)):
            stamp(path, 0o755, number)
    stamp(directory, 0o755, number)


def fetch(directory: str, found: str, ending: str, command: list[str]) -> str:
    """The file of a directory with this prefix and suffix, fetched by a command if it is
    missing."""
    def have() -> list[str]:
        return [name for name in os.listdir(directory)
                if name.lower().startswith(found.lower()) and name.endswith(ending)]
    os.makedirs(directory, exist_ok=True)
    if not have():
        with tempfile.TemporaryDirectory(dir=directory) as partial:
            subprocess.run(command, check=True, cwd=partial, stdout=subprocess.DEVNULL)
            for name in os.listdir(partial):
                os.rename(os.path.join(partial, name), os.path.join(directory, name))
    if not have():
        sys.exit(f"{directory}: no {found}*{ending} after {' '.join(command)}")
    return os.path.join(directory, have()[0])


def wheel(top: str, name: str, version: str, platform: list[str]) -> str:
    return fetch(os.path.join(top, "fetched"), f"{name}-{version}-", ".whl",
                 [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                  "--only-binary=:all:", *(platform or ["--ignore-requires-python"]),
                  f"{name}=={version}"])


def make_wheels(directory: str, top: str, name: str, versions: list[str],
                platform: list[str]) -> None:
    os.makedirs(directory)
    for version in versions:
        with zipfile.ZipFile(wheel(top, name, version, platform)) as source:
            source.extractall(os.path.join(directory, version))
    stamp_all(directory, versions)


def make_releases(directory: str, top: str) -> None:
    make_wheels(directory, top, "Django", DJANGO, [])


def make_pandas(directory: str, top: str) -> None:
    make_wheels(directory, top, "pandas", PANDAS, PLATFORM)


def unpack_npm(top: str, package: str, version: str, directory: str) -> None:
    """The files of one version of a package, without the directory that all of them are in."""
    archive = fetch(os.path.join(top, "fetched"),
                    package.replace("@", "").replace("/", "-") + f"-{version}.", ".tgz",
                    ["npm", "pack", "--silent", f"{package}@{version}"])
    with tarfile.open(archive) as source:
        for member in source:
            name = os.path.normpath(member.name.partition("/")[2])
            if not member.isfile() or os.path.isabs(name) or name.startswith(".."):
                continue
            path = os.path.join(directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            content = source.extractfile(member)
            assert content
            with content, open(path, "wb") as out:
                shutil.copyfileobj(content, out)


def make_npm(directory: str, top: str, name: str) -> None:
    package, versions = NPM[name]
    os.makedirs(directory)
    for version in versions:
        unpack_npm(top, package, version, os.path.join(directory, version))
    stamp_all(directory, versions)


def make_pictures(directory: str, top: str) -> None:
    """Pictures and sounds of packages of Debian: small drawings and large photographs."""
    if not shutil.which("dpkg-deb"):
        sys.exit("photos: no dpkg-deb here: the pictures are from packages of Debian")
    os.makedirs(directory)
    for package in PICTURES:
        archive = fetch(os.path.join(top, "fetched"), package + "_", ".deb",
                        ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package])
        subprocess.run(["dpkg-deb", "-x", archive, os.path.join(directory, package)], check=True)
        for path, _, names in os.walk(os.path.join(directory, package), topdown=False):
            for name in names:
                full = os.path.join(path, name)
                if os.path.islink(full) or not name.endswith(PICTURE_ENDINGS):
                    os.unlink(full)
            if not os.listdir(path):
                os.rmdir(path)
    stamp_all(directory, list(PICTURES))


def git(directory: str, *words: str) -> None:
    """Run git without the configuration of the machine, always at the same time."""
    when = f"{BEGAN // 10**9} +0000"
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
                "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
                "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
                "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    subprocess.run(["git", "-c", "init.defaultBranch=main", "-c", "gc.auto=0",
                    "-c", "core.autocrlf=false", "-c", "pack.threads=1", *words],
                   cwd=directory, check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **settings})


def make_git(directory: str, top: str) -> None:
    """A work tree of sources with its history: a commit a version, and several packs."""
    if not shutil.which("git"):
        sys.exit("git: no git here (Debian: git)")
    package, versions = SOURCES
    os.makedirs(directory)
    git(directory, "init", "-q", "--template=")
    for number, version in enumerate(versions):
        for entry in os.scandir(directory):
            if entry.name != ".git":
                shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)
        unpack_npm(top, package, version, directory)
        git(directory, "add", "-A", "-f")
        git(directory, "commit", "-q", "-m", version)
        if number % 2:
            git(directory, "repack", "-q", "-d")
    git(directory, "update-server-info")
    os.unlink(os.path.join(directory, ".git", "index"))  # has inode numbers and times
    stamp_all(directory, sorted(os.listdir(directory)))
