#include "web/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temp_folder.h"

namespace autodist::web {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

auto HitAt(uint64_t line, const std::string& text) {
  return AllOf(Field(&Hits::Hit::line, line), Field(&Hits::Hit::text, text));
}

class LogFileTest : public testing::Test {
 protected:
  LogFile Make(const std::string& content) {
    folder_.Write("rank-3.out", content);
    auto file = LogFile::Open(folder_.path(), 3, false);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  static Hits Search(const LogFile& file, web::Search search) {
    if (search.most == 0) search.most = 200;
    return Find(file, search, [] { return false; });
  }

  const test::TempFolder folder_;
};

TEST_F(LogFileTest, ReadsExistingRanges) {
  const LogFile file = Make("0123456789");
  EXPECT_EQ(file.Size(), 10);
  EXPECT_EQ(file.Read(2, 3), "234");
  EXPECT_EQ(file.Read(8, 100), "89");
  EXPECT_EQ(file.Read(10, 1), "");
  EXPECT_EQ(file.Read(UINT64_MAX, 1), "");
}

TEST_F(LogFileTest, OtherFileTypesDoNotBlock) {
  EXPECT_EQ(LogFile::Open(folder_.path(), 1, true).status().code(), StatusCode::kNotFound);
  ASSERT_EQ(mkfifo((folder_.path() + "/rank-1.err").c_str(), 0600), 0);
  EXPECT_EQ(LogFile::Open(folder_.path(), 1, true).status().code(), StatusCode::kNotFound);
}

TEST_F(LogFileTest, FindsLinesForwardsAndBackwards) {
  const LogFile file = Make("one x\ntwo\nthree x x\nX four");
  const Hits forwards = Search(file, {.text = "x"});
  EXPECT_THAT(forwards.hits,
              ElementsAre(HitAt(0, "one x"), HitAt(10, "three x x"), HitAt(20, "X four")));
  EXPECT_EQ(forwards.next, std::nullopt);
  EXPECT_EQ(forwards.size, 26);
  const Hits backwards = Search(file, {.text = "x", .backwards = true, .from = 26});
  EXPECT_THAT(backwards.hits,
              ElementsAre(HitAt(20, "X four"), HitAt(10, "three x x"), HitAt(0, "one x")));
  EXPECT_EQ(backwards.next, std::nullopt);
  // With a capital letter the search is case-sensitive.
  EXPECT_THAT(Search(file, {.text = "X"}).hits, ElementsAre(HitAt(20, "X four")));
  EXPECT_THAT(Search(file, {.text = "absent"}).hits, IsEmpty());
  EXPECT_THAT(Search(file, {.text = "two\nthree"}).hits, SizeIs(1));
}

TEST_F(LogFileTest, ContinuesWhereItHasEnded) {
  std::string content;
  for (int i = 0; i < 100; ++i) content += "line " + std::to_string(i) + "\n";
  const LogFile file = Make(content);
  for (const bool backwards : {false, true}) {
    std::vector<std::string> found;
    web::Search search{
        .text = "line", .backwards = backwards, .from = backwards ? file.Size() : 0, .most = 7};
    for (std::optional<uint64_t> next = search.from; next;) {
      search.from = *next;
      const Hits hits = Search(file, search);
      ASSERT_TRUE(!hits.next || *hits.next != search.from);
      for (const Hits::Hit& hit : hits.hits) found.push_back(hit.text);
      next = hits.next;
    }
    ASSERT_THAT(found, SizeIs(100));
    EXPECT_EQ(found.front(), backwards ? "line 99" : "line 0");
    EXPECT_EQ(found.back(), backwards ? "line 0" : "line 99");
  }
}

TEST_F(LogFileTest, ReturnsTheContextOfAHitInALongLine) {
  const std::string content =
      std::string(3 << 20, 'a') + "needle" + std::string(3 << 20, 'b') + "\nend\n";
  const LogFile file = Make(content);
  for (const bool backwards : {false, true}) {
    const Hits hits = Search(
        file, {.text = "needle", .backwards = backwards, .from = backwards ? content.size() : 0});
    ASSERT_THAT(hits.hits, SizeIs(1)) << backwards;
    EXPECT_THAT(hits.hits[0].text,
                AllOf(SizeIs(testing::Le(1024)), testing::HasSubstr("aneedleb")));
  }
}

TEST_F(LogFileTest, FindsTextAcrossChunks) {
  constexpr size_t kChunk = 1 << 20;
  for (const size_t before : {kChunk - 3, kChunk - 6, kChunk - 1, kChunk}) {
    const LogFile file = Make(std::string(before, 'a') + "needle" + std::string(kChunk + 5, 'b'));
    EXPECT_THAT(Search(file, {.text = "needle"}).hits, SizeIs(1)) << before;
    EXPECT_THAT(Search(file, {.text = "needle", .backwards = true, .from = file.Size()}).hits,
                SizeIs(1))
        << before;
  }
}

TEST_F(LogFileTest, AStateOfABarIsALine) {
  const LogFile file = Make("10%|#\r20%|##\r30%|###\n");
  EXPECT_THAT(Search(file, {.text = "20%"}).hits, ElementsAre(HitAt(0, "20%|##")));
}

TEST_F(LogFileTest, SearchesAHundredMegabytes) {
  {
    std::ofstream out(folder_.path() + "/rank-3.out", std::ios::binary);
    out << "the needle that is meant\n";
    std::string block;
    for (int i = 0; block.size() < 1 << 20; ++i) {
      block += "step " + std::to_string(i) + " loss 2.031 grad 0.31 tokens 541000 needless\n";
    }
    for (int i = 0; i < 100; ++i) out << block;
  }
  auto file = LogFile::Open(folder_.path(), 3, false);
  ASSERT_GT(file->Size(), 100'000'000);
  const Hits hits = Search(*file, {.text = "the needle", .backwards = true, .from = file->Size()});
  EXPECT_THAT(hits.hits, ElementsAre(HitAt(0, "the needle that is meant")));

  // A cancelled search returns where to continue.
  int asked = 0;
  const Hits part =
      Find(*file, {.text = "absent", .backwards = true, .from = file->Size(), .most = 1},
           [&] { return ++asked > 3; });
  EXPECT_THAT(part.hits, IsEmpty());
  ASSERT_TRUE(part.next);
  EXPECT_GT(*part.next, 90'000'000);
}

}  // namespace
}  // namespace autodist::web
