"""The table of matrix instructions: what it says of operands is what targets have, and passes ask it, not names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import irc
from irc.dialects.kernel import INSTRUCTIONS
from irc.ir.dtypes import ELEMENTS, element_named
from irc.ir.targets import TARGETS
from irc.layout.matrix_instructions import MATRIX_INSTRUCTIONS, OperandType
from irc.layout.tcgen05 import OPERANDS

ROOMS = ("analysis", "scheduling", "passes/tile", "layout_assignment/operand_layouts.py")
"""Of irc, those that ask what an instruction is like."""

BY_NAME = re.compile(r'([!=]= ?|instruction=|case |data == )"(wgmma|tcgen05|mma|fma)"')


def test_every_instruction_of_a_config_has_a_row() -> None:
    """But `direct`: few channels have none."""
    assert {*INSTRUCTIONS} - {"direct", "columns"} == {*MATRIX_INSTRUCTIONS}


@pytest.mark.parametrize("name", ["wgmma", "mma"])
def test_some_target_multiplies_each_operand(name: str) -> None:
    known = {element for target in TARGETS for element in getattr(target, name)}
    for element, taken in MATRIX_INSTRUCTIONS[name].operands.items():
        assert taken.operand in known, element
        assert taken.accumulator in {each.name for each in ELEMENTS}, element


def test_tcgen05_has_a_kind_for_each_operand() -> None:
    for element, taken in MATRIX_INSTRUCTIONS["tcgen05"].operands.items():
        held = element_named("f32" if taken.operand == "tf32" else taken.operand)
        assert OPERANDS[str(held.type)].accumulator == taken.accumulator, element


def test_what_a_row_leaves_out_is_taken_as_it_is() -> None:
    assert MATRIX_INSTRUCTIONS["fma"].takes("i16") == OperandType("i16", "i16")
    assert MATRIX_INSTRUCTIONS["fma"].takes("f8e4m3").operand == "f16"


def test_an_instruction_has_one_way_to_be_fed() -> None:
    assert {name for name, row in MATRIX_INSTRUCTIONS.items() if row.has_producer} == {"wgmma", "tcgen05"}
    assert {name for name, row in MATRIX_INSTRUCTIONS.items() if row.is_in_step} == {"mma"}


def test_passes_ask_the_table() -> None:
    folder = Path(irc.__file__).parent
    files = [file for room in ROOMS for file in [folder / room, *(folder / room).glob("*.py")] if file.is_file()]
    asking = [f"{file.name}: {found[0]}" for file in files for found in BY_NAME.finditer(file.read_text())]
    assert len(files) > 50
    assert asking == []
