#include "files/digest.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::files {
namespace {

TEST(DigestTest, IsXxh3AsOthersComputeIt) {
  const test::TempFolder folder;
  EXPECT_EQ(*DigestOfFile(folder.Write("empty", "")), "99aa06d3014798d86001c324468d497f");
}

TEST(DigestTest, DependsOnEveryPartOfTheContentAndOnNothingElse) {
  const test::TempFolder folder;
  std::string content(3 << 20, 'x');  // more than one piece
  const std::string digest = *DigestOfFile(folder.Write("a", content));
  EXPECT_EQ(*DigestOfFile(folder.Write("b", content)), digest);
  content.back() = 'y';
  EXPECT_NE(*DigestOfFile(folder.Write("c", content)), digest);
  content.pop_back();
  EXPECT_NE(*DigestOfFile(folder.Write("d", content)), digest);
}

TEST(DigestTest, AFileThatCannotBeReadIsNamed) {
  const auto digest = DigestOfFile("/no/such/file");
  EXPECT_EQ(digest.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(digest.status()), testing::HasSubstr("/no/such/file"));
  EXPECT_FALSE(DigestOfFile("/").ok());
}

TEST(DigestTest, StopsWhereItShallNotGoOn) {
  const test::TempFolder folder;
  const base::UniqueFd fd(open(folder.Write("a", std::string(5 << 20, 'x')).c_str(), O_RDONLY));
  int asked = 0;
  const auto digest = DigestOfContent(fd.get(), "a", [&asked] { return ++asked < 3; });
  EXPECT_EQ(digest.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace autodist::files
