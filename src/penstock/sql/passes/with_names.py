"""Pass: the names that WITH gives, to SELECTs and to expressions.

In: the WITH of one SELECT. Out: an environment with CTEs, a scope with aliases. Called by transpile.
Invariant: a CTE sees the ones before it, not itself.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.sql.block import Block
from penstock.sql.with_clause import named_in


def with_names(block: Block) -> Block:
    environment = named_in(block.environment, block.tree.args.get("with_"))
    scope = replace(block.translator.scope, aliases=environment.constants)
    return replace(block, environment=environment, translator=block.translator.with_scope(scope))
