"""docs/python-reference.md: every public name of Python projects, from its docstring.

In: the names that `penstock.api.objects` gives. Out: the page in Markdown: what is called how, each option with its
type, and the example. Invariant: a public class or function is in the page; the examples of all of them together are
one project, which a test loads.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from doctest import DocTestParser, Example
from enum import EnumMeta
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

from penstock.api import objects

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/python-reference.md"
MARK = "<!-- From here on written by scripts/python_docs.py. -->\n"
PREAMBLE = """\
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel

from penstock import *


class Event(BaseModel):
    id: Key[str]
    at: DateTime
    page: str


events = OlapTable[Event]("events")
"""
"""What comes before the examples."""
CHAPTERS = {
    "tables": "Tables",
    "views": "Views and copies",
    "view_functions": "Views as functions",
    "sinks": "Sinks",
    "ingestion": "Rows that arrive",
    "row_insertion": "Rows that programs insert",
    "nodes": "Queries before the last one",
    "sql_template": "SQL with typed parts",
    "endpoints": "Endpoints",
    "engines": "Engines",
    "annotations": "Annotations of columns",
}


@dataclass(frozen=True, slots=True)
class PublicName:
    """A class or function: its chapter, what is said of it, and its example."""

    name: str
    chapter: str
    of: type
    text: str
    examples: tuple[Example, ...]


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(public_names())} names")
    return 0


def public_names() -> list[PublicName]:
    """The classes and functions, in the order of the chapters and of their modules. Names for types have no part of
    their own: the table of types has them."""
    found = [(name, getattr(objects, name)) for name in objects.__all__]
    own = [(name, each) for name, each in found if inspect.isclass(each) or inspect.isfunction(each)]
    order = list(CHAPTERS)
    made = [_public_name(name, each) for name, each in own]
    return sorted(made, key=lambda each: (order.index(each.chapter), _is_option(each.of), _line_of(each.of)))


def _is_option(of: type) -> bool:
    """Whether it is given to another one: what declares comes first."""
    return is_dataclass(of) or isinstance(of, EnumMeta)


def _public_name(name: str, of: type) -> PublicName:
    chapter = of.__module__.rpartition(".")[2]
    # `Key` is documented where its brackets are read: the class itself is a plain annotation to a type checker.
    text = inspect.getdoc(of) or inspect.getdoc(getattr(of, "__class_getitem__", None)) or ""
    prose = text.partition(">>>")[0].strip()
    return PublicName(name, chapter, of, prose, tuple(DocTestParser().get_examples(text)))


def _line_of(of: type) -> int:
    return inspect.getsourcelines(of)[1]


def page() -> str:
    """The page, written anew."""
    head = f"""# Python reference

Written from the docstrings of `penstock`; [Python projects](python-projects.md) is the way in. The examples are one
project, which a test loads; they come after these lines:

```python
{PREAMBLE}```

{MARK}"""
    names = public_names()
    parts = [head]
    for module, title in CHAPTERS.items():
        parts.append(f"\n## {title}\n")
        parts += [_section(each) for each in names if each.chapter == module]
    return "".join(parts)


def _section(each: PublicName) -> str:
    lines = [f"\n### {each.name}", f"`{_signature(each)}`", "", each.text, ""]
    lines += list(_options(each.of))
    if each.examples:
        lines += ["```python", *_example_lines(each), "```"]
    return "\n".join(lines) + "\n"


def _signature(each: PublicName) -> str:
    """How it is called; of an enumeration the names of its values."""
    if isinstance(each.of, EnumMeta):
        return f"{each.name}.{{{', '.join(one.name for one in each.of)}}}"
    if is_dataclass(each.of):
        return f"{each.name}({', '.join(_field_text(one) for one in fields(each.of))})"
    if each.name == "Key":
        return "Key[type]"
    signature = inspect.signature(each.of.__init__ if inspect.isclass(each.of) else each.of)
    shown = [str(one).replace("'", "") for name, one in signature.parameters.items() if name != "self"]
    return f"{each.name}{_brackets(each)}({', '.join(shown)})"


def _brackets(each: PublicName) -> str:
    if hasattr(each.of, "row_model"):
        return "[Model]"
    return "[Parameters, Row]" if hasattr(each.of, "parameters") else ""


def _field_text(of: object) -> str:
    name, default = getattr(of, "name"), getattr(of, "default")  # noqa: B009 a Field of dataclasses has no public type
    if default is not MISSING:
        return f"{name}={default!r}"
    return name if getattr(of, "default_factory") is MISSING else f"{name}=…"  # noqa: B009


def _options(of: type) -> Iterator[str]:
    """What is said of the fields of a dataclass, with their types."""
    if not is_dataclass(of):
        return
    said = _field_docs(of)
    for one in fields(of):
        words = f": {said[one.name]}" if one.name in said else ""
        yield f"- `{one.name}`: `{one.type}`{words}"
    if fields(of):
        yield ""


def _field_docs(of: type) -> dict[str, str]:
    """The string below each field, by the field."""
    (tree,) = ast.parse(dedent(inspect.getsource(of))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def _example_lines(each: PublicName) -> Iterator[str]:
    for example in each.examples:
        lines = example.source.rstrip("\n").split("\n")
        yield from lines
        if lines[-1].startswith(" ") and example is not each.examples[-1]:
            yield from ("", "")  # after the body of a class
        if example.want:
            yield f"# {example.want.strip()}"


if __name__ == "__main__":
    sys.exit(main())
