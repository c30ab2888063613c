"""What is known of functions by their names in Spark: which aggregate, and which a view cannot have.

In: names in lower case. Out: answers. Invariant: a function that gives other rows when the same rows are read again
is refused here; whether Penstock allows a function at all is decided where its SQL is compiled.
"""

from __future__ import annotations

AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
    collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id
    histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by mean
    median min min_by mode percentile percentile_approx percentile_cont percentile_disc product regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std
    stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    var_pop var_samp variance
    """.split()  # noqa: SIM905 a list of names reads as one
)
GENERATORS = frozenset(
    ["explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"]
)
"""Functions that make several rows of one."""

_CLOCK = "the clock: computed anew, the view would give other rows"
_CHANCE = "chance: computed anew, the view would give other rows"
_ORDER = "the order in which rows happen to be read"
_REFUSED = {
    **dict.fromkeys(("now", "current_timestamp", "current_date", "curdate", "current_time", "localtimestamp"), _CLOCK),
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"), _CHANCE),
    **dict.fromkeys(("first", "first_value", "last", "last_value", "any_value"), _ORDER),
    "session_window": "rows of other steps",
    **dict.fromkeys(("monotonically_increasing_id", "spark_partition_id", "input_file_name"), "how Spark divides work"),
}
_HINTS = {
    _CLOCK: "use a time that the row itself has",
    _CHANCE: "compute it of what the row has, such as xxhash64 of its key",
    _ORDER: "use min, max, min_by or max_by",
    "rows of other steps": "group by date_trunc, or find sessions where the rows are queried",
    "how Spark divides work": "number rows by what they have",
}


def refusal_of(name: str, arguments: int) -> tuple[str, str] | None:
    """Why a view cannot call a function, and what to do instead; None if it can."""
    reason = _REFUSED.get(name)
    if name == "unix_timestamp" and not arguments:
        reason = _CLOCK
    if reason is not None:
        return f"`{name}` depends on {reason}", _HINTS[reason]
    if name == "window":
        return "`window` is not read in SQL here", "group by date_trunc, or by a part of unix_timestamp"
    if name == "log10":
        return "`log10` becomes log(10, x) in SQL here, whose last digit may differ", "write F.log(10.0, column)"
    if name == "to_char":
        return "`to_char` loses its format in SQL here", "use F.to_varchar"
    if name == "parse_json":
        return "`parse_json` becomes the text itself in SQL here", "use F.try_parse_json"
    if name == "arrays_zip":
        return "`arrays_zip` names its fields after columns, which SQL does not keep", "use transform with an index"
    return None
