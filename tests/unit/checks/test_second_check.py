"""A second guarantee needs one pure function and one entry in a tuple; everything shows it."""

import json
import pathlib
import xml.etree.ElementTree as ET

import pytest

from harness.checks import check_registry, judging, protocol, verdict_files, verdicts
from harness.checks.holds import hold_history
from harness.cli.terminal import displaying, outputs
from harness.history import directories
from harness.report import publishing
from tests.histories import building

NAME, PROMISE = "allocation_moves", "an allocation never changes in place"


def changes_in_place(given: protocol.Evidence) -> verdicts.CheckResult:
    """Find claims that release one device and take another in a single commit."""
    history = given[hold_history.HoldHistory]
    ended = {(hold.uid, hold.until_rv) for hold in history.holds}
    violations = [
        verdicts.Violation(
            guarantee=NAME,
            summary=f"{hold.name} at {hold.from_rv}",
            text=f"Claim {hold.name} moved to {hold.device} at resourceVersion {hold.from_rv}.",
            resource_versions=[hold.from_rv],
            objects=[
                verdicts.InvolvedObject(
                    kind="ResourceClaim", namespace=hold.namespace, name=hold.name, uid=hold.uid
                )
            ],
        )
        for hold in history.holds
        if (hold.uid, hold.from_rv) in ended
    ]
    return verdicts.CheckResult(
        check=NAME,
        promise=PROMISE,
        verdict=verdicts.Verdict.INVALID if violations else verdicts.Verdict.VALID,
        examined_count=len(history.holds),
        violation_count=len(violations),
        violations=violations,
        others=[],
        reason=f"{len(violations)} allocations changed in place",
    )


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    check = protocol.Check(
        name=NAME,
        guarantee="R",
        promise=PROMISE,
        needs=(hold_history.HoldHistory,),
        judge=changes_in_place,
    )
    monkeypatch.setattr(check_registry, "CHECKS", (*check_registry.CHECKS, check))


def _published(path: pathlib.Path, text: str) -> directories.RunDirectory:
    directory = building.build(path / "run", text)
    publishing.publish(judging.examine(directory))
    return directory


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return _published(tmp_path, "a+D1 . a=D2")


def test_verdict_json_has_its_violations(directory: directories.RunDirectory) -> None:
    document = json.loads(directory.verdict.read_bytes())
    assert (document["verdict"], document["reason"]) == (
        "INVALID",
        f"{NAME} (once) is violated: 1 allocations changed in place",
    )
    assert [check["verdict"] for check in document["checks"]] == ["VALID", "INVALID"]
    assert document["checks"][1]["violations"] == [
        {
            "guarantee": NAME,
            "summary": "a at 3",
            "text": "Claim a moved to gpu.example/pool/D2 at resourceVersion 3.",
            "resource_versions": [3],
            "objects": [
                {"kind": "ResourceClaim", "namespace": "tests", "name": "a", "uid": "uid-a"}
            ],
            "faults": [],
            "attribution": "",
            "schedulers": "",
        }
    ]
    assert document["figures"]["violations"] == 1
    assert document["figures"]["double_allocations"] == 0
    verdict_files.require_own(directory, judging.judge(directory))


def test_the_page_shows_it(directory: directories.RunDirectory) -> None:
    page = directory.report.read_text()
    assert f"1 violation of “{PROMISE}”" in page
    assert f"Violations of {NAME}" in page
    assert "Violations of device_exclusivity" not in page
    assert "Claim a moved to gpu.example/pool/D2 at resourceVersion 3." in page
    assert "<dt>ResourceClaim</dt><dd>tests/a, uid <code>uid-a</code></dd>" in page
    assert "<dt>resourceVersions</dt><dd>3</dd>" in page


def test_junit_has_a_failure(directory: directories.RunDirectory) -> None:
    suite = ET.fromstring(directory.junit.read_bytes())
    [case] = suite.findall(f"testcase[@name='{NAME}']")
    assert case.findtext("failure") == "Claim a moved to gpu.example/pool/D2 at resourceVersion 3."
    run = int(suite.get("tests") or 0) - int(suite.get("skipped") or 0)
    assert (run, suite.get("failures")) == (3, "1")


def test_the_terminal_shows_it(
    directory: directories.RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    displaying.show(judging.judge(directory), directory, out=outputs.Output())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "INVALID written-by-hand, correct: "
        f"{NAME} (once) is violated: 1 allocations changed in place"
    )
    assert lines[1:3] == [f"  {NAME}: a at 3", "    ResourceClaim  tests/a"]


def test_json_output_has_it(directory: directories.RunDirectory) -> None:
    document = displaying.document(judging.judge(directory), directory)
    assert document["checks"][1]["violations"][0]["guarantee"] == NAME


def test_two_broken_guarantees_stand_beside_each_other(tmp_path: pathlib.Path) -> None:
    directory = _published(tmp_path, "a+D1 b+D1 b=D2")
    document = json.loads(directory.verdict.read_bytes())
    assert document["figures"]["violations"] == 2
    assert document["figures"]["double_allocations"] == 1
    assert document["checks"][0]["violations"][0]["device"] == "gpu.example/pool/D1"
    assert document["checks"][0]["violations"][0]["resource_versions"] == [1, 2, 3]
    page = directory.report.read_text()
    assert f"at once”; 1 violation of “{PROMISE}”" in page
    assert page.index('id="double-1"') < page.index(f'id="{NAME}-1"')
