"""The two kinds of ops that most are: those of dialects derive from them. Properties stand in the attribute
dictionary."""

from __future__ import annotations

from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure


class PureOp(IRDLOperation):
    """An op that gives its results and has no effect: it is removed where they are not used, and equal ones merge."""

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)


class EffectOp(IRDLOperation):
    """An op that reads and writes memory or orders accesses: it is neither removed, merged nor moved over another."""

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
