"""docs/penstock.schema.json: the JSON schema of `penstock.toml`, for editors and other programs.

In: the checks with which the server reads settings, and the values with their explanations. Out: the schema. Invariant:
it has every setting, with the range and the default that the server uses.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from penstock.model.pipe import Dialect
from penstock.model.settings import LogFormat, Settings
from penstock.parse import settings as reader
from penstock.parse.settings import (
    MEMORY,
    MODULE,
    ORIGIN,
    SETTINGS,
    STORE_TYPES,
    STRATEGIES,
    WEB_ADDRESS,
    NamedTables,
    NumberRange,
    SettingCheck,
    SettingChecks,
)

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs/penstock.schema.json"
TEXTS = {"type": "string"}
PROPERTIES = {"type": "object", "additionalProperties": {"anyOf": [TEXTS, {"$ref": "#/definitions/properties"}]}}
"""Texts by name; an unquoted name with dots is tables inside each other to TOML."""
SCHEMAS: Mapping[SettingCheck, dict[str, Any]] = {
    reader.check_text: {"type": "string", "minLength": 1},
    reader.check_memory: {"type": "string", "pattern": f"^{MEMORY}$"},
    reader.check_module: {"type": "string", "pattern": f"^{MODULE}$"},
    reader.check_flag: {"type": "boolean"},
    reader.check_log_format: {"enum": list(get_args(LogFormat))},
    reader.check_web_address: {"type": "string", "pattern": f"^{WEB_ADDRESS}$"},
    reader.check_dialect: {"enum": list(get_args(Dialect))},
    reader.check_store_type: {"enum": list(STORE_TYPES)},
    reader.check_origins: {"type": "array", "items": {"type": "string", "pattern": f"^({ORIGIN})$"}},
    reader.check_texts: {"type": "array", "items": TEXTS},
    reader.check_properties: {"$ref": "#/definitions/properties"},
    reader.check_strategies: {"type": "object", "additionalProperties": {"enum": list(STRATEGIES)}},
}


def main() -> int:
    FILE.write_text(schema_text(), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: {len(SETTINGS)} tables and settings")
    return 0


def schema_text() -> str:
    """The schema as the file holds it."""
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "penstock.toml"}
    made = {**head, **table_schema(Settings, SETTINGS), "definitions": {"properties": PROPERTIES}}
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def table_schema(kind: type, checks: SettingChecks) -> dict[str, Any]:
    """The schema of a table, whose values are the fields of a class."""
    about, defaults = explanations(kind), {each.name: each for each in fields(kind)}
    found: dict[str, Any] = {}
    for name, check in checks.items():
        if isinstance(check, Mapping):
            inner: type = reader.TABLES[name]  # type: ignore[assignment]
            found[name] = {"description": first_line(inner), **table_schema(inner, check)}
        elif isinstance(check, NamedTables):
            made: type = check.make  # type: ignore[assignment]
            each = {"description": first_line(made), **table_schema(made, check.checks), "required": [*check.required]}
            found[name] = {"description": about[name], "type": "object", "additionalProperties": each}
        else:
            told = {"description": about[name]} if name in about else {}
            found[name] = {**told, **value_schema(check), **default_of(defaults[name].default)}
    return {"type": "object", "additionalProperties": False, "properties": found}


def value_schema(check: SettingCheck) -> dict[str, Any]:
    if isinstance(check, NumberRange):
        return {"type": "integer", "minimum": check.low, "maximum": check.high}
    return SCHEMAS[check]


def default_of(value: object) -> dict[str, object]:
    """The default, where it is a plain value."""
    return {"default": value} if isinstance(value, (int, str)) else {}


def explanations(kind: type) -> dict[str, str]:
    """The texts below the fields of a class."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef), "the source of a class is a class"
    found: dict[str, str] = {}
    name = ""
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            found[name] = " ".join(str(node.value.value).split())
            name = ""
    return found


def first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").split("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
