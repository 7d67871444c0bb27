"""Stage 3, features → unit vectors in the joint space: the encoders that are trained."""
