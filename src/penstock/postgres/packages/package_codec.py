"""Packages as JSON, as they travel over a broker.

In: a package, or the bytes of one. Out: the other of the two. Invariant: what is read is what was written; bytes that
are no package are an `InvalidPackage`, never a package with other rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from penstock.errors import Failed
from penstock.model.cursor import Position, parse_position, position_text
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.packages.package import (
    Package,
    PackageColumn,
    PackageRow,
    PackageSchema,
    RowPackage,
    TruncatePackage,
)

FORMAT = 1
_OPERATIONS = ("insert", "update", "delete", "read")


class InvalidPackage(Failed):
    """A message of the broker is no package."""

    code = "invalid-package"

    def __init__(self, why: str):
        super().__init__(
            f"a message of the broker is no package of penstock: {why}",
            hint="nobody else may write to the subject or topic; nothing of it was stored",
        )


def encode_package(package: Package) -> bytes:
    """The JSON of a package."""
    after = position_text(package.after) if package.after is not None else None
    head: dict[str, object] = {"format": FORMAT, "source": package.source, "store": package.store, "after": after}
    head["upto"] = position_text(package.upto)
    match package:
        case TruncatePackage(table=table, version=version):
            document = {**head, "kind": "truncate", "table": _table(table), "version": version}
        case RowPackage(schema=schema, rows=rows):
            columns = [{"name": c.name, "type": c.type, "typmod": c.typmod, "key": c.is_key} for c in schema.columns]
            document = {
                **head,
                "kind": "rows",
                "table": _table(schema.table),
                "fingerprint": schema.fingerprint,
                "columns": columns,
                "as_of": package.as_of,
                "behind": [package.behind[0], position_text(package.behind[1])] if package.behind is not None else None,
                "rows": [[position_text(r.position), r.version, r.operation, r.key_only, r.values] for r in rows],
            }
    return orjson.dumps(document)


def decode_package(content: bytes) -> Package:
    """The package of a JSON text. Raises InvalidPackage."""
    try:
        document = orjson.loads(content)
        if document["format"] != FORMAT:
            raise InvalidPackage(f"it has format {document['format']}, and this release reads {FORMAT}")
        return _package(document)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidPackage(f"{type(error).__name__} {error}"[:200]) from None


def _package(document: Any) -> Package:
    table = QualifiedName(str(document["table"]["schema"]), str(document["table"]["name"]))
    after = _position(document["after"]) if document["after"] is not None else None
    source, store, upto = str(document["source"]), str(document["store"]), _position(document["upto"])
    if document["kind"] == "truncate":
        return TruncatePackage(source, store, table, upto, int(document["version"]), after)
    if document["kind"] != "rows":
        raise ValueError(f"kind {document['kind']}")
    columns = tuple(PackageColumn(c["name"], c["type"], c["typmod"], bool(c["key"])) for c in document["columns"])
    schema = PackageSchema(table, columns, document["fingerprint"])
    rows = tuple(_row(each, len(columns)) for each in document["rows"])
    as_of, behind = document.get("as_of"), document.get("behind")  # a package of an earlier release does not say them
    found = RowPackage(source, store, schema, upto, rows, after, int(as_of) if as_of is not None else None)
    return found if behind is None else replace(found, behind=(str(behind[0]), _position(behind[1])))


def _row(document: Any, width: int) -> PackageRow:
    position, version, operation, key_only, values = document
    if operation not in _OPERATIONS or len(values) != width:
        raise ValueError("a row does not fit its columns")
    return PackageRow(_position(position), int(version), operation, tuple(values), bool(key_only))


def _position(text: Any) -> Position:
    found = parse_position(str(text))
    if found is None:
        raise ValueError(f"`{text}` is no position")
    return found


def _table(name: QualifiedName) -> dict[str, str]:
    return {"schema": name.schema, "name": name.name}
