"""Type inference: shapes, strides and the numbers of symbols."""
