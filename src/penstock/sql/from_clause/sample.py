"""SAMPLE k OFFSET m: the rows of a data source whose sampling key lies in a part of the range of its type.

In: a table node with SAMPLE. Out: Spark SQL of the sampled rows. Invariant: the bounds are ClickHouse's (see
`MergeTreeDataSelectExecutor`): whole numbers, rounded down from exact fractions of the range; how the rows are stored
does not matter.
"""

from __future__ import annotations

import re
from fractions import Fraction

from sqlglot import exp

from penstock.errors import InvalidQuery
from penstock.model.datasource import DataSource, Text
from penstock.parse.sql_syntax.engine_keys import is_unsigned
from penstock.sql.compiler.environment import Environment
from penstock.sql.engines.column_expression import compile_expression
from penstock.sql.expr.typed import NEVER, integer
from penstock.sql.query import CompiledExpression
from penstock.sql.syntax.problems import Refused, refusal
from penstock.sql.syntax.tokens import SAMPLE_PARTS

_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,2})?")
_HINT = "SAMPLE 1/10, or a filter such as id % 10 = 0"


def sampled_rows(environment: Environment, node: exp.Table, source: DataSource, placeholder: str) -> str:
    """The sampled rows as a table. Raises Refused."""
    if environment.triggers:
        message = "a materialized node cannot sample the rows that trigger it"
        raise refusal(environment.text, node, "unsupported-view", message, "use a filter")
    key, bits = _sampling_key(environment, node, source)
    for name in key.uses:
        environment.uses.add_column(placeholder, name)
    size, offset = _read_ratios(environment, node)
    if size in (0, 1):
        if offset:
            raise _refusal(environment, node, f"SAMPLE {size} has no OFFSET", _HINT)
        return placeholder  # SAMPLE 0 and SAMPLE 1 both mean all rows
    lower, upper = int(offset * 2**bits), int((offset + size) * 2**bits)
    tests = [f"{key.sql} >= {integer(lower).sql}"] if 0 < lower < 2**bits else []
    tests += [f"{key.sql} < {integer(upper).sql}"] if upper < 2**bits else []
    if lower >= 2**bits:
        tests = [NEVER]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"(SELECT * FROM {placeholder}{where})"


def refuse_sample(environment: Environment, node: exp.Expr, what: str) -> None:
    """Raises Refused for SAMPLE of anything but a data source."""
    if node.args.get("sample"):
        raise _refusal(environment, node, f"SAMPLE of {what} is not supported", "sample the data source itself")


def _sampling_key(environment: Environment, node: exp.Expr, source: DataSource) -> tuple[CompiledExpression, int]:
    """The sampling key of a data source and its number of bits. Raises Refused unless it is an unsigned integer."""
    text, name = source.engine.sampling_key, source.name
    if text is None:
        message = f"SAMPLE is not possible on `{name}`: it has no ENGINE_SAMPLING_KEY"
        raise _refusal(environment, node, message, "a filter such as id % 10 = 0")
    try:
        key = compile_expression(Text(text, environment.text.location), source.columns)
    except InvalidQuery as error:
        message = f"SAMPLE is not possible on `{name}`: its sampling key does not compile"
        raise _refusal(environment, node, message, error.problems[0].message) from error
    if not is_unsigned(key.type):
        message = f"SAMPLE is not possible on `{name}`: its sampling key is {key.type}, not an unsigned integer"
        raise _refusal(environment, node, message, "ENGINE_SAMPLING_KEY cityHash64(…)")
    return key, key.type.bits


def _read_ratios(environment: Environment, node: exp.Table) -> tuple[Fraction, Fraction]:
    """Size and offset of the sample, both fractions from 0 to 1. Raises Refused."""
    given = node.args["sample"].args.get("size")
    texts = [each.name for each in given.expressions] if isinstance(given, exp.Tuple) else []
    if len(texts) != SAMPLE_PARTS or not all(map(_NUMBER.fullmatch, texts)):
        raise _refusal(environment, node, "SAMPLE needs a literal ratio, with or without OFFSET", _HINT)
    numbers = [Fraction(each) for each in texts]
    if not numbers[1] or not numbers[3]:
        raise _refusal(environment, node, "SAMPLE divides by zero", _HINT)
    size, offset = numbers[0] / numbers[1], numbers[2] / numbers[3]
    if size > 1 or offset > 1:
        message = "SAMPLE of a number of rows is not supported: which rows it takes depends on ClickHouse's storage"
        raise _refusal(environment, node, message, _HINT)
    return size, offset


def _refusal(environment: Environment, node: exp.Expr, message: str, hint: str) -> Refused:
    return refusal(environment.text, node, "unsupported-clause", message, hint)
