"""The server: documents, and answers from what is known of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from irc import __version__
from irc.support.diagnostics import IrcError, labels, one_line
from irc_tools.lsp.irc_text import analyze_irc
from irc_tools.lsp.mlir_text import analyze_mlir
from irc_tools.lsp.model import Analysis, Fault, Range, Symbol, Use

WAITING = 0.1
"""Seconds after a change that are waited for another one before the text is read."""

KINDS = {
    "function": types.SymbolKind.Function,
    "constant": types.SymbolKind.Constant,
    "variable": types.SymbolKind.Variable,
}

_PIECES = {"mlir": re.compile(r"^// -----.*$", re.MULTILINE), "irc": re.compile(r"^# -----.*$", re.MULTILINE)}

_ANALYZE: dict[str, Callable[[str, str], Analysis]] = {"mlir": analyze_mlir, "irc": analyze_irc}


def analyze(text: str, name: str) -> Analysis:
    """What is known of a text by the extension of its name, piece by piece where it has the lines of
    `--split-input-file`."""
    language = "irc" if name.endswith(".irc") else "mlir"
    whole = Analysis()
    start = 0
    for end in [*(found.start() for found in _PIECES[language].finditer(text)), len(text)]:
        whole.add(_ANALYZE[language]("\n" * text.count("\n", 0, start) + text[start:end].lstrip(" "), name))
        line_end = text.find("\n", end)
        start = len(text) if line_end < 0 else line_end
    return whole


class IrcServer(LanguageServer):
    """Documents with what is known of each."""

    def __init__(self) -> None:
        super().__init__("irc-lsp", __version__)
        self._known: dict[str, tuple[int | None, Analysis]] = {}

    def document(self, uri: str) -> TextDocument:
        return self.workspace.get_text_document(uri)

    def analysis(self, uri: str) -> Analysis:
        """That of the document as it is now. An error in irc is a diagnostic at the beginning of the text."""
        document = self.document(uri)
        version, found = self._known.get(uri, (None, None))
        if found is None or version is None or version != document.version:
            try:
                found = analyze(document.source, to_fs_path(uri) or uri)
            except Exception as error:
                found = Analysis([Fault(IrcError(f"internal error: {one_line(error)}"), Range(1, 1, 1, 1))])
            self._known[uri] = document.version, found
        return found

    def publish(self, uri: str) -> None:
        document = self.document(uri)
        found = [self._diagnostic(document, each) for each in self.analysis(uri).faults]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, document.version))

    def forget(self, uri: str) -> None:
        self._known.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _diagnostic(self, document: TextDocument, fault: Fault) -> types.Diagnostic:
        error = fault.error
        message = error.message if error.hint is None else f"{error.message}\nhint: {error.hint}"
        related = [
            types.DiagnosticRelatedInformation(
                types.Location(
                    from_fs_path(str(Path(label.span.file).resolve())) or "", _at(label.span.line, label.span.column)
                ),
                label.role,
            )
            for label in labels(error.location)
            if label.role and Path(label.span.file).is_file()
        ]
        severity = types.DiagnosticSeverity.Error
        return types.Diagnostic(
            self.range(document, fault.range), message, severity, source="irc", related_information=related or None
        )

    def range(self, document: TextDocument, range: Range) -> types.Range:
        """In the units of the client, UTF-16 mostly."""
        start = types.Position(range.line - 1, range.column - 1)
        end = types.Position(range.end_line - 1, range.end_column - 1)
        units: Any = types.Range(start, end)  # pygls has types of its own for these
        return document.range_to_client_units(units)

    def use(self, uri: str, position: types.Position) -> Use | None:
        """The name at a position."""
        here = self.document(uri).position_from_client_units(position)
        return self.analysis(uri).at(here.line + 1, here.character + 1)

    def symbol(self, document: TextDocument, symbol: Symbol) -> types.DocumentSymbol:
        return types.DocumentSymbol(
            symbol.name,
            KINDS[symbol.kind],
            self.range(document, symbol.range),
            self.range(document, symbol.name_range),
            symbol.detail,
            children=[self.symbol(document, each) for each in symbol.children],
        )


def _at(line: int, column: int) -> types.Range:
    position = types.Position(line - 1, column - 1)
    return types.Range(position, position)


def make_server() -> IrcServer:
    """A server that has not started."""
    server = IrcServer()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        await asyncio.sleep(WAITING)
        if server.document(uri).version == params.text_document.version:
            server.publish(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        if (use := server.use(uri, params.position)) is None:
            return None
        text = types.MarkupContent(types.MarkupKind.Markdown, use.hover())
        return types.Hover(text, server.range(server.document(uri), use.range))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        uri = params.text_document.uri
        use = server.use(uri, params.position)
        if use is None or (target := use.target) is None:
            return None
        if target.file is None:
            return types.Location(uri, server.range(server.document(uri), target.range))
        return types.Location(from_fs_path(target.file) or "", _at(target.range.line, target.range.column))

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        return [server.symbol(server.document(uri), each) for each in server.analysis(uri).symbols]

    return server
