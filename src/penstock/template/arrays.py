"""The parameters that a template takes as arrays: they are lists wherever it names them.

In: a template and what it is given. Out: the elements, by parameter. Called by render. Invariant: a value
that is no such array is left as it is, for `Array(…)` to refuse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.template.frame import Given
from penstock.template.steps import Template
from penstock.template.types import READERS, WrongValue
from penstock.template.values import Value


def array_values(template: Template, given: Given) -> Iterator[tuple[str, Value]]:
    """Each with its elements in the type of the first `Array(…)` that names it."""
    for name, of in arrays_of(template).items():
        value = given.parameters.get(name)
        if isinstance(value, str):
            try:
                yield name, [READERS[of](part) for part in value.split(",")]
            except WrongValue:
                continue


def arrays_of(template: Template) -> dict[str, str]:
    """The types of the elements, by parameter."""
    found: dict[str, str] = {}
    if "Array" not in template.text:
        return found
    for tree in template.trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Array" and node.args:
                subject = node.args[0]
                of = _type(node)
                if isinstance(subject, ast.Name) and of in READERS:
                    found.setdefault(subject.id, of)
    return found


def _type(node: ast.Call) -> str:
    named = next((each.value for each in node.keywords if each.arg == "_type"), None)
    written = node.args[1] if len(node.args) > 1 else named
    return str(written.value) if isinstance(written, ast.Constant) else "String"
