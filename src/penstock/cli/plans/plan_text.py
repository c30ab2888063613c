"""A plan as text that one wants to read.

In: the JSON document of a plan, and what of it is asked for. Out: its lines: the changes with their places; the
resources, those that move or lose most first, each with its strategy, price, reason and the ways that it did not get;
the total. Invariants: only resources for which nothing is done share a line; rows that are lost are never shown as rows
that move; a plan that an earlier version of Penstock saved is shown as far as it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.cli.errors import WrongUsage
from penstock.cli.json_documents import Json
from penstock.cli.output import format_bytes, format_count
from penstock.errors import did_you_mean

MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class PlanView:
    """What of a plan is shown."""

    everything: bool = False
    """Each unchanged resource on a line of its own, and the steps."""
    why: tuple[str, ...] = ()
    """The resources for which all rules are shown that were tried."""


def plan_lines(plan: Json, view: PlanView) -> Iterator[str]:
    """The lines of a plan, without its problems. Raises WrongUsage if a resource is to be explained that it has not."""
    explained = [_find_resource(plan, name) for name in view.why]
    yield from _block("Changes", [_change_line(each) for each in plan["changes"]])
    yield from _block("Resources", list(_resource_lines(plan, view)))
    if view.everything:
        numbered = enumerate(plan["steps"], 1)
        yield from _block("Steps", [f"{number}. {step['message']}" for number, step in numbered] or ["none"])
    for each in explained:
        yield from _block(f"Why {each['name']} is {each['strategy']}", list(_rule_lines(each)))
    yield _total_line(plan)


def _block(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines)
        yield ""


def _change_line(change: Json) -> str:
    place = f" ({change['file']}:{change['line']})" if change.get("file") else ""
    return f"{change['resource']}: {change['message']}{place}"


def _resource_lines(plan: Json, view: PlanView) -> Iterator[str]:
    changed = {change["resource"] for change in plan["changes"]}
    idle = [each for each in plan["resources"] if each["strategy"] == "none" and each["name"] not in changed]
    folded = [] if view.everything else [each["name"] for each in idle]
    shown = sorted((each for each in plan["resources"] if each["name"] not in folded), key=_weight)
    rows = [(each["name"], each["strategy"], _price_text(each), each["reason"]) for each in shown]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for each, (name, strategy, price, reason) in zip(shown, rows, strict=True):
        yield f"{name:<{widths[0]}}  {strategy:<{widths[1]}}  {price:>{widths[2]}}  {reason}"
        yield from (f"    {note}" for note in _notes(each))
    if folded:
        yield f"unchanged: {_names_text(folded)}"


def _weight(resource: Json) -> tuple[float, float, bool]:
    """What sorts the resources: those that move most come first, then those that lose most, then what else is done."""
    moved, lost = resource["rows"], resource.get("rows_lost", 0)
    unknown = float("inf")
    return (
        -(unknown if moved is None else moved),
        -(unknown if lost is None else lost),
        resource["strategy"] == "none",
    )


def _price_text(resource: Json) -> str:
    """What a resource moves or loses; `–` if neither."""
    moved, lost = resource["rows"], resource.get("rows_lost", 0)
    size = "" if resource["bytes"] is None else f", {format_bytes(resource['bytes'])}"
    parts = [] if moved == 0 else [f"moves {_rows_text(moved)}{size}"]
    parts += [] if lost == 0 else [f"loses {_rows_text(lost)}"]
    return "; ".join(parts) or "–"


def _rows_text(rows: object) -> str:
    return f"{format_count(rows)} row{'' if rows == 1 else 's'}" if rows is not None else "all rows"


def _notes(resource: Json) -> Iterator[str]:
    for other in resource.get("rejected", ()):
        yield f"not {other['strategy']} ({_rows_text(other['rows'])}): {other['reason']}"
    yield from _materialization_notes(resource)
    kept = resource.get("rollback")
    if kept is not None and not kept["lossless"]:
        yield f"a rollback is not lossless: {kept['reason']}"


def _materialization_notes(resource: Json) -> Iterator[str]:
    """When the columns are written that are computed when they are read, and why not before."""
    if not resource.get("unsettled"):
        return
    names, planned = ", ".join(f"`{column}`" for column in resource["unsettled"]), resource.get("materialization")
    if planned is None:
        yield f"computed when it is read, until it is materialized: {names}"
        return
    size = f" ({_rows_text(planned['rows'])}, {format_bytes(planned['bytes'])})" if planned["rows"] is not None else ""
    if planned["before_promotion"] is None:
        yield f"computed when it is read, until it is materialized: {names} ({planned['reason']})"
    elif planned["before_promotion"]:
        yield f"written into the files before it is ready{size}: {names}"
    else:
        yield (
            f"still computed when it is read after the promotion, until the background has written it{size}: {names}:"
            f" {planned['reason']}"
        )


def _names_text(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more:,} more (--all shows them)" if more > 0 else shown


def _find_resource(plan: Json, name: str) -> Json:
    found = [each for each in plan["resources"] if each["name"] == name]
    if not found:
        hint = did_you_mean(name, [each["name"] for each in plan["resources"]])
        raise WrongUsage(f"--why: the plan has no resource `{name}`", hint=hint)
    return found[0]


def _rule_lines(resource: Json) -> Iterator[str]:
    """The rules in their order; the first that applies decides, unless another strategy was asked for."""
    rules, applying = resource.get("rules", ()), list[str]()
    for number, rule in enumerate(rules, 1):
        says = f"no: {rule['says']}"
        if rule["applies"]:
            says = "it would apply as well" if applying else "it applies"
            applying.append(rule["strategy"])
        yield f"{number}. {rule['strategy']}, where {rule['rule']}: {says}"
    if not rules:
        yield f"there were no rules to try: {resource['reason']}"
    elif not applying:
        yield "no rule applies as the project is"
    elif applying[0] != resource["strategy"]:
        yield f"`{resource['strategy']}` was asked for"
    yield from _materialization_notes(resource)


def _total_line(plan: Json) -> str:
    nothing = "" if plan["changes"] else "nothing changes; "
    moved = f"rows moved: {format_count(plan['rows_moved'])}, bytes moved: {format_bytes(plan['bytes_moved'])}"
    lost = plan.get("rows_lost", 0)
    lost_text = "" if lost == 0 else f"; rows lost: {format_count(lost)}"
    early, later = _rewritten(plan, before=True), _rewritten(plan, before=False)
    early_text = f"; rewritten before it is ready: {early}" if early else ""
    later_text = f"; rewritten afterwards: {later}{_duration(plan.get('materialized_later'))}" if later else ""
    return f"{nothing}{moved}{lost_text}{early_text}{_time_text(plan, bool(early))}{later_text}"


def _rewritten(plan: Json, *, before: bool) -> str:
    """How much is rewritten to materialize columns, before the version is ready or afterwards."""
    planned = [each["materialization"] for each in plan["resources"] if each.get("materialization")]
    found = [each for each in planned if each["before_promotion"] == before]
    if any(each["rows"] is None for each in found):
        return "all rows of some tables"
    rows = sum(each["rows"] for each in found)
    return f"{_rows_text(rows)}, {format_bytes(sum(each['bytes'] for each in found))}" if rows else ""


def _duration(estimate: Json | None) -> str:
    return "" if estimate is None or estimate["seconds"] is None else f", about {_duration_text(estimate['seconds'])}"


def _time_text(plan: Json, rewrites: bool) -> str:
    """How long it takes, where something moves or is rewritten."""
    estimate = plan.get("estimate")
    if estimate is None or (plan["rows_moved"] == 0 and not rewrites):
        return ""
    if estimate["seconds"] is None:
        return f"; no estimate of the time: {estimate['basis']}"
    return f"; about {_duration_text(estimate['seconds'])}, {estimate['basis']}"


def _duration_text(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
