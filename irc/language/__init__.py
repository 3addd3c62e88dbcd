"""The `.irc` language: `parse` reads text to a module of `nd`, `print_module` writes one back."""

from irc.language.parser import parse
from irc.language.printer import print_module

__all__ = ["parse", "print_module"]
