"""Locust's command; `launching` starts it as `python -m harness.traffic.locust_process`.

As Locust is imported, gevent asks for its plug-ins some fifty times. Each time Python reads the
metadata of every package that is installed: half of the time in which Locust starts.
"""

import importlib.metadata
import sys
from collections.abc import Callable


def _main_of_locust() -> Callable[[], None]:
    """Import Locust, which makes the standard library cooperative, and return its command."""
    entry_points = importlib.metadata.entry_points
    importlib.metadata.entry_points = entry_points().select
    try:
        from locust import main
    finally:
        importlib.metadata.entry_points = entry_points
    return main.main


if __name__ == "__main__":
    sys.exit(_main_of_locust()())
