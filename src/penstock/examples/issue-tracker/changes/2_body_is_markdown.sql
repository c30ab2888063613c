-- The column that was filled beside notes.body takes its name, and gives it its own.
BEGIN;
ALTER TABLE notes RENAME COLUMN body TO body_swap;
ALTER TABLE notes RENAME COLUMN body_next TO body;
ALTER TABLE notes RENAME COLUMN body_swap TO body_next;
COMMIT;
