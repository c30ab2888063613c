"""The page of the planner's benchmark.

In: a `Line` a case, the sizes of the tables. Out: Markdown. Every number of the page is in a line or a table's size;
nothing is rounded away but bytes.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cases import Case

from penstock.plan.plan import NOTHING, Size

COMMAND = "make bench-plan"
INTRODUCTION = """\
# What a change moves

Made by `{command}`{asked} (Python {python}; Spark and Iceberg in one process). The project is
bench/cases/graph, the changes are bench/cases/cases.toml.

- **Penstock**: rows and bytes of the plan that `penstock deploy --check` makes of the live tables: what is
  read of tables' histories to fill others, from Iceberg's metadata, of a view's source the columns that it
  uses. Cases 23 and 24 are carried out, and the rows that came into any table are counted.
- **files rewritten**: rows of tables with a column whose values in older rows are computed when they are read, and
  are more than a constant or another column: the files are rewritten once, row for row, before the version is
  ready up to `[deploy] materialize_bytes` (256 MiB), and at leisure after the promotion beyond that.
- **changed and below**: the documented rule of today's best: the changed table is rewritten, and everything
  below it; adding, dropping and making nullable, TTLs, and what holds no data move nothing there. By hand per
  case; counted in the same way (its forward queries read their own table, its views the columns they use).
- **everything**: each landing table is rewritten, and each view's target filled from the beginning.
- **minimum**: the fewest rows that any system has to read for a right answer, by hand; the reasons are below.

"""


@dataclass(frozen=True, slots=True)
class Line:
    """A case, and what each way moves for it; None where it does not do it. `created` is what fills
    tables that are new, whatever the way."""

    case: Case
    moved: Size | None = NOTHING
    rewritten: Size = NOTHING
    created: Size = NOTHING
    did: str = ""
    changed: Size | None = None
    everything: Size | None = None

    @property
    def row(self) -> str:
        cells = [
            str(self.case.number),
            self.case.title,
            *_cells(self.moved),
            _rows(self.rewritten),
            *_cells(self.changed),
            *_cells(self.everything),
            f"{self.case.minimum:,}",
        ]
        return f"| {' | '.join(cells)} |"

    @property
    def rows_moved(self) -> int:
        return self.moved.rows if self.moved is not None else 0

    @property
    def reason(self) -> str:
        cells = (str(self.case.number), self.case.title, self.did, self.case.why)
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def report(lines: Sequence[Line], tables: Mapping[str, Size], events: int) -> str:
    """The whole page."""
    asked = "" if events == 1_000_000 else f" with `--events {events}`"
    head = INTRODUCTION.format(command=COMMAND, asked=asked, python=platform.python_version())
    return "\n".join([head + _sizes(tables), *_numbers(lines), "", *_sums(lines), "", *_reasons(lines), ""])


def _sizes(tables: Mapping[str, Size]) -> str:
    rows = [f"| {name} | {size.rows:,} | {_bytes(size)} |" for name, size in tables.items()]
    return "\n".join(["| table | rows | size |", "|---|---:|---:|", *rows, ""]) + "\n"


def _numbers(lines: Sequence[Line]) -> list[str]:
    first = "| # | change | Penstock, rows | bytes | files rewritten, rows | changed and below, rows | bytes |"
    return [
        f"{first} everything, rows | bytes | minimum, rows |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(line.row for line in lines),
    ]


def _sums(lines: Sequence[Line]) -> list[str]:
    """Over the cases that every way does."""
    done = [line for line in lines if None not in (line.moved, line.changed, line.everything)]
    refused = sum(1 for line in lines if line.case.refused)
    undone = [_named(line) for line in lines if line.moved is None]
    nothing = sum(1 for line in done if not line.rows_moved)
    dearer = [_named(line) for line in done if line.rows_moved > line.case.minimum]
    changed, everything = (_sum(sizes) for sizes in ([x.changed for x in done], [x.everything for x in done]))
    moved, rewritten = _sum([line.moved for line in done]), _sum([line.rewritten for line in done])
    return [
        f"Of {len(lines)} changes {refused} are to be refused. Of the {len(done)} that every way does, {nothing}",
        f"move no row, {len(done) - len(dearer)} no more than the minimum.",
        f"Together: {moved.rows:,} rows ({_bytes(moved)}),",
        f"and {rewritten.rows:,} in rewritten files; changed and below {changed.rows:,} ({_bytes(changed)});",
        f"everything {everything.rows:,} ({_bytes(everything)}).",
        "",
        "More than the minimum:",
        "",
        *(f"- {each}" for each in dearer or ["nothing"]),
        "",
        "Refused by Penstock today, and not to be refused:",
        "",
        *(f"- {each}" for each in undone or ["nothing"]),
    ]


def _named(line: Line) -> str:
    return f"{line.case.number}: {line.case.title}"


def _sum(sizes: Iterable[Size | None]) -> Size:
    return sum((size for size in sizes if size is not None), NOTHING)


def _reasons(lines: Sequence[Line]) -> list[str]:
    return [
        "| # | change | what Penstock does | why that is the minimum |",
        "|---:|---|---|---|",
        *(line.reason for line in lines),
    ]


def _cells(size: Size | None) -> tuple[str, str]:
    return (_rows(size), _bytes(size)) if size is not None else ("–", "–")


def _rows(size: Size) -> str:
    return f"{size.rows:,}"


def _bytes(size: Size) -> str:
    return f"{size.bytes / 1e6:,.1f} MB" if size.bytes >= 50_000 else f"{size.bytes:,} B"
