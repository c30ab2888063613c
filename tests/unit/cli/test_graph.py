from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

from penstock.cli.graph_formats.dot import to_dot
from penstock.cli.graph_formats.mermaid import to_mermaid
from penstock.cli.graph_formats.svg import to_svg
from penstock.plan.project_graph import Arrow, NodeKind, ProjectGraph, ResourceNode
from unit.cli.conftest import Run

SVG = "{http://www.w3.org/2000/svg}"


def test_the_table_says_where_rows_come_from(penstock: Run, project: Path) -> None:
    code, out, err = penstock("graph")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert ["flights", "datasource", "top"] in rows
    assert ["top", "endpoint", "flights"] in rows


def test_every_form_names_every_resource(penstock: Run, project: Path) -> None:
    for form in ("dot", "mermaid", "svg"):
        code, out, err = penstock("graph", str(project), "--format", form)
        assert (code, err) == (0, "")
        assert "flights" in out
        assert "top" in out


def test_the_document(penstock: Run, project: Path) -> None:
    document = json.loads(penstock("graph", "--output", "json")[1])
    assert document["arrows"] == [{"from": "flights", "to": "top", "kind": "reads"}]
    assert document["nodes"][1] == {
        "name": "top",
        "kind": "endpoint",
        "file": "top.pipe",
        "description": "The top",
        "broken": False,
    }


def test_a_broken_project_is_drawn_with_a_note(penstock: Run, project: Path) -> None:
    (project / "wrong.pipe").write_text("NODE n\nSQL >\n    SELECT leng(a) FROM flights\nTYPE endpoint\n")
    code, out, err = penstock("graph")
    assert (code, "endpoint, broken" in out) == (0, True)
    assert "note: 1 file has problems: `penstock check` shows them" in err


ODD = ProjectGraph(
    (
        ResourceNode('a"b\\', "datasource", "a.datasource", 'says "x"\x1b\n<&>'),
        ResourceNode("end", "materialized", "end.pipe", is_broken=True),
        ResourceNode("#c;", "copy", "c.pipe"),
        ResourceNode("alone", "pipe", "alone.pipe"),
    ),
    (
        Arrow('a"b\\', "end", "reads"),
        Arrow("end", 'a"b\\', "feeds"),
        Arrow("#c;", "#c;", "copies"),
        Arrow("end", "#c;", "reads"),
    ),
)


def test_odd_names_and_circles_are_drawn_as_valid_svg() -> None:
    root = ElementTree.fromstring(to_svg(ODD))
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert {'a"b\\', "end", "#c;", "alone"} <= set(texts)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        assert 0 <= float(box.attrib["x"]) <= width - float(box.attrib["width"])
        assert 0 <= float(box.attrib["y"]) <= height - float(box.attrib["height"])
    assert len(list(root.iter(f"{SVG}path"))) == 4  # the head of an arrow, and the arrows between two nodes
    assert ElementTree.fromstring(to_svg(ProjectGraph((), ()))).attrib["role"] == "img"


def test_odd_names_are_quoted() -> None:
    dot = to_dot(ODD)
    assert r'"a\"b\\" -> "end" [style=solid, tooltip=reads];' in dot
    assert r'tooltip="says \"x\"' in dot
    mermaid = to_mermaid(ODD)
    assert 'n0[("a#quot;b\\")]' in mermaid
    assert 'n1[["end"]]:::broken' in mermaid
    assert 'n2[/"#35;c;"/]' in mermaid
    assert re.findall(r"n\d [-=.]+> n\d", mermaid) == ["n0 --> n1", "n1 ==> n0", "n2 -.-> n2", "n1 --> n2"]


def test_every_kind_of_resource_has_its_shape() -> None:
    nodes = tuple(
        ResourceNode(f"a_{kind}", kind, "x", "", False) for part in get_args(NodeKind) for kind in get_args(part)
    )
    graph = ProjectGraph(nodes, ())
    for draw in (to_dot, to_mermaid, to_svg):
        drawn = draw(graph)
        assert all(node.name in drawn for node in nodes)
