# SPDX-License-Identifier: MIT
"""Distributions in images, for importlib.metadata."""
from __future__ import annotations

import importlib.metadata
import pkgutil
import re
import sys
from types import ModuleType
from typing import Any, Iterator

from ._importer import Finder


def _plain_name(name: str) -> str:
    """The name of a distribution as it is compared: "Some.Name" is "some_name"."""
    return re.sub(r"[-_.]+", "_", name).lower()


class _Distributions(importlib.metadata.DistributionFinder):
    """Finds distributions in images for importlib.metadata, which only asks sys.meta_path."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> None:
        """No module: those are found by way of sys.path_hooks."""

    def find_distributions(self, context: Any = importlib.metadata.DistributionFinder.Context()
                           ) -> Iterator[importlib.metadata.Distribution]:
        """Those in all images of the path, or only those with the name."""
        for entry in context.path:
            finder = (sys.path_importer_cache[entry] if entry in sys.path_importer_cache
                      else pkgutil.get_importer(entry))
            for path in finder._directory.iterdir() if isinstance(finder, Finder) else ():
                if path.suffix in (".dist-info", ".egg-info") and (
                        context.name is None
                        or _plain_name(path.stem.partition("-")[0]) == _plain_name(context.name)):
                    yield importlib.metadata.PathDistribution(path)


def enable_distributions() -> None:
    """Let importlib.metadata find distributions in images that are entries of sys.path."""
    if not any(isinstance(finder, _Distributions) for finder in sys.meta_path):
        sys.meta_path.append(_Distributions())
