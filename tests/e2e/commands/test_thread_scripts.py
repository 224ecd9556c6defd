"""Scripts that hold threads: what is refused before anything starts, and real plays."""

import json
import pathlib
import re

import psutil
import pytest

from tests.e2e import running
from tests.support import real_programs
from tests.support.called_commands import FlakeHunt

pytestmark = pytest.mark.e2e
SCRIPT = """
schema_version = 1
name = "held"
title = "a thread is held"
pools = {{ nodes = 1, devices_per_node = 1 }}

[traffic]
profile = "script"
expects = ["device_exclusivity"]
objects = [{{ kind = "ResourceClaim", name = "claim-1" }}]
steps = [
  {{ do = "create", object = "claim-1" }},
  {{ do = "hold-thread", name = "held", client = "scheduler", at = "{at}" }},
  {extra}
  {{ do = "release-thread", hold = "held" }},
]
"""


def is_fixed(version: str) -> bool:
    """Return whether a release has both repairs of kubernetes#136269."""
    return [int(part) for part in version.split(".")] >= [1, 34, 9]


VERSIONS = [
    pytest.param(version, 0 if is_fixed(version) else 10)
    for version in real_programs.versions("kube-scheduler")
] or [pytest.param("", 0, marks=real_programs.needs("kube-scheduler"))]


@pytest.mark.parametrize("script", ["gather", "assume"])
@pytest.mark.parametrize(("version", "expected"), VERSIONS)
def test_the_order_of_threads_is_commanded_on_kube_scheduler(
    tmp_path: pathlib.Path, version: str, expected: int, script: str
) -> None:
    what = ("confirm", f"kubernetes-136269-{script}", "--output", "json")
    with running.started(tmp_path, *what, "--subject", f"kube-scheduler={version}") as command:
        code = command.wait()
        command.require_alone()
        text = command.text()
    assert code == expected, text
    (play,) = json.loads(text[text.index('{\n  "schema"') :])["plays"]
    assert play["answer"] == ("confirmed" if expected else "refuted")
    assert not any(path.is_socket() for path in tmp_path.rglob("*"))
    (page,) = tmp_path.rglob("report.html")
    has_lane = "dynamicresources.(*claimTracker).ListAllAllocatedDevices, held<" in page.read_text()
    assert has_lane is (bool(expected) and script == "gather")


@real_programs.needs("kube-scheduler")
def test_the_record_says_where_the_thread_was(tmp_path: pathlib.Path) -> None:
    options = ("--subject", "kube-scheduler")
    code, text = running.called(tmp_path, "confirm", "kubernetes-136269-gather", *options)
    assert code in {0, 10}, text
    (journal,) = tmp_path.rglob("script*.jsonl*")
    told = journal.read_text() if journal.suffix == ".jsonl" else ""
    assert re.search(r"goroutine \d+ at the return of .*\(\*allocatedDevices\)\.Get", told)


@real_programs.needs("kube-scheduler")
@pytest.mark.parametrize(
    ("at", "extra", "words"),
    [
        (
            "entry of (*claimTracker).AssumeClaimAfterAPICal",
            "",
            "Did you mean '(*claimTracker).AssumeClaimAfterAPICall'?",
        ),
        ("entry of runtime.mallocgc", "", "expected a function outside Go's runtime"),
        (
            "entry of (*claimTracker).AssumeClaimAfterAPICall",
            '{ do = "pause", process = "scheduler" },',
            "expected no pause of scheduler",
        ),
    ],
)
def test_a_place_that_kube_scheduler_has_not_is_refused_before_anything_starts(
    flake_hunt: FlakeHunt, tmp_path: pathlib.Path, at: str, extra: str, words: str
) -> None:
    (tmp_path / "held.toml").write_text(SCRIPT.format(at=at, extra=extra))
    reports = tmp_path / "reports"
    before = psutil.Process().children(recursive=True)
    options = ("--subject", "kube-scheduler", "--reports", reports)
    code, _, errors = flake_hunt("confirm", tmp_path / "held.toml", *options)
    text = " ".join(errors.split())
    assert code == 2, text
    assert words in text
    assert "Traceback" not in text
    assert psutil.Process().children(recursive=True) == before
    assert not list(reports.rglob("run.json"))
