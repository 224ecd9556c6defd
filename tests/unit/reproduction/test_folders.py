"""The folder of a reproduction: its text and its commands."""

import dataclasses
import json
import pathlib
import re

from harness import rates
from harness.history import directories, records
from harness.reproduction import reproducing
from harness.reproduction.issue import issue_texts, specimens
from tests.histories import building, hostile_names, language
from tests.unit.reproduction import scenarios

TEXT = "a+D1 /lose-response:a /delay-events:a>215 a^p .29 b+D1 b^q"
DEVICE = language.device_id("D1")
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
STEPS = [
    building.step(1, "scheduling", "in-flight.added", language.at(1), claim="uid-a", device=DEVICE),
    building.step(2, "binder-0", "in-flight.removed", language.at(9), claim="uid-a", found=True),
    building.step(
        3, "scheduling", "in-flight.added", language.at(30), claim="uid-b", device=DEVICE
    ),
]


def run(path: pathlib.Path, *, steps: list[records.Step] = STEPS) -> directories.RunDirectory:
    directory = building.build(path / "run", TEXT, steps=steps)
    versions = {"kube-apiserver": "v1.36.2"}
    directory.cluster.write_text(json.dumps({"name": "x", "versions": versions}))
    return directory


def findings() -> issue_texts.Findings:
    small = scenarios.scenario(pools={"nodes": 1, "devices_per_node": 20})
    original = scenarios.scenario()
    rate = rates.Rate(14, 20)
    return issue_texts.Findings(original=original, scenario=small, rate=rate, is_interrupted=True)


def page_of(directory: directories.RunDirectory) -> str:
    return issue_texts.of(read(directory), findings())


def read(directory: directories.RunDirectory) -> specimens.Specimen:
    return specimens.read(directory.path, "device_exclusivity")


def test_the_page_tells_everything(tmp_path: pathlib.Path) -> None:
    page = page_of(run(tmp_path))
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


def test_the_writes_of_both_claims_are_in_the_order_of_their_commits(
    tmp_path: pathlib.Path,
) -> None:
    writes = read(run(tmp_path)).writes
    versions = [write.version.resource_version for write in writes]
    assert versions == sorted(versions)
    assert {write.letter for write in writes} == {"A", "B"}
    assert [write.state for write in writes if "reserved" in write.state] == [
        f"allocated {DEVICE}, reserved for p",
        f"allocated {DEVICE}, reserved for q",
    ]


def test_a_run_without_steps_has_its_logs_instead(tmp_path: pathlib.Path) -> None:
    directory = run(tmp_path, steps=[])
    lines = [
        f'I1 schedule_one.go:1 "bound" pod="tests/p" config="{tmp_path}/kubeconfig"',
        f'E1 claims.go:9 "update failed" uid="uid-a" Authorization: Bearer {TOKEN}',
        'I1 schedule_one.go:1 "bound" pod="tests/pp" ```',
    ]
    directory.log("scheduler").write_text("\n".join(lines))
    page = page_of(directory)
    assert 'pod="tests/p" config="…/kubeconfig"' in page
    assert "update failed" in page
    assert "tests/pp" not in page, "another pod"


def test_no_secret_and_no_path_is_in_any_file(tmp_path: pathlib.Path) -> None:
    directory = run(tmp_path)
    log = f"pod=p {TOKEN} {pathlib.Path.home()}/.kube/config {directory.path}/logs\n"
    directory.log("scheduler").write_text(log)
    reproducing.write(tmp_path / "out", read(directory), findings())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"README.md", "scenario.toml"}
    for path in (tmp_path / "out").iterdir():
        text = path.read_text()
        for secret in (TOKEN, str(pathlib.Path.home()) + "/", str(tmp_path), "kubeconfig-"):
            assert secret not in text, path.name


def test_logs_are_bounded(tmp_path: pathlib.Path) -> None:
    directory = run(tmp_path)
    directory.log("scheduler").write_text("pod=p " * 200 + "\n" + "pod=p\n" * 1000)
    [excerpt] = read(directory).logs
    assert len(excerpt.lines) == specimens.LINES_MAX + 1
    assert max(map(len, excerpt.lines)) == specimens.LINE_MAX
    assert excerpt.left_out == 1001 - specimens.LINES_MAX


def test_the_command_names_the_cluster_and_the_programs(tmp_path: pathlib.Path) -> None:
    binary = {"kind": "kube-scheduler", "binary": "/home/me/kube-scheduler"}
    changes = {"cluster": "local", "cluster_profile": {"name": "mine"}, "until_found": True}
    directory = building.build(tmp_path / "run", TEXT, steps=STEPS, changes=changes)
    found = scenarios.scenario(subject={"schedulers": [binary]})
    page = issue_texts.of(read(directory), dataclasses.replace(findings(), scenario=found))
    assert "flake-hunt run scenario.toml --until-found --cluster mine" in page
    assert 'It needs kube-scheduler in `"$KUBEBUILDER_ASSETS"`.' in page
    assert "/home/me" not in page


# -------------------------------------------------------------- names that would be obeyed


def _outside_code(markdown: str) -> str:
    """Remove blocks and spans of code, in which nothing has a meaning."""
    without_blocks = re.sub(r"^(`{3,})[^\n]*\n.*?\n\1$", "", markdown, flags=re.M | re.S)
    return re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", without_blocks)


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: pathlib.Path) -> None:
    specimen = read(hostile_names.build(tmp_path / "run"))
    page = issue_texts.of(specimen, findings())
    assert hostile_names.OBEYED.findall(page) == []
    prose = _outside_code(page)
    assert re.findall(r"(?<!\\)<(?!/?(?:details|summary)>)", prose) == []
    assert re.findall(r"(?<!\\)\[x", prose) == []
    assert re.findall(r"@all|http://y", prose) == []
