"""Names that mean something to a terminal, to HTML, Markdown, XML or rich are shown, not obeyed."""

import io
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from harness.campaign import campaign_documents, campaign_pages, campaign_plan
from harness.checks import judging, verdicts
from harness.cli.terminal import displaying, outputs, tables
from harness.history import directories, records, results
from harness.history.purposes import Purpose
from harness.report import escaping, publishing
from tests.histories import building, damages, hostile_names
from tests.support import page_markup

EVIL, MARKUP, OBEYED = hostile_names.EVIL, hostile_names.MARKUP, hostile_names.OBEYED
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 🦊\n\t", "plain ä 🦊\n\t"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00\x07\r\x7f\x9b", "\\x00\\x07\\x0d\\x7f\\x9b"),
        ("\u202e\u2066", "\\u202e\\u2066"),
        ("\udcff", "\\udcff"),
        ("\ufffe\uffff\ufffd", "\\ufffe\\uffff\ufffd"),
    ],
)
def test_control_characters_become_visible(text: str, shown: str) -> None:
    assert escaping.visible(text) == shown
    assert escaping.visible(shown) == shown


def test_a_path_that_is_no_text_can_be_printed(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run-\udcff", "a+D1 p*")
    argv = [sys.executable, "-m", "harness.cli.main", "check", str(directory.path)]
    ended = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"run-\\udcff" in ended.stdout


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return hostile_names.build(tmp_path / "run")


def test_the_files_of_a_report(directory: directories.RunDirectory) -> None:
    phase = records.Phase(name=EVIL, ts_ns=0, detail=EVIL)
    damages.appended(damages.processes, phase)(directory)
    damages.process_died(EVIL)(directory)
    publishing.publish(judging.examine(directory))
    text = directory.report.read_text(encoding="utf-8")
    page = page_markup.read(text)
    assert "img" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.unbalanced == []
    assert MARKUP in page.text
    assert OBEYED.findall(text) == []
    suite = ET.parse(directory.junit).getroot()
    assert "onerror=alert(1)" in str(suite.get("name"))
    trace = directory.trace.read_bytes()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f]", trace)
    told = [event["args"] for event in json.loads(trace)["traceEvents"] if event["ph"] == "i"]
    assert {f"key{EVIL}": EVIL} in told


# ---------------------------------------------------------------------------------- a campaign


def _results() -> list[results.RunResult]:
    ends: list[dict[str, object]] = [
        {"verdict": verdicts.Verdict.UNKNOWN, "reason": EVIL},
        {"error": f"expected a name\n{EVIL}"},
    ]
    return [
        results.RunResult(
            scenario=f"scenario{EVIL}",
            subject=f"subject{EVIL}",
            purpose=Purpose.SUBJECT,
            seconds=1.0,
            directory=f"reports/#?%{number}",
            **end,  # type: ignore[arg-type]
        )
        for number, end in enumerate(ends)
    ]


def test_the_table_and_the_index_of_a_campaign(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = campaign_plan.CampaignPlan(seed=1, reports="reports", cluster={}, runs=[])
    document = campaign_pages.publish(_results(), plan, tmp_path)
    tables.show(document, tmp_path, outputs.Output())
    printed = capsys.readouterr().out
    assert OBEYED.findall(printed) == []
    assert "[red]red[/red][/]" in re.sub(r"\s+", "", printed)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    page = page_markup.read(text)
    assert "img" not in page.tags
    assert OBEYED.findall(text) == []
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    found = [link.partition("reports/")[2] for link in links if not link.startswith("#row-")]
    assert found == [f"%23%3F%25{number}/report.html" for number in (0, 1)] * 2


def test_the_markdown_summary_of_a_campaign() -> None:
    plan = campaign_plan.CampaignPlan(seed=1, reports="reports", cluster={}, runs=[])
    document = campaign_documents.document(_results(), plan, pathlib.Path())
    *_, head, _, row, last = campaign_pages.summary(document).split("\n")
    assert last == ""
    assert OBEYED.findall(row) == []
    assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"\|", head))
    assert re.findall(r"(?<!\\)[<\[`*]|@|://", row) == ["*"] * 4  # **ERROR**
    assert "onerror=alert(1)" in row


# -------------------------------------------------------------------------------- the progress


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress(is_terminal: bool) -> None:
    file = io.StringIO()
    console = displaying.Console(file=file, force_terminal=is_terminal, width=400, highlight=False)
    out = outputs.Output(is_verbose=True)
    with displaying.run_progress(out, console) as shown:
        shown.phase(f"phase{EVIL}")
        shown.faults([f"fault{EVIL}"])
        shown.note(f"note{EVIL}")
    with tables.campaign_progress(2, out, console) as listener:
        for result in _results():
            listener(result)
    printed = ANSI.sub("", file.getvalue()).replace("\r", "")
    assert OBEYED.findall(printed) == []
    for name in ("phase", "fault", "note", "scenario", "subject"):
        assert f"{name}\\x1b]0;owned" in printed
    assert printed.count("[red]red[/red][/]") >= 5
