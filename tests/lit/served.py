"""Commands of FileCheck tests by a process that has loaded irc: what a test does takes a tenth of the time that Python
takes to load what it needs.

`serve()` starts that process, and gives the folder of its commands. Each is a client, which hands its arguments,
environment and files to the process; a fork of it runs the command as `irc-opt` itself would, and answers the exit
status. The process ends with the one that started it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {"irc-opt": "irc_tools.opt", "filecheck": "filecheck.main"}
"""The modules whose `main` they are."""

CLIENT = """#!{python} -IS
import json, os, socket, sys
folder, name = os.path.split(sys.argv[0])
server = socket.socket(socket.AF_UNIX)
server.connect(os.path.join(folder, "socket"))
request = json.dumps([name, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
server.sendall(request)
status = server.recv(1)
sys.exit(status[0] if status else "the process of " + name + " ended without a status")
"""

WARM_UP = "func f(x: f32[64, 64]) -> f32[64, 64] { return softmax(x @ x) }"


def serve(environment: dict[str, str]) -> str:
    """The folder of the commands, which come before others in a PATH."""
    folder = Path(tempfile.mkdtemp(prefix="irc-lit-"))
    for name in COMMANDS:
        (folder / name).write_text(CLIENT.format(python=sys.executable))
        (folder / name).chmod(0o755)
    (folder / "f.irc").write_text(WARM_UP)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "socket"))
    listening.listen(64)
    command = [sys.executable, __file__, str(folder), str(listening.fileno())]
    # The pipe stays open as long as this process lives; a process with threads is none to fork.
    alone = {**environment, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.Popen(command, stdin=subprocess.PIPE, env=alone, pass_fds=[listening.fileno()])
    return str(folder)


def _run(folder: Path, listening: socket.socket) -> None:
    for name in COMMANDS.values():
        importlib.import_module(name)
    importlib.import_module("irc_tools.opt").main([str(folder / "f.irc"), "-p", "all", "-o", str(folder / "f.mlir")])
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while listening in select.select([listening, 0], [], [])[0]:
        client, _ = listening.accept()
        if os.fork() == 0:
            _answer(client)
        client.close()
    shutil.rmtree(folder)


def _answer(client: socket.socket) -> None:
    """In a process of its own: what a command of that name would do."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, files, _, _ = socket.recv_fds(client, 8, 3)
    size, request = int.from_bytes(length, "big"), b""
    while len(request) < size:
        request += client.recv(size - len(request))
    name, arguments, cwd, environment = json.loads(request)
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.argv = [name, *arguments]
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    status = 1
    try:
        status = importlib.import_module(COMMANDS[name]).main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    client.sendall(bytes([status or 0]))
    os._exit(0)


if __name__ == "__main__":
    _run(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
