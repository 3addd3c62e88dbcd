"""Runs a script as several ranks of one host: `python -m irc_tools.launch -n 2 script.py ARGUMENTS`.

Each rank is a process with RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun
sets them, and where there are GPUs with one of them in CUDA_VISIBLE_DEVICES. A rank that fails ends the others.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

GRACE = 5.0
"""Seconds for ranks to end by themselves after one failed, and again before they are killed."""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, or that of the first rank that failed."""
    parser = argparse.ArgumentParser(prog="python -m irc_tools.launch", description="Runs a script as several ranks.")
    parser.add_argument("-n", "--ranks", type=int, required=True, help="how many")
    parser.add_argument("script", help="a Python script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(argv)
    if given.ranks < 1:
        parser.error(f"expected one rank or more, found {given.ranks}")
    command = [sys.executable, given.script, *given.arguments]
    port = _free_port()
    processes = [
        subprocess.Popen(command, env=_environment(rank, given.ranks, port), start_new_session=False)
        for rank in range(given.ranks)
    ]
    try:
        return _watched(processes)
    except KeyboardInterrupt:
        return 130
    finally:
        _end(processes)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _environment(rank: int, size: int, port: int) -> dict[str, str]:
    own = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    seen = [str(number) for number in range(size)] if devices is None else devices.split(",")
    if rank < len(seen):
        own["CUDA_VISIBLE_DEVICES"] = seen[rank]
    return {**os.environ, **own}


def _watched(processes: Sequence[subprocess.Popen[bytes]]) -> int:
    """Until all have ended, or one has failed, which is named."""
    while True:
        codes = [process.poll() for process in processes]
        failed = [(rank, code) for rank, code in enumerate(codes) if code]
        if failed:
            time.sleep(0.3)  # the one that died may end a moment after those that noticed
            failed = [(rank, code) for rank, process in enumerate(processes) if (code := process.poll())]
            rank, code = min(failed, key=lambda each: (each[1] == 70, each[0]))
            print(f"irc_tools.launch: rank {rank} {_how(code)}; the others are ended", file=sys.stderr, flush=True)
            return code if code > 0 else 128 - code
        if all(code == 0 for code in codes):
            return 0
        time.sleep(0.05)


def _how(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for action in (subprocess.Popen[bytes].terminate, subprocess.Popen[bytes].kill):
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and any(process.poll() is None for process in processes):
            time.sleep(0.05)
        for process in processes:
            if process.poll() is None:
                action(process)
    for process in processes:
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
