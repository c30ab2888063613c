-- What nobody reads any more.
ALTER TABLE notes DROP COLUMN body_next;
ALTER TABLE issues DROP COLUMN legacy_ref;
