#include "files/file_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::files {
namespace {

using testing::HasSubstr;

FilePatterns Of(const std::vector<std::string>& patterns) { return *FilePatterns::Parse(patterns); }

TEST(FilePatternsTest, AStarMatchesWithinAName) {
  EXPECT_TRUE(Of({"ckpt*"}).Match("ckpt-1.pt"));
  EXPECT_TRUE(Of({"ckpt*"}).Match("ckpt"));
  EXPECT_FALSE(Of({"ckpt*"}).Match("out/ckpt-1.pt"));
  EXPECT_FALSE(Of({"out*"}).Match("out/a"));
  EXPECT_TRUE(Of({"out/rank?.[pt]*"}).Match("out/rank3.pt"));
  EXPECT_FALSE(Of({"out/rank?.[pt]*"}).Match("out/rank3.bin"));
}

TEST(FilePatternsTest, TwoStarsMatchAnyFolders) {
  const FilePatterns patterns = Of({"out/**/*.pt"});
  EXPECT_TRUE(patterns.Match("out/a.pt"));
  EXPECT_TRUE(patterns.Match("out/x/y/a.pt"));
  EXPECT_FALSE(patterns.Match("a.pt"));
  EXPECT_TRUE(Of({"**/core"}).Match("core"));
  EXPECT_TRUE(Of({"."}).Match("any/thing"));
}

TEST(FilePatternsTest, SeveralPatternsAreCombinedInAnySpelling) {
  const FilePatterns patterns = Of({"./ckpt/", "core.*", "a//b"});
  EXPECT_TRUE(patterns.Match("ckpt"));
  EXPECT_TRUE(patterns.Match("core.17"));
  EXPECT_TRUE(patterns.Match("a/b"));
}

TEST(FilePatternsTest, FoldersThatCannotContainAMatchAreKnown) {
  EXPECT_TRUE(Of({"out/*/a"}).MayMatchIn("out"));
  EXPECT_TRUE(Of({"out/*/a"}).MayMatchIn("out/x"));
  EXPECT_FALSE(Of({"out/*/a"}).MayMatchIn("out/x/y"));
  EXPECT_FALSE(Of({"out/*/a"}).MayMatchIn("data"));
  EXPECT_FALSE(Of({"ckpt*"}).MayMatchIn("data"));
  EXPECT_TRUE(Of({"data/**/a"}).MayMatchIn("data/x/y/z"));
  EXPECT_TRUE(Of({"ckpt*", "**/a"}).MayMatchIn("data"));
}

TEST(FilePatternsTest, PathsOutsideOfTheFolderAreRefused) {
  for (const auto& [pattern, why] : {std::pair{"/etc/passwd", "absolute path"},
                                     {"..", "'..'"},
                                     {"a/../../b", "'..'"},
                                     {"", "empty"}}) {
    const auto parsed = FilePatterns::Parse({"good", pattern});
    ASSERT_FALSE(parsed.ok()) << pattern;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(parsed.status()), HasSubstr(why));
    EXPECT_THAT(Remedy(parsed.status()), HasSubstr("within the job's working directory"));
  }
  EXPECT_TRUE(FilePatterns::Parse({"a..b", "..a", "..."}).ok());
}

}  // namespace
}  // namespace autodist::files
