"""Turns of the loop: what a turn has decided is shown to nobody before all of it is settled (written to the log).

Every commit of a turn is settled at once, then come the answers and the events. The answer to a write and the events
it causes are two separate things: which a client sees first is not promised, exactly as in Kubernetes, and here a coin decides in
each turn, so that both orders happen often (one of the upstream races needs the event first). Events that come after the answers wait
for the end of the next turn, once: under load that halves what sending them costs, and otherwise the next turn is now.
"""

import asyncio
from collections.abc import Callable

Show = Callable[[], None]


class GroupCommit:
    """The turn that is under way."""

    def __init__(self, settle: Callable[[], bool], events_first: Callable[[], bool]) -> None:
        """`settle` says whether what was decided may be shown, `events_first` is the coin."""
        self._settle, self._events_first = settle, events_first
        self._answers: list[Show] = []
        self._events: list[Show] = []
        self._has_waited = False
        """Whether some of the events are those of the turn before."""
        self._is_ending = False
        self.is_settled = False
        """Whether what was decided is being shown just now."""
        self._loop = asyncio.get_running_loop()

    def show_answer(self, show: Show) -> None:
        """Call this when the turn is settled."""
        self._answers.append(show)
        self.end_soon()

    def show_events(self, show: Show) -> None:
        """Call this when the turn is settled, before or after the answers."""
        self._events.append(show)
        self.end_soon()

    def end_soon(self) -> None:
        """Settle when everything that is ready to be read was read, even if there is nothing to show."""
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
        if self._events and self._events_first():
            self._show_events()
            _call(answers)
            return
        _call(answers)
        if self._has_waited or not answers:
            self._show_events()
        elif self._events:
            self._has_waited = self._is_ending = True
            self._loop.call_soon(self._loop.call_soon, self._end)  # after what is read meanwhile

    def _show_events(self) -> None:
        events, self._events, self._has_waited = self._events, [], False
        _call(events)


def _call(shows: list[Show]) -> None:
    for show in shows:
        show()
