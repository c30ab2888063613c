"""A parameter of a template as OpenAPI describes one.

In: `Declared`. Out: JSON. Called by openapi. Invariant: a schema never refuses what the template takes.
"""

from __future__ import annotations

from penstock.serve.shapes import Json
from penstock.template.declared import Declared
from penstock.template.types import FLOATS, INTS


def described(parameter: Declared) -> Json:
    """With its type, default, values and what its author says."""
    found: Json = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "schema": _schema(parameter),
    }
    if parameter.description:
        found["description"] = parameter.description
    if parameter.example is not None:
        found["example"] = parameter.example
    if parameter.type.startswith("Array("):
        found |= {"style": "form", "explode": False}
    return found


def _schema(parameter: Declared) -> Json:
    of = parameter.type
    is_array = of.startswith("Array(")
    schema = _of(of.removeprefix("Array(").rstrip(")"))
    if parameter.enum:
        schema["enum"] = list(parameter.enum)
    if is_array:
        schema = {"type": "array", "items": schema}
    schema["x-clickhouse-type"] = of
    if parameter.format:
        schema["format"] = parameter.format
    if parameter.default is not None:
        split = is_array and isinstance(parameter.default, str)
        schema["default"] = str(parameter.default).split(",") if split else parameter.default
    return schema


def _of(name: str) -> Json:
    """What a text in an address may hold; times have forms that `date-time` does not know."""
    if name in (*INTS, "Int", "Integer"):
        return {"type": "integer"}
    if name in FLOATS:
        return {"type": "number"}
    if name in ("Boolean", "bool"):
        return {"type": "boolean"}
    return {"type": "string", "format": "date"} if name == "Date" else {"type": "string"}
