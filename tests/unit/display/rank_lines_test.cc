// Ranks cannot control autodist's terminal; a pipe gets every byte.
#include "display/rank_lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"

namespace autodist::display {
namespace {

using std::chrono::seconds;

// Clipboard, title, DCS, a query that the terminal answers, another screen, C1 in UTF-8 and raw,
// BEL.
constexpr char kHostile[] =
    "\x1b]52;c;ZXZpbA==\x07"
    "\x1b]0;title\x07"
    "\x1bP+q544e\x1b\\"
    "\x1b[6n"
    "\x1b[?1049h"
    "\xc2\x9b"
    "6n"
    "\x9d"
    "0;title\x9c"
    "\x07"
    "\x1b"
    "c\x1b[31mred\x1b[0m";

// Replaces our stdout and stderr; the first or both are a terminal.
class Outputs {
 public:
  explicit Outputs(bool stderr_too = true) {
    std::fflush(stdout);
    std::fflush(stderr);
    master_.Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_EQ(grantpt(master_.get()) | unlockpt(master_.get()), 0);
    const base::UniqueFd terminal(open(ptsname(master_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios settings;
    tcgetattr(terminal.get(), &settings);
    cfmakeraw(&settings);
    tcsetattr(terminal.get(), TCSANOW, &settings);
    pipe_ = *base::Pipe();
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      before_[fd == STDOUT_FILENO ? 0 : 1].Reset(dup(fd));
      const bool is_terminal = fd == STDOUT_FILENO || stderr_too;
      dup2(is_terminal ? terminal.get() : pipe_.second.get(), fd);
    }
    EXPECT_TRUE(base::SetNonBlocking(master_.get()).ok());
    EXPECT_TRUE(base::SetNonBlocking(pipe_.first.get()).ok());
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  ~Outputs() {
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
      dup2(before_[fd == STDOUT_FILENO ? 0 : 1].get(), fd);
  }

  std::string Terminal() const { return Written(master_.get()); }
  std::string Pipe() const { return Written(pipe_.first.get()); }

 private:
  static std::string Written(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }

  base::UniqueFd master_;
  base::FdPair pipe_;
  std::array<base::UniqueFd, 2> before_;
};

class RankLinesTest : public testing::Test {
 protected:
  ~RankLinesTest() override { setenv("TERM", term_.c_str(), 1); }

  // The output of `write` to a terminal, and to a pipe if stderr is none.
  struct Written {
    std::string terminal;
    std::string pipe;
  };
  template <typename Write>
  static Written To(bool stderr_too, View view, const Write& write) {
    const Outputs outputs(stderr_too);  // no assertion may fail during its life
    Screen screen;
    RankLines lines({{0, 0, "a", false}}, std::move(view), "/nowhere");
    write(lines, screen);
    lines.EndLines(screen);
    screen.Clear();
    return {outputs.Terminal(), outputs.Pipe()};
  }
  void TakeBoth(RankLines& lines, Screen& screen) const {
    for (const Stream stream : {kStdout, kStderr}) {
      lines.Take({0, stream, text_}, true, Time{}, screen);
    }
  }

  const std::string term_ = getenv("TERM") ? getenv("TERM") : "";
  const std::string text_ = std::string(kHostile) + "\n";
  const std::string harmless_ = "6n?0;title?\x1b[31mred\x1b[0m\n";
};

TEST_F(RankLinesTest, RawBytesOfARankAreSanitizedOnATerminal) {
  const Written written = To(true, {.prefix = PrefixStyle::kNone, .raw = 0},
                             [&](auto& lines, auto& screen) { TakeBoth(lines, screen); });
  EXPECT_EQ(written.terminal, harmless_ + harmless_);
}

TEST_F(RankLinesTest, InAPipeTheyAreUnchanged) {
  const Written written = To(false, {.prefix = PrefixStyle::kNone, .raw = 0},
                             [&](auto& lines, auto& screen) { TakeBoth(lines, screen); });
  EXPECT_EQ(written.terminal, harmless_);
  EXPECT_EQ(written.pipe, text_);
}

TEST_F(RankLinesTest, ItsOwnTerminalGetsAllBytes) {
  const Written written = To(true, {.at_terminal = 0}, [&](auto& lines, auto& screen) {
    lines.Take({0, kStdout, text_}, true, Time{}, screen);
    lines.Take({1, kStdout, "of another\n"}, true, Time{}, screen);
  });
  EXPECT_EQ(written.terminal, text_);
}

TEST_F(RankLinesTest, BarsAreSanitizedOnATerminalThatCannotDraw) {
  setenv("TERM", "dumb", 1);
  const Written written = To(true, {.prefix = PrefixStyle::kNone}, [&](auto& lines, auto& screen) {
    const Time begin = Time{} + seconds(100);
    lines.Take({0, kStdout, "\r50%" + std::string(kHostile)}, true, begin, screen);
    lines.Update(begin + seconds(31), screen);
  });
  EXPECT_EQ(written.terminal, "50%" + harmless_ + "50%" + harmless_)
      << "while it is drawn, and its end";
}

TEST_F(RankLinesTest, AnIncompleteLineIsShownAfterAMoment) {
  const Time begin = Time{} + seconds(100);
  const Outputs outputs;
  Screen screen;
  std::vector<std::string> reported;
  RankLines lines(
      {{0, 0, "a", false}, {1, 1, "a", false}}, {.colour = Colour::kNever}, "/nowhere",
      [](uint32_t, Stream, std::string_view) {},
      [&](uint32_t rank, Stream, std::string_view text, bool half) {
        reported.push_back(std::to_string(rank) + (half ? " half " : " ") + std::string(text));
      });
  const auto update = [&](std::chrono::milliseconds at) {
    lines.Update(begin + at, screen);
    screen.Update(begin + at);
    return outputs.Terminal();
  };
  lines.Take({0, kStdout, "Overwrite? "}, true, begin, screen);
  lines.Take({1, kStdout, "Overwrite? "}, true, begin, screen);
  EXPECT_EQ(lines.Due(screen), begin + std::chrono::milliseconds(300));
  EXPECT_EQ(update(std::chrono::milliseconds(299)), "");
  const std::string shown = update(std::chrono::milliseconds(400));
  EXPECT_NE(shown.find("[a:0] Overwrite? "), std::string::npos) << shown;
  EXPECT_EQ(shown.find("[a:1]"), std::string::npos) << "it stands once";
  EXPECT_EQ(reported, (std::vector<std::string>{"0 half Overwrite? ", "1 half Overwrite? "}));
  lines.Take({1, kStderr, "other\n"}, true, begin + seconds(1), screen);
  lines.Take({0, kStdout, "no\n"}, true, begin + seconds(1), screen);
  const std::string ended = update(seconds(2));
  EXPECT_NE(ended.find("[a:1] other"), std::string::npos) << ended;
  EXPECT_NE(ended.find("[a:0] Overwrite? no"), std::string::npos) << ended;
}

TEST_F(RankLinesTest, InAPipeAnIncompleteLineIsShownAfterHalfAMinute) {
  setenv("TERM", "dumb", 1);
  const Written written = To(true, {.prefix = PrefixStyle::kNone}, [&](auto& lines, auto& screen) {
    const Time begin = Time{} + seconds(100);
    lines.Take({0, kStdout, "Loading ."}, true, begin, screen);
    lines.Update(begin + seconds(1), screen);
    lines.Take({0, kStdout, "."}, true, begin + seconds(20), screen);
    lines.Update(begin + seconds(20), screen);
    lines.Update(begin + seconds(32), screen);
    lines.Take({0, kStdout, ". done\n"}, true, begin + seconds(33), screen);
    lines.Update(begin + seconds(33), screen);
  });
  EXPECT_EQ(written.terminal, "Loading ..\nLoading ... done\n");
}

}  // namespace
}  // namespace autodist::display
