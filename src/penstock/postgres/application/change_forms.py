"""Which forms of rows stand before and behind the changes that stores carry out in the phase `at_lsn`.

In: the migrations and where Postgres is on their chains. Out: for each migration with such changes its forms.
Invariant: an application may commit rows between any two statements of a migration, so every combination of its
operations is a form; one that stands on both sides cannot be told, and makes the stop unsure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from penstock.postgres.application.source_state import SourceStage, SourceState, table_chains
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    ChangeType,
    DropColumn,
    Operation,
    Phase,
    RenameColumn,
    RenameTable,
    SwapColumns,
)
from penstock.postgres.migration.operation_effects import DoesNotFit, apply_operations

MOST_COMBINED = 10
"""Operations of one migration of which all combinations are tried; of more, those in their order."""
_SHOWN = (AddColumn, DropColumn, RenameColumn, SwapColumns, ChangeType, RenameTable)
"""The operations that rows show."""


@dataclass(frozen=True, slots=True)
class ChangeForms:
    """The forms of rows around the changes of a migration."""

    before: frozenset[str]
    after: frozenset[str]
    is_sure: bool


@dataclass(frozen=True, slots=True)
class _Link:
    """A migration of a chain, with the forms that it goes through."""

    migration: Migration
    plain: frozenset[str]
    """Without any of its changes that stores carry out at their LSN."""
    partly: frozenset[str]
    """With some of them."""
    done: frozenset[str]
    """With all of them."""


def change_forms(migrations: Sequence[Migration], state: SourceState) -> Mapping[str, ChangeForms]:
    """The forms of each migration that has operations of `at_lsn`, by its id. What Postgres has already is unsure."""
    found: dict[str, ChangeForms] = {}
    for chain in table_chains(migrations):
        ahead = [each for each in chain if state.stages[each.id] is SourceStage.before]
        behind = [each for each in chain if state.stages[each.id] is SourceStage.after]
        table = state.tables.get(chain[0].id)
        if table is None:
            continue
        links = [*_links(table, ahead)]
        later = frozenset({table_form(table)}).union(*(each.plain | each.partly | each.done for each in links))
        found |= {each.id: ChangeForms(frozenset(), later, False) for each in behind if _shown_changes(each)}
        found |= {
            each.migration.id: _forms(links, at) for at, each in enumerate(links) if _shown_changes(each.migration)
        }
    return found


def _shown_changes(migration: Migration) -> list[Operation]:
    """The operations of `at_lsn` that rows show."""
    return [each for each in migration.of_phase(Phase.at_lsn) if isinstance(each, _SHOWN)]


def _forms(links: Sequence[_Link], at: int) -> ChangeForms:
    link = links[at]
    earlier = frozenset[str]().union(*(each.plain | each.partly | each.done for each in links[:at])) | link.plain
    later = frozenset[str]().union(*(each.plain | each.partly | each.done for each in links[at + 1 :]))
    behind = link.partly | link.done | later
    both = earlier & behind
    return ChangeForms((earlier - both) | link.partly, behind - both, not both)


def _links(table: ReplicatedTable, migrations: Sequence[Migration]) -> Iterator[_Link]:
    """The migrations that a table has before it; those that fit it."""
    for each in migrations:
        changes = _shown_changes(each)
        plain, partly, done = set[str](), set[str](), set[str]()
        for operations in _combined(each.operations):
            made = sum(one in changes for one in operations)
            try:
                form = table_form(apply_operations(table, operations))
            except DoesNotFit:
                continue
            (plain if not made else done if made == len(changes) else partly).add(form)
        yield _Link(each, frozenset(plain), frozenset(partly), frozenset(done))
        try:
            table = apply_operations(table, each.operations)
        except DoesNotFit:
            return


def _combined(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    """The operations that Postgres may have carried out at some moment."""
    shown = [each for each in operations if isinstance(each, _SHOWN)]
    if len(shown) > MOST_COMBINED:
        yield from (shown[:count] for count in range(len(shown) + 1))
        return
    for count in range(len(shown) + 1):
        yield from combinations(shown, count)
