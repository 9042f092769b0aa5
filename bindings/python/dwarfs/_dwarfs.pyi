# SPDX-License-Identifier: MIT
# The C API as SWIG makes it; the modules around it are the typed ones.
from typing import Any

def __getattr__(name: str) -> Any: ...
