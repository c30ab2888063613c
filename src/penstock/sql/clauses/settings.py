"""SETTINGS of a query: those that change no answer are taken, `join_use_nulls` is done, others are refused.

In: the tree of one SELECT, or of one that other SELECTs are parts of. Out: the environment of the SELECT and of all
SELECTs in it. Invariant: a setting is refused unless it is known to change no answer (performance, logging), or is set
to the value that it has here anyway.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.compiler.environment import Environment
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.syntax.problems import Refused, refusal

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
    "prefer_column_name_to_alias": "0",
    "session_timezone": "UTC",
    "transform_null_in": "0",
    "use_with_fill_by_sorting_prefix": "1",
}
"""Settings that change answers, with the values that they have here."""
_JOIN_NULLS = "join_use_nulls"


def read_settings(block: SelectBlock) -> SelectBlock:
    """Pass: reports each setting that is not supported; `join_use_nulls` holds for this SELECT and all in it."""
    environment = block.environment
    for setting in block.tree.args.get("settings") or []:
        nulls = _value(setting) if _name(setting) == _JOIN_NULLS else None
        if nulls in ("0", "1"):
            environment = replace(environment, join_nulls=nulls == "1")
        elif not _is_harmless(setting):
            environment.report.problems.append(_refusal(environment, setting).problem)
    return block if environment is block.environment else replace(block, environment=environment)


def refuse_settings(environment: Environment, tree: exp.Query) -> None:
    """Raises Refused for a setting after a UNION, or after a SELECT in parentheses, that would change answers: of which
    of its SELECTs depends on where it stands."""
    for setting in tree.args.get("settings") or []:
        if not _is_harmless(setting) and (_name(setting), _value(setting)) != (_JOIN_NULLS, "0"):
            raise _refusal(environment, setting, f"{_JOIN_NULLS} behind a UNION or parentheses is not supported")


def _refusal(environment: Environment, setting: exp.Expr, of_join_nulls: str = f"{_JOIN_NULLS} is 0 or 1") -> Refused:
    if _name(setting) != _JOIN_NULLS:
        message = f"the setting {_name(setting)} is not supported"
        return refusal(environment.text, setting, "unsupported-clause", message)
    hint = f"SELECT … SETTINGS {_JOIN_NULLS} = 1, in each SELECT that joins"
    return refusal(environment.text, setting, "unsupported-clause", of_join_nulls, hint)


def _name(setting: exp.Expr) -> str:
    return setting.this.name if isinstance(setting, exp.EQ) else setting.name


def _value(setting: exp.Expr) -> str:
    """The value as a text; a setting without one is 1."""
    value = setting.expression if isinstance(setting, exp.EQ) else exp.true()
    if isinstance(value, exp.Boolean) or value.name.lower() in ("true", "false"):
        return "1" if value.this is True or value.name.lower() == "true" else "0"
    return str(value.name)


def _is_harmless(setting: exp.Expr) -> bool:
    """Whether the answer is the same with the setting as without it."""
    if not isinstance(setting, exp.EQ):
        return False
    name = _name(setting)
    if name in _DEFAULTS:
        return _value(setting) == _DEFAULTS[name]
    return name in _NAMES or name.startswith(_PREFIXES)
