#include "chief/output/repeat_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Words = RepeatLimit<std::string>;

class RepeatLimitTest : public testing::Test {
 protected:
  size_t Add(const std::string& key) { return words_.Add(key, now_, more_); }

  Words words_;
  Loop::Time now_{std::chrono::hours(1)};
  std::vector<std::pair<std::string, size_t>> reported_;
  const std::function<void(const std::string&, size_t)> more_ =
      [this](const std::string& key, size_t count) { reported_.emplace_back(key, count); };
};

TEST_F(RepeatLimitTest, OfManySimultaneousMessagesTheFirstArePrintedAndTheOthersCounted) {
  size_t said = 0;
  for (int i = 0; i < 9'000; ++i) said += Add("ended") <= Words::kMax ? 1 : 0;
  EXPECT_EQ(said, Words::kMax);
  EXPECT_EQ(Add("lost"), 1u);  // another message
  words_.End(more_);
  EXPECT_THAT(reported_, ElementsAre(Pair("ended", 9'000 - Words::kMax)));
  EXPECT_EQ(Add("ended"), 1u);
}

TEST_F(RepeatLimitTest, OccasionalMessagesAreAlwaysPrinted) {
  for (int i = 0; i < 9'000; ++i) {
    EXPECT_LE(Add("away"), Words::kMax);
    now_ += Words::kWindow / 10;
  }
  EXPECT_THAT(reported_, IsEmpty());
}

TEST_F(RepeatLimitTest, UniqueMessagesAreForgotten) {
  for (int i = 0; i < 100'000; ++i) EXPECT_EQ(Add(std::to_string(i)), 1u);
  EXPECT_THAT(reported_, IsEmpty());
}

}  // namespace
}  // namespace autodist::chief
