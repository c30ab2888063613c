"""Pass that refuses clauses and settings that Penstock does not support, each at its place.

Invariant: a refused clause never reaches a later pass; a setting in SETTINGS is refused unless it is known to change no
answer (performance, logging), or is set to the value that it has here anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.syntax.problems import refusal

_CLAUSES = {
    "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE",
    "pivots": "PIVOT",
    "cluster": "CLUSTER BY",
    "sort": "SORT BY",
    "locks": "FOR UPDATE",
    "sample": "SAMPLE after FINAL",
    "into": "INTO",
    "laterals": "LATERAL",
    "operation_modifiers": "this modifier",
}
_PREFIXES = ("max_", "optimize_", "log_", "query_cache_", "query_plan_", "min_bytes_", "min_rows_", "min_count_")
_NAMES = frozenset(
    {
        "aggregation_memory_efficient_merge_threads",
        "allow_deprecated_error_prone_window_functions",
        "allow_prefetched_read_pool_for_remote_filesystem",
        "compile_aggregate_expressions",
        "compile_expressions",
        "compile_sort_description",
        "enable_filesystem_cache",
        "enable_optimize_predicate_expression",
        "enable_reads_from_query_cache",
        "enable_writes_to_query_cache",
        "grace_hash_join_initial_buckets",
        "group_by_two_level_threshold",
        "group_by_two_level_threshold_bytes",
        "join_algorithm",
        "load_balancing",
        "local_filesystem_read_method",
        "parallel_replicas_count",
        "prefer_localhost_replica",
        "priority",
        "receive_timeout",
        "send_timeout",
        "timeout_before_checking_execution_speed",
        "use_hedged_requests",
        "use_index_for_in_with_subqueries",
        "use_query_cache",
        "use_skip_indexes",
        "use_uncompressed_cache",
    }
)
_DEFAULTS = {
    "aggregate_functions_null_for_empty": "0",
    "any_join_distinct_right_table_keys": "0",
    "cast_keep_nullable": "0",
    "data_type_default_nullable": "0",
    "date_time_overflow_behavior": "ignore",
    "final": "0",
    "group_by_use_nulls": "0",
    "group_by_overflow_mode": "throw",
    "join_default_strictness": "ALL",
    "join_use_nulls": "0",
    "prefer_column_name_to_alias": "0",
    "session_timezone": "UTC",
    "transform_null_in": "0",
    "use_with_fill_by_sorting_prefix": "1",
}
"""Settings that change answers, with the values that they have here."""


def refuse_unsupported(block: SelectBlock) -> SelectBlock:
    """Pass: reports each unsupported clause; the block stays as it is."""
    for node, clause in _unsupported_clauses(block.tree):
        with block.environment.report.collecting():
            message = f"{clause} is not supported"
            raise refusal(block.environment.text, node, "unsupported-clause", message)
    return block


def _unsupported_clauses(tree: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """Each unsupported clause of the tree: a node that has its place, and its name."""
    for key, clause in _CLAUSES.items():
        given = tree.args.get(key)
        if given:
            yield _node_of_clause(given, tree), clause
    yield from _unsupported_limit(tree)
    for setting in tree.args.get("settings") or []:
        if not _is_harmless_setting(setting):
            yield setting, f"the setting {setting.this.name or setting.name}"


def _unsupported_limit(tree: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    limit = tree.args.get("limit")
    options = limit.args.get("limit_options") if limit is not None else None
    if limit is not None and options is not None and options.args.get("percent"):
        yield limit, "LIMIT … PERCENT"


def _node_of_clause(given: object, tree: exp.Select) -> exp.Expr:
    found = given[0] if isinstance(given, list) else given
    return found if isinstance(found, exp.Expr) else tree


def _is_harmless_setting(setting: exp.Expr) -> bool:
    """Whether the answer is the same with the setting as without it."""
    if not isinstance(setting, exp.EQ):
        return False
    name, value = setting.this.name, setting.expression
    if name in _DEFAULTS:
        given = "1" if isinstance(value, exp.Boolean) and value.this else "0" if isinstance(value, exp.Boolean) else ""
        return (given or value.name) == _DEFAULTS[name]
    return name in _NAMES or name.startswith(_PREFIXES)
