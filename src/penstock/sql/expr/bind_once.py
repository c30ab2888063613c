"""Binding: how a formula uses a SQL value several times without writing its text several times.

In: the SQL of a value and a formula over it. Out: SQL. Spark SQL has no `let`, so the value becomes the parameter of a
lambda over an array of one element. Generated parameter names begin with a space: no column can have such a name and
no table alias can begin with one, so they hide nothing that a user can name. (A leading dot does not work: Spark does
not resolve such parameters.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.model.quick_dataclass import dataclass

LONGEST_REPEATED = 160
"""Longer SQL, in characters, is bound: written out, nested formulas would double the text at every level."""
LONGEST_ARGUMENT = 1_000
"""Longer arguments, in characters, are bound where a function repeats them (`bind_repeated`). A lambda is slower than
what Spark compiles, so shorter ones are repeated, unless the function itself binds them."""
GENERATED_PREFIX = " "


_TRIAL_NAME = "` v`"
READS_DOCUMENT = "penstock_json"
"""In SQL that calls a function of Python, which reads a JSON document."""
SUBQUERY = "(SELECT "
NOT_IN_LAMBDAS = (SUBQUERY, READS_DOCUMENT)
"""Spark allows no subquery and no function of ours inside a lambda, so SQL that contains one is written out."""


def bind_if_long(sql: str, formula: Callable[[str], str]) -> str:
    """`formula` over `sql`: `sql` is written out where it is short or used once, and bound once otherwise. The
    result never raises by itself."""
    if len(sql) <= LONGEST_REPEATED or SUBQUERY in sql:
        return formula(sql)
    tried = formula(_TRIAL_NAME)
    if tried.count(_TRIAL_NAME) <= 1 or any(each in tried for each in NOT_IN_LAMBDAS):
        return formula(sql)
    name = fresh_name("v", tried)
    return try_bind_once(sql, name, formula(name))


def bind_repeated(sql: str, values: Sequence[str]) -> str:
    """SQL in which each of these long values that it has several times is bound once. Where a function writes an
    argument twice, calls within calls would double the text at every level."""
    for value in sorted(dict.fromkeys(values), key=len, reverse=True):
        if len(value) <= LONGEST_ARGUMENT or sql.count(value) < 2 or any(each in sql for each in NOT_IN_LAMBDAS):
            continue
        name = fresh_name("a", sql)
        sql = try_bind_once(value, name, sql.replace(value, name))
    return sql


def bind_once(sql: str, name: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`; `sql` is written and evaluated once. Spark's `[0]` counts as an
    expression that may raise (see `analysis.may_raise`)."""
    return f"transform(array({sql}), {name} -> {body})[0]"


def try_bind_once(sql: str, name: str, body: str) -> str:
    """As `bind_once`, but by `try_element_at`, which never raises: a conversion around it can still be probed."""
    return f"try_element_at(transform(array({sql}), {name} -> {body}), 1)"


def fresh_name(letter: str, text: str) -> str:
    """The first name of ` x0`, ` x1` … (for the letter x), in back-ticks, that does not occur in `text`."""
    used = {int(number) for number in re.findall(rf"`{GENERATED_PREFIX}{letter}([0-9]+)`", text)}
    free = next(number for number in range(len(used) + 1) if number not in used)
    return f"`{GENERATED_PREFIX}{letter}{free}`"


def depends_on_lambda(sql: str) -> bool:
    """Whether SQL has a name that `fresh_name` made: the parameter of a lambda."""
    return f"`{GENERATED_PREFIX}" in sql


_TOKEN = re.compile(rf"'(?:[^'\\]|\\.)*'|`[^`]*`|{READS_DOCUMENT}(?:_[a-z]+)?\(|->|[()]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SharedBinding:
    """Several values that a formula uses by name: no value is written inside of the lambda that binds another."""

    name: str
    texts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str], letter: str, around: str = "") -> SharedBinding:
        """A binding of these values under a name that occurs neither in them nor in `around`."""
        return cls(fresh_name(letter, " ".join((around, *texts))), tuple(texts))

    def reference(self, text: str) -> str:
        """The SQL that stands for a value."""
        return self.name if len(self.texts) == 1 else f"{self.name}.`{self.texts.index(text)}`"

    def around(self, formula: str) -> str:
        """The formula, in which the references stand for their values."""
        if len(self.texts) < 2:
            return try_bind_once(self.texts[0], self.name, formula) if self.texts else formula
        fields = ", ".join(f"{text} AS `{place}`" for place, text in enumerate(self.texts))
        return try_bind_once(f"struct({fields})", self.name, formula)


_WITH_LAMBDAS = (
    r"\b(?:transform|filter|exists|forall|aggregate|reduce|zip_with|array_sort|"
    r"map_filter|transform_keys|transform_values|map_zip_with)\("
)
_PARENTHESES = re.compile(rf"'(?:[^'\\]|\\.)*'|`[^`]*`|{_WITH_LAMBDAS}|\(SELECT |[()]", re.DOTALL)


def has_subquery_in_lambda_call(sql: str) -> bool:
    """Whether a function that takes a lambda has a subquery in its arguments, where Spark takes none."""
    inside = [False]
    for token in _PARENTHESES.finditer(sql):
        text = token[0]
        if text == SUBQUERY and inside[-1]:
            return True
        if text == ")":
            inside.pop()
        elif text[-1] in "( ":
            inside.append(inside[-1] or text[0].isalpha())
    return False


def bind_document_reads(sql: str) -> str:
    """SQL with the calls that read documents outside of its lambdas, where Spark runs them."""
    calls = dict.fromkeys(call for call in _document_reads(sql) if not depends_on_lambda(call))
    binding = SharedBinding.of(tuple(calls), "r", sql)
    for call in binding.texts:
        sql = sql.replace(call, binding.reference(call))
    return binding.around(sql)


def _document_reads(sql: str) -> list[str]:
    """The outermost calls inside of lambdas that read documents, the longest first: one may be a part of another."""
    found: list[str] = []
    depth, start, inside = 0, 0, 0
    lambdas: list[int] = []
    for token in _TOKEN.finditer(sql):
        text = token[0]
        if text == "->":
            lambdas.append(depth)
        elif text.endswith("("):
            depth += 1
            if text != "(" and not inside and lambdas:
                start, inside = token.start(), depth
        elif text == ")":
            if depth == inside:
                found.append(sql[start : token.end()])
                inside = 0
            depth -= 1
            lambdas = [each for each in lambdas if each <= depth]
    return sorted(found, key=len, reverse=True)


def is_generated_name(name: str) -> bool:
    """Whether `fresh_name` could have made this name."""
    return name.startswith(GENERATED_PREFIX)
