#include "agent/stacks/flight_recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using test::kLimit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Recorded by PyTorch 2.15 for two ranks after three all-reduces, a barrier, and a broadcast in a
// group of both.
std::string RealRecord() {
  return base::ReadFile(TEST_SOURCE_DIR "/golden/flight_record.pickle", 1 << 20).value_or("");
}

constexpr char kCounts[] =
    "counted by its flight recorder: group 1: 1 entered, 1 ended; broadcast of [3]\n"
    "counted by its flight recorder: group default_pg: 4 entered, 4 ended; barrier < "
    "all_reduce of [4, 2] < all_reduce of [4, 2] < all_reduce of [4, 2]\n";

constexpr int64_t kRecordedMs = 1'795'667'777'497;  // the last collective

constexpr auto kAll = [](uint32_t) { return true; };

std::string WithoutAges(const std::string& text) {
  return std::regex_replace(text, std::regex(", the last [0-9]+ ms ago"), "");
}

TEST(FlightRecorderTest, CountsTheCollectivesOfARealRecord) {
  const auto counts = CountsOfRecord(RealRecord(), kRecordedMs + 5012);
  ASSERT_TRUE(counts.ok()) << counts.status();
  std::string text;
  for (const GroupCount& count : *counts) text += CountLine(count);
  EXPECT_EQ(WithoutAges(text), kCounts);
  EXPECT_THAT(text, HasSubstr("1 ended, the last 5013 ms ago; broadcast"));
  EXPECT_THAT(text, HasSubstr("4 ended, the last 5012 ms ago; barrier"));
}

std::string Text(const std::string& text) {
  return std::string("X") + static_cast<char>(text.size() & 0xff) +
         static_cast<char>(text.size() >> 8 & 0xff) + static_cast<char>(text.size() >> 16) + '\0' +
         text;
}

// A record with these entries, each of group "g", which has `groups` others before it.
std::string Record(const std::string& entries, int groups = 0) {
  std::string config;
  for (int i = 0; i < groups; ++i) config += Text("x" + std::to_string(i)) + "N";
  return "\x80\x02}(" + Text("pg_config") + "}(" + config + Text("g") + "}" + Text("ranks") +
         Text("[0, 1]") + "su" + Text("entries") + "](" + entries + "eu.";
}

std::string Entry(const std::string& group, const std::string& number) {
  return "}(" + Text("process_group") + Text(group) + Text("") + "\x86" +
         Text("collective_seq_id") + number + "u";
}

// If the cost were the product of two sizes, these would take minutes and hours.
TEST(FlightRecorderTest, TimeGrowsWithTheSizeOfTheRecord) {
  std::string many;
  for (int i = 0; i < 30'000; ++i) many += Entry("g", "K\x01");
  const auto counts = CountsOfRecord(Record(many, 100'000), 0);
  ASSERT_TRUE(counts.ok()) << counts.status();
  ASSERT_EQ(counts->size(), 1U);
  EXPECT_EQ(counts->front().size, 2U);

  std::string large = "}(" + Text("sizes");
  for (int i = 0; i < 400'000; ++i) large += "NN";
  large += "K\x01" + Text("collective_seq_id") + "K\x02uq0";
  for (int i = 0; i < 1'000'000; ++i) large += "h0";
  const auto shared = CountsOfRecord(Record(large), 0);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->front().entered, 2U);
}

TEST(FlightRecorderTest, TextsAndGroupsAreLimited) {
  const auto counts = CountsOfRecord(Record(Entry(std::string(100'000, 'g'), "K\x01")), 0);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->front().group.size(), 200U);
  std::string many;
  for (int i = 0; i < 300; ++i) many += Entry(std::to_string(i), "K\x01");
  EXPECT_THAT(Message(CountsOfRecord(Record(many), 0).status()), HasSubstr("too many groups"));
}

class FlightRecordsTest : public testing::Test {
 protected:
  FlightRecordsTest() { folder_.Write("plan.json", "{}"); }
  ~FlightRecordsTest() override {
    if (rank_.joinable()) rank_.join();
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  // Simulates a rank that writes its record on request.
  void AnswerAtPipe(const std::string& record) {
    ASSERT_EQ(mkfifo(Path("flight-recorder.3.pipe").c_str(), 0600), 0);
    pipe_.Reset(open(Path("flight-recorder.3.pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    rank_ = std::thread([this, record] {
      char asked = 0;
      EXPECT_EQ(*base::ReadSome(pipe_.get(), &asked, 1, Deadline::After(kLimit)), 1U);
      folder_.Write("flight-recorder.3", record);
    });
  }

  std::map<uint32_t, std::string> Texts(milliseconds limit = kLimit) const {
    std::map<uint32_t, std::string> texts;
    AskForFlightRecords(folder_.path(), Deadline::After(limit));
    for (const auto& [rank, record] : TakeFlightRecords(folder_.path(), kAll)) {
      texts[rank] = WithoutAges(record.text);
    }
    return texts;
  }

  test::TempFolder folder_;
  base::UniqueFd pipe_;
  std::thread rank_;
};

TEST_F(FlightRecordsTest, NoRankRecords) {
  EXPECT_THAT(Texts(), ElementsAre());
  AskForFlightRecords(Path("missing"), Deadline::After(kLimit));
  EXPECT_THAT(TakeFlightRecords(Path("missing"), kAll), ElementsAre());
}

TEST_F(FlightRecordsTest, RequestsRecordsThroughThePipe) {
  AnswerAtPipe(RealRecord());
  EXPECT_THAT(Texts(), ElementsAre(Pair(3, kCounts)));
}

TEST_F(FlightRecordsTest, ReadsARecordThatWasWrittenBefore) {
  folder_.Write("flight-recorder.0", RealRecord());
  folder_.Write("flight-recorder.12", RealRecord());
  folder_.Write("flight-recorder.12x", RealRecord());
  folder_.Write("flight-recorder.", RealRecord());
  EXPECT_THAT(Texts(), ElementsAre(Pair(0, kCounts), Pair(12, kCounts)));
}

TEST_F(FlightRecordsTest, ARecordIsReadOnce) {
  folder_.Write("flight-recorder.0", RealRecord());
  EXPECT_THAT(TakeFlightRecords(folder_.path(), [](uint32_t rank) { return rank != 0; }),
              ElementsAre());
  EXPECT_TRUE(ReadFlightRecord(folder_.path(), 0).has_value());
  EXPECT_THAT(Texts(), ElementsAre(Pair(0, kCounts)));
  EXPECT_THAT(Texts(), ElementsAre());
  EXPECT_FALSE(ReadFlightRecord(folder_.path(), 0).has_value());
}

TEST_F(FlightRecordsTest, APipeWithoutAReaderIsNotAwaited) {
  ASSERT_EQ(mkfifo(Path("flight-recorder.3.pipe").c_str(), 0600), 0);
  EXPECT_THAT(Texts(), ElementsAre());
}

TEST_F(FlightRecordsTest, AFileInPlaceOfAPipeIsLeftAlone) {
  folder_.Write("flight-recorder.3.pipe", "mine");
  EXPECT_THAT(Texts(), ElementsAre());
  EXPECT_EQ(folder_.Read("flight-recorder.3.pipe"), "mine");
}

TEST_F(FlightRecordsTest, OnlyARegularFileIsARecord) {
  folder_.Write("record", RealRecord());
  ASSERT_EQ(mkfifo(Path("flight-recorder.3").c_str(), 0600), 0);
  ASSERT_EQ(symlink(Path("record").c_str(), Path("flight-recorder.4").c_str()), 0);
  EXPECT_THAT(Texts(), ElementsAre());
}

TEST_F(FlightRecordsTest, ARankThatDoesNotAnswerIsAwaitedUntilTheDeadline) {
  ASSERT_EQ(mkfifo(Path("flight-recorder.3.pipe").c_str(), 0600), 0);
  pipe_.Reset(open(Path("flight-recorder.3.pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  folder_.Write("flight-recorder.3", RealRecord());
  EXPECT_THAT(Texts(milliseconds(50)), ElementsAre(Pair(3, kCounts)));
}

TEST_F(FlightRecordsTest, ReportsUnreadableRecords) {
  folder_.Write("flight-recorder.3",
                "\x80\x02"
                "cposix\nsystem\n.");
  EXPECT_THAT(Texts(), ElementsAre(Pair(3, HasSubstr("its flight record is not read: no pickle"))));
}

}  // namespace
}  // namespace autodist::agent
