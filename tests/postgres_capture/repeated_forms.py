"""Changes of a table behind which rows have a form again that they had before all of them.

In: a world of deployments. Out: statements, each list of which leads back to the columns (a, b), and what carries them
out. Invariant: no row is written meanwhile.
"""

from __future__ import annotations

from penstock.postgres.migration.operation import Phase
from postgres_capture.deployment_world import World

DROPPED = "{table} DROP a; {table} ADD a text"
"""(a, b) becomes (b, a): the values of a are gone."""
SWAPPED = "{table} RENAME a TO x; {table} RENAME b TO a; {table} RENAME x TO b"
CHANGES = {
    "names exchanged": [DROPPED, SWAPPED],
    "both dropped": [DROPPED, "{table} DROP b; {table} ADD b text"],
    "a third change": [DROPPED, "{table} RENAME b TO x", "{table} RENAME a TO b; {table} RENAME x TO a"],
    "in its own place": [SWAPPED, SWAPPED, "{table} DROP b; {table} ADD b text"],
    "a name between": ["{table} DROP a; {table} ADD x text", "{table} RENAME b TO a; {table} RENAME x TO b"],
}


def two_texts(world: World) -> None:
    """Leave the table only the columns a and b, in the store, too."""
    world.develop("drop", 2, 0)
    world.settle()
    world.source.wait_until_stored(world.side.name)


def change(world: World, statements: str) -> None:
    """One command of the application, in Postgres; the store has not followed yet."""
    world.observe(statements.replace("{table}", f"ALTER TABLE {world.source.schema}.{world.name}"))
    world.apply(Phase.pre)
    world.migrate()
    assert world.statement is None, "the gate is open"


def there_and_back(world: World) -> None:
    """A column is dropped and added anew, then dropped for good: rows have a form that they may have had before the
    first change, and only that one has a stop."""
    change(world, DROPPED)
    world.write([(3, 3)])
    change(world, "{table} DROP a")
    world.write([(4, 3), (4, 2)])
