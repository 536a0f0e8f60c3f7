// Chief and agent may be of different builds, so a change of the messages must be meant: this test
// shows it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist {
namespace {

// Set UPDATE_GOLDEN=1 to write the file anew after a change that is meant.
TEST(ProtoTest, TheMessagesAreAsInTheGoldenFile) {
  const std::string path = TEST_SOURCE_DIR "/golden/messages.txt";
  const std::string text = v1::LaunchPlan::descriptor()->file()->DebugString() +
                           v1::ChiefMessage::descriptor()->file()->DebugString();
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace
}  // namespace autodist
