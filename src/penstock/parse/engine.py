"""Parses the ENGINE directives of a data source to an `Engine`.

In: the directives by keyword, and the columns. Out: an `Engine`, and every problem of its options. Invariant: each
column that the engine names exists, and each option belongs to the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import Column
from penstock.model.engine import ENGINES, Engine
from penstock.model.types import Bool, Date, DateTime, DateTime64, Int, Type
from penstock.parse.datafile import Entry
from penstock.parse.lexer import lex, location_at, split_at_commas
from penstock.parse.sql_syntax.engine_keys import (
    KeyPart,
    check_columns,
    check_sampling,
    check_sortable,
    column_name,
    expression_tokens,
    key_parts,
    parse_expression,
)
from penstock.parse.ttl import parse_ttl_rules

_KEYS = ("ENGINE_PARTITION_KEY", "ENGINE_SORTING_KEY", "ENGINE_PRIMARY_KEY", "ENGINE_SAMPLING_KEY")
_COMMON_OPTIONS = (*_KEYS, "ENGINE_TTL", "ENGINE_SETTINGS")
_ENGINE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "ReplacingMergeTree": ("ENGINE_VER", "ENGINE_IS_DELETED"),
    "SummingMergeTree": ("ENGINE_COLUMNS",),
    "CollapsingMergeTree": ("ENGINE_SIGN",),
    "VersionedCollapsingMergeTree": ("ENGINE_SIGN", "ENGINE_VERSION"),
}
_REQUIRED_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "CollapsingMergeTree": ("ENGINE_SIGN",),
    "VersionedCollapsingMergeTree": ("ENGINE_SIGN", "ENGINE_VERSION"),
}
_REQUIRED_TYPES: Mapping[str, Type] = {"ENGINE_SIGN": Int(8), "ENGINE_IS_DELETED": Int(8, signed=False)}
_VERSIONS = (Int, Bool, Date, DateTime, DateTime64)
_COLUMN_OPTIONS = ("ENGINE_VER", "ENGINE_IS_DELETED", "ENGINE_SIGN", "ENGINE_VERSION")
_UNSUPPORTED_SETTINGS = {
    "allow_tuple_element_aggregation": "merges the elements of tuples",
    "non_replicated_deduplication_window": "drops rows that are inserted again",
}
"""Settings that change what a query answers; all others are kept and change nothing."""
_ABSENT_ENGINES = {
    "Join": "write ReplacingMergeTree with the key as ENGINE_SORTING_KEY, and LEFT ANY JOIN it instead of joinGet",
}
"""What to write instead of engines that there are in ClickHouse only."""

ENGINE_KEYWORDS = (
    "ENGINE",
    *_COMMON_OPTIONS,
    *dict.fromkeys(option for options in _ENGINE_OPTIONS.values() for option in options),
)


def parse_engine(directives: Mapping[str, Entry], columns: Sequence[Column], problems: list[Problem]) -> Engine:
    """The engine of a data source; MergeTree where the file names none."""
    name = _parse_name(directives.get("ENGINE"), problems)
    options = _parse_options(name, directives, problems)
    keys = {key: _parse_key(options, key, columns, problems) for key in _KEYS}
    named = {key: _parse_column(options, key, columns, problems) for key in _COLUMN_OPTIONS}
    summed = _parse_key(options, "ENGINE_COLUMNS", columns, problems)
    problems.extend(_check_keys(keys, columns))
    problems.extend(_check_summed(summed, columns, keys["ENGINE_SORTING_KEY"]))
    problems.extend(_check_column_options(options, named, keys["ENGINE_SORTING_KEY"]))
    return Engine(
        name=name,
        partition_key=_key_texts(keys["ENGINE_PARTITION_KEY"]),
        sorting_key=_key_texts(keys["ENGINE_SORTING_KEY"]),
        primary_key=_key_texts(keys["ENGINE_PRIMARY_KEY"]),
        sampling_key=next(iter(_key_texts(keys["ENGINE_SAMPLING_KEY"])), None),
        ttl=_parse_ttl(options.get("ENGINE_TTL"), columns, problems),
        settings=_parse_settings(options.get("ENGINE_SETTINGS"), problems),
        ver=_column_name(named["ENGINE_VER"]),
        is_deleted=_column_name(named["ENGINE_IS_DELETED"]),
        sign=_column_name(named["ENGINE_SIGN"]),
        version=_column_name(named["ENGINE_VERSION"]),
        summed=tuple(column_name(each.text.text) for each in summed),
        locations=tuple((key, directives[key].location) for key in ENGINE_KEYWORDS if key in directives),
    )


def _parse_name(entry: Entry | None, problems: list[Problem]) -> str:
    if entry is None or not entry.value.text:
        return "MergeTree"
    name = entry.value.text
    known = next((each for each in ENGINES if each.lower() == name.lower()), None)
    if known is not None:
        return known
    bare = name.partition("(")[0].strip()
    hint = f"did you mean `{bare}`?" if bare in ENGINES else _ABSENT_ENGINES.get(bare) or did_you_mean(bare, ENGINES)
    problems.append(Problem("unknown-engine", f"unknown engine `{name}`", entry.value.location, hint))
    return "MergeTree"


def _parse_options(name: str, directives: Mapping[str, Entry], problems: list[Problem]) -> dict[str, Entry]:
    """The options that have a value and belong to the engine."""
    options = {key: entry for key, entry in directives.items() if key.startswith("ENGINE_") and entry.value.text}
    engine = directives.get("ENGINE")
    problems.extend(_check_options(name, options, engine))
    misplaced = set(_misplaced_options(name, options, engine))
    return {key: entry for key, entry in options.items() if key not in misplaced}


def _check_options(name: str, options: Mapping[str, Entry], engine: Entry | None) -> Iterator[Problem]:
    for key in _misplaced_options(name, options, engine):
        owners = ", ".join(of for of, own in _ENGINE_OPTIONS.items() if key in own)
        hint = f"it is an option of {owners}" if owners else f"{name} keeps no rows"
        yield Problem("engine-option", f"{name} has no {key}", options[key].location, hint)
    for key in _REQUIRED_OPTIONS.get(name, ()):
        if key not in options and engine is not None:
            yield Problem("missing-directive", f"{name} needs {key}", engine.location, "the name of a column")
    if "ENGINE_IS_DELETED" in options and "ENGINE_VER" not in options:
        entry = options["ENGINE_IS_DELETED"]
        yield Problem("engine-option", "ENGINE_IS_DELETED needs ENGINE_VER", entry.location, "the name of a column")


def _misplaced_options(name: str, options: Mapping[str, Entry], engine: Entry | None) -> Iterator[str]:
    """The options that the engine does not have; none where the file names an unknown engine."""
    known = () if name == "Null" else (*_COMMON_OPTIONS, *_ENGINE_OPTIONS.get(name, ()))
    is_known = engine is None or engine.value.text.lower() in ("", name.lower())
    return (key for key in options if is_known and key not in known)


def _parse_key(
    options: Mapping[str, Entry], key: str, columns: Sequence[Column], problems: list[Problem]
) -> tuple[KeyPart, ...]:
    if key not in options:
        return ()
    parts = key_parts(options[key].value, problems)
    for each in parts:
        problems.extend(check_columns(each, columns))
    return parts


def _parse_column(
    options: Mapping[str, Entry], key: str, columns: Sequence[Column], problems: list[Problem]
) -> Column | None:
    """The one column that an option names."""
    if key not in options:
        return None
    value = options[key].value
    found = parse_expression(value, problems)
    if found is None:
        return None
    wrong = list(check_columns(found, columns))
    column = next((each for each in columns if each.name == found.text.text), None)
    if column is None and not wrong:
        wrong = [Problem("unknown-column", f"{key} is the name of a column, not `{value.text}`", value.location)]
    problems.extend(wrong)
    return column


def _check_keys(keys: Mapping[str, tuple[KeyPart, ...]], columns: Sequence[Column]) -> Iterator[Problem]:
    for each in keys["ENGINE_SORTING_KEY"]:
        yield from check_sortable(each, columns)
    primary, sorting = keys["ENGINE_PRIMARY_KEY"], keys["ENGINE_SORTING_KEY"]
    for at, each in enumerate(primary if sorting else ()):
        if at >= len(sorting) or expression_tokens(each.text.text) != expression_tokens(sorting[at].text.text):
            message = f"`{each.text.text}` is not part {at + 1} of the sorting key"
            hint = "the primary key is the sorting key or its beginning"
            yield Problem("invalid-key", message, each.text.location, hint)
    yield from check_sampling(keys["ENGINE_SAMPLING_KEY"], primary or sorting, columns)


def _check_column_options(
    options: Mapping[str, Entry], named: Mapping[str, Column | None], sorting: Sequence[KeyPart]
) -> Iterator[Problem]:
    for key, column in named.items():
        wanted = _REQUIRED_TYPES.get(key)
        if column is not None and wanted is not None and column.type != wanted:
            message = f"{key} needs a column of type {wanted}; `{column.name}` is {column.type}"
            yield Problem("engine-option", message, options[key].value.location)
    yield from _check_versions(options, named)
    ver = named["ENGINE_VER"]
    for each in sorting:
        if ver is not None and each.text.text == ver.name:
            message = f"ENGINE_VER `{ver.name}` cannot be in the sorting key"
            hint = "rows of one sorting key replace each other by it"
            yield Problem("invalid-key", message, each.text.location, hint)


def _check_summed(
    summed: Sequence[KeyPart], columns: Sequence[Column], sorting: Sequence[KeyPart]
) -> Iterator[Problem]:
    """Problems of ENGINE_COLUMNS, which must name columns outside the sorting key."""
    names, keys = {column.name for column in columns}, {each.text.text for each in sorting}
    for each in summed:
        if each.text.text in keys:
            message = f"`{each.text.text}` is in the sorting key: it cannot be summed"
            yield Problem("engine-option", message, each.text.location, "remove it from ENGINE_COLUMNS")
        elif column_name(each.text.text) not in names and all(name in names for name, _ in each.names):
            message = f"ENGINE_COLUMNS are names of columns, not `{each.text.text}`"
            yield Problem("engine-option", message, each.text.location)


def _check_versions(options: Mapping[str, Entry], named: Mapping[str, Column | None]) -> Iterator[Problem]:
    """Problems of version columns: a version is compared, so ClickHouse requires an integer, a date or a time."""
    for key in ("ENGINE_VER", "ENGINE_VERSION"):
        column = named[key]
        if column is not None and not isinstance(column.type, _VERSIONS):
            message = f"{key} needs a whole number or a time; `{column.name}` is {column.type}"
            yield Problem("engine-option", message, options[key].value.location, "such as UInt64 or DateTime")


def _parse_ttl(entry: Entry | None, columns: Sequence[Column], problems: list[Problem]) -> str | None:
    """The expression without the DELETE that may follow it; if there are several rules, all of them."""
    rules = parse_ttl_rules(entry.value, columns, problems) if entry is not None else ()
    if entry is None or not rules:
        return None
    return rules[0].until.text if len(rules) == 1 and rules[0].where is None else entry.value.text


def _parse_settings(entry: Entry | None, problems: list[Problem]) -> tuple[tuple[str, str], ...]:
    """`name = value, …`."""
    if entry is None:
        return ()
    settings: list[tuple[str, str]] = []
    for name, *rest in split_at_commas(lex(entry.value.text)):
        if name.kind == "word" and len(rest) > 2 and rest[0].says("="):
            value = "".join(each.value for each in rest[1:-1])
            settings.append((name.text, value))
            if name.text in _UNSUPPORTED_SETTINGS and value not in ("0", "false"):
                message = f"the setting `{name.text}` is not supported: it {_UNSUPPORTED_SETTINGS[name.text]}"
                problems.append(Problem("engine-option", message, location_at(entry.value, name.start), "leave it out"))
        else:
            where, hint = location_at(entry.value, name.start), "such as `index_granularity = 8192`"
            problems.append(Problem("engine-option", "expected `name = value, …` in ENGINE_SETTINGS", where, hint))
    return tuple(settings)


def _key_texts(parts: Sequence[KeyPart]) -> tuple[str, ...]:
    return tuple(each.text.text for each in parts)


def _column_name(column: Column | None) -> str | None:
    return column.name if column else None
