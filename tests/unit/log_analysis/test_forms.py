"""A log that another program passed on says what the log itself says, or that it cannot tell."""

import functools
import itertools
import lzma
import pathlib
import random
import tempfile
from collections.abc import Callable, Sequence

import hypothesis
import pytest
from hypothesis import strategies

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
INVALID = [name for name, verdict in LOGS.items() if verdict is Verdict.INVALID]


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


@pytest.mark.parametrize(("name", "verdict"), LOGS.items())
def test_the_plain_logs_have_their_verdicts(name: str, verdict: Verdict) -> None:
    assert of_plain(name).verdict is verdict, of_plain(name).reasons


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


def test_the_number_of_plans_that_could_not_be_read_is_said() -> None:
    analysis = analysed(log_forms.LOSSY["grep klog"](plain("recorded at 5")))
    assert (analysis.verdict, analysis.plans) == (Verdict.UNKNOWN, 0)
    assert "17 planned allocations could not be read" in analysis.reasons[0]


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


PREFIXES = strategies.lists(
    strategies.sampled_from(
        [
            *("{n} ", "{n}: ", "{ns}Z ", "> ", "| ", "host ", "[pod/a-b/c] ", "(x) ", "-- ", "\t"),
            *("2026-11-26T06:14:{ns}Z ", "Nov  2 06:14:{s:02d} h p[7]: ", "stdout F ", "s.log:"),
        ]
    ),
    max_size=3,
).map("".join)
WRAPPERS = strategies.sampled_from(
    [
        *(lambda text: text, log_forms.ALL["docker json-file"], log_forms.ALL["go test -json"]),
        *(log_forms.ALL["journalctl -o json"], log_forms.ALL["crlf"], log_forms.LOSSY["utf-16"]),
        log_forms.LOSSY["logfmt"],
    ]
)
Drop = Callable[[Sequence[str]], list[str]]


def entries(lines: Sequence[str]) -> list[list[str]]:
    whole: list[list[str]] = []
    for line in lines:
        if line[:1] in "IWEF" or not whole:
            whole.append([])
        whole[-1].append(line)
    return whole


@strategies.composite
def drops(draw: strategies.DrawFn) -> Drop:
    """Lines are taken out: at random, by what they are, or by the file that wrote them."""
    kind = draw(strategies.sampled_from(["none", "lines", "continued", "word", "entries"]))
    seed, part = draw(strategies.integers(0, 2**32)), draw(strategies.floats(0, 0.3))
    words = [
        "Reserved",
        "Observed",
        "reserved",
        "Assumed",
        "bound pod",
        "resource claims",
        "{",
        ">",
    ]
    word = draw(strategies.sampled_from(words))

    def drop(lines: Sequence[str]) -> list[str]:
        stream = random.Random(seed)
        match kind:
            case "lines":
                return [line for line in lines if stream.random() >= part]
            case "continued":
                return [line for line in lines if line[0] in "IWEF" or stream.random() >= part]
            case "word":
                return [line for line in lines if word not in line]
            case "entries":
                kept = [entry for entry in entries(lines) if stream.random() >= part]
                return [*itertools.chain.from_iterable(kept)]
            case _:
                return list(lines)

    return drop


@pytest.mark.parametrize("name", ["recorded at 5", "1.34.2 at 6"])
@hypothesis.given(prefix=PREFIXES, wrapper=WRAPPERS, drop=drops())
@hypothesis.settings(max_examples=40, deadline=None)
def test_no_form_hides_a_double_allocation(
    name: str, prefix: str, wrapper: Callable[[str], bytes | str], drop: Drop
) -> None:
    lines = drop(plain(name).splitlines())
    text = log_forms.prefixed(prefix)("\n".join(lines)).decode()
    content = wrapper(text)
    analysis = analysed(content.encode() if isinstance(content, str) else content)
    assert analysis.verdict is not Verdict.VALID, (analysis.gaps, analysis.counts)
