"""The OVER clause of a window function: partition, order and frame, with those of the named windows it refers to.

`read_over_clause` takes a Window node and gives an `OverClause`. Invariant: a frame passes only if ClickHouse accepts
it and Spark gives it the same meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.constants import known_integer
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.typed import TypedSql
from penstock.sql.operators.sort_keys import check_orderable, order_keys

UNBOUNDED = 2**40
"""Stands for UNBOUNDED: larger than any offset may be."""
_LARGEST_OFFSET = 2**31 - 1
_UNSIGNED = {t.Date: 16, t.DateTime: 32, t.Bool: 8}


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """A frame. Bounds are counted from the current row: 1 PRECEDING is -1."""

    kind: str
    start: int
    end: int

    @property
    def sql(self) -> str:
        """The frame clause in Spark SQL."""
        return f"{self.kind} BETWEEN {_bound_sql(self.start)} AND {_bound_sql(self.end)}"

    @property
    def offsets(self) -> list[int]:
        """The bounds that are numbers: of rows, or of units of the sort key."""
        return [abs(bound) for bound in (self.start, self.end) if bound not in (0, UNBOUNDED, -UNBOUNDED)]


@dataclass(frozen=True, slots=True)
class OverClause:
    """An OVER clause in Spark SQL."""

    frame: WindowFrame | None
    """None if none is written."""
    ordered: bool
    """It has an ORDER BY."""
    parts: tuple[str, ...]
    """The texts of PARTITION BY and ORDER BY."""

    @property
    def sql(self) -> str:
        """The clause in Spark SQL. Without ORDER BY all rows are peers, so a RANGE frame is the whole partition."""
        whole_partition = self.frame is None or (self.frame.kind == "RANGE" and not self.ordered)
        shown = self.parts if whole_partition or self.frame is None else (*self.parts, self.frame.sql)
        return f" OVER ({' '.join(shown)})"

    @property
    def without_frame(self) -> str:
        """The clause for functions that take no frame. Without ORDER BY the rows are in the order in which they come:
        that of a subquery in FROM, if that has one."""
        order = () if self.ordered else ("ORDER BY monotonically_increasing_id()",)
        return f" OVER ({' '.join((*self.parts, *order))})"


@dataclass(frozen=True, slots=True)
class _WindowParts:
    """The nodes of a window, with those that it inherits from a named window."""

    partition: list[exp.Expr]
    order: exp.Expr | None
    spec: exp.Expr | None


def read_over_clause(tr: Translator, node: exp.Expr) -> OverClause:
    """The OVER clause of a Window node. Raises Refused."""
    window = _resolve_window(tr, node, ())
    frame = _read_frame(tr, node, window.spec)
    parts = []
    keys = tr.translate_all(window.partition)
    for key, each in zip(keys, window.partition, strict=True):
        check_orderable(tr, each, key)
    if keys:
        parts.append(f"PARTITION BY {', '.join(key.sql for key in keys)}")
    if window.order is not None:
        parts.append(f"ORDER BY {', '.join(_order_by_keys(tr, node, window.order, frame))}")
    elif frame is not None and frame.kind == "RANGE" and frame.offsets:
        raise _refused_range(tr, node)
    return OverClause(frame, window.order is not None, tuple(parts))


def _resolve_window(tr: Translator, node: exp.Expr, inside: tuple[str, ...]) -> _WindowParts:
    """OVER name, OVER (name …), and name AS (other …) in WINDOW. Only OVER with nothing but a name inherits the
    frame."""
    alias = node.args.get("alias")
    own = _WindowParts(list(node.args.get("partition_by") or []), node.args.get("order"), node.args.get("spec"))
    if alias is None:
        return own
    known: Mapping[str, exp.Window] = tr.scope.windows
    if alias.name not in known or alias.name in inside:
        raise tr.refusal(alias, "unknown-window", f"unknown window `{alias.name}`", did_you_mean(alias.name, known))
    parent = _resolve_window(tr, known[alias.name], (*inside, alias.name))
    if not own.partition and own.order is None and own.spec is None:
        return parent
    if own.partition or (own.order is not None and parent.order is not None) or parent.spec is not None:
        message = f"a window based on `{alias.name}` may only add an ORDER BY or a frame if `{alias.name}` has none"
        raise tr.refusal(node, "unsupported-frame", message)
    return _WindowParts(parent.partition, own.order or parent.order, own.spec)


def _order_by_keys(tr: Translator, node: exp.Expr, order: exp.Expr, frame: WindowFrame | None) -> list[str]:
    if frame is None or frame.kind == "ROWS" or not frame.offsets:
        return order_keys(tr, order.expressions)
    if len(order.expressions) != 1:
        raise _refused_range(tr, node)
    key = order.expressions[0]
    nulls = "FIRST" if key.args.get("nulls_first") else "LAST"
    return [f"{_range_key(tr, key, frame)} {'DESC' if key.args.get('desc') else 'ASC'} NULLS {nulls}"]


def _range_key(tr: Translator, key: exp.Expr, frame: WindowFrame) -> str:
    """The sort key of RANGE with a number: a type that Spark can add a number to. Where NULL is the greatest value,
    ClickHouse's frames of the largest values reach into the NULLs, and those of NULL begin before them."""
    value = tr.translate(key.this)
    of = value.bare
    if not isinstance(of, (t.Int, t.Float, t.Date, t.DateTime, t.Bool)):
        message = f"RANGE with a number needs a number, Date or DateTime, this is {value.type}"
        raise tr.refusal(key, "unsupported-frame", message, "cast the key")
    descending, nulls_first = bool(key.args.get("desc")), bool(key.args.get("nulls_first"))
    if value.nullable and (descending == nulls_first or isinstance(of, (t.Float, t.Bool))):
        message = f"RANGE with a number is not supported over a {value.type} in this order"
        hint = "NULL as the least value: DESC, or ASC NULLS FIRST; of an integer or a time, or assumeNotNull(…)"
        raise tr.refusal(key, "unsupported-frame", message, hint)
    if isinstance(of, t.Float) and (descending or nulls_first):
        raise tr.refusal(key, "unsupported-frame", "RANGE with a number over a Float needs the order ASC NULLS LAST")
    largest = of.high if isinstance(of, t.Int) else 2 ** _UNSIGNED.get(type(of), 31) - 1
    if any(offset > largest for offset in frame.offsets):
        raise tr.refusal(key, "unsupported-frame", f"the frame's number is out of the range of {of}")
    return _numeric_key(value)


def _numeric_key(value: TypedSql) -> str:
    of = value.bare
    if isinstance(of, t.DateTime):
        return f"unix_seconds({value.sql})"
    if value.spark == "BOOLEAN":
        return f"CAST({value.sql} AS INT)"
    if of == t.Int(32, signed=True):
        return f"CAST({value.sql} AS BIGINT)"
    return f"CAST({value.sql} AS DECIMAL(21,0))" if value.spark.startswith("DECIMAL") else value.sql


def _refused_range(tr: Translator, node: exp.Expr) -> Exception:
    return tr.refusal(node, "unsupported-frame", "RANGE with a number needs exactly one ORDER BY key")


def _read_frame(tr: Translator, node: exp.Expr, spec: exp.Expr | None) -> WindowFrame | None:
    if spec is None:
        return None
    kind = str(spec.args.get("kind", "")).upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        raise tr.refusal(node, "unsupported-syntax", "only frames in ROWS or RANGE are supported")
    start = _read_bound(tr, spec.args.get("start"), spec.args.get("start_side"))
    given = spec.args.get("end")
    end = _read_bound(tr, given, spec.args.get("end_side")) if given else 0
    backwards = start > end or start == UNBOUNDED or end == -UNBOUNDED
    if backwards or (start == 0 and spec.args.get("end_side") == "PRECEDING"):
        raise tr.refusal(node, "unsupported-frame", "the frame starts after its end")
    return WindowFrame(kind, start, end)


def _read_bound(tr: Translator, bound: object, side: object) -> int:
    sign = -1 if str(side or "").upper() == "PRECEDING" else 1
    if not isinstance(bound, exp.Expr):
        return 0 if str(bound).upper() == "CURRENT ROW" else sign * UNBOUNDED
    number = known_integer(tr, bound)
    if number is None or not 0 <= number <= _LARGEST_OFFSET:
        raise tr.refusal(bound, "unsupported-frame", "a frame's bound must be a literal whole number from 0 on")
    return sign * number


def _bound_sql(bound: int) -> str:
    if bound == 0:
        return "CURRENT ROW"
    number = "UNBOUNDED" if abs(bound) == UNBOUNDED else str(abs(bound))
    return f"{number} {'PRECEDING' if bound < 0 else 'FOLLOWING'}"
