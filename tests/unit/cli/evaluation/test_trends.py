"""`flake-hunt trends`: campaigns become nights, the page, its sentence and its exit code."""

import json
import pathlib
import re
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign_documents, campaign_plan, results
from harness.campaign.purposes import Purpose
from harness.checks.verdicts import Verdict
from harness.cli.subcommands.judging import trends_command
from harness.comparison.trends import databases, trend_pages
from tests.histories import archives, nights
from tests.support import schemas

EVIL = "\x1b]0;x\x07<script>alert(1)</script>&"


@pytest.fixture
def database(tmp_path: pathlib.Path) -> pathlib.Path:
    """Eight nights, the last with a slower scheduler and a defect that shows in 20 % of runs."""
    path = tmp_path / "trends.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        for number in range(7):
            opened.add(nights.night(number, runs=40))
        opened.add(nights.night(7, runs=40, rate=0.2, speed=nights.SLOWER))
    return path


def campaign(reports: pathlib.Path, name: str, *, started: str = "2026-01-01T00:00:00Z") -> None:
    """A campaign of two runs with directories, and a control that its third attempt caught."""
    made = archives.run(reports, name, scenario="churn")
    copies = archives.repeated(made, 2, figures=lambda n: {"allocations_per_s": 40.0 + n})
    found = [
        results.RunResult(
            number=number,
            scenario="churn",
            subject="correct",
            seconds=9.0,
            directory=str(copy.path),
            verdict=Verdict.VALID,
        )
        for number, copy in enumerate(copies, start=1)
    ]
    found += [
        results.RunResult(
            number=3,
            scenario="churn",
            subject="bad",
            purpose=Purpose.CONTROL,
            seconds=5.0,
            verdict=Verdict.INVALID if attempt == 2 else Verdict.VALID,
            double_allocations=attempt // 2,
            attempt=attempt,
        )
        for attempt in range(3)
    ]
    folder = archives.campaign(reports, name, copies)
    plan = campaign_plan.CampaignPlan(
        seed=1, reports=str(reports), cluster={"name": "embedded"}, started=started, runs=[]
    )
    document = campaign_documents.document(results.rows(found), plan, folder)
    (folder / "results.json").write_bytes(msgspec.json.encode(document))


def test_a_campaign_becomes_a_night_once(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    reports, path = tmp_path / "reports", tmp_path / "t.sqlite"
    campaign(reports, "one")
    campaign(reports, "two", started="2026-01-02T00:00:00Z")
    code, out, err = flake_hunt("trends", "add", str(reports), "--database", str(path))
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["added", "added"]
    one = reports / "campaigns" / "one"
    code, out, _ = flake_hunt("trends", "add", str(one), "--database", str(path))
    assert (code, out.startswith("was there ")) == (0, True)
    with databases.opened(path) as opened:
        first, _ = opened.nights()
    tested = [run for run in first.runs if run.purpose is Purpose.SUBJECT]
    assert [run.allocations_per_s for run in tested] == [40.0, 41.0]
    assert len({run.load for run in tested}) == 1
    assert len(tested[0].load) == 16
    control = [run for run in first.runs if run.purpose is Purpose.CONTROL]
    assert [run.detected_s for run in control] == [None, None, 15.0]


def test_a_campaign_under_way_is_left_out_of_a_folder(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    campaign(tmp_path, "one")
    archives.campaign(tmp_path, "open", [])
    code, out, _ = flake_hunt("trends", "add", str(tmp_path), "--database", str(tmp_path / "t"))
    assert code == 0
    assert sorted(line.split()[0] for line in out.splitlines()) == ["added", "left"]


def test_the_page_shows_the_slower_scheduler_and_the_defect(
    flake_hunt: Any, database: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    summary = tmp_path / "summary.md"
    arguments = ("trends", "page", "--database", str(database), "--summary", str(summary))
    code, out, err = flake_hunt(*arguments)
    assert (code, err) == (0, "")
    assert flake_hunt(*arguments, "--fail-when-worse")[0] == 10
    sentence = out.splitlines()[0]
    assert sentence.startswith(
        "The night of 2026-01-08T02:17:00Z (INVALID) got worse: pod-churn, correct: rate of INVALID "
        "is worse: 0 of 280 runs (0 to 1.4 %), now 8 of 40 runs"
    )
    assert "more for the worse (throughput; claim to allocation, p50; " in sentence
    assert "throughput is worse: " in out.splitlines()[2]
    assert "got worse: pod-churn, correct: rate of INVALID is worse" in summary.read_text()
    text = database.with_name(trends_command.PAGE).read_text()
    assert text.count('class="mark"') == len(out.splitlines()) - 2, "a mark for each change"
    assert text.count("▼ worse") == len(out.splitlines()) - 1, "and its row, and the banner"
    assert text.count('class="night INVALID"') == 1
    assert "<script" not in text
    assert not re.findall(r"(?:src|href)=", text)


def test_campaigns_on_disk_show_both(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    """As above, from run directories: the last night is slower and fails in 2 of 4 runs."""
    usual = [(0, 50.0 + number % 2) for number in range(7)]
    for number, (failed, throughput) in enumerate([*usual, (2, 30.0)]):
        whole_campaign(tmp_path, f"n{number}", number, failed=failed, throughput=throughput)
    path = tmp_path / "t.sqlite"
    assert flake_hunt("trends", "add", str(tmp_path), "--database", str(path))[0] == 0
    code, out, _ = flake_hunt("trends", "page", "--database", str(path), "--fail-when-worse")
    assert code == 10
    assert "rate of INVALID is worse: 0 of 28 runs" in out
    assert "now 2 of 4 runs" in out
    assert re.search(r"throughput is worse: 50\.\d+ allocations/s, now 30\.\d+ allocations/s", out)


@pytest.mark.parametrize("earlier", [1, 4])
def test_a_verdict_that_turns_invalid_is_worse_whatever_the_tests_say(
    flake_hunt: Any, tmp_path: pathlib.Path, earlier: int
) -> None:
    """None of 3 runs in some nights, then 3 of 3: too few nights for any test."""
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        for number in range(earlier):
            opened.add(nights.night(number, runs=3))
        opened.add(nights.night(earlier, runs=3, rate=1.0))
    arguments = ("trends", "page", "--database", str(path))
    code, out, _ = flake_hunt(*arguments, "--fail-when-worse")
    assert code == 10
    assert f"0 of {3 * earlier} runs (0 to" in out
    assert "now 3 of 3 runs" in out
    assert "(INVALID for the first time)" in out


def test_a_verdict_that_turns_invalid_again_is_worse_too(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        for number, rate in enumerate((1.0, 0.0, 1.0)):
            opened.add(nights.night(number, runs=3, rate=rate))
    arguments = ("trends", "page", "--database", str(path), "--fail-when-worse")
    code, out, _ = flake_hunt(*arguments)
    assert code == 10
    assert "pod-churn, correct: INVALID in 3 of 3 runs, and in none of 3 the night before" in out
    with databases.opened(path) as opened:
        opened.add(nights.night(3, runs=3, rate=1.0))
    assert flake_hunt(*arguments)[0] == 0, "it was INVALID before"


def test_another_load_hides_no_invalid_night(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        opened.add(nights.night(0, runs=3))
        opened.add(nights.night(1, runs=3, rate=1.0, scenarios=["another"]))
    code, out, _ = flake_hunt("trends", "page", "--database", str(path), "--fail-when-worse")
    assert code == 10
    assert "the night is INVALID, and the one before it was VALID" in out


def test_with_too_few_nights_nothing_is_claimed(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        for number in range(6):
            opened.add(nights.night(number, runs=3))
        opened.add(nights.night(6, runs=3, speed=0.3))
    code, out, _ = flake_hunt("trends", "page", "--database", str(path), "--fail-when-worse")
    assert code == 0
    assert out.splitlines()[0].endswith(
        "cannot be compared yet; 8 of 8 rates and figures have too few nights of the same load: a "
        "test needs 7 before the newest."
    )


def test_results_that_contradict_their_runs(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    """verdict.json is INVALID where the results say VALID: the worse one is the night's."""
    reports, path = tmp_path / "reports", tmp_path / "t.sqlite"
    campaign(reports, "one")
    files = sorted((reports / "churn").glob("*-*/verdict.json"))
    for file, changed in zip(files, ({"verdict": "INVALID"}, {"schema": 99}), strict=True):
        file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    assert flake_hunt("trends", "add", str(reports), "--database", str(path))[0] == 0
    with databases.opened(path) as opened:
        [night] = opened.nights()
    tested = [run.verdict for run in night.runs if run.purpose is Purpose.SUBJECT]
    assert tested == ["INVALID", "UNKNOWN"]
    file = reports / "campaigns" / "one" / "results.json"
    document = json.loads(file.read_text())
    document["rows"][0]["runs"][0] |= {"verdict": "INVALID", "double_allocations": 1}
    file.write_text(json.dumps(document))
    code, _, err = flake_hunt("trends", "add", str(reports), "--database", str(path))
    assert code == 2
    assert "says VALID, and its runs do not" in err


def whole_campaign(
    reports: pathlib.Path, name: str, day: int, *, failed: int, throughput: float
) -> None:
    copies = [
        copy
        for verdict, count in (("VALID", 4 - failed), ("INVALID", failed))
        for copy in archives.repeated(
            archives.run(reports, f"{name}-{verdict}", verdict, scenario="churn"),
            count,
            figures=lambda n: {"allocations_per_s": throughput + n % 5 / 10},
        )
    ]
    found = [
        results.RunResult(
            number=number,
            scenario="churn",
            subject="correct",
            seconds=9.0,
            directory=str(copy.path),
            verdict=Verdict.INVALID if number > 4 - failed else Verdict.VALID,
        )
        for number, copy in enumerate(copies, start=1)
    ]
    folder = archives.campaign(reports, name, copies)
    plan = campaign_plan.CampaignPlan(
        seed=1,
        reports=str(reports),
        cluster={"name": "embedded"},
        started=f"2026-01-0{day + 1}T00:00:00Z",
        runs=[],
    )
    document = campaign_documents.document(results.rows(found), plan, folder)
    (folder / "results.json").write_bytes(msgspec.json.encode(document))


def test_the_document_obeys_its_schema(flake_hunt: Any, database: pathlib.Path) -> None:
    code, out, _ = flake_hunt("trends", "page", "--database", str(database), "--output", "json")
    document = schemas.obeying("trends", out)
    assert (code, document["is_worse"]) == (0, True)
    assert len(document["nights"]) == 8
    assert [night["invalid"] for night in document["nights"]] == [0] * 7 + [8]
    assert (document["tested"], document["too_few"]) == (8, 0)
    (rate,) = (item for item in document["changes"] if item["measure"] == "rate of INVALID")
    assert (rate["before"], rate["after"]) == (0.0, 0.2)
    assert (rate["commit"], rate["p_value"]) == ("000000000007", None)


def test_one_night_has_nothing_to_be_compared_with(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        opened.add(nights.night(0))
    arguments = ("trends", "page", "--database", str(path), "--fail-when-worse")
    code, out, _ = flake_hunt(*arguments)
    assert code == 0
    assert "is the first one" in out


def test_many_nights_share_columns(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trend_pages, "COLUMNS_MAX", 6)
    monkeypatch.setattr(trend_pages, "NIGHTS_MAX", 10)
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        for number in range(14):
            opened.add(nights.night(number, runs=2))
    assert flake_hunt("trends", "page", "--database", str(path))[0] == 0
    text = path.with_name(trends_command.PAGE).read_text()
    assert "Each column has 3 nights." in text
    assert text.count('class="night VALID"') == 5
    assert "4 older nights are not listed." in text


def test_hostile_names_are_shown_and_not_obeyed(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.sqlite"
    with databases.opened(path, is_new_allowed=True) as opened:
        for number, speed in enumerate((1.0, 1.0, 0.5)):
            made = nights.night(number, runs=20, scenarios=[EVIL], speed=speed)
            opened.add(msgspec.structs.replace(made, summary=EVIL, commit=EVIL))
    summary = tmp_path / "summary.md"
    _, out, _ = flake_hunt("trends", "page", "--database", str(path), "--summary", str(summary))
    page = path.with_name(trends_command.PAGE).read_text()
    for text in (out, page, summary.read_text()):
        assert "\x1b" not in text
    assert "<script" not in page
    assert "<script" not in summary.read_text().replace("\\<script", "")


@pytest.mark.parametrize("what", ["nothing", "text", "unended", "untimed"])
def test_bad_input_is_one_sentence_and_makes_no_database(
    flake_hunt: Any, tmp_path: pathlib.Path, what: str
) -> None:
    if what == "text":
        (tmp_path / "text").mkdir()
        (tmp_path / "text" / "results.json").write_text("{")
    elif what == "unended":
        archives.campaign(tmp_path, "one", [])
        (tmp_path / "campaigns" / "one").rename(tmp_path / "unended")
    elif what == "untimed":
        campaign(tmp_path, "one", started="")
        (tmp_path / "campaigns" / "one").rename(tmp_path / "untimed")
    path = tmp_path / "t.sqlite"
    code, out, err = flake_hunt("trends", "add", str(tmp_path / what), "--database", str(path))
    assert (code, out) == (2, "")
    assert err.startswith("flake-hunt: expected ")
    assert err.count("\n") == 1
    assert not path.exists()


def test_a_night_whose_database_cannot_be_used_goes_on(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(tmp_path, "one")
    folder = tmp_path / "campaigns" / "one"
    path = tmp_path / trends_command.DATABASE.name
    path.write_text(json.dumps({}))
    trends_command.remember(folder, tmp_path, summary=None)
    assert "the trend was not written: expected a database of nights" in capsys.readouterr().err
    path.unlink()
    trends_command.remember(folder, tmp_path, summary=None)
    assert "is the first one" in capsys.readouterr().out
    assert (tmp_path / trends_command.PAGE).is_file()


def test_failed_runs_that_were_made_again_are_no_night_and_no_side(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    """Their runs were chosen because they had failed."""
    for name in ("first", "second"):
        campaign(tmp_path, name)
    path = tmp_path / "campaigns" / "second"
    plan = json.loads((path / "campaign.json").read_text()) | {"failed_in": "first"}
    (path / "campaign.json").write_text(json.dumps(plan))
    code, out, _ = flake_hunt("trends", "add", tmp_path, "--database", tmp_path / "t.sqlite")
    assert code == 0
    assert f"left out   {path}" in out
    for words in (
        ("trends", "add", path, "--database", tmp_path / "t.sqlite"),
        ("compare", tmp_path / "campaigns" / "first", path),
    ):
        code, _, complaint = flake_hunt(*words)
        assert code == 2
        assert "has only those that failed in first (--last-failed)" in complaint
