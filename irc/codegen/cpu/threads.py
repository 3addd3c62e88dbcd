"""The code of a pool of threads as LLVM IR: what its threads do between kernels, and how a kernel's tiles are shared.

A thread that waits in Python takes some 50 us to begin: it sleeps, and takes the interpreter's lock. So threads look
for work for a while after each kernel, and sleep then. The state of a pool is lines of 64 bytes, one for each of what
several threads write:

- `generation`: odd while a kernel runs; a thread that is late finds another one.
- `next`: the first tile that no thread has taken.
- `active`: how many threads may read the work. The caller waits until none does.
- the work: `tiles` in all, `each` that are taken at once, the `function` and its `pointers`, the number of `workers`.
- for each worker: whether it is `parked`, and memory of its `own`.

A worker that is about to sleep says so, and looks once more for work; the caller opens the work, and looks then who
sleeps (both sequentially consistent), so that one of them sees the other.
"""

from __future__ import annotations

import os
import platform

from irc.support.diagnostics import IrcError
from irc.support.pool_state import ACTIVE, LINE, NEXT, WORK, WORKERS

SPINS = 2000
"""How often a thread looks for work before it sleeps: 50 to 100 us."""

_X86 = "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
_ARM = "declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"

_PAUSES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""The declaration and the call of a pause between two looks, by `platform.machine()`."""


def pool_text() -> str:
    """The module: `irc_pool_begin(state)` opens the work and gives a bit for each worker that has to be woken;
    `irc_pool_finish(state, own)` takes part, closes it and waits for the others; `irc_pool_serve(state, worker)`
    works until there has been nothing to do for a while. IrcError on a CPU whose pause is not known."""
    machine = platform.machine().lower()
    if machine not in _PAUSES:
        raise IrcError(f"the target cpu knows no pause of {machine}", hint="IRC_THREADS=1, or the target interpret")
    declaration, pause = _PAUSES[machine]
    give_way = "SwitchToThread" if os.name == "nt" else "sched_yield"
    return _TEXT.format(
        declaration=declaration,
        pause=pause,
        give_way=give_way,
        next=NEXT,
        active=ACTIVE,
        work=WORK,
        workers=WORKERS,
        line=LINE,
        spins=SPINS,
    )


_TEXT = """\
{declaration}
declare i32 @{give_way}()

define private ptr @worker(ptr %state, i64 %number) {{
  %lines = mul i64 %number, {line}
  %offset = add i64 %lines, {workers}
  %at = getelementptr i8, ptr %state, i64 %offset
  ret ptr %at
}}

define i64 @irc_pool_begin(ptr %state) {{
entry:
  %next = getelementptr i8, ptr %state, i64 {next}
  store atomic i64 0, ptr %next monotonic, align 8
  %generation = atomicrmw add ptr %state, i64 1 seq_cst
  %work = getelementptr i8, ptr %state, i64 {work}
  %count_at = getelementptr i64, ptr %work, i64 4
  %count = load i64, ptr %count_at
  br label %test
test:
  %number = phi i64 [0, %entry], [%following, %one]
  %mask = phi i64 [0, %entry], [%more, %one]
  %is_left = icmp ult i64 %number, %count
  br i1 %is_left, label %one, label %done
one:
  %at = call ptr @worker(ptr %state, i64 %number)
  %parked = atomicrmw xchg ptr %at, i64 0 seq_cst
  %bit = shl i64 %parked, %number
  %more = or i64 %mask, %bit
  %following = add i64 %number, 1
  br label %test
done:
  ret i64 %mask
}}

define private void @take(ptr %state, ptr %own) {{
entry:
  %next = getelementptr i8, ptr %state, i64 {next}
  %work = getelementptr i8, ptr %state, i64 {work}
  %tiles = load i64, ptr %work
  %each_at = getelementptr i64, ptr %work, i64 1
  %each = load i64, ptr %each_at
  %function_at = getelementptr i64, ptr %work, i64 2
  %function = load ptr, ptr %function_at
  %pointers_at = getelementptr i64, ptr %work, i64 3
  %pointers = load ptr, ptr %pointers_at
  br label %test
test:
  %first = atomicrmw add ptr %next, i64 %each monotonic
  %is_left = icmp slt i64 %first, %tiles
  br i1 %is_left, label %some, label %done
some:
  %last = add i64 %first, %each
  %is_whole = icmp slt i64 %last, %tiles
  %end = select i1 %is_whole, i64 %last, i64 %tiles
  call void %function(ptr %pointers, i64 %first, i64 %end, ptr %own)
  br label %test
done:
  ret void
}}

define void @irc_pool_finish(ptr %state, ptr %own) {{
entry:
  call void @take(ptr %state, ptr %own)
  %generation = atomicrmw add ptr %state, i64 1 seq_cst
  %active_at = getelementptr i8, ptr %state, i64 {active}
  br label %test
test:
  %spins = phi i64 [0, %entry], [%more, %wait], [0, %give_way]
  %active = load atomic i64, ptr %active_at seq_cst, align 8
  %is_done = icmp eq i64 %active, 0
  br i1 %is_done, label %done, label %wait
wait:
  {pause}
  %more = add i64 %spins, 1
  %is_long = icmp ugt i64 %more, {spins}
  br i1 %is_long, label %give_way, label %test
give_way:
  %ignored = call i32 @{give_way}()
  br label %test
done:
  ret void
}}

define void @irc_pool_serve(ptr %state, i64 %number) {{
entry:
  %at = call ptr @worker(ptr %state, i64 %number)
  %own_at = getelementptr i64, ptr %at, i64 1
  %active_at = getelementptr i8, ptr %state, i64 {active}
  br label %look
look:
  %seen = phi i64 [0, %entry], [%seen, %wait], [%generation, %worked], [%seen, %stay]
  %spins = phi i64 [0, %entry], [%more, %wait], [0, %worked], [0, %stay]
  %generation = load atomic i64, ptr %state seq_cst, align 8
  %is_there = call i1 @is_work(i64 %generation, i64 %seen)
  br i1 %is_there, label %join, label %wait
wait:
  {pause}
  %more = add i64 %spins, 1
  %is_long = icmp ugt i64 %more, {spins}
  br i1 %is_long, label %park, label %look
park:
  store atomic i64 1, ptr %at seq_cst, align 8
  %again = load atomic i64, ptr %state seq_cst, align 8
  %came = call i1 @is_work(i64 %again, i64 %seen)
  br i1 %came, label %stay, label %done
stay:
  %was = atomicrmw xchg ptr %at, i64 0 seq_cst
  %is_own = icmp eq i64 %was, 1
  br i1 %is_own, label %look, label %done
join:
  %before = atomicrmw add ptr %active_at, i64 1 seq_cst
  %now = load atomic i64, ptr %state seq_cst, align 8
  %is_open = icmp eq i64 %now, %generation
  br i1 %is_open, label %run, label %worked
run:
  %own = load ptr, ptr %own_at
  call void @take(ptr %state, ptr %own)
  br label %worked
worked:
  %after = atomicrmw sub ptr %active_at, i64 1 seq_cst
  br label %look
done:
  ret void
}}

define private i1 @is_work(i64 %generation, i64 %seen) {{
  %low = and i64 %generation, 1
  %is_open = icmp eq i64 %low, 1
  %is_new = icmp ne i64 %generation, %seen
  %both = and i1 %is_open, %is_new
  ret i1 %both
}}
"""
