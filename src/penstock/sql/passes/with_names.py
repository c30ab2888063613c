"""Pass: the names that WITH gives, to SELECTs and to expressions.

In: the WITH of one SELECT. Out: an environment with CTEs, a scope with aliases. Called by transpile.
Invariant: a CTE sees the ones before it, not itself.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.block import Block
from penstock.sql.environment import Cte
from penstock.sql.problems import refused


def with_names(block: Block) -> Block:
    clause = block.tree.args.get("with_")
    environment = block.environment
    for cte in clause.expressions if clause is not None else []:
        if cte.args.get("scalar"):
            environment = replace(environment, constants={**environment.constants, cte.alias: cte.this})
            continue
        inner = cte.this
        if not isinstance(inner, exp.Query) or (clause is not None and clause.args.get("recursive")):
            with environment.report.collecting():
                raise refused(environment.text, cte, "unsupported-clause", "this WITH is not supported")
            continue
        environment = replace(environment, ctes={**environment.ctes, cte.alias: Cte(inner, environment)})
    scope = replace(block.translator.scope, aliases=environment.constants)
    return replace(block, environment=environment, translator=block.translator.with_scope(scope))
