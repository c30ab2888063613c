"""The scopes that the TOKEN lines of a project grant.

In: a project. Out: scopes by token name. Invariant: a scope covers one data source or pipe, never everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.datasource import DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project

TokenGrants = Mapping[str, tuple[str, ...]]


def collect_grants(project: Project) -> TokenGrants:
    """The scopes by token name: `read:NAME`, `append:NAME`."""
    found: dict[str, dict[str, None]] = {}
    resources: tuple[DataSource | Pipe, ...] = (*project.datasources, *project.pipes)
    for resource in resources:
        for token in resource.tokens:
            found.setdefault(token.name, {})[f"{token.scope.lower()}:{resource.name}"] = None
    return {name: tuple(scopes) for name, scopes in found.items()}
