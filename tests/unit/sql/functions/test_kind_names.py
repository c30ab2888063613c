"""What messages call the kinds of arguments."""

from __future__ import annotations

from penstock.sql.functions.function import kind_name


def test_every_kind_has_its_article() -> None:
    assert [kind_name(kind) for kind in ("any", "array", "integer", "number", "float", "json", "text", "step")] == [
        "a value",
        "an array",
        "an integer",
        "a number",
        "a number",
        "a JSON document or a string",
        "a string",
        "a string or an integer",
    ]
