-- Splitting strings.
SELECT id, splitByChar(',', s), splitByString(', ', s), splitByString('', lc), splitByRegexp('[, ]', s), arrayStringConcat(sarr, '|'), arrayStringConcat(arr, ',') FROM t;
SELECT id, splitByChar(',', s, 2), splitByChar(',', s, 0), splitByChar(',', s, -1), splitByString(', ', s, 1), splitByString('l', s), splitByString('\\', s), length(splitByString('', s)), splitByChar(',', ns), splitByString('', ns), splitByRegexp('l+', s), splitByRegexp('[, ]', s, 2), splitByRegexp('', lc), splitByRegexp('x', ns) FROM t;
SELECT splitByWhitespace(' a  b\tc\n '), splitByWhitespace(s), splitByWhitespace('a b c', 2), splitByNonAlpha(' a.b;c  d1_é\'"'), splitByNonAlpha(s, 2), alphaTokens('abca1abc'), alphaTokens(s, 1), alphaTokens(s), tokens('é a_b A-1'), tokens(s), splitByNonAlpha(ns), alphaTokens(ns) FROM t;
SELECT ngrams(s, 3), ngrams('été', 2), ngrams('a', 2), ngrams(lc, 1), ngrams('', 1) FROM t;
