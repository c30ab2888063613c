"""What a view computes, column by column, where it is one SELECT over tables: most views are in canonical form.

In: views. Out: `ViewParts`: what decides the rows, and what gives each column. Invariant: two views whose rows are
equal, and whose parts for some columns are equal, give the same bag of rows of these columns. Comparing parts takes
time in proportion to the number of columns, where comparing projections of the whole SQL takes its square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from sqlglot import exp

from penstock.model.manifest import BoundColumn, Source, View
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Date, DateTime, unwrap_type
from penstock.plan.equivalence.canonical_view import KnownValues, canonical_form
from penstock.plan.equivalence.final_columns import columns_that_count
from penstock.plan.equivalence.view_equivalence import column_content, source_meaning, source_rows_content
from penstock.sql.analysis.opaque_calls import has_opaque_aggregate, makes_rows
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type

_CLAUSES = ("from_", "joins", "laterals", "where", "group", "having")
"""What decides the rows of a SELECT without DISTINCT, LIMIT and the like."""


@dataclass(frozen=True, slots=True)
class ViewParts:
    """The parts of one view."""

    table: str
    rows: object
    columns: Mapping[str, object]
    """By physical column of the target."""

    def of(self, fields: Sequence[str]) -> object:
        """What some columns and the rows are made of; comparable with that of another view."""
        return self.table, self.rows, tuple((field, self.columns.get(field)) for field in sorted(fields))


def view_parts(view: View, known: KnownValues) -> ViewParts | None:
    """The parts of a view; None where it is not one SELECT over tables whose rows do not depend on its columns."""
    return _cached_parts(view, tuple(sorted((name, tuple(sorted(values.items()))) for name, values in known.items())))


@lru_cache(maxsize=1024)
def _cached_parts(view: View, known: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> ViewParts | None:
    query = canonical_form(view, {name: dict(values) for name, values in known})
    if query is None or not _is_one_block(query.tree):
        return None
    tree = query.tree
    sources = _sources(tree, view)
    if sources is None or not _reads_only(tree, sources):
        return None
    texts = Texts(sources, stored_type)
    rows = tuple(texts.of(each) for name in _CLAUSES for each in _as_list(tree.args.get(name)))
    items = [texts.of(each.unalias()) for each in tree.expressions]
    aggregates = any(map(has_opaque_aggregate, _computed(tree)))
    read = tuple((name, source_rows_content(each), _merged(each)) for name, each in sorted(sources.items()))
    return ViewParts(view.table, (rows, aggregates, read), dict(zip(view.fields, items, strict=False)))


def _as_list(value: object) -> list[exp.Expr]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, exp.Expr)]


def _is_one_block(tree: exp.Select) -> bool:
    given = {name for name, value in tree.args.items() if value}
    queries = list(tree.find_all(exp.Query, exp.Subquery))
    return given <= {"expressions", *_CLAUSES} and queries == [tree] and not any(map(makes_rows, _computed(tree)))


def _computed(tree: exp.Select) -> list[exp.Expr]:
    """The columns of the result but for those that are passed on."""
    return [each for each in tree.expressions if not isinstance(each.unalias(), exp.Column)]


def _sources(tree: exp.Select, view: View) -> Mapping[str, Source] | None:
    """The sources by alias; None where a name stands for two things, or something else is read."""
    placeholders = {source.placeholder: source for source in (view.trigger, *view.others)}
    tables = list(tree.find_all(exp.Table))
    names = [each.alias_or_name for each in (*tables, *tree.find_all(exp.Lateral))]
    found = {each.alias_or_name: placeholders.get(each.name) for each in tables}
    if len(set(names)) != len(names) or None in found.values():
        return None
    return {name: source for name, source in found.items() if source is not None}


def _reads_only(tree: exp.Select, sources: Mapping[str, Source]) -> bool:
    """Whether each column is one of a source, or of rows that are generated of them."""
    names = {*sources, *(each.alias for each in tree.find_all(exp.Lateral))}
    return all(column.table in names for column in tree.find_all(exp.Column))


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of expressions in which columns are what they read."""

    sources: Mapping[str, Source]
    type_of: Callable[[BoundColumn], str]

    def tree(self, node: exp.Expr) -> exp.Expr:
        """The tree of which `of` gives the text."""
        return node.unnest().copy().transform(self._named, copy=False)

    def of(self, node: exp.Expr) -> str:
        """The text, without parentheses around all of it; each column of a source is written by what it shows, and each
        table by its meaning."""
        node = node.unnest()
        if isinstance(node, exp.Column):  # most columns are passed on
            return self._column(node) or str(node.sql(dialect=DIALECT))
        return str(node.copy().transform(self._named, copy=False).sql(dialect=DIALECT, copy=False))

    def _named(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and node.alias_or_name in self.sources:
            return exp.Var(this=f"{source_meaning(self.sources[node.alias_or_name])} {node.alias_or_name}")
        text = self._column(node) if isinstance(node, exp.Column) else None
        return exp.Var(this=text) if text is not None else node

    def _column(self, node: exp.Column) -> str | None:
        """What a column of a source shows; None for another one."""
        source = self.sources.get(node.table)
        bound = source.binding.column(node.name) if source is not None else None
        return f"<{node.table} {column_content(bound, self.type_of)!r}>" if bound is not None else None


@dataclass(frozen=True, slots=True)
class ViewMeaning:
    """The expressions of a view, as they are in its canonical form. They must not be changed."""

    around: object
    """What decides the rows, without the conditions of WHERE and the keys of GROUP BY."""
    conditions: tuple[exp.Expr, ...]
    """Those of WHERE, all of which have to hold."""
    keys: tuple[exp.Expr, ...] | None
    """The keys of GROUP BY; None where nothing is aggregated."""
    columns: Mapping[str, exp.Expr]
    """By physical column of the target."""
    texts: Texts
    """How an expression is written, and its tree."""
    moments: frozenset[str]
    """The columns of sources, as they are written, that are Date or DateTime."""
    filters_groups: bool

    @property
    def rows(self) -> object:
        """What decides the rows, without the keys of GROUP BY."""
        return self.around, tuple(map(self.texts.of, self.conditions))


def view_meaning(view: View, known: KnownValues, type_of: Callable[[BoundColumn], str]) -> ViewMeaning | None:
    """The expressions of a view; None where it is not one SELECT over tables, or aggregates rows without GROUP BY.
    `type_of` tells what counts of a column's type."""
    query = canonical_form(view, known)
    sources = _sources(query.tree, view) if query is not None and _is_one_block(query.tree) else None
    if query is None or sources is None or not _reads_only(query.tree, sources):
        return None
    tree = query.tree
    texts = Texts(sources, type_of)
    group = tree.args.get("group")
    if group is None and any(map(has_opaque_aggregate, _computed(tree))):
        return None
    clauses = (name for name in _CLAUSES if name not in ("group", "where"))
    rows = tuple(texts.of(each) for name in clauses for each in _as_list(tree.args.get(name)))
    read = tuple((name, source_rows_content(each), _merged(each)) for name, each in sorted(sources.items()))
    where = tree.args.get("where")
    return ViewMeaning(
        (view.table, rows, read),
        tuple(_conjuncts(where.this)) if where is not None else (),
        tuple(group.expressions) if group is not None else None,
        dict(zip(view.fields, (each.unalias() for each in tree.expressions), strict=False)),
        texts,
        frozenset(
            texts.of(exp.column(column.name, table=name, quoted=True))
            for name, source in sources.items()
            for column in source.binding.columns
            if unwrap_type(column.type) == Date() or isinstance(unwrap_type(column.type), DateTime)
        ),
        bool(tree.args.get("having")),
    )


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions of which a conjunction is made."""
    inner = node.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.this)
        yield from _conjuncts(inner.expression)
    else:
        yield inner


def stored_type(column: BoundColumn) -> str:
    """The type of a column, where all of it counts."""
    return spark_type(column.type)


def _merged(source: Source) -> object:
    """The columns by which the rows of a source are merged when it is read; those that the view reads are in its
    texts."""
    if source.binding.merge is None:
        return None
    return tuple(sorted(repr(column_content(each, stored_type)) for each in columns_that_count(source, ())))
