"""Tests of a user's project: made rows, fixtures, test files, and the server that they run on."""
