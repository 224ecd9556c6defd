"""Cases against a server, many at a time: most of a case's time is waiting for a watch to stay
silent.
"""

import concurrent.futures
import dataclasses
import http.client
import json
import lzma
import pathlib
from collections.abc import Iterable, Iterator

from tests.corpus import comparing, conversing, wires

CORPUS = pathlib.Path(__file__).with_name("corpus.jsonl.xz")
KUBERNETES = "1.36"
THREADS = 16
ERRORS = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    http.client.HTTPException,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """How a case went."""

    case: conversing.Case
    differences: list[comparing.Difference]


def cases() -> Iterator[conversing.Case]:
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            if KUBERNETES in case.get("versions", [KUBERNETES]):
                yield case


def replay(wire: wires.Wire, chosen: Iterable[conversing.Case]) -> Iterator[Result]:
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        yield from pool.map(lambda case: Result(case, _judge(wire, case)), chosen)


def _judge(wire: wires.Wire, case: conversing.Case) -> list[comparing.Difference]:
    try:
        answers = conversing.converse(wire, case)
    except ERRORS as error:
        return [comparing.Difference("(case)", "an answer to every step", repr(error))]
    return comparing.judge(case["steps"], answers)
