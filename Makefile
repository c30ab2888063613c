# Everything a developer or a newcomer runs. `make` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv/bin

.PHONY: help demo demo-postgres test test-slow test-all test-fast test-sql check fuzz golden fuzz-sql coverage-sql chaos bench-plan bench-bridge bench-backfill bench-sql bench-wide bench-ingest bench-freshness soak clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Set up, then change a live pipeline under 336,776 real flights (about 4 minutes)
	@scripts/bootstrap demo
	@$(VENV)/python -m penstock.demo $(DEMO)

demo-postgres: ## Set up, then change the Postgres of an application while its rows flow into two stores (about 4 minutes)
	@scripts/bootstrap demo-postgres
	@$(VENV)/python -m penstock.demo.issue_tracker --postgres "$$($(VENV)/python scripts/postgres_programs.py)" $(DEMO)

test: ## Set up, then run the tests: those of Spark, then whole commands, and beside them those without a JVM
	@scripts/bootstrap test
	@$(VENV)/python scripts/run_tests.py $(TESTS)

test-slow: ## The tests that `make test` leaves out: more of the same, at length
	@scripts/bootstrap test
	@$(VENV)/python scripts/run_tests.py --slow $(TESTS)

test-all: ## `make test` and `make test-slow` in one, which starts Java less often
	@scripts/bootstrap test
	@$(VENV)/python scripts/run_tests.py --all $(TESTS)

test-fast: ## The tests that need no JVM
	@scripts/bootstrap test
	@$(VENV)/python scripts/run_tests.py --fast

check: ## Lint, types and layers
	@scripts/bootstrap dev
	@echo "ruff" && $(VENV)/ruff check src tests scripts && $(VENV)/ruff format --check --quiet src tests scripts bench
	@echo "mypy" && $(VENV)/mypy
	@echo "import-linter" && $(VENV)/lint-imports --no-logo

chaos: ## Every crash point, 50 runs of random kills, two servers (hours); CHAOS="-k kills" takes some of it
	@scripts/bootstrap test
	@PENSTOCK_CHAOS=full $(VENV)/python -m pytest -q -s tests/chaos $(CHAOS); status=$$?; \
		$(VENV)/python scripts/reliability_docs.py; exit $$status

fuzz: ## The server under made-up calls and bodies, at length (PENSTOCK_FUZZ_EXAMPLES a call, 300 unless set)
	@scripts/bootstrap test
	@PENSTOCK_FUZZ_EXAMPLES=$${PENSTOCK_FUZZ_EXAMPLES:-300} PENSTOCK_FUZZ_INPUTS=$${PENSTOCK_FUZZ_INPUTS:-20000} \
		$(VENV)/python -m pytest -q --timeout=3600 tests/fuzz tests/unit/serve/test_schema.py tests/properties/test_any_input.py

fuzz-sql: ## Made-up SQL on ClickHouse and here, until one differs (PENSTOCK_SQL_QUERIES and PENSTOCK_SQL_TYPED a round)
	@scripts/bootstrap test
	@while PENSTOCK_SQL_TYPED=$${PENSTOCK_SQL_TYPED:-1200} PENSTOCK_SQL_SEED=$$(date +%s%N | cut -c7-16) $(VENV)/python -m pytest -q -x --timeout=3600 \
		tests/differential/test_generated.py tests/differential/typed; do :; done

coverage-sql: ## Made-up SQL over every type (PENSTOCK_SQL_TYPED queries, 1200 unless set), and how many calls it compared
	@scripts/bootstrap test
	@rm -f .sql-coverage; PENSTOCK_SQL_TYPED=$${PENSTOCK_SQL_TYPED:-1200} PENSTOCK_SQL_COVERAGE=$(CURDIR)/.sql-coverage $(VENV)/python -m pytest -q --timeout=36000 \
		tests/differential/typed; status=$$?; $(VENV)/python scripts/sql_coverage.py .sql-coverage; exit $$status

test-sql: ## Every query on ClickHouse and here, with the code that Spark generates for it (a quarter of an hour)
	@scripts/bootstrap test
	@PENSTOCK_SQL_GENERATED_CODE=all $(VENV)/python -m pytest -q tests/differential/test_clickhouse.py

golden: ## Write the golden files anew; read the diff before you commit it
	@scripts/bootstrap test
	@$(VENV)/python -m pytest tests/golden --update-golden
	@$(VENV)/python scripts/planning_docs.py
	@$(VENV)/python scripts/deployment_docs.py
	@$(VENV)/python scripts/sql_docs.py
	@$(VENV)/python scripts/commands_docs.py
	@$(VENV)/python scripts/python_docs.py
	@$(VENV)/python scripts/settings_schema.py

bench-plan: ## How long plans take, and what each migration case moves (Spark, some minutes); writes bench/results
	@scripts/bootstrap test
	@$(VENV)/python bench/plan_shapes.py --write
	@$(VENV)/python bench/plan.py --write

bench-bridge: ## What a bridged column costs when it is read (Spark, some minutes); writes bench/results/bridge.md
	@scripts/bootstrap test
	@$(VENV)/python bench/bridge.py --write

bench-backfill: ## A table of 10 GB copied with a 2 GB driver, and killed once (Spark, half an hour); writes bench/results/backfill.md
	@scripts/bootstrap test
	@$(VENV)/python bench/backfill.py --write

bench-sql: ## ClickHouse SQL compiled, beside Spark SQL by hand (Spark, some minutes); writes bench/results/sql.md
	@scripts/bootstrap test
	@$(VENV)/python bench/sql.py --write

soak: ## A month in an hour: what grows under a high rate of commits (an hour); writes bench/results/soak.md and docs/soak.svg
	@scripts/bootstrap test
	@$(VENV)/python -m pip install --quiet --editable '.[bench]'
	@$(VENV)/python bench/soak.py --write $(SOAK)

bench-wide: ## A thousand active tables: commits, writes, maintenance, start (Spark, half an hour); writes bench/results/wide.md
	@scripts/bootstrap test
	@$(VENV)/python bench/wide.py --write

bench-ingest: ## How fast rows are acknowledged while flows run (Spark, some minutes); writes bench/results/ingest.md
	@scripts/bootstrap test
	@$(VENV)/python bench/ingest.py --write

bench-freshness: ## Where the time goes until a row is visible two views away (Spark, some minutes); writes bench/results/freshness.md
	@scripts/bootstrap demo
	@$(VENV)/python bench/freshness.py --write

clean: ## Remove all that the other commands made in this folder
	rm -rf .venv .demo .demo-postgres .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
