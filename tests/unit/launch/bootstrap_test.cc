#include "launch/bootstrap.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "rpc/bootstrap_lines.h"
#include "support/home_folder.h"
#include "support/limit.h"
#include "transport/local.h"

namespace autodist::launch {
namespace {

constexpr size_t kSecondsOfUpload = 6;  // in argv

TEST(BootstrapTest, ANodeWhoseUploadIsCutOffKeepsNothingOfIt) {
  const test::HomeFolder home;
  const AgentBinary binary{"", "its program", "d1ge57"};
  AgentCommand command =
      InstallingAgentCommand(binary, AgentSession{"job", 1, {}, {}, "nonce", ""});
  command.argv[kSecondsOfUpload] = "1";
  const auto stream = transport::LocalTransport().Run(command.argv, {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const base::UniqueFd socket = (*stream)->TakeSocket();  // stays open, and brings nothing
  const base::Deadline limit = base::Deadline::After(test::kLimit);
  std::string output;
  for (std::array<char, 4096> buffer;;) {
    const auto got = base::ReadSome(socket.get(), buffer.data(), buffer.size(), limit);
    ASSERT_TRUE(got.ok()) << got.status();
    if (*got == 0) break;
    output.append(buffer.data(), *got);
  }
  EXPECT_TRUE(output.ends_with(rpc::NeedLine("nonce"))) << output;
  EXPECT_TRUE(std::filesystem::is_empty(home.path() + "/.cache/autodist/agent/d1ge57"));
}

}  // namespace
}  // namespace autodist::launch
