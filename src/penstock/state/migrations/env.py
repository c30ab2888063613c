"""Alembic's entry: run the migrations on the connection that `state/database.py` hands over.

In: `config.attributes["connection"]`. Out: nothing. Invariant: the
migrations run inside the caller's transaction, so a killed upgrade leaves the old schema.
"""

from __future__ import annotations

from alembic import context

from penstock.state.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
