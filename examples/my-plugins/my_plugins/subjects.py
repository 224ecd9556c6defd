"""A scheduler under test: scheduler.py in the current folder, started with this Python."""

import sys

from harness import api

MY_SCHEDULER = api.Subject(
    command=[sys.executable, "scheduler.py", "{kubeconfig}", "{scheduler_name}"]
)
