"""One migration case against a pipeline that runs: what it moves, and what other ways would.

In: a `Case`, a `Pipeline` with the fixed project live. Out: `Line`. A case leaves the fixed project live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from cases import Case, graph
from pipelines import deployed
from reports import Line
from ways import Ways

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.errors import InvalidProject
from penstock.lake.read.history_slices import column_sizes
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest
from penstock.parse.project_loader import load_files
from penstock.plan.plan import NOTHING, Live, Size
from penstock.plan.strategies.materialization import computed_columns


class Measure:
    """Works on the parts of a pipeline that its interface does not show: the deployer's own view of live."""

    def __init__(self, running: Pipeline):
        self._running = running
        self._files = graph()

    def tables(self) -> Mapping[str, Size]:
        """What live holds, by data source."""
        live = self._live()
        return {bound.name: live.sizes[bound.table] for bound in live.manifest.bindings}

    def line(self, case: Case) -> Line:
        """The case planned and, if it says so, carried out."""
        live, after = self._live(), case.after(self._files)
        try:
            found = self._running.deployer.deploy(after, DeployOptions(True, False, case.leave, None))
        except InvalidProject as error:
            told = next((each.message for each in error.problems if each.level == "error"), error.message)
            moved = NOTHING if case.refused else None
            line, manifest = Line(case, moved, did=f"refused: {told}"), live.manifest
        else:
            line, manifest = _planned(Line(case), found, live), found.manifest
        line = self._carried_out(case, after, line)
        if case.refused:
            return line
        names = {source.name for source in load_files(after).project.datasources}
        ways, new = Ways(live, manifest), line.created
        changed, everything = ways.changed(case.rewrites, case.copies), ways.everything(names)
        return replace(line, changed=changed + new, everything=everything + new)

    def _carried_out(self, case: Case, after: Mapping[str, str], line: Line) -> Line:
        if case.run is None:
            return line
        before = self._held(self._live().manifest)
        made = deployed(self._running, after, DeployOptions(False, case.run == "rollback", case.leave, None))
        if case.run == "rollback":
            line = replace(line, did=f"{line.did}; carried out, promoted and rolled back")
            self._running.deployer.rollback()
            made = self._running.store.find(str(made.id))
        else:
            why = f" ({made.error['error']})" if made.error else ""
            line = replace(line, did=f"{line.did}; carried out: {made.state}{why}")
        pairs = [(before.get(table, NOTHING), size) for table, size in self._held(made.manifest).items()]
        written = [Size(now.rows - was.rows, now.bytes - was.bytes) for was, now in pairs if now.rows != was.rows]
        moved = sum(written, NOTHING)
        return replace(line, moved=moved, did=f"{line.did}, {moved.rows:,} rows written")

    def _held(self, manifest: Manifest) -> dict[str, Size]:
        found = {table.id: self._running.core.warehouse.registry.refresh(table.id) for table in manifest.tables}
        return {table: Size(snapshots.rows, snapshots.bytes) for table, snapshots in found.items()}

    def _live(self) -> Live:
        live = self._running.deployer._read_live(())
        assert live is not None, "the fixed project is live"
        lake = self._running.core.warehouse.lake
        return replace(live, column_bytes=cache(lambda table: column_sizes(lake, table)))


def _planned(line: Line, found: Deployment, live: Live) -> Line:
    plan = found.plan
    resources = [each for each in plan["resources"] if each["kind"] == "datasource"]  # type: ignore[attr-defined]
    new = [Size(each["rows"], each["bytes"]) for each in resources if each["strategy"] == "create"]
    did = [f"`{each['name']}` {each['strategy'].replace('_', ' ')}" for each in resources if each["strategy"] != "none"]
    return replace(
        line,
        moved=Size(plan["rows_moved"], plan["bytes_moved"]),  # type: ignore[arg-type]
        rewritten=_rewritten(found.manifest, live),
        created=sum(new, NOTHING),
        did=", ".join(did) or "nothing",
    )


def _rewritten(manifest: Manifest, live: Live) -> Size:
    """The tables whose files are rewritten once, to store a column that is computed when it is read until then."""
    bridged = [each.name for each in manifest.bindings if computed_columns(each)]
    held = [live.manifest.binding(name) for name in bridged]
    return sum((live.sizes[bound.table] for bound in held if bound is not None), NOTHING)
