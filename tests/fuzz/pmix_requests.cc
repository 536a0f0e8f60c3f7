// libFuzzer: the agent survives all requests of ranks to the PMIx server, and answers PMIx at most
// once. The input plays PMIx, with the callbacks that were passed to its initialization: a sequence
// of records of a byte that chooses the action, and its arguments.
#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "agent/mpi/pmix_api.h"
#include "fuzz/check.h"
#include "support/small_agent.h"

namespace {

pmix_server_module_t* calls = nullptr;

struct Found {
  pmix_dmodex_response_fn_t reply;
  void* for_it;
};
std::list<Found> questions;  // about data that ranks have published

}  // namespace

extern "C" {
pmix_status_t __real_PMIx_server_init(pmix_server_module_t* module, pmix_info_t* infos,
                                      size_t count);
pmix_status_t __wrap_PMIx_server_init(pmix_server_module_t* module, pmix_info_t* infos,
                                      size_t count);
pmix_status_t __wrap_PMIx_server_dmodex_request(const pmix_proc_t* proc,
                                                pmix_dmodex_response_fn_t reply, void* for_it);

pmix_status_t __wrap_PMIx_server_init(pmix_server_module_t* module, pmix_info_t* infos,
                                      size_t count) {
  calls = module;
  return __real_PMIx_server_init(module, infos, count);
}

pmix_status_t __wrap_PMIx_server_dmodex_request(const pmix_proc_t*, pmix_dmodex_response_fn_t reply,
                                                void* for_it) {
  questions.push_back({reply, for_it});
  return PMIX_SUCCESS;
}
}

namespace autodist::agent {
namespace {

constexpr uint32_t kWorldSize = 3;
constexpr size_t kMaxRequests = 64;

// The ranks of a node, PMIx between them and the agent, and the chief.
class Played {
 public:
  Played() { Join(); }
  ~Played() {
    while (!questions.empty()) Publish(PMIX_ERR_NOT_FOUND, "");
  }

  void Join() {
    v1::PmixWorld world;
    world.set_name_space("world" + std::to_string(worlds_++ % 2));
    v1::NodePlan node;
    for (uint32_t rank = 0; rank < kWorldSize; ++rank) {
      v1::PmixNode& named = *world.add_nodes();
      named.set_address("fd77::" + std::to_string(rank));
      named.add_ranks(rank);
    }
    node.add_ranks()->set_rank(0);
    Check(agent_.pmix->Join(world, node).ok(), "a world is not joined");
    name_space_ = world.name_space();
  }
  void Leave() { agent_.pmix->Leave(); }

  pmix_proc_t Process(FuzzedDataProvider& input) {
    const std::string other = input.ConsumeRandomLengthString(PMIX_MAX_NSLEN);
    return PmixProcess(other.empty() ? name_space_ : other,
                       input.ConsumeBool() ? input.ConsumeIntegralInRange<uint32_t>(0, kWorldSize)
                                           : input.ConsumeIntegral<uint32_t>());
  }
  void Fence(FuzzedDataProvider& input) {
    std::vector<pmix_proc_t> procs(input.ConsumeIntegralInRange<size_t>(0, 5));
    for (pmix_proc_t& proc : procs) proc = Process(input);
    const std::string data = input.ConsumeRandomLengthString();
    char* given = data.empty() ? nullptr : static_cast<char*>(malloc(data.size()));
    if (given) memcpy(given, data.data(), data.size());
    Asked([&](Request& request) {
      return calls->fence_nb(procs.data(), procs.size(), nullptr, 0, given, data.size(), Answered,
                             &request);
    });
  }
  void Modex(FuzzedDataProvider& input) {
    const pmix_proc_t proc = Process(input);
    Asked([&](Request& request) {
      return calls->direct_modex(&proc, nullptr, 0, Answered, &request);
    });
  }
  static void Abort(const pmix_proc_t& proc, int status, const std::string& message) {
    calls->abort(&proc, nullptr, status, message.c_str(), nullptr, 0, nullptr, nullptr);
  }
  void Reply(const std::string& bytes) {
    v1::RendezvousReply reply;
    if (reply.ParseFromString(bytes)) agent_.rendezvous->Reply(reply);
  }
  void Question(const std::string& bytes) {
    v1::ModexQuestion question;
    if (!question.ParseFromString(bytes)) return;
    if (question.name_space().empty()) question.set_name_space(name_space_);
    agent_.pmix->Answer(question);
  }
  static void Publish(pmix_status_t status, std::string data) {
    if (questions.empty()) return;
    const Found question = questions.front();
    questions.pop_front();
    question.reply(status, data.empty() ? nullptr : data.data(), data.size(), question.for_it);
  }

 private:
  struct Request {
    bool refused = false;
    bool answered = false;
  };

  template <typename Ask>
  void Asked(const Ask& ask) {
    Request& request = requests_.emplace_back();
    request.refused = ask(request) != PMIX_SUCCESS;
    Check(!request.refused || !request.answered, "what is refused is answered");
    if (requests_.size() < kMaxRequests) return;
    Leave();  // they will not be answered
    requests_.clear();
    Join();
  }
  static void Answered(pmix_status_t, const char* data, size_t size, void* for_us,
                       pmix_release_cbfunc_t release, void* for_release) {
    Request& request = *static_cast<Request*>(for_us);
    Check(!std::exchange(request.answered, true), "what is asked once is answered twice");
    Check(!request.refused, "what was refused is answered");
    Check(size == 0 || data[size - 1] <= CHAR_MAX, "what is answered cannot be read");
    if (release) release(for_release);
  }

  int worlds_ = 0;
  std::string name_space_;
  std::list<Request> requests_;
  test::SmallAgent agent_;
};

}  // namespace
}  // namespace autodist::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autodist::agent;
  Played played;
  FuzzedDataProvider input(data, size);
  while (input.remaining_bytes() > 0) {
    switch (input.ConsumeIntegralInRange(0, 7)) {
      case 0:
        played.Fence(input);
        break;
      case 1:
        played.Modex(input);
        break;
      case 2: {
        const pmix_proc_t proc = played.Process(input);
        const int status = input.ConsumeIntegral<int>();
        Played::Abort(proc, status, input.ConsumeRandomLengthString());
        break;
      }
      case 3:
        played.Reply(input.ConsumeRandomLengthString());
        break;
      case 4:
        played.Question(input.ConsumeRandomLengthString());
        break;
      case 5: {
        const int status = input.ConsumeIntegralInRange(-2, 0);
        Played::Publish(status, input.ConsumeRandomLengthString());
        break;
      }
      case 6:
        played.Leave();
        break;
      default:
        played.Leave();
        played.Join();
    }
  }
  return 0;
}
