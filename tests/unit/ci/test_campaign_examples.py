"""The engines' files for a campaign over machines: each says what the commands expect."""

import gzip
import pathlib
import tarfile

import pytest
import yaml

from tests.support import called_scripts

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
CLAIM, JOB = yaml.safe_load_all((EXAMPLES / "campaign-job.yaml").read_text())
WORKFLOW = yaml.safe_load((EXAMPLES / "campaign.yml").read_text())
BOTH = {"SIDES": "base change"}
SBATCH = EXAMPLES / "campaign.sbatch"
EMPTY_TAR = gzip.compress(bytes(10240))


def test_its_command_reads_the_plan_and_writes_to_the_volume() -> None:
    container = JOB["spec"]["template"]["spec"]["containers"][0]
    options = called_scripts.parsed(container["command"])
    assert str(options["jobs"]) == container["resources"]["requests"]["cpu"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert options["plan"] == pathlib.Path(mounts["plan"], "plan.json")
    assert (options["reports"], options["shard"]) == (pathlib.Path(mounts["reports"]), None)
    claim = JOB["spec"]["template"]["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"]
    assert claim == CLAIM["metadata"]["name"]


def script(job: str, word: str) -> str:
    (found,) = [
        step["run"] for step in WORKFLOW["jobs"][job]["steps"] if word in step.get("run", "")
    ]
    return str(found)


def test_base_and_change_are_built_alike_and_only_what_is_needed_goes_on(
    tmp_path: pathlib.Path,
) -> None:
    for side in ("base", "change"):
        (tmp_path / side / ".git").mkdir(parents=True)
    given = {"BUILD": "pwd > program; touch object", "FILES": "program"} | BOTH
    code, calls = called_scripts.ran(tmp_path, script("plan", "BUILD"), others=["git"], **given)
    assert (code, calls) == (0, [["git", "-C", "change", "worktree", "add", "../base", "HEAD^1"]])
    for side in ("base", "change"):
        with tarfile.open(tmp_path / f"{side}.tgz") as packed:
            assert packed.getnames() == ["program"]
            assert packed.extractfile("program").read() == f"{tmp_path / side}\n".encode()  # type: ignore[union-attr]


def test_the_workflow_plans_one_shard_for_each_machine_of_the_matrix(
    tmp_path: pathlib.Path,
) -> None:
    output = tmp_path / "output"
    for side in ("base", "change"):
        (tmp_path / side).mkdir()
    given = {"SHARDS": "3", "ARGUMENTS": "--all --repeat 9", "GITHUB_RUN_ID": "17"} | BOTH
    program = "python mine.py {kubeconfig}; echo $(id)"
    code, calls = called_scripts.ran(
        tmp_path,
        script("plan", "flake-hunt shards plan"),
        GITHUB_OUTPUT=str(output),
        PROGRAM=program,
        **given,
    )
    plans = [called_scripts.planned(words) for words in calls]
    assert (code, output.read_text()) == (0, "shards=[1,2,3]\n")
    assert [str(plan["file"]) for plan in plans] == ["../base.json", "../change.json"]
    for plan in plans:
        assert (plan["program"], plan["count"], plan["seed"]) == (program, 3, 17)
        assert (plan["repeat"], plan["is_quick"]) == (9, False)
    assert WORKFLOW["jobs"]["hunt"]["strategy"]["matrix"]["shard"] == (
        "${{ fromJSON(needs.plan.outputs.shards) }}"
    )


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (10, 0), (20, 0), (1, 1), (2, 2)])
def test_a_shard_fails_only_for_errors_because_the_merge_tells_the_rest(
    tmp_path: pathlib.Path, code: int, expected: int
) -> None:
    for side in ("base", "change"):
        (tmp_path / f"{side}.tgz").write_bytes(EMPTY_TAR)
    given = {"SHARD": "2", "SHARDS": "3", "CODE": str(code)} | BOTH
    ended, calls = called_scripts.ran(tmp_path, script("hunt", "--shard"), **given)
    assert ended == expected
    assert len(calls) == (1 if expected else 2), "an error ends the job"
    for side, words in zip(("base", "change"), calls, strict=False):
        options = called_scripts.parsed(words)
        assert (options["shard"], options["plan"]) == ("2/3", pathlib.Path(f"../{side}.json"))
        assert options["reports"] == pathlib.Path(f"../reports/{side}")


def test_the_merge_takes_every_shard_compares_and_ends_as_the_change(
    tmp_path: pathlib.Path,
) -> None:
    for side in ("base", "change"):
        (tmp_path / "merged" / side).mkdir(parents=True)
        (tmp_path / "merged" / side / "junit.xml").write_text(side)
        for name in ("shard-1", "shard-2"):
            (tmp_path / "shards" / name / side).mkdir(parents=True)
    summary = {"GITHUB_STEP_SUMMARY": "summary.md", "LINK": "https://h/1"}
    code, calls = called_scripts.ran(
        tmp_path, script("merge", "flake-hunt shards merge"), CODE="20", **summary, **BOTH
    )
    assert code == 20
    assert [words[1] for words in calls] == ["shards", "pack", "shards", "pack", "compare"]
    assert called_scripts.parsed(calls[2])["folders"] == [
        f"shards/shard-{number}/change" for number in (1, 2)
    ]
    compared = called_scripts.parsed(calls[-1])
    assert [str(path) for path in compared["paths"]] == ["merged/base", "merged/change"]
    assert (str(compared["comment"]), compared["link"]) == ("comment/comment.md", "https://h/1")
    assert (tmp_path / "result" / "junit.xml").read_text() == "change"
    assert WORKFLOW["jobs"]["merge"]["if"].startswith("always()")


def test_the_array_begins_with_one(tmp_path: pathlib.Path) -> None:
    text = SBATCH.read_text()
    assert "#SBATCH --array=1-20\n" in text
    code, (words,) = called_scripts.ran(tmp_path, text, SLURM_CPUS_PER_TASK="4")
    options = called_scripts.parsed(words)
    assert (code, options["jobs"], options["shard"]) == (0, 4, None)
    assert options["plan"] == pathlib.Path("plan.json")
