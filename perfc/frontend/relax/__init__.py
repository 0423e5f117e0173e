"""Relax modules of TVM, from the JSON that ``tvm.ir.save_json`` writes; TVM is not needed."""
