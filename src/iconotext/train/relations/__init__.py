"""Training the relation model: how a text and an image relate, from published labels."""
