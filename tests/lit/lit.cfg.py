"""Configuration of lit for irc's FileCheck tests. Run by `make test`, or for one folder: `.venv/bin/lit tests/lit/nd`."""

import os
import sys
from pathlib import Path

import lit.formats

sys.path.insert(0, str(Path(__file__).parent))
from served import serve

config.name = "irc"  # noqa: F821  (lit defines `config`)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".irc", ".test"]  # noqa: F821
config.excludes = ["lit.cfg.py", "served.py"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = str(Path(__file__).parents[2] / "build" / "lit")  # noqa: F821

# lit starts commands in an environment of its own: the commands of the Python that runs lit come first, so that tests use
# the irc beside it; the rest is what a home folder and a cache need.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # noqa: F821
config.environment["FILECHECK_OPTS"] = ""  # noqa: F821
config.environment["IRC_TUNED"] = "off"  # noqa: F821  (what somebody tuned is nobody else's)
config.environment["IRC_REPRODUCERS"] = "off"  # noqa: F821
for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "LANG", "PYTHONPATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821

examples = Path(__file__).parents[2] / "examples"
config.substitutions.append(("%examples", str(examples)))  # noqa: F821

# Tests of what the commands do, in `tools`, run the commands themselves.
config.commands = config.environment["PATH"]  # noqa: F821
if hasattr(os, "fork"):
    served = serve(dict(config.environment))  # noqa: F821
    config.environment["PATH"] = os.pathsep.join([served, config.commands])  # noqa: F821
