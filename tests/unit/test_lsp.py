"""irc-lsp over its protocol: a process that is spoken to in JSON-RPC, as an editor does."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from irc_tools.lsp import command

pytest.importorskip("pygls")

EXAMPLES = Path(__file__).parents[2] / "examples"
GATING = (EXAMPLES / "gating.irc").read_text()


class Client:
    """The editor's side. A message that is waited for and does not come in 60 s is an error."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "irc_tools.lsp.command", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._messages: Queue[dict[str, Any]] = Queue()
        self._number = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = 0
            while header.strip():
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
                header = self.process.stdout.readline()
            self._messages.put(json.loads(self.process.stdout.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        answer = self._next(lambda message: message.get("id") == self._number and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def diagnostics(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """The next ones of a document, of a version of it."""
        found = self._next(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["uri"] == uri
                and version in (None, message["params"].get("version"))
            )
        )
        return found["params"]["diagnostics"]

    def _next(self, wanted: Any) -> dict[str, Any]:
        while True:
            try:
                message = self._messages.get(timeout=60)
            except Empty:
                raise AssertionError(f"no answer; the server's exit status is {self.process.poll()}") from None
            if wanted(message):
                return message

    def open(self, uri: str, text: str) -> None:
        self.notify(
            "textDocument/didOpen", textDocument=document(uri) | {"languageId": "irc", "version": 1, "text": text}
        )

    def change(self, uri: str, version: int, text: str) -> None:
        self.notify(
            "textDocument/didChange", textDocument=document(uri) | {"version": version}, contentChanges=[{"text": text}]
        )

    def at(self, method: str, uri: str, text: str, word: str, index: int = 0) -> Any:
        """What is answered of a word of the text, the `index`-th time that it is there."""
        position = -1
        for _ in range(index + 1):
            position = text.index(word, position + 1)
        line = text.count("\n", 0, position)
        start = text.rfind("\n", 0, position) + 1
        character = len(text[start:position].encode("utf-16-le")) // 2
        return self.ask(
            f"textDocument/{method}", textDocument=document(uri), position={"line": line, "character": character}
        )

    def end(self) -> None:
        self.ask("shutdown")
        self.notify("exit")
        assert self.process.wait(30) == 0


def document(uri: str) -> dict[str, Any]:
    return {"uri": uri}


@pytest.fixture
def client() -> Iterator[Client]:
    found = Client()
    answer = found.ask("initialize", processId=os.getpid(), rootUri=None, capabilities={})
    capabilities = answer["capabilities"]
    assert answer["serverInfo"]["name"] == "irc-lsp"
    assert {"hoverProvider", "definitionProvider", "documentSymbolProvider"} <= {
        k for k, v in capabilities.items() if v
    }
    found.notify("initialized")
    try:
        yield found
        found.end()
    finally:
        found.process.kill()


def start_of(location: dict[str, Any]) -> tuple[int, int]:
    start = location["range"]["start"]
    return start["line"], start["character"]


def test_a_program_while_it_is_written(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "gating.irc").as_uri()
    client.open(uri, GATING)
    assert client.diagnostics(uri) == []
    hover = client.at("hover", uri, GATING, "w2 + b2")
    assert hover["contents"]["kind"] == "markdown"
    assert hover["contents"]["value"] == "```irc\nw2: bf16[4096, 4096]\n```"
    assert start_of(client.at("definition", uri, GATING, "w2 + b2")) == (3, GATING.split("\n")[3].index("w2"))
    outline = client.ask("textDocument/documentSymbol", textDocument=document(uri))
    assert [each["name"] for each in outline] == ["M", "K", "N", "gating"]
    assert [each["name"] for each in outline[-1]["children"]] == ["x", "w1", "w2", "b1", "b2", "h", "g"]

    broken = GATING.replace("x @ w2", "x @ w3")
    client.change(uri, 2, broken)
    (found,) = client.diagnostics(uri, 2)
    assert found["message"].startswith("unknown name w3\n")
    line = broken.split("\n")[5]
    assert found["range"] == {
        "start": {"line": 5, "character": line.index("w3")},
        "end": {"line": 5, "character": line.index("w3") + 2},
    }
    client.change(uri, 3, GATING)
    assert client.diagnostics(uri, 3) == []
    client.notify("textDocument/didClose", textDocument=document(uri))
    assert client.diagnostics(uri) == []


def test_ir(client: Client, tmp_path: Path) -> None:
    text = "func.func @f(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32\n  func.return %y : i32\n}\n"
    uri = (tmp_path / "f.mlir").as_uri()
    client.open(uri, text)
    assert client.diagnostics(uri) == []
    assert "%y: i32" in client.at("hover", uri, text, "%y", 1)["contents"]["value"]
    assert start_of(client.at("definition", uri, text, "%y", 1)) == (1, 2)
    assert client.at("hover", uri, text, "{") is None
    assert client.at("definition", uri, text, "{") is None
    client.change(uri, 2, text.replace("%x, %x", "%x, %z"))
    (found,) = client.diagnostics(uri, 2)
    assert found["message"] == "values used but not defined: %z"


def test_pieces_of_a_file(client: Client, tmp_path: Path) -> None:
    good = "func.func @f(%x: i32) -> i32 {\n  func.return %x : i32\n}\n"
    text = f"{good}// -----\n{good.replace('return %x', 'return %y')}// -----\n{good}"
    uri = (tmp_path / "f.mlir").as_uri()
    client.open(uri, text)
    (found,) = client.diagnostics(uri)
    assert found["range"]["start"] == {"line": 5, "character": 14}
    assert start_of(client.at("definition", uri, text, "%x :", 1)) == (8, 13)


def test_columns_are_those_of_the_client(client: Client, tmp_path: Path) -> None:
    """In units of UTF-16, of which a character outside of the basic plane has two."""
    text = 'func.func @f(%x: i32) -> i32 attributes {s = "\U0001d538\U0001f642"} { func.return %x : i32 }\n'
    uri = (tmp_path / "f.mlir").as_uri()
    client.open(uri, text)
    assert client.diagnostics(uri) == []
    hover = client.at("hover", uri, text, "%x", 1)
    assert "%x: i32" in hover["contents"]["value"]
    assert start_of(hover) == (0, len(text[: text.index("%x :")].encode("utf-16-le")) // 2)


def test_what_is_half_written(client: Client, tmp_path: Path) -> None:
    """Every answer comes, and no internal error is among the diagnostics."""
    uri = (tmp_path / "f.irc").as_uri()
    client.open(uri, "")
    client.diagnostics(uri)
    for version, end in enumerate(random.Random(0).sample(range(len(GATING)), 12), 2):
        client.change(uri, version, GATING[:end])
        found = client.diagnostics(uri, version)
        assert not any("internal error" in each["message"] for each in found)
        client.ask("textDocument/documentSymbol", textDocument=document(uri))
        client.ask("textDocument/hover", textDocument=document(uri), position={"line": 3, "character": 13})
        client.ask("textDocument/definition", textDocument=document(uri), position={"line": 99, "character": 99})


def test_without_pygls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pygls", "lsprotocol")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "irc_tools.lsp.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert command.main(["--stdio"]) == 1
    assert capsys.readouterr().err == "error: irc-lsp needs pygls\nhint: pip install 'irc-compiler[lsp]'\n"
