// Fetches files from simulated nodes; tests/unit/launch/fetch_files_test.cc tests the agent's side.
#include "chief/fetch/job_fetch.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/deadline.h"
#include "chief/fetch/fetch_text.h"
#include "support/fake_nodes.h"
#include "support/idle_link.h"
#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr seconds kAnswerLimit{60};

TEST(FolderNameOfTest, IsOneNameForAllAddresses) {
  EXPECT_EQ(FolderNameOf("gpu-1.lab_x"), "gpu-1.lab_x");
  EXPECT_EQ(FolderNameOf("fd00::1"), "fd00::1");
  EXPECT_EQ(FolderNameOf("fe80::1%eth0"), "fe80::1_eth0");
  EXPECT_EQ(FolderNameOf("../x"), "node-.._x");
  EXPECT_EQ(FolderNameOf("."), "node-.");
  EXPECT_EQ(FolderNameOf(""), "node-");
  EXPECT_EQ(FolderNameOf("a\n\x1b[2J"), "a___2J");
  EXPECT_EQ(FolderNameOf(std::string(300, 'a')).size(), 200u);
}

// A link that provides the files set by the test.
class FilesLink final : public test::IdleLink {
 public:
  using Bring = std::function<transfer::FetchedFiles(
      const transfer::FetchOrder& order, transfer::FetchedFolder& folder, const std::stop_token&)>;
  explicit FilesLink(Bring bring) : bring_(std::move(bring)) {}

  transfer::FetchedFiles Fetch(const transfer::FetchOrder& order, transfer::FetchedFolder& folder,
                               const std::stop_token& stop) override {
    return bring_(order, folder, stop);
  }
  void OpenSession(launch::SessionListener&) override {}
  void Send(v1::ChiefMessage) override {}
  void Break() override {}
  void EndSession() override {}
  bool WaitClosed(base::Deadline) override { return true; }

 private:
  const Bring bring_;
};

// The first of three nodes is this machine.
class JobFetchTest : public testing::Test, protected FleetListener {
 protected:
  JobFetchTest() {
    launcher_->Start([this](launch::LaunchedNode node) {
      loop_.Post([this, node] { watch_.Add(node.node_rank, node.link); });
    });
    watch_.ConnectAgainBy(*launcher_);
    loop_.RunUntil([this] {
      const auto connected = [this](uint32_t node) { return watch_.Connected(node); };
      return watch_.All(connected) && watch_.AllResumed();
    });
  }
  ~JobFetchTest() override {
    launcher_->Stop();
    watch_.DisconnectAtExit();
    console_.Finish();
  }

  void OnMemberEvent(uint32_t, const v1::AgentEvent&) override {}
  void OnWarning(uint32_t, const std::string&) override {}
  void OnEvicted(uint32_t, std::optional<uint32_t>, const Status&) override {}
  void OnLost(uint32_t, std::optional<uint32_t>, const Status&, bool) override {}
  void OnPhase(uint32_t, v1::NodePhase, const std::string&) override {}

  void Begin(const std::vector<std::string>& patterns = {"*"}, uint64_t most_bytes = 0,
             const std::stop_token& stop = {}) {
    v1::FetchRequest request;
    *request.mutable_patterns() = {patterns.begin(), patterns.end()};
    request.set_most_bytes(most_bytes);
    fetch_.Start(request, stop, [this](const Result<v1::JobFiles>& files) { answer_ = files; });
  }
  // The files arrive on a thread outside of the simulated time.
  v1::JobFiles Await() {
    const auto limit = base::Deadline::After(kAnswerLimit);
    while (!answer_ && !limit.Expired()) {
      loop_.RunUntil([this] { return answer_.has_value(); }, loop_.Now() + milliseconds(1));
      std::this_thread::yield();
    }
    EXPECT_TRUE(answer_ && answer_->ok());
    return answer_ && answer_->ok() ? **answer_ : v1::JobFiles();
  }

  const test::TempFolder folder_;
  const v1::LaunchPlan plan_ = test::ThreeNodePlan();
  test::TurnedLoop loop_;
  test::FakeNodes nodes_{loop_, plan_};
  const std::unique_ptr<launch::Launcher> launcher_ = nodes_.MakeLauncher();
  Console console_{[](uint32_t, const v1::OutputAck&) {}};
  OutputRouter output_{loop_, console_};
  Fleet watch_{plan_, {seconds(60)}, loop_, output_, console_, *this};
  std::map<uint32_t, FilesLink::Bring> bring_;  // by node
  std::optional<Result<v1::JobFiles>> answer_;
  JobFetch fetch_{plan_, folder_.path(), loop_, watch_,
                  [this](uint32_t node) -> std::shared_ptr<launch::NodeLink> {
                    if (!bring_.contains(node)) return nullptr;
                    return std::make_shared<FilesLink>(bring_.at(node));
                  }};
};

// Provides one file with this content.
transfer::FetchedFiles BringOne(transfer::FetchedFolder& folder, const std::string& content) {
  transfer::FetchedFiles fetched;
  v1::FetchedFile file;
  file.set_path("a");
  file.set_mode(0600);
  file.set_size(content.size());
  auto made = folder.Create(file);
  fetched.status = made.status();
  if (made.ok()) fetched.status = made->Write(content);
  if (fetched.status.ok()) fetched.status = made->Finish();
  fetched.files = fetched.status.ok() ? 1 : 0;
  fetched.bytes = fetched.status.ok() ? content.size() : 0;
  return fetched;
}

TEST_F(JobFetchTest, EachNodeHasAFolderAndTheAnswerHasTotals) {
  std::mutex mutex;
  transfer::FetchOrder ordered;
  bring_[1] = [&](const auto& order, auto& folder, const auto&) {
    const std::lock_guard lock(mutex);
    ordered = order;
    return BringOne(folder, "of 1");
  };
  bring_[2] = [](const auto&, auto& folder, const auto&) { return BringOne(folder, "of node 2"); };
  Begin({"ckpt*", "out/**"}, 4711);
  EXPECT_TRUE(fetch_.busy());
  const v1::JobFiles files = Await();
  EXPECT_FALSE(fetch_.busy());
  EXPECT_EQ(ordered.folder, "/work");
  EXPECT_THAT(ordered.patterns, ElementsAre("ckpt*", "out/**"));
  EXPECT_EQ(ordered.most_bytes, 4711u);
  EXPECT_TRUE(ordered.began && !ordered.ended);
  EXPECT_EQ(folder_.Read("10.0.0.2/a"), "of 1");
  EXPECT_EQ(folder_.Read("node3/a"), "of node 2");
  EXPECT_EQ(files.files(), 2u);
  EXPECT_EQ(files.bytes(), 13u);
  EXPECT_EQ(files.nodes(), 2u);
  EXPECT_EQ(files.asked(), 3u);
  EXPECT_EQ(files.sharing(), 1u) << "this machine has its own files";
  EXPECT_TRUE(files.chief_has_own());
  EXPECT_EQ(files.folder(), folder_.path());
  EXPECT_EQ(files.shared(), "/work");
  EXPECT_EQ(files.failures_size() + files.warnings_size(), 0);
}

TEST(FetchTextTest, AFewOfManyNodesAreNamed) {
  v1::JobFiles files;
  v1::NodeIssue& failure = *files.add_failures();
  failure.set_what("cut off");
  for (int i = 0; i < 10; ++i) failure.add_nodes("n" + std::to_string(i));
  EXPECT_EQ(FetchText(files)[0].text,
            "n0, n1, n2, n3, n4, n5, n6, n7 and 2 others: incomplete: cut off");
}

TEST(FetchTextTest, TheChiefsOwnNodeSharesNoFolder) {
  struct Case {
    bool own;
    uint32_t sharing;
    std::string text;
  };
  const Case cases[] = {
      {false, 0, "fetched 1 file, 1 byte, from 1 node into /logs"},
      {true, 1,
       "fetched 1 file, 1 byte, from 1 node into /logs; files of the chief's own node stay in "
       "/work"},
      {false, 1,
       "fetched 1 file, 1 byte, from 1 node into /logs; 1 node shares the folder /work with the "
       "chief, so nothing was fetched from it"},
      {true, 3,
       "fetched 1 file, 1 byte, from 1 node into /logs; files of the chief's own node stay in "
       "/work; 2 nodes share the folder /work with the chief, so nothing was fetched from them"},
  };
  for (const Case& one : cases) {
    v1::JobFiles files;
    files.set_asked(one.sharing + 1);
    files.set_files(1);
    files.set_bytes(1);
    files.set_nodes(1);
    files.set_folder("/logs");
    files.set_shared("/work");
    files.set_sharing(one.sharing);
    files.set_chief_has_own(one.own);
    EXPECT_EQ(FetchText(files).back().text, one.text);
  }
}

TEST_F(JobFetchTest, ReportsOfSeveralNodesAreGrouped) {
  for (const uint32_t node : {1u, 2u}) {
    bring_[node] = [](const auto&, auto&, const auto&) {
      transfer::FetchedFiles fetched;
      fetched.warnings = {"link: is no file", "\xff"};
      fetched.status = WithRemedy(Error(StatusCode::kResourceExhausted, "too much"), "--max-size");
      return fetched;
    };
  }
  Begin();
  const v1::JobFiles files = Await();
  ASSERT_EQ(files.failures_size(), 1);
  EXPECT_THAT(files.failures(0).nodes(), ElementsAre("10.0.0.2", "node3"));
  EXPECT_EQ(files.failures(0).what(), "too much");
  EXPECT_EQ(files.failures(0).remedy(), "--max-size");
  ASSERT_EQ(files.warnings_size(), 2);
  EXPECT_THAT(files.warnings(0).nodes(), ElementsAre("10.0.0.2", "node3"));
  EXPECT_EQ(files.warnings(1).what(), "?");
}

TEST_F(JobFetchTest, ADisconnectedNodeFailsWithTheReasonAndTheOthersContinue) {
  bring_[1] =
      bring_[2] = [](const auto&, auto& folder, const auto&) { return BringOne(folder, "x"); };
  nodes_[1].CutLink();
  loop_.RunUntil([this] { return !watch_.Connected(1); });
  Begin();
  const v1::JobFiles files = Await();
  EXPECT_EQ(files.files(), 1u);
  ASSERT_EQ(files.failures_size(), 1);
  EXPECT_THAT(files.failures(0).nodes(), ElementsAre("10.0.0.2"));
  EXPECT_THAT(files.failures(0).what(), HasSubstr("it is not connected: "));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/10.0.0.2"));
}

TEST_F(JobFetchTest, AFileOfTheJobIsNoFolderOfANode) {
  folder_.Write("10.0.0.2", "of the job");
  bring_[1] = [](const auto&, auto& folder, const auto&) { return BringOne(folder, "first"); };
  Begin();
  Await();
  EXPECT_EQ(folder_.Read("node-10.0.0.2/a"), "first");
  answer_.reset();
  bring_[1] = [](const auto&, auto& folder, const auto&) { return BringOne(folder, "again"); };
  Begin();  // into the same folder
  Await();
  EXPECT_EQ(folder_.Read("node-10.0.0.2/a"), "again");
  EXPECT_EQ(folder_.Read("10.0.0.2"), "of the job");
}

TEST_F(JobFetchTest, OneAtATimeUntilItIsCancelled) {
  std::atomic<bool> stopped = false;
  bring_[1] = [&](const auto&, auto&, const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait(lock, stop, [] { return false; });
    stopped = true;
    transfer::FetchedFiles fetched;
    fetched.status = Error(StatusCode::kCancelled, "cancelled");
    return fetched;
  };
  std::stop_source client;
  Begin({"*"}, 0, client.get_token());
  std::optional<Result<v1::JobFiles>> second;
  fetch_.Start({}, {}, [&](const Result<v1::JobFiles>& files) { second = files; });
  ASSERT_TRUE(second);
  EXPECT_EQ(second->status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second->status()), HasSubstr("are being fetched already"));
  client.request_stop();
  const v1::JobFiles files = Await();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(files.failures(0).what(), "cancelled");
}

TEST_F(JobFetchTest, OnlyWhatChangedSinceTheFirstAttemptIsFetched) {
  const auto before = base::Deadline::Clock::now();
  fetch_.JobRuns();
  const auto after = base::Deadline::Clock::now();
  std::atomic<bool> in_between = false;
  bring_[1] = [&](const auto& order, auto& folder, const auto&) {
    in_between = order.began >= before && order.began <= after;
    transfer::FetchedFiles fetched = BringOne(folder, "x");
    fetched.unchanged = 2;
    return fetched;
  };
  fetch_.JobRuns();  // another attempt
  Begin();
  const v1::JobFiles files = Await();
  EXPECT_TRUE(in_between);
  EXPECT_EQ(files.unchanged(), 2u);
  EXPECT_THAT(FetchText(files).back().text,
              HasSubstr("fetched 1 file, 1 byte, from 1 node into " + folder_.path() +
                        "; 2 files that match did not change while the job ran"));
}

TEST_F(JobFetchTest, TheFirstStartOnEachNodeIsWrittenForAFetchAfterTheEnd) {
  fetch_.RankStarted(1, 5);
  fetch_.RankStarted(2, 7);
  fetch_.RankStarted(1, 9);
  fetch_.RankStarted(0, 0);  // unknown
  loop_.RunUntil([] { return false; }, loop_.Now() + milliseconds(1));
  EXPECT_EQ(folder_.Read("started.txt"), "10.0.0.2 5\nnode3 7\n");
  fetch_.RankStarted(2, 9);
  fetch_.RankStarted(0, 8);
  loop_.RunUntil([] { return false; }, loop_.Now() + milliseconds(1));
  EXPECT_EQ(folder_.Read("started.txt"),
            "10.0.0.2 5\nnode3 7\n" + plan_.nodes(0).address() + " 8\n");
}

TEST_F(JobFetchTest, TheEndOfTheJobCancelsIt) {
  bring_[1] = [](const auto&, auto&, const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    return transfer::FetchedFiles();
  };
  Begin();
  fetch_.Finish();
  EXPECT_EQ(Await().files(), 0u);
}

}  // namespace
}  // namespace autodist::chief
