#include "reach/device_ips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

#include "support/temp_folder.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ReadDevicesTest, FindsTheAnswerAfterNoise) {
  EXPECT_EQ(*ReadDevices("\nAUTODIST-DEVICES 8 64\n"), (Devices{8, 64}));
  EXPECT_EQ(*ReadDevices("Welcome!\nno newline\nAUTODIST-DEVICES 0 1\n"), (Devices{0, 1}));
  EXPECT_EQ(*ReadDevices("\nAUTODIST-DEVICES 1 1\n\nAUTODIST-DEVICES 2 2\n"), (Devices{2, 2}));
}

TEST(ReadDevicesTest, ParsesAllFields) {
  EXPECT_EQ(ReadDevices("\nAUTODIST-DEVICES 8 64 gpu1/0f-1\n")->machine, "gpu1/0f-1");
  for (const std::string part : {"gpu1/", "/0f-1", "/", ""}) {
    EXPECT_EQ(*ReadDevices("\nAUTODIST-DEVICES 8 64 " + part + "\n"), (Devices{8, 64})) << part;
  }
}

TEST(ReadDevicesTest, ATruncatedAnswer) {
  for (const std::string output :
       {"", "\n", "\nAUTODIST-DEVICES ", "\nAUTODIST-DEVICES 8 6", "x AUTODIST-DEVICES 8 64\n"}) {
    EXPECT_EQ(ReadDevices(output).status().code(), StatusCode::kNotFound) << output;
  }
}

TEST(ReadDevicesTest, AnInvalidAnswer) {
  for (const std::string line : {"", "8", "8 ", "8 x", "x 8", "-1 8", "8 8x", "4294967296 1"}) {
    EXPECT_EQ(ReadDevices("\nAUTODIST-DEVICES " + line + "\n").status().code(),
              StatusCode::kInternal)
        << line;
  }
}

// The local machine, with another script replacing the command's shell.
class Disguised final : public transport::Transport {
 public:
  explicit Disguised(std::string script) : script_(std::move(script)) {}
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override {
    std::vector<std::string> command = {"/bin/sh", "-c", script_, "sh"};
    command.insert(command.end(), argv.begin(), argv.end());
    return transport::LocalTransport().Run(command, stop);
  }

 private:
  const std::string script_;
};

Result<Devices> Ask(transport::Transport& transport, milliseconds limit = kAskLimit) {
  LoginRetryBudget servers;
  return AskDevices(transport, servers, limit);
}

Result<Devices> AskThrough(const std::string& script, milliseconds limit = kAskLimit) {
  Disguised transport(script);
  return Ask(transport, limit);
}

TEST(AskDevicesTest, QueriesThisMachine) {
  transport::LocalTransport here;
  const auto answer = Ask(here);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->cpus, static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST(AskDevicesTest, CountsTheGpusThatNvidiaSmiLists) {
  if (std::filesystem::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "there are real ones";
  const test::TempFolder folder;
  const std::string tool = folder.Write(
      "nvidia-smi",
      "#!/bin/sh\n[ \"$1\" = -L ] && printf 'GPU 0: A\\n  MIG 1g\\nGPU 1: B\\n'; echo bad >&2\n");
  chmod(tool.c_str(), 0755);
  const auto answer = AskThrough("PATH=" + folder.path() + ":$PATH; exec \"$@\"");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->gpus, 2u);
}

TEST(AskDevicesTest, ALoginShellMayPrint) {
  const auto answer = AskThrough("yes noise | head -c 100000; printf 'no newline'; exec \"$@\"");
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST(AskDevicesTest, ButNotForever) {
  EXPECT_THAT(Message(AskThrough("exec yes noise").status()), HasSubstr("prints without end"));
}

TEST(AskDevicesTest, ReportsErrors) {
  EXPECT_EQ(Message(AskThrough("echo no account >&2; exit 1").status()),
            "it ended without an answer: no account");
}

TEST(AskDevicesTest, ASilentHostTimesOut) {
  const Status status = AskThrough("exec cat", milliseconds(100)).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Message(status), "no answer within 0.1 s");
}

// Blocks without a start until it is stopped.
class Stuck final : public transport::Transport {
 public:
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>&,
                                                 const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, stop, [] { return false; });
    return Error(StatusCode::kCancelled, "cancelled");
  }
};

TEST(AskDevicesTest, AnUnreachableHostTimesOut) {
  Stuck transport;
  EXPECT_EQ(Message(Ask(transport, milliseconds(500)).status()), "no answer within 0.5 s");
}

}  // namespace
}  // namespace autodist::reach
