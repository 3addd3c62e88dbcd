"""Settings of all tests: property tests have no time limit an example, since other work shares the machine."""

from hypothesis import settings

settings.register_profile("irc", deadline=None, max_examples=60)
settings.load_profile("irc")
