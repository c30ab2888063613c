"""`python -m penstock.demo`, which `make demo` runs."""

import sys

from penstock.demo.main import main

sys.exit(main())
