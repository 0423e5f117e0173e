"""What is known of a kernel and a machine before anything is learned: columns, sheets, scales."""
