"""What TOKEN lines of a project say a token may do.

In: a project. Out: scopes by the names of tokens. Called by deploy/core when another version goes live. Invariant:
a scope is for one data source or pipe, never for everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.datasource import DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project

TokenGrants = Mapping[str, tuple[str, ...]]


def collect_grants(project: Project) -> TokenGrants:
    """By the name of a token its scopes: `read:NAME`, `append:NAME`."""
    found: dict[str, dict[str, None]] = {}
    resources: tuple[DataSource | Pipe, ...] = (*project.datasources, *project.pipes)
    for resource in resources:
        for token in resource.tokens:
            found.setdefault(token.name, {})[f"{token.scope.lower()}:{resource.name}"] = None
    return {name: tuple(scopes) for name, scopes in found.items()}
