// Chief and agent may be different builds, so changes of the messages must be intended: this test
// detects them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "autodist/v1/agent.pb.h"

namespace autodist {
namespace {

// Appends a file's messages after those of the files that it imports.
void AppendFile(const google::protobuf::FileDescriptor& file, std::set<std::string>& seen,
                std::string& text) {
  if (!seen.insert(file.name()).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AppendFile(*file.dependency(i), seen, text);
  text += file.DebugString();
}

// Set UPDATE_GOLDEN=1 to update the file after an intended change.
TEST(ProtoTest, TheMessagesEqualTheGoldenFile) {
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
