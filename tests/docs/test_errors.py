"""Every error code in the code is in docs/errors.md, and every code there is in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def test_codes_and_documentation_agree() -> None:
    documented = set(re.findall(r"^## ([a-z0-9-]+)$", (ROOT / "docs/errors.md").read_text(), re.MULTILINE))
    used = {code for path in (ROOT / "src/penstock").rglob("*.py") for code in codes(ast.parse(path.read_text()))}
    assert sorted(used - documented) == [], "these codes are not in docs/errors.md"
    assert sorted(documented - used) == [], "these codes are in docs/errors.md only"


def codes(tree: ast.Module) -> Iterator[str]:
    """Codes given to a Problem, and those of the classes of the error tree."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if "roblem" in name:
                given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "code")]
                yield from filter(None, map(_text, given))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if "refus" in name:
                yield from (code for code in map(_text, node.args) if code and "-" in code)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in ("Fault", "fault"):
                yield from (code for code in map(_text, node.args) if code and "-" in code)
            case ast.ClassDef():
                yield from _codes_of_class(node)


def _codes_of_class(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id="code")])], value=ast.Tuple(elts=[_, value])):
                yield from filter(None, [_text(value)])
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from filter(None, [_text(value)])


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
        return node.value
    return None
