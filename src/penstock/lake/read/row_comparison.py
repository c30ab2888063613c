"""Spark SQL that compares the rows of two relations.

In: two relations and the values to compare, as SQL over each of them. Out: SELECTs for checksums, for how many rows
differ, and for some of these. Invariants: the order of rows never counts, how often a row occurs does; equal checksums
of plain values mean equal rows (up to a chance of 2**-64), everything else is decided by the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.sql.spark_text import string_literal

_EXCESS, _CLOSE = "`_excess`", "`_close`"
_JSON_OPTIONS = "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One value of a row: SQL of one type over the left relation and over the right one."""

    name: str
    left: str
    right: str
    plain: bool = True
    """Its hash tells NULL inside of it apart: it is no array, map or tuple."""
    tolerance: float | None = None
    """The relative difference up to which two floats count as close; None for other types."""


@dataclass(frozen=True, slots=True)
class RowComparison:
    """Two relations, each `(SELECT …)`, and the values that are compared."""

    left: str
    right: str
    values: tuple[ComparedValue, ...]

    @property
    def plain(self) -> bool:
        """Whether equal checksums of the rows mean equal rows."""
        return all(value.plain for value in self.values)


def left_checksums(rows: RowComparison) -> str:
    """One row: how many rows the left relation has, a checksum of each value, two of the whole rows, and 0."""
    return _checksums(rows.left, [value.left for value in rows.values], 0)


def both_checksums(rows: RowComparison) -> str:
    """Two rows: that of the left relation, and that of the right one with 1 as its last value; in no order."""
    right = _checksums(rows.right, [value.right for value in rows.values], 1)
    return f"{left_checksums(rows)} UNION ALL {right}"


def difference_counts(rows: RowComparison) -> str:
    """One row: how many rows only the left relation has, how many only the right one, and how many pairs of rows differ
    in nothing but floats that are close."""
    only_left = f"CASE WHEN {_EXCESS} > 0 AND NOT {_CLOSE} THEN {_EXCESS} END"
    only_right = f"CASE WHEN {_EXCESS} < 0 AND NOT {_CLOSE} THEN -{_EXCESS} END"
    close = f"CASE WHEN {_EXCESS} > 0 AND {_CLOSE} THEN {_EXCESS} END"
    sums = ", ".join(f"coalesce(sum({each}), 0)" for each in (only_left, only_right, close))
    return f"SELECT {sums} FROM ({_differing_rows(rows)})"


def only_left_rows(rows: RowComparison, most: int) -> str:
    """The first rows, by their values, that only the left relation has: how often, and the row as JSON."""
    return _sample(rows, ">", most)


def only_right_rows(rows: RowComparison, most: int) -> str:
    """The first rows, by their values, that only the right relation has."""
    return _sample(rows, "<", most)


def _checksums(relation: str, values: Sequence[str], side: int) -> str:
    names = [f"c{at}" for at in range(len(values))]
    sums = [f"CAST(sum({_wide_hash(_hashed(name))}) AS STRING)" for name in names]
    row = ", ".join(map(_hashed, names)) or "0"
    # A sum, not an exclusive or: a row that occurs twice must not vanish.
    rows = [f"CAST(sum({_wide_hash(f'{seed}, {row}')}) AS STRING)" for seed in ("'a'", "'b'")]
    return f"SELECT count(*), {', '.join((*sums, *rows))}, {side} AS side FROM {_selected(relation, values)}"


def _hashed(name: str) -> str:
    """What is hashed of a value: the hash itself passes over NULL, so whether it is NULL is a value of its own."""
    return f"{name}, {name} IS NULL"


def _wide_hash(values: str) -> str:
    return f"CAST(xxhash64({values}) AS DECIMAL(38,0))"


def _selected(relation: str, values: Sequence[str], more: str = "") -> str:
    columns = ", ".join(f"{value} AS c{at}" for at, value in enumerate(values)) or "1 AS `_`"
    return f"(SELECT {columns}{more} FROM {relation})"


def _differing_rows(rows: RowComparison) -> str:
    """Each row that one relation has more often, with how many times more often the left one has it (negative: the
    right one), and whether there is a row of the other side that only differs in close floats."""
    names = [f"c{at}" for at in range(len(rows.values))] or ["`_`"]
    left = _selected(rows.left, [value.left for value in rows.values], f", 1 AS {_EXCESS}")
    right = _selected(rows.right, [value.right for value in rows.values], f", -1 AS {_EXCESS}")
    both = f"SELECT * FROM {left} UNION ALL SELECT * FROM {right}"
    listed = ", ".join(names)
    differing = (
        f"SELECT {listed}, sum({_EXCESS}) AS {_EXCESS} FROM ({both}) GROUP BY {listed} HAVING sum({_EXCESS}) <> 0"
    )
    floats = [(f"c{at}", value.tolerance) for at, value in enumerate(rows.values) if value.tolerance is not None]
    if not floats:
        return f"SELECT *, false AS {_CLOSE} FROM ({differing})"
    exact = [f"c{at}" for at, value in enumerate(rows.values) if value.tolerance is None]
    place = (
        f"row_number() OVER (PARTITION BY {', '.join((*exact, f'sign({_EXCESS})'))}"
        f" ORDER BY {', '.join(name for name, _ in floats)}) AS `_place`"
    )
    pair = f"OVER (PARTITION BY {', '.join((*exact, '`_place`'))})"
    near = " AND ".join(_is_close(name, tolerance or 0.0, pair) for name, tolerance in floats)
    close = f"coalesce(sum({_EXCESS}) {pair} = 0 AND {near}, false)"
    return f"SELECT *, {close} AS {_CLOSE} FROM (SELECT *, {place} FROM ({differing}))"


def _is_close(name: str, tolerance: float, pair: str) -> str:
    """Whether a float is the same on both sides of a pair, or differs by no more than an addition in another order
    explains. The comparison with infinity refuses a NaN and an infinity on one side only: Spark's NaN equals NaN."""
    left = f"max(CASE WHEN {_EXCESS} > 0 THEN CAST({name} AS DOUBLE) END) {pair}"
    right = f"max(CASE WHEN {_EXCESS} < 0 THEN CAST({name} AS DOUBLE) END) {pair}"
    apart = f"abs({left} - {right})"
    finite = f"{apart} < CAST('Infinity' AS DOUBLE)"
    return f"({left} <=> {right} OR ({finite} AND {apart} <= {tolerance!r}D * greatest(abs({left}), abs({right}))))"


def _sample(rows: RowComparison, side: str, most: int) -> str:
    fields = ", ".join(f"{string_literal(value.name)}, c{at}" for at, value in enumerate(rows.values))
    shown = f"to_json(named_struct({fields}), {_JSON_OPTIONS})" if fields else "'{}'"
    order = ", ".join(f"c{at}" for at in range(len(rows.values))) or "1"
    where = f"{_EXCESS} {side} 0 AND NOT {_CLOSE}"
    return f"SELECT abs({_EXCESS}), {shown} FROM ({_differing_rows(rows)}) WHERE {where} ORDER BY {order} LIMIT {most}"
