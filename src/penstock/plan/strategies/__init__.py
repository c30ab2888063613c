"""Which strategy each data source gets, and the tables, flows and steps that follow from it."""
