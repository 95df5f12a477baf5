# SPDX-License-Identifier: BSD-3-Clause
"""The default choice comes near the best one on the machines of papers, and on tables drawn at random that no rule names."""
from cli import Case, main


class Machines(Case):
    def audit(self, *arguments):
        return self.run_json("bench", "choice", *arguments)["price"]

    def test_of_papers(self):
        for machine in ("epyc-1p", "epyc-2p", "knl", "broadwell", "nodea", "nodeb"):
            price = self.audit("--machine", machine, "--sizes", "1K,128K")
            self.assertLess(price["geometric_mean"], 1.05, machine)
            self.assertGreater(price["share_within_10_percent"], 0.85, machine)
            self.assertLess(price["worst"], 1.5, machine)

    def test_drawn_at_random(self):
        price = self.audit("--machine", "random:1", "--tables", 10, "--sizes", "2K,100K", "--transport", "shm")
        self.assertLess(price["geometric_mean"], 1.1)
        self.assertLess(price["worst"], 2)


main()
