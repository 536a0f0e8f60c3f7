#include "exec/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/local.h"

namespace autodist::exec {
namespace {

using testing::HasSubstr;

TEST(ExecErrorTest, AMissingContainerIsDistinguishedFromOtherFailures) {
  for (const std::string said :
       {"Error: no container with name or ID \"x\" found: no such container\n",
        "Error: can only create exec sessions on running containers: container state improper\n",
        "noise before\nError response from daemon: No such container: x\r\n",
        "Error response from daemon: container 1f2e is not running\n",
        "Error from server (NotFound): pods \"x\" not found\n",
        "error: cannot exec into a container in a completed pod; current phase is Failed\n",
        "Defaulted container \"a\" out of: a, b\nerror: unable to upgrade connection: container "
        "not "
        "found (\"a\")\n"}) {
    EXPECT_EQ(ExecError(said).code(), StatusCode::kAborted) << said;
  }
  const Status away =
      ExecError("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout");
  EXPECT_EQ(away.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(away), HasSubstr("i/o timeout"));
  EXPECT_THAT(Message(ExecError("OCI runtime exec failed: exec failed: unable to start container "
                                "process: exec: \"sh\": executable file not found in $PATH")),
              HasSubstr("has no sh"));
}

TEST(ExecErrorTest, OutputOfTheProgramIsNotTheRuntimes) {
  for (const std::string said : {"", "sh: 1: Error: no such container\n", "mkdir: is not running\n",
                                 "command terminated with exit code 1\n"}) {
    EXPECT_TRUE(ExecError(said).ok()) << said;
  }
}

TEST(ExecTransportTest, RunsTheCommandAfterItsPrefix) {
  ExecTransport exec(std::make_unique<transport::LocalTransport>(), {"env", "A=1"}, "env");
  const auto stream = exec.Run({"sh", "-c", "echo $A; echo 'Error: no such container' >&2"}, {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE((*stream)->WaitClosed(base::Deadline::After(std::chrono::seconds(10))));
  EXPECT_THAT(Message((*stream)->Failure()), HasSubstr("env: the container does not run"));
  const auto silent = exec.Run({"true"}, {});
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_TRUE((*silent)->WaitClosed(base::Deadline::After(std::chrono::seconds(10))));
  EXPECT_TRUE((*silent)->Failure().ok());
  // As docker does.
  EXPECT_THAT(Message((*silent)->FailureIn("OCI runtime exec failed: no room\n")),
              HasSubstr("env: OCI runtime exec failed: no room"));
}

}  // namespace
}  // namespace autodist::exec
