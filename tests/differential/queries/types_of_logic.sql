-- AND and OR give a Bool where an operand is a Bool that is not Nullable.
SELECT toTypeName(toNullable(b) OR u8), toTypeName(toNullable(b) OR b), toTypeName(b AND u8), toTypeName(toNullable(b) AND toNullable(b)) FROM t;
SELECT toNullable(b) OR u8, toNullable(b) AND ni, NOT toNullable(b), xor(toNullable(b), u8), b OR NULL, toNullable(b) OR NULL FROM t;
SELECT toTypeName(toNullable(b) OR u8), toTypeName(toNullable(b) AND b), toTypeName(NOT toNullable(b)), toTypeName(xor(toNullable(b), u8)) FROM t;
SELECT id AND toLowCardinality(b), toLowCardinality(b) OR u8, toLowCardinality(b) AND toLowCardinality(b) FROM t;
