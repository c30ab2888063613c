"""Table functions in FROM: numbers, zeros, generate_series, values.

In: the call. Out: `GeneratedRows`, of values(…) a query. Invariants: a function that would read files or the network is
refused; a count that is no literal is computed by Spark, once, and fails where ClickHouse fails; a literal that is not
clearly a value of its column's type is refused.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import Location, Problem, did_you_mean
from penstock.model import types as t
from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.parse.schema import parse_schema
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.compiler.environment import Environment
from penstock.sql.conversions.literals import parse_literal
from penstock.sql.functions.function import UINT8, UINT64
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.problems import Refused, refusal
from penstock.sql.syntax.tree import call_name, call_parts

_NUMBERS = {"numbers": "number", "numbers_mt": "number", "zeros": "zero", "zeros_mt": "zero"}
_SERIES = ("generate_series", "generateSeries")
_FILE = "`penstock datasource append NAME --file FILE` loads a file of CSV, NDJSON or Parquet into a data source"
_ONE_SERVER = "this server reads buckets by itself: `s3(…)` in a copy, with the same arguments but the first"
_BUCKET = (
    f"a copy reads files by `s3(…)`, `gcs(…)`, `azureBlobStorage(…)` and `url(…)`; {_FILE}, also one that was fetched"
)
_SERVER = (
    "post its rows (`penstock datasource append`, or POST /v0/events); of other databases a copy reads Postgres and "
    "MySQL, and `url(…)` what a server answers"
)
_TABLES = "name the data sources, with UNION ALL between their SELECTs"
_ELSEWHERE = "load its rows into a data source with `penstock datasource append`, and read that"
UNSUPPORTED_SOURCE = "unsupported-source"
"""The code of the problem of a copy that reads what this version cannot fetch."""
_REMOTE = {
    "urlCluster": "this server reads addresses by itself: `url(…)` in a copy, with the same arguments but the first",
    "s3Cluster": _ONE_SERVER,
    **dict.fromkeys(("icebergCluster", "icebergS3Cluster"), _ONE_SERVER.replace("s3", "iceberg")),
    "azureBlobStorageCluster": _ONE_SERVER.replace("s3", "azureBlobStorage"),
    "hdfs": _BUCKET,
    **dict.fromkeys(("icebergAzure", "icebergHDFS", "deltaLake", "hudi"), _BUCKET),
    **dict.fromkeys(("mongodb", "redis", "sqlite", "jdbc", "odbc"), _SERVER),
    **dict.fromkeys(("remote", "remoteSecure"), _SERVER),
}
"""Functions that read the network or other servers, with the nearest way to their rows."""
_UNSAFE = {
    **_REMOTE,
    **dict.fromkeys(("file", "fileCluster"), _FILE),
    **dict.fromkeys(("cluster", "clusterAllReplicas"), _SERVER),
    **dict.fromkeys(("executable", "input", "dictionary"), _ELSEWHERE),
    "merge": _TABLES,
}
"""These, and functions that read this machine, with the nearest way to their rows."""
_READ_BY_COPIES = ("postgresql", "mysql", "url", "s3", "gcs", "azureBlobStorage", "iceberg", "icebergS3")
_MOST_ROWS = 2**63 - 1
_MOST_WRITTEN_ROWS = 1000
_CONVERSIONS = {f"toInt{bits}": 2 ** (bits - 1) - 1 for bits in (8, 16, 32, 64)} | {
    f"toUInt{bits}": 2**bits - 1 for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True, slots=True)
class GeneratedRows:
    """The SELECT of a table function, with its only column."""

    sql: str
    column: str
    type: t.Int


def rows_of_function(environment: Environment, call: exp.Expr) -> GeneratedRows:
    """The rows of a table function. Raises Refused for an unknown or forbidden function, or wrong arguments."""
    name = call_name(call) or call.name
    _, arguments = call_parts(call)
    if name not in _NUMBERS and name not in _SERIES:
        raise _refused_function(environment, call, name)
    low, high = (2, 3) if name in _SERIES else (1, 1 if name.startswith("zeros") else 3)
    if not low <= len(arguments) <= high:
        message = f"`{name}` takes {low} to {high} arguments, {len(arguments)} are given"
        raise refusal(environment.text, call, "wrong-argument-count", message)
    bounds = _read_bounds(name, [_count_sql(environment, call, each) for each in arguments])
    if bounds.step == "0":
        raise refusal(environment.text, arguments[-1], "invalid-literal", f"the step of `{name}` must not be 0")
    column = "generate_series" if name in _SERIES else _NUMBERS[name]
    if name.startswith("zeros"):
        return GeneratedRows(f"SELECT 0 AS `zero` FROM ({bounds.rows('id')})", "zero", UINT8)
    return GeneratedRows(bounds.rows(column), column, UINT64)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A range of numbers, as Spark SQL."""

    start: str
    """The first number."""
    end: str
    """The number before which the range ends."""
    step: str
    literal: bool
    """All bounds are literals."""

    def rows(self, column: str) -> str:
        """A SELECT of the numbers: of Spark's range for literals, else of an array."""
        if self.literal:
            step = "" if self.step == "1" else f", {self.step}"
            return f"SELECT id AS {quote_identifier(column)} FROM range({self.start}, {self.end}{step})"
        every = f"sequence({self.start}, {self.end} - 1, {self.step})"
        rows = f"if({self.end} > {self.start}, {every}, CAST(array() AS ARRAY<BIGINT>))"
        return f"SELECT explode({rows}) AS {quote_identifier(column)}"


def _read_bounds(name: str, given: list[str]) -> _Bounds:
    literal = all(parse_whole_number(each) is not None for each in given)
    step = given[2] if len(given) > 2 else "1"
    start, last = (given[0], given[1]) if len(given) > 1 else ("0", given[0])
    more = "1" if name in _SERIES else start
    if literal:
        return _Bounds(start, str(int(last) + int(more)), step, literal)
    return _Bounds(f"CAST({start} AS BIGINT)", f"({last} + {more})", f"CAST({step} AS BIGINT)", literal)


def _count_sql(environment: Environment, call: exp.Expr, node: exp.Expr) -> str:
    """An argument as Spark SQL: a literal as it is, else an expression that fails if it is negative."""
    output = environment.compile(environment.without_trigger(), exp.Select(expressions=[node]))
    value = output.columns[0][1]
    number = _literal_count(node)
    if isinstance(value.type, t.Int) and (number is None or number <= _MOST_ROWS // 4):
        if number is not None:
            return str(number)
        wrong = f"raise_error('the counts of {call_name(call)} must not be negative')"
        sql = f"CAST(({output.sql}) AS BIGINT)"
        return f"if({sql} < 0, {wrong}, {sql})"
    message = f"`{call_name(call)}` needs a whole number from 0, this is {value.type}"
    raise refusal(environment.text, node, "wrong-argument-type", message, "assumeNotNull(…) or toUInt64(…) of it")


def _literal_count(node: exp.Expr) -> int | None:
    """The number that a literal is, or a conversion of one as templates write their parameters; None otherwise."""
    inner, most = node, _MOST_ROWS
    if (name := call_name(node)) in _CONVERSIONS and len(node.expressions) == 1:
        (inner,), most = node.expressions, _CONVERSIONS[str(name)]
    is_text = bool(inner.args.get("is_string"))
    if not isinstance(inner, exp.Literal) or (is_text and inner is node):
        return None
    number = parse_whole_number(inner.name)
    return number if number is not None and number <= most else None


def _refused_function(environment: Environment, call: exp.Expr, name: str) -> Exception:
    if environment.external is not None and name in _REMOTE:
        message = f"this copy does not run: `{name}(…)` is not in this version"
        return refusal(environment.text, call, "unsupported-source", message, _REMOTE[name])
    if name in _UNSAFE:
        message = f"the table function `{name}` is not allowed: SQL reads only this project's data"
        return refusal(environment.text, call, "unknown-table", message, _UNSAFE[name])
    known = [*_NUMBERS, *_SERIES, "view", *_READ_BY_COPIES]
    message = f"the table function `{name}` is not supported"
    return refusal(environment.text, call, "unknown-table", message, did_you_mean(name, known))


def query_of_values(environment: Environment, node: exp.Values) -> exp.Query:
    """The rows as a query. Raises Refused."""
    cells = _cells(node)
    if len(cells) < 2 or not (isinstance(cells[0], exp.Literal) and cells[0].args.get("is_string")):
        message = "`values` needs the names and types of its columns first"
        raise refusal(environment.text, node, "unsupported-clause", message, "values('a UInt8, b String', (1, 'x'))")
    columns = _columns(environment, cells[0])
    if len(cells) > _MOST_WRITTEN_ROWS:
        raise refusal(environment.text, node, "too-deep", f"`values` takes {_MOST_WRITTEN_ROWS - 1} rows at most")
    rows = [_select(environment, columns, cell) for cell in cells[1:]]
    query: exp.Query = rows[0]
    for row in rows[1:]:
        query = exp.Union(this=query, expression=row, distinct=False)
    return query


def _cells(node: exp.Values) -> list[exp.Expr]:
    """The arguments of the call: sqlglot reads one that is no tuple as a tuple of it, if none is one."""
    given = node.expressions[0].expressions if len(node.expressions) == 1 else node.expressions
    wrapped = given and all(isinstance(each, exp.Tuple) and len(each.expressions) == 1 for each in given)
    return [each.expressions[0] for each in given] if wrapped else list(given)


def _columns(environment: Environment, node: exp.Expr) -> list[tuple[str, Type]]:
    problems: list[Problem] = []
    found = parse_schema(Text(node.name, Location("structure")), problems)
    plain = not any(each.json_path or each.default or each.codec for each in found)
    if problems or not found or not plain:
        why = problems[0].message if problems else "expected a name and a type for each"
        raise refusal(environment.text, node, "invalid-literal", f"the columns of `values` are wrong: {why}")
    return [(each.name, each.type) for each in found]


def _select(environment: Environment, columns: list[tuple[str, Type]], cell: exp.Expr) -> exp.Select:
    values = list(cell.expressions) if isinstance(cell, exp.Tuple) else [cell.unnest()]
    if len(values) != len(columns):
        message = f"this row of `values` has {len(values)} values, there are {len(columns)} columns"
        raise refusal(environment.text, cell, "wrong-column-count", message)
    shown = []
    for (name, of), value in zip(columns, values, strict=True):
        if not _is_value(value, of):
            raise _refused_value(environment, value, of)
        cast = exp.Cast(this=value.copy(), to=exp.Literal.string(str(of)))
        cast.meta.update(value.meta)
        shown.append(exp.Alias(this=cast, alias=exp.to_identifier(name, quoted=True)))
    return exp.Select(expressions=shown)


def _refused_value(environment: Environment, value: exp.Expr, of: Type) -> Refused:
    message = f"`values` takes no such value of {of} here"
    return refusal(environment.text, value, "invalid-literal", message, "SELECT … UNION ALL SELECT …")


def _is_value(node: exp.Expr, of: Type) -> bool:
    """Whether a literal is a value of a type, without a conversion that may change it."""
    if isinstance(node, exp.Null):
        return t.is_nullable(of)
    bare = t.unwrap_type(of)
    if isinstance(node, exp.Boolean):
        return isinstance(bare, t.Bool)
    sign = -1 if isinstance(node, exp.Neg) else 1
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal):
        return False
    if literal.args.get("is_string"):
        if isinstance(bare, t.Int):
            return sign == 1 and literal.name.isdecimal() and _holds(bare, int(literal.name))
        if isinstance(bare, t.Date) and len(literal.name.strip()) > len("2024-01-31"):
            return False
        return sign == 1 and (isinstance(bare, t.String) or parse_literal(literal.name, bare) is not None)
    if not literal.name.isdecimal():
        return isinstance(bare, t.Float) and bare.bits == 64
    return _holds(bare, sign * int(literal.name))


def _holds(of: Type, number: int) -> bool:
    match of:
        case t.Int():
            return of.low <= number <= of.high
        case t.Float(bits):
            return abs(number) <= (2**53 if bits == 64 else 2**24)
        case t.Decimal(precision, scale):
            return len(str(abs(number))) <= precision - scale
        case _:
            return False
