"""WITH: names for SELECTs (CTEs) and for expressions.

In: an environment or block, and a WITH clause. Out: the same with the names. Invariant: a CTE sees the ones before it,
not itself.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.compiler.environment import Cte, Environment
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tokens import LAMBDA
from penstock.sql.syntax.tree import call_name


def add_with_names(environment: Environment, clause: exp.Expr | None) -> Environment:
    """The environment with the names of a WITH clause. Problems go to its report."""
    for cte in clause.expressions if clause is not None else []:
        if cte.args.get("scalar"):
            named = _named_expression(cte.this)
            environment = replace(environment, constants={**environment.constants, cte.alias: named})
            continue
        with environment.report.collecting():
            environment = _add_cte(environment, cte)
    return environment


def _named_expression(node: exp.Expr) -> exp.Expr:
    """The expression itself; a lambda without the call around it (see `syntax.tokens`)."""
    if call_name(node) != LAMBDA or len(node.expressions) != 1:
        return node
    (function,) = node.expressions
    return function if isinstance(function, exp.Lambda) else node


def _add_cte(environment: Environment, cte: exp.Expr) -> Environment:
    if isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive"):
        message = "WITH RECURSIVE is not supported"
        hint = "for a series of numbers or dates, numbers(n)"
        raise refusal(environment.text, cte, "unsupported-clause", message, hint)
    if not isinstance(cte.this, exp.Query):
        raise refusal(environment.text, cte, "unsupported-clause", "this WITH is not supported")
    return replace(
        environment, ctes={**environment.ctes, cte.alias: Cte(cte.this, replace(environment, own_names=frozenset()))}
    )


def read_with(block: SelectBlock) -> SelectBlock:
    """Pass: the names of the WITH of this SELECT."""
    environment = add_with_names(block.environment, block.tree.args.get("with_"))
    scope = replace(block.translator.scope, aliases=environment.constants)
    own, environment = environment.own_names, replace(environment, own_names=frozenset())
    own |= names_of_with(block.tree.args.get("with_"))
    return replace(block, environment=environment, translator=block.translator.with_scope(scope), with_names=own)


def names_of_with(clause: exp.Expr | None) -> frozenset[str]:
    """The names that a WITH clause gives."""
    return frozenset(cte.alias for cte in clause.expressions) if clause is not None else frozenset()


def hide_names_around(block: SelectBlock) -> SelectBlock:
    """Pass: the name of a WITH around this SELECT gives way to a column of its FROM; that of its own WITH does not."""
    given, scope = block.environment.constants, block.translator.scope
    hidden = {name for name in given if name not in block.with_names and scope.find(name) is not None}
    if not hidden:
        return block
    aliases = {name: node for name, node in scope.aliases.items() if name not in hidden or node is not given[name]}
    environment = replace(block.environment, constants={name: given[name] for name in given if name not in hidden})
    translator = block.translator.with_scope(replace(scope, aliases=aliases))
    return replace(block, environment=environment, translator=translator)
