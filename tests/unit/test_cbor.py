"""CBOR: values and bytes of RFC 8949's examples, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st

from irc.support import cbor

EXAMPLES: list[tuple[Any, str]] = [
    (0, "00"),
    (23, "17"),
    (24, "1818"),
    (1000, "1903e8"),
    (1000000, "1a000f4240"),
    (1000000000000, "1b000000e8d4a51000"),
    (-1, "20"),
    (-1000, "3903e7"),
    (1.1, "fb3ff199999999999a"),
    (False, "f4"),
    (True, "f5"),
    (None, "f6"),
    ("ü", "62c3bc"),
    ([1, [2, 3], [4, 5]], "8301820203820405"),
    ({"a": 1, "b": [2, 3]}, "a26161016162820203"),
]
"""Of appendix A."""


@pytest.mark.parametrize(("value", "text"), EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_examples_of_the_standard(value: Any, text: str) -> None:
    assert cbor.encoded(value).hex() == text
    assert cbor.decoded(bytes.fromhex(text)) == value


numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(), each, max_size=4),
    max_leaves=8,
)


@examples(60)
@given(values)
def test_values_come_back(value: Any) -> None:
    assert cbor.decoded(cbor.encoded(value)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends within a value"),
        ("19", "ends within a value"),
        ("6361", "ends within a value"),
        ("820100" + "00", "1 bytes follow the value"),
        ("9fff", "found the byte 0x9f"),
        ("4161", "found the byte 0x41"),
        ("f7", "found the byte 0xf7"),
    ],
)
def test_what_is_no_value(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cbor.decoded(bytes.fromhex(text))


def test_what_json_has_not_is_not_written() -> None:
    with pytest.raises(TypeError, match="expected what JSON has, found bytes"):
        cbor.encoded({"a": [b"b"]})
