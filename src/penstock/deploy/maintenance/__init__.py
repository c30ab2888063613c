"""Background maintenance: compaction, row TTL, snapshot expiry, orphan files, inbox trimming, materialized columns."""
