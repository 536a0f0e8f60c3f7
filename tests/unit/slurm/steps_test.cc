// The steps of a Slurm job, with a fake srun that starts tasks on this machine.
#include "slurm/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "ssh/ssh_loop.h"
#include "support/fake_munge.h"
#include "support/home_folder.h"
#include "support/limit.h"
#include "transfer/node_program.h"

namespace autodist::slurm {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

// Each start adds a line to "started". While there is a file "busy", no task is started; with
// "broken", srun exits at once; with "dead.NODE", no task is started on NODE.
constexpr char kSrun[] = R"(#!/bin/sh
cd "$FAKE_SRUN"
while :; do case $1 in --nodelist=*) nodes=${1#*=}; shift;; -*) shift;; *) break;; esac; done
case "$*" in *" clean"*) exit 0 ;; esac
IFS= read -r key
echo "$nodes" >> started
echo "$*" >> commands
echo "$key" >> keys
env >> environment
[ ! -e broken ] || { echo "srun: error: no such step" >&2; exit 1; }
while [ -e busy ]; do sleep 0.02; done
for node in $(echo "$nodes" | tr , ' '); do
  [ -e "dead.$node" ] || echo "$key" |
    SLURMD_NODENAME=$node SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 "$@" &
done
wait
while [ -e "hangs" ]; do sleep 0.02; done
)";

class SlurmStepsTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    const auto program = transfer::NodeProgram::OfAgent(AGENT_PROGRAM);
    ASSERT_TRUE(program.ok()) << program.status();
    const std::filesystem::path there = home_.path() + "/" + program->PathOnNode();
    std::filesystem::create_directories(there.parent_path());
    std::filesystem::copy_file(AGENT_PROGRAM, there);
    std::filesystem::permissions(folder_.Write("srun", kSrun), std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.path() + ":" + path_before_).c_str(), 1);
    test::PutFakeMunge(folder_);
    setenv("FAKE_SRUN", folder_.path().c_str(), 1);
    auto loop = ssh::SshLoop::Create();
    ASSERT_TRUE(loop.ok());
    loop_ = *std::move(loop);
  }
  void TearDown() override {
    connector_.reset();
    setenv("PATH", path_before_.c_str(), 1);
  }

  // `gpus` of each node, by which nodes are grouped in steps.
  void Plan(const std::vector<std::pair<std::string, uint32_t>>& gpus,
            const std::vector<std::string>& secret = {}) {
    v1::LaunchPlan plan;
    for (const auto& [name, count] : gpus) {
      v1::NodePlan& node = *plan.add_nodes();
      for (const std::string& variable : secret) {
        v1::SetVariable& set = *node.add_environment()->mutable_set();
        set.set_name(variable);
        set.set_secret(true);
      }
      v1::CallbackReach& called = *node.mutable_reach()->mutable_callback();
      called.set_name(name);
      called.mutable_step()->set_gpus(count);
    }
    connector_ = ConnectorFor(plan, AGENT_PROGRAM, std::chrono::seconds(5));
  }

  Result<std::unique_ptr<transport::Stream>> Run(const std::string& node, milliseconds limit,
                                                 bool another_step = false) {
    v1::Reach reach;
    reach.mutable_callback()->set_name(node);
    reach.mutable_callback()->set_limit_ms(static_cast<uint32_t>(limit.count()));
    reach.mutable_callback()->mutable_step()->set_restartable(another_step);
    AD_ASSIGN_OR_RETURN(const auto transport, connector_->TransportTo(reach, *loop_));
    return transport->Run({"echo", "up"}, {});
  }

  std::string OutputOf(const std::string& node, bool another_step = false) {
    auto stream = Run(node, test::kLimit, another_step);
    EXPECT_TRUE(stream.ok()) << stream.status();
    if (!stream.ok()) return "";
    const base::UniqueFd socket = (*stream)->TakeSocket();
    std::string text;
    char bytes[4096];
    for (;;) {
      const auto got =
          base::ReadSome(socket.get(), bytes, sizeof bytes, base::Deadline::After(test::kLimit));
      EXPECT_TRUE(got.ok());
      if (!got.ok() || *got == 0) return text;
      text.append(bytes, *got);
    }
  }

  ptrdiff_t Started() const { return std::ranges::count(folder_.Read("started"), '\n'); }
  void Mark(const std::string& name) { folder_.Write(name, ""); }
  void Unmark(const std::string& name) { std::filesystem::remove(folder_.path() + "/" + name); }

  const std::string path_before_ = getenv("PATH");
  const test::HomeFolder home_;
  const test::TempFolder folder_;
  std::unique_ptr<ssh::SshLoop> loop_;
  std::shared_ptr<reach::Connector> connector_;
};

TEST_F(SlurmStepsTest, OneStepForEqualNodes) {
  Plan({{"a", 0}, {"b", 0}, {"c", 2}});
  for (const char* node : {"a", "b", "c"}) EXPECT_EQ(OutputOf(node), "up\n");
  const std::string started = folder_.Read("started");
  EXPECT_TRUE(started == "a,b\nc\n" || started == "c\na,b\n") << started;
}

TEST_F(SlurmStepsTest, TheKeyIsOnlyOnTheStepsStdinAndSealedThere) {
  Plan({{"a", 0}, {"b", 0}});
  EXPECT_EQ(OutputOf("a"), "up\n");
  EXPECT_EQ(OutputOf("b"), "up\n");
  std::string key = folder_.Read("sealed");
  ASSERT_TRUE(key.starts_with("autodist-job-key ") && key.ends_with("\n")) << key;
  key = key.substr(key.find(' ') + 1);
  key.pop_back();
  EXPECT_TRUE(folder_.Read("keys").starts_with("MUNGE:")) << folder_.Read("keys");
  for (const char* seen : {"keys", "commands", "environment"}) {
    EXPECT_THAT(folder_.Read(seen), Not(HasSubstr(key))) << seen;
  }
}

TEST_F(SlurmStepsTest, AKeyThatCannotBeSealedIsNotSent) {
  Mark("munge_fails");
  Plan({{"a", 0}});
  const auto failed = Run("a", test::kLimit);
  EXPECT_THAT(Message(failed.status()), HasSubstr("munge: no munged here"));
  EXPECT_THAT(Remedy(failed.status()), HasSubstr("munged"));
  Unmark("munge");
  setenv("PATH", folder_.path().c_str(), 1);
  const auto missing = Run("a", test::kLimit);
  EXPECT_THAT(Message(missing.status()),
              HasSubstr("encrypting the job's key for the nodes: munge"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/started"));
}

// In a separate process, because Slurm's settings are queried once.
TEST_F(SlurmStepsTest, IfSlurmDoesNotUseMungeTheKeyIsNotSealed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Mark("auth_none");
        Plan({{"a", 0}});
        const bool up = OutputOf("a") == "up\n";
        const bool plain = folder_.Read("keys").starts_with("autodist-job-key ");
        connector_.reset();
        _exit(up && plain ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(SlurmStepsTest, SecretVariablesAreNotPassedThroughSrun) {
  setenv("OUR_SECRET", "a marker", 1);
  Plan({{"a", 0}}, {"OUR_SECRET", "PATH"});
  EXPECT_EQ(OutputOf("a"), "up\n");
  unsetenv("OUR_SECRET");
  EXPECT_THAT(folder_.Read("environment"), Not(HasSubstr("a marker")));
  EXPECT_THAT(folder_.Read("environment"), HasSubstr("PATH=" + folder_.path()));
}

// Slurm may take longer to start a step than one try to reach the node.
TEST_F(SlurmStepsTest, ALostNodeGetsOneStepForSeveralTries) {
  Mark("dead.b");
  Plan({{"a", 0}, {"b", 0}});
  EXPECT_EQ(OutputOf("a"), "up\n");
  Mark("busy");
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Run("b", milliseconds(50), true).ok());
  while (Started() < 2) std::this_thread::yield();
  EXPECT_FALSE(Run("b", milliseconds(50), true).ok());
  EXPECT_EQ(Started(), 2);
  Unmark("dead.b");
  Unmark("busy");
  EXPECT_EQ(OutputOf("b", true), "up\n");
  EXPECT_EQ(folder_.Read("started"), "a,b\nb\n");
}

TEST_F(SlurmStepsTest, AnEndedStepIsFollowedByAnother) {
  Mark("dead.b");
  Plan({{"a", 0}, {"b", 0}});
  EXPECT_EQ(OutputOf("a"), "up\n");
  Mark("broken");
  const auto failed = Run("b", std::chrono::seconds(2), true);
  EXPECT_THAT(Message(failed.status()), HasSubstr("no such step"));
  EXPECT_EQ(Started(), 2);
  Unmark("broken");
  Unmark("dead.b");
  EXPECT_EQ(OutputOf("b", true), "up\n");
  EXPECT_EQ(Started(), 3);
}

TEST_F(SlurmStepsTest, WithoutAnotherStepTheFailureIsThatOfTheStep) {
  Mark("broken");
  Plan({{"a", 0}});
  const auto failed = Run("a", test::kLimit);
  EXPECT_THAT(Message(failed.status()), HasSubstr("no such step"));
  EXPECT_EQ(Started(), 1);
}

TEST_F(SlurmStepsTest, StepsThatDoNotEndShareTheirTimeLimit) {
  Plan({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}});
  for (const char* node : {"a", "b", "c", "d"}) EXPECT_EQ(OutputOf(node), "up\n");
  Mark("hangs");
  const auto began = std::chrono::steady_clock::now();
  connector_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(12));  // not 4 times 5
}

}  // namespace
}  // namespace autodist::slurm
