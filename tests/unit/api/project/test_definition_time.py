"""What a definition takes when it runs, and what it names in texts, is the same where the function answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.template.render_frame import RenderInput
from penstock.template.rendering import render
from python_projects import read_project, shown

EVENTS = """
    class Event(BaseModel):
        id: Key[int]
        page: str

    events = OlapTable[Event]("events")
"""
TAIL = """
    def answer(client{more}) -> list[Row]:
        return [Row(n=1)]

    {after}
    asked = Api[None, Row]("asked", query_function=answer)
"""


@pytest.mark.parametrize(
    ("before", "more", "after", "name"),
    [
        ("most = 5", ", most=most", "most = 7", "most"),
        ("most = 5", ", *, most=most + 1", "most += 1", "most"),
        ("for most in (1, 2):\n        pass", ", most=[most][0]", "", "most"),
        ("most = 5", "", "most = 7", ""),
        ("most = 5", ", most=most", "", ""),
        ("most = [each for each in (1, 2)][0]", ", most=most", "other = [each for each in (1, 2)]", ""),
    ],
)
def test_a_default_is_of_a_name_with_one_value(tmp_path: Path, before: str, more: str, after: str, name: str) -> None:
    row = "class Row(BaseModel):\n        n: int"
    read = read_project(tmp_path, EVENTS + f"\n    {before}\n    {row}\n" + TAIL.format(more=more, after=after))
    assert [each.partition(": ")[2][: len(name) + 2] for each in shown(read)] == ([f"`{name}`"] if name else [])


def test_a_default_of_a_class_too(tmp_path: Path) -> None:
    row = "most = 5\n    class Row(BaseModel):\n        n: int = most"
    read = read_project(tmp_path, EVENTS + f"\n    {row}\n" + TAIL.format(more="", after="most = 6"))
    assert [each.partition(": ")[2][:40] for each in shown(read)] == ["`most` is given more than one value, and"]


def test_a_class_that_an_annotation_names_in_a_text_is_there(tmp_path: Path) -> None:
    row = """class Row(BaseModel):
        n: int
        inner: "list[Inner]" = []
        other: Annotated[str, "LowCardinality"] = ""
        kind: Literal["Event"] = "Event"

    class Inner(BaseModel):
        x: int = 1
"""
    read = read_project(tmp_path, EVENTS + f"\n    {row}\n" + TAIL.format(more="", after=""))
    assert shown(read) == []
    text = read.loaded.files["endpoints/asked.pipe"]
    assert "class Inner(BaseModel):" in text
    assert "class Event(BaseModel):" not in text


def test_a_default_may_hold_the_marks_of_a_template(tmp_path: Path) -> None:
    main = """
        class Search(BaseModel):
            page: str = "{{x}} {% y %} \\\\{ '"

        asked = Api[Search, Event]("asked", sql=f"SELECT id, page FROM {events} WHERE page = {{page}}")
    """
    read = read_project(tmp_path, EVENTS + main.replace("\n    ", "\n"))
    assert shown(read) == []
    pipe = read.loaded.project.pipe("asked")
    assert pipe is not None
    text = render(pipe.nodes[0].sql, RenderInput("call")).text
    assert text.strip().endswith(r"""WHERE page = '{{x}} {% y %} \\{ \''""")
