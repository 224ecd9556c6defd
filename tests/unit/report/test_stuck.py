"""In the report and JUnit, what is stuck stands beside a double allocation and is not one."""

import pathlib
import xml.etree.ElementTree as ET

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.checks.progress import claim_progress
from harness.report import junit, publishing
from tests.histories import building, worlds

STUCK = "STUCK: 1 violation of “every pod that can run runs”"


@pytest.fixture
def judgement(tmp_path: pathlib.Path) -> verdict_files.Judgement:
    """A double allocation, and a pod that waits while a device is idle."""
    found = judging.judge(building.build(tmp_path / "run", "a+D1 b+D1"))
    world = worlds.World(
        pods=[worlds.pod("p", claim="a")],
        claims=[worlds.claim("a")],
        slices=[worlds.devices_of("n", 1)],
    )
    given = worlds.judged(world, plan=worlds.plan(), phases=worlds.phases(seconds=60))
    stuck = claim_progress.judge(given)
    assert isinstance(stuck, verdicts.CheckResult)
    checks = [*found.checks, stuck]
    return msgspec.structs.replace(found, checks=checks)


def test_the_headline_names_both(judgement: verdict_files.Judgement) -> None:
    double = "1 violation of “no device is held by two claims at once”"
    assert publishing._headline(judgement) == f"{double}; {STUCK}"


def test_junit_has_a_failure_for_each(judgement: verdict_files.Judgement) -> None:
    suite = ET.fromstring(junit.render(judgement).encode())
    failures = {
        case.get("name"): failure.get("message", "")
        for case in suite.findall("testcase")
        for failure in case.findall("failure")
    }
    assert set(failures) == {"device_exclusivity", "claim_progress"}
    assert failures["claim_progress"].startswith("STUCK: pod p waits while")
    assert "STUCK" not in failures["device_exclusivity"]
