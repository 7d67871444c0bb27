"""Stage 3: from features to unit vectors in the joint space. These encoders are trained."""
