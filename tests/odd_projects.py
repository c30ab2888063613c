"""Hypothesis strategies for projects whose names and queries are odd, and for edits that may be wrong.

Where `project_strategies` draws edits that always work, an `OddProject` may be anything that parses: columns such as
`user-id`, `@timestamp`, reserved words and names that differ in case; both dialects; natural joins, samples, tuples
whose fields move or go, engine Null, templates, defaults that depend on columns or fail or differ at each read,
RENAMED_FROM in circles; and an edit may leave a query broken.
Only the first version of a project compiles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from penstock.model.project import Project
from penstock.parse.project_loader import load_files

TUPLE, TUPLES = "Tuple(lat Float64, lon Float64)", "Array(Tuple(a UInt8, b UInt8))"
NAMES = ("user-id", "@timestamp", "$url", "größe", "select", "Mixed", "mixed", "from", "x", "名前", "key", "k", "a#b")
"""Names of columns that need quotes, or that a plain text search does not see whole."""
NEXT_TYPES = {
    "UInt32": ("UInt64", "String", "Nullable(UInt32)"),
    "String": ("LowCardinality(String)", "Nullable(String)"),
    "DateTime": ("DateTime64(3)", "DateTime('Asia/Tokyo')"),
    "Date": ("Date32",),
    "Float32": ("Float64",),
    TUPLE: (
        "Tuple(lon Float64, lat Float64)",
        "Tuple(lat Float64, lon Float64, alt Float32)",
        "Tuple(lat Float64, long Float64)",
    ),
    TUPLES: ("Array(Tuple(b UInt8, a UInt16))", "Array(Tuple(a UInt8, c UInt8))"),
}
"""Types of columns, and the types that an edit gives them."""
ENGINES = ("MergeTree", "Null", "ReplacingMergeTree")
SHAPES = (
    "grouped",
    "filtered by a sample",
    "joined",
    "joined with the last",
    "joined using",
    "sampled itself",
    "field",
    "cast to a tuple",
    "spark",
    "spark natural",
    "nodes",
    "stacked",
    "template",
    "star",
    "shadowing",
    "date",
)


@dataclass(frozen=True)
class OddColumn:
    """A column as it is written; `path` None: it has no JSON path and a DEFAULT."""

    name: str
    type: str
    path: str | None
    default: str | None = None
    former: str | None = None

    @property
    def text(self) -> str:
        every = "[:]" if self.type.startswith("Array") else ""
        path = f" `json:$.{self.path}{every}`" if self.path is not None else ""
        default = f" DEFAULT {self.default}" if self.default else ""
        former = f" RENAMED_FROM `{self.former}`" if self.former else ""
        return f"`{self.name}` {self.type}{path}{default}{former}"


@dataclass(frozen=True)
class OddQuery:
    """A materialized view into a table of its own, or an endpoint, over `ev` and `dim`."""

    shape: str
    first: OddColumn
    second: OddColumn
    endpoint: bool = False
    constant: int = 0

    @property
    def dialect(self) -> str:
        return "spark" if self.shape.startswith("spark") else "clickhouse"


@dataclass(frozen=True)
class OddProject:
    """A project before it is text."""

    columns: tuple[OddColumn, ...]
    queries: tuple[OddQuery, ...]
    dim: tuple[OddColumn, ...] = (
        OddColumn("k", "UInt64", "k"),
        OddColumn("label", "String", "l"),
        OddColumn("user-id", "String", "u"),
    )
    dim_name: str = "dim"
    dim_engine: str = "MergeTree"
    engine: str = "MergeTree"
    sampling: str = "k"
    forward: str | None = None
    ttl: str | None = None

    @property
    def files(self) -> dict[str, str]:
        """The files by path."""
        found = {"ev.datasource": self._ev(), f"{self.dim_name}.datasource": self._dim()}
        for number, query in enumerate(self.queries):
            pipes = _query_files(number, query)
            found |= {path: re.sub(r"\bdim\b", self.dim_name, text) for path, text in pipes.items()}
        return found

    @property
    def project(self) -> Project | None:
        """The project; None where its files do not parse."""
        loaded = load_files(self.files)
        return None if loaded.errors else loaded.project

    def _ev(self) -> str:
        forward = f"FORWARD_QUERY >\n    {self.forward}\n" if self.forward else ""
        ttl = f"ENGINE_TTL {self.ttl}\n" if self.ttl else ""
        number = next((each.name for each in self.columns if each.type == "UInt32"), None)
        key = f"ENGINE_SORTING_KEY `{number}`\nENGINE_SAMPLING_KEY `{number}`\n" if number else ""
        settings = f"{key or 'ENGINE_SORTING_KEY tuple()'}\n{ttl}" if self.engine != "Null" else ""
        return f"{_schema(self.columns)}ENGINE {self.engine}\n{settings}{forward}"

    def _dim(self) -> str:
        key = f"ENGINE_SORTING_KEY {self.sampling}\nENGINE_SAMPLING_KEY {self.sampling}\n"
        former = "" if self.dim_name == "dim" else "RENAMED_FROM dim\n"
        return f"{former}{_schema(self.dim)}ENGINE {self.dim_engine}\n{'' if self.dim_engine == 'Null' else key}"


def _schema(columns: tuple[OddColumn, ...]) -> str:
    return "SCHEMA >\n    " + ",\n    ".join(column.text for column in columns) + "\n\n"


def _query_files(number: int, query: OddQuery) -> dict[str, str]:
    nodes = _nodes(number, query)
    body = "".join(f"NODE n{at}\nSQL >\n    {sql}\n\n" for at, sql in enumerate(nodes))
    ending = "TYPE endpoint\n" if query.endpoint else f"TYPE materialized\nDATASOURCE t{number}\n"
    pipe = {f"q{number}.pipe": f"DIALECT {query.dialect}\n\n{body}{ending}"}
    if query.endpoint:
        return pipe
    schema = _schema((OddColumn("key", "String", None), OddColumn("n", "UInt64", None)))
    return pipe | {f"t{number}.datasource": f"{schema}ENGINE MergeTree\nENGINE_SORTING_KEY key\n"}


def _nodes(number: int, query: OddQuery) -> list[str]:
    """The SQL of the nodes. Each result has the columns `key` and `n`, except `star` of an endpoint."""
    shape = query.shape
    if shape == "template" and query.endpoint:
        return [f"%\n    SELECT {{{{column(by, '{query.first.name}')}}}} AS key, {_number(query)} AS n FROM ev"]
    if shape == "star" and query.endpoint:
        return ["SELECT * FROM ev"]
    if shape == "sampled itself" and query.endpoint and query.first.type == "UInt32":
        return [f"SELECT {_as_text(query.first)} AS key, {_number(query)} AS n FROM ev SAMPLE 1/2"]
    if shape == "stacked" and number and not query.endpoint:
        return [f"SELECT key, n + {_number(query)} AS n FROM t{number - 1}"]
    if shape == "nodes":
        below = f"SELECT `{query.first.name}` AS x1 FROM ev WHERE isNotNull(`{query.second.name}`)"
        return [below, f"SELECT {_as_text(query.first, name='x1')} AS key, {_number(query)} AS n FROM n0"]
    return [_joined_select(query) or _plain_select(query)]


def _joined_select(query: OddQuery) -> str | None:
    """The SELECT of a shape that reads `dim`."""
    first, also, one = _as_text(query.first), _as_text(query.second), _number(query)
    match query.shape:
        case "filtered by a sample":
            chosen = "(SELECT toString(k) FROM dim SAMPLE 1/2)"
            return f"SELECT {first} AS key, {one} AS n FROM ev WHERE {also} IN {chosen}"
        case "joined":
            joined = f"dim AS d ON {_as_text(query.second, 'e.')} = d.label"
            return f"SELECT {_as_text(query.first, 'e.')} AS key, d.k AS n FROM ev AS e JOIN {joined}"
        case "joined using" if (query.second.name, query.second.type) in (("k", "UInt32"), ("user-id", "String")):
            return f"SELECT {first} AS key, k AS n FROM ev JOIN dim USING (`{query.second.name}`)"
        case "joined with the last" if query.endpoint:
            return "SELECT label AS key, k AS n FROM dim FINAL"
        case "joined with the last":
            return f"SELECT {first} AS key, {one} AS n FROM ev WHERE {also} IN (SELECT label FROM dim FINAL)"
        case "spark natural":
            return f"SELECT CAST({_swapped(query.first)} AS STRING) AS key, k AS n FROM ev NATURAL JOIN dim"
        case _:
            return None


def _plain_select(query: OddQuery) -> str:
    """The SELECT of a shape that reads only `ev`."""
    first, also, one = _as_text(query.first), _as_text(query.second), _number(query)
    match query.shape:
        case "spark":
            n = f"CAST({query.constant} AS BIGINT)"
            return f"SELECT CAST({_swapped(query.first)} AS STRING) AS key, {n} AS n FROM ev"
        case "field" if query.first.type.startswith("Tuple"):
            return f"SELECT toString(`{query.first.name}`.lat) AS key, {one} AS n FROM ev"
        case "field" if query.first.type.startswith("Array"):
            return f"SELECT toString(`{query.first.name}`.b) AS key, {one} AS n FROM ev"
        case "cast to a tuple" if query.first.type.startswith("Tuple"):
            cast = f"CAST(`{query.first.name}`, 'Tuple(lon Float64, lat Float64)')"
            return f"SELECT toString({cast}.1) AS key, {one} AS n FROM ev"
        case "star":
            return f"SELECT {first} AS key, {one} AS n FROM (SELECT * FROM ev)"
        case "shadowing":
            return f"SELECT upper({also}) AS key, toUInt64(length(key)) + {one} AS n FROM ev"
        case "date" if query.first.type.startswith("Date"):
            day = f"`{query.first.name}`"
            return f"SELECT toString(toStartOfWeek({day})) AS key, toUInt64(toYear(addDays({day}, 1))) AS n FROM ev"
        case _:
            return f"SELECT {first} AS key, toUInt64(count()) + {one} AS n FROM ev GROUP BY key"


def _number(query: OddQuery) -> str:
    return f"toUInt64({query.constant})"


def _swapped(column: OddColumn) -> str:
    """The name with capital letters for small ones: in Spark it is the same."""
    return f"`{''.join(each.swapcase() if each.isascii() else each for each in column.name)}`"


def _as_text(column: OddColumn, table: str = "", name: str | None = None) -> str:
    value = f"{table}`{name or column.name}`"
    if column.type.startswith("Array"):
        return f"toString({value}[1].1)"
    return f"toString({value}.1)" if column.type.startswith("Tuple") else f"toString({value})"


@st.composite
def odd_projects(draw: st.DrawFn) -> OddProject:
    """A project that parses; it may not compile, as two of its names may be one in Spark."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    columns = [OddColumn(name, draw(st.sampled_from(sorted(NEXT_TYPES))), f"p{at}") for at, name in enumerate(names)]
    if draw(st.booleans()):
        columns.append(OddColumn("made", "String", None, _dependent_default(draw(st.sampled_from(columns)))))
    if draw(st.integers(0, 3)) == 0:
        columns.append(OddColumn("twice", "String", None, f"concat({_as_text(columns[-1])}, '')"))
    queries = [draw(_query(tuple(columns))) for _ in range(draw(st.integers(1, 3)))]
    engine = draw(st.sampled_from(("MergeTree", "MergeTree", *ENGINES)))
    return OddProject(tuple(columns), tuple(queries), dim_engine=draw(_engine_for(queries)), engine=engine)


def _dependent_default(column: OddColumn) -> str:
    return f"lower({_as_text(column)})"


@st.composite
def _query(draw: st.DrawFn, columns: tuple[OddColumn, ...]) -> OddQuery:
    read = st.sampled_from(columns)
    return OddQuery(draw(st.sampled_from(SHAPES)), draw(read), draw(read), draw(st.integers(0, 2)) == 0)


def _engine_for(queries: Sequence[OddQuery]) -> st.SearchStrategy[str]:
    """An engine of `dim` that the queries work with."""
    shapes = {query.shape for query in queries}
    if "joined with the last" in shapes:
        return st.just("ReplacingMergeTree")
    return st.sampled_from(ENGINES if "filtered by a sample" not in shapes else ("MergeTree", "ReplacingMergeTree"))


@st.composite
def odd_edits(draw: st.DrawFn, project: OddProject) -> OddProject:
    """The project after one to three edits."""
    columns = tuple(replace(column, former=None) for column in project.columns)
    project = replace(project, columns=columns, forward=None)
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=3)):
        project = draw(edit(project))
    return project


@st.composite
def _add(draw: st.DrawFn, project: OddProject) -> OddProject:
    name = draw(st.sampled_from(NAMES))
    if any(column.name == name for column in project.columns):
        return project
    of = draw(st.sampled_from(["Nullable(String)", "String", "UInt32"]))
    source = project.columns[0]
    texts = (
        None,
        "'7'",
        _dependent_default(source),
        "toString(generateUUIDv4())",
        f"toString(toUUID({_as_text(source)}))",
    )
    default = draw(st.sampled_from(texts)) if of == "String" else None
    path = None if default and draw(st.booleans()) else f"n{len(project.columns)}"
    return replace(project, columns=(*project.columns, OddColumn(name, of, path, default)))


@st.composite
def _drop(draw: st.DrawFn, project: OddProject) -> OddProject:
    gone = draw(st.sampled_from(project.columns))
    left = tuple(column for column in project.columns if column != gone)
    return replace(project, columns=left) if len(left) > 1 else project


@st.composite
def _rename(draw: st.DrawFn, project: OddProject) -> OddProject:
    """A column under another name; the queries may or may not follow."""
    old, name = draw(st.sampled_from(project.columns)), draw(st.sampled_from(NAMES))
    if any(column.name == name for column in project.columns):
        return project
    return _with_column(project, old, replace(old, name=name, former=old.name), draw(st.booleans()))


@st.composite
def _swap(draw: st.DrawFn, project: OddProject) -> OddProject:
    """Two columns exchange their names, or one takes the name of another, which goes."""
    one, other = draw(st.sampled_from(project.columns)), draw(st.sampled_from(project.columns))
    if one == other:
        return project
    taken = replace(one, name=other.name, former=one.name)
    given = replace(other, name=one.name, former=other.name)
    drops = draw(st.booleans())
    others = [each for each in project.columns if each not in (one, other)]
    if others and draw(st.booleans()):
        return _shift(project, one, other, draw(st.sampled_from(others)))
    columns = [taken if each == one else given if each == other else each for each in project.columns]
    return replace(project, columns=tuple(each for each in columns if not (drops and each == given)))


def _shift(project: OddProject, *moved: OddColumn) -> OddProject:
    """Each of the columns takes the name of the next one, the last that of the first."""
    names = [*(each.name for each in moved[1:]), moved[0].name]
    new = {each.name: replace(each, name=name, former=each.name) for each, name in zip(moved, names, strict=True)}
    return replace(project, columns=tuple(new.get(each.name, each) for each in project.columns))


@st.composite
def _retype(draw: st.DrawFn, project: OddProject) -> OddProject:
    old = draw(st.sampled_from(project.columns))
    of = draw(st.sampled_from(NEXT_TYPES.get(old.type, ("String",))))
    return _with_column(project, old, replace(old, type=of), draw(st.booleans()))


@st.composite
def _recompute(draw: st.DrawFn, project: OddProject) -> OddProject:
    old = draw(st.sampled_from(project.columns))
    value = f"lower(toString(`{old.name}`))"
    text = draw(st.sampled_from([f"SELECT * REPLACE ({value} AS `{old.name}`)", f"SELECT *, {value} AS fresh"]))
    if "REPLACE" in text and old.type == "String":
        return replace(project, forward=text)
    if any(column.name == "fresh" for column in project.columns):
        return project
    fresh = OddColumn("fresh", "String", None, "''")
    return replace(project, columns=(*project.columns, fresh), forward=f"SELECT *, {value} AS fresh")


@st.composite
def _refill(draw: st.DrawFn, project: OddProject) -> OddProject:
    """Another JSON path or another DEFAULT."""
    old = draw(st.sampled_from(project.columns))
    if old.path is None or draw(st.booleans()):
        if old.type not in ("String", "LowCardinality(String)"):
            return project
        other = draw(st.sampled_from(project.columns))
        default = None if old.default and old.path else _dependent_default(other) if other != old else "'d'"
        return _with_column(project, old, replace(old, default=default), True)
    return _with_column(project, old, replace(old, path=f"{old.path}x"), True)


@st.composite
def _dim(draw: st.DrawFn, project: OddProject) -> OddProject:
    """The dimension's engine, sampling key, name or columns."""
    match draw(st.integers(0, 4)):
        case 0:
            return replace(project, dim_engine=draw(st.sampled_from(ENGINES)))
        case 1:
            return replace(project, sampling=draw(st.sampled_from(["k", "cityHash64(label)", "intHash64(k)"])))
        case 2:
            name = draw(st.sampled_from([*NAMES, *(column.name for column in project.columns)]))
            if any(column.name == name for column in project.dim):
                return project
            return replace(project, dim=(*project.dim, OddColumn(name, "Nullable(String)", f"d{len(project.dim)}")))
        case 3:
            return replace(project, dim_name="places")
        case _:
            return replace(project, dim=project.dim[:-1] if len(project.dim) > 2 else project.dim)


@st.composite
def _queries(draw: st.DrawFn, project: OddProject) -> OddProject:
    at = draw(st.integers(0, len(project.queries)))
    new = draw(_query(project.columns))
    if at == len(project.queries):
        return replace(project, queries=(*project.queries, new))
    if draw(st.booleans()):
        new = replace(project.queries[at], constant=project.queries[at].constant + 1)
    return replace(project, queries=(*project.queries[:at], new, *project.queries[at + 1 :]))


@st.composite
def _engine(draw: st.DrawFn, project: OddProject) -> OddProject:
    """The landing table's engine or TTL."""
    times = [column.name for column in project.columns if column.type.startswith("Date")]
    if not times or draw(st.booleans()):
        return replace(project, engine=draw(st.sampled_from(ENGINES)))
    return replace(project, ttl=f"`{draw(st.sampled_from(times))}` + INTERVAL 3 YEAR" if project.ttl is None else None)


EDITS = (_add, _drop, _rename, _swap, _retype, _recompute, _refill, _dim, _queries, _engine)


def _with_column(project: OddProject, old: OddColumn, new: OddColumn, followed: bool) -> OddProject:
    """One column replaced, in the queries too if these follow."""

    def read(column: OddColumn) -> OddColumn:
        return new if followed and column.name == old.name else column

    queries = (replace(each, first=read(each.first), second=read(each.second)) for each in project.queries)
    columns = tuple(new if column == old else column for column in project.columns)
    return replace(project, columns=columns, queries=tuple(queries))
