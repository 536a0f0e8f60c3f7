#include "logs/log_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::logs {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

base::WallTime At(int64_t ms) { return base::WallTime(milliseconds(1'795'414'559'000 + ms)); }

class LogIndexTest : public testing::Test {
 protected:
  // All entries as "offset@ms".
  std::vector<std::string> Entries() const {
    LogIndexReader reader(log_);
    std::vector<std::string> entries;
    while (const auto entry = reader.At(entries.size())) {
      entries.push_back(std::to_string(entry->offset) + "@" +
                        std::to_string((entry->time - At(0)) / milliseconds(1)));
    }
    EXPECT_EQ(reader.size(), entries.size());
    return entries;
  }

  const test::TempFolder folder_;
  const std::string log_ = folder_.path() + "/rank-0.out";
};

TEST_F(LogIndexTest, AnEntryForEachTenthOfASecondOr64KiB) {
  LogIndexWriter writer(folder_.path(), "rank-0.out");
  EXPECT_THAT(Entries(), ElementsAre());
  EXPECT_FALSE(std::filesystem::exists(log_ + ".times"));
  writer.Note(0, At(0));
  writer.Note(10, At(99));
  writer.Note(20, At(100));
  writer.Note(30, At(199));
  writer.Note(20 + 65535, At(199));
  writer.Note(20 + 65536, At(199));
  writer.Note(70000, At(50));  // the clock was set
  EXPECT_THAT(Entries(), ElementsAre("0@0", "20@100", "65556@199", "70000@50"));
  struct stat info {};
  ASSERT_EQ(stat((log_ + ".times").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(info.st_size, 64);
}

TEST_F(LogIndexTest, TheFormatIsPortable) {
  LogIndexWriter writer(folder_.path(), "rank-0.out");
  writer.Note(0, At(0));
  writer.Note(0x0102030405060708, base::WallTime(std::chrono::microseconds(0x0012131415161718)));
  const std::string_view entry("\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x00",
                               16);
  EXPECT_EQ(folder_.Read("rank-0.out.times").substr(16), entry);
}

TEST_F(LogIndexTest, EntriesAreFound) {
  LogIndexWriter writer(folder_.path(), "rank-0.out");
  for (uint64_t i = 0; i < 1000; ++i) writer.Note(10 * i, At(static_cast<int64_t>(200 * i)));
  LogIndexReader reader(log_);
  EXPECT_EQ(reader.FirstBehind(0), 1u);
  EXPECT_EQ(reader.FirstBehind(9), 1u);
  EXPECT_EQ(reader.FirstBehind(10), 2u);
  EXPECT_EQ(reader.FirstBehind(9999), 1000u);
  EXPECT_EQ(reader.FirstSince(At(-1)), 0u);
  EXPECT_EQ(reader.FirstSince(At(400)), 2u);
  EXPECT_EQ(reader.FirstSince(At(401)), 3u);
  EXPECT_EQ(reader.FirstSince(At(1'000'000)), 1000u);
  EXPECT_FALSE(reader.At(1000));
  writer.Note(20'000, At(300'000));  // while it is read
  ASSERT_TRUE(reader.At(1000));
  EXPECT_EQ(reader.At(1000)->offset, 20'000u);
}

TEST_F(LogIndexTest, InvalidFilesAreHandled) {
  LogIndexReader none(log_);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_FALSE(none.At(0));
  EXPECT_EQ(none.FirstSince(At(0)), 0u);
  folder_.Write("rank-0.out.times", std::string(40, '\xFF'));
  LogIndexReader reader(log_);
  EXPECT_EQ(reader.size(), 2u);
  EXPECT_GT(reader.At(1)->time, At(0));
  EXPECT_FALSE(reader.At(2));
}

TEST_F(LogIndexTest, FailedWritesLeaveGaps) {
  folder_.Write("none", "in the way");
  LogIndexWriter writer(folder_.path() + "/none", "rank-0.out");
  writer.Note(0, At(0));
  std::filesystem::remove(folder_.path() + "/none");
  writer.Note(100'000, At(1000));  // as if truncated
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/none/rank-0.out.times"));
}

}  // namespace
}  // namespace autodist::logs
