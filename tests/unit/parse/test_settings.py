"""`penstock.toml`: defaults, values, and the places of keys."""

from __future__ import annotations

from penstock.errors import Problem
from penstock.model.settings import Settings, secret_values
from penstock.parse.settings import find_locations, parse_settings


def read(text: str) -> Settings:
    problems: list[Problem] = []
    found = parse_settings(text, "penstock.toml", problems)
    assert problems == []
    return found


def test_nothing_is_the_defaults() -> None:
    settings = read("")
    assert settings == Settings()
    assert (settings.dialect, settings.server.host, settings.server.port) == ("clickhouse", "127.0.0.1", 7180)
    assert (settings.spark.master, settings.spark.packages, settings.state.url) == ("local[*]", None, None)
    assert settings.deploy.rollback_window_hours == 24


def test_names_with_dots_are_names() -> None:
    settings = read('[spark.conf]\nspark.ui.enabled = "false"\n"spark.a" = "b"\n')
    assert settings.spark.conf == {"spark.ui.enabled": "false", "spark.a": "b"}


def test_windows_lines() -> None:
    assert read('dialect = "spark"\r\n[server]\r\nport = 1\r\n').server.port == 1


def test_a_wrong_value_leaves_the_rest() -> None:
    problems: list[Problem] = []
    settings = parse_settings('[server]\nport = "x"\nhost = "0.0.0.0"\n', "penstock.toml", problems)
    assert (settings.server.host, settings.server.port, len(problems)) == ("0.0.0.0", 7180, 1)


def test_when_the_inbox_refuses() -> None:
    found = read("[inbox]\nmin_free_bytes = 0\nmax_pending_bytes = 1000\n").inbox
    assert (found.min_free_bytes, found.max_pending_bytes) == (0, 1000)
    assert (read("").inbox.min_free_bytes, read("").inbox.max_pending_bytes) == (256 * 2**20, 64 * 2**30)
    problems: list[Problem] = []
    parse_settings("[inbox]\nmin_free_bytes = -1\n", "penstock.toml", problems)
    assert [str(problem.location) for problem in problems] == ["penstock.toml:2:18"]


def test_places() -> None:
    places = find_locations('a.b = 1\n[c."d.e"]\n  f = 2\n', "x.toml")
    assert str(places.value(("a", "b"))) == "x.toml:1:7"
    assert str(places.key(("c",))) == "x.toml:2:2"
    assert str(places.key(("c", "d.e", "f"))) == "x.toml:3:3"
    assert str(places.value(("c", "d.e", "g"))) == "x.toml:2:2"
    assert str(places.key(("z",))) == "x.toml:1:1"


def test_maintenance() -> None:
    found = read("[maintenance]\ninterval_seconds = 5\nsnapshot_seconds = 0\n").maintenance
    assert (found.interval_seconds, found.snapshot_seconds, found.compact_files) == (5, 0, 32)
    problems: list[Problem] = []
    parse_settings("[maintenance]\norphan_seconds = 60\ncompact_file = 3\n", "penstock.toml", problems)
    assert [(each.code, str(each.location)) for each in problems] == [
        ("invalid-setting", "penstock.toml:2:18"),
        ("unknown-setting", "penstock.toml:3:1"),
    ]


def test_stores_are_named_by_users() -> None:
    found = read(
        '[postgres]\nschemas = ["public", "app"]\n'
        '[stores.warehouse]\ntype = "clickhouse"\nurl = "http://u:pw42@h:8123"\n'
        '[stores.lake]\ntype = "iceberg"\ncatalog.uri = "sqlite:///x"\n'
        '[stores.lake.tables]\n"public.issues" = "tickets"\n'
    )
    assert found.postgres.schemas == ("public", "app")
    assert (found.stores["warehouse"].type, found.stores["warehouse"].database) == ("clickhouse", "default")
    assert found.stores["lake"].catalog == {"uri": "sqlite:///x"}
    assert found.stores["lake"].tables == {"public.issues": "tickets"}
    assert secret_values(found) == ("pw42",)


def test_problems_of_stores_have_their_places() -> None:
    problems: list[Problem] = []
    text = '[stores]\na = 1\n[stores.b]\nurl = "http://h"\n[stores.c]\ntype = "oracle"\nurll = "x"\n'
    assert parse_settings(text, "penstock.toml", problems).stores == {}
    assert [(str(each.location), each.message) for each in problems] == [
        ("penstock.toml:2:5", "`stores.a` must be a table"),
        ("penstock.toml:3:2", "`stores.b` needs a `type`"),
        ("penstock.toml:6:8", '`stores.c.type` must be one of "penstock", "clickhouse", "iceberg"'),
        ("penstock.toml:7:1", "unknown setting `stores.c.urll`"),
    ]
