// Launches with real agents over links that break at every position and in every way: each node
// gets a result, with a cause if it failed, and no process is left.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <random>

#include "base/fd.h"
#include "launch/install_agent.h"
#include "launch/launcher.h"
#include "support/agents_test.h"
#include "support/faulty_transport.h"
#include "support/in_seconds.h"

namespace autodist::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Faults;

constexpr seconds kLaunchesHang{500};          // for the slowest of builds
constexpr seconds kCancelLimit{20};            // for the slowest of builds
constexpr milliseconds kLongLease{3'600'000};  // no agent ends because of it
constexpr uint32_t kFanOut = 8;

// About the number of bytes before a node is ready.
constexpr int64_t kDownBytes = 500;
constexpr int64_t kUpBytes = 1'000;

std::mt19937_64::result_type Seed() {
  const char* seed = getenv("SEED");
  return seed ? std::stoull(seed) : 1;
}

// Programs that exit without becoming an agent.
const std::vector<std::vector<std::string>>& NoAgents() {
  static const std::vector<std::vector<std::string>> programs = {
      {"true"},
      {"false"},
      {"sh", "-c", "kill -9 $$"},
      {"sh", "-c", "echo some words >&2; exit 3"},
      {"printf", "\\nAUTODIST-READY 0123456789abcdef\\n"},
      {"printf", "\\nAUTODIST-GONE 0123456789abcdef\\n"},
      {"printf", "\\nAUTODIST-READY"},
      {"head", "-c", "2000000", "/dev/zero"},
      {"yes", "welcome"},
      {"/no/such/program"},
  };
  return programs;
}

// One node of a launch.
struct Case {
  Faults faults;
  bool every_run = false;  // not only the first of the two that a launch may need
  bool installs = false;   // the agent is not on the node
  std::atomic<int> runs = 0;
  std::atomic<int> faulty = 0;  // runs that could not succeed

  bool CanFail() const {
    return faults.how != Faults::Break::kNone || !faults.instead.empty() || !faults.start.ok();
  }
};

class Cases {
 public:
  explicit Cases(size_t count) : cases_(count) {}

  size_t size() const { return cases_.size(); }
  Case& operator[](size_t index) { return cases_[index]; }

  // The faults of a case's next run.
  Faults Next(size_t index) {
    Case& chosen = cases_[index];
    if (chosen.runs++ > 0 && !chosen.every_run) return {};
    Faults faults = chosen.faults;
    if (!faults.start.ok() || !faults.instead.empty()) ++chosen.faulty;
    faults.broken = [this, &chosen] {
      ++chosen.faulty;
      Count();
    };
    return faults;
  }

  // Blocks until this many cases have been counted as broken, or by the test.
  void Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counted_ >= count; });
  }
  void Count() {
    const std::lock_guard lock(mutex_);
    ++counted_;
    changed_.notify_all();
  }

 private:
  std::deque<Case> cases_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t counted_ = 0;
};

class LaunchFaultsTest : public test::AgentsTest {
 protected:
  LaunchFaultsTest() : agent_(*transfer::NodeProgram::OfAgent(AGENT_PROGRAM)) {
    const std::filesystem::path kept = Home("with") + "/" + agent_.PathOnNode();
    std::filesystem::create_directories(kept.parent_path());
    std::filesystem::create_symlink(AGENT_PROGRAM, kept);
  }

  std::string Home(const std::string& name) const { return folder_.path() + "/" + name; }

  static v1::LaunchPlan PlanFor(const std::string& job_id, size_t nodes) {
    v1::LaunchPlan plan;
    plan.set_job_id(job_id);
    plan.set_working_directory("/");
    plan.set_world_size(static_cast<uint32_t>(nodes));
    for (uint32_t i = 0; i < nodes; ++i) {
      v1::NodePlan& node = *plan.add_nodes();
      node.set_node_rank(i);
      node.set_address("node" + std::to_string(i));
      node.set_data_address("127.0.0.1");
      node.mutable_reach()->mutable_ssh()->set_host(std::to_string(i));
      v1::RankPlan& rank = *node.add_ranks();
      rank.set_rank(i);
      rank.add_argv("true");
    }
    return plan;
  }

  // A launcher with case i as node i.
  std::unique_ptr<Launcher> LauncherFor(const v1::LaunchPlan& plan, Cases& cases, uint32_t fan_out,
                                        std::optional<v1::ProbeRequest> probe = {}) {
    LaunchOptions options;
    options.probe = std::move(probe);
    options.request.set_agent(AGENT_PROGRAM);
    options.request.set_lease(test::InSeconds(kLongLease));
    options.request.set_grace(test::InSeconds(seconds(1)));
    options.request.set_fan_out(fan_out);
    options.connector = std::make_shared<test::TestConnector>([this,
                                                               &cases](const v1::Reach& reach) {
      const size_t index = std::stoul(reach.ssh().host());
      const std::string home =
          Home(cases[index].installs ? "without-" + reach.ssh().host() : "with");
      std::filesystem::create_directories(home);
      return std::make_unique<test::FaultyTransport>(
          [&cases, index] { return cases.Next(index); },
          std::vector<std::string>{"env", "HOME=" + home, "sh", "-c", "cd && exec \"$@\"", "sh"});
    });
    return *Launcher::Create(plan, std::move(options));
  }

  // Only complete agents: a broken upload has removed its part.
  void ExpectNoPartsOfAgents() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file() || entry.path().parent_path().filename() == "ended") continue;
      EXPECT_EQ(entry.path().filename(), "autodist-agent");
      EXPECT_EQ(entry.file_size(), agent_.variants().front().program.size) << entry;
    }
  }

  const test::Watchdog watchdog_{kLaunchesHang};
  const transfer::NodeProgram agent_;
};

// Where a stream breaks: the first cases go through all positions, the others are random.
void ChooseBreak(size_t index, Faults& faults, bool installs, int64_t upload,
                 std::mt19937_64& random) {
  const auto below = [&](int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
  };
  constexpr size_t kSwept = 100;
  faults.how = below(2) == 0 ? Faults::Break::kEnd : Faults::Break::kReset;
  faults.counts_up = index % 2 == 0;
  const int64_t most = faults.counts_up ? kUpBytes : kDownBytes;
  faults.at = index < kSwept ? most * static_cast<int64_t>(index) / static_cast<int64_t>(kSwept)
                             : below(most);
  if (installs && faults.counts_up && below(2) == 0) faults.at = below(upload + kUpBytes);
  if (below(2) == 0) faults.failure = Error(StatusCode::kUnavailable, "connection lost: a test");
}

void Choose(size_t index, Case& chosen, int64_t upload, std::mt19937_64& random) {
  const auto one_in = [&](int n) { return std::uniform_int_distribution<>(0, n - 1)(random) == 0; };
  Faults& faults = chosen.faults;
  chosen.every_run = one_in(2);
  chosen.installs = one_in(8);
  if (one_in(8)) {
    faults.instead = NoAgents()[random() % NoAgents().size()];
  } else if (one_in(16)) {
    faults.start = Error(StatusCode::kUnavailable, "no route: a test");
  } else if (index < 100 || !one_in(4)) {
    ChooseBreak(index, faults, chosen.installs, upload, random);
  }
  constexpr std::array<size_t, 4> kPieces = {1, 2, 7, 65536};
  faults.piece = kPieces[random() % kPieces.size()];
  faults.in_pieces = 2000;
  faults.holds_back = one_in(4);
  if (faults.holds_back) faults.in_pieces = 200;
  if (one_in(4)) {
    faults.noise.resize(random() % 5000);
    for (char& byte : faults.noise) byte = static_cast<char>(random());
    faults.noise += "\nAUTODIST-READY 0123456789abcdef\n";
  }
}

TEST_F(LaunchFaultsTest, EveryNodeGetsAResultWithACauseIfItFailed) {
  std::mt19937_64 random(Seed());
  Cases cases(200);
  for (size_t i = 0; i < cases.size(); ++i) {
    Choose(i, cases[i], static_cast<int64_t>(agent_.variants().front().program.packed.size()),
           random);
  }
  const v1::LaunchPlan plan = PlanFor(NewJobId(), cases.size());
  auto launcher = LauncherFor(plan, cases, kFanOut);
  std::mutex mutex;
  std::map<uint32_t, LaunchedNode> nodes;
  size_t called = 0;
  std::promise<void> all;
  launcher->Start([&](LaunchedNode node) {
    const std::lock_guard lock(mutex);
    const uint32_t rank = node.node_rank;
    node.link.reset();  // limits the number of concurrent agents
    nodes[rank] = std::move(node);
    if (++called == cases.size()) all.set_value();
  });
  all.get_future().wait();
  launcher.reset();
  EXPECT_EQ(called, cases.size());
  ASSERT_EQ(nodes.size(), cases.size());
  size_t failed = 0;
  for (const auto& [index, node] : nodes) {
    SCOPED_TRACE("case " + std::to_string(index) + " of seed " + std::to_string(Seed()));
    if (node.status.ok()) {
      EXPECT_EQ(node.prepared.issues_size(), 0) << node.prepared.DebugString();
      continue;
    }
    ++failed;
    EXPECT_GT(cases[index].faulty, 0) << node.status;
    EXPECT_FALSE(Message(node.status).empty());
  }
  EXPECT_GT(failed, cases.size() / 4);
  EXPECT_LT(failed, cases.size() * 3 / 4);
  ExpectNothingLeft(plan.job_id());
  ExpectNoPartsOfAgents();
}

TEST_F(LaunchFaultsTest, ANodeIsProbedOnceForSeveralPrepares) {
  Cases cases(1);
  const v1::LaunchPlan plan = PlanFor(NewJobId(), 1);
  v1::ProbeRequest probe;
  probe.add_files(AGENT_PROGRAM);
  auto launcher = LauncherFor(plan, cases, 1, probe);
  std::promise<LaunchedNode> launched;
  launcher->Start([&](LaunchedNode node) { launched.set_value(std::move(node)); });
  LaunchedNode first = launched.get_future().get();
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.prepared.facts().files_size(), 1);
  std::promise<LaunchedNode> prepared;
  v1::PrepareRequest request;
  *request.mutable_node() = plan.nodes(0);
  launcher->Prepare(0, std::move(request), first.link,
                    [&](LaunchedNode node) { prepared.set_value(std::move(node)); });
  LaunchedNode again = prepared.get_future().get();
  ASSERT_TRUE(again.status.ok()) << again.status;
  EXPECT_EQ(again.prepared.facts().files_size(), 0);
  again.link.reset();
  first.link.reset();
  launcher.reset();
  ExpectNothingLeft(plan.job_id());
}

TEST_F(LaunchFaultsTest, SilentNodesAreGivenUpAtOnceWhenTheLaunchIsCancelled) {
  std::mt19937_64 random(Seed());
  Cases cases(32);
  for (size_t i = 0; i < cases.size(); ++i) {
    Faults& faults = cases[i].faults;
    faults.how = Faults::Break::kSilence;
    faults.counts_up = i % 2 == 0;
    faults.at = static_cast<int64_t>(random() % (faults.counts_up ? 100 : 70));
    if (i % 8 == 0) faults.noise = "Welcome!\n\nAUTODIST-READY 0123456789abcdef\n";
  }
  const v1::LaunchPlan plan = PlanFor(NewJobId(), cases.size());
  auto launcher = LauncherFor(plan, cases, static_cast<uint32_t>(cases.size()));
  std::mutex mutex;
  std::vector<LaunchedNode> nodes;
  launcher->Start([&](LaunchedNode node) {
    const std::lock_guard lock(mutex);
    nodes.push_back(std::move(node));
  });
  cases.Await(cases.size());
  const auto before = base::Deadline::Clock::now();
  launcher->Stop();
  EXPECT_LT(base::Deadline::Clock::now() - before, kCancelLimit);
  ASSERT_EQ(nodes.size(), cases.size());
  for (const LaunchedNode& node : nodes) {
    EXPECT_EQ(node.status.code(), StatusCode::kCancelled) << node.status;
    EXPECT_FALSE(Message(node.status).empty());
  }
  nodes.clear();
  launcher.reset();
  ExpectNothingLeft(plan.job_id());
}

}  // namespace
}  // namespace autodist::launch
