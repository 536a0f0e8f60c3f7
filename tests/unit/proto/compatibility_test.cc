// Chief and agent may be of different builds, so a change of the messages must be meant: this test
// shows it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "autodist/v1/agent.pb.h"

namespace autodist {
namespace {

// A file's messages after those of the files that it imports.
void AppendFile(const google::protobuf::FileDescriptor& file, std::set<std::string>& seen,
                std::string& text) {
  if (!seen.insert(file.name()).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AppendFile(*file.dependency(i), seen, text);
  text += file.DebugString();
}

// Set UPDATE_GOLDEN=1 to write the file anew after a change that is meant.
TEST(ProtoTest, TheMessagesAreAsInTheGoldenFile) {
  const std::string path = TEST_SOURCE_DIR "/golden/messages.txt";
  std::set<std::string> seen;
  std::string text;
  AppendFile(*v1::ChiefMessage::descriptor()->file(), seen, text);
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace
}  // namespace autodist
