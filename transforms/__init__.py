"""The compiler: a module's source in; instrumented source, a plan, and what an edit changed out.

Pure: no torch, no I/O, no clock. Every step is a function of its input with a frozen dataclass behind it.

Source to running code, in this order (``instrument.py`` is the door in, ``code.py`` the door out):
    quiet.py       parse and check as Python does; formfeed.py works round a fault of libcst
    compiled.py    which functions a compiler runs (TorchScript, Dynamo, Numba): left alone
    blocks.py      the loops, their ids, which get a guard; with refusal.py (why not), scope.py,
                   names.py (what a loop rebinds), definite.py (what is bound before it)
    regions.py     the statement lists whose execution a record marks
    shape.py       the text of a guard; rewrite.py puts it into the libcst tree
    positions.py   the original positions on the new syntax tree, and the proof that both are one program
    marks.py       the marks, in the syntax tree alone
    hide.py        calls of locals(), dir() and the like, which must not tell of guards
    plan.py        LoopPlan, Region, Plan: what was decided

What a loop may change, for ``explain`` and for the isolation of probes:
    effects.py     fills ``changes`` and ``calls`` of a plan; below it index.py (scopes), summaries.py,
                   walker.py, calls.py (statements and calls), store.py, values.py (what is known so far)
    knowledge.py   what names of Python and of libraries mean; knowledge_tables.py holds the lists
    explain.py     the plan in words, with advice.py

The recorded source against the edited one (``match.py`` is the door):
    statements.py, align.py, pairing.py   which statement is which
    judging.py, observe.py and their kin  what an added statement may do
    between.py, handed.py, settled.py     what added lines have from an earlier iteration; what added
                                          functions and modules keep; what no iteration changes
    when.py, decide.py                    when an added `if` shows anything; whether it does for given values
    probes.py                             Probe, Change, Match: what was found
"""

from .between import reads_of
from .code import full_text, to_code
from .decide import last_showing, may_show
from .effects import loop_effects
from .explain import explain, explain_data
from .handed import Added, added_statements
from .instrument import Instrumented, instrument
from .match import match
from .plan import MODULE_REGION, LoopPlan, Plan, Region
from .probes import Change, Match, Probe
from .when import Target, When

__all__ = [
    "MODULE_REGION",
    "Added",
    "Change",
    "Instrumented",
    "LoopPlan",
    "Match",
    "Plan",
    "Probe",
    "Region",
    "Target",
    "When",
    "added_statements",
    "explain",
    "explain_data",
    "full_text",
    "instrument",
    "last_showing",
    "loop_effects",
    "match",
    "may_show",
    "reads_of",
    "to_code",
]
