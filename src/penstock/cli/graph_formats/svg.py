"""The graph of a project drawn as SVG.

In: a `ProjectGraph`. Out: an SVG document that needs nothing else: no script, font or style sheet. Invariant: a browser
shows it in its light or dark colours.

The layout is our own: Graphviz needs a program of the system, igraph is under the GPL, and the packages that draw
without either are unmaintained or in their first versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from penstock.cli.graph_formats.layout import Layout, Point, place_nodes
from penstock.plan.project_graph import ProjectGraph, ResourceNode

WIDTH_OF_CHARACTER, PADDING, HEIGHT = 7.3, 12, 26
"""Of a text in 12 pixels of any usual monospaced font."""
ROW, GAP, MARGIN, LEGEND = 38, 70, 16, 30
STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1b1f24; }
rect { stroke: #57606a; fill: #f6f8fa; }
.datasource rect { fill: #ddf4ff; stroke: #0969da; }
.materialized rect { fill: #fff8c5; stroke: #9a6700; }
.copy rect { fill: #ffeff7; stroke: #bf3989; }
.sink rect { fill: #fff1e5; stroke: #bc4c00; }
.endpoint rect { fill: #dafbe1; stroke: #1a7f37; }
.quarantine rect { fill: #ffebe9; stroke: #cf222e; } .outside rect { stroke-dasharray: 2 2; }
.broken rect { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 4 3; }
path { fill: none; stroke: #6e7781; } path.feeds, path.takes { stroke-width: 2.2; }
path.copies, path.writes { stroke-dasharray: 5 4; }
path.rejects { stroke-dasharray: 2 3; }
marker path { fill: #6e7781; stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } rect { fill: #161b22; } .datasource rect { fill: #0c2d6b; }
.materialized rect { fill: #4b2900; } .copy rect { fill: #5e103e; } .sink rect { fill: #5a1e02; }
.endpoint rect { fill: #033a16; } .quarantine rect { fill: #490202; }
}
"""


def to_svg(graph: ProjectGraph) -> str:
    """The graph as an SVG document."""
    layout = place_nodes([node.name for node in graph.nodes], [(arrow.start, arrow.end) for arrow in graph.arrows])
    columns = _Columns(graph, layout)
    kinds = tuple(dict.fromkeys(node.kind for node in graph.nodes))
    root = ElementTree.Element("svg", _document_attributes(columns, kinds))
    ElementTree.SubElement(root, "title").text = "The data sources and pipes of the project"
    ElementTree.SubElement(root, "style").text = STYLE
    _add_arrow_head(root)
    for arrow in graph.arrows:
        way = layout.ways.get((arrow.start, arrow.end))
        if way is not None:
            path = ElementTree.SubElement(root, "path", {"class": arrow.kind, "d": columns.path(way)})
            path.set("marker-end", "url(#head)")
            ElementTree.SubElement(path, "title").text = f"{arrow.start} → {arrow.end} ({arrow.kind})"
    for node in graph.nodes:
        _add_node(root, node, columns)
    _add_legend(root, kinds)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


class _Columns:
    """Where layers and places are, in pixels."""

    def __init__(self, graph: ProjectGraph, layout: Layout):
        self.points = layout.nodes
        count = 1 + max((layer for layer, _ in layout.nodes.values()), default=0)
        names = [[node.name for node in graph.nodes if layout.nodes[node.name][0] == layer] for layer in range(count)]
        self.widths = [max(map(_width_of, each), default=0.0) for each in names]
        self.lefts = [MARGIN + sum(self.widths[:layer]) + GAP * layer for layer in range(count)]
        self.width = self.lefts[-1] + self.widths[-1] + MARGIN
        every = [*layout.nodes.values(), *(point for way in layout.ways.values() for point in way)]
        self.height = MARGIN + LEGEND + ROW * (1 + max((place for _, place in every), default=0.0))

    def y(self, point: Point) -> float:
        return MARGIN + LEGEND + HEIGHT / 2 + ROW * point[1]

    def path(self, way: Sequence[Point]) -> str:
        """A line that leaves a node on its right, passes the layers between, and enters a node on its left."""
        x, y = self.lefts[way[0][0]] + self.widths[way[0][0]], self.y(way[0])
        parts = [f"M{x:.1f} {y:.1f}"]
        for point in way[1:]:
            left, down = self.lefts[point[0]], self.y(point)
            last = point is way[-1]
            half = max(20.0, abs(left - x) / 2)
            end = left - 7 if last else left
            parts.append(f"C{x + half:.1f} {y:.1f} {left - half:.1f} {down:.1f} {end:.1f} {down:.1f}")
            x, y = left + (0 if last else self.widths[point[0]]), down
            parts += [] if last else [f"H{x:.1f}"]
        return " ".join(parts)


def _width_of(name: str) -> float:
    return WIDTH_OF_CHARACTER * len(name) + 2 * PADDING


def _document_attributes(columns: _Columns, kinds: Sequence[str]) -> dict[str, str]:
    width = max(columns.width, MARGIN * 2 + sum(_width_of(kind) + 8 for kind in kinds))
    size = {"width": f"{width:.0f}", "height": f"{columns.height:.0f}"}
    return {
        "xmlns": "http://www.w3.org/2000/svg",
        "role": "img",
        **size,
        "viewBox": f"0 0 {width:.0f} {columns.height:.0f}",
    }


def _add_arrow_head(root: ElementTree.Element) -> None:
    size = {"viewBox": "0 0 8 8", "refX": "1", "refY": "4", "markerWidth": "7", "markerHeight": "7"}
    units = {"orient": "auto", "markerUnits": "userSpaceOnUse"}
    marker = ElementTree.SubElement(ElementTree.SubElement(root, "defs"), "marker", {"id": "head", **size, **units})
    ElementTree.SubElement(marker, "path", {"d": "M0 0 8 4 0 8z"})


def _add_node(root: ElementTree.Element, node: ResourceNode, columns: _Columns) -> None:
    layer, _ = columns.points[node.name]
    group = ElementTree.SubElement(root, "g", {"class": f"{node.kind} broken" if node.is_broken else node.kind})
    about = node.description or node.file
    ElementTree.SubElement(group, "title").text = f"{node.name} ({node.kind}): {_printable(about)}"
    x, y = columns.lefts[layer], columns.y(columns.points[node.name])
    _add_box(group, node.name, x, y, columns.widths[layer])


def _add_legend(root: ElementTree.Element, kinds: Sequence[str]) -> None:
    x = float(MARGIN)
    for kind in kinds:
        group = ElementTree.SubElement(root, "g", {"class": kind})
        _add_box(group, kind, x, MARGIN, _width_of(kind))
        x += _width_of(kind) + 8


def _add_box(group: ElementTree.Element, text: str, x: float, y: float, width: float) -> None:
    top = f"{y - HEIGHT / 2:.1f}"
    size = {"width": f"{width:.1f}", "height": str(HEIGHT), "rx": "5"}
    ElementTree.SubElement(group, "rect", {"x": f"{x:.1f}", "y": top, **size})
    ElementTree.SubElement(group, "text", {"x": f"{x + PADDING:.1f}", "y": f"{y + 4:.1f}"}).text = text


def _printable(text: str) -> str:
    """XML has no control characters."""
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)
