"""Holds that are given one by one, as the columns that checks read."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from harness.checks.holds import claim_events, hold_columns


def hold(
    device: str, claim: str, from_rv: int, until_rv: int | None = None, **fields: Any
) -> hold_columns.Hold:
    """A hold by a claim of this name, which is exclusive unless told otherwise."""
    given = {"exclusive": True, "uid": f"uid-{claim}", "from_ts_ns": 0} | fields
    named = {"device": device, "namespace": "tests", "name": claim}
    return hold_columns.Hold(**named, from_rv=from_rv, until_rv=until_rv, **given)


def columns(holds: Iterable[hold_columns.Hold]) -> hold_columns.HoldColumns:
    """Return the columns of holds."""
    claims: dict[str, claim_events.Life] = {}
    devices: dict[str, int] = {}
    hows: dict[claim_events.Held, int] = {}
    rows, users = [], []
    for number, hold in enumerate(holds):
        names = hold.uid, hold.namespace, hold.name
        life = claim_events.Life(*names, len(claims), hold.from_rv, hold.from_ts_ns)
        until = hold_columns.OPEN if hold.until_rv is None else max(hold.until_rv, hold.from_rv)
        rows.append(
            (
                *(hold.from_rv, hold.from_ts_ns, until),
                hold_columns.OPEN if hold.until_rv is None else hold.until_ts_ns or 0,
                devices.setdefault(hold.device, len(devices)),
                claims.setdefault(hold.uid, life).number,
                hows.setdefault(hold.how, len(hows)),
                *(number, number + 1),
            )
        )
        users.append(tuple(sorted(hold.pods)))
    return hold_columns.HoldColumns(
        np.array(rows, hold_columns.COLUMNS),
        list(claims.values()),
        devices,
        hows,
        hold_columns.Users(users, np.arange(len(users), dtype=np.int32)),
    )
