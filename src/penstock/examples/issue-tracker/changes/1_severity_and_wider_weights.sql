-- A new column, a wider type (Postgres writes all rows of issues anew), a new label, and the column that notes.body moves to.
ALTER TYPE issue_state ADD VALUE 'locked';
ALTER TABLE issues ADD COLUMN severity integer NOT NULL DEFAULT 3;
ALTER TABLE issues ALTER COLUMN weight TYPE bigint;
ALTER TABLE notes ADD COLUMN body_next text;
