"""The commands for what comes from the Postgres of an application."""
