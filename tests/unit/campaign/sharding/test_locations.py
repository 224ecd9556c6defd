"""Shards are read from folders and, where fsspec is installed, from URLs."""

import pathlib
import sys

import pytest

from harness import errors
from harness.campaign.sharding import locations, merged_campaigns
from tests.support import shards

PLAN = shards.plan(subjects=4, controls=1, shards=2)


@pytest.fixture
def uploaded(tmp_path: pathlib.Path) -> str:
    """A URL with the reports of both shards."""
    fsspec = pytest.importorskip("fsspec")
    for number in (1, 2):
        shards.folder(tmp_path / f"r{number}", PLAN, number)
    system = fsspec.filesystem("memory")
    system.put(f"{tmp_path}/", f"/{tmp_path.name}/", recursive=True)
    return f"memory://{tmp_path.name}"


def test_shards_at_urls_are_those_of_the_folders(tmp_path: pathlib.Path, uploaded: str) -> None:
    remote = merged_campaigns.read([f"{uploaded}/r1", f"{uploaded}/r2/"])
    local = merged_campaigns.read([str(tmp_path / "r1"), str(tmp_path / "r2")])
    assert remote.plan == local.plan
    assert [list(shard.found.whole) for shard in remote.shards] == [
        list(shard.found.whole) for shard in local.shards
    ]
    assert remote.problems == local.problems == []
    assert all(shard.folder.startswith(uploaded) for shard in remote.shards)
    merged = merged_campaigns.write(remote, tmp_path / "merged" / "campaigns" / "one")
    assert merged.campaign.exit_code == 0


def test_run_directories_at_a_url_are_named_by_it_and_not_linked(
    tmp_path: pathlib.Path, uploaded: str
) -> None:
    fsspec = pytest.importorskip("fsspec")
    (path,) = (tmp_path / "r1" / "campaigns").iterdir()
    run = PLAN.runs_of(1)[0]
    here = shards.evidence(tmp_path / "r1", run, shards.result(run)).directory
    made = shards.result(run, directory=f"/machine/reports/pod-churn/{pathlib.Path(here).name}")
    target = f"/{tmp_path.name}/r1/campaigns/{path.name}/results.jsonl"
    fsspec.filesystem("memory").pipe(target, shards.lines([made]))
    merged = merged_campaigns.write(
        merged_campaigns.read([f"{uploaded}/r1", f"{uploaded}/r2"]), tmp_path / "merged"
    )
    (found,) = [result for result in merged.results if result.number == run.number]
    assert found.directory == f"{uploaded}/r1/pod-churn/{pathlib.Path(here).name}"
    assert "report.html" not in (tmp_path / "merged" / "index.html").read_text()


def test_a_pattern_in_a_url_is_every_folder_that_matches(uploaded: str) -> None:
    """A shell expands patterns of paths, but not of URLs."""
    merged = merged_campaigns.read([f"{uploaded}/*"])
    assert [pathlib.PurePath(shard.folder).parts[-3] for shard in merged.shards] == ["r1", "r2"]
    with pytest.raises(errors.UsageError, match=r"got none in memory://.*/x\*"):
        merged_campaigns.read([f"{uploaded}/x*"])


def test_without_fsspec_a_url_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(errors.UsageError, match=r"not installed.*\[remote\].*s3fs") as caught:
        locations.at("s3://bucket/reports")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["nonsense://x", "s3://bucket/reports"])
def test_a_protocol_that_is_unknown_or_lacks_its_package(url: str) -> None:
    """s3fs is not among the packages for development."""
    pytest.importorskip("fsspec")
    with pytest.raises(errors.UsageError, match="expected a "):
        locations.at(url)


def test_a_url_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")

    def refuse(*_: object, **__: object) -> bytes:
        raise RuntimeError("no credentials")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "cat_file", refuse)
    for listing in ("ls", "glob"):
        monkeypatch.setattr(type(fsspec.filesystem("memory")), listing, refuse)
    location = locations.at("memory://bucket")
    with pytest.raises(errors.HistoryError, match=r"memory://bucket/shard.json: .*no credentials"):
        location.read("shard.json")
    with pytest.raises(errors.HistoryError, match=r"memory://bucket: .*no credentials"):
        location.folders()
    with pytest.raises(errors.HistoryError, match=r"memory://bucket/\*: .*no credentials"):
        locations.matching("memory://bucket/*")


def test_what_is_missing_at_a_url(uploaded: str) -> None:
    location = locations.at(uploaded)
    assert location.read("none.json") is None
    assert location.folder("none").folders() == []
    assert [folder.name for folder in location.folders()] == [f"{uploaded}/r1", f"{uploaded}/r2"]
    assert location.folder("r1").parent().name == uploaded


def test_what_is_missing_in_a_folder(tmp_path: pathlib.Path) -> None:
    location = locations.at(str(tmp_path))
    assert location.read("none.json") is None
    assert location.folder("none").folders() == []
    assert not location.folder("none").exists()
