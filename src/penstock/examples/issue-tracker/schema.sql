-- The application's database, before any change.
CREATE TYPE issue_state AS ENUM ('opened', 'closed');

CREATE TABLE projects (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  stars integer NOT NULL DEFAULT 0
);

CREATE TABLE labels (
  id bigint PRIMARY KEY,
  project_id bigint NOT NULL REFERENCES projects,
  title text NOT NULL,
  color text
);

CREATE TABLE issues (
  id bigint PRIMARY KEY,
  project_id bigint NOT NULL REFERENCES projects,
  title text NOT NULL,
  state issue_state NOT NULL DEFAULT 'opened',
  weight integer,
  legacy_ref text,
  due date,
  updated_at timestamptz NOT NULL
);

CREATE TABLE issue_labels (
  issue_id bigint NOT NULL REFERENCES issues ON DELETE CASCADE,
  label_id bigint NOT NULL REFERENCES labels,
  PRIMARY KEY (issue_id, label_id)
);

CREATE TABLE notes (
  id bigint PRIMARY KEY,
  issue_id bigint NOT NULL REFERENCES issues ON DELETE CASCADE,
  body text,
  internal boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL
);
