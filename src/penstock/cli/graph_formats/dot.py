"""The graph of a project in the DOT language of Graphviz.

In: a `ProjectGraph`. Out: text. Invariant: every name is quoted, so that it may hold any character.
Source: graphviz.org, "DOT Language".
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.project_graph import Arrow, NodeKind, ProjectGraph, ResourceNode

SHAPES: Mapping[NodeKind, str] = {
    "datasource": "cylinder",
    "materialized": "box",
    "copy": "box",
    "sink": "box",
    "endpoint": "cds",
    "pipe": "box",
    "quarantine": "folder",
    "records": "tab",
    "outside": "note",
}
STYLES = {
    "reads": "solid",
    "feeds": "bold",
    "copies": "dashed",
    "rejects": "dotted",
    "takes": "bold",
    "writes": "dashed",
}


def to_dot(graph: ProjectGraph) -> str:
    """The graph as DOT."""
    lines = ["digraph project {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    lines += [f"  {_node_line(node)}" for node in graph.nodes]
    lines += [f"  {_arrow_line(arrow)}" for arrow in graph.arrows]
    return "\n".join([*lines, "}", ""])


def _node_line(node: ResourceNode) -> str:
    attributes = {"shape": SHAPES[node.kind], "tooltip": node.description or node.kind}
    attributes |= {"color": "red", "style": "dashed"} if node.is_broken else {}
    return f"{_quote(node.name)} [{', '.join(f'{name}={_quote(value)}' for name, value in attributes.items())}];"


def _arrow_line(arrow: Arrow) -> str:
    return f"{_quote(arrow.start)} -> {_quote(arrow.end)} [style={STYLES[arrow.kind]}, tooltip={arrow.kind}];"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
