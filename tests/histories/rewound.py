"""Runs in which the API server's data were restored: revisions go back in a second history.

Claim a holds D1 in the first history, claim b in the second one. In neither do two claims hold it.
"""

from typing import Any, Literal

from harness.history import records
from tests.histories import language

Body = list[records.Body]
CLAIMS, PODS = language.CLAIMS, language.PODS


def claim(
    kind: Literal["ADDED", "MODIFIED", "DELETED", "LISTED"], name: str, rv: int, *held: str
) -> records.Observation:
    return language.observation(CLAIMS, rv, _object(name, rv, held), kind)


def _object(name: str, rv: int, held: tuple[str, ...]) -> dict[str, Any]:
    results = [
        {"request": "r", "driver": language.DRIVER, "pool": language.POOL, "device": device}
        for device in held
    ]
    meta = {
        "name": name,
        "namespace": language.NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": str(rv),
        "creationTimestamp": "2026-11-26T06:00:00Z",
    }
    status = {"allocation": {"devices": {"results": results}}} if held else {}
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    return {"metadata": meta, "spec": {"devices": {"requests": requests}}, "status": status}


BEGIN: Body = [language.listed(CLAIMS, "first", 1), language.listed(PODS, "first", 1)]
FIRST: Body = [
    claim("ADDED", "a", 90),
    claim("MODIFIED", "a", 100, "D1"),
    claim("MODIFIED", "a", 110),
    claim("DELETED", "a", 112),
]
SECOND: Body = [
    claim("ADDED", "b", 102),
    claim("MODIFIED", "b", 105, "D1"),
    claim("MODIFIED", "b", 120),
    claim("DELETED", "b", 121),
]
END: Body = [language.listed(CLAIMS, "final", 130), language.listed(PODS, "final", 130)]
REWOUND: dict[str, Body] = {
    "an older list": [
        *FIRST,
        language.gap(CLAIMS, 112),
        language.listed(CLAIMS, "relist", 101),
        *SECOND,
    ],
    "without a list": [*FIRST, *SECOND],
    "a list of pods": [
        *FIRST,
        language.gap(PODS, 112),
        language.listed(PODS, "relist", 101),
        *SECOND,
    ],
    "a list that has come further": [
        *FIRST,
        language.gap(CLAIMS, 112),
        language.listed(CLAIMS, "relist", 115, 1),
        claim("LISTED", "b", 105, "D1"),
        *SECOND[2:],
    ],
    "twice": [
        *FIRST,
        language.gap(CLAIMS, 112),
        language.listed(CLAIMS, "relist", 95),
        claim("ADDED", "c", 96),
        language.gap(CLAIMS, 96),
        language.listed(CLAIMS, "relist", 91),
        *SECOND,
    ],
}
"""The evidence -> the observations between the first and the final lists."""
DOUBLED: Body = [claim("ADDED", "d", 103, "D2"), claim("ADDED", "e", 104, "D2")]
"""A double allocation in one history."""


def whole(body: Body) -> Body:
    return [*BEGIN, *body, *END]
