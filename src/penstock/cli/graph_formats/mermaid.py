"""The graph of a project as a Mermaid flowchart, which GitHub and GitLab draw in Markdown.

In: a `ProjectGraph`. Out: text. Invariant: nodes have ids of their own, since names such as `end` are words of Mermaid.
Source: mermaid.js.org, "Flowcharts".
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.project_graph import NodeKind, ProjectGraph

SHAPES: Mapping[NodeKind, tuple[str, str]] = {
    "datasource": ("[(", ")]"),
    "materialized": ("[[", "]]"),
    "copy": ("[/", "/]"),
    "sink": ("[/", "\\]"),
    "endpoint": ("([", "])"),
    "pipe": ("[", "]"),
    "quarantine": ("{{", "}}"),
    "records": (">", "]"),
    "outside": ("((", "))"),
}
ARROWS = {"reads": "-->", "feeds": "==>", "copies": "-.->", "rejects": "-.-x", "takes": "==>", "writes": "-.->"}


def to_mermaid(graph: ProjectGraph) -> str:
    """The graph as a flowchart from left to right."""
    ids = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        opening, closing = SHAPES[node.kind]
        broken = ":::broken" if node.is_broken else ""
        lines.append(f'  {ids[node.name]}{opening}"{_escape(node.name)}"{closing}{broken}')
    lines += [f"  {ids[arrow.start]} {ARROWS[arrow.kind]} {ids[arrow.end]}" for arrow in graph.arrows]
    if any(node.is_broken for node in graph.nodes):
        lines.append("  classDef broken stroke:#c00,stroke-dasharray:4")
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;")
