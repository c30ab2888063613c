"""A body without any JSON is refused with what is wrong with it; beside other lines such a line is in quarantine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from penstock.deploy.ingest.event_ingestion import EventIngestion
from penstock.errors import InvalidRequest
from penstock.parse.project_loader import load_files
from penstock.plan.planner import PlanOptions, make_plan

FILES = {
    "datasources/issues.datasource": "SCHEMA >\n    id UInt64\n",
    "datasources/labels.datasource": "SCHEMA >\n    id UInt64,\n    label String,\n    colour String\n",
}
DEEP = b'{"id": ' + b"[" * 200 + b"]" * 200 + b"}"


@pytest.fixture
def ingestion() -> EventIngestion:
    manifest = make_plan(None, load_files(FILES).project, PlanOptions("d1")).manifest
    live = SimpleNamespace(manifest=manifest, state="live")
    board = SimpleNamespace(running=SimpleNamespace(deployments=(live,)))
    return EventIngestion(board, *[SimpleNamespace()] * 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (DEEP, "its first line: objects and arrays are nested more than"),
        ('{"id": 1, "é": 2}'.encode("latin-1"), "its first line: not UTF-8 text"),
        (b"<id>1</id>\n<id>2</id>", "its first line: not JSON: Expecting value"),
        (b" \n\n", "it has no line"),
    ],
)
def test_the_error_says_what_is_wrong(ingestion: EventIngestion, body: bytes, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^the body holds no JSON; {reason}"):
        ingestion.examine("issues", body)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"id,label\n1,a", "CSV"),
        (b'"id"; "label"; "other"; "colour"\n', "CSV"),
        (b"1x\ta\tred", "CSV"),
        (b"PAR1\x15\x04\x15,,", "Parquet"),
    ],
)
def test_a_file_of_another_kind_is_recognised(ingestion: EventIngestion, body: bytes, kind: str) -> None:
    place = f"POST /v0/datasources?name=labels&mode=append&format={kind.lower()}"
    with pytest.raises(InvalidRequest) as raised:
        ingestion.examine("labels", body)
    assert raised.value.message == f"the body holds no JSON; it seems to be {kind}, which {place} takes"


@pytest.mark.parametrize("body", [b'{"id": 1, "label": "a", "colour": "x"', b"[1, 2, 3", b"some text, and more", b"id"])
def test_what_may_be_anything_is_not(ingestion: EventIngestion, body: bytes) -> None:
    with pytest.raises(InvalidRequest, match=r"^the body holds no JSON; its first line: not JSON"):
        ingestion.examine("labels", body)


def test_beside_json_it_is_a_row_that_does_not_fit(ingestion: EventIngestion) -> None:
    assert ingestion.examine("issues", DEEP + b'\n{"id": 1}')[2] == (1, 1)
    assert ingestion.examine("issues", DEEP + b"\n3")[2] == (0, 2)
