"""Traces of torch.profiler of several ranks: as one, and what they say of collectives."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Span = tuple[float, float]


def merged(folder: Path) -> dict[str, Any]:
    """The traces NAME-RANK.json of a folder as one, by the clock of the host: the processes of each rank, and its GPU,
    are named after it. Each name is a row, one behind another."""
    events: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*-*.json")):
        name, _, rank = path.stem.rpartition("-")
        trace = json.loads(path.read_text())
        base = trace.get("baseTimeNanoseconds", 0) / 1e3
        for event in trace["traceEvents"]:
            event["pid"] = f"rank {rank}: {event.get('pid', '')}"
            if event.get("name") == "process_name":
                event["args"] = {"name": f"rank {rank} ({name}) {event['args'].get('name', '')}"}
            if "ts" in event:
                event["ts"] += base
            events.append(event)
    begin = min((event["ts"] for event in events if event.get("ts")), default=0.0)
    for event in events:
        if "ts" in event:
            event["ts"] = max(0.0, event["ts"] - begin)
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def hidden_share(trace: dict[str, Any]) -> float | None:
    """Of the time that NCCL's kernels take, the part in which others run as well; None where there are none."""
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    spans: dict[bool, list[Span]] = {True: [], False: []}
    for event in kernels:
        spans[event["name"].startswith("nccl")].append((event["ts"], event["ts"] + event["dur"]))
    collectives, others = _union(spans[True]), _union(spans[False])
    total = sum(end - begin for begin, end in collectives)
    return round(_common(collectives, others) / total, 3) if total else None


def _union(spans: Iterable[Span]) -> list[Span]:
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _common(one: list[Span], other: list[Span]) -> float:
    """The length of what two lists of spans, each in order and apart, have in common."""
    total, i, j = 0.0, 0, 0
    while i < len(one) and j < len(other):
        total += max(0.0, min(one[i][1], other[j][1]) - max(one[i][0], other[j][0]))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return total
