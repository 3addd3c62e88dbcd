"""irc-lsp: what an editor asks of `.irc` programs and IR in `.mlir`."""
