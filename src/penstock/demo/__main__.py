"""`python -m penstock.demo`.

In: the command line. Out: the exit code of the demo. Called by `make demo`. Invariant: no logic.
"""

import sys

from penstock.demo.main import main

sys.exit(main())
