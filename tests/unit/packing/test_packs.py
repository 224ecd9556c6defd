"""Packs are the same bytes for the same runs, are judged as the runs are, and fit."""

import io
import json
import pathlib
import shutil
import subprocess
import zipfile
from typing import Any

import pytest

from harness import errors
from harness.packing import making
from harness.report import publishing
from tests.histories import archives
from tests.unit.packing import packed


def files_of(pack: making.Pack) -> set[str]:
    names = zipfile.ZipFile(io.BytesIO(pack.content)).namelist()
    return {name.removeprefix(f"{pack.name}/") for name in names}


def verdicts(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()]


def test_the_same_run_gives_the_same_bytes_wherever_it_is(tmp_path: pathlib.Path) -> None:
    made = packed.run(tmp_path / "a")
    other = shutil.copytree(made.path, tmp_path / "b" / "elsewhere" / "one")
    first, second = (making.make([path], limit=packed.LIMIT) for path in (made.path, other))
    assert first == second
    assert first.name == "s-correct-INVALID-one"


@pytest.mark.parametrize(("verdict", "code"), [("VALID", 0), ("UNKNOWN", 20), ("INVALID", 10)])
def test_a_pack_is_judged_as_its_run(
    flake_hunt: Any, tmp_path: pathlib.Path, verdict: str, code: int
) -> None:
    made = packed.run(tmp_path, "one", verdict)
    pack = packed.file(tmp_path, made)
    shutil.rmtree(made.path)
    assert flake_hunt("check", "-q", pack)[0] == code
    document = json.loads(flake_hunt("check", "--output", "json", pack)[1])
    assert (document["verdict"], document["directory"]) == (verdict, f"s/one of {pack}")


def test_it_is_judged_the_same_after_unpacking_and_in_another_zip(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    pack = packed.file(tmp_path, packed.run(tmp_path))
    other = packed.zipped_again(pack, lambda new, entry, data: new.writestr(entry.filename, data))
    subprocess.run(["unzip", "-q", pack, "-d", tmp_path / "un"], check=True)
    (folder,) = (tmp_path / "un").iterdir()
    expected = flake_hunt("check", "-q", pack)
    assert flake_hunt("check", "-q", other) == flake_hunt("check", "-q", folder) == expected
    assert "flake-hunt check FILE.zip" in (folder / "README.txt").read_text()


def test_other_commands_read_a_pack(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    made = packed.run(tmp_path)
    pack = packed.file(tmp_path, made)
    issue = flake_hunt("report", "--issue", made.path)
    assert issue[0] == 0
    assert flake_hunt("report", "--issue", pack) == issue
    code, out, _ = flake_hunt("query", pack, "select count(*) as n from holds")
    assert (code, out) == (0, "n\n2\n1 row\n")
    code, _, err = flake_hunt("report", pack)
    assert (code, err) == (
        2,
        f"flake-hunt: expected a run directory, got s/one of {pack}, which has its report: unpack it\n",
    )
    code, _, err = flake_hunt("explain", pack)
    assert f"{pack}/s/one/logs" in err


def test_several_runs_are_judged_one_by_one_also_beside_a_bad_pack(
    flake_hunt: Any, tmp_path: pathlib.Path
) -> None:
    pack = packed.file(tmp_path, packed.run(tmp_path), packed.run(tmp_path, "two", "VALID"))
    code, out, _ = flake_hunt("check", "-q", pack)
    assert (code, verdicts(out)) == (10, ["INVALID", "VALID"])
    spoiled = tmp_path / "spoiled.zip"
    spoiled.write_bytes(pack.read_bytes()[:-1])
    code, out, _ = flake_hunt("check", "-q", spoiled, pack)
    assert (code, verdicts(out)) == (10, ["ERROR", "INVALID", "VALID"])


def test_nothing_is_left_of_what_was_unpacked(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = packed.file(tmp_path, packed.run(tmp_path))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    flake_hunt("check", pack)
    from harness.checks import judging

    def interrupted(*_: object, **__: object) -> None:
        assert any(folder.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "examine", interrupted)
    assert flake_hunt("check", pack)[0] == 130
    assert list(folder.iterdir()) == []


def test_an_interrupted_pack_leaves_nothing(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = packed.run(tmp_path / "runs")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    before = sorted(tmp_path.rglob("*"))

    def interrupted(*_: object, **__: object) -> None:
        assert any((tmp_path / "temporary").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "publish", interrupted)
    code, out, _ = flake_hunt("pack", made.path, "--redact", "-o", tmp_path / "x.zip")
    assert (code, out) == (130, "")
    assert sorted(tmp_path.rglob("*")) == before


def test_of_a_campaign_the_worst_runs_that_fit(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    named = {"a": "VALID", "b": "UNKNOWN", "c": "INVALID", "d": "INVALID"}
    runs = [packed.run(tmp_path, name, verdict) for name, verdict in named.items()]
    campaign = archives.campaign(
        tmp_path,
        "c",
        runs,
        document={"verdict": "INVALID", "summary": "one"},
        purpose=lambda number: "control" if number == 3 else "subject",
    )
    (campaign / "index.html").write_text("page")
    pack = making.make([campaign], limit=packed.LIMIT)
    assert [run.path for run in pack.index.runs] == ["s/c", "s/b", "s/a", "s/d"]
    assert pack.index.campaigns == ["campaigns/c"]
    assert "campaigns/c/index.html" in files_of(pack)
    size = len(making.make([runs[2].path], limit=packed.LIMIT).content)
    pack = making.make([campaign], limit=size * 2 + 80_000)
    assert [run.path for run in pack.index.runs] == ["s/c", "s/b"]
    assert [text.split()[:2] for text in pack.index.left_out] == [
        ["s/a:", "VALID,"],
        ["s/d:", "INVALID,"],
    ]
    path = tmp_path / "campaign.zip"
    path.write_bytes(pack.content)
    assert flake_hunt("check", "-q", path)[0] == 10
    assert "s/d: INVALID" in zipfile.ZipFile(path).read(f"{pack.name}/README.txt").decode()


def test_what_does_not_fit_loses_its_timeline_first_and_nothing_that_is_needed(
    tmp_path: pathlib.Path,
) -> None:
    made = packed.run(tmp_path)
    size = len(making.make([made.path], limit=packed.LIMIT).content)
    pack = making.make([made.path], limit=size - 1)
    assert len(pack.content) < size
    assert [text.partition(",")[0] for text in pack.index.left_out] == ["s/one: its timeline"]
    kept = files_of(pack)
    everything = {
        f"s/one/{path.relative_to(made.path)}" for path in made.path.rglob("*") if path.is_file()
    }
    assert everything - kept == {"s/one/trace.json"}
    with pytest.raises(errors.UsageError, match=r"expected at most .* but what the verdict needs"):
        making.make([made.path], limit=1000)


def test_what_cannot_be_packed(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    made = packed.run(tmp_path)
    target = tmp_path / "x.zip"
    unended = packed.run(tmp_path, "unended")
    unended.manifest.unlink()
    unjudged = archives.run(tmp_path, "unjudged")
    edited = packed.run(tmp_path, "edited")
    edited.verdict.write_text(edited.verdict.read_text().replace("INVALID", "VALID"))
    for path, why in (
        (unended, "is under way, or was interrupted"),
        (unjudged, "has no report.html: flake-hunt check"),
        (edited, "it was edited"),
    ):
        code, out, err = flake_hunt("pack", path.path, "-o", target)
        assert (code, out) == (2, "")
        assert why in err
    assert flake_hunt("pack", made.path, "-o", tmp_path / "x.rar")[0] == 2
    assert not target.exists()
    assert flake_hunt("pack", made.path, "-o", target)[0] == 0
    content = target.read_bytes()
    code, _, err = flake_hunt("pack", made.path, "-o", target)
    assert (code, "exists: name another one" in err) == (2, True)
    target.unlink()
    assert flake_hunt("pack", made.path, "-o", target)[0] == 0
    assert target.read_bytes() == content


def test_where_nothing_can_be_written(flake_hunt: Any, tmp_path: pathlib.Path) -> None:
    made = packed.run(tmp_path)
    code, _, err = flake_hunt("pack", made.path, "-o", "/proc/x.zip")
    assert (code, err.startswith("flake-hunt: cannot write /proc/x.zip")) == (2, True)
