"""The host dialect: one static plan of steps on buffers, streams and events.

Nothing in it allocates or depends on values. Streams and events are small numbers. The runtime forks streams 1, 2, ...
from stream 0, which is the caller's, at the start and joins them at the end only as far as the plan's own records and
waits say so: the last step of every stream has to be ordered before the end of stream 0.
"""

# pyright: reportUnusedImport=false

from irc.dialects.host import memory, plan, steps
from irc.dialects.host.memory import ARENA_ALIGNMENT, ArenaOp, BufferOp, BufferType, ConstantOp, SizeOp, bytes_of
from irc.dialects.host.plan import PlanOp, ReturnOp
from irc.dialects.host.steps import CollectiveOp, CopyOp, LaunchOp, MemsetOp, RecordOp, StepOp, WaitOp
from irc.ir.dialects import dialect_of

Host = dialect_of("host", [plan, memory, steps])
