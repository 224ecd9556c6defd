"""A run as numbered sentences."""

from collections.abc import Sequence

from harness.explore.search import explored_run
from harness.report.causes import step_sentences


def tell(
    moments: Sequence[explored_run.StoryStep], names: step_sentences.Names, finding: str
) -> list[str]:
    """Return one sentence for each step that has a phrase, and the finding as the last one."""
    sentences = [
        step_sentences.sentence(moment.task, moment.name, moment.fields, names)
        for moment in moments
        if has_sentence(moment)
    ]
    return [*sentences, f"therefore {finding}"]


def has_sentence(moment: explored_run.StoryStep) -> bool:
    """Return whether the story has a sentence for the step."""
    return step_sentences.has_sentence(moment.name, moment.fields)
