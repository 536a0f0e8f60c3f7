#include "agent/mpi/pmix_world.h"

#include <absl/strings/str_join.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "agent/mpi/pmix_api.h"

namespace autodist::agent {
namespace {

Status Wrong(const std::string& what) {
  return Error(StatusCode::kInvalidArgument, "PMIx: " + what);
}

// Returns PMIx's encoding of a list of all nodes; "" on failure.
std::string Text(pmix_status_t (*generate)(const char*, char**), const std::string& input) {
  char* generated = nullptr;
  if (generate(input.c_str(), &generated) != PMIX_SUCCESS) return "";
  return OwnPmixText(generated).get();
}

std::string RankFolder(const std::string& folder, uint32_t rank) {
  return folder + "/" + std::to_string(rank);
}

Status RegisterRanks(const std::string& name_space, const std::string& folder, v1::NodePlan& node) {
  for (v1::RankPlan& rank : *node.mutable_ranks()) {
    if (rank.auxiliary()) continue;
    std::error_code error;
    const std::string rank_folder = RankFolder(folder, rank.rank());
    std::filesystem::create_directories(rank_folder, error);
    if (error) return ErrnoError(error.value(), "making the folder " + rank_folder);
    const pmix_proc_t proc = PmixProcess(name_space, rank.rank());
    AD_RETURN_IF_ERROR(FromPmix(
        PMIx_server_register_client(&proc, geteuid(), getegid(), nullptr, nullptr, nullptr),
        "registering rank " + std::to_string(rank.rank())));
    char** variables = nullptr;
    AD_RETURN_IF_ERROR(FromPmix(PMIx_server_setup_fork(&proc, &variables), "a rank's variables"));
    for (char** text = variables; text && *text; ++text) {
      const std::string_view pair = *text;
      v1::EnvironmentVariable& variable = *rank.add_environment();
      variable.set_name(std::string(pair.substr(0, pair.find('='))));
      variable.set_value(std::string(pair.substr(pair.find('=') + 1)));
    }
    PMIX_ARGV_FREE(variables);
  }
  return OkStatus();
}

}  // namespace

uint32_t PmixWorldSize(const v1::PmixWorld& world) {
  int size = 0;
  for (const v1::PmixNode& node : world.nodes()) size += node.ranks_size();
  return static_cast<uint32_t>(size);
}

Status CheckPmixWorld(const v1::PmixWorld& world, const v1::NodePlan& node) {
  if (world.name_space().empty() || world.name_space().size() >= PMIX_MAX_NSLEN) {
    return Wrong("the name of the world has " + std::to_string(world.name_space().size()) +
                 " bytes");
  }
  if (node.node_rank() >= static_cast<uint32_t>(world.nodes_size())) {
    return Wrong("this node is not in the world");
  }
  std::vector<uint32_t> all;
  for (const v1::PmixNode& other : world.nodes()) {
    all.insert(all.end(), other.ranks().begin(), other.ranks().end());
  }
  std::ranges::sort(all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != i) return Wrong("rank " + std::to_string(i) + " is not on exactly one node");
  }
  const v1::PmixNode& own = world.nodes(static_cast<int>(node.node_rank()));
  std::vector<uint32_t> planned;
  for (const v1::RankPlan& rank : node.ranks()) {
    if (!rank.auxiliary()) planned.push_back(rank.rank());
  }
  if (!std::ranges::equal(own.ranks(), planned)) {
    return Wrong("the ranks of this node are others than in the plan");
  }
  return OkStatus();
}

Status RegisterPmixWorld(const v1::PmixWorld& world, v1::NodePlan& node,
                         const std::string& folder) {
  const v1::PmixNode& own = world.nodes(static_cast<int>(node.node_rank()));
  std::vector<std::string> names;
  std::vector<std::string> ranks_by_node;
  for (const v1::PmixNode& any : world.nodes()) {
    names.push_back(any.address());
    ranks_by_node.push_back(absl::StrJoin(any.ranks(), ","));
  }
  const uint32_t world_size = PmixWorldSize(world);
  const auto local_size = static_cast<uint32_t>(own.ranks_size());

  PmixInfos infos;
  infos.Add(PMIX_JOBID, world.name_space());
  for (const char* size : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_MAX_PROCS}) {
    infos.Add(size, world_size);
  }
  infos.Add(PMIX_JOB_NUM_APPS, uint32_t{1});
  infos.Add(PMIX_NUM_NODES, static_cast<uint32_t>(world.nodes_size()));
  infos.Add(PMIX_NODE_MAP, Text(PMIx_generate_regex, absl::StrJoin(names, ",")));
  infos.Add(PMIX_PROC_MAP, Text(PMIx_generate_ppn, absl::StrJoin(ranks_by_node, ";")));
  infos.Add(PMIX_NODEID, node.node_rank());
  infos.Add(PMIX_LOCAL_SIZE, local_size);
  infos.Add(PMIX_NODE_SIZE, local_size);
  infos.Add(PMIX_LOCAL_PEERS, absl::StrJoin(own.ranks(), ","));
  if (local_size > 0) infos.AddRank(PMIX_LOCALLDR, own.ranks(0));
  PmixInfos application;
  application.Add(PMIX_APPNUM, uint32_t{0});
  application.Add(PMIX_APP_SIZE, world_size);
  application.AddRank(PMIX_APPLDR, 0);
  infos.Add(PMIX_APP_INFO_ARRAY, application);
  infos.Add(PMIX_TMPDIR, std::filesystem::path(folder).parent_path().string());
  infos.Add(PMIX_NSDIR, folder);
  infos.Add(PMIX_TDIR_RMCLEAN, true);
  for (int n = 0; n < world.nodes_size(); ++n) {
    for (int local = 0; local < world.nodes(n).ranks_size(); ++local) {
      const uint32_t rank = world.nodes(n).ranks(local);
      PmixInfos of_rank;
      of_rank.AddRank(PMIX_RANK, rank);
      of_rank.Add(PMIX_APPNUM, uint32_t{0});
      of_rank.AddRank(PMIX_GLOBAL_RANK, rank);
      of_rank.AddRank(PMIX_APP_RANK, rank);
      of_rank.Add(PMIX_LOCAL_RANK, static_cast<uint16_t>(local));
      of_rank.Add(PMIX_NODE_RANK, static_cast<uint16_t>(local));
      of_rank.Add(PMIX_NODEID, static_cast<uint32_t>(n));
      of_rank.Add(PMIX_HOSTNAME, world.nodes(n).address());
      if (&world.nodes(n) == &own) of_rank.Add(PMIX_PROCDIR, RankFolder(folder, rank));
      infos.Add(PMIX_PROC_INFO_ARRAY, of_rank);
    }
  }
  AD_RETURN_IF_ERROR(
      FromPmix(PMIx_server_register_nspace(world.name_space().c_str(), static_cast<int>(local_size),
                                           infos.data(), infos.size(), nullptr, nullptr),
               "registering the ranks"));
  return RegisterRanks(world.name_space(), folder, node);
}

}  // namespace autodist::agent
