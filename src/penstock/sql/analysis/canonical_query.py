"""The canonical form of a compiled query: queries that differ only in how they are written have one form.

In: compiled Spark SQL, and known values of some columns of the trigger. Out: `CanonicalQuery`. Projections are merged
into the query that reads them, what is known is folded, conjuncts, keys and lists are sorted, and aliases are numbered.
Invariant: over sources whose columns have the known values, it gives the same bag of rows as the query; a form that is
not known stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.constant_folding import fold_constants, known_value, mark_never_null
from penstock.sql.analysis.opaque_calls import (
    call_name,
    computes_row_by_row,
    is_constant,
    is_stored,
    parse_opaque,
    value_over,
    write_opaque,
)
from penstock.sql.analysis.query_facts import MOST_SELECTS
from penstock.sql.spark_text import DIALECT

NEVER_NULL = "NOT NULL"
"""In the place of a value: no row has NULL in the column."""
_PROJECTION = frozenset(["expressions", "from_", "where"])
"""The parts of a SELECT that gives one row for each row it reads and keeps."""
_BLOCK = frozenset(["expressions", "from_", "where", "joins", "laterals", "group", "having"])
"""The parts of a SELECT whose select list can be replaced by a projection of it."""
_LONGEST_QUERY = 250_000
"""Characters."""
_EVEN = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.Add, exp.Mul)
"""Operators whose sides may be exchanged: two numbers have one sum and one product."""
_LONGEST_LIST = 100
"""Longer lists stay lists."""
_NAMED = (exp.Table, exp.Subquery, exp.Lateral, exp.CTE)
"""What is read by a name."""
_READER = _BLOCK | {"order", "limit", "distinct"}
"""The parts of a SELECT into which a projection can be merged."""


@dataclass(frozen=True, slots=True)
class QueryInputs:
    """What is known of the sources of a query."""

    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Spark SQL of the values that columns have in all rows, over other columns of the same source, or `NEVER_NULL`, by
    placeholder and column."""
    inexact: frozenset[str] = frozenset()
    """Names of columns with floating point numbers: equal ones may be written differently (0.0 and -0.0)."""


@dataclass(frozen=True)
class CanonicalQuery:
    """A query in its canonical form. `tree` must not be changed."""

    tree: exp.Select

    @property
    def sql(self) -> str:
        return write_opaque(self.tree)

    @property
    def outputs(self) -> Mapping[str, exp.Expr]:
        """The expressions of the columns of the result, by name, over what the outermost SELECT reads."""
        return {each.alias_or_name: each.unalias() for each in self.tree.expressions}


def canonical_query(sql: str, inputs: QueryInputs) -> CanonicalQuery | None:
    """The canonical form of a query; None where its form is not known, or it is very long."""
    is_short = len(sql) <= _LONGEST_QUERY and sql.count("SELECT") <= MOST_SELECTS
    tree = parse_opaque(sql) if is_short else None
    if tree is not None:
        _tell_fields(tree)
    if not isinstance(tree, exp.Select) or not all(map(_has_name, tree.expressions)) or _has_unknown_form(tree):
        return None
    _name_only_sources(tree)
    for placeholder, values in inputs.known.items():
        _put_known_values(tree, placeholder, values)
    return CanonicalQuery(_sort_parts(_merge_and_fold(tree), inputs))


def _tell_fields(tree: exp.Expr) -> None:
    """Write a field of a struct, `source`.`column`.`field`, as one of a column: sqlglot takes the first name for that
    of a database. A name of several parts that begins with another one stays as it is."""
    named = {each.alias_or_name for each in tree.find_all(*_NAMED)}
    for column in list(tree.find_all(exp.Column)):
        parts = column.parts
        if len(parts) < 3 or parts[0].name not in named:
            continue
        found: exp.Expr = exp.Column(this=parts[1].copy(), table=parts[0].copy())
        for each in parts[2:]:
            found = exp.Dot(this=found, expression=each.copy())
        is_item = isinstance(column.parent, exp.Select)  # it keeps its name
        column.replace(exp.alias_(found, column.name, quoted=True) if is_item else found)


def _has_unknown_form(tree: exp.Select) -> bool:
    """Whether it has a form to which the rules below do not apply: a CTE, a sample, keys of which some are left out of
    some groups, a field of a struct that is written like a column of a table, or an alias in another case."""
    nodes = list(tree.walk())
    named = {each.alias_or_name for each in nodes if isinstance(each, _NAMED)}
    for each in nodes:
        match each:
            case exp.Column() if (each.table and each.table not in named) or each.args.get("db"):
                return True
            case exp.Group() if _given_parts(each) != {"expressions"}:
                return True
            case exp.CTE() | exp.TableSample():
                return True
            case _:
                pass
    return False


def _given_parts(node: exp.Expr) -> frozenset[str]:
    return frozenset(name for name, value in node.args.items() if value)


def _has_name(item: exp.Expr) -> bool:
    return isinstance(item, (exp.Alias, exp.Column)) and not item.is_star


# --------------------------------------------------------------------------------------- what a name stands for


def _aliases(tree: exp.Expr) -> Counter[str]:
    """How often each name of a table, a subquery or a generated table is given."""
    return Counter(each.alias_or_name for each in tree.find_all(*_NAMED) if each.alias_or_name)


def _first_source(select: exp.Select) -> exp.Expr | None:
    """What the FROM of a SELECT reads, if no join adds rows in which it is NULL."""
    clause = select.args.get("from_")
    is_whole = all(each.side not in ("RIGHT", "FULL") for each in select.args.get("joins") or ())
    found = clause.this if clause is not None and is_whole else None
    return found if isinstance(found, exp.Expr) else None


def _columns_of(tree: exp.Expr, alias: str) -> list[exp.Column]:
    return [each for each in tree.find_all(exp.Column) if each.table == alias]


def _reads_star(select: exp.Select) -> bool:
    return any(isinstance(each, exp.Star) or each.is_star for each in select.expressions)


def _has_only(select: exp.Select, parts: frozenset[str]) -> bool:
    return _given_parts(select) <= parts


def _name_only_sources(tree: exp.Select) -> None:
    """Give a subquery without a name, which alone is read, a name, and write it before the columns that are read."""
    for number, select in enumerate(list(tree.find_all(exp.Select))):
        source = _first_source(select)
        # An ORDER BY would take a constant that is put into it for the place of a column.
        is_alone = not any(select.args.get(part) for part in ("joins", "laterals", "order"))
        if not isinstance(source, exp.Subquery) or source.alias or not is_alone or _reads_star(select):
            continue
        bare = [each for each in select.find_all(exp.Column) if not each.table]
        inner = source.this.named_selects if isinstance(source.this, exp.Select) else []
        if any(each.name not in inner or each.find_ancestor(exp.Select) is not select for each in bare):
            continue
        name = f"__only{number}"
        source.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        for column in bare:
            column.set("table", exp.to_identifier(name, quoted=True))
            if column.parent is select:  # a column of the select list keeps its name, whatever is put in its place
                column.replace(exp.alias_(column.copy(), column.name, quoted=True))


# --------------------------------------------------------------------------------------- known values


def _put_known_values(tree: exp.Expr, placeholder: str, values: Mapping[str, str]) -> None:
    """Write the known values of a source in the place of its columns, where the source is read first: there no join
    makes them NULL."""
    counted = _aliases(tree)
    for select in list(tree.find_all(exp.Select)):
        source = _first_source(select)
        if not isinstance(source, exp.Table) or source.name != placeholder or _reads_star(select):
            continue
        alias = source.alias_or_name
        if counted[alias] != 1:
            continue
        for column in _columns_of(select, alias):
            if values.get(column.name) == NEVER_NULL:
                mark_never_null(column)
                continue
            known = value_over(values[column.name], alias) if column.name in values else None
            if known is not None:
                is_item = column.parent is select  # it keeps its name
                column.replace(exp.alias_(known, column.name, quoted=True) if is_item else _operand(known))


# --------------------------------------------------------------------------------------- merging and folding


def _merge_and_fold(tree: exp.Select) -> exp.Select:
    """Fold each SELECT, the innermost first, and merge what only projects into its reader."""
    counted = _aliases(tree)
    for select in reversed(list(tree.find_all(exp.Select, bfs=True))):
        _fold_select(select)
        if _merge_source(select, counted):
            _fold_select(select)
    if _merge_outer(tree):
        _fold_select(tree)
    return tree


def _fold_select(select: exp.Select) -> None:
    for part in ("expressions", "where", "having", "joins", "group"):
        value = select.args.get(part)
        if isinstance(value, list):
            select.set(part, [fold_constants(each) for each in value])
        elif isinstance(value, exp.Expr):
            value = fold_constants(value)
            is_filter = isinstance(value, (exp.Where, exp.Having))
            select.set(part, None if is_filter and known_value(value.this) is True else value)


def _merge_source(select: exp.Select, counted: Counter[str]) -> bool:
    """Merge the subquery that a SELECT reads first into it, or the constants of that subquery. Returns whether it
    changed."""
    source = _first_source(select)
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select) or not source.alias:
        return False
    if (
        counted[source.alias] != 1
        or _reads_star(select)
        or {k for k, v in source.args.items() if v} > {"this", "alias"}
    ):
        return False
    inner = source.this
    if _is_projection(inner) and _has_only(select, _READER):
        return _inline(select, source, inner)
    if not all(map(_has_name, inner.expressions)):
        return False
    values = {each.alias_or_name: each.unalias() for each in inner.expressions if is_constant(each.unalias())}
    for column in _columns_of(select, source.alias):
        if column.name in values:
            column.replace(_operand(values[column.name]))
    _drop_constants(select, source.alias, inner, values)
    return bool(values)


def _is_projection(inner: exp.Select) -> bool:
    return (
        _has_only(inner, _PROJECTION)
        and inner.args.get("from_") is not None
        and all(_has_name(each) and computes_row_by_row(each) for each in inner.expressions)
    )


def _inline(select: exp.Select, source: exp.Subquery, inner: exp.Select) -> bool:
    """Read what the projection `inner` reads, with its expressions in the place of its columns. Returns
    whether that can be."""
    values = {each.alias_or_name: each.unalias() for each in inner.expressions}
    columns = _columns_of(select, source.alias)
    if any(column.name not in values for column in columns) or _names_bare(select, values):
        return False
    for column in columns:
        if column.parent is select:  # a column of the select list keeps its name
            column.replace(exp.alias_(_operand(values[column.name]), column.name, quoted=True))
        else:
            column.replace(_operand(values[column.name]))
    where = inner.args.get("where")
    if where is not None:
        own = select.args.get("where")
        parts = [where.this.copy(), *([own.this] if own is not None else [])]
        select.set("where", exp.Where(this=_conjunction(parts)))
    source.replace(inner.args["from_"].this.copy())
    return True


def _operand(node: exp.Expr) -> exp.Expr:
    """A copy that can stand in an expression."""
    simple = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.Anonymous, exp.Paren)
    return node.copy() if isinstance(node, simple) else exp.Paren(this=node.copy())


def _drop_constants(select: exp.Select, alias: str, inner: exp.Select, values: Mapping[str, exp.Expr]) -> None:
    """Remove the constant columns of a subquery, which nobody reads any more."""
    read = {column.name for column in _columns_of(select, alias)}
    kept = [each for each in inner.expressions if each.alias_or_name in read or each.alias_or_name not in values]
    if kept:
        inner.set("expressions", kept)


def _merge_outer(tree: exp.Select) -> bool:
    """Write the expressions of the outermost SELECT into the one that it reads, if it only projects that.
    Returns whether it does."""
    if tree.args.get("order") and not tree.args.get("limit") and not tree.args.get("offset"):
        tree.set("order", None)  # the order of rows is no part of a bag
    source = _first_source(tree)
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select) or not source.alias:
        return False
    if not _has_only(tree, frozenset(["expressions", "from_"])) or not all(map(_is_plain_item, tree.expressions)):
        return False
    inner = source.this
    if _has_only(inner, _BLOCK | {"order"}):
        inner.set("order", None)
    if not all(map(_has_name, inner.expressions)) or not (_has_only(inner, _BLOCK) or _renames_all(tree, inner)):
        return False
    values = {each.alias_or_name: each.unalias() for each in inner.expressions}
    columns = _columns_of(tree, source.alias)
    if any(column.name not in values for column in columns) or _names_bare(tree, values):
        return False
    for column in [each for each in columns if each.find_ancestor(exp.Subquery) is None]:
        value = _operand(values[column.name])
        column.replace(exp.alias_(value, column.name, quoted=True) if column.parent is tree else value)
    for part, value in inner.args.items():
        if part != "expressions" and value:
            tree.set(part, value)
    return True


def _is_plain_item(item: exp.Expr) -> bool:
    return _has_name(item) and computes_row_by_row(item)


def _renames_all(tree: exp.Select, inner: exp.Select) -> bool:
    """Whether a SELECT shows each column of a DISTINCT once and nothing else."""
    shown = [each.unalias() for each in tree.expressions]
    names = [each.name for each in shown if isinstance(each, exp.Column)]
    is_distinct = _has_only(inner, _BLOCK | {"distinct"}) and not (inner.args.get("distinct") or tree).args.get("on")
    return is_distinct and len(names) == len(shown) and sorted(names) == sorted(inner.named_selects)


def _names_bare(select: exp.Select, values: Mapping[str, exp.Expr]) -> bool:
    """Whether a column of a subquery may be named without its alias."""
    names = {name.casefold() for name in values}
    return any(not column.table and column.name.casefold() in names for column in select.find_all(exp.Column))


# --------------------------------------------------------------------------------------- one order


def _sort_parts(tree: exp.Select, inputs: QueryInputs) -> exp.Select:
    """Put into one order whatever may be in any, and number the names that only the query itself uses."""
    passes: tuple[Callable[[exp.Select], None], ...] = (
        _spell_out_forms,
        _sort_operands,
        lambda each: _sort_keys(each, inputs),
        _sort_inner_columns,
        _number_aliases,
    )
    for run in passes:
        run(tree)
    if len(_aliases(tree)) > 1:  # what has several names was put into an order by those that were written
        _sort_operands(tree)
        _sort_keys(tree, inputs)
    return tree


def _text(node: exp.Expr) -> str:
    return str(node.sql(dialect=DIALECT))


def _bare(node: exp.Expr) -> exp.Expr:
    return _bare(node.this) if isinstance(node, exp.Paren) else node


def _spell_out_forms(tree: exp.Select) -> None:
    """`x IN (a, b)` as `x = a OR x = b`, and `inline(arrays_zip(a))` as `explode(a)`: both give a row for each
    element."""
    for node in list(tree.find_all(exp.In, exp.Inline)):
        if isinstance(node, exp.In):
            _spell_out_list(node)
        elif call_name(node.this) == "arrays_zip" and len(node.this.expressions) == 1:
            node.replace(exp.Explode(this=node.this.expressions[0]))


def _spell_out_list(node: exp.In) -> None:
    if not node.expressions or len(node.expressions) > _LONGEST_LIST or node.args.get("query"):
        return
    if len(node.expressions) == 1:
        _spell_out_single(node)
        return
    parts = [exp.Paren(this=exp.EQ(this=node.this.copy(), expression=each)) for each in node.expressions]
    found: exp.Expr = parts[0]
    for each in parts[1:]:
        found = exp.Or(this=found, expression=each)
    node.replace(exp.Paren(this=found))


def _spell_out_single(node: exp.In) -> None:
    """`x IN (a)` as `x = a`, and `NOT (x IN (a))` as `x <> a`: all are NULL where one side is."""
    around: exp.Expr = node
    while isinstance(around.parent, exp.Paren):
        around = around.parent
    denied = around.parent if isinstance(around.parent, exp.Not) else None
    kind = exp.EQ if denied is None else exp.NEQ
    compared = exp.Paren(this=kind(this=node.this.copy(), expression=node.expressions[0].copy()))
    (denied or around).replace(compared)


def _sort_operands(tree: exp.Select) -> None:
    """Conjuncts, the sides of an equality, a sum or a product, and lists, the innermost first."""
    for node in reversed(list(tree.find_all(exp.Connector, exp.In, exp.GT, exp.GTE, *_EVEN))):
        match node:
            case exp.Connector():
                if not _is_operand_of_its_kind(node):  # a chain of them is put into order once, from its top
                    _replace_by_junction(node, {_text(each): each for each in _operands(node, type(node))})
            case exp.In() if node.expressions and not node.args.get("query"):
                node.set("expressions", sorted({_text(each): each for each in node.expressions}.values(), key=_text))
            case exp.GT():
                node.replace(exp.LT(this=node.expression, expression=node.this))
            case exp.GTE():
                node.replace(exp.LTE(this=node.expression, expression=node.this))
            case exp.Add() | exp.Mul() if not (is_stored(node.this) and is_stored(node.expression)):
                pass  # what is written around a calculation that may overflow has its form
            case exp.EQ() | exp.NEQ() | exp.NullSafeEQ() | exp.Add() | exp.Mul() if _is_behind(node):
                left, right = node.this, node.expression
                node.set("this", right)
                node.set("expression", left)
            case _:
                pass
    for clause in tree.find_all(exp.Where, exp.Having):
        clause.set("this", _bare(clause.this))


def _is_behind(node: exp.Binary) -> bool:
    """Whether the sides are in the other order than their texts."""
    return _text(node.expression) < _text(node.this)


def _is_operand_of_its_kind(node: exp.Expr) -> bool:
    """Whether an AND is an operand of another AND, or an OR of another OR."""
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return type(around) is type(node)


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The operands of nested ANDs, or of nested ORs, without parentheses around them."""
    bare = _bare(node)
    if type(bare) is kind:
        yield from _operands(bare.this, kind)
        yield from _operands(bare.args["expression"], kind)
    else:
        yield bare


def _replace_by_junction(node: exp.Expr, operands: Mapping[str, exp.Expr]) -> None:
    """Put different operands, which are given by their texts, into the order of these."""
    kind = type(node)
    found: exp.Expr | None = None
    for text in sorted(operands):
        each = operands[text].copy()
        wrapped = exp.Paren(this=each) if not isinstance(each, (exp.Column, exp.Boolean)) else each
        found = wrapped if found is None else kind(this=found, expression=wrapped)
    if found is not None:
        node.replace(found)


def _conjunction(parts: list[exp.Expr]) -> exp.Expr:
    wrapped = [exp.Paren(this=each) for each in parts]
    found: exp.Expr = wrapped[0]
    for each in wrapped[1:]:
        found = exp.And(this=found, expression=each)
    return found


def _sort_keys(tree: exp.Select, inputs: QueryInputs) -> None:
    """The keys of each GROUP BY, without those that follow from the others."""
    groups = [each for each in (select.args.get("group") for select in tree.find_all(exp.Select)) if each is not None]
    if not groups:
        return
    counted = _aliases(tree)
    tables = {each.alias_or_name for each in tree.find_all(exp.Table)}
    inexact = frozenset(name.casefold() for name in inputs.inexact)
    exact = _ExactColumns(frozenset(name for name in tables if counted[name] == 1), inexact)
    for group in groups:
        keys = {_text(_bare(each)): _bare(each) for each in group.expressions}
        for text in sorted(keys, key=len, reverse=True):
            others = [key for name, key in keys.items() if name != text]
            if others and _follows(keys[text], others, exact):
                del keys[text]
        group.set("expressions", [keys[text] for text in sorted(keys)])


@dataclass(frozen=True, slots=True)
class _ExactColumns:
    """Where columns are read of which equal values are written alike."""

    tables: frozenset[str]
    """The names of tables. A column of a subquery, or of generated rows, may be made of any column."""
    inexact: frozenset[str]
    """The columns of these of which that is not so."""

    def has(self, column: exp.Column) -> bool:
        return column.table in self.tables and column.name.casefold() not in self.inexact


def _follows(key: exp.Expr, others: list[exp.Expr], columns: _ExactColumns) -> bool:
    """Whether a key has one value for each value of the others: it is a function of them."""
    if not computes_row_by_row(key):
        return False
    if is_constant(key):
        return True
    exact = [each for each in others if not _is_inexact(each, columns)]
    return replace_parts(key, {_text(each): exp.Null() for each in exact}).find(exp.Column) is None


def _is_inexact(node: exp.Expr, columns: _ExactColumns) -> bool:
    """Whether an expression may give numbers that are equal and yet differ."""
    floats = (exp.DType.FLOAT, exp.DType.DOUBLE)
    casts = any(isinstance(each, exp.Cast) and each.to.this in floats for each in node.walk())
    return casts or not all(map(columns.has, node.find_all(exp.Column)))


def replace_parts(node: exp.Expr, parts: Mapping[str, exp.Expr]) -> exp.Expr:
    """A copy with each part whose text is a key of `parts` replaced, the outermost first."""

    def replaced(each: exp.Expr) -> exp.Expr:
        found = parts.get(_text(each)) if not isinstance(each, exp.Identifier) else None
        return found.copy() if found is not None else each

    return node.copy().transform(replaced, copy=False)


def _sort_inner_columns(tree: exp.Select) -> None:
    """The columns of subqueries that are read by name."""
    for source in tree.find_all(exp.Subquery):
        inner, reader = source.this, source.find_ancestor(exp.Select)
        if isinstance(inner, exp.Select) and source.alias and reader is not None and not _reads_star(reader):
            inner.set("expressions", sorted(inner.expressions, key=_text))


def _number_aliases(tree: exp.Select) -> None:
    """Numbers in the place of the names of tables, subqueries and generated rows, and of the columns of the latter two.
    All names change at once, as a name that was written may be one of the numbers of others."""
    counted = _aliases(tree)
    sources = [each for each in tree.find_all(exp.Table, exp.Subquery, exp.Lateral) if _can_be_numbered(each, counted)]
    numbers = {source.alias: f"t{number}" for number, source in enumerate(sources, 1)}
    if {name.casefold() for name in counted if name not in numbers}.intersection(numbers.values()):
        return
    for source in sources:
        match source:
            case exp.Subquery():
                _number_columns(tree, source, source.alias)
            case exp.Lateral():
                _number_generated_columns(tree, source)
            case _:
                pass
    for column in tree.find_all(exp.Column):
        if column.table in numbers:
            column.set("table", exp.to_identifier(numbers[column.table], quoted=True))
    for source in sources:
        source.args["alias"].set("this", exp.to_identifier(numbers[source.alias], quoted=True))


def _can_be_numbered(source: exp.Expr, counted: Counter[str]) -> bool:
    alias = source.args.get("alias")
    if alias is None or not source.alias or counted[source.alias] != 1:
        return False
    return bool(alias.args.get("columns")) == isinstance(source, exp.Lateral)


def _number_generated_columns(tree: exp.Select, source: exp.Lateral) -> None:
    alias, read = source.args["alias"], _columns_of(tree, source.alias)
    new = {each.name: f"c{number}" for number, each in enumerate(alias.columns, 1)}
    if len(new) != len(alias.columns) or any(column.name not in new for column in read):
        return
    for column in read:
        column.set("this", exp.to_identifier(new[column.name], quoted=True))
    alias.set("columns", [exp.to_identifier(each, quoted=True) for each in new.values()])


def _number_columns(tree: exp.Select, source: exp.Subquery, name: str) -> None:
    inner, reader = source.this, source.find_ancestor(exp.Select)
    if not isinstance(inner, exp.Select) or reader is None or _reads_star(reader):
        return
    names = [each.alias_or_name for each in inner.expressions]
    bare = {each.name.casefold() for each in reader.find_all(exp.Column) if not each.table}
    if len(set(names)) != len(names) or bare.intersection(each.casefold() for each in names):
        return
    if not all(isinstance(each, exp.Alias) for each in inner.expressions):
        return
    new = {each: f"c{number}" for number, each in enumerate(names, 1)}
    for column in _columns_of(tree, name):
        if column.name not in new:
            continue
        if isinstance(column.parent, exp.Select):  # a column of a select list keeps its name
            column = column.replace(exp.alias_(column.copy(), column.name, quoted=True)).this
        column.set("this", exp.to_identifier(new[column.name], quoted=True))
    for each in inner.expressions:
        each.set("alias", exp.to_identifier(new[each.alias], quoted=True))
