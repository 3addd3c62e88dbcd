"""What torch's backend does with the memory of arguments: those that lie as the program reads them are used in place."""

from __future__ import annotations

import pytest
import torch

from irc_frontend.torch.program import Layout, Layouts

ROWS = torch.arange(12.0).reshape(3, 4)
TURNED = torch.arange(12.0).reshape(4, 3).t()


def test_arguments_that_lie_as_they_should_are_used_in_place() -> None:
    layouts = Layouts([Layout(ROWS), Layout(TURNED), Layout(ROWS)])
    given = [ROWS.clone(), torch.empty_strided((3, 4), (1, 3)).copy_(TURNED), torch.nn.Parameter(ROWS)]
    placed, addresses = layouts.placed(given)
    assert all(a is b for a, b in zip(placed, given, strict=True))
    assert addresses == [x.data_ptr() for x in given]


def test_others_are_copied_after_those_that_were_used_in_place() -> None:
    layouts = Layouts([Layout(ROWS), Layout(TURNED)])
    rows, turned = ROWS.clone(), torch.empty_strided((3, 4), (1, 3)).copy_(TURNED)
    for _ in range(2):
        assert layouts.placed([rows, turned])[0] == [rows, turned]
        placed, _ = layouts.placed([turned, rows])
        assert placed[0].is_contiguous()
        assert placed[1].stride() == (1, 3)
        assert torch.equal(placed[0], turned)
        assert torch.equal(placed[1], rows)
    assert layouts.placed([rows.neg().neg(), turned])[0][1] is turned


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (ROWS, TURNED),
        (TURNED, ROWS),
        (ROWS, torch.arange(24.0).reshape(3, 8)[:, ::2]),
        (ROWS, torch.arange(13.0)[1:].reshape(3, 4)),
        (ROWS, torch.complex(ROWS, ROWS).conj().imag),
        (ROWS, ROWS[:1].expand(3, 4)),
    ],
    ids=["turned", "row-major", "every other", "unaligned", "negative", "repeated"],
)
def test_others_are_copied_alone(wanted: torch.Tensor, given: torch.Tensor) -> None:
    beside = TURNED.clone()
    placed, addresses = Layouts([Layout(wanted), Layout(TURNED)]).placed([given, beside])
    assert placed[1] is beside
    assert placed[0] is not given
    assert torch.equal(placed[0], given)
    assert placed[0].stride() == wanted.stride()
    assert not placed[0].is_neg()
    assert addresses == [x.data_ptr() for x in placed]
    assert not any(address % 16 for address in addresses)
