"""JSON documents as ClickHouse's JSON type keeps them: typed leaves, ordered paths, no nulls."""
