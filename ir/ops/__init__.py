"""Operators, one file a family; a file is loaded when one of its operators is first looked up."""
