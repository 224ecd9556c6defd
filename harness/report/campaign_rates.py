"""How often the tested subjects were INVALID in each campaign: a part of the index's page."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from harness import rates
from harness.history import campaign_folders
from harness.history.purposes import Purpose
from harness.rates import Rate
from harness.report import page_templates

PLOTTED_MAX = 6
"""Most subjects in the plot; each has a line of its own colour and pattern."""
CAMPAIGNS_MAX = 60
"""Most campaigns in the plot, the newest; more could not be told apart on a phone."""
HEIGHT, _TOP, _BOTTOM = 160, 20, 140
"""Pixels of the picture; where the greatest rate and the rate of 0 are in it."""
_ASIDE = 0.3
"""Percent between two subjects in the same campaign, so that both are seen."""
_SUBJECT = ["subject", "cluster"]


def section(campaigns: Iterable[tuple[str, campaign_folders.CampaignFolder]]) -> str:
    """Return the rates over campaigns, each given with the time of its start, as markup.

    Empty if no run is VALID or INVALID. A campaign whose runs were chosen because they had failed
    says nothing about rates, and is left out.
    """
    counted = [
        (started, row.subject, campaign.cluster, row.invalid, row.conclusive)
        for started, campaign in campaigns
        for row in (() if campaign.failed_in else campaign.rows)
        if row.purpose is Purpose.SUBJECT and row.conclusive
    ]
    rows = pd.DataFrame(counted, columns=["started", *_SUBJECT, "invalid", "runs"])
    if rows.empty:
        return ""
    sums = rows.groupby(["started", *_SUBJECT], as_index=False).sum()
    times = sorted(sums["started"].unique())[-CAMPAIGNS_MAX:]
    top = max(rate.interval[1] for rate in _rates(sums[sums["started"].isin(times)]))
    return (
        page_templates.templates()
        .get_template("campaign_rates.html.j2")
        .render(
            lines=_lines(sums, times, top),
            times=[time[:16].replace("T", " ") for time in times],
            top=rates.upper(100 * top),
            height=HEIGHT,
            floor=_BOTTOM,
            span=rates.span,
            pairwise=itertools.pairwise,
        )
    )


def _rates(rows: pd.DataFrame) -> list[Rate]:
    return [Rate(*pair) for pair in zip(rows["invalid"], rows["runs"], strict=True)]


def _lines(sums: pd.DataFrame, times: Sequence[str], top: float) -> list[dict[str, Any]]:
    subjects = [part for _, part in sums.groupby(_SUBJECT)]
    subjects.sort(key=lambda part: str(part["started"].max()), reverse=True)
    return [
        _line(part, number, times if number < PLOTTED_MAX else [], top)
        for number, part in enumerate(subjects)
    ]


def _line(rows: pd.DataFrame, number: int, times: Sequence[str], top: float) -> dict[str, Any]:
    """Return one subject on one cluster, with a point for each campaign that is plotted."""
    found = _rates(rows)
    subject, cluster = rows[_SUBJECT].iloc[0]
    aside = _ASIDE * number
    return {
        "subject": subject,
        "cluster": cluster,
        "campaigns": len(rows),
        "newest": found[-1],
        "all": Rate(int(rows["invalid"].sum()), int(rows["runs"].sum())),
        "points": [
            _point(
                100 * (times.index(time) + 0.3) / len(times) + aside, f"{time}: {rate}", rate, top
            )
            for time, rate in zip(rows["started"], found, strict=True)
            if time in times
        ],
    }


def _point(x: float, title: str, rate: Rate, top: float) -> dict[str, Any]:
    """Return percent from the left, and pixels from the top."""
    shares = {"low": rate.interval[0], "y": rate.share, "high": rate.interval[1]}
    pixels = {key: _BOTTOM - (_BOTTOM - _TOP) * share / top for key, share in shares.items()}
    return {"x": x, "title": title, **pixels}
