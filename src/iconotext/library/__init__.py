"""A library of pictures, and searching it by sentence, picture and coherence relation."""
