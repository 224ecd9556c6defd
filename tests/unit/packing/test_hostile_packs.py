"""A pack that was changed anywhere is UNKNOWN, and a hostile one gets nowhere."""

import json
import pathlib
import random
import stat
import zipfile
from collections.abc import Callable, Iterator

import pytest

from harness import errors
from harness.packing import packs
from tests.unit.packing import packed

CHANGES = 250


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("packs")
    return packed.file(folder, packed.run(folder))


def refusal(path: pathlib.Path) -> errors.HarnessError:
    with pytest.raises(errors.HarnessError) as raised, packs.unpacked(path):
        pass
    return raised.value


def places(content: bytes) -> Iterator[int]:
    yield from range(0, 60, 3)
    yield from range(len(content) - 60, len(content), 3)
    chosen = random.Random(7)
    yield from (chosen.randrange(len(content)) for _ in range(CHANGES))


def unpacked_files(path: pathlib.Path) -> dict[str, bytes]:
    with packs.unpacked(path) as found:
        return {
            str(file.relative_to(found.folder)): file.read_bytes()
            for file in found.folder.glob("**/*")
            if file.is_file()
        }


def test_a_changed_byte_changes_nothing_that_is_judged(
    pack: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """It is noticed, unless it is one of a header that says nothing about the files."""
    content, whole = pack.read_bytes(), unpacked_files(pack)
    changed, refused = tmp_path / "changed.zip", 0
    for place in places(content):
        one = bytearray(content)
        one[place] ^= 1 << (place % 8)
        changed.write_bytes(one)
        try:
            found = unpacked_files(changed)
        except (errors.UsageError, packs.PackError):
            refused += 1
        else:
            assert found == whole, place
    assert refused > CHANGES / 2


@pytest.mark.parametrize(
    "change",
    [lambda content: content[:-1], lambda content: content[: len(content) // 2]],
)
def test_a_pack_that_is_not_whole_is_unknown(
    pack: pathlib.Path, tmp_path: pathlib.Path, change: Callable[[bytes], bytes]
) -> None:
    changed = tmp_path / "changed.zip"
    changed.write_bytes(change(pack.read_bytes()))
    error = refusal(changed)
    assert (type(error), type(error).exit_code) == (packs.PackError, 20)
    assert str(error).startswith(f"UNKNOWN: nothing in {changed} was judged: ")


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


def listing(**changes: object) -> Callable[[zipfile.ZipInfo, bytes], bytes]:
    def change(entry: zipfile.ZipInfo, data: bytes) -> bytes:
        document = json.loads(data)
        for key, value in changes.items():
            document[key] = value(document[key]) if callable(value) else value
        return json.dumps(document).encode()

    return change


HOSTILE = [
    ("pack.json", lambda entry, data: data[:-9], "truncated"),
    ("pack.json", lambda entry, data: b"[]", "Expected `object`"),
    ("pack.json", listing(runs=[]), "it has no run"),
    ("pack.json", listing(campaigns=["../campaigns"]), "it has no folder '../campaigns'"),
    ("pack.json", listing(campaigns=["/etc"]), "it has no folder '/etc'"),
    (
        "pack.json",
        listing(runs=lambda runs: [runs[0] | {"path": "pods/other"}]),
        "it has no folder 'pods/other'",
    ),
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
    assert isinstance(error, packs.PackError)
    assert why in str(error)


@pytest.mark.parametrize("name", ["../out.html", "/out.html", "C:/out.html", "a/../../out.html"])
def test_no_file_is_written_outside(pack: pathlib.Path, name: str) -> None:
    def inside(path: pathlib.Path) -> set[str]:
        with packs.unpacked(path) as found:
            folder = found.folder.parent
            outside = [place / "out.html" for place in (folder.parent, pathlib.Path("/"))]
            assert not any(map(pathlib.Path.exists, outside))
            return {file.name for file in folder.glob("**/*")}

    assert "out.html" in inside(altered(pack, "report.html", renamed(name)))


def test_a_link_is_written_as_a_file(pack: pathlib.Path) -> None:
    def linked(entry: zipfile.ZipInfo, data: bytes) -> bytes:
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        return b"/etc/passwd"

    with packs.unpacked(altered(pack, "report.html", linked)) as found:
        [report] = found.folder.glob("**/report.html")
        assert (report.is_symlink(), report.read_bytes()) == (False, b"/etc/passwd")


def test_more_than_any_pack_has(pack: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "UNPACKED_MAX", 1000)
    assert "expected at most" in str(refusal(pack))


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
    assert "has 0 files pack.json" in str(refusal(other))
    newer = refusal(altered(pack, "pack.json", listing(schema=3)))
    assert (type(newer).exit_code, "has a later one: read it with" in str(newer)) == (2, True)
