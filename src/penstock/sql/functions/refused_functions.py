"""ClickHouse functions that are deliberately not supported, each with the reason or what to write instead.

Takes the name of an unknown function and returns a hint. No supported function may stand here; for names that do not
stand here the compiler suggests the nearest supported name.
"""

from __future__ import annotations

from collections.abc import Mapping

_UNDEFINED_ORDER = "the order of its elements is not defined; {0}"
_SERVER_STATE = "it asks ClickHouse's server, and there is none here; write the value as a literal"
MISSING: Mapping[str, str] = {
    "arrayUnion": _UNDEFINED_ORDER.format("arraySort(arrayDistinct(arrayConcat(…)))"),
    "arraySymmetricDifference": _UNDEFINED_ORDER.format("arraySort(arrayConcat(arrayExcept(a, b), arrayExcept(b, a)))"),
    "arrayPartialSort": _UNDEFINED_ORDER.format("arraySort(…)"),
    "arrayPartialReverseSort": _UNDEFINED_ORDER.format("arrayReverseSort(…)"),
    "arrayShuffle": _UNDEFINED_ORDER.format("arraySort(…)"),
    "arrayPartialShuffle": _UNDEFINED_ORDER.format("arraySort(…)"),
    "arrayRandomSample": _UNDEFINED_ORDER.format("arraySlice(…)"),
    "groupArraySample": "which rows it takes is not defined; groupArraySorted(n)(x)",
    **dict.fromkeys(
        (
            "currentDatabase",
            "database",
            "schema",
            "current_database",
            "hostName",
            "hostname",
            "fqdn",
            "fullHostName",
            "version",
            "uptime",
            "currentUser",
            "user",
            "current_user",
            "serverUUID",
            "queryID",
            "buildId",
            "tcpPort",
            "getSetting",
            "getMacro",
            "connectionId",
            "serverTimezone",
            "revision",
            "initialQueryID",
        ),
        _SERVER_STATE,
    ),
    **dict.fromkeys(
        ("joinGet", "joinGetOrNull"), "there is no engine Join; LEFT ANY JOIN the data source, of engine MergeTree"
    ),
    **dict.fromkeys(
        ("rowNumberInBlock", "rowNumberInAllBlocks", "blockNumber", "blockSize"),
        "there are no blocks of rows; row_number() OVER (ORDER BY …) - 1 numbers the rows from 0",
    ),
    **dict.fromkeys(
        ("firstSignificantSubdomainCustom", "cutToFirstSignificantSubdomainCustom"),
        "there are no lists of one's own; firstSignificantSubdomain(…) and cutToFirstSignificantSubdomain(…)",
    ),
    "bitmapTransform": "bitmapBuild(arrayMap(x -> transform(x, [1, 2], [3, 4], x), bitmapToArray(b)))",
    "groupBitmapOr": "groupBitmapMerge(b) counts what is in one of the bitmaps",
    **dict.fromkeys(
        ("groupBitmapAnd", "groupBitmapXor"), "bitmapAnd(a, b) and bitmapXor(a, b) take two bitmaps of one row"
    ),
    "histogram": "its bins depend on the order in which rows come; GROUP BY floor(x / width) * width",
    **dict.fromkeys(
        (
            *("cramersV", "cramersVBiasCorrected", "theilsU", "contingency", "studentTTest", "studentTTestOneSample"),
            *("welchTTest", "mannWhitneyUTest", "meanZTest", "kolmogorovSmirnovTest", "analysisOfVariance"),
        ),
        "it is not computed here; a SELECT can give its counts, means and variances: count(), avg(x), varSamp(x)",
    ),
    "deltaSumTimestamp": "deltaSum(x) over a SELECT in FROM that is ordered by the time",
    **dict.fromkeys(
        ("quantileDD", "quantileBFloat16", "quantilesDD", "quantilesBFloat16"), "quantile(0.5)(x), or quantileExact"
    ),
    **dict.fromkeys(
        ("quantileInterpolatedWeighted", "quantilesInterpolatedWeighted"), "quantileExactWeighted(0.5)(x, w)"
    ),
    **dict.fromkeys(("divideDecimal", "multiplyDecimal"), "CAST(a AS Decimal(38, 4)) / b, or * b"),
    "nonNegativeDerivative": "greatest(0, x - lagInFrame(x) OVER w) / (t - lagInFrame(t) OVER w)",
    "sumMapFiltered": "sumMap(mapFilter((k, v) -> k IN (…), m))",
    "JSON_QUERY": "JSONExtractRaw(j, 'a'), or JSONExtractArrayRaw(j, 'a'), which write numbers in another way",
    "JSONExtractKeysAndValuesRaw": "JSONExtractKeysAndValues(j, 'String')",
    "reinterpret": "the reinterpretAs… function of the type",
    "roundDown": "multiIf(x < 10, 0, x < 20, 10, 20)",
    **dict.fromkeys(("ngramDistance", "ngramSearch"), "levenshteinDistance(a, b), or arrayJaccardIndex of ngrams(…)"),
    **dict.fromkeys(
        ("toInt128", "toUInt128", "toInt256", "toUInt256"), "there are integers of up to 64 bits; toDecimal128"
    ),
    "stringJaccardIndex": "arrayJaccardIndex(ngrams(a, 2), ngrams(b, 2))",
    "extractKeyValuePairsWithEscaping": "extractKeyValuePairs(…), or a JSON text",
    "toTime": "formatDateTime(t, '%T'), or toHour, toMinute and toSecond",
}
_HINTS = {name.lower(): hint for name, hint in MISSING.items()}


def missing_function_hint(name: str) -> str | None:
    """The reason or the replacement for a function that is deliberately not supported; None for other names."""
    return _HINTS.get(name.lower())
