"""The logs that kube-scheduler wrote when it gave devices to two claims."""

import gzip
import io
import itertools
import lzma
import pathlib
from collections.abc import Callable

import pytest

from harness.compression import zstd
from harness.log_analysis import analyses, analysis_results
from harness.log_analysis.signatures import Signature
from harness.model.answers import Verdict
from tests.support import log_lines

NAMESPACE = "hunt-1795221190"
Pair = tuple[str, str, str]


@pytest.fixture(scope="module")
def recorded() -> bytes:
    return lzma.decompress(log_lines.RECORDED.read_bytes())


def pairs(analysis: analysis_results.Analysis) -> list[Pair]:
    return [
        (
            finding.found.device.rpartition("/")[2],
            finding.found.first.claim.rpartition("/")[2],
            finding.found.second.claim.rpartition("/")[2],
        )
        for finding in analysis.findings
    ]


FOUR = [
    ("worker-3-device-000", "claim-0001", "claim-0005"),
    ("worker-4-device-008", "claim-0077", "claim-0079"),
    ("worker-1-device-034", "claim-0279", "claim-0318"),
    ("worker-2-device-039", "claim-0322", "claim-0394"),
]


def test_the_four_double_allocations_are_found() -> None:
    analysis = analyses.analyse([str(log_lines.RECORDED)])
    assert analysis.verdict is Verdict.INVALID
    assert pairs(analysis) == FOUR
    assert (analysis.undecided_count, analysis.allocations, analysis.plans) == (0, 800, 800)
    causes = [finding.cause for finding in analysis.findings]
    assert [(cause.signature, cause.is_certain) for cause in causes] == [
        (Signature.EARLY_RETURN, True),
        (Signature.GATHER, False),
        (Signature.GATHER, False),
        (Signature.EARLY_RETURN, False),
    ]
    windows = [cause.window for cause in causes if cause.window is not None]
    assert [(window.begin.number, window.end.number, window.us) for window in windows] == [
        (435, 654, 13508),
        (14579, 14865, 7015),
        (57725, 57921, 11333),
        (77510, 77584, 9946),
    ]
    assert [window.bound for window in windows] == ["at least", "at most", "at most", "at most"]


def test_the_gather_race_of_the_tests_of_kubernetes_is_named() -> None:
    analysis = analyses.analyse([str(log_lines.KTESTING)])
    assert analysis.verdict is Verdict.UNKNOWN
    (stale,) = analysis.stale
    assert stale.device.endswith("/worker-5-device-094")
    assert stale.missed.claim.endswith("/claim-0553")
    assert not stale.is_certain
    assert [line.device.rpartition("-")[2] for line in stale.in_flight] == ["095", "096"]


PACKS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstd.compress,
}
ALL = PACKS | {
    "plain": bytes,
    "parts": lambda data: gzip.compress(data[:100], 1) + gzip.compress(data[100:], 1),
}


@pytest.mark.parametrize("form", ALL)
def test_compression_makes_no_difference(
    recorded: bytes, tmp_path: pathlib.Path, form: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(ALL[form](recorded))
    assert pairs(analyses.analyse([str(path)])) == FOUR


@pytest.mark.parametrize("form", PACKS)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_compressed_data_that_is_cut_in_the_middle_is_read_up_to_there(
    recorded: bytes, tmp_path: pathlib.Path, form: str, part: float
) -> None:
    packed = PACKS[form](recorded[: 2**20])
    path = tmp_path / "log"
    path.write_bytes(packed[: int(len(packed) * part)])
    analysis = analyses.analyse([str(path)])
    assert set(pairs(analysis)) <= set(FOUR)
    assert analysis.files[0].damage
    assert analysis.verdict.exit_code == (10 if pairs(analysis) else 20)


def test_standard_input(recorded: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(recorded * 2)))
    analysis = analyses.analyse(["-"])
    assert pairs(analysis) == FOUR


def test_rotated_parts_are_one_log(recorded: bytes, tmp_path: pathlib.Path) -> None:
    lines = recorded.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if line[:1] in b"IWEF"]
    cuts = [0, *(next(one for one in begins if one > cut) for cut in (15_000, 60_000)), None]
    names = []
    for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
        path = tmp_path / f"kube-scheduler.log.{3 - number}"
        path.write_bytes(b"".join(lines[begin:end]))
        names.append(str(path))
    analysis = analyses.analyse(sorted(names))
    assert sorted(pairs(analysis)) == sorted(FOUR)
    assert analysis.allocations == 800
