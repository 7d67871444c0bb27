"""Alternative texts: finds pictures without one, and those whose text does not help readers."""
