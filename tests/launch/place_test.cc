// SPDX-License-Identifier: BSD-3-Clause
// The variables of launchers, from recorded environments. Those of Flux and PALS, which were not run, are written after
// their documentation.
#include "launch/job_rank.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>

#include "environment.h"
#include "launch/innermost.h"

namespace {

using coll::launch::find;
using coll::launch::JobRank;
using coll::launch::Launcher;
using coll::test::Environment;
using testing::HasSubstr;

using Variables = std::vector<std::pair<const char*, const char*>>;

// Removes the variables of a launcher that has started this test.
const char* const cleared[] = {"COLL_LAUNCH",
                               "COLL_RANK",
                               "COLL_SIZE",
                               "COLL_RENDEZVOUS",
                               "SLURM_PROCID",
                               "SLURM_STEP_ID",
                               "SLURM_STEP_NUM_TASKS",
                               "SLURM_JOB_ID",
                               "SLURM_HET_SIZE",
                               "SLURM_STEP_NUM_NODES",
                               "FLUX_JOB_ID",
                               "FLUX_TASK_RANK",
                               "PALS_APID",
                               "PALS_RANKID",
                               "PALS_LOCAL_SIZE",
                               "PMI_RANK",
                               "PMI_SIZE",
                               "PMI_FD",
                               "PMI_ID",
                               "PMI_PORT",
                               "PMI_LOCAL_SIZE",
                               "MPI_LOCALNRANKS",
                               "HYDI_CONTROL_FD",
                               "PMIX_RANK",
                               "PMIX_NAMESPACE",
                               "OMPI_COMM_WORLD_RANK",
                               "OMPI_COMM_WORLD_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_SIZE",
                               "RANK",
                               "WORLD_SIZE",
                               "MASTER_PORT",
                               "TORCHELASTIC_RUN_ID",
                               "LOCAL_WORLD_SIZE"};

struct Seen {
  const Launcher* by = nullptr;
  JobRank place;
};

Seen see(const Variables& variables) {
  std::deque<Environment> set;
  for (const char* name : cleared) set.emplace_back(name, nullptr);
  for (const auto& [name, value] : variables) set.emplace_back(name, value);
  Seen seen;
  seen.place = find(&seen.by);
  while (!set.empty()) set.pop_back();  // the reverse order restores the previous values
  return seen;
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) {
    std::erase_if(variables, [n = std::string(name)](const auto& one) { return one.first == n; });
    if (value != nullptr) variables.emplace_back(name, value);
  }
  return variables;
}

void expect(const Seen& seen, const Launcher& by, const char* name, int rank, int ranks) {
  EXPECT_EQ(seen.by, &by);
  EXPECT_EQ(seen.place.launcher, name);
  EXPECT_EQ(seen.place.rank, rank);
  EXPECT_EQ(seen.place.ranks, ranks);
  EXPECT_EQ(seen.place.problem, "");
  EXPECT_FALSE(seen.place.several_nodes);
  EXPECT_FALSE(seen.place.job.empty() && seen.place.path.empty());
}

void expect_several_nodes(const Variables& variables) {
  const JobRank place = see(variables).place;
  EXPECT_TRUE(place.several_nodes);
  EXPECT_THAT(place.problem, HasSubstr("on several nodes"));
  EXPECT_THAT(place.problem, HasSubstr("under an MPI program the shim serves several nodes"));
}

// Variables that describe another job.
void expect_other_job(const Variables& variables, const Variables& change) {
  EXPECT_NE(see(variables).place.job, see(with(variables, change)).place.job);
}

// Slurm 22.05, srun -n 4; sbatch -n 4.
const Variables step{{"SLURM_CLUSTER_NAME", "test"}, {"SLURM_JOB_ID", "17"},     {"SLURM_NTASKS", "4"},
                     {"SLURM_PROCID", "3"},          {"SLURM_STEP_ID", "0"},     {"SLURM_STEP_NUM_TASKS", "4"},
                     {"SLURM_STEP_NUM_NODES", "1"},  {"SLURM_TASK_PID", "4711"}, {"SLURM_LOCALID", "3"}};
const Variables batch = with(step, {{"SLURM_STEP_ID", nullptr},
                                    {"SLURM_STEP_NUM_TASKS", nullptr},
                                    {"SLURM_STEP_NUM_NODES", nullptr},
                                    {"SLURM_PROCID", "0"}});
const Variables flux_task{{"FLUX_JOB_ID", "f4dGx"},    {"FLUX_JOB_SIZE", "4"},
                          {"FLUX_JOB_NNODES", "1"},    {"FLUX_TASK_RANK", "2"},
                          {"FLUX_TASK_LOCAL_ID", "2"}, {"FLUX_URI", "local:///run/flux/local"},
                          {"FLUX_KVS_NAMESPACE", "j"}};
const Variables pals_rank{{"PALS_APID", "0a1b-22"},   {"PALS_RANKID", "1"},    {"PALS_NODEID", "0"},
                          {"PALS_LOCAL_RANKID", "1"}, {"PMI_RANK", "1"},       {"PMI_SIZE", "4"},
                          {"PMI_LOCAL_SIZE", "4"},    {"PMI_LOCAL_RANK", "1"}, {"PALS_SPOOL_DIR", "/x"}};
const Variables worker{{"RANK", "1"},
                       {"WORLD_SIZE", "2"},
                       {"LOCAL_WORLD_SIZE", "2"},
                       {"LOCAL_RANK", "1"},
                       {"MASTER_ADDR", "node7"},
                       {"MASTER_PORT", "29500"},
                       {"TORCHELASTIC_RUN_ID", "none"},
                       {"TORCHELASTIC_RESTART_COUNT", "0"}};
// Open MPI 4.1; PRRTE 4.
const Variables mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                       {"OMPI_COMM_WORLD_SIZE", "3"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                       {"PMIX_NAMESPACE", "378732545"},
                       {"PMIX_RANK", "1"},
                       {"PMIX_SERVER_URI2", "378732544.0;tcp4://127.0.0.1:39195"}};
const Variables prterun{{"PMIX_NAMESPACE", "prterun-node-40@1"},
                        {"PMIX_RANK", "1"},
                        {"PMIX_SERVER_URI21", "prterun-node-40@0.0;tcp4://127.0.0.1:60485"}};
const Variables script{{"COLL_RANK", "1"}, {"COLL_SIZE", "2"}, {"COLL_RENDEZVOUS", "mine"}};

TEST(Places, OfNoLauncher) {
  for (const Variables& variables : {Variables{}, batch, Variables{{"WORLD_SIZE", "4"}}, Variables{{"RANK", "captain"}},
                                     with(step, {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "1"}})}) {
    const Seen seen = see(variables);
    EXPECT_EQ(seen.by, nullptr) << seen.place.launcher;
    EXPECT_EQ(seen.place.ranks, 1);
    EXPECT_EQ(seen.place.problem, "");
  }
}

TEST(Places, OfSlurm) {
  expect(see(step), coll::launch::slurm, "srun", 3, 4);
  expect(see(with(step, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_FD", "999"}})), coll::launch::slurm, "srun", 3, 4);
  expect(see(with(step, {{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "slurm.pmix.17.0"}})), coll::launch::slurm, "srun", 3,
         4);
  expect_several_nodes(with(step, {{"SLURM_STEP_NUM_NODES", "2"}}));
  expect_other_job(step, {{"SLURM_JOB_ID", "18"}});
  expect_other_job(step, {{"SLURM_STEP_ID", "1"}});
  EXPECT_THAT(see(with(step, {{"SLURM_HET_SIZE", "2"}})).place.problem, HasSubstr("heterogeneous job"));
}

TEST(Places, OfFlux) {
  expect(see(flux_task), coll::launch::flux, "flux run", 2, 4);
  expect_several_nodes(with(flux_task, {{"FLUX_JOB_NNODES", "2"}}));
  expect_other_job(flux_task, {{"FLUX_JOB_ID", "f4dGy"}});
  expect_other_job(flux_task, {{"FLUX_URI", "local:///run/flux/inner"}});
}

TEST(Places, OfPals) {
  expect(see(pals_rank), coll::launch::pals, "mpiexec (PALS)", 1, 4);
  expect_several_nodes(with(pals_rank, {{"PMI_LOCAL_SIZE", "2"}}));
  expect_several_nodes(with(pals_rank, {{"PALS_LOCAL_SIZE", "2"}}));
  expect_other_job(pals_rank, {{"PALS_APID", "0a1b-23"}});
  EXPECT_THAT(see(with(pals_rank, {{"PMI_SIZE", nullptr}})).place.problem, HasSubstr("PMI_SIZE"));
}

TEST(Places, OfTorchrun) {
  expect(see(worker), coll::launch::torchrun, "torchrun", 1, 2);
  expect(see(with(worker, {{"TORCHELASTIC_RUN_ID", nullptr}})), coll::launch::torchrun,
         "the launcher that sets MASTER_PORT", 1, 2);
  expect_several_nodes(with(worker, {{"LOCAL_WORLD_SIZE", "1"}}));
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"})
    expect_other_job(worker, {{name, "17"}});
}

TEST(Places, OfPmix) {
  expect(see(mpirun), coll::launch::pmix, "mpirun of Open MPI", 1, 3);
  expect_several_nodes(with(mpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}));
  expect_other_job(mpirun, {{"PMIX_NAMESPACE", "378732546"}});
  expect_other_job(mpirun, {{"PMIX_SERVER_URI2", "378732544.0;tcp4://127.0.0.1:39196"}});
  expect(see(prterun), coll::launch::pmix, "a launcher with PMIx", 1, 0);  // libpmix must be asked
  // Inherited from an outer mpirun.
  expect(see(with(prterun, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}})), coll::launch::pmix,
         "a launcher with PMIx", 1, 0);
}

TEST(Places, OfPmi) {
  int own[2], shared[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, own), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, shared), 0);
  const std::string fd = std::to_string(own[0]), other = std::to_string(own[1]), control = std::to_string(shared[0]);
  const Variables rank{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", fd.c_str()}, {"MPI_LOCALNRANKS", "2"}};
  expect(see(rank), coll::launch::pmi, "mpiexec (PMI)", 0, 2);
  const Variables peer = with(rank, {{"PMI_FD", other.c_str()}});
  EXPECT_EQ(see(rank).place.job, see(peer).place.job);  // one process has started both
  EXPECT_NE(see(rank).place.id, see(peer).place.id);
  expect_other_job(rank, {{"HYDI_CONTROL_FD", control.c_str()}});
  EXPECT_EQ(see(with(rank, {{"HYDI_CONTROL_FD", control.c_str()}})).place.job,
            see(with(peer, {{"HYDI_CONTROL_FD", control.c_str()}})).place.job);
  expect_several_nodes(with(rank, {{"MPI_LOCALNRANKS", "1"}}));
  for (int end : {own[0], own[1], shared[0], shared[1]}) close(end);
  EXPECT_THAT(see(rank).place.problem, HasSubstr("which PMI_FD names"));
  EXPECT_THAT(see(rank).place.problem, HasSubstr("COLL_RENDEZVOUS"));
}

TEST(Places, OfAScript) {
  expect(see(script), coll::launch::variables_of_libcoll, "the script that sets COLL_RANK", 1, 2);
  EXPECT_EQ(see(with(script, {{"COLL_RENDEZVOUS", "/shared/job"}})).place.path, "/shared/job");
  expect_other_job(script, {{"COLL_RENDEZVOUS", "yours"}});
  for (const char* missing : {"COLL_RANK", "COLL_SIZE", "COLL_RENDEZVOUS"})
    EXPECT_THAT(see(with(script, {{missing, nullptr}})).place.problem, HasSubstr(std::string(missing) + " is not set"));
  for (const char* rank : {"2", "-1", "one", "1x", "99999999999"})
    EXPECT_THAT(see(with(script, {{"COLL_RANK", rank}})).place.problem, HasSubstr("no rank and number of ranks"));
}

TEST(Places, WithoutEnoughVariables) {
  const auto problem = [](const Variables& variables) { return see(variables).place.problem; };
  EXPECT_THAT(problem({{"RANK", "1"}, {"WORLD_SIZE", "4"}}), HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(problem({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}), HasSubstr("PMI_FD is not set"));
  EXPECT_THAT(problem({{"PMI_ID", "0"}, {"PMI_PORT", "node:5000"}, {"MPI_LOCALNRANKS", "1"}}),
              HasSubstr("PMI_PORT and PMI_ID say that this is rank 0, but not how many ranks there are"));
  EXPECT_THAT(problem({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), HasSubstr("PMIX_NAMESPACE"));
  EXPECT_THAT(problem(with(step, {{"SLURM_JOB_ID", nullptr}})), HasSubstr("SLURM_JOB_ID or SLURM_STEP_ID is not set"));
  EXPECT_THAT(problem(with(flux_task, {{"FLUX_JOB_ID", nullptr}})), HasSubstr("FLUX_JOB_ID is not set"));
  for (const char* prefix : {"MV2_COMM_WORLD_", "JSM_NAMESPACE_"}) {
    const std::string rank = std::string(prefix) + "RANK", size = std::string(prefix) + "SIZE";
    EXPECT_THAT(problem({{rank.c_str(), "1"}, {size.c_str(), "4"}}),
                HasSubstr("does not say how ranks find each other"));
    EXPECT_EQ(problem({{rank.c_str(), "0"}, {size.c_str(), "1"}}), "");
  }
}

// They must not become communicators of one rank.
TEST(Places, WithVariablesThatAreNoRankAndSize) {
  const auto problem = [](const Variables& variables) { return see(variables).place.problem; };
  for (const char* rank : {"4", "-1", "one", "99999999999"})
    EXPECT_THAT(problem({{"PMI_RANK", rank}, {"PMI_SIZE", "4"}, {"PMI_FD", "0"}}),
                HasSubstr("PMI_RANK='" + std::string(rank) + "' and PMI_SIZE='4' are no rank and number of ranks"));
  EXPECT_THAT(problem({{"PMI_RANK", "1"}, {"PMI_FD", "0"}}),
              HasSubstr("PMI_RANK='1' and PMI_SIZE, which is not set, are no rank and number of ranks"));
  EXPECT_THAT(problem({{"OMPI_COMM_WORLD_RANK", "0"}}), HasSubstr("OMPI_COMM_WORLD_SIZE, which is not set"));
  EXPECT_THAT(problem(with(step, {{"SLURM_PROCID", "4"}})), HasSubstr("SLURM_PROCID='4' and SLURM_STEP_NUM_TASKS='4'"));
  EXPECT_THAT(problem(with(flux_task, {{"FLUX_JOB_SIZE", "0"}})), HasSubstr("FLUX_JOB_SIZE='0' are no rank"));
  EXPECT_THAT(problem(with(worker, {{"RANK", "2"}})), HasSubstr("RANK='2' and WORLD_SIZE='2' are no rank"));
  // 4294967295 and 4294967294 are PMIx's "undefined" and "every rank".
  for (const char* rank : {"4294967295", "4294967294", "-1", "one"})
    for (const char* name : {"378732545", ""})
      EXPECT_THAT(problem({{"PMIX_RANK", rank}, {"PMIX_NAMESPACE", name}}),
                  HasSubstr("PMIX_RANK='" + std::string(rank) + "' is no rank"));
  EXPECT_THAT(problem(with(mpirun, {{"PMIX_RANK", "4294967295"}})), HasSubstr("PMIX_RANK='4294967295' is no rank"));
  EXPECT_THAT(problem({{"PMIX_RANK", "1"}}), HasSubstr("and PMIX_NAMESPACE is not set"));
  EXPECT_THAT(problem({{"PMIX_NAMESPACE", "378732545"}}), HasSubstr("and PMIX_RANK is not set"));
  // Names that other programs use as well.
  EXPECT_EQ(problem({{"RANK", "captain"}, {"WORLD_SIZE", "4"}}), "");
  EXPECT_EQ(problem({{"RANK", "1"}}), "");
}

using coll::launch::innermost;
using coll::launch::Settings;

std::string environ_of(const std::vector<std::string>& variables) {
  std::string text;
  for (const std::string& variable : variables) text += variable + '\0';
  return text;
}

TEST(Innermost, IsTheOneThatTheNearestAncestorLacks) {
  const Settings srun{"SLURM_PROCID=0", "SLURM_STEP_ID=0"}, orte{"PMIX_NAMESPACE=1", "PMIX_RANK=0"};
  const std::string both = environ_of({"A=1", "SLURM_PROCID=0", "SLURM_STEP_ID=0", "PMIX_NAMESPACE=1", "PMIX_RANK=0"});
  const std::string slurm_only = environ_of({"SLURM_PROCID=0", "SLURM_STEP_ID=0"}), none = environ_of({"PATH=/bin"});
  const std::string orte_only = environ_of({"PMIX_NAMESPACE=1", "PMIX_RANK=0"});
  // A shell, then the daemon of mpirun, which srun has started.
  EXPECT_EQ(innermost({srun, orte}, {both, slurm_only, none}), 1u);
  EXPECT_EQ(innermost({srun, orte}, {both, orte_only, none}), 0u);
  EXPECT_EQ(innermost({srun, orte}, {both, none}), 0u);  // both at once: the order decides
  EXPECT_EQ(innermost({orte, srun}, {""}), 0u);          // a daemon
  EXPECT_EQ(innermost({srun, orte}, {both, both}), std::nullopt);
  EXPECT_EQ(innermost({srun, orte}, {}), std::nullopt);
  // Another value, or a longer one with the same end, is different.
  EXPECT_EQ(
      innermost({srun, orte}, {environ_of({"SLURM_PROCID=00", "SLURM_STEP_ID=0", "PMIX_NAMESPACE=1", "PMIX_RANK=0"})}),
      0u);
  EXPECT_EQ(
      innermost({srun, orte}, {environ_of({"XSLURM_PROCID=0", "SLURM_STEP_ID=0", "PMIX_NAMESPACE=1", "PMIX_RANK=0"})}),
      0u);
}

}  // namespace
