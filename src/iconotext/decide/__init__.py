"""From evidence to links: weights, probabilities, the links that are shown, and promises about them."""
