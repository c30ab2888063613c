"""What each call takes: the types of its arguments, found by asking the compiler, never written down.

In: `Form`s. Out: `Signature`s: columns of the table of every type that a call compiles with, and the type it gives.
Invariant: every signature compiled; a function without one cannot be tried, and `untried_names` says so.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TypeAlias, cast

from tests.differential.typed.call_forms import OF_CHANCE, SPECIAL, Form, aggregate_forms, function_forms
from tests.differential.typed.every_type import COLUMNS, TABLES

import penstock
from penstock.errors import InvalidQuery, Location
from penstock.model import types as t
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.table import AGGREGATES
from penstock.sql.compile import compile_sql
from penstock.sql.functions.table import FUNCTIONS
from penstock.sql.query import Query

SAME_TYPE = {"js": "s", "url": "s", "num": "s", "mo": "s", "g64": "f64", "z64": "f64"}
"""Columns of other values of a type that another column has."""
KINDS_OF_COLUMNS = tuple(name for name in COLUMNS if name not in SAME_TYPE and name != "id")
_CRASHES: dict[str, str] = {}
FEW_COLUMNS = (
    "u8",
    "ni64",
    "f64",
    "nf",
    "d18",
    "s",
    "lcn",
    "dd",
    "nt3",
    "ip4",
    "ai",
    "ani",
    "as_",
    "ans",
    "af",
    "m",
    "tn",
)
"""What the arguments of aggregates with a combinator are varied over."""
_MOST_FORMS = 4
_STRINGS = tuple(name for name in (*SAME_TYPE, "s") if COLUMNS[name].written == "String")


@dataclass(frozen=True)
class Signature:
    """A call that compiles: with these columns, to this type."""

    form: Form
    columns: tuple[str, ...]
    gives: Type


ByName: TypeAlias = Mapping[str, Sequence[Signature]]


@dataclass(frozen=True)
class Signatures:
    """All of them by the function; scalar ones also by the family that they give, and of their first argument."""

    of: ByName
    giving: Mapping[str, ByName]
    taking: Mapping[str, ByName]
    aggregates: ByName
    crashes: Mapping[str, str]
    """Calls at which the compiler broke down instead of refusing them, with the error."""


@lru_cache(maxsize=1)
def project() -> Project:
    """The tables of every type."""
    columns = tuple(Column(name, each.type, location=Location("w.datasource")) for name, each in COLUMNS.items())
    return Project.of([DataSource(name, columns, Engine()) for name in TABLES], [])


def compiled(sql: str) -> Query:
    """Raises InvalidQuery."""
    return compile_sql(project(), Text(sql, Location("q.sql")), "clickhouse")


def result_types(calls: Sequence[str]) -> list[Type | None]:
    """What each call gives; None where the compiler refuses it. Many are compiled at once."""
    found: list[Type | None] = [None] * len(calls)
    for start in range(0, len(calls), 40):
        places = list(range(start, min(start + 40, len(calls))))
        for place, of in zip(*_accepted([calls[each] for each in places], places), strict=True):
            found[place] = of
    return found


def _accepted(calls: list[str], places: list[int]) -> tuple[list[int], list[Type]]:
    """Those that compile, by their places; a problem names the line of the call that it is in."""
    while calls:
        try:
            query = compiled(
                "SELECT 1\n, " + "\n, ".join(f"{call} AS c{at}" for at, call in enumerate(calls)) + "\nFROM w"
            )
        except InvalidQuery as error:
            bad = {each.location.line - 2 for each in error.problems if each.location and each.location.line}
            if not bad & set(range(len(calls))):
                return _one_by_one(calls, places)
            keep = [at for at in range(len(calls)) if at not in bad]
            calls, places = [calls[at] for at in keep], [places[at] for at in keep]
        except Exception:
            return _one_by_one(calls, places)
        else:
            return places, [of for _, of in query.columns[1:]]
    return [], []


def _one_by_one(calls: list[str], places: list[int]) -> tuple[list[int], list[Type]]:
    kept, types = [], []
    for call, place in zip(calls, places, strict=True):
        try:
            types.append(compiled(f"SELECT {call} AS c FROM w").columns[0][1])
            kept.append(place)
        except InvalidQuery:
            continue
        except Exception as error:
            _CRASHES[call] = repr(error)
    return kept, types


def family(of: Type) -> str:
    """What fits together as an argument: the type without its width."""
    mark = "?" if is_nullable(of) else ""
    match unwrap_type(of):
        case t.Int(signed=signed):
            return mark + ("Int" if signed else "UInt")
        case t.Array(inner):
            return f"Array({family(inner)})"
        case t.Map(key, value):
            return f"Map({family(key)}, {family(value)})"
        case t.Tuple(fields):
            return f"Tuple({', '.join(family(each) for _, each in fields)})"
        case bare:
            return mark + type(bare).__name__ + ("32" if isinstance(bare, t.Date) and bare.wide else "")


def signatures_of(forms: Iterable[Form]) -> Iterator[Signature]:
    """All that compile with one argument varied at a time, and with all arguments of one type."""
    for form in _first_that_compile(forms):
        tried = list(dict.fromkeys(_variations(form.first, FEW_COLUMNS if "-" in form.name else KINDS_OF_COLUMNS)))
        types = result_types([form.call(columns) for columns in tried])
        yield from (Signature(form, columns, of) for columns, of in zip(tried, types, strict=True) if of is not None)


def _first_that_compile(forms: Iterable[Form]) -> list[Form]:
    """A few forms of each number of holes, with different constants."""
    kept: dict[str, Form] = {}
    waiting = iter(forms)
    while (some := list(islice(waiting, 120))) and len(kept) < _MOST_FORMS:
        types = result_types([form.call(form.first) for form in some])
        for form, of in zip(some, types, strict=True):
            if of is not None and len(kept) < _MOST_FORMS:
                kept.setdefault(form.text, form)
    return list(kept.values())


def _variations(first: tuple[str, ...], names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    yield first
    for place in range(len(first)):
        for name in names:
            yield (*first[:place], name, *first[place + 1 :])
    if len(first) > 1:
        yield from ((name,) * len(first) for name in names)
        yield from ((name, _element(name), *first[2:]) for name in names if _element(name) != name)


def _element(name: str) -> str:
    """A column of the type of the elements, where there is one."""
    of = unwrap_type(COLUMNS[name].type)
    inner = of.of if isinstance(of, t.Array) else of.key if isinstance(of, t.Map) else None
    return next((each for each, column in COLUMNS.items() if column.type == inner), name)


@lru_cache(maxsize=1)
def all_signatures() -> Signatures:
    """Of every function that does not depend on chance or the time. Finding them takes a minute or two; they are kept
    in the folder for temporary files as long as the compiler and the forms are the same."""
    kept = Path(tempfile.gettempdir(), f"penstock-signatures-{_sources_hash()}.pickle")
    if kept.exists():
        return cast(Signatures, pickle.loads(kept.read_bytes()))
    found = _find_signatures()
    whole = kept.with_suffix(f".{os.getpid()}")
    whole.write_bytes(pickle.dumps(found))
    whole.replace(kept)
    return found


def _sources_hash() -> str:
    package = Path(penstock.__file__).parent
    files = [file for folder in ("sql", "parse", "model") for file in (package / folder).rglob("*.py")]
    files += [Path(__file__).with_name(f"{name}.py") for name in ("signatures", "call_forms", "every_type")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]


def _find_signatures() -> Signatures:
    scalar: dict[str, list[Signature]] = defaultdict(list)
    for name in sorted(set(FUNCTIONS) - OF_CHANCE):
        scalar[name].extend(signatures_of(function_forms(name)))
    for form in SPECIAL:
        scalar[form.name].extend(signatures_of([form]))
    found = [each for signatures in scalar.values() for each in signatures]
    giving = _grouped((family(each.gives), each) for each in found)
    taking = _grouped((family(COLUMNS[each.columns[0]].type), each) for each in found if each.columns)
    aggregates = _of_aggregates()
    return Signatures({name: each for name, each in scalar.items() if each}, giving, taking, aggregates, dict(_CRASHES))


def _grouped(pairs: Iterable[tuple[str, Signature]]) -> dict[str, dict[str, list[Signature]]]:
    grouped: dict[str, dict[str, list[Signature]]] = defaultdict(lambda: defaultdict(list))
    for key, each in pairs:
        grouped[key][each.form.name].append(each)
    return {key: dict(names) for key, names in grouped.items()}


def _of_aggregates() -> dict[str, list[Signature]]:
    found: dict[str, list[Signature]] = defaultdict(list)
    for name in AGGREGATES:
        by_ending: dict[str, list[Form]] = defaultdict(list)
        for form in aggregate_forms(name):
            by_ending[form.name].append(form)
        for ending, forms in by_ending.items():
            found[ending].extend(signatures_of(forms))
    return {name: each for name, each in found.items() if each}


def strings_like(name: str) -> tuple[str, ...]:
    """Columns of the same type as this one."""
    if COLUMNS[name].written == "String":
        return _STRINGS
    return (name, "g64", "z64") if name == "f64" else (name,)
