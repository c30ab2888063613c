"""A reader that is given a column reads in it, by the rules of Iceberg, what SQL reads by the binding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from penstock.lake.open_tables.shown_columns import (
    _REASONS,
    Constant,
    ConstantKind,
    FileColumns,
    OmittedColumn,
    ShownColumn,
    constant_columns,
    finer_columns,
    may_hide_rows,
    open_columns,
    state_columns,
)
from penstock.model.manifest import Before, Binding, BoundColumn
from penstock.model.types import AggregateFunction, Array, Float, Int, Nullable, String, Tuple

FIELD, REJECTS = 7, 9
KINDS: tuple[ConstantKind, ...] = get_args(ConstantKind)
K = 5
NUMBER = BoundColumn("n", Int(32), "n__2", Before(str(K), cut=100, settled=-1))


@dataclass(frozen=True)
class StoredFile:
    """The rows of a file: pairs of `_seq` and what is stored; None for `stored` in all rows if the column is absent."""

    rows: tuple[tuple[int | None, int | None], ...]
    has_column: bool

    def facts(self) -> FileColumns:
        seqs = [seq for seq, _ in self.rows]
        known = [seq for seq in seqs if seq is not None]
        low, high = (min(known), max(known)) if known and len(known) == len(seqs) else (None, None)
        nulls = {FIELD: sum(value is None for _, value in self.rows)} if self.has_column else {}
        return FileColumns("f", len(self.rows), low, high, nulls)


def by_sql(seq: int | None, stored: int | None, before: Before, value: int | None) -> int | None:
    assert before.cut is not None
    return value if seq is not None and before.settled < seq <= before.cut else stored


@st.composite
def files(draw: st.DrawFn, before: Before, value: int | None) -> tuple[StoredFile, ...]:
    """Files as Penstock writes them: rows up to the cutover offset hold NULL or the value itself."""

    def row(*, has_column: bool) -> tuple[int | None, int | None]:
        seq = draw(st.none() | st.integers(0, 12))
        if not has_column:
            return seq, None
        older = by_sql(seq, -1, before, value) != -1 or value == -1
        return seq, draw(st.sampled_from([None, value]) if older else st.none() | st.integers(0, 9))

    def file() -> StoredFile:
        has_column = draw(st.booleans())
        rows = [row(has_column=has_column) for _ in range(draw(st.integers(0, 4)))]
        return StoredFile(tuple(rows), has_column)

    return tuple(file() for _ in range(draw(st.integers(0, 4))))


@given(st.data(), st.integers(-1, 12), st.integers(-1, 12), st.none() | st.just(K), st.sampled_from(KINDS))
def test_a_shown_column_is_read_as_sql_reads_it(
    data: st.DataObject, cut: int, settled: int, value: int | None, kind: ConstantKind
) -> None:
    before = Before(str(value), cut, settled)
    stored = data.draw(files(before, value))
    binding = Binding("t", "t", (replace(NUMBER, before=before),))
    constants = {"n": Constant(value, "default" if value is None else kind)}
    (found,) = open_columns(binding, {"n__2": FIELD}, [each.facts() for each in stored], constants)
    if isinstance(found, OmittedColumn):
        return
    for file in stored:
        for seq, physical in file.rows:
            read = physical if file.has_column else found.default
            assert read == by_sql(seq, physical, before, value)


def columns(*facts: FileColumns, before: Before | None = NUMBER.before, constant: Constant | None = None) -> object:
    binding = Binding("t", "t", (replace(NUMBER, before=before),))
    constants = {} if constant is None else {"n": constant}
    (found,) = open_columns(binding, {"n__2": FIELD}, facts, constants)
    return found


OLD = FileColumns("old", 3, 0, 90, {})
NEW = FileColumns("new", 3, 101, 110, {FIELD: 1})
BETWEEN = FileColumns("between", 3, 91, 100, {FIELD: 3})


def test_older_files_get_the_default_and_newer_ones_what_they_hold() -> None:
    assert columns(OLD, NEW, constant=Constant(K)) == ShownColumn("n", FIELD, "Int32", K)


def test_files_that_have_null_in_its_place_are_named() -> None:
    found = columns(OLD, BETWEEN, NEW, constant=Constant(K))
    assert isinstance(found, OmittedColumn)
    assert found.unfilled == ("between",)


def test_once_they_are_filled_the_column_is_shown() -> None:
    assert columns(OLD, replace(BETWEEN, nulls={FIELD: 0}), NEW, constant=Constant(K)) == ShownColumn(
        "n", FIELD, "Int32", K
    )


def test_a_file_of_older_and_newer_rows_cannot_be_filled() -> None:
    found = columns(replace(BETWEEN, high=105), constant=Constant(K))
    assert isinstance(found, OmittedColumn)
    assert found.unfilled == ()


def test_a_computed_column_is_shown_once_no_older_row_is_left() -> None:
    assert isinstance(columns(OLD), OmittedColumn)
    assert columns(NEW) == ShownColumn("n", FIELD, "Int32")
    assert columns(OLD, before=Before("`m` + 1", 100, settled=100)) == ShownColumn("n", FIELD, "Int32")


def test_a_default_that_iceberg_does_not_know() -> None:
    lists, moments = Constant(None, "opaque"), Constant("1970-01-01", "stored")
    assert columns(OLD, constant=lists) == OmittedColumn("n", _REASONS["opaque"])
    assert columns(OLD, constant=moments) == OmittedColumn("n", _REASONS["stored"], ("old",))
    assert columns(replace(OLD, nulls={FIELD: 0}), constant=moments) == ShownColumn("n", FIELD, "Int32")
    assert columns(NEW, constant=lists) == ShownColumn("n", FIELD, "Int32")


def test_null_needs_no_default() -> None:
    assert columns(OLD, BETWEEN, NEW, constant=Constant(None)) == ShownColumn("n", FIELD, "Int32")


def test_two_columns_in_one_place() -> None:
    binding = Binding("t", "t", (BoundColumn("a", String(), "p"), BoundColumn("b", String(), "p")))
    shown, omitted = open_columns(binding, {"p": 1}, [], {})
    assert (isinstance(shown, ShownColumn), isinstance(omitted, OmittedColumn)) == (True, True)


def test_a_column_that_was_dropped_from_outside() -> None:
    (found,) = open_columns(Binding("t", "t", (NUMBER,)), {}, [], {})
    assert isinstance(found, OmittedColumn)


def test_columns_that_some_readers_cannot_read() -> None:
    alike = Array(Tuple((("X", Int(32)), ("x", Int(32)))))
    bound = (
        BoundColumn("_deleted", String(), "_deleted__2"),
        BoundColumn("t", alike, "t"),
        BoundColumn("u", Int(8), "u"),
    )
    found = open_columns(Binding("t", "t", bound), {"_deleted__2": 1, "t": 2, "u": 3}, [], {})
    assert [each.name for each in found if isinstance(each, OmittedColumn)] == ["_deleted", "t"]


def test_states_are_named_whatever_they_are_stored_as() -> None:
    state = AggregateFunction("sum", (Int(64),))
    bound = (BoundColumn("s", state, "s"), BoundColumn("n", Int(64), "n"))
    assert state_columns(Binding("t", "t", bound)) == ("s",)


def test_only_constants_of_older_rows_are_asked_for() -> None:
    kinds = {
        "constant": Before("CAST(0 AS INT)", 1),
        "column": Before("`m`", 1),
        "computed": Before("abs(1)", 1),
        "stored": Before("1", 1, settled=1),
        "new": Before("1", None),
    }
    bound = tuple(BoundColumn(name, Array(String()), name, before) for name, before in kinds.items())
    assert [each.name for each in constant_columns(Binding("t", "t", bound))] == ["constant"]


def test_rows_that_some_version_rejects() -> None:
    assert not may_hide_rows([FileColumns("a", 3, 0, 1, {}), FileColumns("b", 3, 0, 1, {REJECTS: 3})], REJECTS)
    assert may_hide_rows([FileColumns("b", 3, 0, 1, {REJECTS: 2})], REJECTS)
    assert not may_hide_rows([FileColumns("b", 3, 0, 1, {REJECTS: 2})], None)


def test_columns_that_sql_rounds_are_named() -> None:
    types = {
        "a": (Float(32), "double"),
        "b": (Float(32), "float"),
        "c": (Float(64), "double"),
        "d": (Array(Nullable(Float(32))), "list<double>"),
        "e": (Array(Float(32)), "list<float>"),
        "n": (Int(32), "long"),
    }
    binding = Binding("t", "t__d1", tuple(BoundColumn(name, of, f"{name}__1") for name, (of, _) in types.items()))
    assert finer_columns(binding, {f"{name}__1": stored for name, (_, stored) in types.items()}) == ("a", "d")
    assert finer_columns(binding, {}) == ()
