"""A log that another program passed on says what the log itself says, or that it cannot tell."""

import functools
import lzma
import pathlib
import tempfile

import pytest

from harness.log_analysis import analyses, analysis_results
from harness.model.answers import Verdict
from tests.support import log_forms, log_lines
from tests.support.log_lines import Story

OTHER = "gpu.example/worker-0/device-1"


def bound(story: Story, name: str, device: str) -> Story:
    story.attempt(name).reserve(name, device).assume(name).observe(name, device)
    story.add("reserved", pod=f"default/pod-{name}", resourceclaim=f"default/{name}")
    return story.remove(name).bind(name).bound(name)


def double(*, is_double: bool) -> Story:
    """Two claims are planned side by side, between two that are harmless."""
    story = bound(Story(), "x", "gpu.example/worker-0/device-7")
    second = log_lines.DEVICE if is_double else OTHER
    story.attempt("a").reserve("a").attempt("b").reserve("b", second).assume("a").assume("b")
    for name, device in (("a", log_lines.DEVICE), ("b", second)):
        story.observe(name, device).add(
            "reserved", pod=f"default/pod-{name}", resourceclaim=f"default/{name}"
        )
        story.remove(name)
    story.bind("a").bound("a").bind("b").bound("b").free("a").free("b", second)
    return bound(story, "y", "gpu.example/worker-0/device-8")


def in_klog(story: Story, *, verbosity: int) -> str:
    lines = [line for line in story.lines if verbosity > 5 or "Observed" not in line.message]
    return log_lines.text(lines).replace("file.go:1]", "dynamicresources.go:1150]")


@functools.cache
def plain(name: str) -> str:
    match name:
        case "recorded at 5":
            return lzma.decompress(
                (log_lines.FOLDER / "flake-hunt-v5.log.xz").read_bytes()
            ).decode()
        case "1.34.2 at 6":
            lines = lzma.decompress(log_lines.RECORDED.read_bytes()).decode().splitlines(True)
            return "".join(lines[:4_000])
        case _:
            verdict, _, verbosity = name.rpartition(" at ")
            return in_klog(double(is_double=verdict == "invalid"), verbosity=int(verbosity))


LOGS = {
    "recorded at 5": Verdict.INVALID,
    "1.34.2 at 6": Verdict.INVALID,
    "invalid at 5": Verdict.INVALID,
    "invalid at 6": Verdict.INVALID,
    "valid at 5": Verdict.VALID,
    "valid at 6": Verdict.VALID,
}


def analysed(content: bytes) -> analysis_results.Analysis:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "scheduler.log")
        path.write_bytes(content)
        return analyses.analyse([str(path)])


def found(analysis: analysis_results.Analysis) -> list[tuple[object, ...]]:
    """The double allocations with their causes, and where their first plans stand."""
    return [
        (
            item.found.device,
            item.found.first.claim,
            item.found.second.claim,
            item.cause.signature,
            item.cause.is_certain,
            item.found.first.pod,
            item.found.second.is_listing_known,
        )
        for item in analysis.findings
    ]


@functools.cache
def of_plain(name: str) -> analysis_results.Analysis:
    return analysed(plain(name).encode())


@pytest.mark.parametrize("form", log_forms.ALL)
def test_a_form_that_loses_nothing_says_what_the_log_says(form: str) -> None:
    for name in LOGS:
        analysis, expected = analysed(log_forms.ALL[form](plain(name))), of_plain(name)
        assert (analysis.verdict, analysis.reasons) == (expected.verdict, expected.reasons)
        assert found(analysis) == found(expected)
        assert analysis.counts == expected.counts
        assert not any(analysis.gaps.values())


@pytest.mark.parametrize("form", log_forms.LOSSY)
def test_a_form_that_loses_lines_never_hides_a_double_allocation(form: str) -> None:
    for name, verdict in LOGS.items():
        analysis = analysed(log_forms.LOSSY[form](plain(name)))
        assert analysis.verdict in (verdict, Verdict.UNKNOWN), name
        assert analysis.verdict is not Verdict.UNKNOWN or analysis.reasons


def test_lines_that_journald_did_not_keep_make_it_unknown() -> None:
    lost = "systemd-journald[1]: Suppressed 1234 messages from kube-scheduler.service\n"
    analysis = analysed((plain("valid at 5") + lost).encode())
    assert analysis.verdict is Verdict.UNKNOWN
    assert "1,234 lines were suppressed by journald" in analysis.reasons[0]


def test_line_numbers_are_those_of_the_file() -> None:
    name = "recorded at 5"
    plans = [item.found.first.reserved for item in of_plain(name).findings]
    for form in ("kubectl --prefix", "crlf", "docker json-file"):
        (item,) = analysed(log_forms.ALL[form](plain(name))).findings
        assert plans[0] is not None
        assert item.found.first.reserved is not None
        assert item.found.first.reserved.number == plans[0].number
