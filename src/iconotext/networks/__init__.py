"""The networks of the encoders, from features or pixels to vectors; some are trained, some run in 8 bits."""
