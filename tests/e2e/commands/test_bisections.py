"""git asks, and names the commit to blame. tests/support/bisected/tries.py makes whole searches."""

import pathlib

from tests.support.bisected import commits, tries

ALWAYS_THE_FIRST = ("take any device", "if found[1] not in used | IN_FLIGHT", "if found")
HARMLESS = ("wait longer", "TIMEOUT_S = 2, 0.05, 30", "TIMEOUT_S = 2, 0.05, 60")


def test_git_names_the_commit_and_one_invalid_run_was_enough(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "repository"
    made = commits.of_changes(folder, [ALWAYS_THE_FIRST, HARMLESS])
    named, text = tries.bisect(folder, made, "--jobs", "1")
    assert named == made[1], text
    assert "step 1 of about 1: bad: run 1 is INVALID, which is proof (" in text
    assert len(list(folder.glob("reports/few-pods/*/verdict.json"))) == 1
