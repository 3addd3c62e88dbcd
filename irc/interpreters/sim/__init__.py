"""The SIMT simulator: what the ops of `cuda` do, in numpy, with the threads of several blocks as array lanes.

A kernel is compiled to steps (`code`); its grid runs in frames of whole blocks (`launch`, `frame`), whose lanes run as
strands (`strands`): together under masks, or side by side where they wait for each other. Memory is bytes (`memory`),
with a shadow that knows who accessed what (`shadow`) and vector clocks that know in which order (`clocks`). Mistakes
are `SimulationError`s (`errors`); counts are in `statistics`. `irc/runtime/sim.py` runs a host plan.

How an op is added: `registry`. What a rule may use:

- `s.lanes`, `s.numbers`, `s.spread(value)`: the active lanes, and a value's elements for them;
- `s.frame.shared_byte_offsets(s, op, addresses, size)`: where shared addresses lie, checked for bounds and
  alignment; `access.read_shared` and `access.write_shared` check and note the accesses,
  `s.frame.shared.table(dtype, count)` has the content;
  `access.global_byte_offsets`, `check_global_read`, `note_global_write` do the same for global memory;
- `RegisterArray.columns`, `put`;
- `yield Waiting(s, op, what, ready)` in a generator to wait;
- `s.frame.clocks`: `row = release(lanes)` at an arrival, `acquire(lanes, row)` where a wait ends;
- `s.frame.units` for what runs on by itself (`units`): `agent(key, name)` is one of the clocks', `async_key(agent,
  clock)` what its accesses leave, `learn(lanes, agent, clock)` says who knows them complete, `start(finish)` and
  `Groups` when they happen, `at_end(check)` what must not be left over;
- `kept(s, name, make)`: what the rules of a family keep for the frame, such as its barriers;
- `s.frame.counters.add_global`, `add_shared`: counts of accesses that are no plain ones;
- `s.fail(kind, op, message, wrong)`: the error, for the active lanes where `wrong` holds.
"""

from irc.interpreters.sim.errors import SimulationError
from irc.interpreters.sim.launch import Kernel
from irc.interpreters.sim.memory import Memory, Span
from irc.interpreters.sim.statistics import Counters, KernelStatistics, OpStatistics

__all__ = ["Counters", "Kernel", "KernelStatistics", "Memory", "OpStatistics", "SimulationError", "Span"]
