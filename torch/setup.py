# SPDX-License-Identifier: BSD-3-Clause
"""Builds torch_coll for the torch of this Python, with the libcoll that pkg-config knows."""
import os
import subprocess

from setuptools import setup
from torch import __version__ as torch_version
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = os.path.dirname(os.path.abspath(__file__))
# Since 2.0 torch chooses the standard that its headers need.
STANDARD = ["-std=c++17"] if torch_version.startswith("1.") else []


def libcoll(*words):
    try:
        done = subprocess.run(["pkg-config", *words, "libcoll"], check=True, capture_output=True, text=True)
        return done.stdout.split()
    except (OSError, subprocess.CalledProcessError) as problem:
        raise SystemExit("torch_coll needs pkg-config and an installed libcoll; if that is not in a standard place, "
                         f"let PKG_CONFIG_PATH name its lib/pkgconfig ({problem})") from None


def link_options():
    """libcoll by the loader's own search, or where pkg-config has found it."""
    folder = libcoll("--variable=libdir")[0]
    standard = ("/usr/lib", "/lib", "/usr/local/lib")
    return [*libcoll("--libs"), *([] if folder.startswith(standard) else [f"-Wl,-rpath,{folder}"])]


setup(
    ext_modules=[CppExtension(
        "torch_coll._C",
        sorted(os.path.join("csrc", name) for name in os.listdir(os.path.join(HERE, "csrc")) if name.endswith(".cc")),
        extra_compile_args=["-O2", "-g0", *STANDARD, *libcoll("--cflags")],
        extra_link_args=link_options(),
    )],
    cmdclass={"build_ext": BuildExtension},
)
