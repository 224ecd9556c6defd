"""Plays scripts, as often as asked, until there is an answer."""

import collections
import dataclasses
from collections.abc import Callable, Sequence

from harness import rates
from harness.confirmation import answers
from harness.scenario import loading, script_specs

SHORTER_MAX = 3
"""Most steps that are left out, one after the other, if a script is not followed."""
_OF_USERS = (script_specs.Create, script_specs.Delete, script_specs.Patch)
Play = Callable[[loading.Loaded], answers.Played]
"""Plays a script once and judges it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The answers about one finding."""

    played: Sequence[answers.Played]
    left_out: Sequence[str] = ()
    """The steps without which the last play was made, as text."""

    @property
    def rate(self) -> rates.Rate:
        count = sum(item.answer is answers.Answer.CONFIRMED for item in self.played)
        return rates.Rate(count, len(self.played))

    @property
    def answer(self) -> answers.Answer:
        """The answer of all plays together.

        One that confirms is enough; refuted are scripts that were followed every time. A script
        without some of its steps refutes nothing.
        """
        counts = collections.Counter(item.answer for item in self.played)
        for answer in (answers.Answer.CONFIRMED, answers.Answer.OTHER):
            if counts[answer]:
                return answer
        if set(counts) == {answers.Answer.REFUTED}:
            return answers.Answer.REFUTED
        is_unfollowed = bool(counts[answers.Answer.NOT_FOLLOWED])
        return answers.Answer.NOT_FOLLOWED if is_unfollowed else answers.Answer.UNKNOWN


def confirm(
    scripts: Sequence[loading.Loaded],
    play: Play,
    *,
    repeat: int,
    shortens: bool,
    tell: Callable[[answers.Played], None],
) -> Confirmation:
    """Play each script as often as asked; `tell` gets each play when it has ended.

    `shortens`: if a single play of a script is not followed, its late step is left out, a few times
    at most.
    """
    played: list[answers.Played] = []
    left_out: list[str] = []
    for script in scripts:
        for _ in range(repeat):
            played.append(play(script))
            tell(played[-1])
        if shortens and repeat == 1:
            shorter, texts = _shorter(script, played[-1], play, tell)
            played += shorter
            left_out += texts
    return Confirmation(played=played, left_out=left_out)


def _shorter(
    script: loading.Loaded,
    last: answers.Played,
    play: Play,
    tell: Callable[[answers.Played], None],
) -> tuple[list[answers.Played], list[str]]:
    """Play the script without the step that was late, and so on; return the plays and the steps."""
    played: list[answers.Played] = []
    texts: list[str] = []
    while last.answer is answers.Answer.NOT_FOLLOWED and len(texts) < SHORTER_MAX:
        shorter = without(script, last.late_step) if last.late_step else None
        if shorter is None or last.late_step is None:
            break
        texts.append(answers.script_of(script).steps[last.late_step - 1].text)
        script, last = shorter, play(shorter)
        played.append(last)
        tell(last)
    return played, texts


def without(loaded: loading.Loaded, number: int) -> loading.Loaded | None:
    """Return the scenario without the step of this number, and without those that refer to it.

    None: the step is a user's, or nothing of the order would be left.
    """
    script = answers.script_of(loaded)
    gone = script.steps[number - 1]
    names = {gone.name} if gone.name else set()
    kept = [
        step
        for step in script.steps
        if step is not gone
        and not names & {getattr(step, key, None) for key in ("since", "request", "hold")}
    ]
    if isinstance(gone, _OF_USERS) or all(isinstance(step, _OF_USERS) for step in kept):
        return None
    shorter = script.model_copy(update={"steps": kept})
    scenario = loaded.scenario.model_copy(update={"traffic": shorter})
    return dataclasses.replace(loaded, scenario=scenario)
