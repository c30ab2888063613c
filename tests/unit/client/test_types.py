"""Type checkers read the client: what is sound is so for mypy and for Pyright, and a mistake is found by both."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

pytest.importorskip("mypy", reason="only `make check` needs mypy")
pytest.importorskip("basedpyright", reason="only the checks need Pyright")
PAGE = (Path(__file__).parents[3] / "docs/client.md").read_text(encoding="utf-8")
EXAMPLES = Path(penstock.__file__).parent / "examples"
SOUND = """\
from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from penstock import Api, InsertOptions, Key, OlapConfig, OlapTable, Stream
from penstock.client import AsyncClient, Client, ClientError, EndpointQuery


class Visit(BaseModel):
    id: Key[str]
    page: str


class Most(BaseModel):
    most: int = 10


visits = OlapTable[Visit]("visits", OlapConfig(version="0.1"))
top = Api[Most, Visit]("top", sql="SELECT 1")


def rows() -> Iterator[Visit]:
    yield Visit(id="a", page="/")


def work(client: Client) -> None:
    stored: int = visits.insert(rows()).successful + visits.insert([{"id": "b"}], InsertOptions(wait=True)).quarantined
    stored += Stream[Visit]("visits").send(Visit(id="a", page="/")).failed
    client.insert(visits, rows())
    client.insert("visits", [{"id": "c"}], model=Visit)
    models: list[Visit] = client.query("SELECT 1", {"a": 1}, model=Visit)
    page: str = client.endpoint(top, Most(most=1), model=Visit)[0].page
    for row in client.stream("SELECT 1"):
        print(row["id"], models, page, stored)
    for each in client.stream(EndpointQuery(top, Most()), model=Visit):
        print(each.page)
    try:
        client.query("SELECT")
    except ClientError as error:
        print(error.status + 1, error.code, error.problems, error.result)


async def work_too(client: AsyncClient) -> None:
    stored = await visits_inserted(client)
    models: list[Visit] = await client.query("SELECT 1", model=Visit)
    async for each in client.stream("SELECT 1", model=Visit):
        print(each.page, models, stored)


async def visits_inserted(client: AsyncClient) -> int:
    return (await client.insert(visits, rows())).successful
"""
MISTAKES = """
def wrong(client: Client) -> None:
    visits.insert([Most()])
    client.query("SELECT 1", model=int)
    client.query("SELECT 1", model=Visit)[0].pages
    client.insert(7, rows())
    client.query("SELECT 1", deploymen="live")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of the page, sound uses and wrong ones, and two projects."""
    made = tmp_path_factory.mktemp("types")
    (made / "page.py").write_text("\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)))
    (made / "sound.py").write_text(SOUND)
    (made / "wrong.py").write_text(SOUND + MISTAKES)
    (made / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "standard"}))
    for name in ("flights", "web-analytics"):
        shutil.copytree(EXAMPLES / f"{name}-python/app", made / name / "app")
    return made


WRONG_LINES = {SOUND.count("\n") + number for number in (3, 4, 5, 6, 7)}


def places(output: str, pattern: str) -> set[tuple[str, int]]:
    return {(Path(file).name, int(line)) for file, line in re.findall(pattern, output, re.MULTILINE)}


def test_mypy(folder: Path) -> None:
    options = ("--strict", "--config-file=", "--cache-dir=cache")
    done = _run(folder, "mypy", *options, "page.py", "sound.py", "wrong.py")
    assert places(done, r"^(\S+\.py):(\d+): error") == {("wrong.py", line) for line in WRONG_LINES}, done


def test_pyright(folder: Path) -> None:
    """The projects too, whose public names it reads without a plugin."""
    done = _run(folder, "basedpyright", "--pythonpath", sys.executable, ".")
    assert places(done, r"^\s*(\S+\.py):(\d+):\d+ - error") == {("wrong.py", line) for line in WRONG_LINES}, done


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout
