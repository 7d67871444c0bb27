"""Texts with a picture and coherence relations, out of tables of annotations."""
