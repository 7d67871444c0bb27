"""Regions of pictures and the concepts in them: from a grid, a detector, or files of other programs."""

from iconotext.features.regions.grid import GRID, grid_boxes, grid_regions
from iconotext.features.regions.regions import Regions, RegionSource, strongest

__all__ = ["GRID", "RegionSource", "Regions", "grid_boxes", "grid_regions", "strongest"]
