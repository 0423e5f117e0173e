"""Elementwise functions of PyTorch without an operator of ONNX."""

from __future__ import annotations

from ... import DType
from .elementwise import pointwise

Copy = pointwise("copy", "aten::copy", "X", "Elements written to another place", alu=0)
Complex = pointwise("complex", "aten::complex", "real imag", "``a + b*i``", alu=0, result=DType.C64)
Polar = pointwise(
    "polar", "aten::polar", "abs angle", "``a * exp(b*i)``", alu=2, sfu=2, result=DType.C64
)
LogAddExp = pointwise(
    "logaddexp", "aten::logaddexp", "A B", "``log(exp(a) + exp(b))``", alu=4, sfu=2
)
Hypot = pointwise("hypot", "aten::hypot", "A B", "``sqrt(a*a + b*b)``", alu=3, sfu=1)
Xlogy = pointwise("xlogy", "aten::xlogy", "A B", "``a * log(b)``", sfu=1)
Logit = pointwise("logit", "aten::logit", "X", "``log(x / (1 - x))``", sfu=2)
Sinc = pointwise("sinc", "aten::sinc", "X", "``sin(pi*x) / (pi*x)``", sfu=2)
Lgamma = pointwise("lgamma", "aten::lgamma", "X", "Logarithm of the gamma function", alu=0, sfu=1)
Digamma = pointwise("digamma", "aten::digamma", "X", "Its derivative", alu=0, sfu=1)
Erfinv = pointwise("erfinv", "aten::erfinv", "X", "Inverse of the error function", alu=0, sfu=1)
BesselI0 = pointwise("bessel_i0", "aten::i0", "X", "Modified Bessel function", alu=0, sfu=1)
HardShrink = pointwise("hard_shrink", "aten::hardshrink", "X", "0 for small elements", alu=2)
SoftShrink = pointwise("soft_shrink", "aten::softshrink", "X", "Elements closer to 0", alu=3)
Cross = pointwise("cross", "aten::cross", "A B", "Vector product of triples", alu=3)
SmoothL1 = pointwise(
    "smooth_l1",
    "aten::smooth_l1_loss",
    "A B",
    "Squares of small differences, else magnitudes",
    alu=6,
)
Huber = pointwise("huber", "aten::huber_loss", "A B", "The same, scaled", alu=6)
BinaryCrossEntropy = pointwise(
    "binary_cross_entropy",
    "aten::binary_cross_entropy",
    "P T",
    "``-(t*log(p) + (1 - t)*log(1 - p))``",
    alu=6,
    sfu=2,
)
LogitsCrossEntropy = pointwise(
    "logits_cross_entropy",
    "aten::binary_cross_entropy_with_logits",
    "X T",
    "The same of ``sigmoid(x)``: ``(1 - t)*x + max(-x, 0) + log1p(exp(-|x|))``",
    alu=7,
    sfu=2,
)
KlDiv = pointwise("kl_div", "aten::kl_div", "X T", "``t * (log(t) - x)``", alu=2, sfu=1)
Frac = pointwise("frac", "aten::frac", "X", "``x - trunc(x)``", alu=2)
Copysign = pointwise("copysign", "aten::copysign", "A B", "``a`` with the sign of ``b``")
Heaviside = pointwise("heaviside", "aten::heaviside", "X values", "Step function", alu=2)
Nextafter = pointwise("nextafter", "aten::nextafter", "A B", "Next number toward ``b``")
IsClose = pointwise(
    "is_close", "aten::isclose", "A B", "``|a - b| <= atol + rtol*|b|``", alu=5, result=DType.BOOL
)
Entropy = pointwise("entropy", "aten::entr", "X", "``-x * log(x)``", alu=2, sfu=1)
Ndtr = pointwise("ndtr", "aten::ndtr", "X", "Area below the normal curve", alu=3, sfu=1)
LogNdtr = pointwise("log_ndtr", "aten::log_ndtr", "X", "Logarithm of that area", alu=3, sfu=2)
BesselI1 = pointwise("bessel_i1", "aten::i1", "X", "Modified Bessel function", alu=0, sfu=1)
Polygamma = pointwise("polygamma", "aten::polygamma", "X", "Derivative of digamma", alu=0, sfu=1)
SoftMargin = pointwise(
    "soft_margin", "aten::soft_margin_loss", "X T", "``log(1 + exp(-t*x))``", alu=3, sfu=2
)
PoissonNll = pointwise(
    "poisson_nll", "aten::poisson_nll_loss", "X T", "``exp(x) - t*x``", alu=2, sfu=1
)
