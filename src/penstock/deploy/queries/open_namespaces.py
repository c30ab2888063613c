"""The names under which other Iceberg readers find the tables of each version.

In: the running deployments. Out: namespaces (`live`, `staging`, `previous` and ids of deployments) and their tables,
the data sources. Invariant: a name is there as long as queries can read it. No Spark, so the HTTP side may import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from penstock.errors import Conflict, NotFound, PenstockError, did_you_mean
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding

if TYPE_CHECKING:
    from penstock.deploy.runtime.running_deployments import DeploymentBoard

REFERENCES = ("live", "staging", "previous")


class NoSuchNamespace(NotFound):
    """No deployment that can be read has this name."""


class ClosedTable(PenstockError):
    """Metadata cannot say which rows of a table a version sees."""

    status, code = 422, "closed-table"


class OpenNamespaces:
    """The namespaces of a pipeline."""

    def __init__(self, board: DeploymentBoard):
        self._board = board

    def names(self) -> tuple[str, ...]:
        """The references and ids of the deployments that can be read."""
        running = self._board.running.deployments
        ids = sorted(each.id for each in running if each.state in ("ready", "live", "previous"))
        return (*filter(self._exists, REFERENCES), *map(str, ids))

    def find(self, name: str) -> Deployment:
        """The deployment of a namespace. Raises NoSuchNamespace."""
        try:
            return self._board.readable(name)
        except (NotFound, Conflict) as error:
            raise self._no_such(name, error) from error

    @contextmanager
    def reading(self, name: str) -> Iterator[Deployment]:
        """The deployment of a namespace; its tables are not dropped before the block ends. Raises NoSuchNamespace."""
        with ExitStack() as block:
            try:
                deployment = block.enter_context(self._board.reading(name))
            except (NotFound, Conflict) as error:
                raise self._no_such(name, error) from error
            yield deployment

    def _no_such(self, name: str, error: NotFound | Conflict) -> NoSuchNamespace:
        hint = error.hint if name in REFERENCES else did_you_mean(name, self.names())
        return NoSuchNamespace(error.message, hint=hint)

    def _exists(self, name: str) -> bool:
        try:
            self._board.readable(name)
        except (NotFound, Conflict):
            return False
        return True

    def tables(self, name: str) -> tuple[str, ...]:
        """The data sources of a namespace. Raises NoSuchNamespace."""
        return tuple(sorted(each.name for each in self.find(name).manifest.bindings))

    def table(self, name: str, table: str) -> Binding:
        """The binding of a data source. Raises NoSuchNamespace, NotFound."""
        return find_table(self.find(name), table)


def find_table(deployment: Deployment, table: str) -> Binding:
    """The binding of a data source. Raises NotFound."""
    found = next((each for each in deployment.manifest.bindings if each.name == table), None)
    if found is None:
        known = [each.name for each in deployment.manifest.bindings]
        message = f"there is no data source `{table}` in deployment {deployment.id}"
        raise NotFound(message, hint=did_you_mean(table, known))
    return found
