# SPDX-License-Identifier: BSD-3-Clause
"""collctl bench scale: every quantity for every number of ranks, more ranks than processors, a failure in its column."""
from cli import Case, collctl, main

COLLECTIVES = {"barrier", "bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter",
               "scan", "exscan"}
FOOTPRINT = {"address_space_bytes", "proportional_bytes", "page_table_bytes", "descriptors"}


class Scale(Case):
    def test_every_quantity_of_every_number_of_ranks(self):
        result = self.run_json("bench", "scale", "-n", "2,5")
        self.assertEqual([column["ranks"] for column in result["columns"]], [2, 5])
        for column in result["columns"]:
            self.assertNotIn("problem", column)
            for name in ("bare_s", "create_s", "split_s", "rows_s", "columns_s", "free_s"):
                self.assertGreater(column[name], 0, name)
                self.assertLess(column[name], 60, name)
            self.assertEqual(set(column["calls"]), COLLECTIVES)
            for name, times in column["calls"].items():
                self.assertGreater(times["first_s"], 0, name)
                self.assertGreater(times["later_s"], 0, name)
            for footprint in (column["before"], column["created"], column["used"], column["load"]["footprint"]):
                self.assertEqual(set(footprint), FOOTPRINT)
                for name, value in footprint.items():
                    self.assertGreater(value, 0, name)
            self.assertGreater(column["created"]["address_space_bytes"], column["before"]["address_space_bytes"])
            # A communicator of the load uses memory of its own.
            self.assertGreater(column["load"]["footprint"]["page_table_bytes"], column["before"]["page_table_bytes"])
            # The whole job, start and end included.
            self.assertGreater(column["load"]["wall_s"], 0)
            self.assertGreaterEqual(column["load"]["system_s"], 0)
        # Kernels that count ticks may miss a short job.
        self.assertGreater(sum(column["load"]["system_s"] for column in result["columns"]), 0)

    def test_the_table_has_a_column_for_each(self):
        text = self.run_fine("bench", "scale", "-n", "2-3")
        self.expect_width(text, 100)
        self.assertRegex(text, r"(?m)^ranks +2 +3$")
        for row in ("bare processes", "  create the first", "  over bare", "  page tables", "  system time", "  alltoall"):
            self.assertRegex(text, rf"(?m)^{row} +\S", row)

    def test_a_failing_job_has_a_reason(self):
        done = collctl("bench", "scale", "-n", "2", env={"COLL_TOPOLOGY": "nonsense:"})
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(" ".join(done.stdout.split()), "2 ranks: .*COLL_TOPOLOGY")
        self.assertRegex(done.stdout, r"(?m)^bare processes +\d")

    def test_wrong_arguments(self):
        self.expect_error(2, "--ranks", "bench", "scale", "-n", "1")
        self.expect_error(2, "--ranks", "bench", "scale", "-n", "2,1025")
        self.expect_error(2, "--as-rank", "bench", "scale", "--as-rank", "9:1")


if __name__ == "__main__":
    main()
