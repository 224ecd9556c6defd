"""The text of one run for an issue: whole, without secrets, bounded, and only of INVALID runs."""

import dataclasses
import json
import pathlib
import re
from typing import Any

import pytest
import yaml

from harness import errors, rates
from harness.checks import judging
from harness.cli.subcommands import check_command
from harness.history import directories, records
from harness.reproduction import issue_texts, reproducing, specimens
from tests.histories import building, hostile_names, language
from tests.support import golden_runs
from tests.unit.reproduction import scenarios

TEXT = "p:a q:b a+D1 a^p p>n b+D1 b^q q>n"
DEVICE = language.device_id("D1")
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"


def _steps() -> list[records.Step]:
    def step(seq: int, name: str, at: int, **fields: Any) -> records.Step:
        return building.step(seq, "scheduling", name, language.at(at), **fields)

    return [
        step(1, "in-flight.added", 2, claim="uid-a", device=DEVICE),
        step(2, "gather.started", 3),
        step(3, "gather.devices.cloned", 4, count=0),
        step(4, "allocated-devices.inserted", 5, claim="uid-a", device=DEVICE),
        step(5, "in-flight.removed", 6, claim="uid-a", found=True),
        step(6, "gather.in-flight.listed", 7, count=0),
        step(7, "in-flight.added", 8, claim="uid-b", device=DEVICE),
    ]


def _run(path: pathlib.Path, text: str = TEXT, **options: Any) -> directories.RunDirectory:
    directory = building.build(path / "run", text, steps=_steps(), **options)
    directory.cluster.write_text(json.dumps({"versions": {"kube-apiserver": "v1.36.2"}}))
    log = directory.log("scheduler")
    log.parent.mkdir(exist_ok=True)
    log.write_text(f"claim uid-a is planned with {TOKEN} from /home/me/secrets/key\n")
    return directory


def _text(directory: directories.RunDirectory) -> str:
    return issue_texts.text(judging.examine(directory))


def test_it_tells_everything(tmp_path: pathlib.Path) -> None:
    text = _text(_run(tmp_path))
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Flake Hunt's Python port of kube-scheduler allocates one device to two ResourceClaims",
        "## The moment",
        "## The two claims",
        "## Versions",
        "## Repeat it",
        "## The writes of the claims",
        "## The scheduler's log",
    ]
    assert "The window was 1.000 ms long" in text
    assert "no device is held by two claims at once (1 violation)" in text
    assert "| kube-apiserver | v1.36.2 |" in text
    assert "flake-hunt run written-by-hand --seed 7" in text
    assert "the scheduler copies the allocated devices (0)" in text
    assert text.endswith("\n")


def _claims(text: str) -> list[dict[str, Any]]:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [*yaml.safe_load_all(block)]


def test_the_two_claims_are_shown_as_they_were_stored_then(tmp_path: pathlib.Path) -> None:
    first, second = _claims(_text(_run(tmp_path, f"{TEXT} a~ b~")))
    for claim, name in ((first, "a"), (second, "b")):
        assert (claim["kind"], claim["metadata"]["uid"]) == ("ResourceClaim", f"uid-{name}")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        assert "/".join((result["driver"], result["pool"], result["device"])) == DEVICE
    assert [item["name"] for item in first["status"]["reservedFor"]] == ["p"]
    assert "reservedFor" not in second["status"]


def test_of_another_violation_the_objects_are_shown() -> None:
    golden = golden_runs.FOLDER / "bound_pods" / "INVALID"
    text = _text(directories.existing(golden))
    assert "## The objects" in text
    assert {"Pod"} <= {item["kind"] for item in _claims(text)}


def test_opaque_parameters_are_not_shown() -> None:
    secret = {"config": [{"opaque": {"parameters": {"key": "secret"}}}], "requests": []}
    claim = {
        "metadata": {"name": "a", "namespace": "n", "managedFields": [{"manager": "m"}]},
        "spec": {"devices": secret},
        "status": {"allocation": {"devices": secret | {"results": [{"device": "d"}]}}},
    }
    lines = specimens.lines("ResourceClaim", claim)
    assert yaml.safe_load("\n".join(lines)) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"devices": {"requests": []}},
        "status": {"allocation": {"devices": {"requests": [], "results": [{"device": "d"}]}}},
    }


AGAIN = ["run", "answer-lost", "--subject", "kube-scheduler=/opt/kube/kube-scheduler"]
CONFIRM = "`flake-hunt confirm H1`"


@pytest.mark.parametrize(
    ("hazard", "settings", "confirms"),
    [("H1", {}, True), ("H1", {"traffic": {"profile": "script"}}, False), ("", {}, False)],
)
def test_a_known_hazard_is_confirmed_without_luck(
    tmp_path: pathlib.Path, hazard: str, settings: dict[str, Any], *, confirms: bool
) -> None:
    changes = {"again": AGAIN, "known_to_fail": hazard, "settings": settings}
    text = _text(_run(tmp_path, changes=changes))
    assert "flake-hunt run answer-lost --subject kube-scheduler=kube-scheduler" in text
    assert (CONFIRM in text) == confirms


def test_another_guarantee_can_be_broken() -> None:
    golden = golden_runs.FOLDER / "allocation_stability" / "INVALID"
    text = _text(directories.existing(golden))
    assert text.startswith("# Flake Hunt's Python port of kube-scheduler breaks the guarantee “")
    assert "## The two claims" not in text


def test_a_text_that_is_too_long_is_cut_between_its_parts(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _text(_run(tmp_path))
    monkeypatch.setattr(issue_texts, "SIZE_MAX", 1_500)
    text = _text(directories.existing(tmp_path / "run"))
    assert len(text) < 1_600
    assert "parts left out, see the run's report." in text
    assert whole.startswith(text.rpartition("\n\n")[0])


@pytest.mark.parametrize("text", ["a+D1", "p*"], ids=["VALID", "UNKNOWN"])
def test_a_run_without_violation_has_none(tmp_path: pathlib.Path, text: str) -> None:
    with pytest.raises(errors.UsageError, match="expected a run with a violation for --issue"):
        _text(building.build(tmp_path / "run", text))


# --------------------------------------------------------------------------- a reproduction

FAULTY = "a+D1 /lose-response:a /delay-events:a>215 a^p .29 b+D1 b^q"
FOUND = issue_texts.Findings(
    original=scenarios.scenario(),
    scenario=scenarios.scenario(pools={"nodes": 1, "devices_per_node": 20}),
    rate=rates.Rate(14, 20),
    is_interrupted=True,
)


def _read(directory: directories.RunDirectory) -> specimens.Specimen:
    return specimens.read(directory.path, "device_exclusivity")


def _reproduced(directory: directories.RunDirectory) -> str:
    return issue_texts.of(_read(directory), FOUND)


def test_the_page_of_a_reproduction_tells_everything(tmp_path: pathlib.Path) -> None:
    page = _reproduced(_run(tmp_path, FAULTY))
    assert page.startswith(
        "# Flake Hunt's Python port of kube-scheduler allocates one device to two"
    )
    for words in (
        "**14 of 20 runs**",
        "45% to 89%",
        "the response to the status write of a was lost (lose-response)",
        "| kube-apiserver | v1.36.2 |",
        "| nodes | 2 | 1 |",
        "flake-hunt run scenario.toml",
        "The search for a smaller scenario was interrupted",
        f"allocated {DEVICE}",
    ):
        assert words in page, words


def test_lines_of_the_log_that_name_the_claims_are_shown(tmp_path: pathlib.Path) -> None:
    directory = _run(tmp_path, FAULTY)
    lines = [
        f'I1 schedule_one.go:1 "bound" pod="tests/p" config="{tmp_path}/kubeconfig"',
        f'E1 claims.go:9 "update failed" uid="uid-a" Authorization: Bearer {TOKEN}',
        'I1 schedule_one.go:1 "bound" pod="tests/pp" ```',
    ]
    directory.log("scheduler").write_text("\n".join(lines))
    page = _reproduced(directory)
    assert 'pod="tests/p" config="…/kubeconfig"' in page
    assert "update failed" in page
    assert "tests/pp" not in page, "another pod"


def test_no_secret_and_no_path_is_in_any_file(tmp_path: pathlib.Path) -> None:
    directory = _run(tmp_path, FAULTY)
    log = f"pod=p {TOKEN} {pathlib.Path.home()}/.kube/config {directory.path}/logs\n"
    directory.log("scheduler").write_text(log)
    reproducing.write(tmp_path / "out", _read(directory), FOUND)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"README.md", "scenario.toml"}
    for path in (tmp_path / "out").iterdir():
        text = path.read_text()
        for secret in (TOKEN, str(pathlib.Path.home()) + "/", str(tmp_path), "kubeconfig-"):
            assert secret not in text, path.name


def test_logs_are_bounded(tmp_path: pathlib.Path) -> None:
    directory = _run(tmp_path, FAULTY)
    directory.log("scheduler").write_text("pod=p " * 200 + "\n" + "pod=p\n" * 1000)
    [excerpt] = _read(directory).logs
    assert len(excerpt.lines) == specimens.LINES_MAX + 1
    assert max(map(len, excerpt.lines)) == specimens.LINE_MAX
    assert excerpt.left_out == 1001 - specimens.LINES_MAX


def test_the_command_names_the_cluster_and_the_programs(tmp_path: pathlib.Path) -> None:
    binary = {"kind": "kube-scheduler", "binary": "/home/me/kube-scheduler"}
    changes = {"cluster": "local", "cluster_profile": {"name": "mine"}, "until_found": True}
    directory = _run(tmp_path, FAULTY, changes=changes)
    found = scenarios.scenario(subject={"schedulers": [binary]})
    page = issue_texts.of(_read(directory), dataclasses.replace(FOUND, scenario=found))
    assert "flake-hunt run scenario.toml --until-found --cluster mine" in page
    assert 'It needs kube-scheduler in `"$KUBEBUILDER_ASSETS"`.' in page
    assert "/home/me" not in page


# -------------------------------------------------------------- names that would be obeyed


def _outside_code(markdown: str) -> str:
    """Remove blocks and spans of code, in which nothing has a meaning."""
    without_blocks = re.sub(r"^(`{3,})[^\n]*\n.*?\n\1$", "", markdown, flags=re.M | re.S)
    return re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", without_blocks)


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: pathlib.Path) -> None:
    specimen = _read(hostile_names.build(tmp_path / "run"))
    page = issue_texts.of(specimen, FOUND)
    assert hostile_names.OBEYED.findall(page) == []
    prose = _outside_code(page)
    assert re.findall(r"(?<!\\)<(?!/?(?:details|summary)>)", prose) == []
    assert re.findall(r"(?<!\\)\[x", prose) == []
    assert re.findall(r"@all|http://y", prose) == []


# --------------------------------------------------------------------------------- the command


def test_the_command_prints_it_and_writes_nothing(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = _run(tmp_path)
    before = sorted(path.name for path in directory.path.iterdir())
    assert check_command.report([directory.path], issue=True) == 0
    assert capsys.readouterr().out.startswith("# Flake Hunt's Python port")
    assert sorted(path.name for path in directory.path.iterdir()) == before


def test_one_run_at_a_time(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match="expected one run directory with --issue, got 2"):
        check_command.report([tmp_path, tmp_path], issue=True)


def test_several_reports(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [_run(tmp_path / name).path for name in ("1", "2")]
    assert check_command.report([runs[0], tmp_path, runs[1]], issue=False) == 2
    out = capsys.readouterr().out
    assert "has no plan.json" in out.replace("\n", " ")
    assert all((path / "report.html").exists() for path in runs)
