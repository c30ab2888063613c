"""Compare two running versions, or two tables of one, and promote one only if it is the same as live.

In: references to two deployments, and a scope. Out: `ParityReport`; of two tables `TablePairReport`. Invariant:
everything is read as of one cut, so a difference is never one of time; the comparison changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.deploy.lifecycle.deployer import Deployer
from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.deploy.parity.endpoint_comparison import EndpointComparison
from penstock.deploy.parity.table_comparison import TableComparison
from penstock.deploy.parity.version_cut import Cut, CutVersion, cut_version, cut_versions
from penstock.deploy.queries.reader import QueryReader
from penstock.deploy.runtime.core import Core
from penstock.errors import Conflict, InvalidRequest, NotFound, did_you_mean
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding
from penstock.model.project import Project
from penstock.plan.parity.endpoint_calls import EndpointCall, calls_of, parse_calls, recorded_calls
from penstock.plan.parity.report import EndpointReport, ParityReport, TablePairReport, TableReport, VersionName
from penstock.plan.parity.step_dependence import find_step_dependence
from penstock.plan.parity.version_pairs import (
    ComparedVersion,
    EndpointNames,
    pair_endpoints,
    pair_tables,
    pair_two_tables,
)
from penstock.redaction import HIDDEN
from penstock.state.logs.call_log import MOST_SEARCHED
from penstock.template.declared_parameters import names_in_templates


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Compares versions of a running pipeline."""

    core: Core
    reader: QueryReader
    deployer: Deployer

    def compare(self, left: str, right: str, scope: ComparisonScope) -> ParityReport:
        """Compare every table and endpoint of two deployments. Raises NotFound, InvalidRequest, and Conflict if they
        cannot be brought to one cut."""
        projects = [self._project(ref) for ref in (left, right)]
        known = {pipe.name for project in projects for pipe in project.pipes if pipe.endpoint is not None}
        calls = parse_calls(scope.calls, known)
        with cut_versions(self.core, left, right) as cut:
            one, other = self._compared(cut.left), self._compared(cut.right)
            pairs, endpoints = pair_tables(one, other), pair_endpoints(one.project, other.project)
            scope.check_names({name for pair in pairs for name in pair.names} | known)
            dependence = (find_step_dependence(one.manifest), find_step_dependence(other.manifest))
            tables = TableComparison(self.core, cut, scope, dependence)
            answers = EndpointComparison(self.core, self.reader, cut, scope, dependence)
            if not scope.calls.strip():
                calls = tuple(self._recorded_calls(endpoints, (one.project, other.project), scope.recorded))
            reports = [answers.compare(call) for name in endpoints.both for call in calls_of(name, calls)]
            if not (scope.calls.strip() or scope.shows_parameters):
                reports = [replace(each, parameters=dict.fromkeys(each.parameters, HIDDEN)) for each in reports]
            return _report(cut, [tables.compare(pair) for pair in pairs], [*reports, *_alone(endpoints)])

    def _recorded_calls(
        self, endpoints: EndpointNames, projects: tuple[Project, Project], most: int
    ) -> Iterator[EndpointCall]:
        """The latest distinct calls of the endpoints that both versions have."""
        for name in endpoints.both if most else ():
            pipes = [(project, project.pipe(name)) for project in projects]
            read = {each for project, pipe in pipes if pipe is not None for each in names_in_templates(project, pipe)}
            found = self.core.store.calls.recent_parameters(name, MOST_SEARCHED)
            yield from recorded_calls(name, found, read, most)

    def compare_tables(self, ref: str, left: str, right: str, scope: ComparisonScope) -> TablePairReport:
        """Compare two data sources of one deployment in the columns that both have. Raises NotFound, InvalidRequest if
        both are the same, and Conflict if the deployment cannot be brought to a cut."""
        if left == right:
            raise InvalidRequest(f"`{left}` is compared with itself", hint="such as two versions of a table")
        with cut_version(self.core, ref) as cut:
            version = self._compared(cut.left)
            pair = pair_two_tables(_find_binding(version, left), _find_binding(version, right))
            dependence = find_step_dependence(version.manifest)
            report = TableComparison(self.core, cut, scope, (dependence, dependence)).compare(pair)
            return TablePairReport(_version_name(cut.left), left, right, cut.at, cut.batches, report)

    def promote(self, ref: str, scope: ComparisonScope) -> Deployment:
        """Promote a deployment if it is the same as live, except for what is declared. Without a live version there is
        nothing to compare. Raises Conflict with each difference, and what promoting raises.

        The rows of later batches are not compared: both versions process them by what was compared."""
        found = self.core.store.find(ref)
        if self.core.board.live() is not None and found.state == "ready":
            self._require_parity(str(found.id), scope)
        return self.deployer.promote(str(found.id))

    def _require_parity(self, ref: str, scope: ComparisonScope) -> None:
        differences = self.compare("live", ref, scope).differences
        if differences:
            what = "a difference" if len(differences) == 1 else f"{len(differences)} differences"
            raise Conflict(f"deployment {ref} was not made live: nobody declared {what} from live", differences)

    def _project(self, ref: str) -> Project:
        return self.core.projects.load(self.core.board.readable(ref)).project

    def _compared(self, version: CutVersion) -> ComparedVersion:
        deployment = version.deployment
        return ComparedVersion(deployment.id, self.core.projects.load(deployment).project, deployment.manifest)


def _find_binding(version: ComparedVersion, name: str) -> Binding:
    """Raises NotFound."""
    found = version.manifest.binding(name)
    if found is None:
        names = [each.name for each in version.manifest.bindings]
        raise NotFound(f"deployment {version.id} has no data source `{name[:100]}`", hint=did_you_mean(name, names))
    return found


def _version_name(version: CutVersion) -> VersionName:
    return VersionName(version.deployment.id, version.deployment.name, version.deployment.state)


def _report(cut: Cut, tables: list[TableReport], endpoints: list[EndpointReport]) -> ParityReport:
    left, right = _version_name(cut.left), _version_name(cut.right)
    return ParityReport(left, right, cut.at, cut.batches, tuple(tables), tuple(endpoints))


def _alone(endpoints: EndpointNames) -> list[EndpointReport]:
    left = [EndpointReport(name, {}, "only_left") for name in endpoints.only_left]
    return [*left, *(EndpointReport(name, {}, "only_right") for name in endpoints.only_right)]
