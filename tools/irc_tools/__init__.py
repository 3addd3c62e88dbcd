"""The commands of irc: irc-opt, irc-compile, irc-run, and the generator of the reference pages."""

import irc

if "IrcError" not in getattr(irc, "__all__", ()):
    raise SystemExit(
        "irc: error: the package `irc` here is not irc-compiler's: `pip uninstall irc` (Internet Relay Chat's), "
        "then `pip install --force-reinstall --no-deps irc-compiler`"
    )
