"""The engines' files for a campaign over machines: each says what the commands expect.

The Job is decoded strictly with Kubernetes' own types, and its pod is created in our API server,
whose validation is compared with Kubernetes'. The other rules of Jobs are tests of their own.
"""

import copy
import os
import pathlib
import random
import subprocess
from typing import Any

import pytest
import typer.main
import yaml

from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import strict_decoding
from harness.cli import commands

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
CLAIM, JOB = yaml.safe_load_all((EXAMPLES / "campaign-job.yaml").read_text())
WORKFLOW = yaml.safe_load((EXAMPLES / "campaign.yml").read_text())
SBATCH = EXAMPLES / "campaign.sbatch"
PRINTS_ARGUMENTS = '#!/bin/sh\necho "$0 $*" >> "$CALLS"\nexit ${CODE:-0}\n'


def problems(document: dict[str, Any]) -> list[str]:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = api_types.of_kind(group, version, document["kind"])
    wrong = strict_decoding.mismatch(kind, document)
    return [*strict_decoding.problems(kind, document), *([wrong] if wrong else [])]


@pytest.mark.parametrize("document", [CLAIM, JOB], ids=lambda document: document["kind"])
def test_the_job_and_its_volume_have_kubernetes_types(document: dict[str, Any]) -> None:
    assert problems(document) == []
    assert problems({**document, "spec": {**document["spec"], "complettions": 3}})
    assert problems({**document, "spec": 5})


def create_pod(spec: dict[str, Any]) -> None:
    pods = resources.find("", "v1", "pods")
    assert pods is not None
    store = stores.Store(now=lambda: "2026-01-01T00:00:00Z", stream=random.Random(1))
    store.create(pods, "default", {"metadata": {"name": "p"}, "spec": spec})


def test_its_pod_is_valid() -> None:
    spec = JOB["spec"]["template"]["spec"]
    create_pod(copy.deepcopy(spec))
    wrong = copy.deepcopy(spec)
    wrong["containers"][0]["name"] = "Not a name"
    with pytest.raises(status_errors.StatusError, match=r"containers\[0\].name"):
        create_pod(wrong)


def test_it_is_an_indexed_job_that_retries_what_another_start_can_heal() -> None:
    spec = JOB["spec"]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", spec["parallelism"])
    assert spec["maxFailedIndexes"] <= spec["completions"]
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never", "podFailurePolicy asks for it"
    assert spec["backoffLimitPerIndex"] > 0, "FailIndex asks for it"
    answers, evicted = spec["podFailurePolicy"]["rules"]
    assert answers["action"] == "FailIndex"
    assert answers["onExitCodes"]["values"] == sorted(answers["onExitCodes"]["values"])
    assert set(answers["onExitCodes"]["values"]) == {2, 10, 20}
    assert answers["onExitCodes"]["containerName"] == pod["containers"][0]["name"]
    assert evicted["action"] == "Ignore"


def parsed(words: list[str]) -> dict[str, Any]:
    program, name, *rest = words
    assert program == "flake-hunt"
    command = typer.main.get_command(commands.make_app([name]))
    context = command.commands[name].make_context(name, rest, resilient_parsing=True)  # type: ignore[attr-defined]
    return dict(context.params)


def test_its_command_reads_the_plan_and_writes_to_the_volume() -> None:
    container = JOB["spec"]["template"]["spec"]["containers"][0]
    options = parsed(container["command"])
    assert str(options["jobs"]) == container["resources"]["requests"]["cpu"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert options["plan"] == pathlib.Path(mounts["plan"], "plan.json")
    assert (options["reports"], options["shard"]) == (pathlib.Path(mounts["reports"]), None)
    claim = JOB["spec"]["template"]["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"]
    assert claim == CLAIM["metadata"]["name"]


def ran(tmp_path: pathlib.Path, script: str, **variables: str) -> tuple[int, list[list[str]]]:
    """Run a script; return its exit code, and the arguments of each `flake-hunt`."""
    program, calls = tmp_path / "flake-hunt", tmp_path / "calls"
    program.write_text(PRINTS_ARGUMENTS)
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls), **variables},
        check=False,
    )
    return done.returncode, [
        ["flake-hunt", *line.split()[1:]] for line in calls.read_text().splitlines()
    ]


def script(job: str, word: str) -> str:
    (found,) = [
        step["run"] for step in WORKFLOW["jobs"][job]["steps"] if word in step.get("run", "")
    ]
    return str(found)


def test_the_workflow_plans_one_shard_for_each_machine_of_the_matrix(
    tmp_path: pathlib.Path,
) -> None:
    text, output = script("plan", "flake-hunt plan"), tmp_path / "output"
    code, ((*words,),) = ran(
        tmp_path, text, SHARDS="3", ARGUMENTS="--all --repeat 9", GITHUB_OUTPUT=str(output)
    )
    options = parsed(words)
    assert (code, options["shards"], options["repeat"], options["is_whole"]) == (0, 3, 9, True)
    assert output.read_text() == "shards=[1,2,3]\n"
    assert WORKFLOW["jobs"]["hunt"]["strategy"]["matrix"]["shard"] == (
        "${{ fromJSON(needs.plan.outputs.shards) }}"
    )


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (10, 0), (20, 0), (1, 1), (2, 2)])
def test_a_shard_fails_only_for_errors_because_the_merge_tells_the_rest(
    tmp_path: pathlib.Path, code: int, expected: int
) -> None:
    text = script("hunt", "--shard")
    ended, ((*words,),) = ran(tmp_path, text, SHARD="2", SHARDS="3", CODE=str(code))
    assert ended == expected
    assert (parsed(words)["shard"], parsed(words)["plan"]) == ("2/3", pathlib.Path("plan.json"))


def test_the_merge_takes_every_shard_and_its_exit_code_is_the_workflows(
    tmp_path: pathlib.Path,
) -> None:
    for name in ("shard-1", "shard-2"):
        (tmp_path / "shards" / name).mkdir(parents=True)
    text = script("merge", "flake-hunt merge")
    code, ((*words,),) = ran(tmp_path, text, GITHUB_STEP_SUMMARY="summary.md", CODE="20")
    assert code == 20
    assert parsed(words)["shards"] == ["shards/shard-1", "shards/shard-2"]
    assert WORKFLOW["jobs"]["merge"]["if"].startswith("always()")


def test_the_array_begins_with_one(tmp_path: pathlib.Path) -> None:
    text = SBATCH.read_text()
    assert "#SBATCH --array=1-20\n" in text
    code, ((*words,),) = ran(tmp_path, text, SLURM_CPUS_PER_TASK="4")
    options = parsed(words)
    assert (code, options["jobs"], options["shard"]) == (0, 4, None)
    assert options["plan"] == pathlib.Path("plan.json")
