"""A redacted pack has no name of the cluster in any byte, and is judged as the run is."""

import gzip
import io
import itertools
import pathlib
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from harness import errors
from harness.checks import judging
from harness.compression import zstd
from harness.history import directories, journal_reader, manifests, plans
from harness.packing import making, packs
from harness.report import publishing
from harness.report.redaction import names, texts
from tests.histories import building, recording
from tests.support import archives, cases, real_runs
from tests.unit.packing import packed

RECORDED = pathlib.Path(__file__).parents[2] / "histories" / "recorded"
NAMED = re.compile(rb'"(?:name|namespace|nodeName|pool|device|username|host|node)":"([^"\\]+)"')
PUBLIC = set(cases.read(__file__, "public"))


def unpacked_bytes(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Every file of a zip with its name, decompressed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith(".zst"):
                data = zstd.decompress(data)
            elif name.endswith(".gz"):
                data = gzip.decompress(data)
            yield name, data


def occurrences(content: bytes, wanted: Iterable[str]) -> set[tuple[str, str]]:
    """File and name, for each name that stands somewhere as a word, or as some of its parts."""
    word = re.compile(rb"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*")
    originals = {name.encode() for name in wanted}
    found = set()
    for file, data in unpacked_bytes(content):
        for token in {*word.findall(data), *word.findall(file.encode())}:
            parts = re.split(rb"(?<=[._-])|(?=[._-])", token)
            spans = {
                b"".join(parts[begin:end])
                for begin in range(len(parts))
                for end in range(begin + 1, len(parts) + 1)
            }
            found |= {(file.rpartition("/")[2], name.decode()) for name in spans & originals}
    return found


def recorded(folder: pathlib.Path, name: str) -> directories.RunDirectory:
    archives.unpack(RECORDED / f"{name}.tar.xz", folder)
    (plan,) = folder.glob("**/plan.json")
    made = directories.RunDirectory(plan.parent)
    manifests.write(made, run_id=plans.read(made.plan).run_id)
    return published(made)


def real_run(folder: pathlib.Path, name: str) -> directories.RunDirectory:
    made = real_runs.unpack(name, folder)
    manifests.write(made, run_id=plans.read(made.plan).run_id)
    return published(made)


def published(made: directories.RunDirectory) -> directories.RunDirectory:
    publishing.publish(judging.examine(made))
    return made


def originals(made: directories.RunDirectory) -> set[str]:
    """Names in the record, found in another way than redaction does."""
    found: set[str] = set()
    for path in [made.observations, *made.all_operations()]:
        with journal_reader.opened(path) as file:
            found |= {name.decode() for name in NAMED.findall(file.read())}
    parts = {part for name in found for part in name.split("/")}
    return {
        name
        for name in parts - PUBLIC
        if re.search(r"[a-z]", name) and not name.startswith("system:") and "." not in name
    }


def judged(content: bytes, folder: pathlib.Path) -> tuple[str, dict[str, int]]:
    pack = folder / "judged.zip"
    pack.write_bytes(content)
    with packs.unpacked(pack) as found:
        judgement = judging.judge(directories.RunDirectory(found.runs[0]))
        assert found.index.redacted
    return str(judgement.verdict), {item.check: item.violation_count for item in judgement.checks}


RUNS = [
    (recorded, "INVALID-pod-churn"),
    (recorded, "VALID-pod-churn"),
    (recorded, "INVALID-faulty"),
    (real_run, "embedded-answer-lost-1.36.3"),
    (real_run, "local-answer-lost-1.36.2"),
    (real_run, "local-h19-late-binding-extended"),
    (real_run, "local-141274-claims-for-finished-pods"),
]


@pytest.mark.parametrize(("unpacked", "name"), RUNS)
def test_no_name_of_a_recorded_run_is_left(
    tmp_path: pathlib.Path,
    unpacked: Callable[[pathlib.Path, str], directories.RunDirectory],
    name: str,
) -> None:
    made = unpacked(tmp_path / "run", name)
    wanted = originals(made)
    assert len(wanted) > 5
    pack = making.make([made.path], limit=packed.LIMIT, is_redacted=True)
    assert pack.name.endswith("-redacted")
    assert occurrences(pack.content, wanted) == set()
    judgement = judging.judge(made)
    expected = {item.check: item.violation_count for item in judgement.checks}
    assert judged(pack.content, tmp_path) == (str(judgement.verdict), expected)


def hidden(
    folder: pathlib.Path, called: Mapping[str, str], **options: Any
) -> dict[str, list[bytes]]:
    """The lines of a redacted run with these names, but for what differs with the time."""
    made = building.build(
        folder / "s" / "one", "a+D1 b+D1 a^p p* b^q q*", names=called, sealed=True, audited=True
    )
    pack = making.make([published(made).path], limit=packed.LIMIT, is_redacted=True)
    changing = re.compile(
        rb'"record":"trailer"|"started_wall_ns":\d+|"pid":\d+|"?created_wall_ns"?|sha256:\w+|"bytes":'
    )
    return {
        name: [line for line in data.splitlines() if not changing.search(line)]
        for name, data in unpacked_bytes(pack.content)
    }


def test_words_of_the_api_and_parts_of_each_other_may_be_names(tmp_path: pathlib.Path) -> None:
    plain = {"a": "alpha", "b": "beta", "D1": "card", "p": "first", "q": "second"}
    words = {"a": "pods", "b": "resourceclaims", "D1": "node", "p": "pods-1", "q": "status"}
    inside = {"a": "x1", "b": "x1-x1", "D1": "x1-x1-x1", "p": "x", "q": "x-x1"}
    found = [
        hidden(tmp_path / name, called)
        for name, called in (("plain", plain), ("words", words), ("inside", inside))
    ]
    assert found[0] == found[1] == found[2]


def test_names_in_variables_and_beside_uids() -> None:
    found = names.Names()
    for name in ("my-claim", "claim", "beef"):
        found.add("claim", name)
    found.keep("uid-beef")
    found.number()
    assert found.variable("claim_my_claim_device") == "claim2_claim1_device"
    uid = "0b1e7f34-beef-4d5f-9fcc-6d8a2cb1a47c"
    assert found.within(f"beef {uid} uid-beef beef-1") == f"claim3 {uid} uid-beef claim3-1"


def test_images_users_hosts_paths_addresses_and_parameters(tmp_path: pathlib.Path) -> None:
    secrets, pod, claim, log = cases.read(__file__, "secrets")
    made = building.build(
        tmp_path / "s" / "one",
        "",
        observations=recording.record([recording.pod(pod), recording.claim(claim)]),
        changes={"again": ["run", "s", "--subject", "command=/opt/acme/scheduler"]},
    )
    made.log("scheduler").write_text(log)
    manifests.write(made, run_id=building.RUN_ID)
    pack = making.make([published(made).path], limit=packed.LIMIT, is_redacted=True)
    for name, data in unpacked_bytes(pack.content):
        assert [text for text in secrets if text.encode() in data] == [], name
    hidden_log = next(data for name, data in unpacked_bytes(pack.content) if name.endswith(".log"))
    assert hidden_log.startswith(b"E1 pulling image1 on node1 (address-1) for user1, parameter1\n")


def test_a_run_that_would_be_judged_otherwise_is_not_packed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = published(building.build(tmp_path / "s" / "one", "a+D1 b+D1", sealed=True))
    number = itertools.count()
    monkeypatch.setattr(texts.Texts, "of", lambda self, text: f"x{next(number)}")
    with pytest.raises(errors.UsageError, match="to be judged as the run, INVALID with 1 viol"):
        making.make([made.path], limit=packed.LIMIT, is_redacted=True)
