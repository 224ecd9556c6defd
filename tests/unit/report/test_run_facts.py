"""The head of a page: the subject by its right name, versions, date, and links to files."""

import json
import pathlib
import xml.etree.ElementTree as ET
from typing import Any

import msgspec
import pytest

from harness.checks import judging
from harness.cli.terminal import displaying, outputs
from harness.history import directories, plans, records
from harness.report import publishing, run_facts
from tests.histories import building, damages, language
from tests.support import cases, page_markup


def _built(path: pathlib.Path, **changes: Any) -> directories.RunDirectory:
    directory = building.build(path / "run", "a+D1 a^p p* b+D1")
    plan = plans.read(directory.plan)
    plans.write(directory.plan, msgspec.structs.replace(plan, expects_manifest=False, **changes))
    return directory


def _page(directory: directories.RunDirectory) -> page_markup.Page:
    publishing.publish(judging.examine(directory))
    return page_markup.read(directory.report.read_text())


def test_the_page_tells_date_and_versions(tmp_path: pathlib.Path) -> None:
    directory = _built(tmp_path, created_wall_ns=1_795_367_100 * 10**9, versions={"python": "3.11"})
    versions = {"kube-apiserver": "v1.36.1"}
    directory.cluster.write_text(json.dumps({"name": "x", "versions": versions}))
    page = _page(directory)
    assert "2026-11-22T17:05:00Z" in page.texts
    assert page.texts[page.texts.index("kube-apiserver") + 1] == "v1.36.1"
    assert "embedded, kube-apiserver v1.36.1" in page.texts


PURPOSES: dict[str, tuple[dict[str, Any], str]] = cases.read(__file__, "purposes")


@pytest.mark.parametrize(("changes", "expected"), PURPOSES.values(), ids=PURPOSES)
def test_a_run_that_was_to_fail_says_so(changes: dict[str, Any], expected: str) -> None:
    assert run_facts.purpose(msgspec.structs.replace(building.plan(), **changes)) == expected


def test_a_time_that_no_calendar_has(tmp_path: pathlib.Path) -> None:
    page = _page(_built(tmp_path, created_wall_ns=-(10**30)))
    assert page.texts[page.texts.index("date ") + 1] == "unknown"


def test_every_file_of_the_run_is_linked(tmp_path: pathlib.Path) -> None:
    directory = _built(tmp_path)
    directory.log("kube scheduler?#").parent.mkdir(exist_ok=True)
    directory.log("kube scheduler?#").write_text("a line")
    page = _page(directory)
    links = {value for tag, name, value in page.attributes if (tag, name) == ("a", "href")}
    assert "logs/kube%20scheduler%3F%23.log" in links
    for path in [*directory.journals(), directory.plan, directory.verdict, directory.trace]:
        assert path.name in links


def test_a_run_of_a_campaign_links_to_it(tmp_path: pathlib.Path) -> None:
    def link(page: page_markup.Page) -> list[str]:
        return [value for _, name, value in page.attributes if name == "href" and "camp" in value]

    assert link(_page(_built(tmp_path / "1", campaign="2026-7"))) == [
        "../../campaigns/2026-7/index.html"
    ]
    assert link(_page(_built(tmp_path / "2"))) == []


# --------------------------------------------------------------------------- the certificate


def _control(
    path: pathlib.Path, text: str = "a+D1 b+D1", *, is_found: bool
) -> directories.RunDirectory:
    directory = building.build(
        path / "run",
        text,
        requirements=plans.Requirements(allocations_min=100, pods_running_min=0),
    )
    plan = plans.read(directory.plan)
    plan = msgspec.structs.replace(plan, until_found=True, progress_s=1.0)
    plans.write(directory.plan, plan)
    if is_found:
        phase = records.Phase(name="found", ts_ns=language.at(0))
        damages.before_the_end(phase)(directory)
    return directory


LOAD = "Was there enough load for a meaningful verdict?"


def test_a_control_that_was_caught_needed_no_load(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = _control(tmp_path, is_found=True)
    page = _page(directory)
    assert page.texts[page.texts.index(LOAD) + 1] == run_facts.NOT_NEEDED
    suite = ET.parse(directory.junit).getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    told = suite.findtext("testcase[@name='certificate']/system-out") or ""
    assert told.startswith(f"not needed, since a violation ended the run, as planned: {LOAD}")
    assert (suite.findtext("testcase[@name='claim_progress']/skipped")) is not None
    rest = page.texts.index("claim_progress")
    assert page.texts[rest + 1] == run_facts.NOT_NEEDED
    document = json.loads(directory.verdict.read_bytes())
    assert document["ended_by_violation"]
    assert [item["name"] for item in document["certificate"] if not item["needed"]] == ["load"]
    assert "not certified" not in _shown(directory, capsys)
    assert f"  {told}\n" in _shown(directory, capsys, is_verbose=True)


def _shown(
    directory: directories.RunDirectory,
    capsys: pytest.CaptureFixture[str],
    *,
    is_verbose: bool = False,
) -> str:
    displaying.show(judging.judge(directory), directory, out=outputs.Output(is_verbose=is_verbose))
    return capsys.readouterr().out


@pytest.mark.parametrize("text", ["a+D1 b+D1", "a+D1 b+D2"], ids=["INVALID", "UNKNOWN"])
def test_a_run_that_went_on_needed_it(tmp_path: pathlib.Path, text: str) -> None:
    is_found = text.endswith("D2")  # it says so, and no violation is there
    directory = _control(tmp_path, text, is_found=is_found)
    page = _page(directory)
    assert page.texts[page.texts.index(LOAD) + 1] == "✗ no"
    assert ET.parse(directory.junit).getroot().get("errors") != "0"
