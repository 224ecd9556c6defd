"""Group commit: the commits of one loop iteration are written together, before anything is sent.

Then responses and watch events are sent. As in Kubernetes, a client may see the response to a write
or its event first; here a coin decides in each iteration, so that both orders happen often (one of
the upstream races needs the event first). Events that come second wait once for the end of the next
iteration: under load this halves the cost of sending them, without load there is no delay.
"""

import asyncio
from collections.abc import Callable

Show = Callable[[], None]


class GroupCommit:
    """The responses and events of the current loop iteration."""

    def __init__(self, settle: Callable[[], bool], events_first: Callable[[], bool]) -> None:
        """`settle` writes the commits and returns whether it could; `events_first` is the coin."""
        self._settle, self._events_first = settle, events_first
        self._answers: list[Show] = []
        self._events: list[Show] = []
        self._has_waited = False
        """True if some of the events are from the iteration before."""
        self._is_ending = False
        """True if the end of the iteration is scheduled."""
        self.is_settled = False
        """True if all commits are written and responses and events are being sent."""
        self._loop = asyncio.get_running_loop()

    def show_answer(self, show: Show) -> None:
        """Call `show`, which sends responses, after the commits are written."""
        self._answers.append(show)
        self.end_soon()

    def show_events(self, show: Show) -> None:
        """Call `show`, which sends events, after the commits are written, in either order."""
        self._events.append(show)
        self.end_soon()

    def end_soon(self) -> None:
        """Write the commits after all requests of this iteration, even with nothing to send."""
        if not self._is_ending:
            self._is_ending = True
            self._loop.call_soon(self._end)

    def _end(self) -> None:
        self._is_ending = False
        if not self._settle():
            return
        self.is_settled = True
        try:
            self._show()
        finally:
            self.is_settled = False

    def _show(self) -> None:
        answers, self._answers = self._answers, []
        has_events_first = bool(self._events) and self._events_first()
        if has_events_first:
            self._show_events()
        for show in answers:
            show()
        if has_events_first:
            return
        if self._has_waited or not answers:
            self._show_events()
        elif self._events:
            self._has_waited = self._is_ending = True
            # Not before the end of the next iteration, after the requests that it reads.
            self._loop.call_soon(self._loop.call_soon, self._end)

    def _show_events(self) -> None:
        events, self._events, self._has_waited = self._events, [], False
        for show in events:
            show()
