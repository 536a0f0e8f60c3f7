#include "launch/await_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include "rpc/bootstrap_lines.h"
#include "support/home_folder.h"
#include "support/limit.h"
#include "support/temp_folder.h"
#include "transport/local.h"

namespace autodist::launch {
namespace {

constexpr size_t kSecondsOfUpload = 5;  // in argv

TEST(BootstrapTest, ANodeWithATruncatedUploadKeepsNoPartOfIt) {
  const test::HomeFolder home;
  const auto program = transfer::NodeProgram::OfAgent(AGENT_PROGRAM);
  ASSERT_TRUE(program.ok()) << program.status();
  AgentCommand command =
      InstallingAgentCommand(*program, AgentSession{"job", 1, {}, {}, "nonce", ""});
  command.argv[kSecondsOfUpload] = "1";
  const auto stream = transport::LocalTransport().Run(command.argv, {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const base::UniqueFd socket = (*stream)->TakeSocket();  // stays open without data
  const base::Deadline limit = base::Deadline::After(test::kLimit);
  std::string output;
  for (std::array<char, 4096> buffer;;) {
    const auto got = base::ReadSome(socket.get(), buffer.data(), buffer.size(), limit);
    ASSERT_TRUE(got.ok()) << got.status();
    if (*got == 0) break;
    output.append(buffer.data(), *got);
  }
  EXPECT_NE(output.find(rpc::BeginOfNeedLine("nonce")), std::string::npos) << output;
  const std::filesystem::path place = home.path() + "/" + program->PathOnNode();
  EXPECT_TRUE(std::filesystem::is_empty(place.parent_path()));
}

// A program that prints the umask that it was started with.
class StartedProgramTest : public testing::Test {
 protected:
  StartedProgramTest() {
    const std::string path = folder_.Write(
        "agent", "#!/bin/sh\nprintf '\\nAUTODIST-READY nonce\\n'; umask; echo $0 in $PWD\n");
    program_.emplace(*transfer::NodeProgram::OfAgent(path));
  }

  // Starts it in a login with this umask. Returns its output and whether it was sent.
  std::string Start(const std::vector<std::string>& argv, const std::string& mask) {
    std::vector<std::string> login = {"sh", "-c", "umask " + mask + "; exec \"$@\"", "sh"};
    login.insert(login.end(), argv.begin(), argv.end());
    const auto stream = transport::LocalTransport().Run(login, {});
    EXPECT_TRUE(stream.ok()) << stream.status();
    sent_ = false;
    const auto socket = AwaitProgram(**stream, *program_, "nonce", {argv, true}, {},
                                     {.sent = [this](uint64_t, uint64_t) { sent_ = true; }});
    EXPECT_TRUE(socket.ok()) << socket.status();
    std::string said;
    char byte = 0;
    while (socket.ok() && base::ReadSome(socket->get(), &byte, 1, limit_).value_or(0) == 1) {
      said += byte;
    }
    return said.substr(0, said.find('\n'));
  }
  std::string Start(const std::string& mask) {
    return Start(InstallingCommand(*program_, "nonce", {}).argv, mask);
  }
  std::string InCache() const { return home_.path() + "/" + program_->PathOnNode(); }

  const test::HomeFolder home_;
  const test::TempFolder folder_;
  const base::Deadline limit_ = base::Deadline::After(test::kLimit);
  std::optional<transfer::NodeProgram> program_;
  bool sent_ = false;
};

TEST_F(StartedProgramTest, ItsUmaskIsThatOfTheLoginBothTimes) {
  for (const char* mask : {"0022", "0027", "0002"}) {
    EXPECT_EQ(Start(mask), mask);
    EXPECT_TRUE(sent_);
    EXPECT_EQ(std::filesystem::status(InCache()).permissions(), std::filesystem::perms::owner_all);
    EXPECT_EQ(Start(mask), mask);
    EXPECT_FALSE(sent_);
    std::vector<std::string> calls = {"sh", "-c", "echo key | \"$@\"", "sh"};
    const auto task =
        CallbackInstallArgv(*program_, "nonce", std::chrono::seconds(1), 1, {"a"}, {});
    calls.insert(calls.end(), task.begin(), task.end());
    EXPECT_EQ(Start(calls, mask), mask);
    std::filesystem::remove_all(home_.path() + "/.cache");
  }
}

// After a power failure.
TEST_F(StartedProgramTest, ATruncatedProgramIsSentAgain) {
  Start("0022");
  for (const uintmax_t size : {std::filesystem::file_size(InCache()) - 1, uintmax_t{0}}) {
    std::filesystem::resize_file(InCache(), size);
    EXPECT_EQ(Start("0022"), "0022");
    EXPECT_TRUE(sent_);
    EXPECT_EQ(Start("0022"), "0022");
    EXPECT_FALSE(sent_);
  }
}

TEST_F(StartedProgramTest, AFolderThatOthersCanChangeIsNotUsed) {
  const auto place = std::filesystem::path(InCache()).parent_path();
  std::filesystem::create_directories(place);
  std::filesystem::copy(folder_.path() + "/agent", InCache());
  std::filesystem::permissions(place, std::filesystem::perms::all);
  const std::string in_tmp = "/tmp/autodist-agent-" + std::to_string(geteuid());
  ASSERT_FALSE(std::filesystem::exists(in_tmp));
  EXPECT_EQ(Start("0022"), "0022");
  EXPECT_TRUE(sent_);
  EXPECT_EQ(Start("0022"), "0022");
  EXPECT_FALSE(sent_);
  EXPECT_TRUE(std::filesystem::exists(in_tmp + "/" + program_->Versions()[0]));
  std::filesystem::remove_all(in_tmp);
}

}  // namespace
}  // namespace autodist::launch
