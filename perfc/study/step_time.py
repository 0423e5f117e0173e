"""Earlier place of `perfc.serving.step_time`; its names still import from here."""

from perfc.common.first_use import first_use

_NAMES = ("SglangTimePredictor", "StepPredictor", "step_predictor", "vllm_step_time")
__getattr__ = first_use("perfc", dict.fromkeys(_NAMES, ".serving.step_time"))
