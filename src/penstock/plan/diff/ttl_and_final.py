"""Which rows of a data source a query sees: ENGINE_TTL, the Null engine, and what FINAL merges.

In: a data source. Out: `TtlFilter` (Spark SQL that is true for rows that have not expired) and `FinalRule` (how FINAL
merges rows with equal sorting keys). Invariant: both act when rows are read, and only for the version that has them;
no row is deleted for one version, so rows hidden by a shorter TTL are visible again after a rollback (decision 0015).
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import DataSource, Text
from penstock.model.manifest import KEEPS_NOTHING
from penstock.model.merge_rule import Merge
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Date, DateTime, DateTime64, unwrap_type
from penstock.parse.ttl import TtlRule, parse_ttl_rules
from penstock.plan.diff.query_equality import normalize_sql
from penstock.sql.compile import compile_expression
from penstock.sql.engines.merge_rules import merge_rule
from penstock.sql.expr.fine_times import as_microseconds
from penstock.sql.expr.typed import typed_sql

NULL_ENGINE = "Null"
"""The engine without stored rows: they only pass through to the views."""


@dataclass(frozen=True, slots=True)
class TtlFilter:
    """The rows that a TTL leaves visible."""

    keeps: str | None = None
    """Spark SQL over logical names, true for visible rows; None: every row is visible, or `problems` say why there is
    no filter."""
    problems: tuple[Problem, ...] = ()


def build_ttl_filter(source: DataSource) -> TtlFilter:
    """The filter for visible rows; nothing is visible of engine Null."""
    written = source.engine.ttl
    if source.engine.name == NULL_ENGINE:
        return TtlFilter(KEEPS_NOTHING)
    if written is None:
        return TtlFilter()
    place = source.engine.location("ENGINE_TTL") or source.location
    problems: list[Problem] = []
    try:
        keeps = [
            _keep_condition(source, rule, problems)
            for rule in parse_ttl_rules(Text(written, place), source.columns, problems)
        ]
    except InvalidQuery as error:
        return TtlFilter(problems=error.problems or (Problem(error.code, error.message, place, error.hint),))
    if problems:
        return TtlFilter(problems=tuple(problems))
    return TtlFilter(" AND ".join(keeps))


def _keep_condition(source: DataSource, rule: TtlRule, problems: list[Problem]) -> str:
    """Spark SQL that is true for the rows that one rule keeps. A WHERE that is NULL expires nothing, as in
    ClickHouse."""
    end = compile_expression(rule.until, source.columns)
    if not isinstance(unwrap_type(end.type), (Date, DateTime, DateTime64)):
        message = f"ENGINE_TTL of `{source.name}` is a {end.type}, not a time"
        hint = "such as `timestamp + INTERVAL 30 DAY`"
        problems.append(Problem("unsupported-ttl", message, rule.until.location, hint))
    until = as_microseconds(typed_sql(end.sql, end.type)).sql
    moment = f"CAST({until} AS TIMESTAMP)" if isinstance(unwrap_type(end.type), Date) else until
    young = f"coalesce({moment} > current_timestamp(), true)"
    if rule.where is None:
        return young
    compile_expression(rule.where, source.columns)  # so that what is wrong in it has its own place
    meant = compile_expression(replace(rule.where, text=f"if({rule.where.text}, 1, 0)"), source.columns)
    return f"({young} OR {meant.sql} = 0)"


def keeps_no_rows(*versions: DataSource) -> bool:
    """Whether one of the versions of a data source has the engine Null: then its table has not all rows that ever came,
    and a view cannot be recomputed from it."""
    return any(version.engine.name == NULL_ENGINE for version in versions)


def begins_empty(old: DataSource, new: DataSource) -> bool:
    """Whether a data source keeps its rows from this version on: those of before only passed through, and whether some
    of them are still on disk is a matter of luck."""
    return old.engine.name == NULL_ENGINE and new.engine.name != NULL_ENGINE


def is_same_ttl(old: DataSource, new: DataSource) -> bool:
    """Whether two TTLs keep the same rows, even if they are written differently."""
    if normalize_sql(old.engine.ttl or "") == normalize_sql(new.engine.ttl or ""):
        return True
    before, after = build_ttl_filter(old), build_ttl_filter(new)
    return before.keeps is not None and before.keeps == after.keeps


@dataclass(frozen=True, slots=True)
class FinalRule:
    """How FINAL merges the rows of a data source. If only FINAL is impossible, `problems` is empty; queries with FINAL
    are refused."""

    rule: Merge | None = None
    problems: tuple[Problem, ...] = ()
    """Why a rule that the engine needs could not be made."""


def build_final_rule(source: DataSource) -> FinalRule:
    """The rule of FINAL for a data source; no rule for an engine that merges nothing."""
    place = source.engine.location("ENGINE_SORTING_KEY") or source.location
    try:
        return FinalRule(merge_rule(source).rule)
    except InvalidQuery as error:
        return FinalRule(problems=error.problems or (Problem(error.code, error.message, place, error.hint),))
