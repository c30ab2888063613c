"""The demo: real flights streamed into a pipeline while its schema changes, judged from outside."""
