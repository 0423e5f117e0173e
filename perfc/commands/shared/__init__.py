"""Options and output that commands share."""
