"""An Iceberg catalog as a store of migrations, by PyIceberg.

In: the properties of the catalog. Out: plans and changed tables. Invariant: a change and the mark that it was made are
one commit of the table, so that a run that was killed knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationError, ValidationException
from pyiceberg.expressions import IsNull, Reference
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from sqlalchemy.exc import SQLAlchemyError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from penstock.errors import Failed, PenstockError, Unavailable
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedColumn, ReplicatedTable
from penstock.postgres.catalog.store_types import iceberg_type
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.iceberg_rehearsal import IcebergRehearsal
from penstock.postgres.stores.migration_store import ColumnDifference, first_names
from penstock.postgres.stores.store_rehearsal import RehearsedPhase, StoreRehearsal
from penstock.postgres.translation.iceberg_changes import (
    IcebergField,
    IcebergSchema,
    iceberg_phases,
    iceberg_steps,
    is_promotion,
    table_name,
)
from penstock.postgres.translation.refusal import CannotTranslate
from penstock.postgres.translation.store_step import StoreStep

_MARK = "penstock.migration."
"""The property of a table that says that a step was made begins with it."""
_CONFLICTS = (CommitFailedException, ValidationException)
"""Somebody else has committed meanwhile, and nothing of the change is in the table."""
_ATTEMPTS = 12
"""How often the commit of a change is tried while others write to the table; together some half a minute."""
_OFFSET = re.compile(r"([+-]\d\d)$")


class IcebergStore:
    """The tables of a namespace."""

    def __init__(self, name: str, settings: StoreSettings):
        self._name = name
        self._settings = settings
        self._opened: Catalog | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def takes_rows(self) -> bool:
        return False

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        return iceberg_phases(migration)

    def plan(self, migration: Migration, phase: Phase) -> tuple[StoreStep, ...]:
        """The steps of a phase. Raises CannotTranslate, Failed, Unavailable."""
        (found,) = self.preview([RehearsedPhase(migration, phase)])
        return found

    def preview(self, phases: Sequence[RehearsedPhase]) -> list[tuple[StoreStep, ...]]:
        """The steps of phases one after the other. Raises CannotTranslate, Failed, Unavailable."""
        found: list[tuple[StoreStep, ...]] = []
        tables: dict[str, IcebergSchema] = {}
        for each in phases:
            before, after = (self._table_name(name) for name in (each.migration.table, each.migration.table_after))
            name = after if each.phase is Phase.post else before
            table = tables.get(name) or _described(self._table(name), name)
            steps, made = iceberg_steps(each.migration, each.phase, table, after)
            tables[made.name] = made
            found.append(steps)
        return found

    def unread_rows(self, migration: Migration) -> str | None:
        return None

    def is_done(self, step: StoreStep) -> bool:
        document = json.loads(step.text)
        with _iceberg_errors():
            if "rename_table" in document:
                return bool(self._catalog().table_exists(document["to"]))
            return f"{_MARK}{document['mark']}" in self._table(document["table"]).properties

    def carry_out(self, step: StoreStep) -> None:
        self._make(json.loads(step.text))

    def take_back(self, steps: Sequence[StoreStep]) -> None:
        for step in reversed(steps):
            # The last one may not have been made: its run was killed before.
            if step.undo is not None and self.is_done(step):
                self._make(json.loads(step.undo))

    def differences(self, table: ReplicatedTable) -> Sequence[ColumnDifference]:
        name = self._table_name(table.name)
        try:
            found = _described(self._table(name), name)
        except CannotTranslate:
            return [ColumnDifference(table.name, None, f"the store has no table {name}", True)]
        return [each for column in table.columns for each in _differences(table.name, column, found.fields)]

    def rehearse(self, phases: Sequence[RehearsedPhase]) -> StoreRehearsal:
        """The phases on throw-away copies. Raises CannotTranslate, Failed, Unavailable."""
        sources = first_names(phases, self._table_name)
        with _iceberg_errors():
            rehearsal = IcebergRehearsal(self._catalog(), self._settings)
            return rehearsal.run(sources, phases, lambda settings: IcebergStore(self._name, settings))

    def _make(self, document: Mapping[str, object]) -> None:
        """Make a change. Where somebody else, such as a consumer, has committed to the table meanwhile, it is made anew
        on what is there now. Raises Failed, Unavailable."""
        with _iceberg_errors():
            if "rename_table" in document:
                self._catalog().rename_table(str(document["rename_table"]), str(document["to"]))
                return
            for attempt in Retrying(
                retry=retry_if_exception_type(_CONFLICTS),
                stop=stop_after_attempt(_ATTEMPTS),
                wait=wait_exponential_jitter(initial=0.05, max=5.0, jitter=0.05),
                reraise=True,
            ):
                with attempt:
                    self._commit(self._table(str(document["table"])), document)

    def _commit(self, table: Table, document: Mapping[str, object]) -> None:
        with table.transaction() as transaction:
            if "fill" in document:
                _fill(table, transaction, document)
            else:
                _change(transaction, document["changes"])
            if "unmark" in document and f"{_MARK}{document['unmark']}" in table.properties:
                transaction.remove_properties(f"{_MARK}{document['unmark']}")
            if "mark" in document:
                transaction.set_properties({f"{_MARK}{document['mark']}": "done"})

    def _catalog(self) -> Catalog:
        if self._opened is None:
            with _iceberg_errors():
                # A catalog in a database has its name with every table.
                self._opened = load_catalog(**{"name": self._name, **self._settings.catalog})
        return self._opened

    def _table(self, name: str) -> Table:
        try:
            with _iceberg_errors():
                return self._catalog().load_table(name)
        except NoSuchTableError:
            hint = "make it, or say its name in [stores.NAME.tables] of penstock.toml"
            raise CannotTranslate(f"the catalog has no table {name}", hint) from None

    def _table_name(self, name: QualifiedName) -> str:
        return table_name(self._settings.namespace, self._settings.tables, name)


@contextmanager
def _iceberg_errors() -> Iterator[None]:
    """A block in which what PyIceberg and its connections raise becomes Failed or Unavailable."""
    try:
        yield
    except (NoSuchTableError, PenstockError):
        raise
    except _CONFLICTS as error:
        raise Failed(f"the table was changed by somebody else: {error}", hint="run the command again") from error
    except (ValidationError, ValueError) as error:
        raise Failed(f"Iceberg refused the change: {error}") from error
    except (OSError, SQLAlchemyError) as error:
        raise Unavailable(f"the catalog or its files cannot be reached: {_first_line(error)}") from error
    except Exception as error:
        if not type(error).__module__.startswith("pyiceberg."):
            raise
        raise Failed(f"the catalog refused it: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _described(table: Table, name: str) -> IcebergSchema:
    schema = table.schema()
    keys = {*schema.identifier_field_ids}
    keys |= {each.source_id for spec in table.specs().values() for each in spec.fields}
    keys |= {each.source_id for each in table.sort_order().fields}
    fields = {
        each.name: IcebergField(str(each.field_type), each.required, each.field_id in keys) for each in schema.fields
    }
    return IcebergSchema(name, fields)


def _change(transaction: Transaction, changes: object) -> None:
    """Make the changes in one transaction. A name that one of them gives up is free only in the next update."""
    assert isinstance(changes, list), "the translation made a list"
    left = [*changes]
    while left:
        free = {each["rename"] for each in left if "rename" in each}
        now = [each for each in left if each.get("add") not in free]
        schema = transaction.table_metadata.schema()
        with transaction.update_schema() as update:
            for each in now:
                _update(update, schema, each)
        left = [each for each in left if each not in now]


def _update(update: UpdateSchema, schema: Schema, change: Mapping[str, str]) -> None:
    match change:
        case {"add": name, "type": of}:
            update.add_column((name,), _type(of))
        case {"rename": name, "to": to}:
            update.rename_column((name,), to)
        case {"type": name, "to_type": to}:
            if not is_promotion(str(schema.find_field(name).field_type), to):
                raise ValueError(f"{name} is {schema.find_field(name).field_type} and cannot become {to}")
            update.update_column((name,), _type(to))
        case {"optional": name}:
            update.make_column_optional((name,))
        case {"delete": name}:
            update.delete_column((name,))


_TYPES: Mapping[str, type[IcebergType]] = {
    "boolean": BooleanType,
    "int": IntegerType,
    "long": LongType,
    "float": FloatType,
    "double": DoubleType,
    "date": DateType,
    "timestamp": TimestampType,
    "timestamptz": TimestamptzType,
    "string": StringType,
}


def _type(name: str) -> IcebergType:
    found = re.fullmatch(r"decimal\((\d+), (\d+)\)", name)
    return DecimalType(int(found[1]), int(found[2])) if found else _TYPES[name]()


def _fill(table: Table, transaction: Transaction, document: Mapping[str, object]) -> None:
    """Write a value into the rows that lack it: their files are written anew."""
    column, value = str(document["fill"]), str(document["value"])
    missing = IsNull(Reference(column))  # type: ignore[call-arg]
    rows = table.scan(row_filter=missing).to_arrow()
    if not rows.num_rows:
        return
    at = rows.schema.get_field_index(column)
    of = rows.schema.field(at).type
    filled = pa.repeat(_scalar(value, str(document["type"]), of), rows.num_rows)
    transaction.overwrite(rows.set_column(at, rows.schema.field(at), filled), overwrite_filter=missing)


def _scalar(text: str, name: str, of: pa.DataType) -> pa.Scalar:
    """The value of a text of Postgres."""
    readers: dict[str, Callable[[str], object]] = {
        "boolean": lambda each: each.startswith("t"),
        "date": date.fromisoformat,
        "timestamp": datetime.fromisoformat,
        "timestamptz": lambda each: datetime.fromisoformat(_OFFSET.sub(r"\1:00", each)),
    }
    if name in readers:
        return pa.scalar(readers[name](text), of)
    return pa.scalar(text, pa.string()).cast(of)


def _differences(
    table: QualifiedName, column: ReplicatedColumn, fields: Mapping[str, IcebergField]
) -> Iterator[ColumnDifference]:
    found, wanted = fields.get(column.name), iceberg_type(column)
    if found is None:
        yield ColumnDifference(table, column.name, f"the store has no column for {wanted}", True)
    elif not is_promotion(wanted, found.type):
        yield ColumnDifference(table, column.name, f"the store has {found.type}, which does not hold {wanted}", True)
    elif found.required and not column.not_null:
        yield ColumnDifference(table, column.name, "the store's column is required", True)
    elif found.type != wanted:
        yield ColumnDifference(table, column.name, f"the store has {found.type} for {wanted}", False)
