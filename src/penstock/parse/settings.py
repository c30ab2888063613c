"""Parses `penstock.toml` to `Settings`.

In: the file's text. Out: `Settings`, and a located problem for each key that is unknown or has a wrong value.
Invariant: a wrong value is left out and its default is used, so the settings are always complete and valid.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, get_args

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.pipe import Dialect
from penstock.model.quick_dataclass import dataclass
from penstock.model.settings import (
    BackfillSettings,
    CopySettings,
    DeploySettings,
    FlowSettings,
    ImportSettings,
    InboxSettings,
    LogFormat,
    MaintenanceSettings,
    PostgresSettings,
    PythonSettings,
    ServerSettings,
    Settings,
    SinkSettings,
    SparkSettings,
    StateSettings,
    StoreSettings,
    TraceSettings,
)
from penstock.parse.unsafe_settings import find_unsafe_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS_FILE = "penstock.toml"
MODULE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
WEB_ADDRESS = r"https?://[^\s/?#][^\s?#]*"
ORIGIN = r"\*|https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?"
MEMORY = r"[1-9][0-9]*[kmgtKMGT]"
STRATEGIES = ("in_place", "reuse", "bridge", "forward", "recompute")
"""The strategies that can be requested."""
STORE_TYPES = ("penstock", "clickhouse", "iceberg")


class _WrongValue(ValueError):
    """A setting has a wrong value; carries what was expected."""


SettingCheck: TypeAlias = Callable[[Any], Any]
SettingChecks: TypeAlias = Mapping[str, "SettingCheck | SettingChecks | NamedTables"]


@dataclass(frozen=True, slots=True)
class NamedTables:
    """The check of a table of tables that users name; each must have some keys."""

    checks: SettingChecks
    make: Callable[..., Any]
    required: tuple[str, ...] = ()


def parse_settings(text: str, file: str, problems: list[Problem]) -> Settings:
    """The settings of a file, with defaults for the keys that it does not have."""
    try:
        document = tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        before, _, place = str(error).rpartition("(at ")
        message = before.rstrip() if place.endswith(")") and before else str(error)
        problems.append(Problem("invalid-toml", message, error_location(str(error), text, file)))
        return Settings()
    places = find_locations(text, file)
    found = _SettingsReader(places, problems).table((), document, SETTINGS)
    tables = {name: make(**found.pop(name, {})) for name, make in TABLES.items()}
    settings = Settings(**found, **tables)
    problems += [
        Problem("unsafe-setting", each.message, places.value(each.path), each.hint)
        for each in find_unsafe_settings(settings)
    ]
    return settings


class _SettingsReader:
    """Reads one TOML document to settings, and collects its problems."""

    def __init__(self, places: TomlLocations, problems: list[Problem]):
        self._places = places
        self._problems = problems

    def table(self, path: TomlPath, values: Mapping[str, Any], checks: SettingChecks) -> dict[str, Any]:
        """The valid values of a table."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            check = checks.get(name)
            here = (*path, name)
            if check is None:
                self._unknown(here, checks)
            elif isinstance(check, Mapping):
                if self._is_table(here, value):
                    found[name] = self.table(here, value, check)
            elif isinstance(check, NamedTables):
                found[name] = self._named_tables(here, value, check) if self._is_table(here, value) else {}
            else:
                found.update(self._checked(here, value, check))
        return found

    def _named_tables(self, path: TomlPath, values: Mapping[str, Any], tables: NamedTables) -> dict[str, Any]:
        """A value for each table that has what is required."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            here = (*path, name)
            read = self.table(here, value, tables.checks) if self._is_table(here, value) else {}
            missing = [each for each in tables.required if each not in read]
            if not missing:
                found[name] = tables.make(**read)
            elif isinstance(value, dict) and not set(missing) & set(value):
                message = f"`{'.'.join(here)}` needs a `{missing[0]}`"
                self._problems.append(Problem("invalid-setting", message, self._places.key(here)))
        return found

    def _checked(self, path: TomlPath, value: Any, check: SettingCheck) -> dict[str, Any]:
        try:
            return {path[-1]: check(value)}
        except _WrongValue as wrong:
            message = f"`{'.'.join(path)}` must be {wrong}"
            self._problems.append(Problem("invalid-setting", message, self._places.value(path)))
            return {}

    def _is_table(self, path: TomlPath, value: Any) -> bool:
        if not isinstance(value, dict):
            message = f"`{'.'.join(path)}` must be a table"
            place = self._places.value(path)
            self._problems.append(Problem("invalid-setting", message, place, f"write `[{'.'.join(path)}]`"))
        return isinstance(value, dict)

    def _unknown(self, path: TomlPath, known: Mapping[str, object]) -> None:
        hint = did_you_mean(path[-1], known)
        message = f"unknown setting `{'.'.join(path)}`"
        self._problems.append(Problem("unknown-setting", message, self._places.key(path), hint))


def check_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _WrongValue("a text in quotes")
    return value


def check_web_address(value: Any) -> str:
    text = check_text(value)
    if not re.fullmatch(WEB_ADDRESS, text):
        raise _WrongValue('an address such as "http://127.0.0.1:4318"')
    return text


def check_origins(value: Any) -> tuple[str, ...]:
    origins = check_texts(value)
    if not all(re.fullmatch(ORIGIN, each) for each in origins):
        raise _WrongValue('a list of origins such as "https://app.example.org", without a path, or "*"')
    return origins


def check_module(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(MODULE, value):
        raise _WrongValue('the name of a module such as "app.main"')
    return value


def check_memory(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(MEMORY, value):
        raise _WrongValue('an amount of memory such as "2g" or "512m"')
    return value


def check_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongValue("true or false")
    return value


def check_dialect(value: Any) -> str:
    if value not in get_args(Dialect):
        raise _WrongValue('"clickhouse" or "spark"')
    return str(value)


def check_log_format(value: Any) -> str:
    if value not in get_args(LogFormat):
        raise _WrongValue('"text" or "json"')
    return str(value)


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The check of a whole number."""

    low: int
    high: int

    def __call__(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise _WrongValue(f"a whole number from {self.low} to {self.high}")
        return value


def check_texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _WrongValue("a list of texts in quotes")
    return tuple(value)


def check_properties(value: Any) -> dict[str, str]:
    """Texts by name. An unquoted name with dots is one name here, not nested tables."""
    if not isinstance(value, dict):
        raise _WrongValue("a table of texts")
    return dict(_flatten(value))


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flatten(inner, f"{prefix}{name}.")
        elif isinstance(inner, str):
            yield prefix + name, inner
        else:
            raise _WrongValue(f"a table of texts: put the value of {prefix}{name} in quotes")


def check_strategies(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(each in STRATEGIES for each in value.values()):
        raise _WrongValue(f'a table of data source = "strategy", one of {", ".join(STRATEGIES)}')
    return dict(value)


def check_store_type(value: Any) -> str:
    if value not in STORE_TYPES:
        raise _WrongValue("one of " + ", ".join(f'"{each}"' for each in STORE_TYPES))
    return str(value)


_MANY = 10**12
_YEARS = 100 * 366 * 86_400
TABLES: Mapping[str, Callable[..., Any]] = {
    "server": ServerSettings,
    "spark": SparkSettings,
    "python": PythonSettings,
    "state": StateSettings,
    "deploy": DeploySettings,
    "flow": FlowSettings,
    "backfill": BackfillSettings,
    "inbox": InboxSettings,
    "copies": CopySettings,
    "imports": ImportSettings,
    "sinks": SinkSettings,
    "traces": TraceSettings,
    "maintenance": MaintenanceSettings,
    "postgres": PostgresSettings,
}
SETTINGS: SettingChecks = {
    "dialect": check_dialect,
    "server": {
        "host": check_text,
        "port": NumberRange(0, 65535),
        "max_query_seconds": NumberRange(1, 86_400),
        "max_result_rows": NumberRange(1, _MANY),
        "max_result_bytes": NumberRange(1, _MANY),
        "max_body_bytes": NumberRange(2**20, _MANY),
        "max_body_seconds": NumberRange(1, 86_400),
        "max_connections": NumberRange(1, 1_000_000),
        "allowed_origins": check_origins,
        "log_format": check_log_format,
    },
    "spark": {
        "master": check_text,
        "driver_memory": check_memory,
        "packages": check_texts,
        "conf": check_properties,
        "class_archive": check_flag,
    },
    "catalog": check_properties,
    "python": {
        "module": check_module,
        "max_seconds": NumberRange(1, 3_600),
        "max_bytes": NumberRange(2**28, 2**62),
        "handlers": check_flag,
        "handler_processes": NumberRange(1, 64),
        "handler_seconds": NumberRange(1, 3_600),
        "handler_bytes": NumberRange(2**28, 2**62),
    },
    "state": {"url": check_text},
    "deploy": {
        "rollback_window_hours": NumberRange(0, 24 * 365),
        "candidate_inbox_bytes": NumberRange(1, 2**62),
        "candidate_snapshots": NumberRange(100, 2**31),
        "candidate_stalled_hours": NumberRange(1, 24 * 3650),
        "materialize_bytes": NumberRange(0, 2**62),
        "max_lag_seconds": NumberRange(1, 86_400),
        "strategy": check_strategies,
    },
    "flow": {
        "max_step_rows": NumberRange(1, _MANY),
        "max_step_bytes": NumberRange(1, _MANY),
        "max_step_seconds": NumberRange(1, 86_400),
        "live_steps": NumberRange(2, 256),
        "staging_step_seconds": NumberRange(1, 86_400),
    },
    "backfill": {
        "max_bytes_per_second": NumberRange(1, _MANY),
        "yield_after_seconds": NumberRange(1, 86_400),
        "own_process_bytes": NumberRange(0, _MANY * 1000),
    },
    "inbox": {
        "folder": check_text,
        "min_free_bytes": NumberRange(0, _MANY),
        "max_pending_bytes": NumberRange(1, _MANY),
    },
    "copies": {
        "private_hosts": check_texts,
        "max_read_bytes": NumberRange(1, _MANY),
        "max_read_seconds": NumberRange(1, 86_400),
    },
    "imports": {"folders": check_texts},
    "sinks": {"folders": check_texts},
    "traces": {"endpoint": check_web_address},
    "maintenance": {
        "interval_seconds": NumberRange(1, 86_400),
        "compact_files": NumberRange(2, 100_000),
        "compact_small_bytes": NumberRange(1, _MANY),
        "compact_target_bytes": NumberRange(1, _MANY),
        "compact_run_bytes": NumberRange(1, _MANY),
        "snapshot_seconds": NumberRange(0, _YEARS),
        "max_snapshots": NumberRange(1, 10_000),
        "reader_seconds": NumberRange(0, 604_800),
        "ttl_seconds": NumberRange(1, _YEARS),
        "orphan_interval_seconds": NumberRange(1, _YEARS),
        "orphan_seconds": NumberRange(3_600, _YEARS),
        "inbox_seconds": NumberRange(0, _YEARS),
        "log_seconds": NumberRange(60, _YEARS),
        "deployment_seconds": NumberRange(60, _YEARS),
        "key_seconds": NumberRange(60, _YEARS),
        "audit_seconds": NumberRange(60, _YEARS),
        "call_seconds": NumberRange(60, _YEARS),
        "call_rows": NumberRange(100, 1_000_000),
    },
    "postgres": {
        "dsn": check_text,
        "schemas": check_texts,
        "migrations": check_text,
        "delete_after_hours": NumberRange(0, 24 * 3650),
        "keep_aside": check_flag,
    },
    "stores": NamedTables(
        {
            "type": check_store_type,
            "url": check_text,
            "database": check_text,
            "user": check_text,
            "password": check_text,
            "namespace": check_text,
            "catalog": check_properties,
            "tables": check_properties,
        },
        StoreSettings,
        ("type",),
    ),
}


TomlPath: TypeAlias = tuple[str, ...]

_PART = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*(?P<path>{_DOTTED})\s*\]")
_PAIR = re.compile(rf"\s*(?P<path>{_DOTTED})\s*=\s*(?P<value>\S?)")
_ERROR_LOCATION = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True, slots=True)
class TomlLocations:
    """The places of the keys of a TOML document, and of their values."""

    file: str
    keys: dict[TomlPath, Location]
    values: dict[TomlPath, Location]

    def key(self, path: TomlPath) -> Location:
        """The place of a key or of a table's name."""
        return _nearest_location(self.keys, path, self.file)

    def value(self, path: TomlPath) -> Location:
        """The place of the value of a key."""
        return self.values.get(path) or self.key(path)


def find_locations(text: str, file: str) -> TomlLocations:
    """The places of all keys of a TOML text."""
    places = TomlLocations(file, {}, {})
    table: TomlPath = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header, pair = _HEADER.match(line), _PAIR.match(line)
        found = header or pair
        if found is None:
            continue
        path = _split_path(found["path"])
        if header:
            table, path = path, ()
        full = table + path
        place = Location(file, number, found.start("path") + 1)
        for length in range(1, len(full) + 1):
            places.keys.setdefault(full[:length], place)
        if pair and not header:
            places.values.setdefault(full, Location(file, number, pair.start("value") + 1))
    return places


def error_location(message: str, text: str, file: str) -> Location:
    """The place that an error message of `tomllib` names; the end of the text if it names none."""
    found = _ERROR_LOCATION.search(message)
    if found:
        return Location(file, int(found[1]), int(found[2]))
    lines = text.split("\n")
    return Location(file, len(lines), len(lines[-1]) + 1)


def _split_path(path: str) -> TomlPath:
    return tuple(part.strip("\"'") for part in re.findall(_PART, path))


def _nearest_location(places: dict[TomlPath, Location], path: TomlPath, file: str) -> Location:
    while path and path not in places:
        path = path[:-1]
    return places.get(path, Location(file))
