"""Where ranks meet: a server in the process of rank 0, and a connection to it from each rank, without torch.

Ranks exchange a few bytes here (ids of communicators, ports), and tell which program each call runs. The server sees a
rank that dies, one that ends before the others, and calls that differ, and tells all ranks, which end with that
message. So no rank waits for one that is not coming.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irc.support.diagnostics import IrcError

MEETING_SECONDS = 60.0
"""How long ranks wait for the others to come."""

FAILED = 70
"""The exit code of a rank that ends because of another one (EX_SOFTWARE)."""

_KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}
"""A host that vanishes is noticed after half a minute."""


@dataclass(frozen=True)
class Place:
    """Of a process among the ranks, as torchrun and `irc_tools.launch` set it in the environment."""

    rank: int = 0
    size: int = 1
    address: str = "127.0.0.1"
    port: int = 0
    is_torchrun: bool = False
    """Whether the port is that of torchrun's own store, which tells the port of the server here."""

    @staticmethod
    def from_environment(environment: Mapping[str, str] = os.environ) -> Place:
        """IrcError where it is set in part, or to what is no rank."""
        if "WORLD_SIZE" not in environment:
            return Place()
        try:
            place = Place(
                int(environment["RANK"]),
                int(environment["WORLD_SIZE"]),
                environment.get("MASTER_ADDR", "127.0.0.1"),
                int(environment["MASTER_PORT"]),
                environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
            )
        except KeyError as error:
            raise IrcError(f"WORLD_SIZE is set, and {error.args[0]} is not", hint=_HINT) from error
        except ValueError as error:
            raise IrcError(f"expected numbers in RANK, WORLD_SIZE and MASTER_PORT: {error}", hint=_HINT) from error
        if not 0 <= place.rank < place.size:
            raise IrcError(f"expected a RANK below WORLD_SIZE={place.size}, found {place.rank}", hint=_HINT)
        return place


_HINT = "python -m irc_tools.launch -n RANKS script.py sets them"


class Rendezvous:
    """The connection of one rank. Its thread ends the process where the server says that a rank is gone."""

    def __init__(self, place: Place):
        self._place = place
        self._server = _Server(place) if place.rank == 0 else None
        self._port = place.port if self._server is None else self._server.port
        if place.is_torchrun:
            self._port = _told_by_torchrun(place, self._port)
        self._socket = self._connected()
        self._send_lock = threading.Lock()
        self._answers: dict[str, list[str]] = {}
        self._arrived = threading.Condition()
        self._send("hello", place.rank, None)
        threading.Thread(target=self._listen, name="irc-rendezvous", daemon=True).start()
        atexit.register(self._leave)

    def exchange(self, name: str, content: bytes) -> list[bytes]:
        """What each rank gave under this name, by rank. Each name is exchanged once."""
        self._send("exchange", name, content.hex())
        with self._arrived:
            self._arrived.wait_for(lambda: name in self._answers)
            return [bytes.fromhex(each) for each in self._answers.pop(name)]

    def note(self, number: int, program: str) -> None:
        """Tells what this rank's call of that number runs, and does not wait."""
        self._send("call", number, program)

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + MEETING_SECONDS
        while True:
            try:
                connection = socket.create_connection((self._place.address, self._port), 5)
                connection.settimeout(None)
                _keep_alive(connection)
                return connection
            except OSError as error:
                if time.monotonic() > deadline:
                    raise IrcError(
                        f"rank {self._place.rank}: rank 0 is not at {self._place.address}:{self._port} after "
                        f"{MEETING_SECONDS:.0f} s: {error}"
                    ) from error
                time.sleep(0.05)

    def _send(self, kind: str, key: Any, content: Any) -> None:
        try:
            with self._send_lock:
                _write(self._socket, (kind, key, content))
        except OSError:
            time.sleep(5)  # the listening thread ends the process with the name of who is gone
            raise IrcError("rank 0 is gone") from None

    def _listen(self) -> None:
        while True:
            try:
                kind, key, content = _read(self._socket)
            except (OSError, EOFError):
                self._end("rank 0 died" if self._place.rank else "the server of the ranks is gone")
                return
            if kind == "end":
                self._end(content)
                return
            with self._arrived:
                self._answers[key] = content
                self._arrived.notify_all()

    def _end(self, why: str) -> None:
        """Ends this process: its main thread may wait for a rank that does not come."""
        if self._left:
            return
        sys.stdout.flush()
        sys.stderr.write(f"irc: rank {self._place.rank}: {why}\n")
        sys.stderr.flush()
        os._exit(FAILED)

    _left = False

    def _leave(self) -> None:
        """The rank ends as it should; the server's process waits for the others, who may need it."""
        self._left = True
        try:
            self._send("bye", self._place.rank, None)
        except IrcError:
            return
        if self._server is not None:
            self._server.wait_for_others()


class _Server:
    """Sees all ranks. A thread reads from each connection."""

    def __init__(self, place: Place):
        self._size = place.size
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("", 0 if place.is_torchrun else place.port))
        except OSError as error:
            raise IrcError(f"rank 0 cannot listen on port {place.port}: {error}", hint="set MASTER_PORT") from error
        self._socket.listen(place.size)
        self.port: int = self._socket.getsockname()[1]
        self._lock = threading.RLock()
        self._connections: dict[int, socket.socket] = {}
        self._exchanges: dict[str, dict[int, str]] = {}
        self._calls: dict[int, dict[int, str]] = {}
        self._counts = [0] * place.size
        self._gone: set[int] = set()
        self._all_gone = threading.Event()
        self._failed = False
        threading.Thread(target=self._accept, name="irc-ranks", daemon=True).start()
        timer = threading.Timer(MEETING_SECONDS, self._check_all_came)
        timer.daemon = True
        timer.start()

    def wait_for_others(self) -> None:
        """Until every rank has said that it ends."""
        self._all_gone.wait()

    def _accept(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            _keep_alive(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _check_all_came(self) -> None:
        with self._lock:
            missing = [rank for rank in range(self._size) if rank not in self._connections]
        if missing:
            names = ", ".join(map(str, missing))
            self._fail(f"rank {names} of {self._size} did not come within {MEETING_SECONDS:.0f} s")

    def _serve(self, connection: socket.socket) -> None:
        rank = -1
        try:
            while True:
                kind, key, content = _read(connection)
                with self._lock:
                    if kind == "hello":
                        rank = key
                        self._connections[rank] = connection
                    elif kind == "exchange":
                        self._take(rank, key, content)
                    elif kind == "call":
                        self._compare(rank, key, content)
                    else:
                        self._leave(rank)
        except (OSError, EOFError, ValueError):
            if rank >= 0 and rank not in self._gone:
                self._fail(f"rank {rank} died")

    def _take(self, rank: int, name: str, content: str) -> None:
        others = ((each, n) for n, found in self._exchanges.items() if n != name for each in found)
        if (other := next(others, None)) is not None:
            self._fail(f"rank {other[0]} waits for all at {other[1]}, and rank {rank} at {name}")
        known = self._exchanges.setdefault(name, {})
        known[rank] = content
        ahead = [each for each, n in enumerate(self._counts) if n > self._counts[rank] and each not in known]
        if ahead:
            self._fail(f"rank {rank} waits for all at {name}, and rank {ahead[0]} went on")
        if len(known) == self._size:
            found = [known[each] for each in range(self._size)]
            del self._exchanges[name]
            for each in self._connections.values():
                _write(each, ("exchange", name, found))
        elif self._gone:
            self._fail(f"rank {min(self._gone)} ended, and rank {rank} waits for it")

    def _compare(self, rank: int, number: int, program: str) -> None:
        known = self._calls.setdefault(number, {})
        known[rank] = program
        self._counts[rank] = number
        for name, found in self._exchanges.items():
            if self._counts[min(found)] >= number:
                continue
            self._fail(f"rank {min(found)} waits for all at {name}, and rank {rank} runs {program}")
        other = next((each for each, found in known.items() if found != program), None)
        if other is not None:
            a, b = sorted((other, rank))
            self._fail(f"call {number} differs: rank {a} runs {known[a]}, and rank {b} runs {known[b]}")
        if len(known) == self._size:
            self._calls.pop(number, None)
        if ended := [each for each in self._gone if self._counts[each] < number]:
            self._fail(f"rank {ended[0]} ended after call {self._counts[ended[0]]}, and rank {rank} makes another")

    def _leave(self, rank: int) -> None:
        self._gone.add(rank)
        if ahead := [each for each, count in enumerate(self._counts) if count > self._counts[rank]]:
            self._fail(f"rank {rank} ended after call {self._counts[rank]}, and rank {ahead[0]} makes another")
        waiting = [each for known in self._exchanges.values() for each in known if each not in self._gone]
        if waiting:
            self._fail(f"rank {rank} ended, and rank {waiting[0]} waits for it")
        if len(self._gone) == self._size:
            self._all_gone.set()

    def _fail(self, why: str) -> None:
        """Tells all ranks why they end, once; that of this process last."""
        with self._lock:
            if self._failed:
                return
            self._failed = True
            for rank in sorted(self._connections, reverse=True):
                try:
                    _write(self._connections[rank], ("end", None, why))
                except OSError:
                    continue
            self._all_gone.set()


def _told_by_torchrun(place: Place, port: int) -> int:
    """The port of the server, which rank 0 puts in torchrun's store."""
    import torch.distributed as distributed

    make: Any = distributed.TCPStore  # pyright: ignore[reportPrivateImportUsage]
    store = make(place.address, place.port, place.size, is_master=False)
    if place.rank == 0:
        store.set("irc-port", str(port))
    return int(store.get("irc-port"))


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _write(connection: socket.socket, message: Any) -> None:
    content = json.dumps(message).encode()
    connection.sendall(struct.pack("<q", len(content)) + content)


def _read(connection: socket.socket) -> Any:
    (size,) = struct.unpack("<q", _exactly(connection, 8))
    return json.loads(_exactly(connection, size))


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
