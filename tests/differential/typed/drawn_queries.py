"""The queries of a run, by seed.

In: a seed and the weights of functions. Out: a `Generated` query. Invariant: the same seed and weights give the same
query, whatever was drawn before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from tests.differential.typed.batches import Generated
from tests.differential.typed.call_forms import OF_CHANCE
from tests.differential.typed.clause_mixes import mixed
from tests.differential.typed.compositions import Composer

from penstock.sql.aggregates.table import AGGREGATES

GROUPS = (
    ("id", "FROM w GROUP BY id"),
    ("b", "FROM tame GROUP BY b"),
    ("b", "FROM w GROUP BY b"),
    ("lcn", "FROM tame GROUP BY lcn"),
    ("1 AS one", "FROM nil"),
    ("1 AS one", "FROM w"),
)
"""Keys, and sources with their groups."""
OF_THE_ORDER = frozenset({name for name, row in AGGREGATES.items() if row.ordered} | OF_CHANCE) | {
    "topKWeighted",
    "approx_top_k",
    "approx_top_sum",
}
"""Aggregates whose value depends on the order of the rows: they get groups of one row."""


def drawn(seed: int, weights: Mapping[str, int]) -> Generated:
    """One query: half of them expressions, the others aggregates and combined clauses."""
    random = Random(seed)
    draw = random.random()
    if draw < 0.25:
        return of_clauses(seed, random)
    composer = Composer(random, weights)
    if draw < 0.5:
        made = composer.aggregate()
        alone = any(function.split("-")[0] in OF_THE_ORDER for function, _ in made.cells)
        key, rest = GROUPS[0] if alone else random.choice(GROUPS)
    else:
        made, (key, rest) = composer.scalar(), ("id", random.choice(("FROM w", "FROM tame", "FROM tame")))
    return Generated(seed, (made.sql,), key, rest, named=random.random() < 0.2, cells=made.cells)


def of_clauses(seed: int, random: Random) -> Generated:
    """A whole SELECT, which no other joins."""
    sql = mixed(random)
    return Generated(seed, whole=sql, ordered=" ORDER BY " in outermost(sql))


def outermost(sql: str) -> str:
    """What is in no brackets."""
    shorter = re.sub(r"\([^()]*\)", "", sql)
    return sql if shorter == sql else outermost(shorter)
