"""Random migrations of random projects in Python: what is read again from the user's own files is exactly what the
edits of its datafiles give, or the project is refused and not written."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as HypothesisPhase
from hypothesis import strategies as st

from penstock.api.project.source_project import load_source_folder
from penstock.api.source_edits.file_changes import write_files
from penstock.api.source_edits.project_edits import CannotEditPython, edited_project
from penstock.parse.project_loader import load_files
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedType
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    ChangeType,
    DropColumn,
    DropNotNull,
    OldRowsRead,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    SwapColumns,
)
from penstock.postgres.stores.penstock_store import phase_edits
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.refusal import CannotTranslate
from python_projects import HEAD

HASH = "sha256:" + "0" * 64
NUMERIC = ReplicatedType("numeric", ((9 << 16) | 2) + 4)
TYPES = [NUMERIC, *(ReplicatedType(each) for each in ("integer", "bigint", "text", "timestamp with time zone", "uuid"))]
NAMES = ("a", "b", "c", "d")
FIELDS = (
    "{}: int",
    "{}: Int32 = 7",
    "{}: str = 'it is'  # {{ é",
    "{}: Annotated[str, 'LowCardinality']",
    "{}: Optional[Annotated[int, 'int16']] = None",
    "{}: Annotated[str | None, Field(description='a {{ note')] = None",
    "{}: 'Annotated[Decimal, Field(max_digits=5, decimal_places=1)]'",
    "{}: Annotated[datetime, ClickHousePrecision(3)]\n    'When.'",
    "{}: Annotated[str, JsonPath('$.{}')]",
    "{}: str = Field('x', alias='{}', max_length=9)",
    "{}: Named",
)
SQL = (
    "f'SELECT id, {0}, {1} AS other FROM {{rows}}'",
    "'SELECT id, ' 'toString({0}) AS {0}, {1} ' \"AS other FROM rows\"",
    'f"""\n    SELECT\n        {{rows.columns.id}},\n        {0},\n        {1} AS other  -- {{{{ é\n'
    '    FROM {{rows}}\n"""',
    "sql('SELECT {{id}}, {0}, {1} AS other FROM {{rows}}', id=rows.columns.id, rows=rows)",
)
numbers = itertools.count(1)


@st.composite
def projects(draw: st.DrawFn) -> dict[str, str]:
    """A table whose columns are of its class, of one that it inherits from, or of one of another file; perhaps another
    table has that, too; perhaps a view reads two columns."""
    count = draw(st.integers(2, 4))
    fields = [draw(st.sampled_from(FIELDS)).format(name, name) for name in NAMES[:count]]
    inherited = draw(st.integers(0, count - 1))
    newline = draw(st.sampled_from(("\n", "\r\n")))
    base = ["", "", "class Base(BaseModel):", "    id: Key[int]", *(f"    {each}" for each in fields[:inherited])]
    own = ["", "", "class Row(Base):", *(f"    {each}" for each in fields[inherited:]), "", ""]
    tables = ["rows = OlapTable[Row]('rows')"]
    if draw(st.booleans()):
        tables += ["class Other(Base):", "    more: str", "", "", "OlapTable[Other]('others')"]
    if draw(st.booleans()):
        text = draw(st.sampled_from(SQL)).format(*NAMES[:2])
        tables += [f"reading = View('reading', {text}, base_tables=[rows])"]
    head = [*HEAD.splitlines(), "Named = Annotated[int, 'uint8', ClickHouseDefault('1 + 1')]"]
    if draw(st.booleans()):
        files = {"app/bases.py": [*head, *base], "app/main.py": [*head, "from app.bases import Base", *own, *tables]}
    else:
        files = {"app/main.py": [*head, *base, *own, *tables]}
    return {path: newline.join("\n".join([*lines, ""]).split("\n")) for path, lines in files.items()}


@st.composite
def operations(draw: st.DrawFn) -> tuple[Operation, ...]:
    found: list[Operation] = []
    for _ in range(draw(st.integers(1, 3))):
        name, other = draw(st.sampled_from(NAMES)), draw(st.sampled_from((*NAMES, "e")))
        of = draw(st.sampled_from(TYPES))
        value = OldRowsValue("5") if of.name in ("integer", "bigint", "text", "numeric") else OldRowsRead()
        found.append(
            draw(
                st.sampled_from(
                    [
                        AddColumn("e", of, True, None, value),
                        AddColumn("e", of, False, "5", value),
                        ChangeType(name, of, narrowing=False, phase=Phase.pre),
                        DropNotNull(name, Phase.pre),
                        DropColumn(name, Phase.pre),
                        RenameColumn(name, other, Phase.pre),
                        SwapColumns(name, other, Phase.pre),
                    ]
                )
            )
        )
    return tuple(found)


def check(folder: Path, files: dict[str, str], changes: tuple[Operation, ...]) -> str:
    """Edit, write and read again; what came of it."""
    for path, text in {"penstock.toml": "[python]\nmax_seconds = 60\n", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    project = edited_project(folder)
    assert [str(each) for each in project.source.loaded.errors] == []
    migration = Migration("m1", QualifiedName("public", "rows"), HASH, HASH, False, changes)
    try:
        edits = phase_edits(project.files, migration, Phase.pre, {}, ViewChoices())
    except CannotTranslate:
        return "no translation"
    # Only what two tables share may be refused.
    try:
        made = project.with_edits(edits)
    except CannotEditPython as error:
        problems = error.problems
    else:
        write_files(folder, made.contents)
        assert load_source_folder(folder).loaded.project == load_files({**project.files, **edits}).project
        return "edited"
    assert all(each.location is not None and each.hint for each in problems), problems
    assert any("Other" in text for text in files.values()), (problems, files, changes)
    return "refused"


def run(folder: Path, examples: int) -> dict[str, int]:
    counts: dict[str, int] = {}

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(HypothesisPhase.explicit, HypothesisPhase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(projects(), operations())
    def law(files: dict[str, str], changes: tuple[Operation, ...]) -> None:
        place = folder / str(next(numbers))
        result = check(place, files, changes)
        counts[result] = counts.get(result, 0) + 1

    law()
    return counts


def test_random_migrations_of_python(tmp_path: Path) -> None:
    assert run(tmp_path, 5)["edited"] >= 1


@pytest.mark.slow
def test_many_random_migrations_of_python(tmp_path: Path) -> None:
    counts = run(tmp_path, 60)
    assert counts["edited"] > 20, counts
