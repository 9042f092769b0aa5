# SPDX-License-Identifier: MIT
"""A folder with the Debian libraries of another architecture, for a cross compiler.

The packages come from the archives that apt knows, with indexes and downloads of their own: the
packages of the system are neither changed nor must their versions match, as they must when
architectures are installed side by side. Needs no privileges.
"""
import glob
import os
import shutil
import subprocess

# What meson.build looks for, cmocka, and the locale C.UTF-8.
PACKAGES = """libc6-dev libc-bin libxxhash-dev nettle-dev libzstd-dev liblz4-dev liblzma-dev libbrotli-dev
  libflac-dev libb2-dev zlib1g-dev libjansson-dev libarchive-dev libfuse3-dev libacl1-dev libcmocka-dev
  libstdc++-12-dev""".split()


def apt_options(folder, architecture):
    """Options by which apt-get uses indexes and downloads below a folder, not those of the
    system."""
    for inside in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, inside), exist_ok=True)
    status = os.path.join(folder, "status")
    with open(status, "w", encoding="utf-8"):
        pass
    values = {"APT::Architecture": architecture, "APT::Architectures": architecture,
              "Dir::State::Lists": os.path.join(folder, "lists"), "Dir::State::status": status,
              "Dir::Cache": os.path.join(folder, "cache"), "Debug::NoLocking": "1",
              "APT::Install-Recommends": "0"}
    if os.getuid() == 0:
        values["APT::Sandbox::User"] = "root"
    return [word for name, value in values.items() for word in ("-o", f"{name}={value}")]


def download(folder, architecture, packages):
    """The paths of the packages and of all their dependencies."""
    options = apt_options(folder, architecture)
    # An archive that is being updated may lack an index; then the earlier one is used.
    subprocess.run(["apt-get", *options, "-qq", "update"], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["apt-get", *options, "-qq", "-y", "--download-only", "install", *packages],
                   check=True, stdout=subprocess.DEVNULL)
    return sorted(glob.glob(os.path.join(folder, "cache", "archives", "*.deb")))


def make_links_relative(root):
    """Absolute symbolic links would lead to files of this system."""
    for parent, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(parent, name)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(root + os.readlink(path), parent)
                os.unlink(path)
                os.symlink(target, path)


def make(folder, architecture, packages=tuple(PACKAGES)):
    """The path of the sysroot, which is created if it is missing or has other packages."""
    root = os.path.join(folder, "root")
    note = os.path.join(folder, "packages")
    known = open(note, encoding="utf-8").read() if os.path.exists(note) else None
    if known == "\n".join(packages):
        return root
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(root)
    for package in download(folder, architecture, packages):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    make_links_relative(root)
    shutil.rmtree(os.path.join(folder, "cache"))
    with open(note, "w", encoding="utf-8") as out:
        out.write("\n".join(packages))
    return root
