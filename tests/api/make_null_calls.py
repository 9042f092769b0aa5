# SPDX-License-Identifier: MIT
"""Make calls of all public functions with NULL for each parameter that must not be NULL.

    make_null_calls.py OUTPUT HEADER...

The functions and their parameters are read from the declarations, and which parameters may be
NULL from the comments. test_null.c includes the output, and has the objects for the other
parameters.
"""
import pathlib
import re
import sys

DECLARATION = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*DWARFS_API\s+([^;#]*?)\s*\(([^;]*)\);", re.S)
CALLBACK = re.compile(r"typedef \w+ \(\*(\w+_fn)\)")

# Parameters of functions whose comment has no @param for them.
MAY_BE_NULL = {("dwarfs_builder_set_category_order", "category")}
# The reason of a callback is stored without a message, too.
NOT_CALLED = {"dwarfs_error_set"}


class Function:
    def __init__(self, comment, head, parameters):
        self.comment = " ".join(line.strip(" *\t") for line in comment.splitlines())
        self.result, self.name = re.match(r"(.*?)(\w+)$", " ".join(head.split())).groups()
        self.result = self.result.strip()
        parameters = " ".join(parameters.split())
        self.parameters = [] if parameters == "void" else [
            re.match(r"(.*?)(\w+)$", part.strip()).groups() for part in parameters.split(",")]
        self.parameters = [(kind.strip(), name) for kind, name in self.parameters]

    def described(self):
        """The text of each @param."""
        parts = re.split(r"(?=@param|@return|Threads:|Since 0)", self.comment)
        texts = (re.match(r"@param\s+(\w+)\s+(.*)", part) for part in parts)
        return {text.group(1): text.group(2) for text in texts if text}

    def prose(self):
        return re.split(r"@param|@return", self.comment)[0]

    def has_err(self):
        return bool(self.parameters) and self.parameters[-1] == ("dwarfs_error **", "err")


def read(headers):
    functions, callbacks, count = {}, set(), 0
    for header in headers:
        text = pathlib.Path(header).read_text()
        count += len(re.findall(r"^DWARFS_API", text, re.M))
        callbacks |= set(CALLBACK.findall(text))
        for match in DECLARATION.finditer(text):
            function = Function(*match.groups())
            functions[function.name] = function
    assert count == len(functions), f"{count} functions, {len(functions)} have a comment"
    return functions, callbacks


def may_be_null(function, kind, name, functions, callbacks):
    if kind == "dwarfs_error **" or (kind, name) == ("void *", "user"):
        return True
    if (function.name, name) in MAY_BE_NULL or function.name.endswith("_free"):
        return True
    texts = function.described()
    for like in re.findall(r"[Aa]s (dwarfs_\w+)\(\)", function.prose()):
        texts = {**functions[like].described(), **texts}
    if name in texts:
        return re.search(r"(?<!not )NULL", texts[name]) is not None
    # A short comment: NULL is the callback or the task, otherwise the result.
    is_object = name == function.parameters[0][1]
    return "NULL" in function.prose() and not is_object and \
        (kind in callbacks or kind == "const dwarfs_task *")


# Arguments that a function checks before the others.
SPECIAL = {
    ("dwarfs_item_set_target", "item"): "objects.link_item",
    ("dwarfs_link_read", "inode"): "objects.link_inode",
    ("dwarfs_link_read_raw", "inode"): "objects.link_inode",
    ("dwarfs_builder_set_category_codec", "category"): '"incompressible"',
    ("dwarfs_builder_set_category_order", "category"): '"incompressible"',
}


def value(function, kind, name, callbacks):
    """A valid argument."""
    if (function.name, name) in SPECIAL:
        return SPECIAL[function.name, name]
    if kind in callbacks:
        return f"({kind})(void (*)(void))no_callback"
    object_of = re.fullmatch(r"(?:const )?(?:dwarfs_)(\w+) \*", kind)
    if object_of and object_of.group(1) in ("inode", "entry") and not name.endswith("_out"):
        return f"&objects.{object_of.group(1)}"
    if object_of and object_of.group(1) not in ("inode", "entry"):
        return f"objects.{object_of.group(1)}"
    if kind == "const struct dwarfs_iovec *":
        return "&objects.piece"
    if kind == "const char *":
        return '"x"'
    if kind in ("dwarfs_inode", "dwarfs_entry"):
        return f"objects.{kind[7:]}"
    if "*" in kind:
        return f"({kind})objects.space"
    if kind.startswith("enum "):
        return f"({kind})0"
    return "256" if name == "room" else "1" if re.search(r"bytes|count", name) else "0"


def expression(function, null, callbacks):
    arguments = ["err" if kind == "dwarfs_error **" else
                 f"({kind})NULL" if name == null else value(function, kind, name, callbacks)
                 for kind, name in function.parameters]
    return f"{function.name}({', '.join(arguments)})"


def body(function, call):
    if function.has_err():
        return f"return {call};"
    if function.result == "int" and "DWARFS_ERR_INVALID" in function.comment:
        return f"return {call} != DWARFS_ERR_INVALID;"
    if function.result == "void":
        return f"{call};\n\treturn 0;"
    if function.result in ("dwarfs_inode", "dwarfs_entry"):
        return f"return {call}.number != 0;"
    return f"return {call} != 0;"


def main():
    functions, callbacks = read(sys.argv[2:])
    code, table = [], []
    for function in functions.values():
        for kind, name in function.parameters:
            if not ("*" in kind or kind in callbacks) or function.name in NOT_CALLED or \
                    may_be_null(function, kind, name, functions, callbacks):
                continue
            call = expression(function, name, callbacks)
            code.append(f"static int null_call_{len(table)}(dwarfs_error **err)\n{{\n"
                        f"\t(void)err;\n\t{body(function, call)}\n}}\n")
            table.append(f'\t{{ "{function.name}", "{name}", '
                         f'{str(function.has_err()).lower()}, null_call_{len(table)} }},')
    pathlib.Path(sys.argv[1]).write_text("\n".join(
        ["/* Made by make_null_calls.py. */", *code,
         "static const struct null_call null_calls[] = {", *table, "};", ""]))


main()
