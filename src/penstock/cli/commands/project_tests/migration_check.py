"""What a migration did to the rows of a project: counts of before and after, and expected rows.

In: the counts of both versions, the plan, and files of expected rows (`tests/migration/DATASOURCE.ndjson`). Out: one
`TableCheck` a data source. Invariants: a data source whose rows the plan keeps has as many after as before; one that is
computed anew may have others, and is only compared with its expected rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.commands.project_tests.answer_difference import EndpointAnswer, find_difference
from penstock.cli.commands.project_tests.endpoint_cases import ENDINGS as OF_ENDPOINTS
from penstock.cli.commands.project_tests.endpoint_cases import ExpectedRow, parse_expected
from penstock.cli.json_documents import Json
from penstock.errors import Location, Problem, did_you_mean
from penstock.model.project import Project

FOLDER = "tests/migration"
ENDING = ".ndjson"
ANEW = ("recompute", "create")
"""The strategies after which a table has the rows of its query, however many these are."""
_CODE = "invalid-test"


@dataclass(frozen=True, slots=True)
class ExpectedTable:
    """The rows that a data source is to have after the migration; of each, the columns that it names."""

    source: str
    path: str
    rows: tuple[ExpectedRow, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows, in the order of the first one."""
        first = self.rows[0].value if self.rows else {}
        return tuple(first) if isinstance(first, dict) else ()


@dataclass(frozen=True, slots=True)
class TableCheck:
    """What the migration did to the rows of a data source."""

    source: str
    strategy: str
    before: int | None
    """None if it is new."""
    after: int
    difference: tuple[str, ...] = ()

    @property
    def is_passed(self) -> bool:
        return not self.difference

    def as_json(self) -> Json:
        counts = {"rows_before": self.before, "rows_after": self.after}
        status = "passed" if self.is_passed else "failed"
        return {
            "datasource": self.source,
            "strategy": self.strategy,
            **counts,
            "status": status,
            "difference": [*self.difference],
        }


def check_counts(
    project: Project, plan: Json, before: Mapping[str, int], after: Mapping[str, int]
) -> tuple[TableCheck, ...]:
    """Each data source of the new version with its counts."""
    strategies = {each["name"]: str(each["strategy"]) for each in plan["resources"]}
    checks = []
    for source in sorted(project.datasources, key=lambda each: each.name):
        former = before.get(source.renamed_from or source.name, before.get(source.name))
        strategy = strategies.get(source.name, "none")
        lost = strategy not in ANEW and former is not None and former != after[source.name]
        why = (f"{former:,} rows before, {after[source.name]:,} after",) if lost else ()
        checks.append(TableCheck(source.name, strategy, former, after[source.name], why))
    return tuple(checks)


def compare_rows(expected: ExpectedTable, answer: EndpointAnswer) -> list[str]:
    """How the rows of a data source differ from the expected ones, in any order."""
    lines = find_difference(expected.rows, answer, is_ordered=False)
    return [f"{expected.path}:", *lines] if lines else []


def read_expected_tables(folder: Path, project: Project, problems: list[Problem]) -> tuple[ExpectedTable, ...]:
    """The expected rows of data sources, by name."""
    names = {source.name for source in project.datasources}
    found = []
    for path in sorted((folder / FOLDER).glob("*")):
        shown = path.relative_to(folder).as_posix()
        if path.suffix != ENDING:
            if path.name.partition(".")[0] in names and path.suffix not in OF_ENDPOINTS:
                message = f"{path.name} is no file of expected rows, and would be passed over"
                problems.append(Problem(_CODE, message, Location(shown), f"its name ends in {ENDING}"))
        elif path.stem not in names:
            message = f"there is no data source `{path.stem}` for these rows"
            problems.append(Problem(_CODE, message, Location(shown), did_you_mean(path.stem, names)))
        else:
            rows = tuple(_read_rows(path, shown, problems))
            found.append(ExpectedTable(path.stem, shown, rows))
    return tuple(found)


def _read_rows(path: Path, shown: str, problems: list[Problem]) -> Sequence[ExpectedRow]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(_CODE, f"the file cannot be read: {error}", Location(shown), "save it as UTF-8"))
        return ()
    rows: list[ExpectedRow] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = parse_expected(line)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(_CODE, f"this is no JSON: {error}", Location(shown, number), None))
            continue
        first = rows[0].value if rows else value
        if not isinstance(value, dict) or not isinstance(first, dict) or not value or value.keys() != first.keys():
            hint = "each row is a JSON object with the same columns"
            problems.append(Problem(_CODE, "this row has other columns", Location(shown, number), hint))
        rows.append(ExpectedRow(value, number))
    return rows
