"""Pass: FROM and its joins, as relations that names are looked up in.

In: FROM, JOIN, ARRAY JOIN of one SELECT. Out: the Spark text of FROM and a scope. Called by transpile.
Invariant: columns of a side that may miss read as zero values, as with join_use_nulls = 0.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.array_join import array_join
from penstock.sql.block import Block
from penstock.sql.derived import derived
from penstock.sql.joins import join
from penstock.sql.tables import Table, table


def sources(block: Block) -> Block:
    clause = block.tree.args.get("from_")
    if clause is None:
        return block
    first = table(block.environment, clause.this, len(block.translator.scope.relations))
    block = replace(block, source=first.sql, source_grouped=first.grouped)
    block = _with_relations(block, first)
    for node in block.tree.args.get("joins") or []:
        if node.args.get("kind") == "ARRAY":
            block = array_join(block, node)
        else:
            block = _joined(derived(block) if block.unnested else block, node)
    return block


def _joined(block: Block, node: exp.Join) -> Block:
    environment = block.environment.not_triggering()
    right = table(environment, node.this, len(block.translator.scope.relations))
    done = join(block.translator, node, right)
    scope = replace(block.translator.scope, relations=done.relations)
    return replace(block, source=f"{block.source} {done.sql}", translator=block.translator.with_scope(scope))


def _with_relations(block: Block, found: Table) -> Block:
    scope = replace(block.translator.scope, relations=(found.relation,))
    return replace(block, translator=block.translator.with_scope(scope))
