"""The commands of irc: irc-opt, irc-compile, irc-run, and the generator of the reference pages."""
