#include "agent/mpi/pmix_service.h"

#include <absl/strings/str_join.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <semaphore>
#include <span>
#include <string_view>

#include "agent/mpi/pmix_api.h"
#include "base/deadline.h"
#include "base/private_folder.h"
#include "base/random.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "rpc/limits.h"

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

// The number of ranks.
uint32_t PmixWorldSize(const v1::PmixWorld& world) {
  int size = 0;
  for (const v1::PmixNode& node : world.nodes()) size += node.ranks_size();
  return static_cast<uint32_t>(size);
}

// Checks that each rank from 0 on is on exactly one node, and that those of `node` match the plan.
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

// Registers the world with the running server, and adds the necessary variables to the environment
// of each rank of `node`. Creates a folder for each of these ranks in `folder`, which is inside the
// server's.
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

constexpr size_t kMaxMessageLength = 1000;      // of an abort
constexpr std::string_view kNoMessage = "N/A";  // used by Open MPI
constexpr std::chrono::milliseconds kForgetLimit{1'000};

// For PMIx's callbacks. A finalized server cannot be restarted, so it is never finalized.
PmixService* the_server = nullptr;
bool started = false;

// Restricts PMIx to these variables while it lives: variables of an outer launcher are wrong, and
// the user's settings are for ranks. PMIx keeps pointers to the variables, so they must remain.
class OnlyVariables {
 public:
  explicit OnlyVariables(std::vector<char*>& variables)
      : before_(std::exchange(environ, variables.data())) {}
  ~OnlyVariables() { environ = before_; }
  OnlyVariables(const OnlyVariables&) = delete;
  OnlyVariables& operator=(const OnlyVariables&) = delete;

 private:
  char** const before_;
};

}  // namespace

// Called on PMIx's thread.
struct PmixService::Callbacks {
  // A pending modex or gather request to the chief.
  struct Waiting {
    std::string name_space;
    pmix_modex_cbfunc_t done;
    void* data;  // argument of the callback
  };

  static void Release(void* text) { delete static_cast<std::string*>(text); }

  static void Ask(v1::RendezvousRequest request, Waiting waiting) {
    PmixService& server = *the_server;
    server.chief_.ask(std::move(request), [&server, waiting = std::move(waiting)](
                                              const v1::RendezvousReply& reply) {
      // Held, so that PMIx unregisters the world either before or after this.
      const std::lock_guard lock(server.mutex_);
      if (server.name_space_ != waiting.name_space) return;
      if (!reply.error().empty()) {
        v1::AgentEvent event;
        event.mutable_warning()->set_what("MPI: " + reply.error());
        server.chief_.send_reliably(std::move(event));
        waiting.done(PMIX_ERROR, nullptr, 0, waiting.data, nullptr, nullptr);
        return;
      }
      auto* value = new std::string(reply.value());
      waiting.done(PMIX_SUCCESS, value->data(), value->size(), waiting.data, Release, value);
    });
  }

  static pmix_status_t FinalizedOrConnected(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t Abort(const pmix_proc_t* proc, void*, int status, const char message[],
                             pmix_proc_t*, size_t, pmix_op_cbfunc_t, void*) {
    v1::AgentEvent event;
    v1::RankAborted& aborted = *event.mutable_rank_aborted();
    aborted.set_rank(proc->rank);
    aborted.set_status(status);
    const std::string_view said(message ? message : "", message ? strlen(message) : 0);
    if (said != kNoMessage)
      aborted.set_message(base::ToUtf8(base::Truncated(said, kMaxMessageLength)));
    aborted.set_time_ns(base::NanosecondsSince1970());
    the_server->chief_.send_reliably(std::move(event));
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t Fence(const pmix_proc_t procs[], size_t count, const pmix_info_t*, size_t,
                             char* data, size_t size, pmix_modex_cbfunc_t done, void* for_done) {
    const PmixText ours = OwnPmixText(data);
    std::string name_space;
    uint32_t world_size = 0;
    {
      const std::lock_guard lock(the_server->mutex_);
      name_space = the_server->name_space_;
      world_size = the_server->world_size_;
    }
    std::set<uint32_t> ranks;
    for (const pmix_proc_t& proc : std::span(procs, count)) {
      if (proc.nspace != name_space) return PMIX_ERR_NOT_SUPPORTED;
      if (proc.rank == PMIX_RANK_WILDCARD) {
        for (uint32_t rank = 0; rank < world_size; ++rank) ranks.insert(rank);
      } else if (proc.rank < world_size) {
        ranks.insert(proc.rank);
      } else {
        return PMIX_ERR_BAD_PARAM;
      }
    }
    if (size > rpc::kLargestContribution) return PMIX_ERR_OUT_OF_RESOURCE;
    v1::RendezvousRequest request;
    v1::GatherRequest& gather = *request.mutable_gather();
    gather.set_name_space(name_space);
    if (ranks.size() < world_size) gather.mutable_ranks()->Assign(ranks.begin(), ranks.end());
    if (data) gather.set_data(data, size);
    Ask(std::move(request), {name_space, done, for_done});
    return PMIX_SUCCESS;
  }

  static pmix_status_t DirectModex(const pmix_proc_t* proc, const pmix_info_t*, size_t,
                                   pmix_modex_cbfunc_t done, void* for_done) {
    {
      const std::lock_guard lock(the_server->mutex_);
      if (proc->nspace != the_server->name_space_ || proc->rank >= the_server->world_size_) {
        return PMIX_ERR_NOT_FOUND;
      }
    }
    v1::RendezvousRequest request;
    request.mutable_modex()->set_name_space(proc->nspace);
    request.mutable_modex()->set_rank(proc->rank);
    Ask(std::move(request), {proc->nspace, done, for_done});
    return PMIX_SUCCESS;
  }

  // Must exist, because without it PMIx also rejects requests that it handles itself: ranks
  // register the files to remove after their end.
  static pmix_status_t JobControl(const pmix_proc_t*, const pmix_proc_t*, size_t,
                                  const pmix_info_t*, size_t, pmix_info_cbfunc_t, void*) {
    return PMIX_ERR_NOT_SUPPORTED;
  }

  struct Question {
    PmixService& server;
    uint64_t id;
  };

  static void Found(pmix_status_t status, char* data, size_t size, void* for_us) {
    const std::unique_ptr<Question> question(static_cast<Question*>(for_us));
    v1::AgentEvent event;
    v1::ModexAnswer& answer = *event.mutable_modex_answer();
    answer.set_id(question->id);
    if (status != PMIX_SUCCESS) {
      answer.set_error(Message(FromPmix(status, "what a rank has published")));
    } else if (size > rpc::kLargestModex) {
      answer.set_error("a rank has published " + std::to_string(size) + " bytes; " +
                       std::to_string(rpc::kLargestModex) + " are allowed");
    } else if (data) {
      answer.set_data(data, size);
    }
    question->server.chief_.send_reliably(std::move(event));
  }
};

// PMIx's thread may hang in this after a rank was killed during a fence: on a lock in memory that
// was freed. So this comes after all other requests, and has a time limit.
PmixService::~PmixService() {
  Leave();
  const auto forgotten = std::make_shared<std::counting_semaphore<>>(0);
  const base::Deadline limit = base::Deadline::After(kForgetLimit);
  for (const std::string& name_space : past_worlds_) {
    auto reported = std::make_unique<std::shared_ptr<std::counting_semaphore<>>>(forgotten);
    PMIx_server_deregister_nspace(
        name_space.c_str(),
        [](pmix_status_t, void* for_us) {
          const std::unique_ptr<std::shared_ptr<std::counting_semaphore<>>> done(
              static_cast<std::shared_ptr<std::counting_semaphore<>>*>(for_us));
          (*done)->release();
        },
        reported.release());
  }
  for (size_t i = 0; i < past_worlds_.size(); ++i) {
    if (!forgotten->try_acquire_until(limit.when())) break;
  }
  if (the_server == this) the_server = nullptr;
}

Status PmixService::Start(const std::string& host_name) const {
  AD_RETURN_IF_ERROR(base::MakePrivateFolder(folder_, "remove it"));
  static pmix_server_module_t module = [] {
    pmix_server_module_t callbacks{};
    callbacks.client_connected = Callbacks::FinalizedOrConnected;
    callbacks.client_finalized = Callbacks::FinalizedOrConnected;
    callbacks.abort = Callbacks::Abort;
    callbacks.fence_nb = Callbacks::Fence;
    callbacks.direct_modex = Callbacks::DirectModex;
    callbacks.job_control = Callbacks::JobControl;
    return callbacks;
  }();
  // In order: no configuration files of users; no plug-ins; data for ranks are in their own memory,
  // not in files; the kernel authenticates clients; hwloc only asks the kernel.
  static std::string texts[] = {"PMIX_MCA_mca_base_param_files=none",
                                "PMIX_MCA_mca_base_component_path=" + folder_,
                                "PMIX_MCA_gds=hash",
                                "PMIX_MCA_psec=native",
                                "HWLOC_PLUGINS_PATH=" + folder_,
                                "HWLOC_COMPONENTS=linux,stop",
                                "HOME=" + folder_};
  static std::vector<char*> variables = [] {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }();
  PmixInfos infos;
  infos.Add(PMIX_SERVER_TMPDIR, folder_);
  infos.Add(PMIX_SYSTEM_TMPDIR, folder_);
  infos.Add(PMIX_SERVER_NSPACE, "autodist-agent-" + base::RandomHex());
  infos.AddRank(PMIX_SERVER_RANK, 0);
  infos.Add(PMIX_HOSTNAME, host_name);
  for (const char* unwanted : {PMIX_SERVER_TOOL_SUPPORT, PMIX_SERVER_SYSTEM_SUPPORT,
                               PMIX_SERVER_SESSION_SUPPORT, PMIX_SERVER_REMOTE_CONNECTIONS}) {
    infos.Add(unwanted, false);
  }
  const OnlyVariables only(variables);
  return FromPmix(PMIx_server_init(&module, infos.data(), infos.size()), "starting its server");
}

Status PmixService::Join(const v1::PmixWorld& world, v1::NodePlan& node) {
  AD_RETURN_IF_ERROR(CheckPmixWorld(world, node));
  Leave();
  const v1::PmixNode& own = world.nodes(static_cast<int>(node.node_rank()));
  const std::lock_guard join_lock(join_mutex_);
  if (!started) AD_RETURN_IF_ERROR(Start(own.address()));
  started = true;
  the_server = this;
  {
    const std::lock_guard lock(mutex_);
    name_space_ = world.name_space();
    world_size_ = PmixWorldSize(world);
    ranks_ = {own.ranks().begin(), own.ranks().end()};
  }
  return RegisterPmixWorld(world, node, RanksFolder());
}

void PmixService::Leave() {
  const std::lock_guard join_lock(join_mutex_);
  std::string name_space;
  {
    const std::lock_guard lock(mutex_);
    name_space = std::exchange(name_space_, "");
    ranks_.clear();
  }
  if (name_space.empty()) return;
  past_worlds_.push_back(name_space);
  std::error_code best_effort;
  std::filesystem::remove_all(RanksFolder(), best_effort);
}

void PmixService::Answer(const v1::ModexQuestion& question) {
  bool here = false;
  {
    const std::lock_guard lock(mutex_);
    here = question.name_space() == name_space_ && ranks_.contains(question.rank());
  }
  // Without mutex_: PMIx may wait for its thread, which may wait for the mutex.
  const pmix_proc_t proc = PmixProcess(question.name_space(), question.rank());
  auto asked = std::make_unique<Callbacks::Question>(Callbacks::Question{*this, question.id()});
  if (here && PMIx_server_dmodex_request(&proc, Callbacks::Found, asked.get()) == PMIX_SUCCESS) {
    (void)asked.release();  // owned by Found
    return;
  }
  v1::AgentEvent event;
  event.mutable_modex_answer()->set_id(question.id());
  event.mutable_modex_answer()->set_error("rank " + std::to_string(question.rank()) +
                                          " does not run here");
  chief_.send_reliably(std::move(event));
}

}  // namespace autodist::agent
