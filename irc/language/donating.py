"""`donate` before a parameter: which result its memory gets (irc/ir/donation.py)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp

from irc.ir.donation import donations
from irc.ir.dtypes import Element
from irc.language.builder import Builder
from irc.language.syntax import Donation, Function
from irc.language.values import type_text

DONATE = "donate"

ArrayType = tuple[tuple[int, ...], Element]


def donated_results(
    builder: Builder, item: Function, parameters: Sequence[ArrayType], results: Sequence[ArrayType]
) -> dict[int, int]:
    """The number of the result by that of the parameter. Those that do not name theirs get the first result of their
    type that is left, in order. IrcError at the parameter for which there is none."""
    asked = [(i, p.donation) for i, p in enumerate(item.parameters) if p.donation is not None]
    found: dict[int, int] = {}
    for index, donation in sorted(asked, key=lambda pair: pair[1].result is None):
        if donation.word != DONATE:
            raise builder.error(
                f"found {donation.word} before a parameter", donation.place, f"`{DONATE}` may stand before a parameter"
            )
        found[index] = _result(builder, donation, parameters[index], results, set(found.values()))
    return found


def _result(
    builder: Builder, donation: Donation, type: ArrayType, results: Sequence[ArrayType], taken: set[int]
) -> int:
    spelled = type_text(*type)
    if donation.result is None:
        left = [i for i, result in enumerate(results) if result == type and i not in taken]
        if not left:
            raise builder.error(
                f"no result of type {spelled} is left for this parameter",
                donation.place,
                "donate parameters whose new value the function returns",
            )
        return left[0]
    if donation.result >= len(results):
        raise builder.error(
            f"there is no result {donation.result}", donation.place, f"results are 0 to {len(results) - 1}"
        )
    if donation.result in taken:
        raise builder.error(f"result {donation.result} has the memory of another parameter", donation.place)
    if results[donation.result] != type:
        other = type_text(*results[donation.result])
        raise builder.error(f"result {donation.result} is {other}, the parameter is {spelled}", donation.place)
    return donation.result


def donation_texts(function: FuncOp) -> dict[int, str]:
    """What stands before the donated parameters of a function, by their numbers: `donate ` where that gives the same
    results again, `donate(1) ` otherwise."""
    results = {argument: result for result, argument in donations(function).items()}
    types = function.function_type
    left = list(enumerate(types.outputs.data))
    for argument in sorted(results):
        first = next(pair for pair in left if pair[1] == types.inputs.data[argument])
        left.remove(first)
        if first[0] != results[argument]:
            return {argument: f"{DONATE}({result}) " for argument, result in results.items()}
    return dict.fromkeys(results, f"{DONATE} ")
