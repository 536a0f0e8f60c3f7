// Jobs whose link to a node breaks repeatedly: each succeeds, and the output of all ranks arrives
// once and completely.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <random>
#include <sstream>

#include "base/fd.h"
#include "chief/job.h"
#include "plan/plan.h"
#include "spec/yaml_reader.h"
#include "support/agents_test.h"
#include "support/faulty_transport.h"
#include "support/in_seconds.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using test::Faults;

constexpr seconds kJobsHang{500};  // for the slowest of builds
constexpr seconds kJobLease{60};   // so that a slow node is not lost
// Each has its own seed. With a sanitizer, a long job takes twenty times as long.
constexpr uint64_t kLongJobs = SANITIZED ? 3 : 20;
constexpr uint64_t kShortJobs = SANITIZED ? 50 : 100;
constexpr int kRanks = 4;       // of each
constexpr int kLines = 30'000;  // of each rank of a long job, on each stream
constexpr int kMessages = 2'000;

// Redirects stdout and stderr to a file during its life.
class Redirected {
 public:
  explicit Redirected(const std::string& path)
      : out_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)),
        err_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    std::fflush(stdout);
    const base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    dup2(file.get(), STDOUT_FILENO);
    dup2(file.get(), STDERR_FILENO);
  }
  ~Redirected() {
    std::fflush(stdout);
    dup2(out_.get(), STDOUT_FILENO);
    dup2(err_.get(), STDERR_FILENO);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  const base::UniqueFd out_;
  const base::UniqueFd err_;
};

std::string Lines(int rank, const std::string& stream, int lines) {
  std::string text;
  for (int i = 1; i <= lines; ++i) {
    text += "rank " + std::to_string(rank) + " " + stream + " " + std::to_string(i) + "\n";
  }
  return text;
}

class JobFaultsTest : public test::AgentsTest, public testing::WithParamInterface<uint64_t> {
 protected:
  plan::Input Input(const std::string& script) {
    plan::Input input;
    std::string devices;
    for (int i = 0; i < kRanks; ++i) devices += (i > 0 ? ", " : "") + std::to_string(i);
    input.spec = *spec::ReadSpec(
                      "nodes: [{address: 127.0.0.1, chief: true, cpus: [" + devices + "]}]", "test")
                      .spec;
    input.command = {"sh", "-c", script};
    input.job_id = NewJobId();
    input.user = {"me", folder_.path(), folder_.path(), ""};
    input.working_directory = folder_.path();
    input.address_of["127.0.0.1"] = {"127.0.0.1", "127.0.0.1", "", {}};
    return input;
  }

  // The faults of the job's next connection, which passes at most this many bytes.
  Faults NextFaults(int64_t most) {
    const auto below = [&](int64_t limit) {
      return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
    };
    Faults faults;
    faults.how = below(2) == 0 ? Faults::Break::kEnd : Faults::Break::kReset;
    faults.failure = below(2) == 0 ? OkStatus() : Error(StatusCode::kUnavailable, "a test");
    faults.counts_up = below(4) == 0;
    // Some break before the agent has been reached again, or during the resume message.
    faults.at = below(below(4) == 0 ? 600 : faults.counts_up ? kMessages : most);
    faults.armed = &running_;
    constexpr std::array<size_t, 4> kPieces = {1, 100, 4096, 65536};
    faults.piece = kPieces[static_cast<size_t>(below(kPieces.size()))];
    faults.in_pieces = 2000;
    faults.broken = [this] { ++broken_; };
    return faults;
  }

  int Run(const v1::LaunchPlan& plan, int64_t most) {
    JobOptions options;
    options.launch.request.set_agent(AGENT_PROGRAM);
    options.launch.request.set_lease(test::InSeconds(kJobLease));
    options.launch.request.set_grace(test::InSeconds(seconds(1)));
    options.launch.request.set_fan_out(1);
    options.launch.connector =
        std::make_shared<test::TestConnector>([this, most](const v1::Reach&) {
          return std::make_unique<test::FaultyTransport>([this, most] { return NextFaults(most); },
                                                         std::vector<std::string>{"env"});
        });
    options.log_folder = folder_.path() + "/logs";
    options.launch.request.set_no_preflight(true);
    options.on_running = [this] { running_ = true; };
    const Redirected redirected(folder_.path() + "/messages");
    return Job(plan, std::move(options)).Run();
  }

  // Checks that a job whose ranks write this many lines succeeds and loses none.
  void ExpectAllArrives(int lines, int64_t most) {
    const std::string count = std::to_string(lines);
    const v1::LaunchPlan plan =
        *plan::MakePlan(Input("seq -f \"rank $RANK err %.0f\" " + count +
                              " >&2 & seq -f \"rank $RANK out %.0f\" " + count + "; wait"));
    EXPECT_EQ(Run(plan, most), 0);
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string log = "logs/rank-" + std::to_string(rank);
      EXPECT_TRUE(folder_.Read(log + ".out") == Lines(rank, "out", lines)) << log;
      EXPECT_TRUE(folder_.Read(log + ".err") == Lines(rank, "err", lines)) << log;
    }
    std::istringstream messages(folder_.Read("messages"));
    for (std::string line; std::getline(messages, line);) {
      EXPECT_EQ(line.find("is lost"), std::string::npos) << line;
      if (HasFailure() && line.find("autodist: ") != std::string::npos) {
        std::printf("%s\n", line.c_str());
      }
    }
    ExpectNothingLeft(plan.job_id());
  }

  const test::Watchdog watchdog_{kJobsHang};
  std::mt19937_64 random_{GetParam()};
  std::atomic<bool> running_ = false;
  std::atomic<int> broken_ = 0;
};

class LongJobFaultsTest : public JobFaultsTest {
 protected:
  // The number of breaks is random.
  static void TearDownTestSuite() { EXPECT_GT(all_broken_, 3 * jobs_); }
  static inline int jobs_ = 0;
  static inline int all_broken_ = 0;
};
class ShortJobFaultsTest : public JobFaultsTest {
 protected:
  // The position of the break is random, and half of the jobs end before it.
  static void TearDownTestSuite() {
    if (jobs_ == kShortJobs) {
      EXPECT_GT(broken_jobs_, kShortJobs / 5);
    }
  }
  static inline uint64_t jobs_ = 0;
  static inline uint64_t broken_jobs_ = 0;
};

TEST_P(LongJobFaultsTest, OutputOfRanksArrivesOnceAndCompletely) {
  ExpectAllArrives(kLines, 400'000);
  EXPECT_GT(broken_, 0);
  ++jobs_;
  all_broken_ += broken_;
}

TEST_P(ShortJobFaultsTest, SucceedsWhereverTheLinkBreaks) {
  ExpectAllArrives(1, kMessages);
  ++jobs_;
  if (broken_ > 0) ++broken_jobs_;
}

INSTANTIATE_TEST_SUITE_P(Seeds, LongJobFaultsTest, testing::Range(uint64_t{0}, kLongJobs));
INSTANTIATE_TEST_SUITE_P(Seeds, ShortJobFaultsTest, testing::Range(uint64_t{0}, kShortJobs));

}  // namespace
}  // namespace autodist::chief
