"""WITH: the names that it gives to SELECTs and to expressions.

In: an environment and a WITH clause. Out: the environment with its names. Called by passes.with_names and unions.
Invariant: a CTE sees the ones before it, not itself.

Pass: the names that WITH gives, to SELECTs and to expressions.

In: the WITH of one SELECT. Out: an environment with CTEs, a scope with aliases. Called by transpile.
Invariant: a CTE sees the ones before it, not itself.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.compiler.block import SelectBlock
from penstock.sql.compiler.environment import Cte, Environment
from penstock.sql.syntax.problems import refused


def add_with_names(environment: Environment, clause: exp.Expr | None) -> Environment:
    """Problems go to the environment's report."""
    for cte in clause.expressions if clause is not None else []:
        if cte.args.get("scalar"):
            environment = replace(environment, constants={**environment.constants, cte.alias: cte.this})
            continue
        with environment.report.collecting():
            environment = _add_cte(environment, cte)
    return environment


def _add_cte(environment: Environment, cte: exp.Expr) -> Environment:
    if isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive"):
        message = "WITH RECURSIVE is not supported"
        hint = "for a series of numbers or dates, numbers(n)"
        raise refused(environment.text, cte, "unsupported-clause", message, hint)
    if not isinstance(cte.this, exp.Query):
        raise refused(environment.text, cte, "unsupported-clause", "this WITH is not supported")
    return replace(environment, ctes={**environment.ctes, cte.alias: Cte(cte.this, environment)})


def read_with(block: SelectBlock) -> SelectBlock:
    environment = add_with_names(block.environment, block.tree.args.get("with_"))
    scope = replace(block.translator.scope, aliases=environment.constants)
    return replace(block, environment=environment, translator=block.translator.with_scope(scope))
