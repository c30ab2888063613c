"""What SQL of DIALECT spark may contain: a closed list of kinds of syntax nodes, and a closed list of functions.

`check_allowed` raises Refused for anything else. Invariant: what reads files, other catalogs, settings, the server's
state or its users, or runs code, is on neither list; each function of `SPARK_FUNCTIONS` is a builtin of Spark that
computes its result from its arguments alone.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import Text
from penstock.parse.sql_syntax.spark_calls import find_changed_call
from penstock.sql.spark_text import DIALECT
from penstock.sql.syntax.problems import Refused, place_of, refusal

_CALL = re.compile(r"\s*`?(\w+)`?\s*\(")
_BARE = re.compile(r"\s*(\w+)\s*$")
STAND_IN_PREFIX = "__table"
"""Prefix of the names that stand for tables while a SELECT is compiled."""
_TABLE_PARTS = frozenset(("this", "alias", "joins", "laterals", "sample"))
_QUERY = (
    exp.Select,
    exp.SetOperation,
    exp.Subquery,
    exp.With,
    exp.CTE,
    exp.TableAlias,
    exp.From,
    exp.Join,
    exp.Lateral,
    exp.Where,
    exp.Group,
    exp.Having,
    exp.Order,
    exp.Ordered,
    exp.Limit,
    exp.Offset,
    exp.Distinct,
    exp.Qualify,
    exp.Cube,
    exp.Rollup,
    exp.GroupingSets,
    exp.Values,
    exp.Table,
    exp.TableSample,
    exp.Window,
    exp.WindowSpec,
    exp.Filter,
    exp.WithinGroup,
    exp.IgnoreNulls,
    exp.RespectNulls,
    exp.Unnest,
    exp.Cluster,
    exp.Sort,
)
_VALUE = (
    exp.Column,
    exp.Identifier,
    exp.Star,
    exp.Alias,
    exp.Aliases,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.HexString,
    exp.RawString,
    exp.Interval,
    exp.Var,
    exp.Paren,
    exp.Tuple,
    exp.Unary,
    exp.Binary,
    exp.Between,
    exp.In,
    exp.Bracket,
    exp.Slice,
    exp.Lambda,
    exp.DataType,
    exp.DataTypeParam,
    exp.ColumnDef,
    exp.Dot,
    exp.PropertyEQ,
    exp.IntervalSpan,
    exp.JSONPath,
    exp.JSONPathPart,
    exp.Escape,
    exp.Kwarg,
    exp.SubqueryPredicate,
    exp.AtTimeZone,
)


def check_allowed(text: Text, tree: exp.Query) -> None:
    """Raises Refused for the first call that would change its meaning, and for the first node that is not allowed."""
    changed = find_changed_call(text.text)
    if changed is not None:
        place = place_of(text, changed.offset)
        raise Refused(Problem("unsupported-syntax", changed.message, place, changed.hint))
    for node in tree.walk():
        if isinstance(node, exp.Table):
            _check_table(text, node)
        elif isinstance(node, exp.Func):
            _check_function(text, node)
        elif not isinstance(node, (*_QUERY, *_VALUE)):
            raise _unsupported_error(text, node, f"`{node.key}` is not supported here")
        _check_parts(text, node)


def _check_parts(text: Text, node: exp.Expr) -> None:
    if isinstance(node, exp.With) and node.args.get("recursive"):
        raise _unsupported_error(text, node, "WITH RECURSIVE is not supported")
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        raise _refused_function(text, node, node.expression.name or node.expression.sql_name())
    if isinstance(node, exp.Select) and (node.args.get("kind") or node.args.get("operation_modifiers")):
        raise _unsupported_error(text, node, "this kind of SELECT is not supported")
    if isinstance(node, exp.In) and not (node.expressions or node.args.get("query")):
        raise _unsupported_error(text, node, "IN needs values in brackets")
    if isinstance(node, exp.Identifier) and node.name.lower().startswith(STAND_IN_PREFIX):
        raise refusal(text, node, "invalid-name", f"the name `{node.name}` is reserved")


def _check_table(text: Text, node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        shown = node.name or node.this.sql(dialect=DIALECT).partition("(")[0]
        raise refusal(text, node, "unknown-table", f"the table function `{shown}` is not supported")
    if any(part.name == "" for part in node.parts):
        raise refusal(text, node, "unknown-table", "a part of the table's name is empty")
    extra = [part for part, value in node.args.items() if value and part not in (*_TABLE_PARTS, "db", "catalog")]
    if extra:
        raise _unsupported_error(text, node, f"`{extra[0]}` of a table is not supported")


def _check_function(text: Text, node: exp.Func) -> None:
    """Raises Refused unless the function is allowed, by the name that Spark gets: sqlglot parses several names as
    one node."""
    written = "" if isinstance(node, exp.Anonymous) else _write_call(text, node)
    name = function_name(node, written)
    if name and name not in SPARK_FUNCTIONS:
        raise _refused_function(text, node, name)


def function_name(node: exp.Func, written: str | None = None) -> str:
    """The name by which Spark is called, in lower case; empty for what is no call by a name. `written` is the call as
    Spark gets it, if that is known."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    text = written or node.sql(dialect=DIALECT, comments=False)
    found = _CALL.match(text) or _BARE.match(text)
    return found.group(1).lower() if found is not None else ""


def _write_call(text: Text, node: exp.Func) -> str:
    """The call as Spark gets it. sqlglot reads calls without arguments that it needs to write them."""
    try:
        if not node.error_messages():
            return node.sql(dialect=DIALECT, comments=False)
    except LookupError:
        pass
    called = node.parent if isinstance(node, exp.TsOrDsToDate) and isinstance(node.parent, exp.Func) else node
    message = f"`{called.sql_name().lower()}` needs more arguments"
    raise refusal(text, called, "wrong-argument-count", message)


def _refused_function(text: Text, node: exp.Expr, name: str) -> Exception:
    hint = did_you_mean(name, SPARK_FUNCTIONS)
    return refusal(text, node, "unknown-function", f"the function `{name}` is not allowed", hint)


def _unsupported_error(text: Text, node: exp.Expr, message: str) -> Exception:
    return refusal(text, node, "unsupported-clause", message)


# Builtins of Spark that are left out: reflection (java_method, reflect, try_reflect), files (input_file_*), facts about
# the session and the server (user, current_user, session_user, current_catalog, current_database, current_schema,
# version, python_worker_logs, sql_keywords, collations, spark_partition_id), jars and files by name (from_avro,
# from_protobuf, schema_of_avro, to_avro, to_protobuf), XML, which can name documents (from_xml, schema_of_xml, to_xml,
# xpath*), and range as a table.
_NAMES = """
abs acos acosh add_months aes_decrypt aes_encrypt aggregate and any any_value approx_count_distinct approx_percentile
approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate array array_agg array_append
array_compact array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min
array_position array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip
ascii asin asinh assert_true atan atan2 atanh avg base64 between bigint bin binary bit_and bit_count bit_get
bit_length bit_or bit_xor bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count
bitmap_or_agg bool_and bool_or boolean bround btrim cardinality case cast cbrt ceil ceiling char char_length
character_length chr coalesce collate collation collect_list collect_set concat concat_ws contains conv
convert_timezone corr cos cosh cot count count_if count_min_sketch covar_pop covar_samp crc32 csc cume_dist curdate
current_date current_time current_timestamp current_timezone date date_add date_diff date_format date_from_unix_date
date_part date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode
degrees dense_rank div double e element_at elt encode endswith equal_null every exists exp explode explode_outer expm1
extract factorial filter find_in_set first first_value flatten float floor forall format_number format_string from_csv
from_json from_unixtime from_utc_timestamp get get_json_object getbit greatest grouping grouping_id hash hex
histogram_numeric hll_sketch_agg hll_sketch_estimate hll_union hll_union_agg hour hypot if ifnull ilike in initcap
inline inline_outer instr int is_valid_utf8 is_variant_null isnan isnotnull isnull json_array_length json_object_keys
json_tuple kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint
kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double
kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float kurtosis lag
last last_day last_value lcase lead least left len length levenshtein like listagg ln localtimestamp locate log log10
log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time make_timestamp
make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries
map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask max max_by md5 mean median min
min_by minute mod mode monotonically_increasing_id month monthname months_between named_struct nanvl negative next_day
not now nth_value ntile nullif nullifzero nvl nvl2 octet_length or overlay parse_json parse_url percent_rank
percentile percentile_approx percentile_cont percentile_disc pi pmod posexplode posexplode_outer position positive pow
power printf quarter quote radians raise_error rand randn random randstr rank reduce regexp regexp_count
regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right rint rlike round row_number
rpad rtrim schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg sec second sentences sequence
session_window sha sha1 sha2 shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice
smallint some sort_array soundex space split split_part sqrt stack startswith std stddev stddev_pop stddev_samp
str_to_map string string_agg struct substr substring substring_index sum tan tanh theta_difference theta_intersection
theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg time time_diff time_trunc
timestamp timestamp_micros timestamp_millis timestamp_seconds tinyint to_binary to_char to_csv to_date to_json
to_number to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
to_variant_object transform transform_keys transform_values translate trim trunc try_add try_aes_decrypt try_avg
try_cast try_divide try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz
try_mod try_multiply try_parse_json try_parse_url try_subtract try_sum try_to_binary try_to_date try_to_number
try_to_time try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 unhex uniform
unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode uuid validate_utf8 var_pop
var_samp variance variant_explode variant_explode_outer variant_get weekday weekofyear width_bucket window window_time
xxhash64 year zeroifnull zip_with
"""
SPARK_FUNCTIONS = frozenset(_NAMES.split())
