"""docs/sql-functions.md: every function that SQL may call, from the tables that the compiler uses.

In: the rows of `sql/functions`, `sql/aggregates`, the special forms and the window functions. Out: the page in
Markdown. A name that compiles is in the page; what the page shows of Spark is what the compiler writes.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from penstock.errors import Location, PenstockError
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.aggregates.aggregate import Aggregate
from penstock.sql.aggregates.maps import MAPPED_ARRAYS
from penstock.sql.aggregates.name_parser import WHOLE_NAMES
from penstock.sql.aggregates.table import AGGREGATES, ALIASES
from penstock.sql.calls.special_forms import SPECIAL_FORMS
from penstock.sql.calls.windows import WINDOW_FUNCTIONS
from penstock.sql.compile import compile_sql
from penstock.sql.functions.function import MAX_ARGUMENTS, Function
from penstock.sql.functions.refused_functions import MISSING
from penstock.sql.functions.table import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/sql-functions.md"
MARK = "<!-- From here on written by scripts/sql_docs.py. -->\n"
SAMPLES = {
    "any": "x",
    "number": "x",
    "integer": "x",
    "float": "f",
    "string": "s",
    "time": "t",
    "array": "a",
    "map": "m",
    "constant": "1",
    "step": "1",
    "text": "s",
    "bytes": "s",
    "json": "s",
    "bitmap": "b",
}
COLUMNS = {
    "x": "Int64",
    "f": "Float64",
    "s": "String",
    "t": "DateTime",
    "a": "Array(Int64)",
    "m": "Map(String, Int64)",
    "b": "AggregateFunction(groupBitmap, UInt32)",
}
LONGEST_SHOWN = 140
KEPT_CALLS = ROOT / "tests/differential/typed/kept_calls.tsv"
_BUT_KNOWN = ", but for [known differences](#known-differences)"


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(all_names())} names")
    return 0


def page(text: str) -> str:
    """The page with the functions as they are in the code."""
    above, mark, _ = text.partition(MARK)
    assert mark, "the page says where the generated part begins"
    known = _known_differences(above)
    families = (_family(each, known) for each in FAMILIES)
    names = f"{len(all_names())} names, aliases included."
    parts = [names, *families, _special(), _aggregates(known), _windows(), _refused()]
    return f"{above}{MARK}\n" + "\n\n".join(parts) + "\n"


def _known_differences(above: str) -> frozenset[str]:
    """The functions that the list of known differences names."""
    _, _, listed = above.partition("## Known differences")
    return frozenset(re.findall(r"`(\w+)", listed.partition("\n## ")[0]))


@lru_cache(maxsize=1)
def _compared_calls() -> Counter[str]:
    """How many kept calls there are of each function."""
    lines = KEPT_CALLS.read_text(encoding="utf-8").splitlines()
    return Counter(line.split("\t")[0].split("-")[0] for line in lines)


@lru_cache(maxsize=1)
def _tests_by_hand() -> dict[str, str]:
    """Of every word before a bracket in queries and tests, the first file that has it."""
    found: dict[str, str] = {}
    for folder, ending in (("tests/differential/queries", "*.sql"), ("tests/unit/sql", "*.py"), ("tests", "*.py")):
        for file in sorted((ROOT / folder).rglob(ending)):
            for word in re.findall(r"(\w+)(?=\()", file.read_text(encoding="utf-8")):
                found.setdefault(word.lower(), str(file.relative_to(ROOT)))
    return found


def _proof(name: str, aliases: Iterable[str] = ()) -> str:
    """The calls that CI asks of both engines; for a function that has none there, the file of tests that calls it."""
    if many := _compared_calls()[name]:
        return f"{many:,} calls"
    files = (_tests_by_hand().get(each.lower()) for each in (name, *aliases))
    file = next((each for each in files if each), None)
    return f"[{Path(file).stem}](../{file})" if file else ""


def all_names() -> frozenset[str]:
    """Every name with its aliases, combinators left out."""
    scalar = {name for family in FAMILIES for name in (*(row.name for row in family.FUNCTIONS), *family.ALIASES)}
    return frozenset(scalar | {*SPECIAL_FORMS, *WINDOW_FUNCTIONS, *AGGREGATES, *ALIASES, *_of_combinators()})


def _family(family: ModuleType, known: frozenset[str]) -> str:
    title = (family.__doc__ or "").partition("\n")[0].partition(": ")[0]
    rows: Iterable[Function] = sorted(family.FUNCTIONS, key=lambda row: row.name.lower())
    head = ("Function", "Answer", "Compared", "NULL in", "Spark SQL")
    return f"## {title}\n\n" + _table(head, (_row(each, known) for each in rows))


_ALIASES = sorted({pair for each in FAMILIES for pair in each.ALIASES.items()})


def _row(row: Function, known: frozenset[str]) -> tuple[str, ...]:
    aliases = [alias for alias, name in _ALIASES if name == row.name]
    also = ", ".join(f"`{alias}`" for alias in aliases)
    name = f"`{row.name}({_arguments(row)})`" + (f" (also {also})" if also else "")
    name += "" if row.exact else "; takes less than ClickHouse's"
    answer = f"exact{_BUT_KNOWN}" if {row.name, *aliases} & known else "exact"
    return name, answer, _proof(row.name, aliases), "NULL out" if row.strict else "a value", _example(row)


def _arguments(row: Function) -> str:
    low, high = row.arity
    kinds = [row.takes[min(place, len(row.takes) - 1)] for place in range(min(high, max(low, len(row.takes))))]
    shown = [kind if place < low else f"[{kind}]" for place, kind in enumerate(kinds)]
    return ", ".join([*shown, *(["…"] if high == MAX_ARGUMENTS else [])])


def _example(row: Function) -> str:
    """The Spark SQL of a call with sample columns; nothing where such a call has no meaning."""
    low, _ = row.arity
    given = [SAMPLES[row.takes[min(place, len(row.takes) - 1)]] for place in range(low)]
    return _compiled(f"{row.name}({', '.join(given)})")


def _compiled(call: str) -> str:
    project = Project.of([DataSource("d", tuple(_columns()), Engine())], [])
    try:
        sql = compile_sql(project, Text(f"SELECT {call} AS r FROM d", Location("q.sql")), "clickhouse").sql
    except PenstockError:
        return ""
    shown = sql.removeprefix("SELECT ").partition(" AS `r`")[0].replace("`d`.", "").replace("`", "").replace("|", "\\|")
    fits = len(shown) <= LONGEST_SHOWN and not any(each in shown for each in ("\n", "`", "]("))
    return f"`{shown}`" if fits else "a longer expression"


def _columns() -> Iterator[Column]:
    for name, of in COLUMNS.items():
        yield Column(name, parse_type(of), location=Location("d.datasource"))


def _special() -> str:
    others = {alias for family in FAMILIES for alias, name in family.ALIASES.items() if name in SPECIAL_FORMS}
    names = ", ".join(f"`{name}`" for name in sorted({*SPECIAL_FORMS, *others}, key=lambda name: (name.lower(), name)))
    return f"## Special forms\n\nOperators by name, conditions, casts, lambdas, intervals:\n\n{names}"


_OF_ALL_ROWS = """`windowFunnel`, `sequenceMatch` and `sequenceCount` keep every row of a group as an array in one task,
as `groupArray` does, and sort it: a group of a million rows takes some 3 to 5 seconds and some hundred MB. A WHERE of
the events in question keeps it small. The modes of `windowFunnel` are `'strict_order'`, `'strict_deduplication'`,
`'strict_increase'`, `'allow_reentry'`; not `'strict_once'`. A pattern must not begin or end with a time. As in
ClickHouse, a pattern that takes more than a million steps over one group is an error (in `sequenceMatch`, only if it
has a time)."""


def _aggregates(known: frozenset[str]) -> str:
    rows = sorted(AGGREGATES.values(), key=lambda row: row.name.lower())
    others = ", ".join(f"`{alias}` is `{name}`" for alias, name in sorted(_of_combinators().items()))
    table = _table(("Aggregate", "Answer", "Compared", "State"), (_aggregate(row, known) for row in rows))
    return f"## Aggregates\n\n{table}\n\n{others}.\n\n{_OF_ALL_ROWS}"


def _of_combinators() -> dict[str, str]:
    """Names of their own for an aggregate with a combinator."""
    return {**WHOLE_NAMES, **{name: f"{row.name}" for name, row in MAPPED_ARRAYS.items()}}


def _aggregate(row: Aggregate, known: frozenset[str]) -> tuple[str, ...]:
    aliases = [alias for alias, name in sorted(ALIASES.items()) if name == row.name]
    others = ", ".join(f"`{alias}`" for alias in aliases)
    name = f"`{row.name}`" + (f" (also {others})" if others else "")
    answer = "exact" if row.exact else f"approximate{f': {row.error}' if row.error else ''}"
    answer += _BUT_KNOWN if row.exact and {row.name, *aliases} & known else ""
    order = "; depends on the order of rows" if row.ordered else ""
    return name, answer + order, _proof(row.name, aliases), "`-State`, `-Merge`" if row.has_state else "none"


def _windows() -> str:
    names = ", ".join(f"`{name}`" for name in sorted(WINDOW_FUNCTIONS))
    return f"## Window functions\n\nEvery aggregate with `OVER (…)`, and {names}."


def _refused() -> str:
    names = ", ".join(f"`{name}`" for name in sorted(MISSING, key=lambda name: (name.lower(), name)))
    return f"## Refused\n\nRefused with the reason, or with what to write instead: {names}."


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
