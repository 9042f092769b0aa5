# SPDX-License-Identifier: MIT
"""A small tree with difficult input for deduplication and for orders of files.

The same call makes the same tree: duplicates, near duplicates, shifted copies, runs, periods,
few letters, every size around a block, holes, audio, images, programs and noise.
"""
import glob
import os
import random
import shutil
import struct

import tree

BLOCK_BITS = (12, 16)  # files of these sizes, one byte less and one more


def _dna(rng, size):
    """Few letters, with copies that differ in some bytes."""
    sequence = bytearray(rng.choice(b"ACGT") for _ in range(size // 4))
    while len(sequence) < size:
        start = rng.randrange(len(sequence) // 2)
        piece = bytearray(sequence[start:start + rng.randrange(200, 3000)])
        for _ in range(len(piece) // 300):
            piece[rng.randrange(len(piece))] = rng.choice(b"ACGT")
        sequence += piece
    return bytes(sequence[:size])


def wave(rng, frames, channels=2, bits=16):
    """A WAV file: a tone with some noise."""
    samples = bytearray()
    step = bits // 8
    value = 0
    for _ in range(frames * channels):
        value = max(-30000, min(30000, value + rng.randrange(-300, 301)))
        samples += (value << (bits - 16)).to_bytes(step, "little", signed=True)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1,
                       channels, 44100, 44100 * channels * step, channels * step, bits, b"data",
                       len(samples))
    return head + bytes(samples)


class Rich:
    def __init__(self, root):
        self.root = os.fsencode(root)
        self.rng = random.Random(314159)

    def file(self, name, contents=b""):
        path = os.path.join(self.root, os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(contents)

    def copies(self):
        rng = self.rng
        base = tree.text(rng, 70000)
        noise = rng.randbytes(40000)
        self.file("copies/base", base)
        self.file("copies/same", base)
        self.file("copies/deep/same", base)
        self.file("copies/noise", noise)
        self.file("copies/noise too", noise)
        for number, cut in enumerate((1, 7, 100, 1023, 4096, 5001)):
            self.file(f"shifted/text {number}", rng.randbytes(cut) + base)
            self.file(f"shifted/noise {number}", noise[cut:] + rng.randbytes(cut // 2))
        for number in range(6):
            near = bytearray(base)
            for _ in range(number + 1):
                near[rng.randrange(len(near))] ^= 1 + rng.randrange(255)
            at = rng.randrange(len(near))
            self.file(f"near/{number}", near[:at] + b"inserted" + near[at:])
        pieces = [base[at:at + 3000] for at in range(0, len(base), 3000)]
        rng.shuffle(pieces)
        self.file("near/shuffled", b"".join(pieces))
        self.file("near/twice", base + base)

    def runs(self):
        for byte in (b"\0", b"G", b"\xff"):
            for size in (1, 4096, 70001, 200000):
                self.file(f"runs/{byte[0]:02x} {size}", byte * size)
        for pair in (b"ab", b"\0\xff", b"GT"):
            self.file(f"runs/pair {pair.hex()}", pair * 40000)
        self.file("runs/zeros in text", tree.text(self.rng, 5000) + bytes(100000) +
                  tree.text(self.rng, 5000))
        for period in (3, 61, 509, 4093, 65537):
            part = self.rng.randbytes(period)
            self.file(f"periods/{period}", part * (140000 // period + 2))
        self.file("dna/a", _dna(self.rng, 80000))
        self.file("dna/b", _dna(self.rng, 40000))

    def sizes(self):
        for name in ("", " too", " three"):
            self.file("sizes/empty" + name)
        for byte in (b"a", b"a", b"b", b"\0"):
            self.file(f"sizes/one byte {len(os.listdir(self.root))} {self.rng.randrange(99)}",
                      byte)
        long = tree.text(self.rng, 60000) * 20
        for bits in BLOCK_BITS:
            for delta in (-1, 0, 1):
                size = (1 << bits) + delta
                self.file(f"sizes/2^{bits}{delta:+d}", long[bits:bits + size])
        self.file("sizes/noise 4096", self.rng.randbytes(4096))
        self.file("sizes/noise 8193", self.rng.randbytes(8193))

    def holes(self):
        path = os.path.join(self.root, b"sizes", b"holes")
        with open(path, "wb") as out:
            out.truncate(600000)
            for at in (8192, 200704, 409600):
                out.seek(at)
                out.write(tree.text(self.rng, 5000))
        with open(path + b" only", "wb") as out:
            out.truncate(100000)

    def kinds(self, inputs):
        rng = self.rng
        self.file("kinds/stereo.wav", wave(rng, 9000))
        self.file("kinds/mono 24.wav", wave(rng, 5000, channels=1, bits=24))
        self.file("kinds/broken.wav", wave(rng, 500)[:40])
        self.file("kinds/noise", rng.randbytes(70000))
        self.file("kinds/half noise", tree.text(rng, 60000) + rng.randbytes(60000))
        self.file("kinds/broken elf", b"\x7fELF" + rng.randbytes(3000))
        for path in sorted(glob.glob(os.path.join(inputs or "", "*", "*"))) if inputs else ():
            kind = os.path.basename(os.path.dirname(path))
            target = os.path.join(self.root, b"kinds", os.fsencode(kind))
            os.makedirs(target, exist_ok=True)
            shutil.copyfile(path, os.path.join(target, os.fsencode(os.path.basename(path))))

    def names(self, plain):
        for number, name in enumerate(("new\nline", "tab\t", " space ", "-dash", "a,b", "a::b",
                                       "quote'\"", "back\\slash", "ünï", "[x]*?")):
            self.file("names/" + name, b"%d" % number * 100)
        if not plain:
            self.file(b"names/\xff\xfe".decode("utf-8", "surrogateescape"), b"odd")
        for number in range(60):
            self.file(f"many/{number % 7}/file {number}.c", b"int x%d;\n" % (number // 3) * 30)
        base = os.path.join(self.root, b"copies", b"base")
        os.link(base, os.path.join(self.root, b"names", b"hard link"))
        os.symlink("../copies/base", os.path.join(self.root, b"names", b"link"))

    def times(self):
        for number, (folder, _, files) in enumerate(sorted(os.walk(self.root, topdown=False))):
            for name in sorted(files) + [b""]:
                os.utime(os.path.join(folder, name) if name else folder,
                         (10**9, 10**9 + number), follow_symlinks=False)


def make(root, inputs=None, plain=False, holes=True):
    """Make the tree at a path that does not exist yet; inputs: a folder of files for
    categorizers; plain: names in UTF-8 only."""
    rich = Rich(root)
    rich.copies()
    rich.runs()
    rich.sizes()
    if holes:
        rich.holes()
    rich.kinds(inputs)
    rich.names(plain)
    rich.times()
