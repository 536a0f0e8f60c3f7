#include "logs/log_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "base/deadline.h"
#include "display/rank_lines.h"
#include "support/temp_folder.h"

namespace autodist::logs {
namespace {

using testing::ElementsAre;

class LogReaderTest : public testing::Test {
 protected:
  // Output since the last call, one entry for each piece of a file.
  std::vector<std::string> Shown() { return std::exchange(shown_, {}); }
  ShowOutput Show() {
    return [this](const display::Output& output, bool) {
      shown_.push_back(std::to_string(output.rank) +
                       (output.stream == display::kStderr ? "! " : ": ") +
                       std::string(output.bytes));
    };
  }
  // Writes at a time in seconds, which is recorded in the index.
  void Write(uint32_t rank, display::Stream stream, int seconds, const std::string& text) {
    const std::string path = display::LogPath(folder_.path(), rank, stream);
    const std::string name = display::LogName(rank, stream);
    auto& [times, size] =
        written_.try_emplace(path, logs::LogIndexWriter(folder_.path(), name), 0).first->second;
    times.Note(size, At(seconds));
    size += text.size();
    std::ofstream(path, std::ios::binary | std::ios::app) << text;
    const std::time_t second = std::chrono::system_clock::to_time_t(At(seconds));
    const timespec changed[] = {{second, 0}, {second, 0}};
    utimensat(AT_FDCWD, path.c_str(), changed, 0);
  }
  static base::WallTime At(int seconds) {
    return base::WallTime(std::chrono::seconds(1'795'414'559 + seconds));
  }
  void CutTimes(const std::string& name, uint64_t size) const {
    std::filesystem::resize_file(folder_.path() + "/" + name + ".times", size);
  }
  // Reads everything at once, like `logs`.
  using Skip = std::function<void(LogReader&)>;
  std::string Text(const Skip& skip = {}) const {
    LogReader logs(folder_.path());
    if (skip) skip(logs);
    std::string text;
    logs.ReadAll([&](const display::Output& output, bool) { text += output.bytes; });
    return text;
  }
  std::string Tail(size_t lines) const {
    return Text([&](LogReader& logs) { logs.SkipToLastLines(lines); });
  }
  std::string Since(int seconds) const {
    return Text([&](LogReader& logs) { logs.SkipBefore(At(seconds)); });
  }
  void Append(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name, std::ios::binary | std::ios::app) << text;
  }

  const test::TempFolder folder_;
  std::vector<std::string> shown_;
  std::map<std::string, std::pair<logs::LogIndexWriter, uint64_t>> written_;
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

TEST_F(LogReaderTest, StartsWithTheLastLinesOfEach) {
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
    logs.SkipToLastLinesOfEach(2);
    std::string shown;
    logs.ReadAll([&](const display::Output& output, bool) { shown += output.bytes; });
    EXPECT_EQ(shown, last_two) << text.substr(0, 20);
  }
  folder_.Write("rank-0.out", "a\nb\n");
  LogReader logs(folder_.path());
  logs.SkipToLastLinesOfEach(0);
  logs.ReadAll(Show());
  EXPECT_TRUE(Shown().empty());
  folder_.Write("rank-1.out", "a\nb\nc\n");  // new files are read from their start
  logs.ReadAll(Show());
  EXPECT_THAT(Shown(), ElementsAre("1: a\nb\nc\n"));
}

TEST_F(LogReaderTest, ReadsInTheOrderOfTime) {
  Write(1, display::kStdout, 1, "a\n");
  Write(0, display::kStdout, 2, "b\n");
  Write(1, display::kStdout, 3, "c\n");
  Write(1, display::kStderr, 3, "d\n");
  Write(0, display::kStdout, 4, "e");
  Write(0, display::kStdout, 6, "g");
  Write(1, display::kStdout, 5, "f\n");
  LogReader logs(folder_.path());
  std::vector<std::string> times;
  const auto show = Show();
  logs.ReadAll([&](const display::Output& output, bool last) {
    show(output, last);
    times.push_back(std::to_string((*output.time - At(0)) / std::chrono::seconds(1)) +
                    (last ? " last" : ""));
  });
  EXPECT_THAT(Shown(),
              ElementsAre("1: a\n", "0: b\n", "1: c\n", "1! d\n", "0: e", "1: f\n", "0: g"));
  EXPECT_THAT(times, ElementsAre("1", "2", "3", "3 last", "4", "5 last", "6 last"));
  Write(0, display::kStdout, 8, "i");
  Write(1, display::kStdout, 7, "h");
  logs.ReadFiles({"rank-0.out", "rank-0.out.times", "rank-1.out"}, Show());
  EXPECT_THAT(Shown(), ElementsAre("1: h", "0: i"));
  EXPECT_TRUE(logs.HasTimes());
}

TEST_F(LogReaderTest, UnselectedFilesAreNotRead) {
  Write(0, display::kStdout, 1, "out\n");
  Write(0, display::kStderr, 2, "err\n");
  LogReader logs(folder_.path(),
                 [](uint32_t, display::Stream stream) { return stream == display::kStderr; });
  logs.SkipToLastLines(1);
  logs.ReadAll(Show());
  Append("rank-0.out", "more\n");
  logs.ReadFiles({"rank-0.out"}, Show());
  EXPECT_THAT(Shown(), ElementsAre("0! err\n"));
}

TEST_F(LogReaderTest, TheLastLinesOfAllFilesTogether) {
  Write(0, display::kStdout, 1, "a\nb");
  Write(1, display::kStdout, 2, "c\nd\n");
  Write(0, display::kStdout, 3, "b\n");
  Write(1, display::kStdout, 4, "e\n");
  Write(2, display::kStdout, 4, "");
  Write(0, display::kStdout, 5, "f");
  const std::string all = "a\nbc\nd\nb\ne\nf";
  EXPECT_EQ(Tail(0), "");
  EXPECT_EQ(Tail(1), "f");
  EXPECT_EQ(Tail(2), "e\nf");
  EXPECT_EQ(Tail(3), "bb\ne\nf");  // a line has the time at which it begins
  EXPECT_EQ(Tail(4), "bd\nb\ne\nf");
  EXPECT_EQ(Tail(5), "bc\nd\nb\ne\nf");
  EXPECT_EQ(Tail(6), all);
  EXPECT_EQ(Tail(1000), all);
}

TEST_F(LogReaderTest, TheLastLinesOfLargeFiles) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  Write(0, display::kStdout, 1, text);
  Write(1, display::kStdout, 1, text);  // the later one at equal times
  const std::string long_line = std::string(300'000, 'x') + "\n";
  Write(0, display::kStdout, 2, long_line);
  EXPECT_EQ(Tail(1), long_line);
  EXPECT_EQ(Tail(2), "99999\n" + long_line);
  EXPECT_EQ(Tail(100'001), text + long_line);
  EXPECT_EQ(Tail(100'002), "99999\n" + text + long_line);
}

TEST_F(LogReaderTest, LinesSinceATime) {
  Write(0, display::kStdout, 1, "a\n");
  Write(1, display::kStdout, 2, "b\n50%\r");
  Write(0, display::kStdout, 3, "c\n");
  Write(1, display::kStdout, 4, "100%\nd\n");
  EXPECT_EQ(Since(0), "a\nb\n50%\rc\n100%\nd\n");
  EXPECT_EQ(Since(2), "b\n50%\rc\n100%\nd\n");
  EXPECT_EQ(Since(4), "50%\r100%\nd\n");
  const auto both = [](LogReader& logs) {
    logs.SkipToLastLines(3);
    logs.SkipBefore(At(4));
  };
  EXPECT_EQ(Text(both), "50%\r100%\nd\n");
}

TEST_F(LogReaderTest, WithoutTimesItReadsRankByRank) {
  folder_.Write("rank-1.out", "c\nd\n");
  folder_.Write("rank-0.out", "a\nb\n");
  EXPECT_FALSE(LogReader(folder_.path()).HasTimes());
  EXPECT_EQ(Text(), "a\nb\nc\nd\n");
  EXPECT_EQ(Tail(3), "b\nc\nd\n");
  // The time of a file's last change is known.
  std::filesystem::last_write_time(
      folder_.path() + "/rank-0.out",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  const auto an_hour_ago = std::chrono::system_clock::now() - std::chrono::hours(1);
  EXPECT_EQ(Text([&](LogReader& logs) { logs.SkipBefore(an_hour_ago); }), "c\nd\n");
  // Files with times come after those without.
  Write(2, display::kStdout, -100, "e\n");
  EXPECT_EQ(Text(), "a\nb\nc\nd\ne\n");
}

TEST_F(LogReaderTest, TruncatedOrDamagedTimesLoseNoByte) {
  for (int i = 0; i < 200; ++i) {
    Write(0, display::kStdout, 2 * i, std::to_string(2 * i) + "\n");
    Write(1, display::kStdout, 2 * i + 1, std::to_string(2 * i + 1) + "\n");
  }
  std::string all;
  for (int i = 0; i < 400; ++i) all += std::to_string(i) + "\n";
  EXPECT_EQ(Text(), all);
  EXPECT_EQ(Since(396), "396\n397\n398\n399\n");
  CutTimes("rank-1.out", 16 * 199 + 9);  // the rest of the last entry is ignored
  EXPECT_EQ(Tail(3), "397\n399\n398\n");
  EXPECT_EQ(Since(396), "396\n397\n399\n398\n");
  CutTimes("rank-1.out", 16 * 100);
  EXPECT_TRUE(Text().starts_with(all.substr(0, all.find("199\n") + 4)));
  EXPECT_EQ(Text().size(), all.size());
  // The file was changed afterwards, at an unknown time.
  EXPECT_EQ(Since(396).substr(0, 8), "199\n201\n");
  for (const char byte : {'\0', '\xFF', 'x'}) {
    folder_.Write("rank-1.out.times", std::string(16 * 50, byte) + "x");
    EXPECT_EQ(Text().size(), all.size());
    EXPECT_EQ(Tail(400).size(), all.size());
    EXPECT_LE(Since(0).size(), all.size());
    EXPECT_EQ(Tail(1).size(), 4u);
  }
}

TEST_F(LogReaderTest, ReportsNewOutput) {
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

TEST_F(LogReaderTest, AFolderThatDoesNotExistYet) {
  EXPECT_EQ(LogWatch::Open(folder_.path() + "/none").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::logs
