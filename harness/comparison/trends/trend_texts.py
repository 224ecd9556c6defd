"""The newest night and its changes in Markdown, for the summary of a CI job."""

from collections.abc import Iterator

from harness.comparison.trends.trend_documents import Trend
from harness.report.escaping import in_markdown

CHANGES_MAX = 10
"""Changes that are listed; the page has all."""
NIGHTS_SHOWN = 14


def markdown(trend: Trend) -> str:
    """Return the summary; nothing in it is obeyed as Markdown."""
    return "\n".join(_lines(trend)) + "\n"


def _lines(trend: Trend) -> Iterator[str]:
    yield f"### {'▼ ' if trend.is_worse else ''}{in_markdown(trend.summary)}"
    yield ""
    if not trend.nights:
        return
    newest = trend.nights[-1].started
    found = [change for change in trend.changes if change.found == newest]
    for change in found[:CHANGES_MAX]:
        commit = f", commit {change.commit}" if change.commit else ""
        since = f" (since {change.started}{commit})"
        yield f"- {in_markdown(change.text + since)}"
    if len(found) > CHANGES_MAX:
        yield f"- and {len(found) - CHANGES_MAX} more"
    for text in trend.turned[:CHANGES_MAX]:
        yield f"- {in_markdown(text)}"
    if found or trend.turned:
        yield ""
    last = trend.nights[-NIGHTS_SHOWN:]
    yield f"The last {len(last)} nights, oldest first: " + " ".join(
        in_markdown(night.verdict) for night in last
    )
    yield ""
    yield (
        "Nights are compared, not their runs. A night without a change has a false alarm with a "
        f"probability of at most {trend.false_alarm * 100:g} %, if nights are independent and their "
        "medians are spread log-normally. A verdict that turns INVALID is told without a test."
    )
