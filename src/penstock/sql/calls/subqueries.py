"""Subqueries in expressions: a scalar subquery, `x IN (…)` and EXISTS.

Each function takes the node and gives a `TypedSql`. Invariant: a NULL in the set of IN matches nothing and makes no
result NULL, as in ClickHouse (in standard SQL it would).
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.calls.correlated_subqueries import (
    check_no_array_join,
    correlated_exists,
    correlated_value,
    correlation_of,
)
from penstock.sql.calls.rows_in_query import as_element, check_time_precision, contains_row
from penstock.sql.compiler.constants import known_constant, known_texts
from penstock.sql.compiler.translator import OutputColumns, Translator
from penstock.sql.conversions.literals import adapt_literals
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import NULL, TypedSql, is_null, nullable_if_any, typed_sql
from penstock.sql.operators.comparisons import as_comparable_pair, enum_of_number, tuple_elements
from penstock.sql.operators.decimals_of_literals import decimal_of_literal
from penstock.sql.operators.literals import make_tuple
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.syntax.tokens import BRACKETS, CALL_MARK
from penstock.sql.syntax.tree import call_name, call_parts, is_aggregate

_UINT8 = t.Int(8, signed=False)


def scalar_subquery(tr: Translator, node: exp.Expr) -> TypedSql:
    """`(SELECT …)` as a value: one column, NULL if there is no row; several columns are a tuple. Raises Refused."""
    correlation = correlation_of(tr, _inner_query(tr, node))
    if correlation is not None:
        return correlated_value(tr, node, correlation)
    if tr.scope.joining or (tr.scope.grouped and tr.place != "aggregate"):
        _refuse_in_lambda(tr, node)
    query = _inner_query(tr, node)
    sql, columns = tr.subquery(query)
    value = _single_value(columns[0][1], sql) if len(columns) == 1 else _tuple_subquery(tr, node, query, (sql, columns))
    if tr.locals or tr.trace.values_beside_rows or isinstance(value.bare, (t.Array, t.Map)):
        return _beside_rows(tr, value)
    return value


def _single_value(column: TypedSql, sql: str) -> TypedSql:
    """The one column of a SELECT as a value."""
    if isinstance(column.bare, (t.Array, t.Map)):
        empty = "raise_error('a subquery as a value gave no row')"
        return TypedSql(f"coalesce(({sql}), {empty})", column.type, column.spark)
    if isinstance(column.bare, t.Tuple):
        return TypedSql(f"({sql})", t.Nullable(column.bare), column.spark)
    of = nullable_if_any(column.type, [TypedSql("", t.Nullable(_UINT8), "INT")])
    return TypedSql(f"({sql})", of, column.spark)


def _beside_rows(tr: Translator, value: TypedSql) -> TypedSql:
    """The value of a subquery as a column beside the rows of FROM: Spark takes no subquery in the arguments of its
    array functions, nor in a lambda."""
    if tr.scope.joining:
        return value
    name = tr.trace.spread.setdefault(f"array({value.sql})", f"__spread{len(tr.trace.spread)}")
    column = f"`{name}`.`value`"
    if tr.scope.grouped and tr.place == "select":
        column = f"coalesce(any_value({column}), raise_error('a subquery beside aggregates of no rows'))"
    return TypedSql(column, value.type, value.spark)


def _tuple_subquery(tr: Translator, node: exp.Expr, query: exp.Query, compiled: tuple[str, OutputColumns]) -> TypedSql:
    """Several columns as a tuple. Only a SELECT with exactly one row can: without a row, ClickHouse's type depends on
    the data."""
    sql, columns = compiled
    names = [name for name, _ in columns]
    if not _has_one_row(query) or len(set(names)) != len(names):
        message = f"a subquery as a value needs one column, this has {len(columns)}"
        raise tr.refusal(node, "wrong-column-count", message, "(SELECT tuple(…) FROM …)")
    of = t.Tuple(tuple((name, value.type) for name, value in columns))
    spark = ", ".join(f"{quote_identifier(name)}: {value.spark}" for name, value in columns)
    fields = ", ".join(f"{string_literal(name)}, {quote_identifier(name)}" for name in names)
    return TypedSql(f"(SELECT named_struct({fields}) FROM ({sql}))", of, f"STRUCT<{spark}>")


def _has_one_row(query: exp.Query) -> bool:
    """Whether the SELECT aggregates all rows into one, and has no clause that could drop that row."""
    dropping = ("group", "having", "qualify", "limit", "offset", "distribute")
    if not isinstance(query, exp.Select) or any(query.args.get(each) for each in dropping):
        return False
    nodes = (each for root in query.expressions for each in root.walk(prune=lambda node: isinstance(node, exp.Query)))
    calls = (each for each in nodes if isinstance(each, exp.Anonymous) and not isinstance(each.parent, exp.Window))
    return any(map(is_aggregate, calls))


def _refuse_in_lambda(tr: Translator, node: exp.Expr) -> None:
    if tr.locals:
        message = "a SELECT inside of a lambda is not supported"
        raise tr.refusal(node, "unsupported-syntax", message, "join it instead")


def _inner_query(tr: Translator, node: exp.Expr) -> exp.Query:
    inner = node.this if isinstance(node, exp.Subquery) else node
    if not isinstance(inner, exp.Query):
        raise tr.refusal(node, "unsupported-syntax", "expected a SELECT in these parentheses")
    return inner


def exists_test(tr: Translator, node: exp.Expr) -> TypedSql:
    """EXISTS (SELECT …)."""
    query = _inner_query(tr, node.this)
    correlation = correlation_of(tr, query)
    if correlation is not None:
        return correlated_exists(tr, node, correlation)
    for shown in query.expressions if isinstance(query, exp.Select) else ():
        check_no_array_join(tr, shown)  # ClickHouse counts the rows before it
    sql, _ = tr.subquery(query)
    return TypedSql(f"EXISTS ({sql})", _UINT8, "BOOLEAN")


def membership(tr: Translator, node: exp.Expr) -> TypedSql:
    """`x IN (…)`, where the set is a list, a tuple, an array, a table or a SELECT."""
    value = tr.translate(node.this)
    query = node.args.get("query") or _named_query(tr, node)
    if query is not None:
        return _in_query(tr, node, value, query)
    elements = node.expressions
    given = node.args.get("field")
    computed = _computed_array(tr, given or elements[0]) if given is not None or len(elements) == 1 else None
    if computed is not None and not isinstance(value.bare, t.Array):
        return _in_computed_array(tr, node, value, computed)
    if given is not None:
        elements = _list_elements(tr, given)
    elif len(elements) == 1 and not isinstance(value.bare, (t.Array, t.Tuple)):
        elements = _elements_of_array(tr, elements[0])  # `x IN (['a', 'b'])`, as templates write it
    found = _in_list(tr, node, value, _rows_of_list(value, elements))
    mapped = any(_holds_lambda(tr, each) for each in ([given] if given is not None else node.expressions))
    scalar = len(elements) == 1 and node.expressions == elements
    return replace(found, type=nullable_if_any(found.type, [NULL])) if mapped and not scalar else found


def _computed_array(tr: Translator, node: exp.Expr) -> exp.Expr | None:
    """The expression of a set that is an array of unknown elements, computed without columns; None for another set."""
    inner = node.unnest()
    if isinstance(inner, exp.Column) and not inner.table and inner.name in tr.scope.aliases:
        inner = tr.scope.aliases[inner.name].unalias().unnest()
    listed = call_name(inner) in ("tuple", "array") or known_texts(tr, inner) is not None
    if listed or not isinstance(inner, (exp.Anonymous, exp.Cast, exp.CastToStrType)):
        return None
    reads = len(tr.trace.free)
    found = tr.translate(inner)
    return inner if isinstance(found.bare, t.Array) and len(tr.trace.free) == reads else None


def _in_computed_array(tr: Translator, node: exp.Expr, value: TypedSql, array: exp.Expr) -> TypedSql:
    """`x IN range(3)`: whether the array has the value, after its elements are converted to the type of the value."""
    if is_null(value):
        return NULL
    of = tr.translate(array).bare
    texts = isinstance(of, t.Array) and isinstance(t.unwrap_type(of.of), t.String)
    if texts and not isinstance(value.bare, t.String):
        array = exp.Cast(this=array.copy(), to=exp.Literal.string(f"Array({value.bare})"))
        array.parent = node
    call = exp.Anonymous(this="has" + CALL_MARK, expressions=[array.copy(), node.this.copy()])
    call.parent = node
    found = tr.translate(call)
    wraps = value.nullable or _holds_lambda(tr, array)
    sql = f"if({value.sql} IS NULL, CAST(NULL AS BOOLEAN), {found.sql})" if value.nullable else found.sql
    return TypedSql(sql, nullable_if_any(_UINT8, [NULL]) if wraps else _UINT8, found.spark)


def _holds_lambda(tr: Translator, node: exp.Expr) -> bool:
    """Whether a set is computed with a lambda, which makes the type of IN Nullable in ClickHouse."""
    inner = node.unnest()
    if isinstance(inner, exp.Column) and not inner.table and inner.name in tr.scope.aliases:
        inner = tr.scope.aliases[inner.name]
    return inner.find(exp.Lambda) is not None


def _named_query(tr: Translator, node: exp.Expr) -> exp.Expr | None:
    """`x IN name`, where the name is a table or a CTE, as `x IN (SELECT * FROM name)`; None otherwise."""
    given = node.args.get("field")
    if given is None and len(node.expressions) == 1:
        given = node.expressions[0].unnest()
    if not isinstance(given, exp.Column) or given.table or given.name in (*tr.scope.aliases, *tr.locals):
        return None
    if tr.scope.find(given.name) is not None:
        return None
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Table(this=given.this.copy())))


def membership_call(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """in(x, set) and notIn(x, set) as functions."""
    _, arguments = call_parts(node)
    if len(arguments) != 2:
        raise tr.refusal(node, "wrong-argument-count", f"`{call_name(node)}` takes 2 arguments")
    value, given = arguments
    is_query = isinstance(given.unnest(), exp.Query)
    found = membership(tr, exp.In(this=value, query=given) if is_query else exp.In(this=value, field=given))
    return (
        found if call_name(node) == "in" or is_null(found) else TypedSql(f"(NOT {found.sql})", found.type, found.spark)
    )


def _elements_of_array(tr: Translator, node: exp.Expr) -> list[exp.Expr]:
    """The elements of an array; any other node alone."""
    inner = node.unnest()
    if isinstance(inner, exp.Array) or call_name(inner) == "array":
        return _list_elements(tr, inner)
    texts = known_texts(tr, inner)
    return [node] if texts is None else [exp.Literal.string(each) for each in texts]


def _list_elements(tr: Translator, node: exp.Expr) -> list[exp.Expr]:
    """The elements of the set, of an alias of such a set too. Raises Refused."""
    if isinstance(node, (exp.Tuple, exp.Array)):
        return list(node.expressions)
    if call_name(node) in ("tuple", "array") and isinstance(node, exp.Anonymous):
        return call_parts(node)[1]
    if isinstance(node, exp.Column) and not node.table and node.name in tr.scope.aliases:
        return _list_elements(tr, tr.scope.aliases[node.name].unalias())
    if isinstance(node, exp.Paren) and isinstance(node.this, (exp.Array, exp.Anonymous)):
        return _list_elements(tr, node.this)
    if isinstance(node, exp.Paren):
        return [node.this]
    texts = known_texts(tr, node)
    if texts is not None:
        return [exp.Literal.string(each) for each in texts]
    if isinstance(node, exp.Literal):
        return [node]
    hint = "a list in parentheses, or `IN (SELECT … FROM …)`"
    raise tr.refusal(node, "unsupported-syntax", "expected a list or a SELECT after IN", hint)


def _in_list(tr: Translator, node: exp.Expr, value: TypedSql, elements: list[exp.Expr]) -> TypedSql:
    if is_null(value):
        return NULL
    missing = [each for each in tuple_elements(value) if each.nullable] if _is_row(value) else []
    reads = len(tr.trace.free)
    items = _list_items(tr, value, elements)
    given = [(element, item) for element, item in zip(elements, items, strict=True) if not is_null(item)]
    if len(tr.trace.free) > reads:
        _check_beside_columns(tr, node, value, given)
    for element, item in given:
        check_time_precision(tr, element, item, value)
    pairs = [as_comparable_pair(tr, element, value, item) for element, item in given]
    by_equality = isinstance(value.bare, t.Float) and any("`" in right for _, right in pairs)
    if by_equality:  # NaN equals the NaN of a list of literals, and none of a list with something computed
        pairs = [(left, f"nullif({right}, double('NaN'))") for left, right in pairs]
    if not pairs:
        return TypedSql(f"if({value.sql} IS NULL, NULL, false)", nullable_if_any(_UINT8, [value]), "BOOLEAN")
    lefts = list(dict.fromkeys(left for left, _ in pairs))
    groups = (f"{left} IN ({', '.join(right for other, right in pairs if other == left)})" for left in lefts)
    present = "".join(f" AND {each.sql} IS NOT NULL" for each in missing)  # such a row matches nothing
    sql = f"(({' OR '.join(groups)}){present})" if present else f"({' OR '.join(groups)})"
    if by_equality or any(item.nullable for _, item in given):  # a NULL in the list is no match
        sql = f"if({value.sql} IS NULL, NULL, coalesce({sql}, false))" if value.nullable else f"coalesce({sql}, false)"
    # ClickHouse compares a single computed element by `=`; for other lists that read columns its type is Nullable.
    is_computed = len(elements) == 1 and not isinstance(elements[0], exp.Column) and not _is_row(value)
    reads_columns = len(tr.trace.free) > reads if _is_row(value) else any("`" in right for _, right in pairs)
    has_nulls = not _is_row(value) and any(item.nullable for _, item in given)
    may_be_null = has_nulls or (reads_columns and not is_computed)
    return TypedSql(sql, nullable_if_any(_UINT8, [NULL if may_be_null else value]), "BOOLEAN")


def _list_items(tr: Translator, value: TypedSql, elements: list[exp.Expr]) -> list[TypedSql]:
    """The elements of a list, with the literals as the type of the value. Raises Refused."""
    reads = len(tr.trace.free)
    items = [_list_item(tr, value, element) for element in elements]
    of = value.bare
    for element, item in zip(elements, items, strict=True):
        _check_item(tr, element, item, of)
    if isinstance(of, t.Enum) and len(tr.trace.free) == reads:
        return [_beside_enum(tr, element, item, value) for element, item in zip(elements, items, strict=True)]
    if not isinstance(of, t.Decimal) or (len(items) == 1 and len(tr.trace.free) > reads):
        return items
    if len(tr.trace.free) == reads:
        return [_beside_decimal(tr, element, item, of) for element, item in zip(elements, items, strict=True)]
    _refuse_floats(tr, list(zip(elements, items, strict=True)), of)
    return items


def _check_beside_columns(
    tr: Translator, node: exp.Expr, value: TypedSql, given: list[tuple[exp.Expr, TypedSql]]
) -> None:
    """Raises Refused for a list with columns in which a value has to be converted as ClickHouse does not."""
    if isinstance(value.bare, t.Decimal) and _is_array(node):
        _refuse_floats(tr, given, value.bare)
    sizes = {each.bare for each in (value, *(item for _, item in given)) if isinstance(each.bare, t.FixedString)}
    if len(sizes) > 1:  # ClickHouse keeps some zeros
        message = f"IN of {' and '.join(sorted(map(str, sizes)))} is not supported"
        raise tr.refusal(node, "no-common-type", message, "toString(…), without the zeros at the end")


def _is_array(node: exp.Expr) -> bool:
    """Whether the set of IN is an array, whose elements need a common type."""
    return bool(node.meta.get(BRACKETS)) or isinstance(node.args.get("field"), exp.Array)


def _refuse_floats(tr: Translator, given: list[tuple[exp.Expr, TypedSql]], of: t.Decimal) -> None:
    """Raises Refused for a Float of a list of columns."""
    for element, item in given:
        if isinstance(item.bare, t.Float):
            message = f"{of} IN a list of columns with {item.type} is not supported"
            raise tr.refusal(element, "no-common-type", message, f"cast it to {of}")


def _check_item(tr: Translator, node: exp.Expr, item: TypedSql, of: Type) -> None:
    """Raises Refused for an element of a list that ClickHouse does not convert to the type of the value."""
    computed = "`" in item.sql
    match of, item.bare:
        case (t.Int() | t.Float() | t.Bool(), t.Decimal()) if not computed:
            message, hint = f"IN of {of} and {item.type} is not supported", f"cast it to {of}"
        case (t.Bool(), t.Int(8, signed=False)) if computed and isinstance(node, exp.Column):
            message, hint = f"IN of {of} and {item.type} is not supported", "compare it by ="
        case (t.FixedString(length), _) if isinstance(item.constant, str) and len(item.constant.encode()) > length:
            message, hint = f"'{item.constant}' has more bytes than {of}", "toString(…) IN …"
        case _:
            return
    raise tr.refusal(node, "no-common-type", message, hint)


def _rows_of_list(value: TypedSql, elements: list[exp.Expr]) -> list[exp.Expr]:
    """The elements of a list; those of `(a, b) IN (1, 'x')` are one row."""
    size = len(value.bare.fields) if _is_row(value) and isinstance(value.bare, t.Tuple) else 0
    if not elements or size != len(elements) or not all(isinstance(each, (exp.Literal, exp.Null)) for each in elements):
        return elements
    row = exp.Tuple(expressions=[each.copy() for each in elements])
    row.meta.update(elements[0].meta)
    row.parent = elements[0].parent
    return [row]


def _list_item(tr: Translator, value: TypedSql, element: exp.Expr) -> TypedSql:
    """An element of a list; a row without columns is converted to the types of the value, part by part."""
    lefts = tuple_elements(value) if _is_row(value) and isinstance(element, exp.Tuple) else []
    if len(lefts) != len(element.expressions) or not lefts or element.find(exp.Column) is not None:
        return adapt_literals(tr, element, value, tr.translate(element))[1]
    return make_tuple([_row_part(tr, left, part) for left, part in zip(lefts, element.expressions, strict=True)])


def _row_part(tr: Translator, left: TypedSql, part: exp.Expr) -> TypedSql:
    if isinstance(left.bare, t.Tuple):
        return _list_item(tr, left, part)
    found = adapt_literals(tr, part, left, tr.translate(part))[1]
    _check_item(tr, part, found, left.bare)
    if not isinstance(left.bare, t.Decimal):
        return found
    of = left.bare
    beside = _beside_decimal(tr, part, found, of)
    return typed_sql(f"CAST(NULL AS {value_type(of)})", t.Nullable(of)) if is_null(beside) else beside


def _beside_enum(tr: Translator, node: exp.Expr, item: TypedSql, value: TypedSql) -> TypedSql:
    """A number of a list beside an Enum; NULL for one that is none of its values. Raises Refused for that beside a
    Nullable, as ClickHouse does."""
    found = enum_of_number(item, value)
    if not isinstance(found.bare, t.Int) or found.constant is None:
        return found
    if value.nullable:
        raise tr.refusal(node, "invalid-literal", f"{found.constant} is no value of {value.bare}")
    return NULL


def _beside_decimal(tr: Translator, node: exp.Expr, item: TypedSql, of: t.Decimal) -> TypedSql:
    """An element of a list without columns beside a Decimal; NULL for one that equals nothing. Raises Refused."""
    constant = known_constant(tr, node)
    if isinstance(item.bare, t.Int) and isinstance(constant, int) and abs(constant) >= 10 ** (of.precision - of.scale):
        raise tr.refusal(node, "invalid-literal", f"{constant} does not fit into {of}", f"{of} has no such value")
    if not isinstance(item.bare, (t.Float, t.String)):
        return item
    if constant is None:
        raise tr.refusal(node, "no-common-type", f"{of} IN a computed {item.type} is not supported", f"cast it to {of}")
    return decimal_of_literal(tr, node, constant, of) or NULL


def _in_query(tr: Translator, node: exp.Expr, value: TypedSql, query: exp.Expr) -> TypedSql:
    _refuse_in_lambda(tr, node)
    sql, columns = tr.subquery(_inner_query(tr, query))
    lefts = _compared_values(value)
    if len(columns) != len(lefts) or is_null(value):
        message = f"the SELECT after IN gives {len(columns)} columns, {len(lefts)} are compared"
        raise tr.refusal(query, "wrong-column-count", message, "select one column for each value")
    if len(lefts) > 1:
        return contains_row(tr, node, lefts, (sql, columns))
    name, column = columns[0]
    if isinstance(column.bare, t.Date):
        check_time_precision(tr, node, value, column)
    left, right = as_comparable_pair(
        tr, node, as_element(value, column), TypedSql(f"s.{quote_identifier(name)}", column.type, column.spark)
    )
    rows = f"SELECT {right} AS v FROM ({sql}) AS s" + (
        f" WHERE s.{quote_identifier(name)} IS NOT NULL" if column.nullable else ""
    )
    found = f"({left} IN ({rows}))"
    if value.nullable:  # Where Spark runs IN as a join it is false for a NULL; in ClickHouse it is NULL.
        found = f"if({value.sql} IS NULL, CAST(NULL AS BOOLEAN), {found})"
    return TypedSql(found, nullable_if_any(_UINT8, [value]), "BOOLEAN")


def _compared_values(value: TypedSql) -> list[TypedSql]:
    """The values to compare with the columns of the SELECT: the elements of a tuple, or the value itself."""
    return tuple_elements(value) if _is_row(value) else [value]


def _is_row(value: TypedSql) -> bool:
    """Whether IN compares the elements of a tuple with columns."""
    return isinstance(value.bare, t.Tuple) and len(value.bare.fields) > 1
