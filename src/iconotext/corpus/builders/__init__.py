"""Documents out of data that has none: one file for each data set or kind of it."""
