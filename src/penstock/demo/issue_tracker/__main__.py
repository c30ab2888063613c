"""`python -m penstock.demo.issue_tracker`, which `make demo-postgres` runs."""

import sys

from penstock.demo.issue_tracker.main import main

sys.exit(main())
