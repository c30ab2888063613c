"""Whether a materialized view of the next version does the same as one of the live version, so that its flow continues.

In: views of two manifests. Out: `ViewPairs`: which live views are kept, which views are new, which end. Two views are
the same if their SQL is equal after each name of a data source is replaced by its physical table, and each name of a
column by its physical column; logical names do not matter. Where a column is stored in a wider type (INT to BIGINT) the
view counts as the same only if no use of the column depends on the width (`widened_numbers`). Invariant: equal content
means equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial

from sqlglot.tokens import Token, TokenType

from penstock.model.manifest import KEEPS_NOTHING, Binding, BoundColumn, Source, View
from penstock.model.quick_dataclass import dataclass
from penstock.plan.equivalence.canonical_view import canonical_view
from penstock.plan.equivalence.decimal_numbers import (
    Columns,
    counted_type,
    fraction_columns,
    narrow_columns,
    number_columns,
    without_decimals,
    without_fraction_casts,
)
from penstock.plan.equivalence.final_columns import columns_that_count
from penstock.plan.equivalence.widened_numbers import without_output_casts, without_widths
from penstock.plan.tables.running_datasource import without_materialized_range
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import quote_identifier, replace_columns
from penstock.sql.stored_types import spark_type

TRIGGER_ROLE = "__new_"


@dataclass(frozen=True, slots=True)
class ViewPairs:
    """The views into one existing table, the live and the new ones."""

    kept: tuple[tuple[View, View], ...] = ()
    """Views of the next version, each with the live view that it equals."""
    new: tuple[View, ...] = ()
    """New views that equal no live view."""
    ended: tuple[View, ...] = ()
    """Live views that no new view equals."""

    @property
    def unchanged(self) -> bool:
        return not self.new and not self.ended

    @property
    def shared(self) -> tuple[View, ...]:
        """The views whose live flow continues: with its id they keep its progress. Each reads through the binding of
        the next version, which may show other rows than the live one."""
        return tuple(replace(view, id=live.id, starts=live.starts) for view, live in self.kept)

    @property
    def replaced(self) -> tuple[tuple[View, View | None], ...]:
        """Each new view with the live view that it replaces, if any."""
        live = {view.pipe: view for view in self.ended}  # a pipe has one view, whatever its node is called
        return tuple((view, live.get(view.pipe)) for view in self.new)

    @property
    def pairs(self) -> tuple[tuple[View, View | None], ...]:
        """Every view of the next version with the live view that it equals or replaces, if any."""
        return (*self.kept, *self.replaced)

    @property
    def removed(self) -> tuple[View, ...]:
        """Live views that nothing replaces."""
        names = {view.pipe for view in self.new}
        return tuple(view for view in self.ended if view.pipe not in names)


def pair_views(live: Sequence[tuple[View, object]], after: Sequence[tuple[View, object]]) -> ViewPairs:
    """Pairs views of equal content, each view once. Each view is given with its content."""
    waiting = [view for view, _ in live]
    known = [content for _, content in live]
    kept, new = [], []
    for view, mine in after:
        if mine in known:
            at = known.index(mine)
            kept.append((view, waiting.pop(at)))
            known.pop(at)
        else:
            new.append(view)
    return ViewPairs(tuple(kept), tuple(new), tuple(waiting))


def content_function(live: Sequence[View], after: Sequence[View]) -> Callable[[View], object]:
    """The function by which views are compared: `view_content`, or one that compares by value if a column is stored in
    different types in the two versions."""
    stored: dict[tuple[str, str], str] = {}
    for view in (*live, *after):
        for source in (view.trigger, *view.others):
            for each in source.binding.columns:
                known = stored.setdefault((source.binding.table, each.physical), spark_type(each.type))
                if known != spark_type(each.type):
                    return partial(_view_content_by_value, narrow_columns(live))
    return view_content


def view_content(view: View) -> tuple[object, ...]:
    """What a view does, without logical names and without its start position. Which rows its sources accept is not part
    of it: landing versions decide that. Whether a joined source shows its rows is: one of engine Null shows none. Of a
    column's type only the Spark type counts, as the SQL is compiled."""
    return _content_of(view, lambda each: spark_type(each.type))


def _view_content_by_value(narrow: Columns, view: View) -> tuple[object, ...]:
    """Like `view_content`, but only those properties of a column's type count on which the SQL depends."""
    alike = by_value(view, narrow)
    alike = canonical_view(replace(alike, sql=without_output_casts(alike.sql)))  # without casts, in order again
    return _content_of(alike, lambda each: counted_type(alike.sql, each))


def by_value(view: View, narrow: Columns) -> View:
    """The view in a form in which the widths of whole numbers are left out where they do not count. In `narrow` columns
    all numbers have 32 bits at most."""
    sql = without_decimals(view.sql, number_columns(view, narrow))
    return replace(view, sql=without_widths(without_fraction_casts(sql, fraction_columns(view))))


def _content_of(view: View, type_of: Callable[[BoundColumn], str]) -> tuple[object, ...]:
    reads = frozenset(_source_content(view, source, type_of) for source in (view.trigger, *view.others))
    return view.table, view.fields, physical_sql(view), reads


def _source_content(view: View, source: Source, type_of: Callable[[BoundColumn], str]) -> tuple[object, ...]:
    columns = frozenset(column_content(each, type_of) for each in _columns_that_count(view, source))
    return columns, *source_rows_content(source)


def _columns_that_count(view: View, source: Source) -> tuple[BoundColumn, ...]:
    """The columns of a source on which the view depends."""
    if source.binding.merge is None:
        return source.binding.columns
    facts = query_facts(view.sql)
    if source.placeholder in facts.lineage.whole:
        return source.binding.columns
    return columns_that_count(source, facts.columns_read.get(source.placeholder, frozenset()))


def source_rows_content(source: Source) -> tuple[object, ...]:
    """Which rows of a source a view reads."""
    role = source_role(source)
    is_hidden = role != TRIGGER_ROLE and source.binding.keeps == KEEPS_NOTHING  # of its trigger, a view gets every row
    return role, source.binding.table, _merge_content(source.binding), is_hidden


def column_content(column: BoundColumn, type_of: Callable[[BoundColumn], str]) -> tuple[object, ...]:
    """Which values a column shows."""
    return type_of(column), column.physical, without_materialized_range(column.before)


def _merge_content(binding: Binding) -> tuple[object, ...]:
    """The merge rule over physical columns: a key or a version that has got the name of another column is another
    rule, and a renamed one the same."""
    if binding.merge is None:
        return ()
    physical = {column.name: column.physical for column in binding.columns}
    quoted = {name: quote_identifier(stored) for name, stored in physical.items()}

    def stored(value: object) -> object:
        """A column's name, the SQL of a key, several of them, or a flag."""
        if isinstance(value, tuple):
            return tuple(map(stored, value))
        if not isinstance(value, str):
            return value
        return physical[value] if value in physical else replace_columns(value, quoted)

    parts = ((each.name, stored(getattr(binding.merge, each.name))) for each in fields(binding.merge))
    return type(binding.merge).__name__, *parts


def physical_sql(view: View) -> tuple[str, ...]:
    """The tokens of a view's SQL, with physical names in the place of logical ones."""
    facts = query_facts(view.sql)
    tokens = facts.tokens
    sources = {source.placeholder: source for source in (view.trigger, *view.others)}
    targets = dict(zip(facts.output_names, view.fields, strict=False))
    text = _PhysicalText(tokens, sources, _sources_by_alias(tokens, sources), targets)
    return tuple(text.word(at) for at in range(len(tokens)))


def _sources_by_alias(tokens: Sequence[Token], sources: Mapping[str, Source]) -> Mapping[str, tuple[Source, ...]]:
    """The sources that each alias stands for; more than one where subqueries use the same alias. A source is named
    twice where an alias stands for it more often."""
    found: dict[str, tuple[Source, ...]] = {}
    for at, token in enumerate(tokens):
        if token.text in sources:
            following = [each.text for each in tokens[at + 1 : at + 3] if each.token_type == TokenType.IDENTIFIER]
            for name in following[:1]:
                known, source = found.get(name, ()), sources[token.text]
                found[name] = known if known.count(source) > 1 else (*known, source)
    return found


def source_meaning(source: Source) -> str:
    return f"{source_role(source)} {source.binding.table}"


def source_role(source: Source) -> str:
    """TRIGGER_ROLE for the trigger, `__all_` for a table that is read as it is."""
    return source.placeholder.removesuffix(f"{source.binding.name}__")


@dataclass(frozen=True, slots=True)
class _PhysicalText:
    """The tokens of a view's SQL, with their translation to physical names."""

    tokens: Sequence[Token]
    sources: Mapping[str, Source]
    aliases: Mapping[str, tuple[Source, ...]]
    targets: Mapping[str, str]

    def word(self, at: int) -> str:
        token = self.tokens[at]
        if token.text in self.sources:
            return source_meaning(self.sources[token.text])
        if token.token_type == TokenType.STRING:
            return repr(token.text)
        return self._name(at) if token.token_type == TokenType.IDENTIFIER else token.text

    def _name(self, at: int) -> str:
        text, owner = self.tokens[at].text, self._owner(at)
        if owner is not None:
            return self._column(text, owner)
        if self._is(at - 1, TokenType.DOT) and self._is(at - 3, TokenType.DOT):
            return text  # a field of a struct
        if text in self.aliases and (self._is(at + 1, TokenType.DOT) or self._names_source(at)):
            return self._alias(text)
        return f"target {self.targets[text]}" if text in self.targets else text

    def _owner(self, at: int) -> str | None:
        """The name before the dot before a name, if that is not itself a field of something."""
        if not self._is(at - 1, TokenType.DOT) or not self._is(at - 2, TokenType.IDENTIFIER):
            return None
        return None if self._is(at - 3, TokenType.DOT) else self.tokens[at - 2].text

    def _column(self, name: str, owner: str) -> str:
        """A column of a source by its physical name; one of a subquery as it is called there."""
        columns = [source.binding.column(name) for source in self.aliases.get(owner, ())]
        physical = {column.physical for column in columns if column is not None}
        if len(physical) == 1 and None not in columns:
            return f"column {physical.pop()}"
        return f"target {self.targets[name]}" if owner not in self.aliases and name in self.targets else name

    def _alias(self, name: str) -> str:
        """The name of a source replaced by what it reads, unless the name is ambiguous."""
        sources = self.aliases[name]
        alone = len(sources) == 1 and sum(sources[0] in each for each in self.aliases.values()) == 1
        return f"source {source_meaning(sources[0])}" if alone else name

    def _names_source(self, at: int) -> bool:
        return any(self._is_placeholder(before) for before in (at - 1, at - 2))

    def _is_placeholder(self, at: int) -> bool:
        return at >= 0 and self.tokens[at].text in self.sources

    def _is(self, at: int, kind: TokenType) -> bool:
        return 0 <= at < len(self.tokens) and self.tokens[at].token_type == kind
