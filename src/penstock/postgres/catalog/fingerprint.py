"""The fingerprint of a table's schema: what says in one line whether two tables have the same.

In: a `ReplicatedTable`. Out: `sha256:…` over what the stores depend on: names, order and types of the columns, NULL,
defaults, labels and the key. Invariant: what differs between two databases with the same schema (OIDs, attnums, files)
is not in it.
"""

from __future__ import annotations

import hashlib
import json

from penstock.postgres.catalog.replicated_table import ReplicatedColumn, ReplicatedTable, ReplicatedType


def fingerprint(table: ReplicatedTable) -> str:
    """`sha256:` and the hash of the canonical description, in hexadecimal digits."""
    document = {
        "schema": table.name.schema,
        "name": table.name.name,
        "columns": [_column(each) for each in table.columns],
        "key": list(table.key),
        "replica_identity": [table.replica_identity, *(table.identity if table.replica_identity == "index" else ())],
    }
    text = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _column(column: ReplicatedColumn) -> list[object]:
    return [column.name, _type(column.type), column.not_null, column.default]


def _type(of: ReplicatedType) -> list[object]:
    base = _type(of.base) if of.base else None
    return [of.name, of.typmod, base, [each.label for each in of.labels] if of.labels is not None else None]
