"""The host dialect: text round trips, and a plan's verifier says which step breaks which rule."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda import Cuda
from irc.dialects.host import Host, PlanOp


def parse(text: str) -> builtin.ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, Cuda, Host):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


PLAN = """
cuda.kernel @k(%x: !cuda.ptr<f32>, %y: !cuda.ptr<f32>) grid [1, 1, 1] block 64 writes [0, 1] {{
  cuda.return
}}
host.plan @f(%x, %out) : (tensor<64xf32>) -> tensor<64xf32> streams 2 {{
  %arena = host.arena : !host.buffer<1024>
  %a = host.buffer %arena {{offset = 0}} : !host.buffer<1024> -> !host.buffer<256>
  %b = host.buffer %arena {{offset = {offset}}} : !host.buffer<1024> -> !host.buffer<256>
  host.launch @k(%x, %a) : (!host.buffer<256>, !host.buffer<256>)
  host.record {{event = 0}}
  {wait}
  host.launch @{kernel}(%a, %b) {{stream = 1}} : (!host.buffer<256>, !host.buffer<256>)
  {more}
  host.record {{event = 1, stream = 1}}
  {join}
  host.copy %b -> %out : !host.buffer<256> -> !host.buffer<256>
  host.return
}}"""
RIGHT = {
    "offset": "256",
    "wait": "host.wait {event = 0, stream = 1}",
    "kernel": "k",
    "more": "",
    "join": "host.wait {event = 1}",
}

WRONG_PLANS = [
    ({"wait": ""}, "expected an event between steps 0 (host.launch) and 2 (host.launch)"),
    ({"join": ""}, "expected stream 0 to wait for all work"),
    ({"wait": "host.wait {event = 7, stream = 1}"}, "expected event 7 to be recorded before"),
    ({"wait": "host.wait {event = 0, stream = 2}"}, "expected a stream below 2, found 2"),
    ({"kernel": "missing"}, "missing"),
    ({"offset": "100"}, "expected an offset that is a multiple of 256"),
    ({"offset": "1024"}, "expected a range inside of 1024 bytes"),
    (
        {
            "more": "%c = host.buffer %arena {offset = 256} : !host.buffer<1024> -> !host.buffer<256>\n"
            "  host.launch @k(%x, %c) {stream = 1} : (!host.buffer<256>, !host.buffer<256>)"
        },
        "expected the buffer at bytes 256 to 512 to hold what was written to it",
    ),
    ({"offset": "0"}, "expected operands 0 and 1 of @k apart, found bytes 0 to 256 in both"),
]


def test_plan_round_trips() -> None:
    module = parse(PLAN.format(**RIGHT))
    assert parse(str(module)).is_structurally_equivalent(module)
    plan = next(op for op in module.walk() if isinstance(op, PlanOp))
    assert len(plan.inputs) == len(plan.outputs) == 1


@pytest.mark.parametrize("change, message", WRONG_PLANS)
def test_wrong_plans(change: dict[str, str], message: str) -> None:
    with pytest.raises(VerifyException) as caught:
        parse(PLAN.format(**(RIGHT | change)))
    assert message in str(caught.value)
