"""Guesses of a smallest scenario, tried first: two or three claims for one device, one by one.

Most double allocations need two claims that want one device at different moments, and a few seconds
of search find that out at once. A scenario that needs many objects at the same time does not fail
then, and is shrunk size by size.
"""

from collections.abc import Iterator

from harness.reproduction.search import load_axes
from harness.scenario import specs, subject_specs, traffic_specs

INTERVAL_S = 0.2
"""Seconds between two claims: longer than a status write takes, shorter than most faults last."""
CLAIMS = (2, 3)
"""Numbers of claims that are tried."""


def leaps(scenario: specs.Scenario) -> Iterator[tuple[str, specs.Scenario]]:
    """Yield (change, scenario): few claims, created one by one while the scheduler runs.

    Retries have the default backoff, so that those of one pod do not hide another one. Scenarios
    with further kinds of pools or claims have no such guess.
    """
    if scenario.pools.more or scenario.claims or not scenario.claim.is_plain:
        return
    for claims in CLAIMS:
        candidate = _small(scenario, claims)
        if candidate != scenario:
            yield f"{claims} claims, {INTERVAL_S:g} s apart", candidate


def _small(scenario: specs.Scenario, claims: int) -> specs.Scenario:
    plain = subject_specs.SubjectSpec()
    calm = {
        "start": plain.start,
        "backoff_initial_s": plain.backoff_initial_s,
        "backoff_max_s": plain.backoff_max_s,
        "pauses": plain.pauses,
    }
    pools = {"nodes": 1, "devices_per_node": scenario.claim.devices}
    return load_axes.changed(
        scenario,
        pools=scenario.pools.model_copy(update=pools),
        subject=scenario.subject.model_copy(update=calm),
        traffic=traffic_specs.AllAtOnceTraffic(
            profile="all-at-once",
            processes=1,
            users=1,
            pods=claims,
            overcommit=True,
            interval_s=INTERVAL_S,
        ),
        load=specs.LoadSpec(allocations_min=1, pods_running_min=1),
    )
