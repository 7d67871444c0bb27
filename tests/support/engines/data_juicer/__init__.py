"""Data-Juicer: an operator is a registered class; ``process_batched`` takes a mapping of lists and returns one."""
