#include "agent/supervisor/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "support/limit.h"
#include "support/quiet_supervisor.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kLimit;
using testing::HasSubstr;

class RunProgramTest : public testing::Test {
 protected:
  static ProgramCommand Shell(const std::string& script) {
    ProgramCommand command{{"sh", "-c", script}, {}, "/"};
    command.environment.Set("PATH", "/usr/bin:/bin");
    return command;
  }

  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(RunProgramTest, StdoutAndStderrAreSeparate) {
  ProgramCommand command = Shell("echo out; echo err >&2");
  auto output = RunProgram(command, kLimit, *supervisor_);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->failure, "");
  EXPECT_EQ(output->result, "out\n");
  EXPECT_EQ(output->said, "err");

  command = Shell("echo out; echo err >&2; echo result >&3; exit 3");
  command.result_on_descriptor_3 = true;
  output = RunProgram(command, kLimit, *supervisor_);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->failure, "ended with status 3");
  EXPECT_EQ(output->result, "result\n");
  EXPECT_EQ(output->said, "out\nerr");
}

TEST_F(RunProgramTest, ReportsWhyAProgramWasEnded) {
  EXPECT_EQ(RunProgram(Shell("kill -9 $$"), kLimit, *supervisor_)->failure,
            "was ended by signal 9");
  const auto late = RunProgram(Shell("echo began >&2; sleep 1000"), seconds(1), *supervisor_);
  EXPECT_EQ(late->failure, "did not end within 1 s");
  EXPECT_EQ(late->said, "began");
  ProgramCommand missing = Shell("");
  missing.argv[0] = "no-such-program";
  EXPECT_THAT(Message(RunProgram(missing, kLimit, *supervisor_).status()),
              HasSubstr("'no-such-program' is not in PATH"));
}

TEST_F(RunProgramTest, EndlessOutputEndsTheProgram) {
  const auto endless = RunProgram(Shell("yes"), kLimit, *supervisor_);
  EXPECT_EQ(endless->failure, "wrote more than 16 MiB");
  EXPECT_EQ(endless->result.size(), kMaxWritten);
}

TEST_F(RunProgramTest, ALimitEndsOnlyTheProgramThatReachesIt) {
  auto slow = std::async(std::launch::async, [this] {
    return RunProgram(Shell("sleep 1; echo done"), kLimit, *supervisor_);
  });
  EXPECT_NE(RunProgram(Shell("sleep 1000"), milliseconds(300), *supervisor_)->failure, "");
  EXPECT_EQ(slow.get()->result, "done\n");
}

}  // namespace
}  // namespace autodist::agent
