"""What `penstock cdc setup` makes in a database beside each capture: the tables of the schema `penstock` and the event
triggers; and whether a capture has all that this version of penstock needs.

In: a connection of the owner of the schema, or of a superuser. Out: notes, or an error that says what to do. Invariant:
a producer does not begin on what another version has set up: it would miss tables, or changes that triggers of before
do not tell.
"""

from __future__ import annotations

from penstock.errors import Conflict
from penstock.postgres.application import consumer_records, delivery_records
from penstock.postgres.capture import kept_rows, known_columns, lost_values
from penstock.postgres.capture.records import DEFINITIONS, CaptureRecord
from penstock.postgres.capture.schemas import table_descriptions
from penstock.postgres.capture.schemas.schema_tracker import MESSAGE_PREFIX
from penstock.postgres.capture.schemas.table_descriptions import EVENT_TRIGGERS
from penstock.postgres.capture.stream import slot_place
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceConnection, source_errors
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE

SETUP_VERSION = 6
"""Of what setup makes for a capture, here and in `setup`: whoever changes that takes the next number. A capture from
before there were versions has 0."""
_MARK = f"penstock setup {SETUP_VERSION}"
_TABLES = (
    DEFINITIONS,
    kept_rows.DEFINITION,
    table_descriptions.DEFINITION,
    lost_values.DEFINITION,
    known_columns.DEFINITION,
    consumer_records.DEFINITION,
    delivery_records.DEFINITION,
    slot_place.DEFINITION,
)
_EMIT = f"""
    SELECT {SNAPSHOT} INTO found FROM {SOURCE} WHERE {IS_TABLE} AND c.oid = changed.objid;
    IF found IS NOT NULL THEN
      PERFORM pg_catalog.pg_logical_emit_message(true, '{MESSAGE_PREFIX}',
        pg_catalog.json_build_object('format', 1, 'table', found)::text);
    END IF;
  END LOOP;
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING 'penstock did not note a change of a table: %', SQLERRM;
END $body$;"""
_FUNCTION_NAME = f"{OWN_SCHEMA}.emit_table"
_FUNCTION = "RETURNS event_trigger LANGUAGE plpgsql SET search_path = '' AS $body$"
_CHANGED, _DROPPED = EVENT_TRIGGERS
# The second one is for columns that go with something else: DROP TYPE … CASCADE is no change of a table to the first.
_EVENT_TRIGGERS = f"""
CREATE OR REPLACE FUNCTION {_FUNCTION_NAME}() {_FUNCTION}
DECLARE changed record; found json;
BEGIN
  FOR changed IN SELECT DISTINCT objid FROM pg_catalog.pg_event_trigger_ddl_commands()
      WHERE classid = 'pg_catalog.pg_class'::pg_catalog.regclass LOOP{_EMIT}
CREATE OR REPLACE FUNCTION {OWN_SCHEMA}.emit_table_of_dropped() {_FUNCTION}
DECLARE changed record; found json;
BEGIN
  FOR changed IN SELECT DISTINCT objid FROM pg_catalog.pg_event_trigger_dropped_objects()
      WHERE classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND objsubid > 0 LOOP{_EMIT}
DROP EVENT TRIGGER IF EXISTS {_CHANGED};
CREATE EVENT TRIGGER {_CHANGED} ON ddl_command_end EXECUTE FUNCTION {_FUNCTION_NAME}();
DROP EVENT TRIGGER IF EXISTS {_DROPPED};
CREATE EVENT TRIGGER {_DROPPED} ON sql_drop EXECUTE FUNCTION {OWN_SCHEMA}.emit_table_of_dropped();
COMMENT ON FUNCTION {_FUNCTION_NAME}() IS '{_MARK}';
"""
_MARK_FOUND = f"""SELECT pg_catalog.obj_description(p.oid, 'pg_proc') FROM pg_catalog.pg_proc p
  WHERE p.oid = pg_catalog.to_regprocedure('{_FUNCTION_NAME}()')"""


class OtherSetup(Conflict):
    """A capture was set up by another version of penstock."""

    code = "other-setup"


def install_tables(connection: SourceConnection) -> None:
    """Make the tables of all captures, or what of them is not there. Raises Failed, Forbidden, Unavailable."""
    for each in _TABLES:
        _rows(connection, f"{each} SELECT 1")


def install_triggers(connection: SourceConnection) -> tuple[str, ...]:
    """Make the event triggers, where the role may. Returns what is worth knowing. Raises Failed, Unavailable."""
    if _rows(connection, "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = current_user AND rolsuper"):
        _rows(connection, f"{_EVENT_TRIGGERS} SELECT 1")
        return ()
    found = _rows(connection, _MARK_FOUND)
    if found == [(_MARK,)]:
        return ()
    if found:
        return ("the event triggers are those of another version: `penstock cdc setup` by a superuser renews them",)
    return (
        "no event trigger was made, which needs a superuser: changes of tables are noticed with their next row, "
        "and tables that were written anew by looking at their files",
    )


def check_setup(connection: SourceConnection, capture: CaptureRecord) -> None:
    """Raises OtherSetup for a capture that another version has set up."""
    check_not_later(connection, capture)
    if capture.setup_version < SETUP_VERSION:
        raise OtherSetup(
            f"{_place(connection, capture)} was set up by an earlier version of penstock; this one needs more",
            hint=f"`penstock cdc setup --name {capture.name}` adds it, with the role that set it up",
        )


def check_not_later(connection: SourceConnection, capture: CaptureRecord) -> None:
    """Raises OtherSetup for a capture that a later version has set up: setting it up would take back what that made."""
    if capture.setup_version > SETUP_VERSION:
        message = f"{_place(connection, capture)} was set up by a later version of penstock"
        raise OtherSetup(message, hint="run that version, or a later one")


def _place(connection: SourceConnection, capture: CaptureRecord) -> str:
    ((database,),) = _rows(connection, "SELECT pg_catalog.current_database()")
    return f"the capture `{capture.name}` in the schema `{OWN_SCHEMA}` of the database `{database}`"


def _rows(connection: SourceConnection, statement: str) -> list[tuple[object, ...]]:
    with source_errors("looked at what setup made, or made it"):
        cursor = connection.cursor()
        cursor.execute(statement)
        return cursor.fetchall()
