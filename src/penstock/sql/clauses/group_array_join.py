"""arrayJoin beside aggregates: ClickHouse repeats the rows of the groups, not those that are grouped.

In: the tree of a SELECT. Out: an equal SELECT over a subquery that groups, with the calls of arrayJoin around it.
Invariants: a call in a key of GROUP BY or inside an aggregate stays where it is, since its rows are grouped; a SELECT
that cannot be split is left as it is, and a later pass refuses the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.expr.bind_once import GENERATED_PREFIX
from penstock.sql.syntax.column_names import column_name
from penstock.sql.syntax.tree import call_name, is_aggregate

ARRAY_JOINS = ("arrayJoin", "unnest")
"""The names of the call that repeats a row for each element of an array."""
_OUTER_CLAUSES = ("distinct", "order", "distribute", "limit", "offset")
"""The clauses that see the repeated rows; `distribute` is LIMIT BY."""


def split_group_array_join(tree: exp.Select) -> exp.Select | None:
    """The SELECT as one over a subquery; None if it repeats no rows of groups, or cannot be split."""
    written = (*tree.expressions, *_later_expressions(tree))
    calls = (each for node in (*written, *_scalar_names(tree).values()) for each in node.walk())
    if not any(map(_is_array_join, calls)) or not _is_grouped(tree) or _has_other_clause(tree):
        return None
    split = _Split.of(tree)
    if split is None or not any(map(split.is_late, written)) or split.is_refused():
        return None
    return split.select()


def _is_array_join(node: exp.Expr) -> bool:
    return call_name(node) in ARRAY_JOINS


def _is_grouped(tree: exp.Select) -> bool:
    written = (*tree.expressions, *_scalar_names(tree).values(), *_later_expressions(tree))
    return tree.args.get("group") is not None or any(
        is_aggregate(each) for node in written for each in _own_nodes(node)
    )


def _own_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of SELECTs inside of it."""
    return node.walk(prune=lambda each: isinstance(each, exp.Query))


def _reads_rows(node: exp.Expr) -> bool:
    """Whether an expression has a column, an aggregate or arrayJoin, but for the parameters of a lambda."""
    own = {each.name for each in node.expressions} if isinstance(node, exp.Lambda) else frozenset[str]()
    return any(
        (isinstance(each, exp.Column) and each.name not in own) or is_aggregate(each) or _is_array_join(each)
        for each in _own_nodes(node)
    )


def _scalar_names(tree: exp.Select) -> dict[str, exp.Expr]:
    """The expressions that WITH names."""
    clause = tree.args.get("with_")
    return {each.alias: each.this for each in (clause.expressions if clause else []) if each.args.get("scalar")}


def _later_expressions(tree: exp.Select) -> list[exp.Expr]:
    """HAVING, and the keys of ORDER BY and LIMIT BY."""
    clauses = [tree.args.get(key) for key in ("having", "order", "distribute")]
    return [each for each in clauses if each is not None]


def _has_other_clause(tree: exp.Select) -> bool:
    """Whether there is a clause that would have to be computed beside the groups and beside the repeated rows."""
    group, distinct, order = (tree.args.get(key) for key in ("group", "distinct", "order"))
    return bool(
        tree.args.get("qualify")
        or (group is not None and {key for key, value in group.args.items() if value} != {"expressions"})
        or (distinct is not None and distinct.args.get("on"))
        or (order is not None and order.find(exp.WithFill))
        or any(each.find(exp.Window, exp.Apply, exp.Columns) for each in tree.expressions)
        or any(isinstance(each.unalias(), exp.Star) or isinstance(each.this, exp.Star) for each in tree.expressions)
    )


class _Inseparable(Exception):
    """An expression has no part that the subquery could compute."""


@dataclass(slots=True)
class _Split:
    """A SELECT and the subquery that it becomes."""

    tree: exp.Select
    names: dict[str, exp.Expr]
    """What the names of this SELECT mean: those of its columns, and those of WITH."""
    early: set[str] = field(default_factory=set)
    """The calls of arrayJoin, as text, of which the rows are grouped."""
    inner: dict[str, exp.Expr] = field(default_factory=dict)
    """The columns of the subquery, by name."""
    late_names: dict[str, bool | None] = field(default_factory=dict)
    """The names that are known to mean repeated rows or not; None while that is being found out."""
    cyclic: bool = False
    """Whether a name means itself by way of another one."""
    computed: dict[str, str] = field(default_factory=dict)
    """Their names, by the text of the expression, for those that were not columns of the SELECT."""

    @classmethod
    def of(cls, tree: exp.Select) -> _Split | None:
        aliased = [each for each in tree.expressions if isinstance(each, exp.Alias)]
        names = {each.alias: each.this for each in aliased}
        within = (found for each in tree.expressions for found in each.unalias().find_all(exp.Alias))
        if len(names) < len(aliased) or next(within, None) is not None:
            return None
        split = cls(tree, {**_scalar_names(tree), **names})
        for key in split._keys():
            split.early |= {each.sql() for each in split._meant_nodes(key, set()) if _is_array_join(each)}
        return split

    def _keys(self) -> list[exp.Expr]:
        """The keys of GROUP BY, those by position as the expression that they mean."""
        group = self.tree.args.get("group")
        return [self._at_position(each) for each in group.expressions] if group is not None else []

    def _at_position(self, key: exp.Expr) -> exp.Expr:
        is_number = isinstance(key, exp.Literal) and not key.args.get("is_string")
        place = parse_whole_number(key.name) if is_number else None
        known = place is not None and 1 <= place <= len(self.tree.expressions)
        return self.tree.expressions[place - 1].unalias().copy() if known and place is not None else key

    def _meant_nodes(self, node: exp.Expr, seen: set[str]) -> Iterator[exp.Expr]:
        """The nodes of an expression, and those of the expressions that its names mean."""
        for each in _own_nodes(node):
            yield each
            name = self._name_used(each)
            if name is not None and name not in seen:
                seen.add(name)
                yield from self._meant_nodes(self.names[name], seen)

    def _name_used(self, node: exp.Expr) -> str | None:
        """The name of this SELECT by which a column, or a member of a tuple, is read."""
        used = (node.table or node.name) if isinstance(node, exp.Column) else ""
        return used if used in self.names else None

    def is_late(self, node: exp.Expr, own_name: str = "") -> bool:
        """Whether rows of groups are repeated for the expression. Inside of its own expression, a name means the
        column of that name."""
        if isinstance(node, exp.Alias):
            return self.is_late(node.this, node.alias)
        if isinstance(node, exp.Query) or is_aggregate(node):
            return False
        if _is_array_join(node) and node.sql() not in self.early:
            return True
        name = self._name_used(node)
        if name is not None and name != own_name and self._is_late_name(name):
            return True
        return any(self.is_late(each, own_name) for each in node.iter_expressions())

    def _is_late_name(self, name: str) -> bool:
        known = self.late_names.get(name)
        if name in self.late_names:
            self.cyclic |= known is None
            return bool(known)
        self.late_names[name] = None
        late = self.is_late(self.names[name], name)
        self.late_names[name] = late
        return late

    def is_refused(self) -> bool:
        """Whether repeated rows would be filtered or aggregated by the subquery itself."""
        if self.cyclic:
            return True
        before = [self.tree.args.get(key) for key in ("where", "prewhere", "group")]
        if any(each is not None and self.is_late(each) for each in before):
            return True
        roots = [
            *self.names.items(),
            *(("", each) for each in (*self.tree.expressions, *_later_expressions(self.tree))),
        ]
        return any(self._aggregates_late(node, name or node.alias) for name, node in roots)

    def _aggregates_late(self, node: exp.Expr, own_name: str) -> bool:
        """Whether an aggregate takes a name that means a repeated row. Inside of its own expression, a name means the
        column of that name."""
        columns = (column for call in filter(is_aggregate, _own_nodes(node)) for column in call.find_all(exp.Column))
        return any(self.is_late(column, own_name) for column in columns)

    def select(self) -> exp.Select | None:
        """The SELECT over the subquery; None if an expression cannot be split."""
        try:
            items = [self._item(each) for each in self.tree.expressions]
            outer = exp.Select(expressions=items)
            for key in _OUTER_CLAUSES:
                clause = self.tree.args.get(key)
                if clause is not None:
                    outer.set(key, self._clause(clause))
            having = self.tree.args.get("having")
            if having is not None and self.is_late(having.this):
                outer.set("where", exp.Where(this=self._outer(having.this)))
        except _Inseparable:
            return None
        moved = (*_OUTER_CLAUSES, "having") if "where" in outer.args else _OUTER_CLAUSES
        subquery = exp.Subquery(this=self._subquery(moved))
        outer.set("from_", exp.From(this=subquery))
        outer.set("with_", self._names_for_selects())
        outer.meta.update(self.tree.meta)
        return outer

    def _names_for_selects(self) -> exp.Expr | None:
        """The WITH for the SELECTs inside of expressions: SELECTs and constants."""
        clause = self.tree.args.get("with_")
        if clause is None:
            return None
        copied = clause.copy()
        kept = [each for each in copied.expressions if not each.args.get("scalar") or not _reads_rows(each.this)]
        copied.set("expressions", kept)
        return copied if kept else None

    def _subquery(self, moved: Iterable[str]) -> exp.Select:
        """The SELECT of the groups, without the clauses that were moved out of it."""
        subquery = self.tree.copy()
        for key in moved:
            subquery.set(key, None)
        group = subquery.args.get("group")
        if group is not None:
            group.set("expressions", [each.copy() for each in self._keys()])
        columns = self.inner or {f"{GENERATED_PREFIX}group": exp.Literal.number(1)}
        subquery.set("expressions", [_named(node, name) for name, node in columns.items()])
        return subquery

    def _item(self, item: exp.Expr) -> exp.Expr:
        """A column of the result, under its name."""
        node = item.unalias()
        if isinstance(item, exp.Alias) and not self.is_late(item):
            self.inner[item.alias] = node.copy()
            return _named(_read(item.alias, node), item.alias)
        if isinstance(item, exp.Alias):
            return _named(self._outer(node, item.alias), item.alias)
        return _named(self._outer(node), self._result_name(node))

    def _result_name(self, node: exp.Expr) -> str:
        if any(each.table for each in node.find_all(exp.Column)):
            raise _Inseparable  # its name depends on the tables in FROM
        return column_name(node)

    def _clause(self, clause: exp.Expr) -> exp.Expr:
        """A clause for the repeated rows: keys are split, numbers and words stay."""
        if not isinstance(clause, (exp.Order, exp.Distribute)):
            return clause.copy()
        moved = clause.copy()
        for key in moved.expressions:
            if not isinstance(key.this, exp.Literal):
                key.set("this", self._outer(key.this))
        return moved

    def _outer(self, node: exp.Expr, own_name: str = "") -> exp.Expr:
        """The expression over the columns of the subquery. Raises _Inseparable."""
        if not self.is_late(node, own_name):
            return self._inner_column(node)
        if isinstance(node, (exp.Lambda, exp.Window)):
            raise _Inseparable
        name = self._name_used(node)
        if name is not None and name != own_name:
            is_column = name in {each.alias for each in self.tree.expressions}
            if not is_column and isinstance(node, exp.Column) and node.table:
                raise _Inseparable
            return node.copy() if is_column else self._outer(self.names[name], name)
        moved = node.copy()
        for part, original in zip(list(moved.iter_expressions()), list(node.iter_expressions()), strict=True):
            part.replace(
                self._branch(original, own_name) if isinstance(part, exp.If) else self._outer(original, own_name)
            )
        return moved

    def _branch(self, branch: exp.Expr, own_name: str) -> exp.Expr:
        """A WHEN of a CASE, or a choice by `? :`."""
        moved = branch.copy()
        for key in ("this", "true", "false"):
            part = branch.args.get(key)
            if part is not None:
                moved.set(key, self._outer(part, own_name))
        return moved

    def _inner_column(self, node: exp.Expr) -> exp.Expr:
        """The expression as a column of the subquery, unless it reads nothing; a SELECT stays as it is."""
        if not _reads_rows(node):
            return node.copy()
        if isinstance(node, exp.Lambda):
            raise _Inseparable
        text = node.sql()
        name = self.computed.setdefault(text, f"{GENERATED_PREFIX}group{len(self.computed)}")
        self.inner.setdefault(name, node.copy())
        return _read(name, node)


def _read(name: str, node: exp.Expr) -> exp.Expr:
    """A column of the subquery, at the place of the expression that it is."""
    column = exp.column(exp.to_identifier(name, quoted=True))
    column.meta.update(node.meta)
    return column


def _named(node: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
