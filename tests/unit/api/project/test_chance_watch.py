"""A project that asks the clock or chance while it is read is told so, at the line that asks."""

from __future__ import annotations

from pathlib import Path

from python_projects import HEAD, problems_of, read_project

MAIN = '''
import os, random, time, uuid, secrets
from datetime import datetime as clock
from random import choice

class Row(BaseModel):
    id: str
    at: float = time.time()

def query() -> str:
    return f"""
        SELECT '{clock.now()}' AS at,
               '{uuid.uuid4()}' AS id"""

t = OlapTable[Row]("t", OlapConfig(order_by_fields=["id"]))
View("v", query())
View("w", f"SELECT {choice([1, 2])} AS a, {random.Random(3).random()}, {time.strftime('%Y', time.gmtime(0))} AS c")
if secrets.token_hex(2):
    pass
def answer(client, given: None) -> list[Row]:
    return [Row(id=str(random.random()), at=time.time())]
Api[None, Row]("e", query_function=answer)
random.seed(5)
View("x", f"SELECT {random.random()} AS a")
'''


def test_each_line_that_asks_is_warned_of(tmp_path: Path) -> None:
    found = [each for each in problems_of(read_project(tmp_path, MAIN)) if each.code == "not-repeatable"]
    first = HEAD.count("\n")
    asked = {(each.message[17:-17], (each.location.line if each.location else 0) - first) for each in found}
    assert {each.level for each in found} == {"warning"}
    assert {what for what, _ in asked} == {
        "the clock (time.time)",
        "the clock (clock.now)",
        "chance (uuid.uuid4)",
        "chance (choice)",
        "chance (secrets.token_hex)",
    }
    lines = dict(asked)
    assert lines["the clock (time.time)"] == 8
    assert lines["chance (choice)"] == 17
    assert lines["chance (secrets.token_hex)"] == 18
    assert 11 <= lines["the clock (clock.now)"] <= 13
