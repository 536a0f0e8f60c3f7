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

constexpr size_t kSecondsOfUpload = 5;  // in argv

TEST(BootstrapTest, ANodeWhoseUploadIsCutOffKeepsNothingOfIt) {
  const test::HomeFolder home;
  const auto program = NodeProgram::OfAgent(AGENT_PROGRAM);
  ASSERT_TRUE(program.ok()) << program.status();
  AgentCommand command =
      InstallingAgentCommand(*program, AgentSession{"job", 1, {}, {}, "nonce", ""});
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
  EXPECT_NE(output.find(rpc::BeginOfNeedLine("nonce")), std::string::npos) << output;
  const std::filesystem::path place = home.path() + "/" + program->PathOnNode();
  EXPECT_TRUE(std::filesystem::is_empty(place.parent_path()));
}

}  // namespace
}  // namespace autodist::launch
