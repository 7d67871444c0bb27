"""Decode pictures on threads, a little ahead of the network that looks at them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched_compat as batched  # placeholder
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
