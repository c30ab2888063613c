"""Connections, and data sources that name them."""

from __future__ import annotations

import pytest

from penstock.model.external_tables import NamedConnection
from penstock.parse.project_loader import load_files
from penstock.plan.diff.changes import MetadataChanged
from penstock.plan.diff.project_diff import diff_projects

TOPIC = "SCHEMA >\n    a Int8\nKAFKA_CONNECTION_NAME {}\nKAFKA_TOPIC t\nKAFKA_GROUP_ID g\n"
KAFKA = 'TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS b:9092\nKAFKA_SECRET {{ tb_secret("S") }}\n'


def problems(connection: str, name: str = "k") -> list[tuple[str, str, str]]:
    loaded = load_files({"k.connection": connection, "x.datasource": TOPIC.format(name)})
    return [(each.code, each.level, str(each.hint)) for each in loaded.problems]


def test_a_connection_of_kafka() -> None:
    loaded = load_files({"k.connection": KAFKA, "x.datasource": TOPIC.format("k")})
    assert loaded.problems == ()
    options = (("KAFKA_BOOTSTRAP_SERVERS", "b:9092"), ("KAFKA_SECRET", '{{ tb_secret("S") }}'))
    assert loaded.connections == {"k": NamedConnection("k", "kafka", options)}


@pytest.mark.parametrize(
    ("connection", "code", "level"),
    [
        ("TYPE kafka\n", "missing-directive", "error"),
        (f"{KAFKA}KAFKA_SASL_MECHANISM GSSAPI\n", "invalid-value", "error"),
        (f"{KAFKA}KAFKA_SECURITY_PROTOCOL SASL\n", "invalid-value", "error"),
        (f"{KAFKA}KAFKA_BOOTSTRAP b\n", "unknown-keyword", "error"),
    ],
)
def test_what_is_wrong_with_a_connection(connection: str, code: str, level: str) -> None:
    assert [(found, how) for found, how, _ in problems(connection)] == [(code, level)]


def test_a_connection_that_is_not_there_is_a_warning_with_the_nearest_name() -> None:
    [(code, level, hint)] = problems(KAFKA, "kk")
    assert (code, level) == ("unknown-connection", "warning")
    assert "`k`" in hint
    assert [code for code, _, _ in problems("TYPE s3\n")] == ["unknown-connection"]
    assert [code for code, _, _ in problems("TYPE hubspot\nANY thing\n")] == ["unsupported-file", "unknown-connection"]


def test_two_data_sources_that_read_a_topic_in_one_group_are_a_warning() -> None:
    """The later one would begin where the earlier has got to, whatever its file says."""
    files = {"k.connection": KAFKA, "x.datasource": TOPIC.format("k"), "y.datasource": TOPIC.format("k")}
    [problem] = load_files(files).problems
    assert (problem.code, problem.level, problem.location and problem.location.file) == (
        "shared-group", "warning", "y.datasource",
    )  # fmt: skip
    files["y.datasource"] = files["y.datasource"].replace("GROUP_ID g", "GROUP_ID h")
    assert load_files(files).problems == ()


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        ("x.datasource", TOPIC.format("k")),
        ("x.pipe", "NODE n\nSQL >\n    SELECT 1 AS a\nTYPE sink\nEXPORT_CONNECTION_NAME k\nEXPORT_KAFKA_TOPIC t\n"),
    ],
)
def test_a_change_of_a_connection_is_one_of_what_names_it(resource: str, text: str) -> None:
    before, after, same = (
        load_files({"k.connection": each, resource: text}).project
        for each in (KAFKA, KAFKA.replace("b:9092", "c:9092"), f"DESCRIPTION ours\n{KAFKA}")
    )
    [change] = diff_projects(before, after)
    assert isinstance(change, MetadataChanged)
    assert (change.resource, change.what) == ("x", ("topic" if resource == "x.datasource" else "sink",))
    assert diff_projects(before, same) == ()
    assert "tb_secret" not in repr(after)
