"""The parsed projects of deployments, each parsed once.

In: a saved deployment, whose files never change. Out: its `LoadedProject`, and the parameters of its endpoints.
Invariant: at most MOST_PROJECTS are kept, the most recently used ones; thread-safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from penstock.deploy.runtime.recently_used import RecentlyUsed
from penstock.model.deployment import Deployment
from penstock.model.project import Project
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.template.declared_parameters import DeclaredParameter, parameters_of

MOST_PROJECTS = 8
EndpointParameters: TypeAlias = Mapping[str, Sequence[DeclaredParameter]]
"""What the templates of each endpoint declare, by its name."""


class ProjectCache:
    """Projects by the id of their deployment."""

    def __init__(self) -> None:
        self._loaded = RecentlyUsed[LoadedProject](MOST_PROJECTS)
        self._parameters = RecentlyUsed[EndpointParameters](MOST_PROJECTS)

    def load(self, deployment: Deployment) -> LoadedProject:
        """The project of a saved deployment. Raises PenstockError if its files cannot be read."""
        return self._loaded.get(deployment.id, lambda: load_files(deployment.files))

    def endpoint_parameters(self, deployment: Deployment) -> EndpointParameters:
        """The parameters of each endpoint of a saved deployment; its templates are read once. Raises PenstockError if
        its files cannot be read."""
        return self._parameters.get(deployment.id, lambda: _declared_parameters(self.load(deployment).project))


def _declared_parameters(project: Project) -> EndpointParameters:
    return {each.name: parameters_of(project, each) for each in project.pipes if each.endpoint is not None}
