"""Files of migrations: they are read as they were written, and a wrong one is told at its place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import InvalidProject, Problem
from penstock.postgres.application.phase_record import operations_fingerprint
from penstock.postgres.catalog.replicated_table import EnumLabel, QualifiedName, ReplicatedType
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.migration_folder import read_folder, write_migrations
from penstock.postgres.migration.migration_reader import read_migration
from penstock.postgres.migration.migration_text import exact_values, migration_text
from penstock.postgres.migration.operation import (
    NAMES,
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    OldRowsRead,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SetNotNull,
    SwapColumns,
)

ONE, TWO, THREE = (f"sha256:{digit * 64}" for digit in "123")
ISSUES = QualifiedName("public", "issues")
SEVERITY = ReplicatedType("public.severity", labels=(EnumLabel(1, "low"), EnumLabel(2, "high")))
AMOUNT = ReplicatedType("numeric", ((5 << 16) | 2) + 4)
EVERY: tuple[Operation, ...] = (
    AddColumn("severity", SEVERITY, False, "'low'::public.severity", OldRowsValue("low")),
    AddColumn("at", ReplicatedType("timestamp with time zone"), True, "now()", OldRowsRead(), after="id"),
    AddColumn("amount", ReplicatedType("public.amount", base=AMOUNT), True, None, OldRowsValue(None)),
    DropNotNull("note"),
    AddEnumValue("severity", "middle", "low"),
    AddEnumValue("severity", "zero", None),
    ChangeType("id", ReplicatedType("bigint"), narrowing=False, phase=Phase.pre),
    ChangeType("title", ReplicatedType("character varying", 84), narrowing=False, phase=Phase.pre),
    ChangeType("place", ReplicatedType("public.geometry", 1107460), narrowing=False, phase=Phase.pre),
    ChangeType("note", ReplicatedType("integer"), narrowing=True, phase=Phase.at_lsn),
    RenameColumn('ti"tle', "name: {x}"),
    SwapColumns("a", "b"),
    RenameEnumValue("severity", "low", "lowest"),
    RenameTable(QualifiedName("public", "tickets")),
    ChangeKey(("id",), "full", ("id", "note")),
    SetNotNull("at"),
    SetDefault("note", "1"),
    DropDefault("a"),
    DropColumn("b"),
)
SHOWN = (
    '"type": "timestamptz", "nullable"',
    '"base": {"type": "numeric(5,2)"}',
    '"type": "varchar(80)"}',
    '"type": "public.geometry", "typmod": 1107460}',
    '"type": "integer", "narrowing": true}',
)
MIGRATION = Migration("20261122_issues_severity", ISSUES, ONE, TWO, True, EVERY)


def without_label_ids(operation: Operation) -> Operation:
    """As a file has it: its labels are numbered by their order."""
    if isinstance(operation, AddColumn) and operation.type.labels is not None:
        labels = tuple(EnumLabel(at, each.label) for at, each in enumerate(operation.type.labels, 1))
        return replace(operation, type=replace(operation.type, labels=labels))
    return operation


def read(text: str, file: str = "migrations/20261122_issues_severity.json") -> tuple[Migration | None, list[Problem]]:
    problems: list[Problem] = []
    return read_migration(text, file, problems), problems


def test_every_operation_is_read_as_it_was_written() -> None:
    text = migration_text(MIGRATION)
    found, problems = read(text)
    assert problems == []
    assert found is not None
    assert migration_text(found) == text
    assert [type(each) for each in found.operations] == [type(each) for each in EVERY]
    assert text.count("\n") == 11 + len(EVERY), "one line an operation"
    assert found.operations == tuple(map(without_label_ids, EVERY))
    assert [each for each in SHOWN if each not in text] == []


def test_files_of_the_first_format_are_read() -> None:
    """Types were the numbers of the catalog, and a widening was said."""
    former = json.loads(migration_text(MIGRATION)) | {"format": 1}
    former["operations"] = [
        {"op": NAMES[type(each)], "phase": each.phase.value, **exact_values(each)} for each in EVERY
    ]
    assert '"typmod": 84, "narrowing": false' in json.dumps(former)
    found, problems = read(json.dumps(former))
    assert problems == []
    assert found is not None
    assert found.operations == tuple(map(without_label_ids, EVERY))
    for phase in Phase:
        assert operations_fingerprint(found, phase) == operations_fingerprint(MIGRATION, phase), "journals have them"


@pytest.mark.parametrize(
    ("change", "to", "stands", "told"),
    [
        ('"format": 2', '"format": 3', "3,", "later release"),
        ('"op": "drop_not_null"', '"op": "drop_not_nul"', '"drop_not_nul"', "did you mean `drop_not_null`?"),
        (
            '"drop_column", "phase": "post"',
            '"drop_column", "phase": "pre"',
            '"pre"',
            "values would be lost in phase pre",
        ),
        ('"phase": "pre", "column": "note"', '"phase": "at_lsn", "column": "note"', '"pre"', "stands behind"),
        ('"destructive": true', '"destructive": false', "false", "`destructive` must be true"),
        ('"type": "bigint"', '"type": "bigint", "typmod": "x"', '"x"', "whole number"),
        ('"type": "bigint"', '"type": "vector(3)"', '"vector(3)"', "modifiers"),
        ('"nullable": false, ', "", '{"name": "severity"', "`nullable` is missing"),
        ('"old_rows": {"value": "low"}', '"old_rows": {"value": 1}', "1}", "a text or null"),
        ('"columns": ["a", "b"]', '"columns": ["a"]', '["a"]', "two columns"),
        (f'"before": "{ONE}"', '"before": "sha256:12"', '"sha256:12"', "64 hexadecimal digits"),
        ('"id": "20261122_issues_severity"', '"id": "other"', '"other"', "the id is not the file's name"),
        ('"rewrites": true,', '"rewrites": true, "extra": 1,', "1,", "`extra` is unknown"),
    ],
)
def test_a_wrong_file_is_told_at_its_place(change: str, to: str, stands: str, told: str) -> None:
    text = migration_text(MIGRATION)
    assert change in text
    text = text.replace(change, to, 1)
    _, (problem,) = read(text)
    assert told in str(problem)
    assert problem.location is not None
    line = text.split("\n")[problem.location.line - 1]
    assert line[problem.location.column - 1 :].startswith(stands)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', "[" * 100_000, '{"format": 1, "format": {}}'])
def test_what_is_no_migration_is_one_problem(text: str) -> None:
    found, problems = read(text)
    assert (found, len(problems)) == (None, 1)


def test_the_migrations_of_a_table_are_a_chain(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    rename = RenameTable(QualifiedName("public", "tickets"))
    first = Migration("1_a", ISSUES, ONE, TWO, False, (rename,))
    second = Migration("2_b", QualifiedName("public", "tickets"), TWO, THREE, False, (DropDefault("a"),))
    write_migrations(folder, [first, second])
    history = read_folder(folder)
    assert [each.id for each in history.migrations] == ["1_a", "2_b"]
    assert [each.id for each in history.of_table(QualifiedName("public", "tickets"))] == ["1_a", "2_b"]
    broken = json.loads((folder / "2_b.json").read_text()) | {"before": THREE}
    (folder / "2_b.json").write_text(json.dumps(broken))
    with pytest.raises(InvalidProject) as error:
        read_folder(folder)
    assert [each.code for each in error.value.problems] == ["broken-migration-chain"]
    assert read_folder(tmp_path / "nothing") == MigrationHistory()
