"""The DataFrame that a view's function is given: each call gives another one, and nothing is computed.

In: the methods of PySpark's DataFrame that a view can have. Out: `Frame`, with the SELECT that it stands for.
Invariants: a name means the column that it would mean in Spark, or it is refused; a method that is not here is refused
with a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NoReturn

from pyspark.sql.connect.column import Column

from penstock.api.dataframes.columns import Resolve, Value, column_of_text, is_star, reference, value_of
from penstock.api.dataframes.expressions import ColumnUse, SqlPiece, quote, sql
from penstock.api.dataframes.literals import text_literal
from penstock.api.dataframes.method_refusals import refuse_method
from penstock.api.dataframes.queries import (
    Condition,
    Item,
    Relation,
    SelectQuery,
    SourceJoin,
    SourceQuery,
    SourceTable,
)
from penstock.api.dataframes.refusal import RefusedInView
from penstock.api.objects.declarations import CallLocation, find_caller
from penstock.errors import did_you_mean

_NUMBERS = count(1)
_LONGEST_VALUE = 4_000
"""A column of more characters than this is computed in a SELECT of its own, so that none grows with each step."""


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """A column of a DataFrame."""

    key: str
    """Its name in SQL, which no other column of the DataFrame has."""
    name: str
    origins: frozenset[tuple[int, str]] = frozenset()
    """The DataFrames of which it was a column, by number, and its name there."""
    qualifiers: frozenset[str] = frozenset()
    """The aliases before its name."""


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value and the name of the column that it becomes."""

    name: str
    value: Value


class Frame:
    """A DataFrame of a view."""

    def __init__(self, query: SelectQuery, columns: Iterable[FrameColumn], number: int | None = None):
        self._number = next(_NUMBERS) if number is None else number
        self._query = query
        given = list(columns)
        once = {each.name for each in given if [other.name for other in given].count(each.name) == 1}
        self._columns = tuple(
            replace(each, origins=each.origins | ({(self._number, each.name)} if each.name in once else set()))
            for each in given
        )

    @staticmethod
    def of_table(name: str, columns: Sequence[str], line: CallLocation) -> Frame:
        """All columns of a table."""
        number = next(_NUMBERS)
        items = tuple(Item(each, SqlPiece((ColumnUse(number, each),)), line) for each in columns)
        return Frame(SelectQuery(SourceTable(number, name), items), (FrameColumn(each, each) for each in columns))

    # ------------------------------------------------------------------ columns

    @property
    def columns(self) -> list[str]:
        return [each.name for each in self._columns]

    def __getitem__(self, item: object) -> object:
        if isinstance(item, int):
            return self[self.columns[item]]
        if isinstance(item, (list, tuple)):
            return self.select(*item)
        if isinstance(item, Column):
            return self.filter(item)
        self._find((str(item),), None)
        return reference(str(item), self._number)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.columns:
            return self[name]
        return refuse_method(name, self.columns)

    def _find(self, parts: Sequence[str], frame: int | None) -> tuple[FrameColumn, Sequence[str]]:
        """The column that a name means, and the fields behind it. Raises RefusedInView."""
        return _find_column(self._columns, parts, frame)

    def _resolve(self, parts: Sequence[str], frame: int | None) -> SqlPiece:
        column, fields = self._find(parts, frame)
        return _field(SqlPiece((ColumnUse(self._number, column.key),)), fields)

    # ------------------------------------------------------------------ rows made from one row

    def select(self, *columns: object) -> Frame:
        return self._project(self._named(columns))

    def selectExpr(self, *texts: str | Sequence[str]) -> Frame:  # noqa: N802 PySpark's name
        given = [text for each in texts for text in ([each] if isinstance(each, str) else each)]
        return self.select(*("*" if each.strip() == "*" else column_of_text(each) for each in given))

    def withColumn(self, colName: str, col: Column) -> Frame:  # noqa: N802, N803 PySpark's names
        return self.withColumns({colName: col})

    def withColumns(self, *columns: Mapping[str, Column]) -> Frame:  # noqa: N802 PySpark's name
        made = {name: value_of(column, self._resolve) for name, column in columns[0].items()}
        for name in made:
            self._refuse_other_case(name)
        kept = [NamedValue(each.name, self._value(each)) for each in self._columns]
        changed = [replace(each, value=made.get(each.name, each.value)) for each in kept]
        added = [NamedValue(name, value) for name, value in made.items() if name not in self.columns]
        return self._project([*changed, *added])

    def withColumnRenamed(self, existing: str, new: str) -> Frame:  # noqa: N802 PySpark's name
        return self.withColumnsRenamed({existing: new})

    def withColumnsRenamed(self, colsMap: Mapping[str, str]) -> Frame:  # noqa: N802, N803 PySpark's names
        for name in colsMap:
            self._refuse_other_case(name)
        return self._project(
            [NamedValue(colsMap.get(each.name, each.name), self._value(each)) for each in self._columns]
        )

    def toDF(self, *cols: str) -> Frame:  # noqa: N802 PySpark's name
        if len(cols) != len(self._columns):
            raise RefusedInView(f"toDF has {len(cols)} names for {len(self._columns)} columns", "name each")
        return self._project([NamedValue(n, self._value(each)) for n, each in zip(cols, self._columns, strict=True)])

    def drop(self, *cols: object) -> Frame:
        gone: set[str] = set()
        for each in cols:
            if isinstance(each, str):  # as in Spark, a name that is not there is no error
                self._refuse_other_case(each)
                gone |= {column.key for column in self._columns if column.name == each}
            else:
                found = value_of(each, self._resolve).sql.ref
                gone |= {found.key} if found is not None else set()
        return self._project(
            [NamedValue(each.name, self._value(each)) for each in self._columns if each.key not in gone]
        )

    def filter(self, condition: object) -> Frame:
        column = column_of_text(condition) if isinstance(condition, str) else condition
        value = value_of(column, self._resolve)
        if value.aggregates or value.makes_rows:
            raise RefusedInView("a condition is about one row", "compute the aggregate by groupBy().agg() before")
        relation, where, values = self._base(merged=self._query.is_plain)
        line = find_caller()
        items = self._query.items if values else self._references(line)
        query = SelectQuery(relation, items, (*where, Condition(value.sql.replace(values), line)))
        return Frame(query, self._columns)

    where = filter

    def alias(self, alias: str) -> Frame:
        columns = [replace(each, qualifiers=frozenset([alias])) for each in self._columns]
        number = next(_NUMBERS)
        return Frame(self._query, columns, number)

    def transform(self, func: Callable[..., Frame], *args: object, **kwargs: object) -> Frame:
        return func(self, *args, **kwargs)

    # ------------------------------------------------------------------ groups and joins

    def distinct(self) -> Frame:
        query = self._query
        if query.distinct or query.group is not None or any(each.makes_rows for each in query.items):
            query = self._over()
        return Frame(replace(query, distinct=True), self._columns)

    def dropDuplicates(self, subset: object = None) -> Frame:  # noqa: N802 PySpark's name
        if subset is not None:
            message = "which of several rows dropDuplicates keeps depends on the order in which they are read"
            raise RefusedInView(message, "group by these columns and take min, max, min_by or max_by of the others")
        return self.distinct()

    drop_duplicates = dropDuplicates

    def groupBy(self, *cols: object) -> FrameGroups:  # noqa: N802 PySpark's name
        return FrameGroups(self, self._named(cols))

    groupby = groupBy

    def agg(self, *exprs: object) -> Frame:
        return self.groupBy().agg(*exprs)

    def crossJoin(self, other: Frame) -> Frame:  # noqa: N802 PySpark's name
        return self.join(other, how="cross")

    def join(self, other: Frame, on: object = None, how: str | None = None) -> Frame:
        return join_frames((self, other), on, _join_kind(how, on))

    # ------------------------------------------------------------------ how a SELECT is made of another one

    def result(self) -> SelectQuery:
        """Its SELECT, in which each column has its name. Raises RefusedInView if two are one name in Spark."""
        names = self.columns
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise RefusedInView(f"two columns of the result are named `{twice}`", "select the one that is meant")
        found = self._project([NamedValue(each.name, self._value(each)) for each in self._columns])
        for each in found._columns:
            if each.key != each.name:
                message = f"another column of the result is named as `{each.name}` but for the case"
                raise RefusedInView(message, "they are one name in Spark: rename one, or select the one that is meant")
        return found._query

    def _value(self, column: FrameColumn) -> Value:
        return Value(SqlPiece((ColumnUse(self._number, column.key),)), column.name)

    def _named(self, given: Sequence[object]) -> list[NamedValue]:
        """Columns as a select list names them. Raises RefusedInView for one without a name."""
        items = given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given
        found: list[NamedValue] = []
        for each in items:
            if is_star(each):
                found += [NamedValue(column.name, self._value(column)) for column in self._columns]
                continue
            value = value_of(each, self._resolve)
            if value.name is None:
                raise RefusedInView("a column that is computed needs a name", 'write .alias("name") behind it')
            found.append(NamedValue(value.name, value))
        return found

    def _project(self, given: Sequence[NamedValue]) -> Frame:
        """A DataFrame of these columns, which are made of those of this one. Raises RefusedInView."""
        if not given:
            raise RefusedInView("no column is left", "keep those that the target has")
        if any(each.value.aggregates for each in given):
            return self.groupBy().agg_named(given)
        makes_rows = [each for each in given if each.value.makes_rows]
        if len(makes_rows) > 1:
            raise RefusedInView("two columns make several rows of one", "compute them one after the other")
        relation, where, values = self._base(merged=self._can_merge(given))
        if any(each.value.sql.replace(values).size > _LONGEST_VALUE for each in given):
            relation, where, values = self._base(merged=False)
        group = self._query.group if values else None
        line = find_caller()
        columns = list(self._columns_of(given))
        lines = {each.key: each.line for each in self._query.items}
        items = []
        for column, each in zip(columns, given, strict=True):
            ref = each.value.sql.ref
            made_by = lines.get(ref.key, line) if ref is not None and values else line
            aggregates = bool(values) and not each.value.sql.refs.isdisjoint(self._aggregates())
            items.append(Item(column.key, each.value.sql.replace(values), made_by, each.value.makes_rows, aggregates))
        return Frame(SelectQuery(relation, tuple(items), where, group), columns)

    def _can_merge(self, given: Sequence[NamedValue]) -> bool:
        """Whether the SELECT of these columns can be this one's with other columns, and so with the same rows."""
        query = self._query
        if query.group is None or query.distinct:
            return query.is_plain
        if any(each.value.makes_rows for each in given):
            return False
        # Only an aggregate makes one row of all, if there is no GROUP BY.
        return query.group != () or any(not each.value.sql.refs.isdisjoint(self._aggregates()) for each in given)

    def _aggregates(self) -> frozenset[ColumnUse]:
        """The references to columns of this one that are made by aggregates in its SELECT."""
        return frozenset(ColumnUse(self._number, each.key) for each in self._query.items if each.aggregates)

    def _columns_of(self, given: Iterable[NamedValue]) -> Iterable[FrameColumn]:
        """The columns of a new DataFrame. One that is a column of this one keeps its origins."""
        known = {each.key: each for each in self._columns}
        used: set[str] = set()
        for each in given:
            ref = each.value.sql.ref
            same = known.get(ref.key) if ref is not None and ref.relation == self._number else None
            key = free_key(each.name, used)
            origins = same.origins if same is not None else frozenset()
            yield FrameColumn(key, each.name, origins, same.qualifiers if same is not None else frozenset())

    def _base(self, *, merged: bool) -> tuple[Relation, tuple[Condition, ...], Mapping[ColumnUse, SqlPiece]]:
        """What a SELECT over this DataFrame reads: the same as its own SELECT, with the values of its columns, or that
        SELECT."""
        if merged:
            return self._query.relation, self._query.where, self._query.values(self._number)
        return SourceQuery(self._number, self._query), (), {}

    def _references(self, line: CallLocation) -> tuple[Item, ...]:
        return tuple(Item(each.key, SqlPiece((ColumnUse(self._number, each.key),)), line) for each in self._columns)

    def _over(self) -> SelectQuery:
        """A SELECT of all columns around its own."""
        return SelectQuery(SourceQuery(self._number, self._query), self._references(find_caller()))

    def _refuse_other_case(self, name: str) -> None:
        near = [each for each in self.columns if each.lower() == name.lower() and each != name]
        if near and name not in self.columns:
            raise RefusedInView(f"`{name}` and `{near[0]}` are one name in Spark", f"write `{near[0]}`")


class FrameGroups:
    """Groups of rows, of which aggregates make one row each."""

    def __init__(self, frame: Frame, keys: Sequence[NamedValue]):
        if any(each.value.aggregates or each.value.makes_rows for each in keys):
            raise RefusedInView("a key of a group is a value of each row", "compute it before groupBy")
        self._frame = frame
        self._keys = keys

    def agg(self, *exprs: object) -> Frame:
        if len(exprs) == 1 and isinstance(exprs[0], Mapping):
            message = "the columns of a dict of aggregates have no order and no names of yours"
            raise RefusedInView(message, 'write F.max("size").alias("size") and so on')
        return self.agg_named(self._frame._named(exprs))

    def agg_named(self, given: Sequence[NamedValue]) -> Frame:
        """The keys, and these aggregates. Raises RefusedInView."""
        if not given:
            raise RefusedInView("no aggregate is named", "name the columns")
        frame = self._frame
        for each in given:
            if each.value.makes_rows:
                raise RefusedInView(f"`{each.name}` makes several rows of one", "compute it before groupBy")
            if not each.value.aggregates or each.value.ungrouped:
                message = f"`{each.name}` is no aggregate, so it has several values in a group"
                raise RefusedInView(message, "group by it, or take min, max or another aggregate of it")
        relation, where, values = frame._base(merged=frame._query.is_plain)
        both = [*self._keys, *given]
        if any(each.value.sql.replace(values).size > _LONGEST_VALUE for each in both):
            relation, where, values = frame._base(merged=False)
        keys = tuple(each.value.sql.replace(values) for each in self._keys)
        if keys and not any(each.refs for each in keys):
            raise RefusedInView("all rows are one group here", "use agg without groupBy")
        line = find_caller()
        columns = list(frame._columns_of(both))
        items = [
            Item(column.key, each.value.sql.replace(values), line, aggregates=each.value.aggregates)
            for column, each in zip(columns, both, strict=True)
        ]
        return Frame(SelectQuery(relation, tuple(items), where, keys), columns)

    def count(self) -> Frame:
        return self.agg_named([NamedValue("count", Value(sql("count(1)"), "count", aggregates=True))])

    def sum(self, *cols: str) -> Frame:
        return self._each([(each, "sum") for each in cols])

    def avg(self, *cols: str) -> Frame:
        return self._each([(each, "avg") for each in cols])

    mean = avg

    def min(self, *cols: str) -> Frame:
        return self._each([(each, "min") for each in cols])

    def max(self, *cols: str) -> Frame:
        return self._each([(each, "max") for each in cols])

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        message = f"`{name}` of grouped rows is not in views"
        raise RefusedInView(message, "a view has agg, count, sum, avg, mean, min and max of them")

    def _each(self, given: Sequence[tuple[str, str]]) -> Frame:
        """One aggregate for each column, named as Spark names it."""
        return self.agg(
            *(
                column_of_text(f"{of}({quote(name) if name != '*' else '1'}) AS {quote(f'{of}({name})')}")
                for name, of in given
            )
        )


_KINDS: dict[str | None, str] = {
    **dict.fromkeys((None, "inner"), "INNER"),
    **dict.fromkeys(("left", "leftouter", "left_outer"), "LEFT"),
    **dict.fromkeys(("semi", "leftsemi", "left_semi"), "LEFT SEMI"),
    **dict.fromkeys(("anti", "leftanti", "left_anti"), "LEFT ANTI"),
    "cross": "CROSS",
}


def _join_kind(how: str | None, on: object) -> str:
    kind = _KINDS.get(how)
    if kind is None:
        message = f"a {how} join gives rows of the other table again with each step"
        raise RefusedInView(message, "a view has inner, left, semi, anti and cross joins; begin with the other table")
    if (kind == "CROSS") != (on is None):
        raise RefusedInView("a join needs its condition in `on`, and a cross join has none", 'write how="cross"')
    return kind


def join_frames(sides: tuple[Frame, Frame], on: object, kind: str) -> Frame:
    """Two DataFrames joined, the first of which gives the rows that run through the view."""
    left, right = sides
    if not isinstance(right, Frame):
        raise RefusedInView(f"a {type(right).__name__} is no DataFrame of this view", "name its table in sources=[…]")
    if left._number == right._number:
        raise RefusedInView("a DataFrame is joined with itself", 'write .alias("a") and .alias("b") for the two')
    shared = [on] if isinstance(on, str) else list(on) if isinstance(on, (list, tuple)) else []
    names = [each for each in shared if isinstance(each, str)]
    line = find_caller()
    relation, where, values = left._base(merged=left._query.is_plain)
    other, moved = _right_side(right)
    values = {**values, **moved}
    conditions = [_equal(left, right, each) for each in names]
    conditions += [
        value_of(each, _both(left, right)).sql
        for each in ([on] if isinstance(on, Column) else shared)
        if isinstance(each, Column)
    ]
    condition = sql(*_between(" AND ", [each.replace(values) for each in conditions])) if conditions else None
    joined = SourceJoin(relation, other, kind, condition, line)
    columns, items = _joined_columns(sides, names, kind, line)
    return Frame(
        SelectQuery(joined, tuple(replace(each, sql=each.sql.replace(values)) for each in items), where), columns
    )


def _right_side(right: Frame) -> tuple[SourceTable | SourceQuery, dict[ColumnUse, SqlPiece]]:
    """What is joined, under a number that nothing else has, and the values of its columns."""
    number = next(_NUMBERS)
    query = right._query
    if query.is_plain and not query.where and isinstance(query.relation, SourceTable):
        plain = {each.key: each.sql.ref for each in query.items}
        if all(plain.values()):
            values = {
                ColumnUse(right._number, key): SqlPiece((ColumnUse(number, ref.key),))
                for key, ref in plain.items()
                if ref
            }
            return SourceTable(number, query.relation.name), values
    values = {ColumnUse(right._number, each.key): SqlPiece((ColumnUse(number, each.key),)) for each in query.items}
    return SourceQuery(number, query), values


def _joined_columns(
    sides: tuple[Frame, Frame], names: Sequence[str], kind: str, line: CallLocation
) -> tuple[list[FrameColumn], list[Item]]:
    """The columns of a join: those that both sides were joined by stand first, once."""
    left, right = sides
    shared = [left._find((each,), None)[0] for each in names]
    rest = [each for each in left._columns if each not in shared]
    found = [(left, each) for each in (*shared, *rest)]
    if kind not in ("LEFT SEMI", "LEFT ANTI"):
        found += [(right, each) for each in right._columns if each.name not in names]
    columns: list[FrameColumn] = []
    items: list[Item] = []
    used: set[str] = set()
    for frame, each in found:
        key = free_key(each.name, used)
        columns.append(replace(each, key=key))
        items.append(Item(key, SqlPiece((ColumnUse(frame._number, each.key),)), line))
    return columns, items


def _equal(left: Frame, right: Frame, name: str) -> SqlPiece:
    return sql(left._resolve((name,), None), " = ", right._resolve((name,), None))


def _both(left: Frame, right: Frame) -> Resolve:
    """Names of either side."""
    both = [(left, each) for each in left._columns] + [(right, each) for each in right._columns]

    def resolve(parts: Sequence[str], frame: int | None) -> SqlPiece:
        column, fields = _find_column([each for _, each in both], parts, frame)
        owner = next(side for side, each in both if each is column)
        return _field(SqlPiece((ColumnUse(owner._number, column.key),)), fields)

    return resolve


def _find_column(
    columns: Sequence[FrameColumn], parts: Sequence[str], frame: int | None
) -> tuple[FrameColumn, Sequence[str]]:
    """The column that a name means, and the fields behind it. Raises RefusedInView."""
    name, fields = parts[0], parts[1:]
    if frame is not None:
        found = [each for each in columns if (frame, name) in each.origins]
    else:
        found = [each for each in columns if each.name == name]
        qualified = [each for each in columns if name in each.qualifiers and fields and each.name == fields[0]]
        if qualified:
            found, fields = qualified, fields[1:]
    if len(found) > 1:
        message = f"`{'.'.join(parts)}` may be any of {len(found)} columns"
        raise RefusedInView(message, 'give the DataFrames an .alias("a") and write "a.column"')
    if found:
        return found[0], fields
    names = list(dict.fromkeys(each.name for each in columns))
    if frame is not None and name in names:
        message = f"`{name}` is of a DataFrame in which it was another column"
        raise RefusedInView(message, f'write F.col("{name}") for the column that is there now')
    raise RefusedInView(f"there is no column `{'.'.join(parts)}`", did_you_mean(name, names) or "see .columns")


def _field(column: SqlPiece, fields: Sequence[str]) -> SqlPiece:
    for each in fields:
        column = sql(column, f"[{text_literal(each)}]")
    return column


def _between(separator: str, pieces: Sequence[SqlPiece]) -> list[str | SqlPiece]:
    found: list[str | SqlPiece] = []
    for each in pieces:
        found += [separator, each] if found else [each]
    return found


def free_key(name: str, used: set[str]) -> str:
    """A name that none of these is, in any case; it is one of them afterwards."""
    key, number = name, 1
    while key.lower() in used:
        number += 1
        key = f"{name}_{number}"
    used.add(key.lower())
    return key
