"""A pack that was changed anywhere is UNKNOWN, and a hostile one gets nowhere."""

import json
import pathlib
import random
import stat
import zipfile
from collections.abc import Callable, Iterator

import pytest

from harness import errors
from harness.packing import opening, pack_index
from tests.unit.packing import packed

CHANGES = 250


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("packs")
    return packed.file(folder, packed.run(folder))


def refusal(path: pathlib.Path) -> errors.HarnessError:
    with pytest.raises(errors.HarnessError) as raised, opening.unpacked(path):
        pass
    return raised.value


def places(content: bytes) -> Iterator[int]:
    """Both edges, and random ones."""
    yield from range(0, 60, 3)
    yield from range(len(content) - 180, len(content), 3)
    chosen = random.Random(7)
    yield from (chosen.randrange(len(content)) for _ in range(CHANGES))


def test_any_changed_byte_is_noticed(pack: pathlib.Path, tmp_path: pathlib.Path) -> None:
    content = pack.read_bytes()
    changed = tmp_path / "changed.zip"
    for place in places(content):
        one = bytearray(content)
        one[place] ^= 1 << (place % 8)
        changed.write_bytes(one)
        error = refusal(changed)
        assert (type(error), type(error).exit_code) == (pack_index.PackError, 20), place
        assert str(error).startswith(f"UNKNOWN: nothing in {changed} was judged: "), place


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content[1:],
        lambda content: content + b"x",
        lambda content: b"x" + content,
    ],
)
def test_so_is_one_that_is_not_whole(
    pack: pathlib.Path, tmp_path: pathlib.Path, change: Callable[[bytes], bytes]
) -> None:
    changed = tmp_path / "changed.zip"
    changed.write_bytes(change(pack.read_bytes()))
    assert isinstance(refusal(changed), pack_index.PackError)


def altered(
    pack: pathlib.Path, ending: str, change: Callable[[zipfile.ZipInfo, bytes], bytes]
) -> pathlib.Path:
    """Another program's zip of the pack's files, one of them altered."""

    def write(new: zipfile.ZipFile, entry: zipfile.ZipInfo, data: bytes) -> None:
        new.writestr(entry, change(entry, data) if entry.filename.endswith(ending) else data)

    return packed.zipped_again(pack, write)


def renamed(name: str) -> Callable[[zipfile.ZipInfo, bytes], bytes]:
    def change(entry: zipfile.ZipInfo, data: bytes) -> bytes:
        entry.filename = name
        return data

    return change


def linked(entry: zipfile.ZipInfo, data: bytes) -> bytes:
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return b"/etc/passwd"


def squeezed(entry: zipfile.ZipInfo, data: bytes) -> bytes:
    entry.compress_type = zipfile.ZIP_LZMA
    return data


def listing(**changes: object) -> Callable[[zipfile.ZipInfo, bytes], bytes]:
    def change(entry: zipfile.ZipInfo, data: bytes) -> bytes:
        document = json.loads(data)
        for key, value in changes.items():
            document[key] = value(document[key]) if callable(value) else value
        return json.dumps(document).encode()

    return change


HOSTILE = [
    ("verdict.json", lambda entry, data: data.replace(b"INVALID", b"VALID"), "was changed"),
    ("plan.json", lambda entry, data: data + b" ", "was changed"),
    ("report.html", renamed("x/report.html"), "is missing"),
    ("report.html", renamed("../report.html"), "is missing"),
    ("report.html", renamed("/etc/report.html"), "is missing"),
    ("report.html", renamed("C:/report.html"), "is missing"),
    ("report.html", renamed("a\\..\\report.html"), "is missing"),
    ("report.html", linked, "was changed"),
    ("report.html", squeezed, "is missing"),
    ("pack.json", lambda entry, data: data[:-9], "pack.json is damaged"),
    ("pack.json", listing(files=lambda files: {"../x": files["README.txt"]}), "no path of a file"),
    (
        "pack.json",
        listing(files=lambda files: files | {"x": {"bytes": 2**40, "digest": ""}}),
        "expected at most 2048 MiB unpacked",
    ),
    ("README.txt", lambda entry, data: bytes(2**26), "was changed"),
    ("pack.json", listing(runs=[]), "it has no run"),
    ("pack.json", listing(runs=lambda runs: runs * 2), " twice"),
    ("pack.json", listing(campaigns=["campaigns/a"] * 2), "it lists 'campaigns/a' twice"),
    (
        "pack.json",
        listing(runs=lambda runs: [runs[0] | {"path": "pods/other"}]),
        "no file of the run",
    ),
    (
        "pack.json",
        listing(files=lambda files: files | {"README.txt/x": files["README.txt"]}),
        "is a file and a folder",
    ),
    (
        "pack.json",
        listing(files=lambda files: files | {"x" * 300: files["README.txt"]}),
        "is no path of a file",
    ),
    ("README.txt", renamed("x/pack.json"), "it has 2 files pack.json"),
]


@pytest.mark.parametrize(("ending", "change", "why"), HOSTILE)
def test_hostile_packs_are_refused(
    pack: pathlib.Path,
    tmp_path: pathlib.Path,
    ending: str,
    change: Callable[[zipfile.ZipInfo, bytes], bytes],
    why: str,
) -> None:
    error = refusal(altered(pack, ending, change))
    assert isinstance(error, pack_index.PackError)
    assert why in str(error)


def test_encrypted_files_and_wrong_checksums(pack: pathlib.Path) -> None:
    other = packed.zipped_again(pack, lambda new, entry, data: new.writestr(entry.filename, data))
    whole = other.read_bytes()
    header = whole.index(b"PK\x01\x02")
    encrypted = bytearray(whole)
    encrypted[header + 8] |= 1
    other.write_bytes(encrypted)
    assert "is encrypted" in str(refusal(other))
    checksum = bytearray(whole)
    checksum[header + 16] ^= 1
    other.write_bytes(checksum)
    assert "CRC" in str(refusal(other))


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_pack(tmp_path: pathlib.Path, content: bytes) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    assert type(refusal(path)).exit_code in (2, 20)


def test_another_zip_and_a_newer_schema(pack: pathlib.Path) -> None:
    other = altered(pack, "pack.json", renamed("other.json"))
    assert "has no pack.json" in str(refusal(other))
    newer = refusal(altered(pack, "pack.json", listing(schema=2)))
    assert (type(newer).exit_code, "has schema 2: read it with" in str(newer)) == (2, True)
