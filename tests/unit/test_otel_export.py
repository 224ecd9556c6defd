"""The example that sends runs to OpenTelemetry: its own tests, and a real run directory."""

import pathlib
import subprocess
import sys

import pytest

from harness import api

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "otel-export"
GOLDEN = ROOT / "tests" / "golden" / "device_exclusivity" / "INVALID"
SPANS = """
import sys, otel_export
from harness import api
records = list(api.records(sys.argv[1]))
spans = otel_export.spans_of(records)
print(sorted({span.name for span in spans if span.name[:5] in ("run", "hold", "claim", "phase")}))
print(sum(span.name == "hold" and "double allocation" in span.error for span in spans) >= 2)
print(otel_export.wall_offset_ns(records) <= 0)
"""


def test_its_own_tests_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:locust"]
    done = subprocess.run(
        [*command, "--rootdir", EXAMPLE, "-c", EXAMPLE / "pyproject.toml", EXAMPLE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_run_directory_becomes_spans() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPANS, GOLDEN],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=EXAMPLE,
    )
    assert done.stdout.splitlines() == [
        "['claim', 'hold', 'phase: ended', 'phase: load', 'phase: starting', 'run']",
        "True",
        "True",
    ]


def test_records_are_those_of_every_journal() -> None:
    found = list(api.records(GOLDEN))
    assert {process for process, _ in found} >= {"recorder", "run", "traffic-0"}
    assert {record["record"] for _, record in found} >= {"header", "observation", "invocation"}
