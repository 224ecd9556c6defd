"""Bounded exhaustive search: every run that deviates at most so many times from what happens when nobody interferes.

A deviation is a decision other than 0: a preemption, another task than the first when one has to be chosen, a fault. With all runs of up to k
deviations made, every interleaving with at most k preemptions is covered in which tasks that wake up go on in their order (delay
bounding, after Emmi, Qadeer and Rakamarić, POPL 2011). What needs more deviations is not covered.
"""

from collections.abc import Iterator, Sequence

from harness.explore import exploring, strategies, worlds


def runs(
    spec: worlds.Spec, *, deviations_max: int, defects: Sequence[str] = ()
) -> Iterator[exploring.Run]:
    """Every run within the bound, each once, depth first."""
    prefix: list[int] | None = []
    while prefix is not None:
        run = exploring.explore_once(spec, strategies.Replay(prefix), defects=defects)
        yield run
        prefix = _next_prefix(run, deviations_max)


def _next_prefix(run: exploring.Run, deviations_max: int) -> list[int] | None:
    """The decisions of the next run: the last decision that can be raised is raised, all after it are 0."""
    spent = _spent_before(run.decisions)
    for index in range(len(run.decisions) - 1, -1, -1):
        choice = run.decisions[index] + 1
        if choice < run.options[index] and spent[index] < deviations_max:
            return [*run.decisions[:index], choice]
    return None


def _spent_before(decisions: Sequence[int]) -> list[int]:
    """Deviations before each decision."""
    spent, total = [], 0
    for decision in decisions:
        spent.append(total)
        total += decision != 0
    return spent
