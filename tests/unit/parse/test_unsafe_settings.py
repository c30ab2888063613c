"""Settings that would lose rows are refused, with their place and what to set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import Problem
from penstock.model.settings import InboxSettings, Settings, SparkSettings, StateSettings
from penstock.parse.settings import parse_settings
from penstock.parse.unsafe_settings import find_unsafe_settings

CLUSTER = Settings(
    spark=SparkSettings(master="spark://h:7077"),
    catalog={"type": "jdbc", "uri": "jdbc:postgresql://h/lake", "warehouse": "s3a://b/w"},
    state=StateSettings(url="postgresql://u:p@h/db"),
    inbox=InboxSettings(folder="/mnt/inbox"),
)


def refused(text: str) -> list[Problem]:
    problems: list[Problem] = []
    parse_settings(text, "penstock.toml", problems)
    return problems


@pytest.mark.parametrize("master", ["spark://h:7077", "yarn", "k8s://https://h:6443"])
def test_a_cluster_with_files_of_this_machine_is_refused(master: str) -> None:
    found = refused(f'[spark]\nmaster = "{master}"\n')
    assert [each.code for each in found] == ["unsafe-setting"] * 4
    assert {str(each.location) for each in found} == {"penstock.toml:2:10"}
    for wanted in ("`warehouse` in [catalog]", "`uri` in [catalog]", "`url` in [state]", "`folder` in [inbox]"):
        assert any(wanted in (each.hint or "") for each in found), wanted


@pytest.mark.parametrize("master", ["local", "local[*]", "local[4]", "local-cluster[2,1,1024]"])
def test_a_local_master_needs_nothing_else(master: str) -> None:
    assert refused(f'[spark]\nmaster = "{master}"\n') == []


def test_a_cluster_with_shared_storage_is_accepted() -> None:
    assert find_unsafe_settings(CLUSTER) == ()
    rest = replace(CLUSTER, catalog={"type": "rest", "uri": "http://h:8181"})
    assert find_unsafe_settings(rest) == ()
    assert find_unsafe_settings(replace(rest, catalog={**rest.catalog, "warehouse": "main"})) == ()


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        (replace(CLUSTER, catalog={**CLUSTER.catalog, "warehouse": "file:///w"}), ("catalog", "warehouse")),
        (replace(CLUSTER, catalog={**CLUSTER.catalog, "warehouse": "/srv/w"}), ("catalog", "warehouse")),
        (replace(CLUSTER, catalog={**CLUSTER.catalog, "warehouse": "data/w"}), ("catalog", "warehouse")),
        (replace(CLUSTER, catalog={**CLUSTER.catalog, "warehouse": "FILE:///w"}), ("catalog", "warehouse")),
        (replace(CLUSTER, catalog={**CLUSTER.catalog, "uri": "jdbc:sqlite:file:/c.db"}), ("catalog", "uri")),
        (replace(CLUSTER, catalog={"warehouse": "s3a://b/w"}), ("spark", "master")),
        (replace(CLUSTER, state=StateSettings(url="sqlite:////s.db")), ("state", "url")),
        (replace(CLUSTER, state=StateSettings(url="sqlite+pysqlite:////s.db")), ("state", "url")),
        (replace(CLUSTER, inbox=InboxSettings()), ("spark", "master")),
    ],
)
def test_each_part_of_a_cluster_must_be_shared(changed: Settings, path: tuple[str, ...]) -> None:
    assert [each.path for each in find_unsafe_settings(changed)] == [path]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('[spark.conf]\n"spark.master" = "yarn"\n', "set `master` in [spark]"),
        ('[spark.conf]\n"spark.sql.catalog.lake.warehouse" = "s3a://b"\n', "set `warehouse` in [catalog]"),
        ('[catalog]\ntype = "hadoop"\nwarehouse = "s3a://b"\n', "one of jdbc, rest, hive, glue"),
        ('[catalog]\n"catalog-impl" = "org.example.Catalog"\n', "set `type` instead"),
        ('[catalog]\ntype = "rest"\n', "set `uri` in [catalog]"),
        ('[catalog]\ntype = "glue"\n', 'set `warehouse` in [catalog], such as "s3a://bucket/warehouse"'),
    ],
)
def test_a_catalog_that_only_one_library_would_see_is_refused(text: str, hint: str) -> None:
    assert [(each.code, each.hint) for each in refused(text)] == [("unsafe-setting", hint)]
