// Cleans up on the nodes of ended steps, with a fake srun that runs a task's command on this
// machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "autodist/v1/plan.pb.h"
#include "reach/connector_factory.h"
#include "slurm/steps.h"
#include "ssh/ssh_loop.h"
#include "support/fake_munge.h"
#include "support/home_folder.h"
#include "support/nobody.h"
#include "support/temp_folder.h"
#include "transfer/node_program.h"

namespace autodist::slurm {
namespace {

namespace fs = std::filesystem;

class SlurmCleanUpTest : public testing::Test {
 protected:
  SlurmCleanUpTest() {
    // The first one, a step of callback clients, exits at once; the next one cleans up.
    const std::string srun = folder_.Write("srun",
                                           "#!/bin/sh\n"
                                           "mkdir '" +
                                               folder_.path() +
                                               "/first' 2> /dev/null && exit 1\n"
                                               "while [ \"$1\" != sh ]; do shift; done\n"
                                               "exec \"$@\"\n");
    fs::permissions(srun, fs::perms::owner_all);
    test::PutFakeMunge(folder_);
    setenv("PATH", (folder_.path() + ":" + path_before_).c_str(), 1);
    const std::string agent =
        folder_.Write("agent", "#!/bin/sh\necho \"$*\" > '" + folder_.path() + "/ran'\n");
    fs::permissions(agent, fs::perms::owner_all);
    agent_ = agent;
    version_ = transfer::NodeProgram::OfAgent(agent)->Versions()[0];
  }
  ~SlurmCleanUpTest() override {
    setenv("PATH", path_before_.c_str(), 1);
    fs::remove_all(in_tmp_);
  }

  // The arguments of the agent after a step has ended; "": it was not started.
  std::string CleansUp() const {
    v1::LaunchPlan plan;
    v1::NodePlan& node = *plan.add_nodes();
    v1::CallbackReach& called = *node.mutable_reach()->mutable_callback();
    called.set_host("a");
    called.set_name("a");
    called.set_limit_ms(60'000);
    called.mutable_step()->set_gpus(0);
    const auto loop = ssh::SshLoop::Create();
    {
      const auto connector = ConnectorFor(plan, agent_, std::chrono::seconds(1));
      const auto transport = connector->TransportTo(node.reach(), **loop);
      EXPECT_TRUE(transport.ok()) << transport.status();
      EXPECT_FALSE((*transport)->Run({"true"}, {}).ok());  // until the step has ended
    }
    return folder_.Read("ran");
  }
  void Put(const std::string& folder) const {
    fs::create_directories(folder);
    fs::copy(agent_, folder + "/autodist-agent");
  }

  const test::HomeFolder home_;
  const test::TempFolder folder_;
  const std::string path_before_ = getenv("PATH");
  const std::string in_tmp_ = "/tmp/autodist-agent-" + std::to_string(geteuid());
  std::string agent_;
  std::string version_;
};

TEST_F(SlurmCleanUpTest, WithTheAgentInTheHomeFolder) {
  Put(home_.path() + "/.cache/autodist/agent/" + version_);
  EXPECT_EQ(CleansUp(), "clean\n");
}

TEST_F(SlurmCleanUpTest, WithTheAgentInTmp) {
  Put(in_tmp_ + "/" + version_);
  EXPECT_EQ(CleansUp(), "clean\n");
}

// All checks of the path succeed: the program belongs to root.
TEST_F(SlurmCleanUpTest, NotWithFilesInAnotherUsersFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  Put(in_tmp_ + "/" + version_);
  ASSERT_EQ(chown(in_tmp_.c_str(), test::kNobody, test::kNobody), 0);
  EXPECT_EQ(CleansUp(), "");
}

}  // namespace
}  // namespace autodist::slurm
