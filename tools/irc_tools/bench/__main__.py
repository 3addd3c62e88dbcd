"""`python -m irc_tools.bench`."""

import sys

from irc_tools.bench.command import main

sys.exit(main())
