"""What surviving anything needs: the lease, states of journal entries, paused deployments, digests of
segments, what tables were made as, and how often a flow ended its process.

In: the first schema. Out: this one. Invariant: entries that were done stay done.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    _change_journal()
    op.add_column("deployments", sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("batches", sa.Column("digest", sa.String(64)))
    _create_lease()
    op.create_table(
        "made_tables",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("columns", sa.JSON, nullable=False),
        sa.Column("accepted", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("newest", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "attempts",
        sa.Column("table_id", sa.Text, primary_key=True),
        sa.Column("flow", sa.Text, primary_key=True),
        sa.Column("deaths", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    for table in ("attempts", "made_tables", "lease"):
        op.drop_table(table)
    op.drop_column("batches", "digest")
    op.drop_column("deployments", "paused")
    op.add_column("journal", sa.Column("done", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(sa.text("UPDATE journal SET done = true WHERE state = 'done'"))
    op.drop_column("journal", "state")


def _change_journal() -> None:
    op.add_column("journal", sa.Column("state", sa.String(8), nullable=False, server_default="waiting"))
    op.execute(sa.text("UPDATE journal SET state = 'done' WHERE done"))
    op.drop_column("journal", "done")


def _create_lease() -> None:
    lease = op.create_table(
        "lease",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("beat", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.JSON, nullable=False),
    )
    op.bulk_insert(lease, [{"id": 1, "token": 0, "beat": 0, "owner": {}}])
