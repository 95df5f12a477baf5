#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each fault in a small tree and checks that check.py names it, and nothing where nothing is wrong."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import layers

CHECK = pathlib.Path(__file__).with_name("check.py")
BSD = "// SPDX-License-" "Identifier: BSD-3-Clause\n"
GPL = "// SPDX-License-" "Identifier: GPL-2.0\n"
README = "# what lives here\n"


class CheckTest(unittest.TestCase):
    def check(self, files):
        """Exit status and lines of check.py over a tree of {path: text}."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            # Not a git checkout: the unpacked-archive way of finding files is used here, git's by the tree itself.
            result = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
            self.assertIn("not checked: subjects of commits, because not a git checkout", result.stderr)
            return result.returncode, result.stdout

    def assert_clean(self, files):
        self.assertEqual(self.check(files), (0, "layers, licences, lengths, READMEs, prose and commits: all in order\n"))

    def assert_fault(self, files, expected):
        status, text = self.check(files)
        self.assertEqual(status, 1, text)
        self.assertIn(expected, text)
        self.assertEqual(len(text.splitlines()), 1, text)

    def include(self, path, line):
        return {path: BSD + line + "\n", str(pathlib.PurePosixPath(path).parent / "README.md"): README}

    def test_arrows_of_the_design_pass(self):
        for path, line in (
            ("lib/algo/a.cc", '#include "plan/plan.h"'),
            ("lib/comm/a.cc", '#include "sync/flag.h"'),
            ("lib/api/a.cc", '#include "comm/comm.h"'),
            ("lib/mem/a.cc", '#include "coll/coll.h"'),
            ("lib/mem/a.cc", '#include "mem/copy.h"'),
            ("lib/mpi/a.cc", "#include <mpi.h>"),
            ("lib/topo/hwloc.cc", "#include <hwloc.h>"),
            ("lib/transport/kcoll.cc", "#include <uapi/kcoll.h>"),
            ("tools/plan.cc", '#include "plan/plan.h"'),
            ("tools/plan/plan.cc", '#include "tools/common/text.h"'),
            ("bench/a.cc", "#include <mpi.h>"),
            ("include/coll/coll.hpp", "#include <coll/coll.h>"),
        ):
            with self.subTest(path=path, line=line):
                self.assert_clean(self.include(path, line))

    def test_arrows_against_the_design_are_named(self):
        for path, line, fault in (
            ("lib/plan/a.cc", '#include "topo/place.h"', "lib/plan/a.cc:2: plan may not include topo/"),
            ("lib/sync/a.h", '#include "mem/copy.h"', "sync may not include mem/"),
            ("lib/exec/a.cc", '#include "comm/comm.h"', "exec may not include comm/"),
            ("lib/transport/a.cc", '#  include "plan/plan.h"', "transport may not include plan/"),
            ("lib/mpi/a.cc", '#include "comm/comm.h"', "mpi may not include comm/"),
            ("tools/a.cc", '#include "mpi/library.h"', "tools may not include mpi/"),
            ("tools/a.cc", '#include "sync/flag.h"', "tools may not include sync/"),
            ("lib/topo/draw.cc", "#include <hwloc.h>", "<hwloc.h> belongs to lib/topo/hwloc.cc alone"),
            ("lib/topo/draw.cc", "#include <hwloc/linux.h>", "<hwloc/linux.h> belongs to"),
            ("lib/comm/a.cc", "#include <mpi.h>", "<mpi.h> belongs to lib/mpi/ alone"),
            ("lib/comm/a.cc", '#include "uapi/kcoll.h"', "lib/comm may not know the kernel interface"),
            ("lib/plan/a.cc", '#include "plan.h"', "write includes from lib/"),
            ("lib/plan/a.cc", '#include "../plan/plan.h"', "write includes from lib/"),
            ("lib/sync/a.cc", '#include "tools/command.h"', "sync may not include tools/"),
            ("tools/plan/a.cc", '#include "text.h"', 'write includes from the root ("tools/plan/text.h")'),
            ("tools/plan/a.cc", '#include "../command.h"', "write includes from the root"),
            ("lib/novel/a.cc", "", "lib/novel is not in the table"),
            ("include/coll/coll.h", '#include "plan/plan.h"', "a public header may not include plan/plan.h"),
        ):
            with self.subTest(path=path, line=line):
                self.assert_fault(self.include(path, line), fault)

    def test_licences_by_directory(self):
        note = "/* SPDX-License-" "Identifier: GPL-2.0 WITH Linux-syscall-note */\n"
        self.assert_clean({"include/uapi/kcoll.h": note, "kmod/main.c": GPL, "kmod/README.md": README, "Makefile": BSD})
        self.assert_fault({"include/uapi/kcoll.h": GPL}, "licence GPL-2.0, expected here: GPL-2.0")
        self.assert_fault({"kmod/main.c": BSD, "kmod/README.md": README}, "licence BSD-3-Clause, expected here: GPL-2.0")
        self.assert_fault({"bench/run.sh": "#!/bin/sh\n", "bench/README.md": README}, "bench/run.sh:1: no SPDX")
        self.assert_fault({"tools/collctl": "#!/bin/sh\n", "tools/README.md": README}, "tools/collctl:1: no SPDX")

    def test_long_files_say_why(self):
        readme = {"lib/plan/README.md": README}
        self.assert_clean({"lib/plan/a.cc": BSD + "\n" * 499} | readme)
        self.assert_clean({"lib/plan/a.cc": BSD + "// Why this file is long: it is a table.\n" + "\n" * 600} | readme)
        self.assert_fault({"lib/plan/a.cc": BSD + "\n" * 500} | readme, "lib/plan/a.cc:501: 501 lines")
        late = BSD + "\n" * 600 + "// Why this file is long: said too late.\n"
        self.assert_fault({"lib/plan/a.cc": late} | readme, "602 lines")

    def test_binaries_are_refused(self):
        self.assert_fault({"lib/mem/README.md": README, "lib/mem/a.cc": BSD, "tests/program": "\x7fELF\0\0"},
                          "tests/program: a binary file")
        self.assert_clean({"lib/mem/README.md": README, "lib/mem/a.cc": BSD, "docs/README.md": README, "docs/report-job.png": "\0"})
        self.assert_fault({"lib/mem/README.md": README, "lib/mem/a.cc": BSD, "docs/README.md": README, "docs/a.png": "\0"},
                          "docs/a.png: a binary file")

    def test_an_archive_is_read_without_what_was_built_in_it(self):
        built = ("build/a.o", "build-asan/lib/a.cc", "tests/__pycache__/a.pyc", "kmod/kcoll.ko", "compile_commands.json")
        self.assert_clean({"Makefile": BSD} | {name: "\0" for name in built})
        self.assert_fault({"tests/build/README.md": README, "tests/build/a.cc": "int x;\n"}, "tests/build/a.cc:1: no SPDX")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_an_archive_inside_a_checkout_that_ignores_it_is_read(self):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "-C", root, "init", "-q"], check=True)
            inner = pathlib.Path(root, "unpacked")
            inner.mkdir()
            (pathlib.Path(root) / ".gitignore").write_text("/unpacked/\n")
            (inner / "run.sh").write_text("#!/bin/sh\n")
            result = subprocess.run([sys.executable, CHECK, inner], capture_output=True, text=True)
            self.assertIn("run.sh:1: no SPDX", result.stdout)

    def test_only_sync_waits(self):
        for line in ("void f() { sched_yield(); }", "int x = syscall(SYS_futex, p);"):
            self.assert_fault({"lib/exec/README.md": README, "lib/exec/a.cc": BSD + line + "\n"}, "only lib/sync/ waits")
            self.assert_clean({"lib/sync/README.md": README, "lib/sync/a.cc": BSD + line + "\n"})
        self.assert_clean({"lib/exec/README.md": README, "lib/exec/a.cc": BSD + "// as sched_yield() does\n"})

    def test_directories_have_readmes(self):
        self.assert_fault({"lib/plan/a.cc": BSD}, "lib/plan/: no README.md")
        self.assert_fault({"bench/README.md": README, "bench/data/a.py": BSD}, "bench/data/: no README.md")
        self.assert_clean({"bench/README.md": README + "`data/` networks\n", "bench/data/a.py": BSD})

    def test_the_table_of_layers_agrees_with_the_code(self):
        rows = {layer: ", ".join(below) for layer, below in layers.ARROWS.items() if layer != "tools"}

        def tree(rows):
            return {"Makefile": BSD, "lib/README.md": "".join(f"| `{k}` | text | {v} |\n" for k, v in rows.items())}
        self.assert_clean(tree(rows))
        self.assert_fault(tree(rows | {"algo": "plan"}), "algo may include: plan, topo, says tests/style/layers.py")
        self.assert_fault(tree(rows | {"sync": "mem"}), "sync may include: nothing, says")
        del rows["exec"]
        self.assert_fault(tree(rows), "lib/README.md:1: no row for exec")

    def test_one_version(self):
        top = {"CMakeLists.txt": "# SPDX-License-Identifier: BSD-3-Clause\nproject(libcoll VERSION 1.2.3 LANGUAGES C)\n"}
        header = BSD + '#define COLL_VERSION_MAJOR 1\n#define COLL_VERSION_MINOR 2\n#define COLL_VERSION_PATCH 3\n'
        tree = {**top, "include/coll/coll.h": header + '#define COLL_VERSION_STRING "1.2.3"\n'}
        self.assert_clean(tree)
        self.assert_fault({**tree, "include/coll/coll.h": tree["include/coll/coll.h"].replace("MINOR 2", "MINOR 4")},
                          "include/coll/coll.h:3: version 4; CMakeLists.txt says 1.2.3")
        self.assert_fault({**tree, "python/pyproject.toml": 'version = "1.2.4"\n'},
                          "python/pyproject.toml:1: version 1.2.4; CMakeLists.txt says 1.2.3")
        self.assert_fault({**tree, "python/pyproject.toml": "name = 'coll'\n"}, "no line with the version")

    def test_one_version_of_hwloc(self):
        top = {"cmake/CollDependencies.cmake": "# SPDX-License-" "Identifier: BSD-3-Clause\nset(COLL_HWLOC_VERSION 2.8)\n",
               "cmake/README.md": README}
        recipe = {"packages/recipes/spack.py": "# SPDX-License-" "Identifier: BSD-3-Clause\n# \"hwloc@2.8:\"\n",
                  "packages/recipes/README.md": README}
        self.assert_clean({**top, **recipe})
        for old, new, expected in (
            ("2.8", "2", "packages/recipes/spack.py:2: version of hwloc 2; cmake/CollDependencies.cmake says 2.8"),
            ("hwloc@2.8:", "hwloc", "packages/recipes/spack.py:1: no line with the version of hwloc"),
        ):
            changed = {name: text.replace(old, new) for name, text in recipe.items()}
            self.assert_fault({**top, **changed}, expected)
        gone = {name: text.replace("COLL_HWLOC_VERSION", "ANOTHER") for name, text in top.items()}
        self.assert_fault({**gone, **recipe}, "cmake/CollDependencies.cmake:1: no line with the version of hwloc")

    def test_one_day_of_release(self):
        changes = "<!-- SPDX-License-" "Identifier: BSD-3-Clause -->\n# Changes\n\n## 1.2.3 (2026-11-28)\nA word.\n"
        entry = "libcoll (1.2.3-1) unstable; urgency=medium\n\n  * Word.\n\n -- a <a@b>  Sat, 28 Nov 2026 06:00:00 +0000\n"
        tree = {"CMakeLists.txt": "# SPDX-License-Identifier: BSD-3-Clause\nproject(libcoll VERSION 1.2.3 LANGUAGES C)\n",
                "CHANGELOG.md": changes, "packages/debian/changelog": entry}
        self.assert_clean(tree)
        self.assert_clean({**tree, "CHANGELOG.md": changes.replace("2026-11-28", "unreleased")})
        self.assert_fault({**tree, "CHANGELOG.md": changes.replace("1.2.3", "1.2.4")}, "CHANGELOG.md:4: version 1.2.4")
        self.assert_fault({**tree, "packages/debian/changelog": entry.replace("Sat, 28", "Fri, 27")},
                          "packages/debian/changelog:5: released on 'Fri, 27 Nov 2026'; CHANGELOG.md says 2026-11-28")

    def test_memory_order_is_documented(self):
        page = {"docs/memory-order.md": "<!-- SPDX-License-" "Identifier: BSD-3-Clause -->\n| word | `lib/sync/a.h` |\n"}
        uses = BSD + "#pragma once\nword.store(1, std::memory_order_release);\n"
        tree = {**page, "lib/sync/README.md": README, "lib/README.md": README}
        self.assert_fault({**tree, "lib/sync/a.h": uses, "lib/sync/b.h": uses}, "lib/sync/b.h:1: orders memory, but")
        self.assert_fault({**tree, "lib/sync/a.h": BSD + "#pragma once\n"}, "names lib/sync/a.h, which orders no memory")
        posts = BSD + "sync::post(word, 1);\n"
        self.assert_fault({**tree, "lib/sync/a.h": uses, "lib/sync/b.cc": posts}, "lib/sync/b.cc:1: orders memory, but")

    def test_types_have_one_definition(self):
        def source(name, text):
            text = BSD + f"namespace coll::tools {{\n{text}\n}}  // namespace coll::tools\n"
            return {f"tools/{name}.cc": text, "tools/README.md": README}
        path = source("a", "struct Path {\n};")
        self.assert_fault({**path, **source("b", "enum class Path : int {};")}, "b.cc:3: coll::tools::Path is defined in tools/a.cc")
        self.assert_clean({**path, **source("b", "namespace {\nstruct Path {\n};\n}  // namespace")})
        self.assert_clean({**path, **source("b", "struct Point {\n};")})

    def test_prose_is_checked(self):
        self.assert_fault({"Makefile": BSD, "docs/guide.md": "One.\nNobody reads.\n"}, "docs/guide.md:2: 'Nobody': write")

    def test_words_of_sources_are_checked(self):
        readme = {"tools/README.md": README}
        for text, fault in (("// One rank waits.\nint a;  // Nobody waits.\n", "tools/a.cc:3: 'Nobody': write"),
                            ('int a = f("whoever");\n', "tools/a.cc:2: 'whoever': write"),
                            ("int a, is_crowded;\n", "tools/a.cc:2: 'crowded' in the name is_crowded: write")):
            with self.subTest(text=text):
                self.assert_fault({**readme, "tools/a.cc": BSD + text}, fault)
        self.assert_fault({**readme, "tools/heats.h": BSD}, "tools/heats.h:1: 'heats' in the name of the file: write")
        self.assert_clean({**readme, "tools/a.cc": BSD + "int a;  // All ranks wait.\n"})
        self.assert_clean({"kmod/README.md": README, "kmod/a.c": GPL + "int a;  // Nobody waits.\n"})

    def test_an_empty_tree_is_a_fault(self):
        self.assert_fault({}, "no sources found")


if __name__ == "__main__":
    unittest.main()
