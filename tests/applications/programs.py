# SPDX-License-Identifier: BSD-3-Clause
"""The programs that run.py runs, as Debian packages them: how each is started, and which of its output are results."""
import dataclasses
import glob
import os
import re
import shutil
import subprocess

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    package: str             # Debian's, of which it is a part
    words: tuple             # the program and its arguments, in a directory of its own with `inputs`
    mpi: str                 # that the program is linked with: mpirun.LAUNCHERS
    results: str             # a regular expression of what is a result; groups, if any, are what counts
    inputs: tuple = ()       # files in inputs/
    failures: str = ""       # those results that say that the program, a test, has failed
    tolerance: float = 0.0   # of numbers in results, relative; ranks add in another order with libcoll
    ranks: int | None = None  # another number than the others
    data: str = ""           # files that it expects in its directory: a pattern of paths
    module: str = ""         # of Python, without which it is not installed
    ordered: bool = True     # the results come in the same order each time
    statuses: tuple = (0,)   # with which it may end

    def results_of(self, output):
        """Returns the results as text."""
        found = re.findall(self.results, output, re.MULTILINE)
        lines = [" ".join(" ".join(one).split() if isinstance(one, tuple) else one.split()) for one in found]
        return lines if self.ordered else sorted(lines)

    def is_installed(self):
        if shutil.which(self.words[0]) is None:
            return False
        return not self.module or subprocess.run([self.words[0], "-c", f"import {self.module}"],
                                                 capture_output=True, check=False).returncode == 0


def value(word):
    """Returns a number, and by how much rounding may change its last digit: a whole number is not rounded."""
    mantissa, _, exponent = word.upper().replace("D", "E").partition("E")
    digits = len(mantissa.partition(".")[2])
    return float(mantissa + "E" + (exponent or "0")), 10.0 ** (int(exponent or 0) - digits) if "." in mantissa else 0.0


def same(program, one, other):
    """Whether two results are the same but for rounding: the words between the numbers are equal."""
    if one == other:
        return True
    if program.tolerance == 0 or re.sub(NUMBER, "#", one) != re.sub(NUMBER, "#", other):
        return False
    for words in zip(re.findall(NUMBER, one), re.findall(NUMBER, other)):
        (a, unit), (b, other_unit) = map(value, words)
        if abs(a - b) > max(program.tolerance * max(abs(a), abs(b)), 1.01 * max(unit, other_unit)):
            return False
    return True


def scalapack(mpi):
    """The tests of ScaLAPACK and the PBLAS: those of Debian's directory for this MPI. Their verdicts count, not their
    rates. Those of the BLACS (x[CF]btest) are left out, since they end by MPI_Abort()."""
    directory = f"/usr/lib/{os.uname().machine}-linux-gnu/scalapack/{mpi}-tests"
    # MPICH's ranks poll: more than there are cores take minutes.
    ranks = 4 if mpi == "openmpi" or len(os.sched_getaffinity(0)) >= 4 else 2
    verdicts = r"(\d+ tests (?:completed|skipped).*)|\b(PASSED|FAILED|passed|failed|SUSPECT)\b"
    paths = glob.glob(f"{directory}/x[a-z]*") + glob.glob(f"{directory}/PBLAS/*tst")
    failures = r"^(?:FAILED|failed|SUSPECT)$|^[1-9]\d* tests .* failed"
    return [Program(f"scalapack {os.path.basename(path)}", "scalapack-mpi-test", (path,), mpi, verdicts, ranks=ranks,
                    data=f"{os.path.dirname(path)}/*.dat", failures=failures)
            for path in sorted(paths)]


def python(name, module, script, lines):
    """A script, on a matrix of laplacian.py, whose results begin with these words. Debian's modules are linked with Open MPI."""
    return Program(name, f"python3-{module}", ("python3", script), "openmpi", rf"^(?:{lines}): .*$",
                   (script, "laplacian.py"), tolerance=1e-7, module=module)


def mpi4py_suite(sources):
    """The tests of mpi4py, but those that start processes. Both ranks print; a test that fails is a result."""
    suite = next(path for name in ("main.py", "runtests.py") if (path := sources / "test" / name).exists())
    words = ("python3", "-B", str(suite), "-e", "spawn", "-e", "dynproc")  # mpi4py 4 has no --exclude
    verdicts = r"(Ran \d+ tests)|^(?:\[\w+@[^]]*\] )?(OK(?: \(.*\))?|FAILED \(.*\)|(?:FAIL|ERROR): .*)$"
    return Program("mpi4py", "python3-mpi4py", words, "openmpi", verdicts, module="mpi4py", ordered=False,
                   statuses=(0, 1))


def programs(mpi4py=None):
    """Returns all programs, installed or not. `mpi4py`: the directory of its sources, with its tests."""
    made = [
        Program("lammps", "lammps", ("lmp", "-in", "melt.lammps"), "openmpi", rf"^ +\d+(?: +{NUMBER}){{5}} *$",
                ("melt.lammps",), tolerance=1e-6),
        Program("cp2k", "cp2k", ("cp2k.psmp", "-i", "water.cp2k"), "openmpi",
                r"^ ENERGY\| Total FORCE_EVAL.*$|^ MD\| (?:Conserved|Potential|Kinetic).*$", ("water.cp2k",), tolerance=1e-7),
        Program("espresso", "quantum-espresso", ("pw.x", "-in", "silicon.pw"), "openmpi",
                r"^! +total energy.*$|^ +Total force = +\S+|^ +atom +\d+ type.*$|^ +total +stress .*$",
                ("silicon.pw", "si.gth"), tolerance=1e-6),
        python("petsc", "petsc4py", "poisson.py", "jacobi|bjacobi|asm"),
        python("slepc", "slepc4py", "eigenvalues.py", "krylovschur|arnoldi|lobpcg"),
    ]
    for mpi in ("openmpi", "mpich"):
        made.append(Program("nwchem", f"nwchem-{mpi}", (f"nwchem.{mpi}", "water.nwchem"), mpi,
                            r"^ +(?:Total \w+ energy|.*MP2 energy).*$", ("water.nwchem",), tolerance=1e-7))
        made += scalapack(mpi)
    return made + ([mpi4py_suite(mpi4py)] if mpi4py else [])
