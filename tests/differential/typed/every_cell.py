"""The calls of every cell, one after the other: each function over each type that compiles, and each function over each
other one whose result fits.

In: `Signatures`. Out: `Walked` queries of one column each, which `answers` joins by the dozens. Invariant: a call that
the extreme rows make fail, or that is a known difference there, is asked over the ordinary rows instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random

from tests.differential.typed.batches import Answer, Generated
from tests.differential.typed.compositions import LAST_DIGIT, Cell
from tests.differential.typed.drawn_queries import OF_THE_ORDER
from tests.differential.typed.every_type import COLUMNS
from tests.differential.typed.excused import reason_to_leave_out
from tests.differential.typed.signatures import ByName, Signature, Signatures, family

ROWS = (("id", "FROM w"),)
GROUPS = (("id", "FROM w GROUP BY id"), ("b", "FROM w GROUP BY b"))
Source = tuple[str, str]
"""What a query begins and ends with."""


def calls(found: Signatures) -> Iterator[Generated]:
    """Every signature; aggregates over groups of one row and of several."""
    for by_name in (found.of, found.aggregates):
        for name, signatures in by_name.items():
            for source in sources(name, by_name is found.aggregates):
                for signature in signatures:
                    yield from _call(signature, signature.columns, (), source)


def sources(name: str, of_groups: bool) -> Sequence[Source]:
    """Where a function is asked: what depends on the order of rows has one row in each group."""
    if not of_groups:
        return ROWS
    return GROUPS[:1] if name.split("-")[0] in OF_THE_ORDER else GROUPS


def compositions(found: Signatures) -> Iterator[Generated]:
    """Every function over every other scalar one whose result fits one of its arguments, once for each family."""
    for by_name in (found.of, found.aggregates):
        for name, signatures in by_name.items():
            if "-" not in name:
                yield from _over_others(name, signatures, found.giving, by_name is found.aggregates)


def _over_others(
    name: str, signatures: Sequence[Signature], giving: dict[str, ByName], of_groups: bool
) -> Iterator[Generated]:
    random = Random(name)
    for wanted, (signature, place) in _by_family(signatures, random).items():
        for inner, others in giving.get(wanted, {}).items():
            if inner not in LAST_DIGIT:
                other = random.choice(others)
                columns = list(signature.columns)
                columns[place] = other.form.call(other.columns)
                within = ((name, f"({inner})"), *((inner, each) for each in other.columns))
                yield from _call(signature, columns, within, sources(name, of_groups)[-1])


def _by_family(signatures: Sequence[Signature], random: Random) -> dict[str, tuple[Signature, int]]:
    """One call for each family of types that an argument of the function may have."""
    kept: dict[str, tuple[Signature, int]] = {}
    for signature in random.sample(signatures, len(signatures)):
        for place, column in enumerate(signature.columns):
            if column in COLUMNS:
                kept.setdefault(family(COLUMNS[column].type), (signature, place))
    return kept


def _call(
    signature: Signature, arguments: Sequence[str], more: tuple[tuple[str, str], ...], at: Source
) -> Iterator[Generated]:
    """Over all rows, or over the ordinary ones; none where the call is left out over those too."""
    item = signature.form.call(arguments)
    plain = ((signature.form.name, each) for each in arguments if each in COLUMNS)
    query = Generated(0, (item,), *at, cells=frozenset((*plain, *more)))
    asked = (each for each in (query, tamed(query)) if reason_to_leave_out(each.sql) is None)
    yield from islice(asked, 1)


def new_cells_first(queries: Iterable[Generated]) -> list[Generated]:
    """Those first that have a cell of their own, so that a run that is cut short has most of the cells."""
    seen: set[Cell] = set()
    first, later = list[Generated](), list[Generated]()
    for query in queries:
        (later if query.cells <= seen else first).append(query)
        seen |= query.cells
    return first + later


def tamed(query: Generated) -> Generated:
    """The same over the ordinary rows."""
    return Generated(query.seed, query.items, query.key, query.rest.replace("FROM w", "FROM tame"), cells=query.cells)


def may_be_tamed(answer: Answer) -> bool:
    """Whether the extreme rows may be what made an engine fail."""
    return answer.verdict in ("fails", "clickhouse refuses") and "FROM w" in answer.query.rest
