"""How long `penstock plan` takes for changes of the shapes in which it once took long: each beside its limit.

In: nothing, or shapes with sizes. Out: a table of seconds, printed and, if asked, written to a file. Called from the
command line. Invariant: what is measured is the whole command on one core, and each shape has a change that reaches
all of it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from plan_scale import HERE, measure, time_plan

COMMAND = "python bench/plan_shapes.py"
_WIDTH = 30

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """A project of a size, what changes in it, and how many seconds its plan may take."""

    what: str
    size: int
    limit: int
    files: Callable[[int, str], Files]
    """The project, by the SQL of what changes."""


def _source(columns: list[tuple[str, str]], path: str = "") -> str:
    lines = ",\n".join(f"    `{name}` {kind}{path and f' `json:$.{name}`'}" for name, kind in columns)
    return f"SCHEMA >\n{lines}\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"


def _view(sql: str, target: str) -> str:
    return f"NODE rows\nSQL >\n    {sql}\n\nTYPE materialized\nDATASOURCE {target}\n"


def _columns(names: list[str]) -> list[tuple[str, str]]:
    return [("id", "UInt64"), *((name, "String") for name in names)]


def views(size: int, value: str) -> Files:
    """Landings of 30 columns, each with a view into a target of its own; the query of every view changes."""
    columns = _columns([*(f"c{at}" for at in range(1, _WIDTH - 1)), "changed"])
    items = ", ".join(name if name != "changed" else f"{value} AS changed" for name, _ in columns)
    files = {}
    for at in range(size):
        files[f"datasources/landing_{at}.datasource"] = _source(columns, "json")
        files[f"datasources/target_{at}.datasource"] = _source(columns)
        files[f"pipes/view_{at}.pipe"] = _view(f"SELECT {items} FROM landing_{at} WHERE c1 != ''", f"target_{at}")
    return files


def chain(size: int, value: str) -> Files:
    """A view over the target of a view over the target …; the query of the first one changes."""
    columns = _columns(["changed", "other"])
    files = {"datasources/t0.datasource": _source(columns, "json")}
    for at in range(1, size):
        files[f"datasources/t{at}.datasource"] = _source(columns)
        item = f"{value} AS changed" if at == 1 else "changed"
        files[f"pipes/view_{at}.pipe"] = _view(f"SELECT id, {item}, other FROM t{at - 1}", f"t{at}")
    return files


def wide(size: int, value: str) -> Files:
    """One view of many columns; one of them changes."""
    names = _columns([f"c{at}" for at in range(size - 2)] + ["changed"])
    items = ", ".join(name if name != "changed" else f"{value} AS changed" for name, _ in names)
    return {
        "datasources/landing.datasource": _source(names, "json"),
        "datasources/target.datasource": _source(names),
        "pipes/view.pipe": _view(f"SELECT {items} FROM landing", "target"),
    }


def diamonds(size: int, value: str) -> Files:
    """Pipes that each join the one before with itself, below a view whose query changes."""
    names = _columns(["changed"])
    files = {"datasources/landing.datasource": _source(names, "json"), "datasources/target.datasource": _source(names)}
    before = "landing"
    for at in range(size):
        sql = f"SELECT x.id AS id, y.changed AS changed FROM {before} AS x JOIN {before} AS y ON x.id = y.id"
        files[f"pipes/level_{at}.pipe"] = f"NODE rows\nSQL >\n    {sql}\n"
        before = f"level_{at}"
    return files | {"pipes/view.pipe": _view(f"SELECT id, {value} AS changed FROM {before}", "target")}


SHAPES = {
    "views": Shape("views of 30 columns, all of them changed", 400, 10, views),
    "chain": Shape("views in a chain, the first one changed", 500, 5, chain),
    "columns": Shape("columns of one view, one of them changed", 600, 3, wide),
    "diamonds": Shape("pipes that join the one before with itself, below a changed view", 12, 3, diamonds),
}
_LARGE = Shape("resources (`generate.py`), with twelve changes", 10_000, 10, lambda _size, _value: {})


def measure_shape(shape: Shape, size: int) -> float:
    """The seconds of the plan from the shape to its changed copy."""
    with tempfile.TemporaryDirectory() as folder:
        for side, value in (("before", "changed"), ("after", "lower(changed)")):
            for path, text in shape.files(size, value).items():
                written = Path(folder, side, path)
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(text, encoding="utf-8")
        return time_plan(folder)


def _row(shape: Shape, size: int, seconds: float) -> str:
    limit = f"{shape.limit}" if size == shape.size else "–"
    return f"| {size:,} | {shape.what} | {seconds:.2f} | {limit} |"


def report(rows: list[str]) -> str:
    """The table, with the command that made it and how busy the machine was."""
    return "\n".join(
        [
            "# How long a plan takes, by the shape of what changes",
            "",
            f"Made by `{COMMAND} --write`, Python {platform.python_version()}, on one core; the whole command",
            f"`penstock plan BEFORE AFTER --output json`, its start included. Load average at the end:"
            f" {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.",
            "",
            "| size | of | seconds | limit |",
            "|---:|---|---:|---:|",
            *rows,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure `penstock plan` on projects of some shapes.")
    parser.add_argument("--shape", nargs=2, action="append", metavar=("NAME", "SIZE"), help="instead of all")
    parser.add_argument("--write", action="store_true", help="write bench/results/plan_shapes.md")
    asked = parser.parse_args()
    chosen = [(name, int(size)) for name, size in asked.shape or []]
    rows = []
    for name, size in chosen or [(name, shape.size) for name, shape in SHAPES.items()]:
        rows.append(_row(SHAPES[name], size, measure_shape(SHAPES[name], size)))
        print(rows[-1], file=sys.stderr, flush=True)
    if not chosen:
        rows.append(_row(_LARGE, _LARGE.size, measure(_LARGE.size).seconds))
    text = report(rows)
    print(text)
    if asked.write:
        (HERE / "results" / "plan_shapes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
