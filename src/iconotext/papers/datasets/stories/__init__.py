"""What the data sets of visual stories share."""
