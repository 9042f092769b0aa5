#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the set *generated*: 16 releases of a generated program.

    bench/generate.py DIRECTORY [--seed 12] [--scale 1.0]

The program is a few hundred modules of functions, made by a grammar from a vocabulary of made-up
words. Each release bundles them into six large text files that have most of their text in common:

compiler.js       two thirds of the modules
services.js       nine tenths of them
server.js         all of them
library.js        all of them, in another order; names that collide have other numbers
legacy.js         as services.js, each call qualified and `var` throughout: differs every 80 bytes
server.min.js     as server.js, without spaces and comments and with short names: one long line

From one release to the next functions are edited, added, removed and moved, a few in a patch
release and many in others. Two mechanisms turn a small change into changes all over a file: a
bundler numbers the functions of equal names, and the values of an enumeration are written where
they are used, so one value more moves those after it. Some modules are tables that only grow, some
change all the time, most hardly ever. The first seven releases indent everything by four more
spaces. The bundles are accompanied by declarations and translated messages, about 140 small files.
The lexical order of the releases differs from their historical order. The same seed gives the same
bytes everywhere.
"""
from __future__ import annotations

import argparse
import dataclasses
import os
import random
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
RELEASES = ("1.0.2 1.0.5 1.1.3 1.2.0 1.2.4 1.4.1 1.6.0 1.8.3 1.9.0 1.10.2 1.10.5 1.11.0 1.12.1 "
            "1.14.0 1.14.2 1.16.1").split()
INDENTED = 7  # this many first releases have everything in a namespace
FUNCTIONS = 5300
MODULES = 320
LANGUAGES = 13
DECLARATIONS = 120
KINDS = 420
FAMILIES = (("stable", 0.50, 0.01), ("active", 0.30, 0.10), ("churning", 0.08, 0.45),
            ("table", 0.12, 0.05))  # name, share of the modules, functions edited in a release
MARK = re.compile("([\x02\x04])([0-9]+)\x03")
WORD = re.compile(r"\b[a-z][a-z]+[A-Z]\w+\b|\b(?:node|type|symbol|result|index|value|name)\b")


class Dice:
    """Random choices by random() only, which is the same in all versions of Python."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random

    def below(self, limit: int) -> int:
        return int(self.random() * limit)

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self.random() * len(items))]

    def common(self, items: Sequence[Item]) -> Item:
        """Prefers the first items, distributed like words of a text."""
        value = self.random()
        return items[int(len(items) * value * value * value)]

    def length(self, least: int, mean: int) -> int:
        return least + int(-(mean - least) * _log(1 - self.random()))


def _log(value: float) -> float:
    """The natural logarithm to four digits, by additions: results of libm may differ between
    machines."""
    total, step = 0.0, (value - 1) / (value + 1) if value > 0.05 else (0.05 - 1) / (0.05 + 1)
    power = step
    for number in range(1, 60, 2):
        total += power / number
        power *= step * step
    return 2 * total


def vocabulary(dice: Dice, count: int, languages: str = "") -> list[str]:
    starts = "b c d f g h k l m n p r s t v w st tr pl cr sh ch br fl".split() + list(languages)
    vowels = "a e i o u ea ou io ai".split() + list(languages)
    ends = "n r s t l m ck nd rt st ng x".split() + ["", "", ""]
    seen: dict[str, None] = {}
    while len(seen) < count:
        word = "".join(dice.common(starts) + dice.common(vowels)
                       for _ in range(1 + int(dice.random() * 2.6))) + dice.common(ends)
        if len(word) > 2:
            seen[word] = None
    return list(seen)


def camel(words: list[str]) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:])


@dataclasses.dataclass
class Function:
    number: int
    base: str
    lines: list[str]


@dataclasses.dataclass
class Module:
    name: str
    family: str
    rate: float
    functions: list[Function]
    near: list[int]  # numbers of the functions that it calls
    properties: list[str]


class Program:
    """The current modules; \\x04N\\x03 is the name of function N, \\x02N\\x03 is kind N."""

    def __init__(self, seed: int, scale: float) -> None:
        self.dice = Dice(seed)
        self.words = vocabulary(self.dice, 2600)
        self.bases = self.names(5500, 2.2)
        self.properties = self.names(2400, 1.6)
        self.locals = "node type symbol result index value name".split() + self.names(900, 1.9)
        self.kind_names = [camel(["", *self.some(2)]) for _ in range(KINDS)]
        self.kinds = list(range(KINDS))
        self.made = 0
        self.modules: list[Module] = []
        self.lines: list[Callable[[Module, list[str]], str]] = [
            self.declare, self.declare, self.declare, self.call, self.call, self.assign,
            self.assign, self.check, self.check, self.give, self.text, self.remark]
        count = max(8, int(MODULES * scale))
        for number in range(count):
            self.module(number, int(FUNCTIONS * scale) // count)

    def some(self, count: float) -> list[str]:
        return [self.dice.common(self.words) for _ in range(1 + int(self.dice.random() * count))]

    def names(self, count: int, words: float) -> list[str]:
        return list(dict.fromkeys(camel(self.some(words)) for _ in range(count)))

    def module(self, number: int, functions: int) -> None:
        share, position = 0.0, (number * 0.618034) % 1.0
        for family, part, rate in FAMILIES:
            share += part
            if position < share:
                break
        known = max(1, self.made)
        near = [self.dice.below(known) for _ in range(60)]
        made = Module(camel(self.some(3)), family, rate, [], near,
                      [self.dice.common(self.properties) for _ in range(110)])
        self.modules.append(made)
        for _ in range(self.dice.length(functions // 3, functions)):
            made.functions.append(self.function(made))

    def value(self, module: Module, scope: list[str]) -> str:
        dice = self.dice
        case = dice.below(50)
        if case < 20:
            return dice.common(scope)
        if case < 40:
            return f"{dice.common(scope)}.{dice.common(module.properties)}"
        if case < 41:
            return f"\x02{dice.below(dice.below(KINDS) + 1)}\x03"
        if case < 47:
            return f"\x04{dice.common(module.near)}\x03({dice.common(scope)})"
        return str(dice.below(3)) if dice.below(2) else dice.pick(["void 0", "true", "false"])

    def condition(self, module: Module, scope: list[str]) -> str:
        dice = self.dice
        left = self.value(module, scope)
        case = dice.below(9)
        if case < 2:
            return f"{dice.common(scope)}.kind === \x02{dice.below(KINDS)}\x03"
        if case < 4:
            return f"{left} && {self.condition(module, scope)}"
        if case < 6:
            return f"!{left}"
        return f"{left} {dice.pick(['===', '!==', '<', '&'])} {self.value(module, scope)}"

    def declare(self, module: Module, scope: list[str]) -> str:
        return f"const {self.dice.common(scope)} = {self.value(module, scope)};"

    def call(self, module: Module, scope: list[str]) -> str:
        given = ", ".join(self.value(module, scope) for _ in range(1 + self.dice.below(3)))
        return f"\x04{self.dice.common(module.near)}\x03({given});"

    def assign(self, module: Module, scope: list[str]) -> str:
        return (f"{self.dice.common(scope)}.{self.dice.common(module.properties)} = "
                f"{self.value(module, scope)};")

    def check(self, module: Module, scope: list[str]) -> str:
        return f"if ({self.condition(module, scope)}) return {self.value(module, scope)};"

    def give(self, module: Module, scope: list[str]) -> str:
        return (f"{self.dice.common(scope)} = {self.condition(module, scope)} ? "
                f"{self.value(module, scope)} : {self.value(module, scope)};")

    def text(self, module: Module, scope: list[str]) -> str:
        return (f'{self.dice.common(scope)}.{self.dice.common(module.properties)}("'
                + " ".join(self.some(9)) + '");')

    def remark(self, _module: Module, _scope: list[str]) -> str:
        return "// " + " ".join(self.some(16)).capitalize() + "."

    def statement(self, module: Module, scope: list[str]) -> str:
        if module.family == "table":
            word = "_".join(self.some(5)).capitalize()
            code = 1000 + self.dice.below(9000)
            return (f'{word}: diag({code}, \x02{self.dice.below(6)}\x03, "{word}_{code}", '
                    f'"{word.replace("_", " ")} \'{{0}}\'."),')
        return self.lines[self.dice.below(len(self.lines))](module, scope)

    def scope(self) -> list[str]:
        return [self.dice.common(self.locals) for _ in range(4 + self.dice.below(6))]

    def function(self, module: Module) -> Function:
        dice, scope = self.dice, self.scope()
        lines = [f"function \x04{self.made}\x03({', '.join(scope[:1 + dice.below(4)])}) {{"]
        open_blocks = 1
        for _ in range(dice.length(5, 24)):
            case = dice.below(12)
            if case < 2 and open_blocks < 5 and module.family != "table":
                head = "if" if dice.below(3) else "while"
                lines.append("    " * open_blocks + f"{head} ({self.condition(module, scope)}) {{")
                open_blocks += 1
            lines.append("    " * open_blocks + self.statement(module, scope))
            if 3 < case < 6 and open_blocks > 1:
                open_blocks -= 1
                lines.append("    " * open_blocks + "}")
        while open_blocks:
            open_blocks -= 1
            lines.append("    " * open_blocks + "}")
        self.made += 1
        return Function(self.made - 1, dice.pick(self.bases), lines)

    def edit(self, module: Module, function: Function) -> None:
        """Change, insert or remove a few lines, except those that open or close a block."""
        dice, scope = self.dice, self.scope()
        for _ in range(dice.length(1, 3)):
            at = 1 + dice.below(max(1, len(function.lines) - 2))
            line = function.lines[at]
            room = line[:len(line) - len(line.lstrip())] or "    "
            case = dice.below(4)
            if case == 0 or not line.endswith((";", ",")):
                function.lines[at:at] = [room + self.statement(module, scope)
                                         for _ in range(1 + dice.below(4))]
            elif case == 1 and len(function.lines) > 6:
                del function.lines[at]
            elif case == 2:
                function.lines[at] = room + self.statement(module, scope)
            else:
                words = line.split(" ")
                words[-1] = self.value(module, scope) + line[-1]
                function.lines[at] = " ".join(words)

    def step(self, patch: bool) -> None:
        """Advance to the next release."""
        dice, much = self.dice, 0.08 if patch else 1.0
        for module in self.modules:
            for function in module.functions:
                if dice.random() < module.rate * much:
                    self.edit(module, function)
            if module.family != "stable" and dice.random() < 0.5 * much:
                at = dice.below(len(module.functions) + 1)
                module.functions[at:at] = [self.function(module)
                                           for _ in range(1 + dice.below(3))]
            if len(module.functions) > 8 and dice.random() < 0.1 * much:
                del module.functions[dice.below(len(module.functions))]
            if len(module.functions) > 8 and dice.random() < 0.08 * much:
                at, length = dice.below(len(module.functions) - 6), 2 + dice.below(4)
                moved = module.functions[at:at + length]
                del module.functions[at:at + length]
                to = dice.below(len(module.functions))
                module.functions[to:to] = moved
        if not patch:
            self.shuffle()

    def shuffle(self) -> None:
        """Move a few modules, and put new values into the enumeration."""
        for _ in range(3):
            moved = self.modules.pop(self.dice.below(len(self.modules)))
            self.modules.insert(self.dice.below(len(self.modules)), moved)
        for _ in range(1 + self.dice.below(3)):
            at = self.dice.below(KINDS)
            self.kinds = [value + (number >= at) for number, value in enumerate(self.kinds)]


class Bundle:
    """Some of a program's modules as one text."""

    def __init__(self, program: Program, modules: list[Module], indented: bool,
                 prefix: str = "") -> None:
        self.kinds = [f"{value} /* Kind.{name} */"
                      for value, name in zip(program.kinds, program.kind_names)]
        self.names: dict[int, str] = {}
        self.prefix = prefix
        seen: dict[str, int] = {}
        for module in modules:
            for function in module.functions:
                seen[function.base] = count = seen.get(function.base, 0) + 1
                self.names[function.number] = function.base + (str(count) if count > 1 else "")
        self.first = next(iter(self.names.values()))
        self.modules = modules
        self.space = "    " if indented else ""

    def mark(self, match: re.Match[str]) -> str:
        number = int(match[2])
        if match[1] == "\x02":
            return self.kinds[number]
        return self.prefix + self.names.get(number, self.first)

    def text(self) -> str:
        parts = []
        for module in self.modules:
            parts.append(f"// src/{module.name}.ts\n")
            for function in module.functions:
                parts.append(self.space + ("\n" + self.space).join(function.lines) + "\n")
        return MARK.sub(self.mark, "".join(parts))


def minify(text: str) -> str:
    """Without comments and spaces, frequent names as one to three letters by first occurrence."""
    text = re.sub(r"//[^\n]*\n|/\*.*?\*/", "\n", text)
    text = re.sub(r"\n\s*", "", text)
    text = re.sub(r" ?([=<>&|?:{}(),!]+) ?", r"\1", text)
    short: dict[str, str] = {}
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def rename(match: re.Match[str]) -> str:
        word = match[0]
        if word not in short:
            number, name = len(short), ""
            while number >= 0:
                name, number = letters[number % 52] + name, number // 52 - 1
            short[word] = name
        return short[word]
    return WORD.sub(rename, text)


def bundles(program: Program, release: str, indented: bool) -> dict[str, str]:
    modules = program.modules
    core = [module for module in modules if sum(map(ord, module.name)) % 9 < 6]
    most = [module for module in modules if sum(map(ord, module.name)) % 11 < 10]
    turned = modules[len(modules) // 3:] + modules[:len(modules) // 3]
    head = f'/*! {" ".join(program.words[:200])} */\nvar version = "{release}";\n'
    services = Bundle(program, most, indented).text()
    server = Bundle(program, modules, indented).text()
    legacy = Bundle(program, most, indented, "ts.").text().replace("const ", "var ")
    return {
        "compiler.js": head + Bundle(program, core, indented).text(),
        "services.js": head + services,
        "server.js": head + server,
        "library.js": head + Bundle(program, turned, indented).text(),
        "legacy.js": head + legacy,
        "server.min.js": head + minify(server),
    }


def messages(dice: Dice, words: list[str], count: int) -> list[str]:
    return [f'    "{camel(["m"] + [dice.common(words) for _ in range(4)])}_{number}": "'
            + " ".join(dice.common(words) for _ in range(4 + dice.below(12))).capitalize() + '."'
            for number in range(1000, 1000 + count)]


class Small:
    """The small files: translations, to which lines are added occasionally, and declarations."""

    def __init__(self, seed: int, scale: float) -> None:
        self.dice = Dice(seed + 1)
        self.languages = []
        accents = ["", "äöüß", "éèàç", "áíóúñ", "ãõçê", "ąęłśź", "ěščřž", "ığşç", "абвгдежз",
                   "中文字符信息类型", "日本語型文字列", "한국어형식", "αβγδε"]
        for number in range(LANGUAGES):
            words = vocabulary(self.dice, 1500, accents[number % len(accents)])
            self.languages.append((words, messages(self.dice, words, int(1900 * scale))))
        words = vocabulary(self.dice, 1200)
        self.declared = {}
        for number in range(DECLARATIONS):
            name = f"lib.{self.dice.pick(words)}{number}.d.ts"
            self.declared[name] = [self.declaration(words)
                                   for _ in range(self.dice.length(10, 160))]
        self.words = words

    def declaration(self, words: list[str]) -> str:
        dice = self.dice
        given = ", ".join(f"{dice.common(words)}: {dice.pick(['string', 'number', 'T'])}"
                          for _ in range(dice.below(4)))
        return (f"    /** {' '.join(dice.common(words) for _ in range(dice.below(14)))} */\n"
                f"    {camel([dice.common(words), dice.common(words)])}({given}): "
                f"{dice.common(words).capitalize()};\n")

    def step(self) -> None:
        for words, lines in self.languages:
            for line in messages(self.dice, words, 4):
                lines.insert(self.dice.below(len(lines)), line)
        for lines in self.declared.values():
            if self.dice.random() < 0.15:
                lines.insert(self.dice.below(len(lines)), self.declaration(self.words))

    def files(self, release: str) -> dict[str, str]:
        made = {f"lib/{name}": "interface " + name.split(".")[1] + " {\n" + "".join(lines) + "}\n"
                for name, lines in self.declared.items()}
        for number, (_, lines) in enumerate(self.languages):
            made[f"lib/l{number:02}/messages.json"] = "{\n" + ",\n".join(lines) + "\n}\n"
        made["package.json"] = f'{{\n    "name": "generated",\n    "version": "{release}"\n}}\n'
        made["README.md"] = f"# generated {release}\n\n" + " ".join(self.words[:400]) + "\n"
        return made


def write(directory: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)


def generate(directory: str, seed: int = 12, scale: float = 1.0) -> list[str]:
    """Write all releases below a directory; their names."""
    program, small = Program(seed, scale), Small(seed, scale)
    previous = ""
    for number, release in enumerate(RELEASES):
        if number:
            program.step(release.rpartition(".")[0] == previous.rpartition(".")[0])
            small.step()
        previous = release
        top = os.path.join(directory, release)
        write(os.path.join(top, "lib"), bundles(program, release, number < INDENTED))
        write(top, small.files(release))
    return list(RELEASES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--scale", type=float, default=1.0, help="of the large files; default 1")
    arguments = parser.parse_args()
    generate(arguments.directory, arguments.seed, arguments.scale)


if __name__ == "__main__":
    main()
