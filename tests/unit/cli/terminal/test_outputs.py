"""The output for users and for programs: JSON documents, columns, terminals of all kinds."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_documents, campaign_plan
from harness.cli.terminal import tables
from harness.cluster import cluster_records
from harness.history import results
from harness.scenario import profiles
from tests.support import cases, schemas
from tests.support.called_commands import FlakeHunt

README = pathlib.Path(__file__).parents[4] / "reports" / "README.md"
KUBECONFIG = "/somewhere/kubeconfig"
EXPLORE = ("explore", "pod-arrives-during-binding", "--defect", "gather-not-atomic", "--seed", "16")


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="ascii",
        timeout=60,
        check=False,
    )


def test_without_arguments_there_is_the_help_and_no_empty_complaint(flake_hunt: FlakeHunt) -> None:
    for arguments in ([], ["cluster"]):
        code, out, err = flake_hunt(*arguments)
        assert code == 2
        assert "Usage: flake-hunt" in out
        assert err == ""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["scenarios", "worlds"]])
def test_an_ascii_terminal_gets_everything_else(arguments: list[str]) -> None:
    ended = command(*arguments, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


@pytest.mark.parametrize(("words", "completed"), cases.read(__file__, "completions"))
def test_a_shell_completes_commands_and_names(words: str, completed: str) -> None:
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    ended = command(_FLAKE_HUNT_COMPLETE="complete_bash", **place)
    assert (ended.returncode, ended.stdout.split()) == (0, [completed])


def test_no_escapes_without_a_terminal() -> None:
    assert "\x1b" not in command("doctor", TERM="xterm-256color").stdout


def documented(command: str) -> set[str]:
    """The keys that the table of reports/README.md names for a command."""
    (row,) = [
        line for line in README.read_text().splitlines() if line.startswith(f"| `{command}` |")
    ]
    return set(re.findall("`([^`]+)`", row.split("|")[2]))


# ---------------------------------------------------------------- cluster


def entry(name: str) -> cluster_records.ClusterRecord:
    return cluster_records.ClusterRecord(
        name=name,
        provider="embedded",
        profile=profiles.load("embedded").model_dump(mode="json"),
        directory="/somewhere",
        stays=False,
        owner=cluster_records.identity(os.getpid(), "flake-hunt"),
        created_wall_ns=0,
    )


@pytest.fixture
def two_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_records, "known", lambda: [entry("a"), entry("longer-name")])


@pytest.mark.usefixtures("two_clusters")
def test_clusters_as_a_table_and_as_json(flake_hunt: FlakeHunt) -> None:
    headings, first, _ = flake_hunt("cluster", "list")[1].splitlines()
    assert headings.split() == ["NAME", "PROVIDER", "STATE", "CREATED", "KUBECONFIG"]
    assert first.startswith("a            embedded  ")
    _, out, _ = flake_hunt("cluster", "list", "--output", "json")
    document = json.loads(out)
    assert set(document) == documented("cluster list")
    assert [item["name"] for item in document["clusters"]] == ["a", "longer-name"]
    assert document["clusters"][0]["kubeconfig"] == KUBECONFIG


# ---------------------------------------------------------------- doctor


def test_doctor_as_json(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt("doctor", "embedded", "--output", "json")
    document = json.loads(out)
    assert (code, document["schema"], document["ready"]) == (0, 1, ["embedded"])
    assert set(document) == documented("doctor")
    for finding in document["findings"]:
        assert set(finding) == {"provider", "part", "state", "seen", "remedy"}


# ---------------------------------------------------------------- verdicts


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, str]:
    """The run directory of a double allocation, and what was printed of it."""
    folder = tmp_path_factory.mktemp("found")
    token = json.loads(command(*EXPLORE, "--schedules", "20000", "--output", "json").stdout)[
        "token"
    ]
    run = folder / "run"
    return run, command("replay", token, "--save", str(run)).stdout


def test_a_violation_is_a_few_short_lines(found: tuple[pathlib.Path, str]) -> None:
    _, out = found
    lines = out[out.index("INVALID ") :].splitlines()
    assert lines[1].startswith("  device_exclusivity: gpu.example/worker-0/device-0: claim-")
    assert re.fullmatch(r"    ResourceClaim  \S+/claim-\S+, \S+/claim-\S+", lines[2])
    assert re.fullmatch(r"    Pod            \S+, \S+", lines[3])
    assert lines[4].startswith("  2 claims, 2 allocations of 1 device, ")
    assert lines[5].endswith("report.html")
    assert "resourceVersion" not in "".join(lines[1:])


def test_check_as_json(flake_hunt: FlakeHunt, found: tuple[pathlib.Path, str]) -> None:
    run, _ = found
    code, out, err = flake_hunt("check", str(run), "--output", "json")
    document = json.loads(out)
    assert (code, err) == (10, "")
    assert document.pop("directory") == str(run)
    assert document == json.loads((run / "verdict.json").read_text())
    assert document["checks"][0]["violations"][0]["device"] == "gpu.example/worker-0/device-0"


def test_verbose_has_the_certificate(
    flake_hunt: FlakeHunt, found: tuple[pathlib.Path, str]
) -> None:
    _, out, _ = flake_hunt("check", "--verbose", str(found[0]))
    assert "  certified: Did resourceVersions only increase? " in out
    assert "  certified: " not in flake_hunt("check", str(found[0]))[1]


def test_an_unknown_verdict_gives_each_reason_once(
    flake_hunt: FlakeHunt, found: tuple[pathlib.Path, str], tmp_path: pathlib.Path
) -> None:
    run = tmp_path / "cut"
    shutil.copytree(found[0], run)
    (run / "observations.jsonl").unlink()
    code, out, _ = flake_hunt("check", str(run))
    assert code == 20
    assert "inconclusive; " in out.splitlines()[0]
    assert "not certified: " in out
    assert out.count("there are no observations") == 1
    _, quiet, _ = flake_hunt("check", "-q", str(run))
    assert quiet.count("there are no observations") == 1


# ---------------------------------------------------------------- explorations


def test_explorations_as_json(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt(*EXPLORE, "--output", "json")
    document = json.loads(out)
    assert code == document["exit_code"] == 10
    assert set(document) == documented("explore")
    assert document["token"].startswith("fh3-")
    assert document["finding"] in document["story"][-1]


def test_the_worlds_as_json(flake_hunt: FlakeHunt) -> None:
    _, out, _ = flake_hunt("scenarios", "worlds", "--output", "json")
    document = json.loads(out)
    assert set(document) == documented("scenarios worlds")
    names = {item["name"]: item["hazard"] for item in document["scenarios"]}
    assert names["two-claims-one-device"] is None
    assert names["answer-lost"] == {"hypothesis": "H1", "remedy": "keep-in-flight-until-known"}


# ---------------------------------------------------------------- campaigns


def result(**changes: Any) -> results.RunResult:
    about: dict[str, Any] = {"scenario": "churn", "subject": "gather-not-atomic", "seconds": 1.0}
    about["double_allocations"] = int(changes.get("verdict") == "INVALID")
    return msgspec.convert({"purpose": "control", **about, **changes}, results.RunResult)


@pytest.mark.parametrize(("said", "line"), cases.read(__file__, "lines"))
def test_the_line_of_a_run(said: dict[str, Any], line: list[str]) -> None:
    word, style, text = tables.line(result(**said))
    assert [word, style, text[-len(line[2]) :]] == line


def test_a_campaign_as_json(tmp_path: pathlib.Path) -> None:
    document = _document([result(purpose="subject", subject="correct", verdict="VALID")], tmp_path)
    assert set(document) == documented("hunt")
    assert (document["verdict"], document["exit_code"], document["seed"]) == ("VALID", 0, 3)
    (row,) = document["rows"]
    assert (row["subject"], row["is_as_expected"], len(row["runs"])) == ("correct", True, 1)
    assert row["runs"][0]["verdict"] == "VALID"
    assert (row["invalid"], row["conclusive"], row["low"]) == (0, 1, 0.0)
    assert row["high"] == pytest.approx(0.975)


def _document(made: list[results.RunResult], folder: pathlib.Path) -> dict[str, Any]:
    """The document of a campaign with one planned run for each that was made."""
    planned = campaign_plan.PlannedRun(scenario="s", title="s", repetition=0, seed=1)
    plan = campaign_plan.CampaignPlan(
        seed=3, reports="reports", cluster={"name": "embedded"}, runs=[planned] * len(made)
    )
    document = campaign_documents.document(made, plan, folder)
    found: dict[str, Any] = schemas.obeying("campaign", msgspec.json.encode(document))
    return found
