"""Locust without its patches: tests import it into a process that other tests share.

The variable is set for the import alone, since Locust processes that tests start must be patched as always.
"""

import os

os.environ["LOCUST_SKIP_MONKEY_PATCH"] = "1"
import locust  # noqa: F401

del os.environ["LOCUST_SKIP_MONKEY_PATCH"]
