"""Nights for the trend over many of them: campaigns with figures that are drawn, not run."""

import datetime
import random
from collections.abc import Iterator, Sequence

from harness.campaign.purposes import Purpose
from harness.comparison.trends.night_series import Night, NightRun

BEGIN = datetime.datetime(2026, 1, 1, 2, 17, tzinfo=datetime.UTC)
SLOWER = 0.6
"""Throughput of a slower scheduler, as a share of the usual one."""


def night(
    number: int,
    *,
    runs: int = 10,
    scenarios: Sequence[str] = ("pod-churn",),
    rate: float = 0.0,
    luck: float = 0.0,
    speed: float = 1.0,
    load: str = "0123",
    seed: int = 1,
    cluster: str = "embedded",
) -> Night:
    """A night with some runs of each scenario, and as many of a control.

    `rate`: the share of the runs that are INVALID, exactly; `luck`: the probability with which
    each of the others is; `speed`: throughput, as a share of the usual one.
    """
    drawn = random.Random(f"{seed} {number}")
    started = (BEGIN + datetime.timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = [
        run
        for scenario in scenarios
        for run in _runs(drawn, scenario, runs=runs, rate=rate, luck=luck, speed=speed, load=load)
    ]
    is_bad = any(run.verdict == "INVALID" and not run.purpose.must_fail for run in made)
    return Night(
        identity=f"{started} {seed} {cluster}",
        digest=f"sha256:{number:064x}",
        started=started,
        cluster=cluster,
        seed=seed,
        verdict="INVALID" if is_bad else "VALID",
        exit_code=10 if is_bad else 0,
        summary=f"{len(made)} runs",
        commit=f"{number:012x}",
        versions={"flake-hunt": "0.1.0", "commit": f"{number:012x}"},
        runs=made,
    )


def _runs(
    drawn: random.Random,
    scenario: str,
    *,
    runs: int,
    rate: float,
    luck: float,
    speed: float,
    load: str,
) -> Iterator[NightRun]:
    failed = set(drawn.sample(range(runs), round(rate * runs)))
    failed |= {number for number in range(runs) if drawn.random() < luck}
    for number in range(runs):
        throughput = drawn.gauss(50, 3) * speed
        wait = drawn.gauss(120, 8) / speed
        yield NightRun(
            scenario=scenario,
            subject="correct",
            purpose=Purpose.SUBJECT,
            verdict="INVALID" if number in failed else "VALID",
            violations=int(number in failed),
            load=load,
            seconds=20.0,
            allocations_per_s=round(throughput, 1),
            claim_p50_ms=round(wait, 1),
            claim_p99_ms=round(wait * 6, 1),
            pod_p50_ms=round(wait * 2, 1),
            pod_p99_ms=round(wait * 9, 1),
        )
        seconds = round(drawn.expovariate(0.2) / speed, 1)
        yield NightRun(
            scenario=scenario,
            subject="gather-not-atomic",
            purpose=Purpose.CONTROL,
            verdict="INVALID",
            violations=1,
            seconds=seconds,
            detected_s=seconds,
        )
