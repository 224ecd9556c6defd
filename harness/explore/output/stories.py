"""The story of a run in sentences."""

from collections.abc import Sequence

from harness.explore.search import explored_run
from harness.report.causes import step_sentences


def step_lines(
    steps: Sequence[explored_run.RunStep], names: step_sentences.Names, finding: str
) -> list[str]:
    """Return one sentence for each step that has a phrase, and the finding as the last one."""
    sentences = [
        step_sentences.sentence(step.task, step.name, step.fields, names)
        for step in steps
        if step_sentences.has_sentence(step.name, step.fields)
    ]
    return [*sentences, f"therefore {finding}"]
