"""Random queries in the forms of public projects (queries/project_forms.sql): constants that are expressions, names in
every spelling, arrays of subqueries.

In: a source of choices. Out: the text of a query, which gives the same rows in whatever order its sources are read.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

UNITS = ("SECOND", "minute", "HOURS", "day", "WEEK", "Month", "QUARTERS", "YEAR")
TIMES = ("t", "d", "t3", "nt", "toDateTime('2024-02-29 12:34:56')", "toDate('2023-12-31')")
AMOUNTS = ("u8", "i8", "id % 3", "-id", "u8 % 5 + 1", "ni", "toInt64(id) * 2")
RANKS = ("row_number()", "rank()", "dense_rank()", "ntile(2)", "lag(u8)", "lead(u8, 1)", "nth_value(u8, 2)")
JOINED = ("ANY LEFT JOIN", "ANY INNER JOIN", "LEFT JOIN", "INNER JOIN")
NUMBERS = ("f", "nf", "f32", "u8", "i8", "ni", "u64", "dec", "1.5", "nan", "-0.", "0")


def constant(random: Random, value: int) -> str:
    """A whole number from 0, written as an expression."""
    return random.choice(
        (
            str(value),
            f"toInt32('{value}')",
            f"(SELECT {value})",
            f"{value + 3} - 3",
            f"({value} * 2) DIV 2",
            f"intDiv({value * 3}, 3)",
            f"if({random.randint(0, 1)} >= 0, {value}, 7)",
            f"least({value}, {value + 1})",
            f"greatest({value}, 0)",
            f"'{value}'::UInt32",
            f"CAST({value} AS Int64)",
            f"negate(-{value})" if value else "abs(0)",
        )
    )


def of_project(random: Random) -> str:
    """A SELECT in one of the forms."""
    return random.choice(FORMS)(random)


def shifted(random: Random) -> str:
    amount = random.choice((constant(random, random.randint(0, 40)), random.choice(AMOUNTS)))
    unit, sign = random.choice(UNITS), random.choice("+-")
    times = [each for each in TIMES if unit.upper().rstrip("S") not in ("SECOND", "MINUTE", "HOUR") or each != "d"]
    return f"SELECT id, {random.choice(times)} {sign} INTERVAL {amount} {unit} AS c0 FROM t"


def started(random: Random) -> str:
    step = constant(random, random.choice((1, 2, 5, 15, 30)))
    unit = random.choice(UNITS[:4])
    return f"SELECT id, toStartOfInterval({random.choice(('t', 't3', 'nt'))}, INTERVAL {step} {unit}) AS c0 FROM t"


def limited(random: Random) -> str:
    count, skip = constant(random, random.randint(0, 4)), constant(random, random.randint(0, 3))
    by = random.choice(("", "", " BY u8", " BY b"))
    limit = random.choice((f"LIMIT {count} OFFSET {skip}", f"LIMIT {skip}, {count}", f"LIMIT {count}"))
    return f"SELECT id FROM t ORDER BY id {limit}{by}"


def ranged(random: Random) -> str:
    step = random.choice((constant(random, random.randint(1, 9)), "id", "toInt64(id) - 9"))
    low, high = random.choice(("0", "id", "toInt64(i8) % 9", "24 * 2")), random.choice(("u8 % 40", "9", "id * 3"))
    return f"SELECT id, range({low}, {high}, {step}) AS c0 FROM t"


def ranked(random: Random) -> str:
    call = random.choice(RANKS)
    name, arguments = call.split("(", 1)
    spelled = "".join(random.choice((letter, letter.upper())) for letter in name)
    window = random.choice(("PARTITION BY b ORDER BY id", "ORDER BY id DESC", "PARTITION BY lc ORDER BY id DESC"))
    return f"SELECT id, {spelled}({arguments} OVER ({window}) AS c0 FROM t"


def array_of_subquery(random: Random) -> str:
    key = random.choice(("id", "u8", "lc", "s", "i32"))
    array = f"(SELECT arraySort(groupArray({key})) FROM t WHERE id % {random.randint(1, 4)} = 0)"
    if random.random() < 0.3:
        return f"SELECT b, countIf(has({array}, {key})) AS c0, length({array}) AS c1 FROM t GROUP BY b"
    call = random.choice((f"has({array}, {key})", f"indexOf({array}, {key})", f"arrayExists(x -> x = {key}, {array})"))
    where = random.choice(("", f" WHERE {call}"))
    return f"WITH {call} AS c0 SELECT id, c0 FROM t{where}"


def with_star(random: Random) -> str:
    call = random.choice(
        ("uniqExact(*)", "uniqExact(a.*)", "count(*)", "uniqExact(* EXCEPT (id))", "count(DISTINCT *)")
    )
    group = random.choice(("", " GROUP BY b"))
    return f"SELECT {call} AS c0 FROM (SELECT id, b, {random.choice(('u8', 's', 'lc', 'd'))} AS k FROM t) AS a{group}"


def extreme(random: Random) -> str:
    name = random.choice(("max2", "min2", "MAX2", "Min2"))
    return f"SELECT id, {name}({random.choice(NUMBERS)}, {random.choice(NUMBERS)}) AS c0 FROM t"


def beside_number(random: Random) -> str:
    number = random.choice(("0", "1700000000", "u64", "i64", "f", "1709251199.999", "-1"))
    sign = random.choice(("<", ">=", "=", "<>"))
    return f"SELECT id, {random.choice(('t', 't3', 'nt'))} {sign} {number} AS c0 FROM t"


def several_joins(random: Random) -> str:
    one = "(SELECT id, max(u8) AS x FROM t GROUP BY id)"
    kinds = random.choice(JOINED), random.choice(JOINED[2:])
    using = random.random() < 0.5
    first, second = (" USING id", " USING id") if using else (" ON a.id = b.id", " ON c.id = a.id")
    return f"SELECT a.id, b.x, c.x AS z FROM t AS a {kinds[0]} {one} AS b{first} {kinds[1]} {one} AS c{second}"


def member(random: Random) -> str:
    key = random.choice(("lc", "s", "ns", "toString(id)"))
    given = random.choice(
        (
            "(['a', 'b', '1'])",
            "['x', 'Hello World']",
            "splitByChar(',', 'a,b,1,2,x')",
            "(splitByString(', ', 'a, x, 3'))",
            "(array('a', ''))",
            "arrayMap(x -> concat(x, ''), ['a', '2'])",
            "arrayConcat(['a'], ['2', 'x'])",
            "arrayDistinct(splitByChar(',', 'a,x,a', 2))",
            "CAST(['b', '1'] AS Array(String))",
            "(SELECT arrayJoin(['a', 'x'] || ['b']))",
        )
    )
    return f"SELECT id, {key} {random.choice(('IN', 'NOT IN'))} {given} AS c0 FROM t"


def beside_text(random: Random) -> str:
    """A text as a time, moved by an interval."""
    text = random.choice(("'2024-02-29 12:34:56'", "'2024-01-31'", "toString(d)", "'2024-03-10T01:02:03.5'"))
    amount = random.choice((constant(random, random.randint(0, 40)), "id"))
    moved = f"{text} {random.choice('+-')} INTERVAL {amount} {random.choice(UNITS)}"
    value = random.choice((moved, f"t {random.choice(('<', '>='))} {moved}", f"toDate({moved})"))
    return f"SELECT id, {value} AS c0 FROM t WHERE toYear(d) > 1990"


def computed_key(random: Random) -> str:
    """JSON at a key or a position that is computed."""
    json = random.choice(("""{"a":1,"b":{"c":[1,2]},"c":"x"}""", '[[1],{"c":2},3]', '{"a":[5,6],"b":null}'))
    step = random.choice(("k", "lower(k)", "p", "'b', k", "p, p"))
    call = random.choice(("JSONExtractString", "JSONExtractInt", "JSONHas", "JSONType", "JSONLength", "JSONExtractRaw"))
    rows = "SELECT arrayJoin(['a', 'B', 'c', 'zz']) AS k, toInt8(length(k)) * 3 - 4 AS p"
    return f"SELECT k, {call}('{json}', {step}) AS c0 FROM ({rows})"


def spread(random: Random) -> str:
    call = random.choice(("stddevPop", "varSamp", "stddevSamp", "varPop", "covarPop"))
    of = random.choice(("f32", "dec", "u8", "toFloat32(id)")) if call != "covarPop" else "toFloat32(id), toFloat32(u8)"
    return f"SELECT toTypeName({call}({of})) AS c0, round({call}({of}), 1) AS c1 FROM t WHERE abs(f32) < 100"


def fine_time(random: Random) -> str:
    time = random.choice(
        (
            "fromUnixTimestamp64Nano(toInt64(id) * 1000000007)",
            "toDateTime64(t3, 9)",
            "toDateTime64(t, 7)",
            "toDateTime64(concat('2024-02-29 23:59:59.12345678', toString(id)), 8)",
        )
    )
    calls = (
        "toDate",
        "toHour",
        "toStartOfDay",
        "toString",
        "toUnixTimestamp64Nano",
        "toStartOfMonth",
        "toInt64",
        "isNull",
    )
    value = random.choice(
        (
            f"{random.choice(calls)}({time})",
            f"{time} {random.choice('+-')} INTERVAL {random.choice(('id', '3'))} {random.choice(UNITS)}",
            f"{time} {random.choice(('<', '>=', '=', '<>'))} {random.choice(('t3', 't', 'd', '1700000000'))}",
            f"toDateTime64({time}, {random.choice((0, 3, 6, 8))})",
            f"if(id > 3, {time}, t3)",
            f"dateDiff('{random.choice(('second', 'hour', 'day', 'month'))}', {time}, t)",
        )
    )
    if random.random() < 0.3:
        return f"SELECT b, {random.choice(('max', 'min', 'uniqExact', 'count'))}({time}) AS c0 FROM t GROUP BY b"
    return f"SELECT id, {value} AS c0 FROM t WHERE id > 1"


def divided(random: Random) -> str:
    """Whole quotients of floats."""
    call = random.choice(("intDiv", "intDivOrZero", "intDivOrZero", "intDivOrNull"))
    value = random.choice(("id / 7", "f", "nf", "f32", "ni", "u16", "id", "dec"))
    by = random.choice(("2.5", "-0.75", "f32", "toFloat32(0.3)", "nf", "id + 0.5", "3", "toInt64(2)", "u8"))
    return f"SELECT id, {call}({value}, {by}) AS c0 FROM t WHERE isFinite(f) AND isFinite(f32) AND abs(f) < 100"


def of_groups(random: Random) -> str:
    """Rows of groups, repeated."""
    array = random.choice(
        (
            "groupArray(id)",
            "arraySort(groupUniqArray(u8))",
            "groupArray(ni)",
            "[1, 2]",
            "groupArray(arr)",
            "[any(1), 2]",
        )
    )
    key = random.choice(("id % 3", "b", "lc", "u8 > 1"))
    after = random.choice(("", "", " HAVING c > 1", " HAVING isNotNull(v)", " ORDER BY k, toString(v)", " LIMIT 0"))
    beside = random.choice(("count() AS c", "count() AS c, max(id)", "count() AS c, toString(v)", "count() + 1 AS c"))
    distinct = random.choice(("", "DISTINCT "))
    return f"SELECT {distinct}{key} AS k, arrayJoin({array}) AS v, {beside} FROM t GROUP BY k{after}"


def given_twice(random: Random) -> str:
    """A column that a SELECT gives twice, read by its name."""
    value = random.choice(("u8", "lagInFrame(u8, 1) OVER (ORDER BY id)", "toUInt8(id % 3)", "any(u8) OVER ()"))
    first = random.choice((f"id, k, {value} AS k", f"{value} AS k, id, k", f"id, {value} AS k, id, k"))
    rows = random.choice((f"(SELECT {first} FROM t) AS x", f"(SELECT *, {value} AS k, k FROM t) AS x"))
    shown = random.choice(("id, k", "x.k, id", "k, id, count() OVER (PARTITION BY k) AS c"))
    return f"SELECT {shown} FROM {rows}{random.choice(('', ' WHERE k > 1', ' WHERE x.id > 2'))}"


def with_dots(random: Random) -> str:
    """Columns with a dot in their name, with and without back-quotes."""
    key, values = random.choice(("lc", "u8", "ns", "d")), random.choice(("arr", "sarr", "[u8, id]"))
    table = random.choice(("", " AS x"))
    names = ["E.k", "`E.k`", "E.v", "length(E.v)", "E.v[1]", *(["x.E.k", "x.`E.v`"] if table else [])]
    rows = f"(SELECT id, {key} AS `E.k`, {values} AS `E.v` FROM t){table}"
    if random.random() < 0.4:
        return f"SELECT E.k AS c0, count() AS c1, max(length(E.v)) AS c2 FROM {rows} GROUP BY E.k"
    if random.random() < 0.3:
        return f"SELECT id, e AS c0, E.k AS c1 FROM {rows} ARRAY JOIN E.v AS e"
    where = random.choice(("", " WHERE notEmpty(E.v)", " WHERE E.k IS NOT NULL"))
    return f"SELECT id, {random.choice(names)} AS c0, {random.choice(names)} AS c1 FROM {rows}{where}"


FORMS: tuple[Callable[[Random], str], ...] = (
    shifted,
    shifted,
    started,
    limited,
    ranged,
    ranked,
    array_of_subquery,
    with_star,
    extreme,
    beside_number,
    several_joins,
    member,
    fine_time,
    beside_text,
    computed_key,
    spread,
    divided,
    of_groups,
    given_twice,
    with_dots,
)
