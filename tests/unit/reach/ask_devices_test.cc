#include "reach/device_ips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/split.h"
#include "health/accelerator.h"
#include "scripts/scripts.h"
#include "support/temp_folder.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Result<Devices> Read(const std::string& output) {
  return ReadDevices(output, std::chrono::seconds(7));
}

// The answer of the command: its line, and what nvidia-smi printed.
std::string Answer(const std::string& line, const std::string& printed = "") {
  return "\nAUTODIST-DEVICES " + line + "\n" + printed + "\nAUTODIST-END\n";
}

TEST(ReadDevicesTest, FindsTheAnswerAfterNoise) {
  EXPECT_EQ(*Read(Answer("8 0 0 0 256 64")), (Devices{{8}, 64}));
  EXPECT_EQ(*Read("Welcome!\nno newline" + Answer("0 0 0 0 256 1")), (Devices{{0}, 1}));
  EXPECT_EQ(*Read(Answer("1 0 0 0 256 1") + Answer("2 0 0 0 256 2")), (Devices{{2}, 2}));
}

TEST(ReadDevicesTest, ParsesAllFields) {
  EXPECT_EQ(Read(Answer("8 0 0 0 256 64 gpu1/0f-1"))->machine, "gpu1/0f-1");
  for (const std::string part : {"gpu1/", "/0f-1", "/", ""}) {
    EXPECT_EQ(*Read(Answer("8 0 0 0 256 64 " + part)), (Devices{{8}, 64})) << part;
  }
  EXPECT_EQ(*Read(Answer("0 3 0 0 256 64")), (Devices{{3}, 64}));
  EXPECT_EQ(*Read(Answer("0 0 0 0 0 64", "GPU 0: A\n  MIG 1g\nGPU 1: B")), (Devices{{2}, 64}));
}

TEST(ReadDevicesTest, AnAnswerWithoutANumberOfGpus) {
  const auto answer =
      Read(Answer("0 2 0 0 18 64 gpu1/0f-1", "Failed to initialize NVML: mismatch"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Message(answer->counted.why),
            "nvidia-smi -L fails: Failed to initialize NVML: mismatch");
  EXPECT_EQ(answer->machine, "gpu1/0f-1");
  EXPECT_EQ(Message(Read(Answer("0 0 0 0 124 64"))->counted.why),
            "nvidia-smi -L did not answer within 7 s");
}

TEST(ReadDevicesTest, DevicesThatNothingLists) {
  const auto unloaded = Read(Answer("0 0 1 0 256 64"));
  ASSERT_TRUE(unloaded.ok()) << unloaded.status();
  EXPECT_THAT(Message(unloaded->counted.why), HasSubstr("though the PCI bus has an NVIDIA GPU"));
  const auto others = Read(Answer("0 0 0 1 256 64"));
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_THAT(Message(others->counted.why), HasSubstr("devices of another maker"));
  EXPECT_EQ(others->counted.uncounted, Uncounted::kOtherMaker);
}

TEST(ReadDevicesTest, ATruncatedAnswer) {
  const std::string whole = Answer("8 0 0 0 256 64");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Read(whole.substr(0, size)).status().code(), StatusCode::kNotFound) << size;
  }
  EXPECT_EQ(Read("x" + whole.substr(1)).status().code(), StatusCode::kNotFound);
}

TEST(ReadDevicesTest, AnInvalidAnswer) {
  for (const std::string line :
       {"", "8", "8 0 0 0 256", "8 0 0 0 256 x", "x 0 0 0 256 8", "-1 0 0 0 256 8",
        "8 0 0 0 256 8x", "8 0 0 0 - 8", "4294967296 0 0 0 256 1"}) {
    EXPECT_EQ(Read(Answer(line)).status().code(), StatusCode::kInternal) << line;
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
  EXPECT_EQ(answer->counted.gpus, 2u);
}

TEST(AskDevicesTest, WaitsForASlowNvidiaSmiAndQuotesOneThatFails) {
  if (std::filesystem::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "there are real ones";
  const test::TempFolder folder;
  const auto ask = [&](const std::string& body, milliseconds limit) {
    const std::string tool = folder.Write("nvidia-smi", "#!/bin/sh\n" + body + "\n");
    chmod(tool.c_str(), 0755);
    return AskThrough("PATH=" + folder.path() + ":$PATH; exec \"$@\"", limit);
  };
  const auto slow = ask("sleep 1; echo GPU 0: A", kAskLimit);
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_EQ(slow->counted.gpus, 1u);
  const auto failed = ask("echo 'Driver/library version mismatch'; exit 18", kAskLimit);
  ASSERT_TRUE(failed.ok()) << failed.status();
  EXPECT_EQ(Message(failed->counted.why), "nvidia-smi -L fails: Driver/library version mismatch");
  EXPECT_THAT(Remedy(failed->counted.why), HasSubstr("restart the node"));
  const auto hanging = ask("exec sleep 1000", milliseconds(4000));
  ASSERT_TRUE(hanging.ok()) << hanging.status();
  EXPECT_EQ(Message(hanging->counted.why), "nvidia-smi -L did not answer within 3 s");
}

TEST(AskDevicesTest, TheDriversLibrariesMayBeThoseOfTheJob) {
  if (std::filesystem::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "there are real ones";
  const test::TempFolder folder;
  const std::string tool = folder.Write(
      "nvidia-smi",
      "#!/bin/sh\n[ \"$LD_LIBRARY_PATH\" = /job ] || exit 12\necho GPU 0: A; echo GPU 1: B\n");
  chmod(tool.c_str(), 0755);
  const auto answer =
      AskThrough("export PATH=" + folder.path() + ":$PATH LD_LIBRARY_PATH=/job; exec \"$@\"");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->counted.gpus, 2u) << answer->counted.why;
}

TEST(AskDevicesTest, DeviceFilesOfOtherMakersAreAlsoThoseOfAccelerators) {
  const std::string script = scripts::Script({"devices"});
  const size_t begin = script.find("/dev/kfd");
  const std::string files = script.substr(begin, script.find(';', begin) - begin);
  EXPECT_THAT(files, HasSubstr(" /dev/cambricon*"));
  for (const std::string_view file : base::Split(files, ' ')) {
    const test::TempFolder folder;
    std::filesystem::create_directory(folder.path() + "/dev");
    EXPECT_FALSE(health::MayHaveAccelerator(folder.path()));
    const size_t pattern = file.find_first_of("*[");
    folder.Write(std::string(file.substr(1, pattern - 1)) + (pattern == file.npos ? "" : "0"), "");
    EXPECT_TRUE(health::MayHaveAccelerator(folder.path())) << file;
  }
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
            "the server says: no account; the login succeeds, but runs no command");
}

TEST(AskDevicesTest, ASilentHostTimesOut) {
  const Status status = AskThrough("exec cat", milliseconds(100)).status();
  EXPECT_EQ(Message(status),
            "a short command there has not ended within 0.1 s, and prints nothing");
}

TEST(AskDevicesTest, ALoginThatNamesAnotherUserIsNotAwaited) {
  const Status status =
      AskThrough("echo 'Please login as the user \"ubuntu\" rather than the user \"root\".'; cat",
                 std::chrono::minutes(10))
          .status();
  EXPECT_THAT(Message(status), HasSubstr("Please login as the user \"ubuntu\""));
}

// Only then may a launch succeed all the same.
TEST(AskDevicesTest, ALoginWithoutAnAnswerHasItsOwnCodes) {
  const auto code = [](const std::string& script) {
    return AskThrough(script, milliseconds(500)).status().code();
  };
  EXPECT_EQ(code("exec cat"), StatusCode::kAborted);
  EXPECT_EQ(code("printf '\\nAUTODIST-DEVICES x\\n\\nAUTODIST-END\\n'"), StatusCode::kInternal);
  EXPECT_NE(code("echo no account; exit 1"), StatusCode::kAborted);
}

}  // namespace
}  // namespace autodist::reach
