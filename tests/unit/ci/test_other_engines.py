"""GitLab's pipeline and Prow's jobs: by GitLab's schema, Kubernetes' types, and what they call.

The schema is GitLab's (MIT), as check-jsonschema 0.39.0 ships it.
"""

import copy
import gzip
import json
import pathlib
import re
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support import called_scripts

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
GITLAB = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())
PROW = yaml.safe_load((EXAMPLES / "prow-job.yaml").read_text())
(PRESUBMIT,), (PERIODIC,) = *PROW["presubmits"].values(), PROW["periodics"]
SCHEMA = pathlib.Path(__file__).with_name("gitlab.schema.json.gz")
BOTH = {"SIDES": "base change", "PROGRAM": "python mine.py {kubeconfig}", "ARGUMENTS": "--quick"}
SPYGLASS = re.compile(r"^artifacts/junit.*\.xml$")
"""As in the configuration of Prow's documents."""
TESTGRID = re.compile(r".+/(?:junit((_[^_]+)?(_\d+-\d+)?(_\d+)?|.+)?\.xml|test.xml)$")
"""As in TestGrid's util/gcs/read.go."""


def test_gitlabs_schema() -> None:
    schema = json.loads(gzip.decompress(SCHEMA.read_bytes()))
    kind = jsonschema.validators.validator_for(schema)
    assert [error.message for error in kind(schema).iter_errors(GITLAB)] == []
    wrong = copy.deepcopy(GITLAB)
    wrong["hunt"]["allow_failure"] = {"exit_codes": ["ten"]}
    assert not kind(schema).is_valid(wrong)


def called(
    folder: pathlib.Path, job: dict[str, Any], **variables: str
) -> tuple[int, list[list[str]]]:
    for side in ("base", "change"):
        (folder / side).mkdir(exist_ok=True)
    return called_scripts.ran(folder, "\n".join(job["script"]), others=["git"], **BOTH | variables)


def test_gitlab_plans_both_sides_with_one_seed(tmp_path: pathlib.Path) -> None:
    code, calls = called(
        tmp_path, GITLAB["plan"], SHARDS="3", CI_PIPELINE_ID="9", CI_MERGE_REQUEST_DIFF_BASE_SHA="f"
    )
    assert code == 0
    assert [words for words in calls if words[0] == "git"] == [
        ["git", "worktree", "add", "--detach", "change", "HEAD"],
        ["git", "worktree", "add", "--detach", "base", "f"],
    ]
    plans = [called_scripts.planned(words) for words in calls if words[0] != "git"]
    assert [(plan["program"], plan["count"]) for plan in plans] == [(BOTH["PROGRAM"], 3)] * 2
    assert {plan["seed"] for plan in plans} == {9}
    assert GITLAB["variables"]["SHARDS"] == str(GITLAB["hunt"]["parallel"])


def test_a_shard_of_gitlab_makes_both_sides_and_is_yellow_if_something_was_found(
    tmp_path: pathlib.Path,
) -> None:
    shard = {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "3"}
    code, calls = called(tmp_path, GITLAB["hunt"], CODE="10", **shard)
    assert code in GITLAB["hunt"]["allow_failure"]["exit_codes"]
    options = [called_scripts.parsed(words) for words in calls]
    assert [item["shard"] for item in options] == ["2/3", "2/3"]
    assert [str(item["reports"]) for item in options] == ["../shards/2/base", "../shards/2/change"]


def test_the_merge_of_gitlab_ends_as_the_change_and_keeps_its_junit_file(
    tmp_path: pathlib.Path,
) -> None:
    for side in ("base", "change"):
        (tmp_path / "merged" / side).mkdir(parents=True)
        (tmp_path / "merged" / side / "junit.xml").write_text(side)
    code, calls = called(tmp_path, GITLAB["merge"], CODE="20", CI_JOB_URL="https://h/1")
    assert code == 20
    assert [words[1] for words in calls] == ["shards", "pack", "shards", "pack", "compare"]
    assert called_scripts.parsed(calls[-1])["link"] == "https://h/1/artifacts/browse"
    report = GITLAB["merge"]["artifacts"]["reports"]["junit"]
    assert (tmp_path / report).read_text() == "change"


@pytest.mark.parametrize("job", [PRESUBMIT, PERIODIC], ids=lambda job: job["name"])
def test_prows_jobs_leave_what_spyglass_and_testgrid_read(
    job: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    (script,) = job["spec"]["containers"][0]["args"]
    for name in ("base", "change", "reports"):
        (tmp_path / name / "campaigns" / "one").mkdir(parents=True)
        (tmp_path / name / "campaigns" / "one" / "junit.xml").write_text("")
    script = script.replace("/tmp/", f"{tmp_path}/")
    given = {"ARTIFACTS": str(artifacts), "PULL_BASE_SHA": "f", "BUILD_ID": "17"}
    code, calls = called_scripts.ran(tmp_path, script, others=["git", "make"], **given)
    assert code == 0
    tests = [called_scripts.parsed(words) for words in calls if words[:2] == ["flake-hunt", "test"]]
    programs = [options["program"] for options in tests]
    assert programs[-1].endswith("_output/bin/kube-scheduler")
    assert len(set(programs)) == len(programs) == (2 if job is PRESUBMIT else 1)
    (junit,) = artifacts.glob("*.xml")
    name = str(junit.relative_to(tmp_path))
    assert SPYGLASS.match(name)
    assert TESTGRID.match(f"logs/job/17/{name}")
