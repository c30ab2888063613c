"""The Iceberg metadata of a table as one version reads it, made from that of the physical table.

In: the physical table's metadata as JSON, and the columns that the version shows. Out: metadata as JSON, with the place
that names it. Invariants: it refers to files of the physical table only and to one snapshot; it has no column and no
property but those it was given; equal input gives equal text, and another text gets another name, since readers take
metadata of the same name for the same. Source: Iceberg spec, "Table Metadata Fields".

It is of format version 2, which most readers know, unless a column has a default: those are of version 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from penstock.lake.open_tables.shown_columns import Json, ShownColumn

SCHEMA_ID = 0
STANDARD_COUNTS = ("operation", "added-", "deleted-", "removed-", "total-", "changed-partition-count")
"""How the keys of a snapshot's summary begin that readers may know; the others are Penstock's own."""


@dataclass(frozen=True, slots=True)
class OpenTable:
    """What a version shows of a physical table."""

    uuid: str
    """The same for a name of a namespace whatever table it is bound to: readers refuse another one."""
    columns: tuple[ShownColumn, ...]
    properties: Mapping[str, str]
    shows_rows: bool = True


@dataclass(frozen=True, slots=True)
class VersionMetadata:
    """Metadata, and the location that stands for it. Readers get the metadata itself; the file there is that of the
    physical table, by a name of the version's own: Spark asks for its length where it lists snapshots or partitions."""

    location: str
    document: Mapping[str, Json]


def version_metadata(physical: Mapping[str, Json], file: str, table: OpenTable) -> VersionMetadata:
    """The metadata of a version's table. `physical` is that of the physical table (format version 2), in `file`."""
    version = 3 if any(column.default is not None for column in table.columns) else 2
    schema = _schema(physical, table.columns)
    specs = [_partition_spec(spec, table.columns) for spec in _objects(physical["partition-specs"])]
    snapshot = _current_snapshot(physical) if table.shows_rows else None
    document: dict[str, Json] = {
        "format-version": version,
        "table-uuid": table.uuid,
        **{key: physical[key] for key in _KEPT},
        "schemas": [schema],
        "current-schema-id": SCHEMA_ID,
        "partition-specs": list(specs),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": dict(table.properties),
        "snapshots": [] if snapshot is None else [snapshot],
        "snapshot-log": [],
        "metadata-log": [],
        "refs": {},
    }
    if snapshot is not None:
        document["current-snapshot-id"] = snapshot["snapshot-id"]
        document["snapshot-log"] = [{key: snapshot[key] for key in ("snapshot-id", "timestamp-ms")}]
        document["refs"] = {"main": {"snapshot-id": snapshot["snapshot-id"], "type": "branch"}}
    if version == 3:
        document["next-row-id"] = 0
    return VersionMetadata(_location(file, document), document)


_KEPT = (
    "location",
    "last-sequence-number",
    "last-updated-ms",
    "last-column-id",
    "default-spec-id",
    "last-partition-id",
)


def physical_fields(physical: Mapping[str, Json]) -> Mapping[str, int]:
    """The ids of the top-level columns of a physical table, by name."""
    return {str(each["name"]): _whole(each["id"]) for each in _current_fields(physical)}


def _location(file: str, document: Mapping[str, Json]) -> str:
    """A name of its own for each document that is the name of `file` for who resolves `..`, as Hadoop's paths do."""
    digest = hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()
    folder, _, name = file.rpartition("/")
    return f"{folder}/version-{digest[:32]}/../{name}"


def _schema(physical: Mapping[str, Json], columns: Sequence[ShownColumn]) -> dict[str, Json]:
    by_id = {_whole(each["id"]): each for each in _current_fields(physical)}
    fields: list[Json] = []
    for column in columns:
        field: dict[str, Json] = {
            "id": column.field,
            "name": column.name,
            "required": False,
            "type": by_id[column.field]["type"],
            "doc": column.doc,
        }
        if column.default is not None:
            field |= {"initial-default": column.default, "write-default": column.default}
        fields.append(field)
    return {"type": "struct", "schema-id": SCHEMA_ID, "fields": fields}


def _partition_spec(spec: Mapping[str, Json], columns: Sequence[ShownColumn]) -> dict[str, Json]:
    """The spec with the logical names. Without any field if a column of it is not shown: the manifests list the
    values of a spec's fields by their place, so none can be left out alone."""
    names = {column.field: column.name for column in columns}
    fields = list(_objects(spec["fields"]))
    if any(_whole(field["source-id"]) not in names for field in fields):
        return {"spec-id": spec["spec-id"], "fields": []}
    taken = {column.name.casefold() for column in columns}
    renamed: list[Json] = [{**field, "name": _partition_name(field, names, taken)} for field in fields]
    return {"spec-id": spec["spec-id"], "fields": renamed}


def _partition_name(field: Mapping[str, Json], names: Mapping[int, str], taken: set[str]) -> str:
    """The name of a partition field. Iceberg allows that of a column only to the identity of this column."""
    source = names[_whole(field["source-id"])]
    if field["transform"] == "identity":
        return source
    name, number = f"{source}_{field['transform']}", 1
    while name.casefold() in taken:
        number += 1
        name = f"{source}_{field['transform']}_{number}"
    taken.add(name.casefold())
    return name


def _current_snapshot(physical: Mapping[str, Json]) -> dict[str, Json] | None:
    """The current snapshot, without what is Penstock's own; its parents are not shown. So it is no append, whatever its
    last commit was: a stream would begin with the rows of that alone."""
    current = physical.get("current-snapshot-id")
    found = next((each for each in _objects(physical.get("snapshots")) if each["snapshot-id"] == current), None)
    if found is None:
        return None
    summary = found.get("summary")
    counts = {key: value for key, value in summary.items() if _is_standard(key)} if isinstance(summary, dict) else {}
    if "operation" in counts:
        counts["operation"] = "overwrite"
    kept = {key: found[key] for key in _SNAPSHOT_KEPT if key in found}
    return {**kept, "summary": counts, "schema-id": SCHEMA_ID}


_SNAPSHOT_KEPT = ("snapshot-id", "sequence-number", "timestamp-ms", "manifest-list")


def _is_standard(key: str) -> bool:
    return key.startswith(STANDARD_COUNTS)


def _current_fields(physical: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    current = physical["current-schema-id"]
    for schema in _objects(physical["schemas"]):
        if schema["schema-id"] == current:
            yield from _objects(schema["fields"])


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def _whole(value: Json) -> int:
    assert isinstance(value, int), "ids in Iceberg's metadata are whole numbers"
    return value
