#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unload.py LIBRARY: the library stays in the process after dlclose(), because a thread of it may sleep there."""
import _ctypes
import ctypes
import os
import sys

RTLD_NOLOAD = 4

library = os.path.realpath(sys.argv[1])
handle = ctypes.CDLL(library)._handle
_ctypes.dlclose(handle)
try:
    ctypes.CDLL(library, mode=RTLD_NOLOAD | os.RTLD_NOW)
except OSError:
    sys.exit(f"{library} has been unloaded; link it with -z nodelete")
