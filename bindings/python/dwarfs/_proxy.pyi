# SPDX-License-Identifier: MIT
# Classes of the handles, made by SWIG; nothing in it is used by name.
