"""Regions of pictures and the concepts seen in them: from a grid, a detector, or files that other programs wrote."""

from iconotext.features.regions.grid import GRID, grid_boxes, grid_regions
from iconotext.features.regions.regions import Regions, RegionSource, strongest

__all__ = ["GRID", "RegionSource", "Regions", "grid_boxes", "grid_regions", "strongest"]
