"""Finds settings that are valid one by one and together would lose rows, or would be half ignored.

In: the settings of a project. Out: `UnsafeSetting` values that say what to set instead. Invariant: with settings
that pass, Spark's executors, PyIceberg and the server see the same tables and the same raw rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.quick_dataclass import dataclass
from penstock.model.settings import Settings

CATALOG_TYPES = ("jdbc", "rest", "hive", "glue")
"""The types that Iceberg's Java library and PyIceberg know by the same name."""
POSTGRES_HINT = "docs/postgres.md shows how to put it into Postgres"
_SPARK_CATALOG = "spark.sql.catalog.lake"
"""The prefix of the catalog's properties among Spark's (`lake/spark/names.py`)."""


@dataclass(frozen=True, slots=True)
class UnsafeSetting:
    """A setting that is refused: its keys from the root of the file, why, and what to do."""

    path: tuple[str, ...]
    message: str
    hint: str


def find_unsafe_settings(settings: Settings) -> tuple[UnsafeSetting, ...]:
    """The settings that are refused."""
    found = [*_check_spark_conf(settings), *_check_catalog(settings)]
    if not settings.spark.master.startswith("local"):
        found += _check_cluster(settings)
    return tuple(found)


def _check_spark_conf(settings: Settings) -> Iterator[UnsafeSetting]:
    """What Penstock has settings of its own for must be set there: set for Spark only, PyIceberg would not see it."""
    for name in settings.spark.conf:
        path = ("spark", "conf", name)
        if name == "spark.master":
            yield UnsafeSetting(path, "`spark.master` is not set in [spark.conf]", "set `master` in [spark]")
        elif name == _SPARK_CATALOG or name.startswith(f"{_SPARK_CATALOG}."):
            property_name = name.removeprefix(_SPARK_CATALOG).lstrip(".") or "type"
            message = f"`{name}` would reach Spark, and not PyIceberg, which reads the same catalog"
            yield UnsafeSetting(path, message, f"set `{property_name}` in [catalog]")


def _check_catalog(settings: Settings) -> Iterator[UnsafeSetting]:
    catalog = settings.catalog
    kind = catalog.get("type", "jdbc")
    if kind not in CATALOG_TYPES:
        known = ", ".join(CATALOG_TYPES)
        yield UnsafeSetting(("catalog", "type"), f"a catalog of type `{kind}` is not supported", f"one of {known}")
    elif "catalog-impl" in catalog:
        message = "`catalog-impl` is a Java class, and PyIceberg reads the same catalog"
        yield UnsafeSetting(("catalog", "catalog-impl"), message, "set `type` instead")
    elif kind in ("rest", "hive") and "uri" not in catalog:
        yield UnsafeSetting(("catalog",), f"a catalog of type `{kind}` has no `uri`", "set `uri` in [catalog]")
    elif kind in ("hive", "glue") and "warehouse" not in catalog:
        message = f"a catalog of type `{kind}` has no `warehouse`"
        yield UnsafeSetting(("catalog",), message, 'set `warehouse` in [catalog], such as "s3a://bucket/warehouse"')


def _check_cluster(settings: Settings) -> Iterator[UnsafeSetting]:
    """Executors on other machines would write files to their own disks, and the commits would succeed."""
    master, catalog = settings.spark.master, settings.catalog
    kind, place = (
        catalog.get("type", "jdbc"),
        catalog.get("warehouse", "" if catalog.get("type") == "rest" else "file:"),
    )
    why = f"with `{master}`, which is not a local Spark,"
    if _is_on_this_machine(place, kind):
        message = f"{why} the executors would write tables to their own disks: the warehouse is a local folder"
        hint = 'set `warehouse` in [catalog] to storage that all machines share, such as "s3a://bucket/warehouse"'
        yield UnsafeSetting(_given(settings, "warehouse"), message, hint)
    if kind == "jdbc" and not catalog.get("uri", "").startswith("jdbc:postgresql:"):
        message = f"{why} the catalog cannot be an SQLite file"
        yield UnsafeSetting(_given(settings, "uri"), message, f"set `uri` in [catalog]: {POSTGRES_HINT}")
    if (settings.state.url or "sqlite:").startswith("sqlite"):
        path = ("state", "url") if settings.state.url else ("spark", "master")
        message = f"{why} the state store cannot be an SQLite file"
        yield UnsafeSetting(path, message, f"set `url` in [state]: {POSTGRES_HINT}")
    if settings.inbox.folder is None:
        message = f"{why} the executors cannot read the raw rows: the inbox is a folder of this machine"
        hint = "set `folder` in [inbox] to a folder that all machines share"
        yield UnsafeSetting(("spark", "master"), message, hint)


def _is_on_this_machine(place: str, kind: str) -> bool:
    """Whether a warehouse is a local path. Only a REST catalog has warehouses that are plain names."""
    scheme, colon, _ = place.partition(":")
    if colon:
        return scheme.lower() == "file"
    return place.startswith(("/", ".")) or kind != "rest"


def _given(settings: Settings, name: str) -> tuple[str, ...]:
    """The place of a property of the catalog; that of the master if the property has its default."""
    return ("catalog", name) if name in settings.catalog else ("spark", "master")
