"""The demo of Postgres: an application's schema changes while its rows flow into two stores, judged from outside."""
