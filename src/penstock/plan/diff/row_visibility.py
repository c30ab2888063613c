"""Which rows of a data source a query sees: ENGINE_TTL, the Null engine, and what FINAL merges.

In: a data source. Out: `TtlFilter` (Spark SQL that is true for rows that have not expired) and `FinalRule` (how FINAL
merges rows with equal sorting keys). Invariant: both act when rows are read, and only for the version that has them;
no row is deleted for one version, so rows hidden by a shorter TTL are visible again after a rollback (decision 0015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import DataSource, Text
from penstock.model.merge_rule import Merge
from penstock.model.types import Date, DateTime, DateTime64, unwrap_type
from penstock.parse.ttl import TtlRule, parse_ttl_rules
from penstock.plan.diff.query_equality import normalize_sql
from penstock.sql.compile import compile_expression
from penstock.sql.engines.merge_rules import merge_rule

NULL_ENGINE = "Null"
"""The engine that keeps no rows: they only go through to the views."""
KEEPS_NOTHING = "false"


@dataclass(frozen=True, slots=True)
class TtlFilter:
    """`keeps` is over logical names; `problems` say why there is none."""

    keeps: str | None = None
    problems: tuple[Problem, ...] = ()


def build_ttl_filter(source: DataSource) -> TtlFilter:
    """What is to be seen of a data source: of engine Null nothing, else what its TTL keeps."""
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
    """True for rows that one rule keeps. A condition that is NULL deletes nothing."""
    end = compile_expression(rule.until, source.columns)
    if not isinstance(unwrap_type(end.type), (Date, DateTime, DateTime64)):
        message = f"ENGINE_TTL of `{source.name}` is a {end.type}, not a time"
        hint = "such as `timestamp + INTERVAL 30 DAY`"
        problems.append(Problem("unsupported-ttl", message, rule.until.location, hint))
    moment = f"CAST({end.sql} AS TIMESTAMP)" if isinstance(unwrap_type(end.type), Date) else end.sql
    young = f"coalesce({moment} > current_timestamp(), true)"
    if rule.where is None:
        return young
    compile_expression(rule.where, source.columns)  # so that what is wrong in it has its own place
    meant = compile_expression(replace(rule.where, text=f"if({rule.where.text}, 1, 0)"), source.columns)
    return f"({young} OR {meant.sql} = 0)"


def shows_same_rows(old: DataSource, new: DataSource) -> bool:
    """Whether the same rows are to be seen of two versions."""
    return (old.engine.name == NULL_ENGINE) == (new.engine.name == NULL_ENGINE) and is_same_ttl(old, new)


def is_same_ttl(old: DataSource, new: DataSource) -> bool:
    """Whether two TTLs keep the same rows, however they are spelt."""
    if normalize_sql(old.engine.ttl or "") == normalize_sql(new.engine.ttl or ""):
        return True
    before, after = build_ttl_filter(old), build_ttl_filter(new)
    return before.keeps is not None and before.keeps == after.keeps


@dataclass(frozen=True, slots=True)
class FinalRule:
    """`problems` say why there is no rule where there should be one. Where FINAL alone cannot be had there
    are none: a query that asks for it is refused."""

    rule: Merge | None = None
    problems: tuple[Problem, ...] = ()


def build_final_rule(source: DataSource) -> FinalRule:
    """The rule of a data source's engine; none for one that merges nothing."""
    place = source.engine.location("ENGINE_SORTING_KEY") or source.location
    try:
        return FinalRule(merge_rule(source).rule)
    except InvalidQuery as error:
        return FinalRule(problems=error.problems or (Problem(error.code, error.message, place, error.hint),))
