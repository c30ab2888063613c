"""The name of an aggregate call, split into its function and combinators: `avgIfState` is avg, If, State.

In: a name. Out: `ParsedAggregate`, None if it is no aggregate. Invariant: every name has one reading: if the table
does not have it, the first known combinator at its end is taken off, and the rest is read in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from penstock.model.quick_dataclass import dataclass
from penstock.sql.aggregates.aggregate import Aggregate
from penstock.sql.aggregates.combinators import COMBINATORS, combine_distinct, combine_or_null
from penstock.sql.aggregates.table import AGGREGATES, aggregate_named, aggregate_names, state_name

AggregateForm = Literal["plain", "State", "Merge", "MergeState", "SimpleState"]
_FORMS: tuple[AggregateForm, ...] = ("SimpleState", "MergeState", "State", "Merge")
_ENDINGS = (*_FORMS, *COMBINATORS)
_COMMUTING = ("OrNull", "OrDefault", "Distinct")
"""Combinators past which -If can move to the arguments: `sumIfOrNull` is `sumOrNullIf`."""
DISTINCT_ROWS = {"count": AGGREGATES["uniqExact"], "groupArray": AGGREGATES["groupUniqArray"]}
"""Functions that do the same as these ones with -Distinct."""
DUPLICATE_INSENSITIVE = ("min", "max", "any", "uniq", "uniqExact", "groupUniqArray")
"""Aggregates that ignore duplicates."""
WHOLE_NAMES = {"array_concat_agg": "groupArrayArray"}
"""Other names, in any case, of a function with its combinators."""
MOST_COMBINATORS = 8
"""A name with more combinators is not read."""


@dataclass(frozen=True, slots=True)
class ParsedAggregate:
    """An aggregate function as a name calls it."""

    row: Aggregate
    form: AggregateForm = "plain"
    on_condition: bool = False
    """-If: the last argument is a condition."""
    distinct: bool = False
    """-Distinct."""
    or_null: bool = False
    """-OrNull of a function whose state of no rows is NULL."""
    filled: Aggregate | None = None
    """Of `fIfOrNull` and `fIfOrDefault` the function f: over rows that all fail the condition, its own result of no
    rows is taken, not NULL or the default."""
    outside: bool = False
    """-If is written after the form (-State …), so the state has no condition."""
    name: str = ""
    """The function as ClickHouse writes it in the type of its states."""


@lru_cache(maxsize=4096)
def parse_aggregate_name(name: str) -> ParsedAggregate | None:
    """What a name calls; None if it is no aggregate, or a combination that does not exist."""
    split = _split_name(WHOLE_NAMES.get(name.lower(), name))
    if split is None or _repeats_itself(*split):
        return None
    base, endings = split
    forms = [place for place, each in enumerate(endings) if each in _FORMS]
    if len(forms) > 1:
        return None
    at = forms[0] if forms else len(endings)
    form, after = (endings[at] if forms else "plain"), endings[at + 1 :]
    if after not in ((), ("If",)):
        return None
    found = _apply_combinators(base, endings[:at])
    if found is None or (after and found.on_condition and form not in ("Merge", "MergeState")):
        return None
    merges = form in ("Merge", "MergeState")
    known: AggregateForm = next((each for each in _FORMS if each == form), "plain")
    # `sumIfMerge` merges states of sumIf, whose condition was applied when they were made.
    on_condition = bool(after) or (found.on_condition and not merges)
    return replace(found, form=known, on_condition=on_condition, outside=bool(after))


def _repeats_itself(base: str, endings: tuple[str, ...]) -> bool:
    """Whether a combinator follows itself, which ClickHouse refuses; countDistinct has one in its name."""
    whole = ("Distinct", *endings) if base.endswith("Distinct") else endings
    return any(a == b for a, b in pairwise(whole))


def with_state_combinators(found: ParsedAggregate) -> Aggregate | None:
    """The row with -Distinct and -OrNull as part of it, as its states have them; None if there is none."""
    row: Aggregate | None = found.row
    if found.distinct:
        row = (
            found.row
            if found.row.name in DUPLICATE_INSENSITIVE
            else DISTINCT_ROWS.get(found.row.name) or combine_distinct(found.row)
        )
    return combine_or_null(row) if found.or_null and row is not None else row


def _split_name(name: str) -> tuple[str, tuple[str, ...]] | None:
    """A name of the table and the combinators after it, innermost first."""
    endings: list[str] = []
    while aggregate_named(name) is None:
        ending = next((each for each in _ENDINGS if name.endswith(each) and name != each), None)
        if ending is None or len(endings) == MOST_COMBINATORS:
            return None
        endings.insert(0, ending)
        name = name.removesuffix(ending)
    return name, tuple(endings)


def _apply_combinators(base: str, endings: tuple[str, ...]) -> ParsedAggregate | None:
    found = _commuted_combinators(base, endings)
    if found is None or endings[-1:] not in (("OrNull",), ("OrDefault",)) or not found.on_condition:
        return found
    inner = _commuted_combinators(base, tuple(each for each in endings[:-1] if each != "If"))
    row = None if inner is None else with_state_combinators(inner)
    return None if row is None else replace(found, filled=row)


def _commuted_combinators(base: str, endings: tuple[str, ...]) -> ParsedAggregate | None:
    """The call with its -If moved to the arguments."""
    row = aggregate_named(base)
    name = state_name(base) + "".join(endings)
    on_condition, rest = _take_out_if(list(endings))
    distinct = bool(rest) and rest[-1] == "Distinct" and rest[:-1] == []
    if distinct and row is not None:
        return ParsedAggregate(row, on_condition=on_condition, distinct=True, name=name)
    simple_null = rest[-1:] == ["OrNull"]
    for place, ending in enumerate(rest):
        if row is None:
            return None
        if simple_null and place == len(rest) - 1 and row.null_over_none:
            return ParsedAggregate(row, on_condition=on_condition, or_null=True, name=name)
        row = COMBINATORS[ending](row) if row.has_state or ending in ("OrNull", "OrDefault") else None
    return ParsedAggregate(row, on_condition=on_condition, name=name) if row is not None else None


def _take_out_if(endings: list[str]) -> tuple[bool, list[str]]:
    """Whether -If can move to the arguments, and the combinators without it."""
    for place in range(len(endings) - 1, -1, -1):
        if endings[place] == "If":
            return True, endings[:place] + endings[place + 1 :]
        if endings[place] not in _COMMUTING:
            break
    return False, endings


def names_for_hints() -> tuple[str, ...]:
    """Names with at most one combinator, to suggest the nearest one."""
    bases = aggregate_names()
    return tuple(base + ending for base in bases for ending in ("", "If", "State", "Merge", "MergeState"))
