"""Which shard of a plan a machine makes: as the user says, or as the engine that started it."""

import dataclasses
import re
from collections.abc import Mapping

from harness import errors

KUBERNETES = "JOB_COMPLETION_INDEX"
"""Variable of a pod of an Indexed Job: its index, from 0."""
SLURM = "SLURM_ARRAY_TASK_ID"
"""Variable of a task of a Slurm job array: its number, from 1 with `--array=1-N`."""
_ENGINES = {
    KUBERNETES: (0, "in the Job, set completions: "),
    SLURM: (1, "submit the array with sbatch --array=1-"),
}
"""Variable -> where it counts from, and what makes it right."""
WHOLE = "all"
"""The word for all shards."""
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")


@dataclasses.dataclass(frozen=True, slots=True)
class ChosenShard:
    """The part of a plan that a machine makes."""

    number: int | None
    """Number of the shard, from 1; None: all shards."""
    shards: int
    reason: str
    """Where the number comes from."""

    @property
    def text(self) -> str:
        return (
            f"all {self.shards} shards" if self.number is None else name(self.number, self.shards)
        )


def name(number: int, shards: int) -> str:
    return f"shard {number} of {shards}"


def choose(option: str | None, environment: Mapping[str, str], *, shards: int) -> ChosenShard:
    """Return the shard that `--shard`, or else the environment, names; all if none does.

    Raises UsageError for a shard that the plan does not have.
    """
    if option == WHOLE:
        return ChosenShard(None, shards, f"--shard {WHOLE}")
    if option is not None:
        return _of_option(option, shards)
    given = [variable for variable in _ENGINES if environment.get(variable)]
    if len(given) > 1:
        raise errors.UsageError(
            f"expected {KUBERNETES} or {SLURM} to name the shard, got both: add --shard I/{shards}"
        )
    return _of_variable(given[0], environment, shards) if given else ChosenShard(None, shards, "")


def _of_option(text: str, shards: int) -> ChosenShard:
    matched = _SHARD.fullmatch(text)
    if matched is None or int(matched[2]) != shards or not 1 <= int(matched[1]) <= shards:
        raise errors.UsageError(
            f"expected --shard 1/{shards} to {shards}/{shards}, or {WHOLE}, because the plan has "
            f"{shards} shards, got {text!r:.40}"
        )
    return ChosenShard(int(matched[1]), shards, "--shard")


def _of_variable(variable: str, environment: Mapping[str, str], shards: int) -> ChosenShard:
    text, (first, remedy) = environment[variable], _ENGINES[variable]
    is_number = text.isascii() and text.isdecimal()
    if not is_number or not first <= int(text) < first + shards:
        raise errors.UsageError(
            f"expected {variable} to be {first} to {first + shards - 1}, because the plan has "
            f"{shards} shards, got {text!r:.40}: {remedy}{shards}"
        )
    number = int(text) - first + 1
    return ChosenShard(number, shards, f"{variable}={text}, which counts from {first}")
