"""Trains the relation model, which predicts how a text and an image relate, from published labels."""
