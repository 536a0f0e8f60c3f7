#include "files/digest.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/temp_folder.h"
#include "support/xxh3_twin.h"

namespace autodist::files {
namespace {

// `b2sum --length 256`.
TEST(DigestTest, IsStandardBlake2b) {
  const test::TempFolder folder;
  EXPECT_EQ(*DigestOfFile(folder.Write("empty", "")),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(*DigestOfFile(folder.Write("abc", "abc")),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

// Otherwise an author of both files could get one checked and the other one run.
TEST(DigestTest, DistinguishesTwinsOfAWeakerDigest) {
  const test::TempFolder folder;
  const std::string content(10'000, 'x');
  const std::string twin = test::TwinOf(content, std::string(896, 'E'));
  ASSERT_EQ(twin.size(), content.size());
  EXPECT_NE(*DigestOfFile(folder.Write("a", content)), *DigestOfFile(folder.Write("b", twin)));
}

TEST(DigestTest, DataMayBeAddedAfterADigest) {
  Digest digest;
  digest.Add("ab");
  const std::string of_ab = digest.Hex();
  EXPECT_EQ(digest.Hex(), of_ab);
  digest.Add("c");
  EXPECT_EQ(digest.Hex(), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(DigestTest, DependsOnlyOnTheContent) {
  const test::TempFolder folder;
  std::string content(3 << 20, 'x');  // more than one piece
  const std::string digest = *DigestOfFile(folder.Write("a", content));
  EXPECT_EQ(*DigestOfFile(folder.Write("b", content)), digest);
  content.back() = 'y';
  EXPECT_NE(*DigestOfFile(folder.Write("c", content)), digest);
  content.pop_back();
  EXPECT_NE(*DigestOfFile(folder.Write("d", content)), digest);
}

TEST(DigestTest, AnUnreadableFileIsNamed) {
  const auto digest = DigestOfFile("/no/such/file");
  EXPECT_EQ(digest.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(digest.status()), testing::HasSubstr("/no/such/file"));
  EXPECT_FALSE(DigestOfFile("/").ok());
}

TEST(DigestTest, CanBeCancelled) {
  const test::TempFolder folder;
  const base::UniqueFd fd(open(folder.Write("a", std::string(5 << 20, 'x')).c_str(), O_RDONLY));
  int asked = 0;
  const auto digest = DigestOfContent(fd.get(), "a", [&asked] { return ++asked < 3; });
  EXPECT_EQ(digest.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace autodist::files
