"""The calls of every cell, one after the other: each function over each type that compiles, and each function over each
other one whose result fits.

In: `Signatures`. Out: `Walked` queries of one column each, which `answers` joins by the dozens. Invariant: a call that
the extreme rows make fail, or that is a known difference there, is asked over the ordinary rows instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
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
Place = tuple[Signature, int]
"""A call, and which of its arguments is another one."""


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
    """Every function over every other scalar one whose result fits one of its arguments. They come in rounds, each with
    one call of every function over every family of types that it takes, so that a walk that is cut short is an even
    one."""
    pairs = list[Iterator[Generated]]()
    for by_name in (found.of, found.aggregates):
        for name, signatures in by_name.items():
            if "-" not in name:
                at = sources(name, by_name is found.aggregates)[-1]
                random = Random(name)
                for wanted, taken in _by_family(signatures, random).items():
                    pairs.append(_over_others(taken, found.giving.get(wanted, {}), at, random))
    Random(1).shuffle(pairs)
    yield from in_rounds(pairs)


def in_rounds(several: Sequence[Iterator[Generated]]) -> Iterator[Generated]:
    """The first of each, then the second of each, and so on."""
    for together in zip_longest(*several):
        yield from (each for each in together if each is not None)


def _over_others(taken: Place, giving: ByName, at: Source, random: Random) -> Iterator[Generated]:
    signature, place = taken
    for inner in random.sample(sorted(set(giving) - LAST_DIGIT), len(set(giving) - LAST_DIGIT)):
        other = random.choice(giving[inner])
        columns = list(signature.columns)
        columns[place] = other.form.call(other.columns)
        within = ((signature.form.name, f"({inner})"), *((inner, each) for each in other.columns))
        yield from _call(signature, columns, within, at)


def _by_family(signatures: Sequence[Signature], random: Random) -> dict[str, Place]:
    """One call for each family of types that an argument of the function may have."""
    kept: dict[str, Place] = {}
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


def shuffled_calls(found: Signatures) -> list[Generated]:
    """All calls in an order of chance, those first that have a cell of their own."""
    every = list(dict.fromkeys(calls(found)))
    Random(1).shuffle(every)
    return new_cells_first(every)


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
