"""One server for all tests of a process, and the folder that it serves."""

import os
import pathlib
from collections.abc import Iterator

import pytest

from harness.checks import judging
from harness.report import publishing
from tests.histories import archives, building
from tests.support import served_reports

EVIL = '"><img src=x onerror=alert(1)>\n\u202eRTL</script><b>&amp;'
HISTORY = "p:a,b a+D1 a^p p>n p* b+D1 a~"


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with runs of every state, hostile names, and a campaign."""
    folder = tmp_path_factory.mktemp("served")
    good = archives.run(folder, "20260101T000000Z-good", scenario="pods")
    publishing.publish(judging.examine(good))
    bad = archives.run(folder, "20260102T000000Z-bad", "INVALID", scenario="pods")
    caught = archives.run(
        folder, "20260103T000000Z-caught", "INVALID", changes={"defects": ["gather-not-atomic"]}
    )
    archives.campaign(
        folder, "20260104T000000Z-7", [good, bad], document={"verdict": "INVALID", "summary": EVIL}
    )
    archives.campaign(folder, "20260105T000000Z-open", [good], planned=9)
    archives.run(
        folder,
        "20260106T000000Z-%2f..%2f<i>'",
        scenario="<img src=x onerror=alert(1)>\n",
        changes={"subject": EVIL, "again": ["run", EVIL], "campaign": EVIL},
    )
    building.build(folder / "pods" / "20260107T000000Z-unfinished", HISTORY)
    damaged = archives.run(folder, "20260108T000000Z-damaged", scenario="pods")
    damaged.plan.write_text("{")
    torn = archives.run(folder, "20260109T000000Z-torn", scenario="pods")
    torn.observations.write_text('{"torn\n{}\n')
    for plan in folder.glob("[!c]*/*/plan.json"):
        (plan.parent / "report.html").touch()
    linked = folder / "pods" / "20260110T000000Z-linked"
    linked.symlink_to(caught.path)
    inside = archives.run(folder, "20260111T000000Z-link-inside", scenario="pods")
    (inside.path / "operations-other.jsonl").symlink_to(good.plan)
    os.mkfifo(good.path / "pipe.log")
    (inside.path / "secret.json").symlink_to("/etc/hostname")
    (folder / "stray.txt").write_text("<script>alert(1)</script>")
    return folder


@pytest.fixture(scope="session")
def client(reports: pathlib.Path) -> Iterator[served_reports.Client]:
    with served_reports.serving(reports) as found:
        yield found
