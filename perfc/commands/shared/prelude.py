"""Re-exports of the options, output and help that most commands use, to be imported from here."""

from __future__ import annotations

from .deployment import (
    DeploymentOptions,
    config_option,
    deployment_options,
    flag_of,
    model_options,
    new_values,
    new_values_option,
)
from .deployment_option import by_default, reads
from .document import present, show_document
from .help import DefaultGroup, GroupedCommand, grouped_command
from .listing import examples
from .names import Names, Nodes
from .options import (
    AUTO,
    names_in,
    parse_dims,
    print_after_option,
    read_model,
)
from .output import (
    OutputFile,
    deliver,
    emit,
    format_options,
    output_format,
    output_option,
    result_options,
)
from .report import (
    PIPED_WIDTH,
    UNSET,
    color_option,
    is_colorful,
    parse_top,
    parse_views,
    show,
)

__all__ = [
    "AUTO",
    "PIPED_WIDTH",
    "UNSET",
    "DefaultGroup",
    "DeploymentOptions",
    "GroupedCommand",
    "Names",
    "Nodes",
    "OutputFile",
    "by_default",
    "color_option",
    "config_option",
    "deliver",
    "deployment_options",
    "emit",
    "examples",
    "flag_of",
    "format_options",
    "grouped_command",
    "is_colorful",
    "model_options",
    "names_in",
    "new_values",
    "new_values_option",
    "output_format",
    "output_option",
    "parse_dims",
    "parse_top",
    "parse_views",
    "present",
    "print_after_option",
    "read_model",
    "reads",
    "result_options",
    "show",
    "show_document",
]
