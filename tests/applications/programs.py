# SPDX-License-Identifier: BSD-3-Clause
"""The programs that run.py runs, as Debian packages them: how each is started, and which of its output are results."""
import dataclasses
import glob
import os
import re
import shutil

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    package: str                 # Debian's, of which it is a part
    words: tuple                 # the program and its arguments, in a directory of its own with `inputs`
    mpi: str                     # that the program is linked with: mpirun.LAUNCHERS
    results: str                 # a regular expression of the lines that are results; groups, if any, are what counts
    inputs: tuple = ()           # files in inputs/
    tolerance: float = 0.0       # of numbers in results, relative; ranks add in another order with libcoll
    ranks: int | None = None     # another number than the others
    variables: tuple = ()        # pairs for the environment of the ranks
    data: str = ""               # files that it expects in its directory: a pattern of paths

    def results_of(self, output):
        """Returns the results as text, in their order."""
        found = re.findall(self.results, output, re.MULTILINE)
        return [" ".join(one) if isinstance(one, tuple) else one for one in found]


def same(program, one, other):
    """Whether two results are the same but for rounding: the words between the numbers are equal."""
    if one == other:
        return True
    if re.sub(NUMBER, "#", one) != re.sub(NUMBER, "#", other):
        return False
    pairs = zip(re.findall(NUMBER, one), re.findall(NUMBER, other))
    values = [tuple(float(word.upper().replace("D", "E")) for word in pair) for pair in pairs]
    return all(abs(a - b) <= program.tolerance * max(abs(a), abs(b)) for a, b in values)


# The verdicts of unittest, but for the time.
UNITTEST = r"^(?:\[\w+@[^]]*\] )?((?:Ran \d+ tests|OK|FAILED|FAIL:|ERROR:)(?: \(.*\)| \w.*\))?)"


def scalapack(mpi):
    """ScaLAPACK's own tests: those of Debian's directory for this MPI. Their verdicts count, not their rates."""
    directory = f"/usr/lib/{os.uname().machine}-linux-gnu/scalapack/{mpi}-tests"
    # MPICH's ranks poll: more than there are cores take minutes.
    ranks = 4 if mpi == "openmpi" or len(os.sched_getaffinity(0)) >= 4 else 2
    verdicts = r"^ *(?:.*\b(PASSED|FAILED|passed|failed|SUSPECT)\b.*| *(\d+) tests (completed|skipped).*)$"
    # PBLAS's are in a directory of their own as well, beside their data. BLACS's (x[CF]btest) end by MPI_Abort().
    paths = glob.glob(f"{directory}/x[a-z]*") + glob.glob(f"{directory}/PBLAS/x*")
    found = {os.path.basename(path): path for path in paths}
    return [Program(f"scalapack {name}", "scalapack-mpi-test", (path,), mpi, verdicts, ranks=ranks,
                    data=f"{os.path.dirname(path)}/*.dat")
            for name, path in sorted(found.items())]


def python(name, package, script, module):
    """A script that imports `module`, which is linked with Open MPI."""
    return Program(name, package, ("python3", script), "openmpi", r"^\w+: .*$", (script,), 1e-7)


def programs(mpi4py=None):
    """Returns all programs, installed or not. `mpi4py`: the directory of its sources, with its tests."""
    made = [
        Program("lammps", "lammps", ("lmp", "-in", "melt.lammps"), "openmpi", rf"^ +\d+(?: +{NUMBER}){{5}} *$",
                ("melt.lammps",), 1e-6),
        Program("cp2k", "cp2k", ("cp2k.psmp", "-i", "water.cp2k"), "openmpi",
                r"^ ENERGY\| Total FORCE_EVAL.*$|^ MD\| (?:Conserved|Potential|Kinetic).*$", ("water.cp2k",), 1e-7),
        Program("espresso", "quantum-espresso", ("pw.x", "-in", "silicon.pw"), "openmpi",
                r"^! +total energy.*$|^ +Total force = +\S+|^ +atom +\d+ type.*$|^ +total +stress .*$",
                ("silicon.pw", "si.gth"), 1e-6),
        python("petsc", "python3-petsc4py", "poisson.py", "petsc4py"),
        python("slepc", "python3-slepc4py", "eigenvalues.py", "slepc4py"),
    ]
    for mpi in ("openmpi", "mpich"):
        made.append(Program("nwchem", f"nwchem-{mpi}", (f"nwchem.{mpi}", "water.nwchem"), mpi,
                            r"^ +(?:Total \w+ energy|.*MP2 energy).*$", ("water.nwchem",), 1e-7))
        made += scalapack(mpi)
    if mpi4py:
        suite = next(one for one in ("main.py", "runtests.py") if (mpi4py / "test" / one).exists())
        words = ("python3", "-B", str(mpi4py / "test" / suite), "--exclude", "spawn", "--exclude", "dynproc")
        made.append(Program("mpi4py", "python3-mpi4py", words, "openmpi", UNITTEST))
    return made


def installed(program):
    """The path of what is started, or None."""
    return shutil.which(program.words[0])
