#include "bundle/bundle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::bundle {
namespace {

constexpr size_t kLargest = 256 << 20;

std::string Content(const std::string& path) { return base::ReadFile(path, kLargest).value(); }

TEST(BundleTest, ContainsTheAgentOfThisBuild) {
  const auto agent = Unpack(Agents().front().program);
  ASSERT_TRUE(agent.ok()) << agent.status();
  EXPECT_TRUE(*agent == Content(AGENT_PROGRAM));
}

// Also those that are packed as a difference to another file.
TEST(BundleTest, FilesOfBenchAreUnpacked) {
  for (const File& file : BenchFiles()) {
    const auto content = Unpack(file);
    EXPECT_TRUE(content.ok()) << content.status();
  }
}

TEST(BundleTest, DamagedDataIsNotUnpacked) {
  File agent = Agents().front().program;
  std::string packed(agent.packed);
  packed[packed.size() / 2] ^= 1;
  agent.packed = packed;
  EXPECT_EQ(Unpack(agent).status().code(), StatusCode::kDataLoss);
  agent.packed = Agents().front().program.packed.substr(0, packed.size() / 2);
  EXPECT_EQ(Unpack(agent).status().code(), StatusCode::kDataLoss);
  agent.packed = Agents().front().program.packed;
  ++agent.size;
  EXPECT_EQ(Unpack(agent).status().code(), StatusCode::kDataLoss);
}

TEST(BundleTest, PackedDataIsUnpacked) {
  const std::string content(1'000'000, 'x');
  const std::string packed = Pack(content);
  const std::string digest = Sha256(content);
  EXPECT_LT(packed.size(), content.size() / 100);
  EXPECT_EQ(*Unpack({"", digest, content.size(), packed}), content);
}

class UnpackerTest : public testing::Test {
 protected:
  // Like on a node, the unpacker and its data are one file.
  int Run(std::string_view packed, const std::string& to) const {
    const std::string_view unpacker = Agents().front().unpacker;
    const std::string file = folder_.path() + "/sent";
    std::ofstream(file) << unpacker << packed;
    chmod(file.c_str(), 0700);
    const std::string command = file + " " + std::to_string(unpacker.size()) + " < " + file +
                                " > " + to + " 2> " + folder_.path() + "/errors";
    return WEXITSTATUS(std::system(command.c_str()));
  }
  std::string Errors() const { return Content(folder_.path() + "/errors"); }

  const test::TempFolder folder_;
};

TEST_F(UnpackerTest, UnpacksTheAgent) {
  const std::string agent = folder_.path() + "/agent";
  EXPECT_EQ(Run(Agents().front().program.packed, agent), 0) << Errors();
  EXPECT_TRUE(Content(agent) == Content(AGENT_PROGRAM));
}

TEST_F(UnpackerTest, ReportsWhyItFails) {
  const std::string_view packed = Agents().front().program.packed;
  EXPECT_EQ(Run(packed.substr(0, packed.size() - 1), "/dev/null"), 1);
  EXPECT_EQ(Errors(), "unpacking it: its end is missing\n");
  std::string damaged(packed);
  damaged[packed.size() - 1] ^= 1;
  EXPECT_EQ(Run(damaged, "/dev/null"), 1);
  EXPECT_TRUE(Errors().starts_with("unpacking it: ")) << Errors();
  EXPECT_EQ(Run(packed, "/dev/full"), 1);
  EXPECT_EQ(Errors(), "writing it: No space left on device\n");
}

}  // namespace
}  // namespace autodist::bundle
