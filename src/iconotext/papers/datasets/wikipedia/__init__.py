"""The Wikipedia collection of ImageCLEF and its markup."""
