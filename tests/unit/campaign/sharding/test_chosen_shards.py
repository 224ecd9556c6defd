"""Which shard a machine makes: as `--shard` says, or Kubernetes, or Slurm."""

import pytest

from harness import errors
from harness.campaign.sharding import shard_folders

JOB, ARRAY = "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"


@pytest.mark.parametrize(
    ("option", "environment", "number"),
    [
        ("1/20", {}, 1),
        ("20/20", {JOB: "3"}, 20),
        ("all", {JOB: "3"}, None),
        (None, {}, None),
        (None, {JOB: ""}, None),
        (None, {JOB: "0"}, 1),
        (None, {JOB: "19"}, 20),
        (None, {ARRAY: "1"}, 1),
        (None, {ARRAY: "20"}, 20),
        ("2/20", {JOB: "0", ARRAY: "1"}, 2),
    ],
)
def test_the_option_goes_before_the_environment(
    option: str | None, environment: dict[str, str], number: int | None
) -> None:
    chosen = shard_folders.choose(option, environment, shards=20)
    assert (chosen.number, chosen.shards) == (number, 20)
    assert chosen.text == (f"shard {number} of 20" if number else "all 20 shards")


@pytest.mark.parametrize(("variable", "text", "first"), [(JOB, "2", 0), (ARRAY, "3", 1)])
def test_the_reason_names_the_variable_and_where_it_counts_from(
    variable: str, text: str, first: int
) -> None:
    chosen = shard_folders.choose(None, {variable: text}, shards=20)
    assert chosen.number == 3
    assert chosen.reason == f"{variable}={text}, which counts from {first}"


@pytest.mark.parametrize(
    "option", ["0/20", "21/20", "1/10", "1", "1/", "/20", "x/20", "-1/20", "1/20/3", "", "٣/20 "]
)
def test_a_shard_that_the_plan_does_not_have_is_refused(option: str) -> None:
    with pytest.raises(errors.UsageError, match="expected --shard 1/20 to 20/20, or all"):
        shard_folders.choose(option, {}, shards=20)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({JOB: "20"}, "expected JOB_COMPLETION_INDEX to be 0 to 19.*completions: 20"),
        ({JOB: "x"}, "expected JOB_COMPLETION_INDEX to be 0 to 19"),
        ({JOB: "²"}, "expected JOB_COMPLETION_INDEX to be 0 to 19"),
        ({ARRAY: "0"}, "expected SLURM_ARRAY_TASK_ID to be 1 to 20.*--array=1-20"),
        ({ARRAY: "21"}, "expected SLURM_ARRAY_TASK_ID to be 1 to 20"),
        (
            {JOB: "1", ARRAY: "1"},
            "expected --shard 1/20 to 20/20.*got JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID",
        ),
    ],
)
def test_an_engine_with_other_numbers_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(errors.UsageError, match=message):
        shard_folders.choose(None, environment, shards=20)
