#include "exec/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/proof_of_end.h"
#include "transport/local.h"

namespace autodist::exec {
namespace {

using testing::HasSubstr;

struct Said {
  std::string text;
  bool proves_end;
};

class ContainerIsOffTest : public testing::TestWithParam<Said> {};

TEST_P(ContainerIsOffTest, OnlyTheEndOfItsProcessesIsAProof) {
  const Status off = ExecError(GetParam().text);
  EXPECT_EQ(ProofOfEnd::In(off), GetParam().proves_end) << off;
  EXPECT_THAT(Message(off), HasSubstr("the container cannot be entered"));
  const bool gone = GetParam().text.find("o such container") != std::string::npos ||
                    GetParam().text.find("no container with name") != std::string::npos;
  EXPECT_THAT(Remedy(off), HasSubstr(gone ? "create and start the container"
                                          : "start or unpause the container"));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ContainerIsOffTest,
    testing::Values(
        Said{"Error: no container with name or ID \"x\" found: no such container\n", true},
        Said{"noise before\nError response from daemon: No such container: x\r\n", true},
        Said{"Error response from daemon: container 1f2e is not running\n", true},
        Said{"Error response from daemon: Container 1f2e is not running\n", true},
        // Also for a paused container:
        Said{"Error: can only create exec sessions on running containers: container state "
             "improper\n",
             false},
        Said{"Error: vm \"podman-machine-default\" is not running\n", false},
        // The pod may have been deleted by force, or be one of another cluster.
        Said{"error: unable to upgrade connection: No such container: x\n", false},
        Said{"Error from server (NotFound): pods \"x\" not found\n", false},
        Said{"Error from server (NotFound): namespaces \"x\" not found\n", false},
        Said{"error: cannot exec into a container in a completed pod; current phase is Failed\n",
             false},
        Said{"Defaulted container \"a\" out of: a, b\nerror: unable to upgrade connection: "
             "container not found (\"a\")\n",
             false}));

TEST(ExecErrorTest, HintsBelongToTheRuntime) {
  const Container podman{"ubuntu", "podman"};
  const Container docker{"ubuntu", "docker"};
  const Container named{"", "podman", "train"};
  const std::string refused = "Error: OCI runtime error: crun: open /dev/x: no such device\n";
  const struct {
    const char* name;
    std::string said;
    Container container;
    const char* message;  // a part, as the next
    const char* hint;
  } kCases[] = {
      {"the image ends", "Error: no such container x\n", podman, "cannot be entered",
       "its image, ubuntu, must run `sh -c 'sleep 60'`"},
      {"a device", refused, podman, "/dev/x", "run `true` from the image on the node, with the"},
      {"a container of the user", refused, named, "/dev/x", "run `podman exec train true`"},
      {"another runtime", refused, {}, "/dev/x", "test the container runtime on the node"},
      {"an image of podman", "Error: initializing source docker://x: denied\n", podman, "denied",
       "with `podman pull` on the node"},
      {"an image of docker", "docker: Error response from daemon: pull access denied for x\n",
       docker, "pull access denied", "with `docker pull` on the node"},
      {"no docker daemon",
       "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?\n",
       docker, "Cannot connect", "start docker on the node"},
      {"no right for docker",
       "permission denied while trying to connect to the Docker daemon socket at unix:///x\n",
       docker, "permission denied", "add your user to its group"},
      {"no service of podman", "Cannot connect to Podman. Please verify your connection\n", named,
       "Cannot connect to Podman", "run `podman exec"},
      {"no ranges of ids",
       "Error: cannot find UID/GID for user ann: no subuid ranges found for user \"ann\" in "
       "/etc/subuid\n",
       podman, "no subuid ranges", "podman system migrate"},
      {"other storage",
       "Error: database graph driver name \"vfs\" does not match our graph driver name "
       "\"overlay\": database configuration mismatch\n",
       podman, "configuration mismatch", "storage.conf"},
      {"dash without podman", "sh: 8: podman: not found\n", podman, "podman: not found",
       "install podman there"},
      {"bash without docker", "bash: line 1: docker: command not found\n", docker,
       "command not found", "install docker there"},
      {"zsh", "zsh:1: command not found: podman\n", podman, "command not found", "install podman"},
  };
  for (const auto& one : kCases) {
    const Status why = ExecError(one.said, one.container);
    EXPECT_THAT(Message(why), HasSubstr(one.message)) << one.name;
    EXPECT_THAT(Remedy(why), HasSubstr(one.hint)) << one.name;
    const std::string other = one.container.runtime == "podman" ? "docker" : "podman";
    EXPECT_EQ(Remedy(why).find(other), std::string::npos) << one.name;
  }
}

TEST(ExecErrorTest, OtherFailuresAreDistinguishedFromAMissingContainer) {
  for (const std::string paused :
       {"Error response from daemon: Container 1f2e is paused, unpause the container before exec\n",
        "Error response from daemon: Container 1f2e is restarting, wait until the container is "
        "running\n",
        "Error response from daemon: container 1f2e is not running: and yet it is paused\n"}) {
    EXPECT_EQ(ExecError(paused).code(), StatusCode::kUnavailable) << paused;
    EXPECT_FALSE(ProofOfEnd::In(ExecError(paused))) << paused;
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
  EXPECT_THAT(Message((*stream)->Failure()), HasSubstr("env: the container cannot be entered"));
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
