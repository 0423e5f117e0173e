"""Commands, one file each: ``perfc/commands/ir.py`` is ``perfc ir``, loaded when called."""
