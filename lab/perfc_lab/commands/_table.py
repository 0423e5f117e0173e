"""Options of the laboratory's commands, which ``_table.toml`` declares."""

from functools import partial

from perfc.commands.shared.table import table_options
from perfc.common.fitted import data_next_to

# options of a command by its name in the table next to this file
lab_options = partial(table_options, table=data_next_to(__file__))
