"""Names of operators, element types and options. Source: tensorflow/lite/schema/schema.fbs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..lowering.elements import DataType

# in the order of BuiltinOperator
_NAMES = """ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
    EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
    LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1
    RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM
    CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
    SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
    BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM
    CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE
    SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE
    POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT
    UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE
    RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL
    REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE
    MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
    SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER CUMSUM CALL_ONCE BROADCAST_TO
    RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE
    REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS
    RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE
    RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
    UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT"""
OPERATORS: tuple[str, ...] = tuple(_NAMES.split())
"""Operators by their code; later codes are those of `LATER`."""
LATER: Mapping[int, str] = {203: "DILATE", 206: "STABLEHLO_COMPOSITE"}
"""Operators with later codes that are not called by their number."""
CUSTOM = OPERATORS.index("CUSTOM")
"""Code of operators outside the schema, whose name the file has as text."""
PLACEHOLDER = OPERATORS.index("PLACEHOLDER")
"""Code in the old field of one byte where the code is too large for it: see the new field."""

# in the order of TensorType; RESOURCE and VARIANT have no ONNX type
_TYPES = """FLOAT FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 DOUBLE COMPLEX128
    UINT64 UNDEFINED UNDEFINED UINT32 UINT16 INT4 BFLOAT16 INT2 UINT4"""
ELEMENT_TYPES = tuple(DataType[name] for name in _TYPES.split())
"""ONNX element types by ``TensorType``."""

# `_` is a field that no lowering reads, `?` a truth value, `b` an enum of a byte, `i` an int32
_OPTIONS = """
CONV_2D padding:b stride_w:i stride_h:i activation:b dilation_w:i dilation_h:i
DEPTHWISE_CONV_2D padding:b stride_w:i stride_h:i multiplier:i activation:b dilation_w:i
    dilation_h:i
TRANSPOSE_CONV padding:b stride_w:i stride_h:i activation:b
CONV_3D padding:b stride_d:i stride_w:i stride_h:i activation:b dilation_d:i dilation_w:i
    dilation_h:i
AVERAGE_POOL_2D padding:b stride_w:i stride_h:i filter_w:i filter_h:i activation:b
MAX_POOL_2D padding:b stride_w:i stride_h:i filter_w:i filter_h:i activation:b
FULLY_CONNECTED activation:b format:b keep:?
BATCH_MATMUL adj_x:? adj_y:?
ADD activation:b
SUB activation:b
MUL activation:b
DIV activation:b
L2_NORMALIZATION activation:b
LOCAL_RESPONSE_NORMALIZATION radius:i bias:f alpha:f beta:f
CONCATENATION axis:i activation:b
MEAN keep:?
SUM keep:?
REDUCE_MAX keep:?
REDUCE_MIN keep:?
REDUCE_PROD keep:?
REDUCE_ANY keep:?
REDUCE_ALL keep:?
STRIDED_SLICE begin:i end:i ellipsis:i new:i shrink:i
GATHER axis:i batch:i
PACK count:i axis:i
UNPACK count:i axis:i
LEAKY_RELU alpha:f
GELU approximate:?
CUMSUM exclusive:? reverse:?
RESIZE_BILINEAR _ _ aligned:? half:?
RESIZE_NEAREST_NEIGHBOR aligned:? half:?
UNIDIRECTIONAL_SEQUENCE_LSTM _ _ _ time_major:?
SVDF rank:i activation:b
DEPTH_TO_SPACE block:i
SPACE_TO_DEPTH block:i
ONE_HOT axis:i
MIRROR_PAD mode:b
IF then:i else:i
WHILE cond:i body:i
STABLEHLO_COMPOSITE _ body:i
FAKE_QUANT min:f max:f
"""
OPTIONS: Mapping[str, str] = dict(re.findall(r"(?m)^(\w+) ((?:.|\n )+)", _OPTIONS))
"""Fields of the options of an operator in the order of the schema, with formats of `struct`."""
ACTIVATIONS: tuple[str, ...] = ("", "Relu", "Clip -1 1", "Clip 0 6", "Tanh", "Sign")
"""Operators of ONNX by ``ActivationFunctionType``, with their bounds."""
