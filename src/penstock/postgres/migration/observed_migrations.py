"""The migrations that lead through the observed forms of the tables of a database.

In: the catalog before and after a command and, where the event trigger could be made, every form in between. Out:
migrations, and what is named but not picked up: new, dropped and partitioned tables. Invariant: of all ways to divide
the forms of a table, the one with the fewest operations is taken, so that the three renames of a swap are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from penstock.errors import InvalidRequest
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation import (
    NAMES,
    AddColumn,
    Operation,
    OperationName,
    Phase,
    RenameTable,
    columns_of,
    freed_name,
    safe_phases,
)
from penstock.postgres.migration.operation_effects import DoesNotFit, apply_operations
from penstock.postgres.migration.table_difference import NameReuse, is_rewritten, table_difference

MOST_FORMS = 200
"""A table that one command gives more forms is compared by its first and last form only."""
BOOKKEEPING = frozenset(
    [
        "alembic_version",
        "django_migrations",
        "schema_migrations",
        "ar_internal_metadata",
        "knex_migrations",
        "knex_migrations_lock",
        "pgmigrations",
        "_prisma_migrations",
        "__drizzle_migrations",
        "SequelizeMeta",
        "flyway_schema_history",
        "databasechangelog",
        "databasechangeloglock",
        "goose_db_version",
        "_sqlx_migrations",
        "__diesel_schema_migrations",
    ]
)
"""The tables in which tools for migrations keep what they have run: nobody wants their rows in a store."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a command did to the tables of a database."""

    migrations: tuple[Migration, ...]
    notes: tuple[str, ...]
    """What is not picked up, in sentences."""
    unclear: tuple[str, ...] = ()
    """What cannot be told from the catalog alone, in sentences."""


@dataclass(frozen=True, slots=True)
class _Part:
    operations: tuple[Operation, ...]
    forms: tuple[ReplicatedTable, ...]

    @property
    def rewrites(self) -> bool:
        return is_rewritten(self.forms, self.operations)


@dataclass(frozen=True, slots=True)
class ObservedForms:
    """The tables before and after a command; `between` has the forms of each (by OID) in the order of time."""

    before: Catalog
    between: Mapping[int, Sequence[ReplicatedTable]]
    after: Catalog


@dataclass(frozen=True, slots=True)
class ObservationRules:
    """What an observation goes by, besides the catalogs."""

    at: datetime
    """The time in the ids of its migrations."""
    phases: Mapping[OperationName, Phase] = field(default_factory=dict)
    """Phases instead of those of the rules."""
    history: MigrationHistory = field(default_factory=MigrationHistory)
    """The migrations that there are: what they lead to is not written again."""


def observed_migrations(forms: ObservedForms, rules: ObservationRules) -> Observation:
    """The migrations that lead through these forms. Raises InvalidRequest for a phase in which values would be lost."""
    at, phases = rules.at, rules.phases
    ends = {each.table_after: each for each in rules.history.migrations}
    between = forms.between
    had, has = _of_application(forms.before), _of_application(forms.after)
    migrations: list[Migration] = []
    unclear: list[str] = []
    rewritten: list[str] = []
    for oid in had:
        if oid not in has:
            continue
        try:
            parts = _divided(_new_forms([had[oid], *between.get(oid, ()), has[oid]], ends))
        except NameReuse as error:
            unclear.append(f"the table {has[oid].name}: {error}")
            continue
        migrations += _migrations([_with_phases(each, phases) for each in _late_additions(parts)], at)
        if not parts and had[oid].relfilenode != has[oid].relfilenode:
            rewritten.append(f"Postgres wrote the rows of {has[oid].name} anew: consumers read them again")
    notes = [f"the table {has[oid].name} is new: `penstock cdc add` takes it up" for oid in has if oid not in had]
    notes += [f"the table {had[oid].name} was dropped: `penstock cdc remove` ends it" for oid in had if oid not in has]
    return Observation(_with_unique_ids(migrations), tuple(sorted([*notes, *rewritten])), tuple(unclear))


def _of_application(catalog: Catalog) -> Mapping[int, ReplicatedTable]:
    """The tables by OID, without those of tools."""
    return {oid: each for oid, each in catalog.by_oid().items() if each.name.name not in BOOKKEEPING}


def _new_forms(forms: Sequence[ReplicatedTable], ends: Mapping[QualifiedName, Migration]) -> Sequence[ReplicatedTable]:
    """The forms from where the last migration of the table ends: the command may have carried out earlier ones. Raises
    NameReuse if it came by no such form."""
    last = next((ends[each.name] for each in forms if each.name in ends), None)
    if last is None or all(each == forms[0] for each in forms):
        return forms
    found = [at for at, each in enumerate(forms) if fingerprint(each) == last.after]
    if not found:
        raise NameReuse(f"its migrations end with {last.id}, and the database was never in that state")
    return forms[found[-1] :]


def _divided(forms: Sequence[ReplicatedTable]) -> list[_Part]:
    """The forms in parts, each with operations that do not reuse a name, with the fewest operations in all. Raises
    NameReuse."""
    distinct = [form for at, form in enumerate(forms) if at == 0 or form != forms[at - 1]]
    if len(distinct) > MOST_FORMS:
        distinct = [distinct[0], distinct[-1]]
    if len(distinct) == 1:
        return []
    best: dict[int, tuple[tuple[int, int], list[_Part]]] = {0: ((0, 0), [])}
    failure: NameReuse | None = None
    for end in range(1, len(distinct)):
        for start in [each for each in best if each < end]:
            try:
                operations = table_difference(distinct[start : end + 1])
            except NameReuse as error:
                failure = error
                continue
            (count, parts), found = best[start]
            part = [_Part(operations, tuple(distinct[start : end + 1]))] if operations else []
            price = (count + len(operations), parts + len(part))
            if end not in best or price < best[end][0]:
                best[end] = (price, [*found, *part])
    if len(distinct) - 1 not in best:
        assert failure is not None, "what was not reached was refused"
        raise failure
    return _joined(best[len(distinct) - 1][1])


def _joined(parts: Sequence[_Part]) -> list[_Part]:
    """Parts whose phases follow each other in one: it has one file."""
    found: list[_Part] = []
    for part in parts:
        if found and found[-1].operations[-1].phase.place <= part.operations[0].phase.place:
            last = found.pop()
            part = _Part((*last.operations, *part.operations), (*last.forms, *part.forms))
        found.append(part)
    return found


def _late_additions(parts: Sequence[_Part]) -> Iterator[_Part]:
    """The parts, with columns whose name an earlier one frees added where that has happened: before it, the stores have
    another column of that name."""
    freed: set[str | None] = set()
    for part in parts:
        late = [each for each in part.operations if isinstance(each, AddColumn) and each.name in freed]
        yield replace(part, operations=tuple(_later(part, each) if each in late else each for each in part.operations))
        freed |= {freed_name(each) for each in part.operations}


def _later(part: _Part, addition: AddColumn) -> AddColumn:
    """An addition at its LSN, which names its place if others that stand behind it come before it by then."""
    at = part.operations.index(addition)
    is_last = not any(isinstance(each, AddColumn) for each in part.operations[at + 1 :])
    if addition.after is not None or is_last:
        return replace(addition, phase=Phase.at_lsn)
    columns = apply_operations(part.forms[0], part.operations[:at]).columns
    return replace(addition, phase=Phase.at_lsn, after=columns[-1].name if columns else None)


def _with_phases(part: _Part, phases: Mapping[OperationName, Phase]) -> _Part:
    """The part with the phases that the user chose. Raises InvalidRequest."""
    chosen = []
    for each in part.operations:
        name = NAMES[type(each)]
        phase = phases.get(name, each.phase)
        if phase not in safe_phases(each):
            known = " or ".join(safe.value for safe in safe_phases(each))
            raise InvalidRequest(f"{name} would lose values in phase {phase.value}: it can be {known}")
        chosen.append(replace(each, phase=phase))
    chosen.sort(key=lambda operation: operation.phase.place)
    try:
        made = apply_operations(part.forms[0], chosen)
    except DoesNotFit as error:
        raise InvalidRequest(f"with these phases the operations do not fit each other: {error}") from error
    assert fingerprint(made) == fingerprint(part.forms[-1]), "the operations lead to what was observed"
    return replace(part, operations=tuple(chosen))


def _migrations(parts: Sequence[_Part], at: datetime) -> list[Migration]:
    found: list[Migration] = []
    for part in parts:
        first = part.forms[0]
        result = apply_operations(first, part.operations)
        found.append(
            Migration(
                f"{at:%Y%m%d%H%M%S}_{_word(first.name.name)}_{_word(_subject(part.operations))}",
                first.name,
                fingerprint(first),
                fingerprint(result),
                part.rewrites,
                part.operations,
            )
        )
    return found


def _subject(operations: Sequence[Operation]) -> str:
    first = operations[0]
    return first.to.name if isinstance(first, RenameTable) else (columns_of(first) or ("key",))[0]


def _word(name: str) -> str:
    """A name as a part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "x"


def _with_unique_ids(migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """The migrations in order; files of one second are numbered, since the order of a table's own ones matters."""
    if len(migrations) < 2:
        return tuple(migrations)
    width = len(str(len(migrations)))
    found = []
    for number, each in enumerate(migrations, 1):
        time, _, rest = each.id.partition("_")
        found.append(replace(each, id=f"{time}_{number:0{width}}_{rest}"))
    return tuple(found)
