"""Whether a view gives the same where a number is stored in a wider type: INT to BIGINT, FLOAT to DOUBLE, BIGINT to the
DECIMAL of a UInt64, a DECIMAL to one of more digits before the point.

In: compiled SQL in canonical form, and the name of a column. Out: yes or no, and the SQL without the widths of the
constants that stand beside such numbers. Invariant: every use of the number is one of the rules below, each of which
depends on its value alone, or passes that value on to a place that does; a use that no rule names may differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.constant_folding import known_value
from penstock.sql.analysis.opaque_calls import call_name, parse_opaque, write_opaque
from penstock.sql.spark_text import DIALECT

_MOST_PLACES = 18
"""Digits after the point of a DECIMAL, beside which every whole number of 64 bits has room in 38 digits."""
_PLACES = {f"decimal{count}": count for count in range(1, _MOST_PLACES + 1)}
"""Families of the DECIMALs with a fraction: those of one have as many digits after the point."""
_PLAIN_FAMILIES = {"INT": "integer", "BIGINT": "integer", "FLOAT": "float", "DOUBLE": "float"}
UNSIGNED = "UInt64"
"""Stands for the stored type of a UInt64, and of a sum of such: a DECIMAL without a fraction."""
_MOST_DIGITS = 38
_FRACTION = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_DIGITS = re.compile(r"(\d+)(?:\.(\d+))?", re.ASCII)
_PLAIN = frozenset(["integer", "float"])
_WHOLE = frozenset(["integer", "unsigned"])
_EXACT = _WHOLE | _PLACES.keys()
_ANY = _PLAIN | _WHOLE
_ALL = _ANY | _EXACT
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In)
_WHOLE_TYPES = (exp.DType.INT, exp.DType.BIGINT)

Families: TypeAlias = frozenset[str]
ColumnUses: TypeAlias = Mapping[str, tuple[exp.Column, ...]]


@dataclass(frozen=True, slots=True)
class ValueUse:
    """A use of a number, for which only its value counts."""

    kinds: tuple[type[exp.Expr], ...] = ()
    calls: tuple[str, ...] = ()
    places: tuple[str, ...] = ("this", "expression", "expressions")
    """Where the number stands in the use."""
    casts_to: tuple[exp.DType, ...] = ()
    families: Families = _ANY
    passes_on: bool = False
    """The result is one of the numbers, so its own use counts as well."""


USES = (
    # compared as numbers, and grouped by; a DECIMAL with a fraction is cast before it is compared
    ValueUse(COMPARISONS),
    ValueUse((exp.Is, exp.Group), families=_ALL),
    ValueUse(calls=("count",), places=("expressions",), families=_ALL),
    # aggregated in a type of its own: BIGINT for whole numbers, DOUBLE for others
    ValueUse(calls=("sum", "avg"), places=("expressions",), families=_PLAIN),
    # the sum of DECIMALs is a DECIMAL of ten more digits
    ValueUse(calls=("sum",), places=("expressions",), families=_EXACT - _PLAIN, passes_on=True),
    # written as digits, or cast to a type that holds every one of them, or rounds them in one way
    ValueUse(
        (exp.Cast,),
        places=("this",),
        casts_to=(exp.DType.TEXT, exp.DType.BIGINT, exp.DType.DOUBLE, exp.DType.DECIMAL),
        families=_EXACT,
    ),
    ValueUse((exp.Cast,), places=("this",), casts_to=(exp.DType.DOUBLE,)),
    # the least, the largest or any of them
    ValueUse((exp.Paren, exp.First, exp.Last, exp.IgnoreNulls), places=("this",), families=_ALL, passes_on=True),
    ValueUse(calls=("min", "max"), places=("expressions",), families=_ALL, passes_on=True),
    # chosen among constants
    ValueUse((exp.Coalesce,), places=("this", "expressions"), families=_EXACT, passes_on=True),
    ValueUse((exp.If,), places=("true", "false"), families=_EXACT, passes_on=True),
    ValueUse((exp.Case,), places=("ifs", "default"), families=_EXACT, passes_on=True),
)
"""All uses that do not depend on how wide a number is stored."""


def type_family(stored: str) -> str | None:
    """The family of a stored type, of which a wider type holds each value of a narrower one exactly; None for a type
    that has none."""
    fraction = fraction_of(stored)
    return f"decimal{fraction[1]}" if fraction is not None else _PLAIN_FAMILIES.get(stored)


def fraction_of(stored: str) -> tuple[int, int] | None:
    """The precision and the scale of a DECIMAL with a fraction that has a family; None for another type."""
    found = _FRACTION.fullmatch(stored)
    return (int(found[1]), int(found[2])) if found is not None and 1 <= int(found[2]) <= _MOST_PLACES else None


def stored_type_family(sql: str, name: str, stored: str) -> str:
    """The stored type of a column as far as a view depends on it: only the family, if the width has no effect. Those
    of a UInt64 are its own: a DECIMAL is summed and averaged in other types than a BIGINT."""
    family, uses_of = ("integer", "unsigned") if stored == UNSIGNED else (type_family(stored),) * 2
    if family is None or uses_of is None:
        return stored
    return family if ignores_width(sql, name, uses_of) else stored


def ignores_width(sql: str, name: str, family: str) -> bool:
    """Whether the width of a column has no effect on a view. Columns are compared by name alone: a column of the same
    name in another source counts as this one."""
    uses = column_uses(sql)
    return uses is not None and _is_free(uses, name, family)


@lru_cache(maxsize=256)
def without_widths(sql: str) -> str:
    """The SQL with whole numbers as bare digits, and others as DECIMALs of one width, where they stand beside values
    whose width has no effect."""
    tree, uses = parse_opaque(sql), column_uses(sql)
    if tree is None or uses is None:
        return sql
    for node in list(tree.find_all(exp.Cast)):
        value = known_value(node) if node.to.this in _WHOLE_TYPES else None
        if isinstance(value, int) and not isinstance(value, bool) and _is_beside_numbers(node, uses, "integer"):
            node.replace(exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value)))
        family = _family_of_constant(node)
        if family is not None and _is_beside_numbers(node, uses, family):
            node.set("to", exp.DataType.build(f"DECIMAL({_MOST_DIGITS}, {_PLACES[family]})"))
    return write_opaque(tree)


@lru_cache(maxsize=256)
def without_output_casts(sql: str) -> str:
    """The SQL without casts to BIGINT of whole columns of the result. To be compared only where the columns of the
    target are the same in both versions: one has the cast where its number is narrower than the column."""
    tree = parse_opaque(sql)
    if not isinstance(tree, exp.Select):
        return sql
    for item in tree.expressions:
        cast = item.this if isinstance(item, exp.Alias) else None
        if isinstance(cast, exp.Cast) and cast.to.this == exp.DType.BIGINT and cast.find(exp.Column) is not None:
            item.set("this", cast.this)
    return write_opaque(tree)


@lru_cache(maxsize=256)
def column_uses(sql: str) -> ColumnUses | None:
    """The uses of each column by its name in folded case; None where the SQL cannot be looked into."""
    tree = parse_opaque(sql)
    if tree is None:
        return None
    found: dict[str, list[exp.Column]] = {}
    for column in tree.find_all(exp.Column):
        found.setdefault(column.name.casefold(), []).append(column)
    return {name: tuple(each) for name, each in found.items()}


def _is_free(uses: ColumnUses, name: str, family: str) -> bool:
    waiting = [name.casefold()]
    for each in waiting:  # grows while it is walked
        for use in uses.get(each, ()):
            onward = _passed_on_name(use, family)
            if onward is None:
                return False
            waiting += [onward] if onward and onward not in waiting else []
    return True


def is_value_use(number: exp.Expr, uses: ColumnUses, family: str) -> bool:
    """Whether all that becomes of what an expression gives depends on its value alone."""
    onward = _passed_on_name(number, family)
    return onward is not None and (not onward or _is_free(uses, onward, family))


def _passed_on_name(number: exp.Expr, family: str) -> str | None:
    """The name under which a number is passed on, '' if it is not; None if its type may matter."""
    node, parent = number, number.parent
    while parent is not None:
        if isinstance(parent, exp.Alias):
            return str(parent.alias).casefold()
        if isinstance(parent, exp.Select):
            return node.name.casefold() if isinstance(node, exp.Column) else None
        use = _rule_for(parent, node, family)
        if use is None:
            return None
        if not use.passes_on:
            return ""
        node, parent = parent, parent.parent
    return None


def _rule_for(parent: exp.Expr, node: exp.Expr, family: str) -> ValueUse | None:
    return next((use for use in USES if family in use.families and _is_use(use, parent, node, family)), None)


def _is_use(use: ValueUse, parent: exp.Expr, node: exp.Expr, family: str) -> bool:
    if node.arg_key not in use.places:
        return False
    if use.casts_to:
        return isinstance(parent, exp.Cast) and parent.to.this in use.casts_to
    if use.calls:
        return call_name(parent) in use.calls and len(parent.expressions) == 1
    return isinstance(parent, use.kinds) and not _meets_text(parent) and _is_chosen_alone(parent, node, family)


def _meets_text(use: exp.Expr) -> bool:
    """Whether a text stands beside the number: it would be read as a number of the same width."""
    return any(isinstance(each, exp.Literal) and each.is_string for each in use.iter_expressions())


def _is_chosen_alone(choice: exp.Expr, chosen: exp.Expr, family: str) -> bool:
    """Whether the other values of a choice, if it is one, are constants of the family, whole numbers or NULL: others
    may give it another type, into which numbers of different widths are cast in different ways."""
    others = (each for each in values_of_choice(choice) if each is not chosen and each.parent is not chosen)
    return all(_is_constant_of(family, each) for each in others)


def _is_constant_of(family: str, value: exp.Expr) -> bool:
    return _is_whole_or_null(value) or _family_of_constant(value) == family


def _family_of_constant(value: exp.Expr) -> str | None:
    """The family of a number that is written as a DECIMAL with a fraction that holds all its digits; None for another
    expression."""
    written = value.this if isinstance(value, exp.Cast) else None
    while isinstance(written, (exp.Paren, exp.Neg)):
        written = written.this
    digits = _DIGITS.fullmatch(written.name) if isinstance(written, exp.Literal) and not written.is_string else None
    to = fraction_of(_type_text(value.to)) if digits is not None and isinstance(value, exp.Cast) else None
    if digits is None or to is None:
        return None
    precision, places = to
    is_held = len(digits[1].lstrip("0")) <= precision - places and len(digits[2] or "") <= places
    return f"decimal{places}" if is_held else None


def _type_text(of: exp.DataType) -> str:
    return str(of.sql(dialect=DIALECT))


def values_of_choice(choice: exp.Expr) -> list[exp.Expr]:
    """The values of which one is chosen; none for what is no choice."""
    match choice:
        case exp.Coalesce():
            values = [choice.this, *choice.expressions]
        case exp.If():
            values = [choice.args.get("true"), choice.args.get("false")]
        case exp.Case():
            values = [*(each.args.get("true") for each in choice.args["ifs"]), choice.args.get("default")]
        case _:
            values = []
    return [each for each in values if isinstance(each, exp.Expr)]


def _is_whole_or_null(value: exp.Expr) -> bool:
    found = known_value(value)
    return found is None or (isinstance(found, int) and not isinstance(found, bool))


def _is_beside_numbers(constant: exp.Expr, uses: ColumnUses, family: str) -> bool:
    """Whether a constant is compared, or stands with one number in a choice of which only the value counts."""
    around = constant.parent
    if isinstance(around, COMPARISONS):
        return family == "integer" and not _meets_text(around)
    if isinstance(around, exp.If) and isinstance(around.parent, exp.Case):
        around = around.parent
    values = values_of_choice(around) if around is not None else []
    others = [each for each in values if not _is_constant_of(family, each)]
    if around is None or not any(each is constant for each in values) or len(others) > 1:
        return False
    return is_value_use(around, uses, family)
