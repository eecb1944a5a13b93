"""The compiler."""

from .code import full_text, to_code
from .instrument import Instrumented, instrument
from .light import is_light
from .plan import LoopPlan, Plan, Region

__all__ = ["Instrumented", "LoopPlan", "Plan", "Region", "full_text", "instrument", "is_light", "to_code"]
