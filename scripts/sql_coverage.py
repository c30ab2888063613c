"""docs/sql-coverage.md: which calls of functions have been compared with ClickHouse, over which types and values.

In: files of tests/differential/typed: PENSTOCK_SQL_COVERAGE, and PENSTOCK_SQL_LEDGER, which ends in `.jsonl`. Out: from
a ledger the page, and the calls that CI asks again (kept_calls.tsv); without one the figures only, since a short run
must not take the place of a walk over everything; with `--print` the page and what is left.
Invariant: a figure counts what was compared and the same on both engines, never what could have been.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.differential.typed.batches import Answer  # noqa: E402
from tests.differential.typed.call_forms import OF_CHANCE  # noqa: E402
from tests.differential.typed.compositions import Cell  # noqa: E402
from tests.differential.typed.coverage import Coverage, possible_cells  # noqa: E402
from tests.differential.typed.every_type import COLUMNS  # noqa: E402
from tests.differential.typed.kept_calls import KeptCall, write_kept_calls  # noqa: E402
from tests.differential.typed.ledger import Ledger  # noqa: E402
from tests.differential.typed.signatures import all_signatures  # noqa: E402

from penstock.sql.aggregates.table import AGGREGATES  # noqa: E402
from penstock.sql.functions.table import FUNCTIONS  # noqa: E402

PAGE = ROOT / "docs/sql-coverage.md"
CLASSES = ("value", "NULL", "NaN", "extreme")
Cells = set[tuple[str, str, str]]


def main(arguments: list[str]) -> int:
    files = [Path(each) for each in arguments if not each.startswith("--")]
    coverage = Coverage.read(each for each in files if each.suffix != ".jsonl")
    walked = [answer for each in files if each.suffix == ".jsonl" for answer in Ledger(each).answers()]
    for answer in walked:
        coverage.add(answer)
    possible = possible_cells(all_signatures())
    tried = coverage.cells & possible
    if "--print" in arguments:
        print(page(coverage, possible, tried, _outcomes(walked)) + "\n" + _untried_types(possible, tried))
    elif walked:
        PAGE.write_text(page(coverage, possible, tried, _outcomes(walked)), encoding="utf-8")
        write_kept_calls(_to_keep(walked))
        print(f"{PAGE.relative_to(ROOT)}: {coverage.compared} calls")
    else:
        print(_figures(coverage, possible, tried) + "\n\n" + _by_class(possible, tried))
    return 0


def _to_keep(walked: Iterable[Answer]) -> Iterator[KeptCall]:
    """One call of each cell, of those that are the same."""
    same = [each.query for each in walked if each.verdict == "same" and each.query.items and each.query.cells]
    seen: set[Cell] = set()
    for query in same:
        if not query.cells <= seen:
            outer = next((name for name, argument in sorted(query.cells) if argument.startswith("(")), None)
            function = outer or min(query.cells)[0]
            yield KeptCall(function, query.key, query.rest, query.items[0])
        seen |= query.cells


def page(coverage: Coverage, possible: Cells, tried: Cells, outcomes: str) -> str:
    """The page: figures, and how many cells of each function."""
    parts = (
        _head(coverage, possible, tried),
        outcomes,
        _by_class(possible, tried),
        _untried(),
        _by_function(possible, tried),
    )
    return "\n\n".join(each for each in parts if each) + "\n"


def _outcomes(walked: Sequence[Answer]) -> str:
    """What came of the queries of the ledgers; empty without one."""
    many = Counter(answer.verdict for answer in walked)
    if not walked:
        return ""
    deep = sum(any(argument.startswith("(") for _, argument in each.query.cells) for each in walked)
    whole = sum(bool(each.query.whole) for each in walked)
    return (
        f"Of {len(walked):,} different queries of the walks of November 2026 ({deep:,} of them calls in calls, "
        f"{whole:,} with clauses), ClickHouse refuses or fails at "
        f"{many['clickhouse refuses']:,}, and the compiler refuses {many['refused']:,}. Both engines gave the same to "
        f"{many['same']:,}. Those that differed or failed were asked again when their causes were mended, and "
        f"{many['differs']:,} differ still, {many['fails']:,} fail in Spark with an error: each by a line of the "
        "[known differences](sql-functions.md#known-differences), or because the setting by which both are asked "
        "writes Decimals as texts. The others were not asked again of the later code, but for those that CI chooses."
    )


def _head(coverage: Coverage, possible: Cells, tried: Cells) -> str:
    return (
        "# What is compared with ClickHouse\n\n"
        "Written by scripts/sql_coverage.py from the ledger of tests/differential/typed. Random queries are composed "
        "by types: each argument of a function is a column of a table that holds every type, "
        "or a call that gives what fits. A cell is a function, the type of an argument, and a class of the values in "
        "it; it counts if both engines gave the same rows, names and types. What compiles, the compiler says. "
        "`scripts/sql_coverage.py --print` names the types that are left of each function.\n\n"
        f"{_figures(coverage, possible, tried)} "
        "ClickHouse was asked each call as a query of its own; Spark, whose jobs cost more, up to 32 of them as "
        "columns of one query, and each that differed alone."
    )


def _figures(coverage: Coverage, possible: Cells, tried: Cells) -> str:
    return (
        f"{coverage.compared:,} calls and queries; {len(tried):,} of {len(possible):,} cells; "
        f"{len(coverage.pairs):,} pairs of a function and the one that gave its argument (a call in a call)."
    )


def _by_class(possible: Cells, tried: Cells) -> str:
    rows = ((name, *(f"{sum(cell[2] == name for cell in cells):,}" for cells in (tried, possible))) for name in CLASSES)
    return _table(("Values", "Cells compared", "Cells that compile"), rows)


def _untried() -> str:
    found = all_signatures()
    names = sorted((set(FUNCTIONS) - set(found.of) - OF_CHANCE) | (set(AGGREGATES) - set(found.aggregates)))
    others = sorted(OF_CHANCE & (set(FUNCTIONS) | set(AGGREGATES)))
    return (
        f"No call that compiles was found by trial for {', '.join(f'`{name}`' for name in names)}: these have queries "
        "written by hand only (tests/differential/queries). "
        f"Left out, because they depend on the time, on chance or on the order of rows: "
        f"{', '.join(f'`{name}`' for name in others)}."
    )


def _by_function(possible: Cells, tried: Cells) -> str:
    """Aggregates with their combinators."""
    able, done = Counter(cell[0].split("-")[0] for cell in possible), Counter(cell[0].split("-")[0] for cell in tried)
    names = sorted(able, key=str.lower)
    untouched = ", ".join(f"`{name}`" for name in names if not done[name])
    rows = ((f"`{name}`", f"{done[name]}", f"{able[name]}") for name in names if done[name])
    table = _table(("Function", "Cells compared", "Cells that compile"), rows)
    return f"## By function\n\nNone yet of: {untouched}.\n\n{table}"


def _untried_types(possible: Cells, tried: Cells) -> str:
    """Each function with the types that are left."""
    left: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for function, column, of_values in possible - tried:
        left[function].add((column, of_values))
    return _table(("Function", "Types not compared yet"), ((name, _types(left[name])) for name in sorted(left)))


def _types(cells: Iterable[tuple[str, str]]) -> str:
    names = sorted({COLUMNS[column].written.partition("(")[0] for column, _ in cells})
    return ", ".join(names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
