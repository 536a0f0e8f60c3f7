#include "control/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>

#include "base/deadline.h"
#include "support/temp_folder.h"

namespace autodist::control {
namespace {

using testing::ElementsAre;

class LogReaderTest : public testing::Test {
 protected:
  // What has been shown since the last call, one entry for each piece of a file.
  std::vector<std::string> Shown() { return std::exchange(shown_, {}); }
  ShowBytes Show() {
    return [this](uint32_t rank, display::Stream stream, std::string_view bytes) {
      shown_.push_back(std::to_string(rank) + (stream == display::kStderr ? "! " : ": ") +
                       std::string(bytes));
    };
  }
  void Append(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name, std::ios::binary | std::ios::app) << text;
  }

  const test::TempFolder folder_;
  std::vector<std::string> shown_;
};

TEST_F(LogReaderTest, ReadsRankByRankAndEachByteOnce) {
  folder_.Write("rank-10.out", "ten");
  folder_.Write("rank-2.err", "bad");
  folder_.Write("rank-2.out", std::string("a\0b\n\xFF", 5));
  for (const std::string name : {"rank-.out", "rank-1.outer", "rank-x.out", "job.json", "rank-1",
                                 "rank-99999999999.out", "rank--1.out"}) {
    folder_.Write(name, "not a rank's");
  }
  LogReader logs(folder_.path());
  logs.ReadAll(Show());
  EXPECT_THAT(Shown(), ElementsAre("2: " + std::string("a\0b\n\xFF", 5), "2! bad", "10: ten"));
  Append("rank-2.out", "more");
  logs.ReadAll(Show());
  EXPECT_THAT(Shown(), ElementsAre("2: more"));
  LogReader(folder_.path() + "/none").ReadAll(Show());
  EXPECT_TRUE(Shown().empty());
}

TEST_F(LogReaderTest, BeginsWithTheLastLines) {
  const std::string long_line(200'000, 'x');
  for (const auto& [text, last_two] : {std::pair<std::string, std::string>{"", ""},
                                       {"\n", "\n"},
                                       {"a", "a"},
                                       {"a\n", "a\n"},
                                       {"a\nb", "a\nb"},
                                       {"a\nb\n", "a\nb\n"},
                                       {"a\nb\nc", "b\nc"},
                                       {"a\nb\nc\n", "b\nc\n"},
                                       {"a\n\n\n", "\n\n"},
                                       {"\n\n\nd", "\nd"},
                                       {long_line + "\nb\n", std::string(65533, 'x') + "\nb\n"}}) {
    folder_.Write("rank-0.out", text);
    LogReader logs(folder_.path());
    logs.SkipToLastLines(2);
    std::string shown;
    logs.ReadAll([&](uint32_t, display::Stream, std::string_view bytes) { shown += bytes; });
    EXPECT_EQ(shown, last_two) << text.substr(0, 20);
  }
  folder_.Write("rank-0.out", "a\nb\n");
  LogReader logs(folder_.path());
  logs.SkipToLastLines(0);
  logs.ReadAll(Show());
  EXPECT_TRUE(Shown().empty());
  folder_.Write("rank-1.out", "a\nb\nc\n");  // new ones are read from their beginning
  logs.ReadAll(Show());
  EXPECT_THAT(Shown(), ElementsAre("1: a\nb\nc\n"));
}

TEST_F(LogReaderTest, TellsWhenThereIsSomethingNew) {
  folder_.Write("rank-0.out", "old\n");
  auto watch = LogWatch::Open(folder_.path());
  ASSERT_TRUE(watch.ok()) << watch.status();
  LogReader logs(folder_.path());
  logs.ReadAll(Show());
  EXPECT_THAT(Shown(), ElementsAre("0: old\n"));
  const auto readable = [&] {
    return base::WaitReadable(watch->fd(), base::Deadline::After(std::chrono::milliseconds(0)))
        .ok();
  };
  EXPECT_FALSE(readable());
  Append("rank-0.out", "new\n");
  folder_.Write("rank-1.err", "first\n");
  folder_.Write("job.json", "{}");
  EXPECT_TRUE(readable());
  watch->ReadNew(logs, Show());
  EXPECT_THAT(Shown(), ElementsAre("0: new\n", "1! first\n"));
  EXPECT_FALSE(readable());
}

TEST_F(LogReaderTest, AFolderThatIsNotThereYet) {
  EXPECT_EQ(LogWatch::Open(folder_.path() + "/none").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::control
