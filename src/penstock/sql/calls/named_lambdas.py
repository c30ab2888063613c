"""Lambdas that WITH names: `WITH x -> x + 1 AS f SELECT f(2), arrayMap(f, a)`.

In: a call. Out: the call with the lambda in place of its name, or the body with the arguments in place of the
parameters. Invariant: a name in the result means what it means where it was written; where it could not, the call is
refused.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.compiler.translator import Translator
from penstock.sql.syntax.tree import call_name, call_parts, is_aggregate


def with_named_lambda(tr: Translator, node: exp.Anonymous) -> exp.Anonymous:
    """The call with the lambda that its first argument names. Raises Refused."""
    _, arguments = call_parts(node)
    function = _lambda_named(tr, arguments[0].name) if arguments and _is_bare_name(arguments[0]) else None
    if function is None or arguments[0].name in tr.locals:
        return node
    _check_names(tr, node, function, set())
    call = exp.Anonymous(this=node.this, expressions=[function.copy(), *(each.copy() for each in node.expressions[1:])])
    call.meta.update(node.meta)
    call.parent = node.parent
    return call


def expand_named_lambda(tr: Translator, node: exp.Anonymous) -> exp.Expr | None:
    """The body of the lambda that is called, over the arguments; None if no lambda has the name of the call. Raises
    Refused."""
    name = call_name(node) or ""
    function = _lambda_named(tr, name)
    if function is None:
        return None
    parameters, arguments = call_parts(node)
    names = [each.name for each in function.expressions]
    if parameters or len(names) != len(arguments):
        message = f"the lambda `{name}` takes {len(names)} arguments, {len(arguments)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    _check_names(tr, node, function, {each.name for given in arguments for each in given.find_all(exp.Identifier)})
    _check_arguments(tr, node, arguments)
    given = dict(zip(names, arguments, strict=True))
    whole = exp.Paren(this=function.this.copy())
    whole.parent = node.parent
    for each in [each for each in whole.find_all(exp.Identifier) if each.name in given and _is_parameter(each)]:
        place = each.parent if isinstance(each.parent, exp.Column) else each
        place.replace(exp.Paren(this=given[each.name].copy()))
    body: exp.Expr = whole.this
    return body


def _lambda_named(tr: Translator, name: str) -> exp.Lambda | None:
    found = tr.scope.aliases.get(name)
    return found if isinstance(found, exp.Lambda) else None


def _is_bare_name(node: exp.Expr) -> bool:
    return isinstance(node, exp.Identifier) or (isinstance(node, exp.Column) and not node.table)


def _is_parameter(name: exp.Identifier) -> bool:
    """Whether a name in a body is a value: not a field of a tuple, nor a column of a table."""
    parent = name.parent
    if isinstance(parent, exp.Column):
        return not parent.table
    return not isinstance(parent, exp.Dot) or parent.this is name


def _check_names(tr: Translator, node: exp.Anonymous, function: exp.Lambda, given: set[str]) -> None:
    """Raises Refused for a body that could mean something else where it is called, or that reads what is only found by
    looking at the query as it is written."""
    own = {each.name for each in function.expressions}
    inner = {each.name for within in function.this.find_all(exp.Lambda) for each in within.expressions}
    free = {each.name for each in function.this.find_all(exp.Identifier) if _is_parameter(each)} - own - inner
    twice = sorted((inner & (own | given)) | (free & tr.locals.keys()))
    if twice:
        message = f"`{twice[0]}` is a parameter of two lambdas, of which one is named by WITH"
        raise tr.refusal(node, "unsupported-syntax", message, "give it another name in one of them")
    read = sorted(name for name in free if not _is_constant(tr.scope.aliases.get(name)))
    if read or _reads_table(function.this):
        message = "a lambda named by WITH reads only its parameters and constants"
        raise tr.refusal(node, "unsupported-syntax", message, "pass what else it reads as an argument")
    whole = (exp.Query, exp.Window)
    if any(isinstance(each, whole) or is_aggregate(each) or _unfolds(each) for each in function.this.walk()):
        message = "a lambda named by WITH must not contain an aggregate, a window function, arrayJoin or a subquery"
        raise tr.refusal(node, "unsupported-syntax", message, "write it where it is used")


def _reads_table(body: exp.Expr) -> bool:
    return any(each.table for each in body.find_all(exp.Column)) or body.find(exp.Star) is not None


def _is_constant(node: exp.Expr | None) -> bool:
    return node is not None and node.find(exp.Column, exp.Identifier, exp.Lambda, exp.Query) is None


def _unfolds(node: exp.Expr) -> bool:
    return call_name(node) == "arrayJoin"


def _check_arguments(tr: Translator, node: exp.Anonymous, arguments: list[exp.Expr]) -> None:
    """Raises Refused for calls that could be read otherwise: of an aggregate's name, or over random values, which a
    body that reads them twice would see twice."""
    if is_aggregate(node):
        message = f"the lambda `{call_name(node)}` has the name of an aggregate"
        raise tr.refusal(node, "unsupported-syntax", message, "give it another name")
    called = [(call_name(each) or "").lower() for given in arguments for each in given.walk()]
    if any(name.startswith(("rand", "generateuuid")) for name in called):
        message = f"random values as arguments of the lambda `{call_name(node)}` are not supported"
        raise tr.refusal(node, "unsupported-syntax", message, "make them in a subquery")
