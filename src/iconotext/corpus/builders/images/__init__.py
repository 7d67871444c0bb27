"""Picture files of a data set: found, fetched, looked at and compared."""
