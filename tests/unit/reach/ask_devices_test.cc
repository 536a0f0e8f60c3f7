#include "reach/ask_devices.h"

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

TEST(ReadDevicesTest, FindsTheAnswerBehindNoise) {
  EXPECT_EQ(*ReadDevices("\nAUTODIST-DEVICES 8 64\n"), (Devices{8, 64}));
  EXPECT_EQ(*ReadDevices("Welcome!\nno newline\nAUTODIST-DEVICES 0 1\n"), (Devices{0, 1}));
  EXPECT_EQ(*ReadDevices("\nAUTODIST-DEVICES 1 1\n\nAUTODIST-DEVICES 2 2\n"), (Devices{2, 2}));
}

TEST(ReadDevicesTest, AnAnswerThatIsNotThereWhole) {
  for (const std::string output :
       {"", "\n", "\nAUTODIST-DEVICES ", "\nAUTODIST-DEVICES 8 6", "x AUTODIST-DEVICES 8 64\n"}) {
    EXPECT_EQ(ReadDevices(output).status().code(), StatusCode::kNotFound) << output;
  }
}

TEST(ReadDevicesTest, AnAnswerThatMakesNoSense) {
  for (const std::string line : {"", "8", "8 ", "8 x", "x 8", "-1 8", "8 8 8", "4294967296 1"}) {
    EXPECT_EQ(ReadDevices("\nAUTODIST-DEVICES " + line + "\n").status().code(),
              StatusCode::kInternal)
        << line;
  }
}

// The local machine, with another script in the place of the command's shell.
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

TransportTo Through(const std::string& script) {
  return [script](size_t) { return std::make_unique<Disguised>(script); };
}

TEST(AskDevicesTest, AsksThisMachine) {
  const auto answers =
      AskDevices(2, [](size_t) { return std::make_unique<transport::LocalTransport>(); });
  ASSERT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->cpus, static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  }
}

TEST(AskDevicesTest, CountsTheGpusThatNvidiaSmiLists) {
  if (std::filesystem::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "there are real ones";
  const test::TempFolder folder;
  const std::string tool = folder.Write(
      "nvidia-smi",
      "#!/bin/sh\n[ \"$1\" = -L ] && printf 'GPU 0: A\\n  MIG 1g\\nGPU 1: B\\n'; echo bad >&2\n");
  chmod(tool.c_str(), 0755);
  const auto answers = AskDevices(1, Through("PATH=" + folder.path() + ":$PATH; exec \"$@\""));
  ASSERT_TRUE(answers[0].ok()) << answers[0].status();
  EXPECT_EQ(answers[0]->gpus, 2u);
}

TEST(AskDevicesTest, ALoginShellMayTalk) {
  const auto answers =
      AskDevices(1, Through("yes noise | head -c 100000; printf 'no newline'; exec \"$@\""));
  EXPECT_TRUE(answers[0].ok()) << answers[0].status();
}

TEST(AskDevicesTest, ButNotWithoutEnd) {
  const auto answers = AskDevices(1, Through("exec yes noise"));
  EXPECT_THAT(Message(answers[0].status()), HasSubstr("prints without end"));
}

TEST(AskDevicesTest, TellsWhatWentWrong) {
  const auto answers = AskDevices(1, Through("echo no account >&2; exit 1"));
  EXPECT_EQ(Message(answers[0].status()), "it ended without an answer: no account");
}

TEST(AskDevicesTest, AHostThatIsSilentIsGivenUp) {
  const auto answers = AskDevices(1, Through("exec cat"), milliseconds(100));
  EXPECT_EQ(answers[0].status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Message(answers[0].status()), "no answer within 0.1 s");
}

// Starts nothing until it is told to stop.
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

TEST(AskDevicesTest, OneThatCannotBeReachedKeepsNoOtherFromAnswering) {
  const auto answers = AskDevices(
      3,
      [](size_t host) -> Result<std::unique_ptr<transport::Transport>> {
        if (host == 0) return std::make_unique<Stuck>();
        if (host == 1) return Error(StatusCode::kNotFound, "does not resolve");
        return std::make_unique<transport::LocalTransport>();
      },
      milliseconds(500));
  EXPECT_EQ(Message(answers[0].status()), "no answer within 0.5 s");
  EXPECT_EQ(Message(answers[1].status()), "does not resolve");
  EXPECT_TRUE(answers[2].ok()) << answers[2].status();
}

}  // namespace
}  // namespace autodist::reach
