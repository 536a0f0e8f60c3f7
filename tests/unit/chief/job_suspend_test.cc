// Ctrl-Z. A job that stops its own process is continued by a helper process, which reports the
// stop.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "process/spawn.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

// Waits until this process is stopped; records that, and continues it.
constexpr char kContinue[] =
    "until grep -q '^State:.T' /proc/$1/status; do sleep 0.01; done; : > $2; kill -CONT $1";

class JobSuspendTest : public test::JobTest {
 protected:
  explicit JobSuspendTest(const plan::Input& input = test::ThreeNodeInput()) : JobTest(input) {
    watcher_ = *process::Spawn(process::OurProgram(
        {"sh", "-c", kContinue, "sh", std::to_string(getpid()), stopped_file_}));
  }
  ~JobSuspendTest() override {
    kill(watcher_, SIGKILL);
    process::Reap(watcher_);
  }

  bool WasStopped() const { return std::filesystem::exists(stopped_file_); }
  // Signals that the node's ranks were sent.
  std::vector<int> SignalsTo(uint32_t node) {
    std::vector<int> signals;
    for (const v1::ChiefMessage& message : nodes_[node].received) {
      if (message.has_signal()) signals.push_back(static_cast<int>(message.signal().signal()));
    }
    return signals;
  }

  const std::string stopped_file_ = folder_.path() + "/stopped";
  pid_t watcher_ = -1;
};

TEST_F(JobSuspendTest, StopsAllRanksAndThenItself) {
  Signal(seconds(5), SIGTSTP);
  AllExit(seconds(10), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_TRUE(WasStopped());
  EXPECT_THAT(SignalsTo(0), ElementsAre(SIGTSTP, SIGCONT));
}

TEST_F(JobSuspendTest, CtrlCInTheMeantimeEndsTheJobInstead) {
  loop_.After(seconds(4), [this] { nodes_[1].silent = true; });  // it delays the others
  Signal(seconds(5), SIGTSTP);
  Signal(milliseconds(5'500));
  loop_.After(milliseconds(5'600), [this] { nodes_[1].silent = false; });
  EXPECT_EQ(Run(), 130);
  EXPECT_FALSE(WasStopped());
  EXPECT_LE(took_, seconds(6) + kGrace + StopPolicy::kEndLimit);
  EXPECT_THAT(SignalsTo(0), ElementsAre(SIGTSTP, SIGCONT));
  ExpectNothingRuns();
}

TEST_F(JobSuspendTest, ARankThatFailsInTheMeantimeEndsTheJobInstead) {
  loop_.After(seconds(4), [this] { nodes_[1].silent = true; });
  Signal(seconds(5), SIGTSTP);
  loop_.After(milliseconds(5'500), [this] { nodes_[0].Exit(*nodes_[0].running().begin(), 3); });
  loop_.After(milliseconds(5'600), [this] { nodes_[1].silent = false; });
  EXPECT_EQ(Run(), 3);
  EXPECT_FALSE(WasStopped());
  ExpectNothingRuns();
}

class SpareSuspendTest : public JobSuspendTest {
 protected:
  SpareSuspendTest() : JobSuspendTest(test::EqualNodes()) {
    options_.launch.request.set_spares(1);
    options_.launch.request.set_timeout(7'200);
    nodes_[1].lease = kLease;
  }
  void SpareSucceedsAt(seconds time) {
    loop_.After(time, [this] {
      EXPECT_FALSE(nodes_[2].running().empty());
      nodes_[0].ExitAll(0);
      nodes_[2].ExitAll(0);
    });
  }
};

// It does not get the order that extends its lease.
TEST_F(SpareSuspendTest, ANodeThatWasCutOffBeforeIsReplacedAfterItsLease) {
  loop_.After(seconds(4), [this] { nodes_[1].CutLink(); });
  Signal(seconds(5), SIGTSTP);
  SpareSucceedsAt(seconds(20) + kLease);
  EXPECT_EQ(Run(), 0);
  EXPECT_TRUE(WasStopped());
}

}  // namespace
}  // namespace autodist::chief
