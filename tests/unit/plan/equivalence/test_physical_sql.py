"""Views that do the same under other names have equal words, others do not."""

from __future__ import annotations

from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.model.types import String
from penstock.plan.equivalence.view_equivalence import physical_sql

SQL = (
    "SELECT `q`.`user` AS `user`, `q`.`hits` AS `hits` FROM"
    " (SELECT `events`.`user` AS `user`, count(1) AS `hits` FROM __new_events__ AS `events`"
    " GROUP BY `events`.`user`) AS `q`"
)


def view(sql: str, names: dict[str, str], source: str = "events") -> View:
    """A view of `source` whose columns have physical names."""
    columns = tuple(BoundColumn(name, String(), physical) for name, physical in names.items())
    trigger = Source(f"__new_{source}__", Binding(source, "events__d1", columns))
    return View("a.b", "a", "b", "users__d1", sql, trigger, ("user", "hits"))


WORDS = physical_sql(view(SQL, {"user": "user"}))


def test_a_renamed_column_of_the_source() -> None:
    assert physical_sql(view(SQL.replace("`events`.`user`", "`events`.`who`"), {"who": "user"})) == WORDS


def test_a_renamed_column_of_the_target() -> None:
    sql = SQL.replace("AS `user`", "AS `who`").replace("`q`.`user`", "`q`.`who`")
    assert physical_sql(view(sql, {"user": "user"})) == WORDS


def test_a_renamed_source_also_to_the_name_of_a_column() -> None:
    sql = SQL.replace("events", "hits").replace("count(1) AS `hits`", "count(1) AS `hits`")
    assert physical_sql(view(sql, {"user": "user"}, "hits")) == WORDS


def test_another_alias() -> None:
    sql = SQL.replace("AS `events`", "AS `e`").replace("`events`.", "`e`.")
    assert physical_sql(view(sql, {"user": "user"})) == WORDS


def test_another_column_under_the_same_name() -> None:
    assert physical_sql(view(SQL, {"user": "user__2"})) != WORDS


def test_another_literal() -> None:
    assert physical_sql(view(SQL.replace("count(1)", "count('user')"), {"user": "user"})) != WORDS


def test_the_two_sides_of_a_self_join_are_not_confused() -> None:
    columns = (BoundColumn("a", String(), "a"), BoundColumn("b", String(), "b"))
    bound = Binding("t", "t__d1", columns)
    trigger, other = Source("__new_t__", bound), Source("__all_t__", bound)

    def words(select: str) -> tuple[str, ...]:
        sql = f"SELECT {select} AS `x` FROM __new_t__ AS `l` JOIN __all_t__ AS `r` ON `l`.`a` = `r`.`b`"
        return physical_sql(View("p.n", "p", "n", "x__d1", sql, trigger, ("x",), (other,)))

    assert words("`l`.`a`") != words("`r`.`a`")
    assert words("`l`.`a`") != words("`l`.`b`")


def test_one_table_read_twice_as_it_is() -> None:
    bound = Binding("t", "t__d1", (BoundColumn("a", String(), "a"),))
    other = Source("__all_t__", bound)

    def words(select: str) -> tuple[str, ...]:
        sql = f"SELECT {select} AS `x` FROM __new_t__ AS `n` JOIN __all_t__ AS `l` JOIN __all_t__ AS `r`"
        return physical_sql(View("p.n", "p", "n", "x__d1", sql, Source("__new_t__", bound), ("x",), (other,)))

    assert words("`l`.`a`") != words("`r`.`a`")


def test_the_fields_of_a_state_are_no_columns() -> None:
    sql = SQL.replace("count(1)", "sum(`events`.`state`.`hits`)")
    other = SQL.replace("count(1)", "sum(`events`.`state`.`sum`)").replace("`hits`", "`sum`")
    names = {"user": "user", "state": "state"}
    assert physical_sql(view(sql, names)) != physical_sql(view(other, names))
