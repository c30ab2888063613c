"""`penstock migrations translate` on a project's folder, without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.client.project_server import read_admin_token
from penstock.errors import Failed, Unavailable
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedType
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.migration_folder import write_migrations
from penstock.postgres.migration.operation import AddColumn, DropColumn, OldRowsValue, Phase
from penstock.postgres.stores.penstock_server import PenstockServer
from penstock.postgres.stores.penstock_store import PenstockStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline
from unit.serve.sample_parity import DIFFERENT

ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")
ADD = AddColumn("b", ReplicatedType("integer"), False, "5", OldRowsValue("5"))
MIGRATION = Migration("1_flights_b", QualifiedName("public", "flights"), ONE, TWO, False, (ADD, DropColumn("old")))


@pytest.fixture
def migrated(project: Path) -> Path:
    write_migrations(project / "migrations", [MIGRATION])
    return project


def test_edits_are_shown_and_then_written(
    migrated: Path, penstock: Run, penstock_json: Callable[..., tuple[int, Any]]
) -> None:
    before = (migrated / "datasources/flights.datasource").read_text()
    code, out, _ = penstock("migrations", "translate")
    assert code == 0
    assert "+    `b` Int32 `json:$.b` DEFAULT 5" in out
    assert "post: nothing to do" in out
    assert "1 file would change (--write writes them)" in out
    assert (migrated / "datasources/flights.datasource").read_text() == before
    code, document = penstock_json("migrations", "translate", "1_flights_b", "--write")
    (shown,) = document["migrations"]
    assert (code, [each["phase"] for each in shown["phases"]]) == (0, ["pre", "post"])
    written = (migrated / "datasources/flights.datasource").read_text()
    assert written == shown["phases"][0]["files"]["datasources/flights.datasource"]
    code, document = penstock_json("migrations", "translate")
    assert (code, [each["files"] for each in document["migrations"][0]["phases"]]) == (0, [{}, {}]), (
        "it is there by now"
    )


PYTHON = """from pydantic import BaseModel
from penstock import Key, OlapTable


class Flight(BaseModel):
    a: Key[int]  # the only one


OlapTable[Flight]("flights")
"""


def test_a_project_in_python_is_edited_in_its_own_files(migrated: Path, penstock: Run) -> None:
    (migrated / "datasources/flights.datasource").unlink()
    (migrated / "app").mkdir()
    main = migrated / "app/main.py"
    main.write_bytes(PYTHON.replace("\n", "\r\n").encode())
    code, out, _ = penstock("migrations", "translate")
    assert code == 0
    assert "+    b: Int32 = 5" in out
    assert main.read_bytes() == PYTHON.replace("\n", "\r\n").encode()
    assert penstock("migrations", "translate", "--write")[0] == 0
    added = PYTHON.replace("one\n", "one\n    b: Int32 = 5\n").replace(
        "OlapTable\n", "OlapTable\nfrom penstock import Int32\n"
    )
    assert main.read_bytes() == added.replace("\n", "\r\n").encode()
    _, out, _ = penstock("migrations", "translate")
    assert "0 files would change" in out, "it is there by now"


def test_python_that_cannot_be_edited_is_told_and_nothing_is_written(
    migrated: Path, penstock_json: Callable[..., tuple[int, Any]]
) -> None:
    (migrated / "datasources/flights.datasource").unlink()
    (migrated / "app").mkdir()
    main = migrated / "app/main.py"
    main.write_text(f"{PYTHON}OlapTable[Flight]('others')\n")
    code, document = penstock_json("migrations", "translate", "--write")
    assert code == 1
    (problem,) = document["problems"]
    assert (problem["code"], problem["file"], problem["line"]) == ("cannot-edit-python", "app/main.py", 5)
    assert problem["hint"] == "write in the class of `flights`: b: Int32 = 5"
    assert main.read_text() == f"{PYTHON}OlapTable[Flight]('others')\n"


def test_the_users_choices_of_views(migrated: Path, penstock_json: Callable[..., tuple[int, Any]]) -> None:
    folder = migrated / "migrations/penstock"
    folder.mkdir()
    (folder / "1_flights_b.json").write_text('{"folow": []}')
    code, document = penstock_json("migrations", "translate")
    problem = document["problems"][0]
    assert (code, problem["file"], problem["column"]) == (1, "migrations/penstock/1_flights_b.json", 11)
    assert problem["hint"] == "did you mean `follow`?"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--to", "clickhouse"], 2, "no stores are of type clickhouse"),
        (["--to", "oracle"], 2, "oracle"),
        (["2_flights"], 1, "there is no migration `2_flights`"),
        (["--store", "x"], 2, "no store `x` of type penstock"),
    ],
)
def test_usage(
    migrated: Path, penstock_json: Callable[..., tuple[int, Any]], arguments: list[str], code: int, told: str
) -> None:
    found, document = penstock_json("migrations", "translate", *arguments)
    assert found == code
    assert told in document["error"]


def test_there_may_be_no_migrations(project: Path, penstock: Run) -> None:
    code, _, err = penstock("migrations", "translate")
    assert code == 1
    assert "penstock migrations observe" in err


def test_phases_are_deployments_of_the_server(project: Path, pipeline: MemoryPipeline) -> None:
    address = json.loads((project / ".penstock/server.json").read_text())["url"]
    server = PenstockServer(address, read_admin_token(project), wait=lambda _: None)
    files = {"penstock.toml": "", "datasources/flights.datasource": "SCHEMA >\n    a UInt8 `json:$.a`\n"}
    server.deploy(files, "first")
    assert server.live_files() == files
    store = PenstockStore("live", StoreSettings("penstock"), server, lambda _: ViewChoices())
    (step,) = store.plan(MIGRATION, Phase.pre)
    store.carry_out(step)
    assert store.is_done(step)
    assert "`b` Int32 `json:$.b` DEFAULT 5" in server.live_files()["datasources/flights.datasource"]
    assert [each.name for each in pipeline.list_deployments()] == ["1_flights_b.pre", "first"]


def test_rows_that_live_has_not_landed_are_told(project: Path, pipeline: MemoryPipeline) -> None:
    """Those of other data sources do not matter."""
    address = json.loads((project / ".penstock/server.json").read_text())["url"]
    server = PenstockServer(address, pipeline.tokens.create("migrations", ["deploy"]), wait=lambda _: None)
    server.deploy({"datasources/flights.datasource": "SCHEMA >\n    a UInt8 `json:$.a`\n"}, "first")
    store = PenstockStore("live", StoreSettings("penstock"), server, lambda _: ViewChoices())
    pipeline.left = {"others": 3}
    assert store.unread_rows(MIGRATION) is None
    pipeline.left = {"flights": 2}
    assert store.unread_rows(MIGRATION) == "rows of `flights` that are accepted and not landed (batches: 2)"
    pipeline.left = None  # type: ignore[assignment]
    with pytest.raises(Failed, match="former release"):
        store.unread_rows(MIGRATION)


def test_a_rehearsal_is_compared_in_staging_and_discarded(project: Path, pipeline: MemoryPipeline) -> None:
    address = json.loads((project / ".penstock/server.json").read_text())["url"]
    server = PenstockServer(address, read_admin_token(project), wait=lambda _: None)
    server.deploy({"datasources/flights.datasource": "SCHEMA >\n    a UInt8 `json:$.a`\n"}, "first")
    store = PenstockStore("live", StoreSettings("penstock"), server, lambda _: ViewChoices())
    pipeline.comparison.report = DIFFERENT
    made = store.rehearse([RehearsedPhase(MIGRATION, Phase.pre)])
    sales, gone = made.tables
    assert (made.is_same, sales.differing, sales.not_compared, gone.is_same) == (False, ("amount",), ("note",), True)
    assert [(each.name, each.state) for each in pipeline.list_deployments()][1:] == [("first", "live")]
    assert pipeline.list_deployments()[0].state == "discarded"


def test_what_the_server_refuses_is_told(project: Path, pipeline: MemoryPipeline) -> None:
    address = json.loads((project / ".penstock/server.json").read_text())["url"]
    with pytest.raises(Failed, match="project has problems"):
        PenstockServer(address, read_admin_token(project)).deploy({"a.datasource": "SCHEMA >\n    a Nothing\n"}, "x")
    with pytest.raises(Failed):
        PenstockServer(address, "p.wrong").live_files()
    with pytest.raises(Unavailable):
        PenstockServer("http://127.0.0.1:1", None).live_files()
