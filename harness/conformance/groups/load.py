"""Rules about many claims at the same time.

The calls are gRPC's own, many at a time on one connection, as a kubelet's. Locust's users would
need a gRPC that gevent can switch, in a process of their own, and find nothing more.
"""

from collections.abc import Sequence
from concurrent import futures

from harness.cluster.kubelet_api import calls
from harness.conformance import benches, requirements, results

_USERS = 8
_ROUNDS = 6


def all_answered(bench: benches.Bench) -> None:
    problems = _churned(bench)
    for problem in filter(None, problems):
        raise results.Failed(f"among {len(problems)} users, {problem}")


def leaves_nothing(bench: benches.Bench) -> None:
    _churned(bench)
    if left := bench.left_files():
        raise results.Failed(f"{len(left)} CDI files are left, one is {left[0].name}")


def _churned(bench: benches.Bench) -> list[str]:
    """Let users prepare and unprepare devices of their own, again and again.

    Return the problem of each user, empty for those without one.
    """
    users = [
        [bench.claim(*devices, apart=True) for _ in range(_ROUNDS)]
        for devices in bench.devices.sets(_USERS)
    ]
    with futures.ThreadPoolExecutor(len(users)) as pool:
        return list(pool.map(lambda claims: _problem(bench, claims), users))


def _problem(bench: benches.Bench, claims: Sequence[benches.Claim]) -> str:
    problem = ""
    try:
        for claim in claims:
            answer = bench.driver.start_prepare([claim.reference]).answer()
            try:
                requirements.require_own([claim], answer)
            except results.Failed as failure:
                problem = str(failure)
            bench.driver.start_unprepare([claim.reference]).answer()
    except calls.CallError as error:
        return f"a call fails: {error}"
    return problem
