"""PF409: a stretch of 16 bits between f32 neighbors, too cheap for its conversions."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import DType
from perfc.review.lint.rule import Finding, Rule, Subject

from .cast_chain import dtype_of
from .fp32_island import HALF, WIDE, described, islands, stored_as, without_casts


class HalfIsland(Rule):
    """A few cheap operators between a conversion to 16 bits and the conversion back.

    What it does:
        Follows the results of a Cast from f32 to f16 or bf16 up to the conversions back. Reports
        the operators in between if all their inputs come from such casts or are stored. The gain
        is that of the module without the conversions, with operators and stored tensors in f32.
        It is reported only if that is faster, which excludes most matrix products.

    Why is this bad:
        Each conversion that is not fused is a separate kernel that reads the tensor in one type
        and writes it in the other. An elementwise operator saves less than that in 16 bits, and
        loses precision.

    Example:
        y = Cast(Relu(Cast(x_f32, to=FLOAT16)), to=FLOAT)

    Use instead:
        y = Relu(x_f32)

    Source:
        Micikevicius et al. 2018, arXiv:1710.03740, section 3; ONNX Cast-25.
    """

    code = "PF409"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield islands among the executed nodes."""
        for ups, inside, downs in islands(subject, WIDE, HALF):
            stored_wide = stored_as(inside, DType.F32, HALF)
            shape_key = (self.code, subject.shape_key((*ups, *inside)))
            edits = without_casts((*ups, *downs), inside, stored_wide)
            gain = subject.rewriting(edits, shape_key, tuple(stored_wide.values()))
            if gain is None or gain.time_s <= 0:
                continue
            half = dtype_of(ups[0].results[0])
            yield self.finding(
                f"{described(inside, str(half))} between f32 neighbors",
                "compute in f32, or the neighbors in 16 bits too",
                nodes=(*inside, *ups, *downs),
                gain=gain,
            )
