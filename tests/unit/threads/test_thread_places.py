"""Places at which threads stop, as text, and the patterns of functions' names in them."""

import pytest

from harness.model import thread_places

PACKAGE = "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"


def test_a_place_is_read_and_written() -> None:
    for text, place in [
        ("entry of (*T).Get", ("entry", "(*T).Get", "")),
        ("entry of (*T).Get called by main.run", ("entry", "(*T).Get", "main.run")),
        ("return of (*T).Get", ("return", "(*T).Get", "")),
        (
            "return of (*T).Get to (*U).All | (*U).Some",
            ("return", "(*T).Get", "(*U).All | (*U).Some"),
        ),
        ("entry of A | B called by C | D", ("entry", "A | B", "C | D")),
        ("  return of Map[...]  ", ("return", "Map[...]", "")),
        ("step gather.devices.*", ("step", "gather.devices.*", "")),
        ("entry of x.y/z.(*T).Close.func1", ("entry", "x.y/z.(*T).Close.func1", "")),
    ]:
        found = thread_places.parse(text)
        assert found == place
        assert str(found) == text.strip()
        assert thread_places.parse(str(found)) == found


def test_other_texts_are_refused_with_the_forms() -> None:
    for text in (
        "",
        "(*T).Get",
        "exit of (*T).Get",
        "entry (*T).Get",
        "Entry of (*T).Get",
        "entry of ",
        "return of",
        "entry of A\nreturn of B",
    ):
        with pytest.raises(ValueError, match="expected a place as `entry of F") as caught:
            thread_places.parse(text)
        assert repr(text) in str(caught.value)


def test_a_pattern_is_the_end_of_a_name() -> None:
    for pattern, name in [
        ("(*claimTracker).Get", f"{PACKAGE}.(*claimTracker).Get"),
        ("dynamicresources.(*claimTracker).Get", f"{PACKAGE}.(*claimTracker).Get"),
        (f"{PACKAGE}.(*claimTracker).Get", f"{PACKAGE}.(*claimTracker).Get"),
        ("Get", f"{PACKAGE}.(*claimTracker).Get"),
        ("(*claimTracker).*", f"{PACKAGE}.(*claimTracker).Get.func1"),
        ("(*claimTracker).*Pending*", f"{PACKAGE}.(*claimTracker).MaybeRemovePendingAllocation"),
        ("(*claimTracker).*RemovePending", f"{PACKAGE}.(*claimTracker).RemovePending"),
        ("A | (*claimTracker).Get | B", f"{PACKAGE}.(*claimTracker).Get"),
        ("dynamicresources.New", f"{PACKAGE}.New"),
        ("main.main", "main.main"),
        ("*.Get", f"{PACKAGE}.(*claimTracker).Get"),
        ("Map[...]", "example.org/x.Map[...]"),
    ]:
        assert thread_places.matches(pattern, name), pattern


def test_other_names_do_not_match() -> None:
    for pattern, name in [
        ("Get", f"{PACKAGE}.(*claimTracker).GetAll"),
        ("Get", f"{PACKAGE}.(*claimTracker).TryGet"),
        ("(*claimTracker).Get", f"{PACKAGE}.(*otherTracker).Get"),
        ("claimTracker).Get", f"{PACKAGE}.(*claimTracker).Get"),
        ("resources.New", f"{PACKAGE}.New"),
        ("k8s.io/*.New", f"{PACKAGE}.New"),
        ("main.main", "mainXmain"),
        ("Map[...]", "example.org/x.Map[int]"),
        ("get", f"{PACKAGE}.(*claimTracker).Get"),
    ]:
        assert not thread_places.matches(pattern, name), pattern


def test_a_name_is_told_without_the_path_of_its_package() -> None:
    assert thread_places.short(f"{PACKAGE}.(*T).Get") == "dynamicresources.(*T).Get"
    assert thread_places.short("main.main") == "main.main"
    assert thread_places.shortened(f"entry of {PACKAGE}.Get called by a/b.Run") == (
        "entry of dynamicresources.Get called by b.Run"
    )
    assert thread_places.shortened("step gather.devices.cloned") == "step gather.devices.cloned"
