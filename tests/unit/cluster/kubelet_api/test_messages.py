"""Messages of the kubelet's protocol: names and numbers, bytes, and our words for them."""

import filecmp
import json
import pathlib
from typing import Any

import hypothesis
import pytest
from google.protobuf import json_format
from hypothesis import strategies

from harness.cluster.kubelet_api import messages, preparations, services
from tools import compile_protos

V1, V1BETA1 = services.DRA.values()
GENERATED = compile_protos.API / "generated"


def test_the_committed_modules_are_what_protoc_makes(tmp_path: pathlib.Path) -> None:
    compile_protos.compile_into(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in GENERATED.glob("*_pb2.py*"))
    assert filecmp.cmpfiles(tmp_path, GENERATED, names, shallow=False) == (names, [], [])


def test_only_v1_has_shares() -> None:
    device = preparations.PreparedDevice(pool="p", device="d", share_id="s")
    for service in (V1, V1BETA1):
        answer = messages.prepare_answer(service, {"u-1": (device,)})
        assert answer.claims["u-1"].devices[0].HasField("share_id") is (service is V1)


TEXTS = strategies.text(max_size=20)
DEVICES = strategies.builds(
    preparations.PreparedDevice,
    request_names=strategies.lists(TEXTS, max_size=3).map(tuple),
    pool=TEXTS,
    device=TEXTS,
    cdi_device_ids=strategies.lists(TEXTS, max_size=3).map(tuple),
    share_id=strategies.none() | TEXTS,
)
RESULTS = strategies.dictionaries(
    TEXTS, strategies.lists(DEVICES, max_size=3).map(tuple) | TEXTS, max_size=4
)


def spoken(result: Any) -> Any:
    if isinstance(result, str):
        return preparations.PreparationError("Broken", result)
    return result


def comparable(results: Any) -> Any:
    return {
        uid: str(result) if isinstance(result, preparations.PreparationError) else result
        for uid, result in results.items()
    }


@hypothesis.given(RESULTS)
def test_answers_survive_bytes_and_json(results: dict[str, Any]) -> None:
    said = {uid: spoken(result) for uid, result in results.items()}
    answer = messages.prepare_answer(V1, said)
    expected = comparable(said) | {u: "Broken" for u, result in results.items() if result == ""}
    decoded = V1.prepare.answer.FromString(answer.SerializeToString())
    assert comparable(messages.prepared(decoded)) == expected
    text = json.loads(json_format.MessageToJson(answer))  # protobuf's own other form
    assert comparable(messages.prepared(json_format.ParseDict(text, V1.prepare.answer()))) == (
        expected
    )


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("DeviceHeld: it is\nin use: yes", "DeviceHeld", "it is\nin use: yes"),
        ("no such device", "DriverError", "no such device"),
        ("gpu: gone", "DriverError", "gpu: gone"),
        ("A b: c", "DriverError", "A b: c"),
    ],
)
def test_an_error_that_begins_with_a_reason_has_it(text: str, reason: str, words: str) -> None:
    answer: Any = V1.unprepare.answer()
    answer.claims["u"].error = text
    error = messages.unprepared(answer)["u"]
    assert error is not None
    assert (error.reason, str(error)) == (reason, words)
    assert messages.unprepare_answer(V1, {"u": error}) == answer
