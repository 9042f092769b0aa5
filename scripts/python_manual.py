#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual of the Python package, from its docstrings, as one page of HTML.

    python_manual.py OUTPUT [--package DIRECTORY]

Describes the public names of dwarfs, and of its modules: those in __all__, or those without "_" in
front that a module defines. A module whose packages are not installed (fsspec, ratarmountcore) has
its docstring only. --package is the folder above the Python package, if that is not installed.
"""
import argparse
import ast
import html
import importlib
import inspect
import os
import sys

MODULES = ("dwarfs", "dwarfs.distributed", "dwarfs.fsspec", "dwarfs.ratarmount")
STYLE = """body { font-family: sans-serif; max-width: 50em; margin: auto; padding: 1em }
pre { white-space: pre-wrap } h3 code, dt code { background: #eee } dd { margin-bottom: 0.8em }"""


def public_names(module):
    """The names that a module is used for."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [name for name, thing in vars(module).items() if not name.startswith("_")
            and getattr(thing, "__module__", None) == module.__name__]


class Annotation:
    """An annotation that is text: without quotation marks."""

    def __init__(self, words):
        self._words = words

    def __repr__(self):
        return self._words


def annotation(given):
    return Annotation(given) if isinstance(given, str) else given


def signature(thing):
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    return str(found.replace(
        parameters=[one.replace(annotation=annotation(one.annotation))
                    for one in found.parameters.values()],
        return_annotation=annotation(found.return_annotation)))


def text(thing):
    """A docstring, as it is laid out."""
    return f"<pre>{html.escape(inspect.getdoc(thing) or '')}</pre>"


def members(kind):
    """Public attributes of a class, also of the classes of the package that it is made from."""
    found = {}
    for one in reversed(kind.__mro__):
        if one.__module__.split(".")[0] == "dwarfs":
            found.update((name, value) for name, value in vars(one).items()
                         if not name.startswith("_"))
    return found


def describe_member(name, value):
    """A method, a property, or a value such as that of an enumeration."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if callable(value):
        return f"<dt><code>{name}{html.escape(signature(value))}</code><dd>{text(value)}"
    if isinstance(value, property) or type(value).__name__ == "_tuplegetter":
        note = inspect.getdoc(value) if isinstance(value, property) else ""
        return f"<dt><code>{name}</code><dd><pre>{html.escape(note or '')}</pre>"
    return f"<dt><code>{name}</code><dd>"


def describe(module, name, thing):
    kind = "class " if isinstance(thing, type) else ""
    call = signature(thing) if callable(thing) else ""
    parts = [f'<h3 id="{module}.{name}"><code>{kind}{name}{html.escape(call)}</code></h3>', text(thing)]
    if isinstance(thing, type):
        parts.append("<dl>")
        parts += [describe_member(*member) for member in members(thing).items()]
        parts.append("</dl>")
    return parts


def docstring_of(name, package):
    """Of a module that cannot be imported."""
    path = os.path.join(os.path.dirname(package.__file__), name.rpartition(".")[2] + ".py")
    with open(path, encoding="utf-8") as source:
        return ast.get_docstring(ast.parse(source.read())) or ""


def page(package):
    parts = ["<!DOCTYPE html>", '<html lang="en"><meta charset="utf-8">',
             f"<title>dwarfs {package.__version__}</title>", f"<style>{STYLE}</style>"]
    for name in MODULES:
        parts.append(f'<h1 id="{name}">{name}</h1>')
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            parts.append(f"<pre>{html.escape(docstring_of(name, package))}</pre>")
            parts.append(f"<p>Not described further: {html.escape(str(error))}.")
            continue
        names = public_names(module)
        parts += [text(module), "<p>", *(f'<a href="#{name}.{one}">{one}</a>' for one in names)]
        for one in names:
            parts += describe(name, one, getattr(module, one))
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("--package")
    arguments = parser.parse_args()
    if arguments.package:
        sys.path.insert(0, os.path.abspath(arguments.package))
    made = page(importlib.import_module("dwarfs"))
    with open(arguments.output, "w", encoding="utf-8") as output:
        output.write(made)


if __name__ == "__main__":
    main()
