"""What each column of a SELECT, and its set of rows, is made of, down to the columns of the tables that it reads.

In: the syntax tree of compiled Spark SQL. Out: a `ColumnGraph` and the `QueryColumns` of the outermost SELECT. The tree
is read clause by clause; a column points to the columns that its expression names. Invariant: a dependency is never
left out. Where a name may mean several columns it points to all of them; a form that is not known depends on all that
is in it or may be named in it, and such a source counts with ANY_COLUMN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TypeAlias, Union

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass

ANY_COLUMN = "*"
"""The name in a `SourceColumn` that stands for any column of the source."""


GENERATORS = {"inline_outer", "json_tuple", "variant_explode", "variant_explode_outer"}
_AGGREGATES = {"every", "some", "mean", "std", "histogram_numeric", "count_min_sketch", "try_avg", "try_sum"}
_CLAUSES = {"where", "group", "having", "qualify", "windows", "order", "limit", "offset"}
QUERY_PARTS = {"expressions", "from_", "joins", "laterals", "with_"}
"""The parts of a SELECT that are read one by one; the others are its clauses."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a table, which is named by its placeholder."""

    placeholder: str
    column: str


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the result of a SELECT or UNION: the number of the query and the place of the column in it."""

    block: int
    place: int


ColumnRef: TypeAlias = Union[SourceColumn, OutputColumn]
ColumnRefs: TypeAlias = frozenset[ColumnRef]
NO_COLUMNS: ColumnRefs = frozenset()


@dataclass(frozen=True, slots=True)
class QueryColumns:
    """The columns of a query."""

    names: tuple[str, ...]
    """The names of the columns by place."""
    slots: tuple[OutputColumn, ...]
    """The columns by place."""
    rows: ColumnRefs
    """What decides the set of rows."""
    rest: ColumnRefs | None = None
    """What a column of any other name may depend on; None: there is no other column."""

    @property
    def all(self) -> ColumnRefs:
        return self.rows.union(self.slots, self.rest or ())


@dataclass(frozen=True, slots=True)
class PrunableList:
    """A select list from which columns may be removed."""

    items: tuple[exp.Expr, ...]
    slots: tuple[OutputColumn, ...]
    alone: str
    """The expression that remains if all columns are removed."""


@dataclass(slots=True)
class ColumnGraph:
    """What each column depends on."""

    needs: dict[OutputColumn, ColumnRefs] = field(default_factory=dict)
    """The direct dependencies of each column."""
    lists: list[PrunableList] = field(default_factory=list)
    """The select lists from which columns may be removed."""
    sources: set[str] = field(default_factory=set)
    """The placeholders that are read."""
    blocks: int = 0
    """The number of queries so far."""

    def slots(self, width: int) -> tuple[OutputColumn, ...]:
        """The output columns of one more query."""
        self.blocks += 1
        return tuple(OutputColumn(self.blocks, place) for place in range(width))

    def tie(self, slot: OutputColumn, refs: ColumnRefs) -> None:
        """Makes a column of a UNION and those it is made of depend on each other: they are removed together."""
        self.needs[slot] = refs
        self.needs.update({each: self.needs[each] | {slot} for each in refs if isinstance(each, OutputColumn)})

    def reach(self, refs: Iterable[ColumnRef]) -> ColumnRefs:
        """The columns and everything they depend on, at any depth."""
        found, left = set(refs), list(refs)
        while left:
            each = left.pop()
            new = self.needs[each] - found if isinstance(each, OutputColumn) else NO_COLUMNS
            found |= new
            left += new
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A name in FROM."""

    name: str
    columns: Mapping[str, ColumnRefs] = field(default_factory=dict)
    """Its known columns."""
    source: str | None = None
    """The placeholder of the table that has its other columns."""
    rest: ColumnRefs | None = None
    """What a column not among `columns` depends on, if there is no `source`. If both are None, there are no other
    columns."""

    def column(self, name: str) -> ColumnRefs | None:
        other = self.rest if self.source is None else frozenset({SourceColumn(self.source, name)})
        return self.columns.get(name, other)

    @property
    def all(self) -> ColumnRefs:
        own = NO_COLUMNS if self.source is None else frozenset({SourceColumn(self.source, ANY_COLUMN)})
        return own.union(self.rest or (), *self.columns.values())


@dataclass(frozen=True, slots=True)
class NameScope:
    """The names that an expression can use."""

    relations: tuple[NamedSource, ...] = ()
    outer: NameScope | None = None
    ctes: Mapping[str, QueryColumns] = field(default_factory=dict)
    aliases: Mapping[str, ColumnRefs] = field(default_factory=dict)
    shadowed: bool = True
    """A column of FROM hides an alias of the select list with the same name."""

    @property
    def levels(self) -> tuple[NameScope, ...]:
        return (self, *(self.outer.levels if self.outer is not None else ()))

    @property
    def all(self) -> ColumnRefs:
        relations = (relation.all for level in self.levels for relation in level.relations)
        return NO_COLUMNS.union(*relations, *self.aliases.values())

    def column(self, parts: list[str]) -> ColumnRefs:
        """The column `a.b` or `a` (further parts are fields of a struct); every column, if the name is not known."""
        for level in self.levels if len(parts) > 1 else ():
            named = [each.column(parts[1]) for each in level.relations if each.name == parts[0]]
            if any(each is not None for each in named):
                return NO_COLUMNS.union(*(each or () for each in named))
        name, found, certain = parts[0], list[ColumnRefs](), False
        for level in self.levels:
            known = [each.columns[name] for each in level.relations if name in each.columns]
            found += known or [refs for each in level.relations if (refs := each.column(name)) is not None]
            certain = bool(known)
            if certain:
                break
        if name in self.aliases and not (certain and self.shadowed):
            found.append(self.aliases[name])
        return NO_COLUMNS.union(*found) if found else self.all


def own_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, but not those inside of its SELECTs."""
    left = [node]
    while left:
        each = left.pop()
        yield each
        left += () if isinstance(each, exp.Query) else each.iter_expressions()


def needs_every_column(node: exp.Select) -> bool:
    """Whether no column can be removed: each decides the rows or the place of another, or has no name in the text."""
    group, order = node.args.get("group"), node.args.get("order")
    keys = [*(group.expressions if group else ()), *(each.this for each in (order.expressions if order else ()))]
    return (
        any(value and key not in QUERY_PARTS | _CLAUSES for key, value in node.args.items())
        or any(value for key, value in (group.args if group else {}).items() if key != "expressions")
        or any(isinstance(each, (exp.Literal, exp.Var)) for each in keys)
        or any(end_of_item(each) is None or _makes_rows(each) for each in node.expressions)
        or (not group and len({has_aggregate(each) for each in node.expressions}) > 1)
    )


def end_of_item(item: exp.Expr) -> int | None:
    """The place of the last letter of a column of a select list, which is that of its name; None without a name."""
    name = (
        item.args.get("alias") if isinstance(item, exp.Alias) else item.this if isinstance(item, exp.Column) else None
    )
    return name.meta.get("end") if isinstance(name, exp.Identifier) else None


def _plain_column(item: exp.Expr) -> exp.Column | None:
    """The column that an item of a select list only passes on, as most do; no rule about what is in an item applies."""
    bare = item.this if isinstance(item, exp.Alias) else item
    return bare if isinstance(bare, exp.Column) and not bare.is_star else None


def _makes_rows(item: exp.Expr) -> bool:
    """Whether the column multiplies rows (explode and the like)."""
    return _plain_column(item) is None and any(
        isinstance(each, exp.UDTF) or _function_name(each) in GENERATORS for each in own_nodes(item)
    )


def has_aggregate(item: exp.Expr) -> bool:
    """Whether the column aggregates rows."""
    return _plain_column(item) is None and any(_is_aggregate(each) for each in own_nodes(item))


def _is_aggregate(node: exp.Expr) -> bool:
    name = _function_name(node)
    if not isinstance(node, (exp.AggFunc, exp.Any)) and "_agg" not in name and name not in _AGGREGATES:
        return False
    while isinstance(node.parent, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)):
        node = node.parent
    return not (isinstance(node.parent, exp.Window) and node.parent.this is node)


def _function_name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def read_query(graph: ColumnGraph, node: exp.Expr, outer: NameScope) -> QueryColumns:
    """Reads a SELECT or UNION, with or without parentheses, into the graph."""
    given = {key for key, value in node.args.items() if value}
    if isinstance(node, exp.Subquery) and given <= {"this", "alias"}:
        return read_query(graph, node.this, outer)
    if not isinstance(node, (exp.Select, exp.SetOperation)) or _is_recursive(node):
        return _read_unknown_form(graph, node, outer)
    scope, rows = NameScope(outer=outer, ctes=outer.ctes), NO_COLUMNS
    for cte in node.ctes:
        block = _rename_columns(read_query(graph, cte.this, scope), cte.args["alias"])
        scope, rows = replace(scope, ctes={**scope.ctes, cte.alias: block}), rows | block.rows
    found = (
        _read_select(graph, node, scope) if isinstance(node, exp.Select) else _read_set_operation(graph, node, scope)
    )
    return replace(found, rows=found.rows | rows)


def _is_recursive(node: exp.Query) -> bool:
    clause = node.args.get("with_")
    return clause is not None and bool(clause.args.get("recursive"))


def _read_unknown_form(graph: ColumnGraph, node: exp.Expr, scope: NameScope) -> QueryColumns:
    """A form that is not known depends on all that is in it or may be named in it."""
    found = scope.all if node.find(exp.Column) else NO_COLUMNS
    for table in node.find_all(exp.Table):
        block = scope.ctes.get(table.name)
        found |= block.all if block is not None else frozenset({SourceColumn(table.name, ANY_COLUMN)})
        graph.sources |= set() if block is not None else {table.name}
    return _unknown_columns(found)


def _rename_columns(block: QueryColumns, alias: exp.Expr | None) -> QueryColumns:
    """The columns under the names that an alias gives them."""
    names = tuple(each.name for each in alias.args.get("columns") or ()) if alias is not None else ()
    if not names or len(names) == len(block.slots):
        return replace(block, names=names or block.names)
    return _unknown_columns(block.all)


def _read_set_operation(graph: ColumnGraph, node: exp.SetOperation, scope: NameScope) -> QueryColumns:
    """Columns are combined by place. Only UNION ALL has the same rows with fewer columns."""
    left, right = (read_query(graph, each, scope) for each in (node.this, node.expression))
    known = left.rest is None and right.rest is None and not node.args.get("by_name")
    if not known or len(left.slots) != len(right.slots):
        return _unknown_columns(left.all | right.all)
    slots = graph.slots(len(left.slots))
    for slot, *parts in zip(slots, left.slots, right.slots, strict=True):
        graph.tie(slot, frozenset(parts))
    plain = isinstance(node, exp.Union) and not node.args.get("distinct")
    block = QueryColumns(left.names, slots, left.rows | right.rows | frozenset(() if plain else slots))
    return replace(block, rows=block.rows | _clause_refs(graph, node, scope, block))


def _unknown_columns(refs: ColumnRefs) -> QueryColumns:
    """A query whose columns are not known: it depends on all of `refs`."""
    return QueryColumns((), (), refs, refs)


def _read_select(graph: ColumnGraph, node: exp.Select, scope: NameScope) -> QueryColumns:
    scope, rows = _read_from(graph, node, scope)
    star = any(each.is_star for each in node.expressions)
    columns = _star_columns(node, scope) if star else {}
    if columns is None:
        inner = (_read_unknown_form(graph, each, scope).rows for each in node.expressions)
        return _unknown_columns(rows.union(scope.all, _clause_refs(graph, node, scope, _unknown_columns(rows)), *inner))
    names = tuple(columns) if star else tuple(_item_name(each) for each in node.expressions)
    block = QueryColumns(names, graph.slots(len(names)), rows)
    for slot, refs in zip(block.slots, columns.values(), strict=False):
        graph.tie(slot, refs)
    if not star:
        _read_items(graph, node, scope, block)
    fixed = bool(node.args.get("distinct")) if star else needs_every_column(node)
    if not star and not fixed:
        alone = "count(1)" if has_aggregate(node.expressions[0]) and not node.args.get("group") else "1"
        graph.lists.append(PrunableList(tuple(node.expressions), block.slots, alone))
    kept = frozenset(block.slots if fixed else ())
    return replace(block, rows=rows | kept | _clause_refs(graph, node, scope, block))


def _star_columns(node: exp.Select, scope: NameScope) -> Mapping[str, ColumnRefs] | None:
    """The columns of `SELECT *` from one subquery; None for any other star."""
    only = scope.relations[0] if len(scope.relations) == 1 else NamedSource("", rest=NO_COLUMNS)
    known = only.source is None and only.rest is None and all(len(each) == 1 for each in only.columns.values())
    return only.columns if known and node.expressions == [exp.Star()] else None


def _read_items(graph: ColumnGraph, node: exp.Select, scope: NameScope, block: QueryColumns) -> None:
    """Notes what the columns of a select list depend on: columns of FROM, or others of the list."""
    inner = replace(scope, aliases=_columns_by_name(block))
    windows = NO_COLUMNS.union(*(_expression_refs(graph, each, scope) for each in node.args.get("windows") or ()))
    for slot, item in zip(block.slots, node.expressions, strict=True):
        named = _plain_column(item) is None and any(_names_window(each) for each in own_nodes(item))
        graph.needs[slot] = _expression_refs(graph, item, inner) | (windows if named else NO_COLUMNS)


def _names_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window) and bool(node.args.get("alias"))


def _columns_by_name(block: QueryColumns) -> Mapping[str, ColumnRefs]:
    found: dict[str, ColumnRefs] = {}
    for name, slot in zip(block.names, block.slots, strict=True):
        found[name] = found.get(name, NO_COLUMNS) | {slot}
    return found


def _item_name(item: exp.Expr) -> str:
    """The name of a column; '' if Spark generates it."""
    return item.alias_or_name if isinstance(item, (exp.Alias, exp.Column)) else ""


def _read_from(graph: ColumnGraph, node: exp.Select, scope: NameScope) -> tuple[NameScope, ColumnRefs]:
    """The names of FROM, and what decides its rows."""
    clause, joins = node.args.get("from_"), node.args.get("joins") or []
    rows = NO_COLUMNS
    for each in (*((clause,) if clause is not None else ()), *joins, *(node.args.get("laterals") or ())):
        found = each if isinstance(each, exp.Lateral) else each.this
        relation, own = _read_source(graph, found, scope)
        scope, rows = replace(scope, relations=(*scope.relations, relation)), rows | own
    for join in joins:
        rows |= _join_refs(graph, join, scope)
    return scope, rows


def _join_refs(graph: ColumnGraph, join: exp.Join, scope: NameScope) -> ColumnRefs:
    if str(join.args.get("method") or "").upper() == "NATURAL":
        return scope.all
    on = join.args.get("on")
    found = _expression_refs(graph, on, scope) if on is not None else NO_COLUMNS
    for name in join.args.get("using") or ():
        found = found.union(*(relation.column(name.name) or () for relation in scope.relations))
    return found


def _read_source(graph: ColumnGraph, node: exp.Expr, scope: NameScope) -> tuple[NamedSource, ColumnRefs]:
    """One table, subquery or function of FROM, and what decides its rows."""
    alias, given = node.args.get("alias"), {key for key, value in node.args.items() if value}
    named = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
    block = None
    if isinstance(node, exp.Lateral):
        refs = _expression_refs(graph, node.this, scope)
        return NamedSource(node.alias, dict.fromkeys(named, refs), rest=None if named else refs), refs
    if isinstance(node, exp.Table) and given <= {"this", "alias"}:
        if isinstance(node.this, exp.Func):
            return _read_table_function(graph, node, scope)
        block = scope.ctes.get(node.name)
        if block is None and not named:
            graph.sources.add(node.name)
            return NamedSource(node.alias_or_name, source=node.name), NO_COLUMNS
    elif isinstance(node, exp.Subquery) and given <= {"this", "alias"}:
        block = read_query(graph, node.this, NameScope(outer=scope.outer, ctes=scope.ctes))
    block = _rename_columns(block if block is not None else _read_unknown_form(graph, node, scope), alias)
    return NamedSource(node.alias_or_name, _columns_by_name(block), rest=block.rest), block.rows


def _read_table_function(graph: ColumnGraph, node: exp.Table, scope: NameScope) -> tuple[NamedSource, ColumnRefs]:
    """A function in FROM. That of numbers(n) is `range`, which has one column."""
    refs = _expression_refs(graph, node.this, scope)
    only = {"id": refs} if node.this.name.lower() == "range" else {}
    return NamedSource(node.alias_or_name, only, rest=None if only else refs), refs


def _clause_refs(graph: ColumnGraph, node: exp.Query, scope: NameScope, block: QueryColumns) -> ColumnRefs:
    """What the clauses from WHERE to LIMIT, and those that are not known, depend on."""
    aliases = _columns_by_name(block)
    found = NO_COLUMNS
    for key, value in node.args.items():
        if key in QUERY_PARTS or key in ("this", "expression", "hint"):
            continue
        inner = scope if key == "where" else replace(scope, aliases=aliases, shadowed=key == "group")
        parts = value.expressions if key == "order" and value else value if isinstance(value, list) else [value]
        for part in parts:
            key_only = part.this if isinstance(part, exp.Ordered) else part
            if isinstance(key_only, exp.Column) and not key_only.table and key_only.name in aliases:
                found |= aliases[key_only.name]
            elif isinstance(part, exp.Expr):
                found |= _expression_refs(graph, part, inner)
    return found


def _expression_refs(graph: ColumnGraph, node: exp.Expr, scope: NameScope) -> ColumnRefs:
    """What an expression depends on; on everything of a SELECT inside it."""
    column = _plain_column(node)
    if column is not None:
        return scope.column([part.name for part in column.parts])
    found = set[ColumnRef]()
    for each in own_nodes(node):
        if isinstance(each, exp.Query):
            found |= read_query(graph, each, scope).all
        elif isinstance(each, exp.Column) and not each.is_star:
            found |= scope.column([part.name for part in each.parts])
        elif isinstance(each, exp.Star) and not isinstance(each.parent, exp.Count):
            found |= scope.all
    return frozenset(found)
