#include "progress/arguments.h"

#include <gtest/gtest.h>

namespace autodist::progress {
namespace {

using Arguments = std::vector<std::string>;

TEST(EpochsSaidTest, ParsesCommonSpellings) {
  for (const Arguments& arguments :
       {Arguments{"python", "train.py", "--epochs", "3"}, Arguments{"--max_epochs=3"},
        Arguments{"--max-epochs", "3", "--lr", "0.1"}, Arguments{"--trainer.max_epochs=3"},
        Arguments{"trainer.max_epochs=3"}, Arguments{"--num_train_epochs", "3"},
        Arguments{"--epochs", "9", "--epochs", "3"}}) {
    EXPECT_EQ(EpochsIn(arguments), 3u) << arguments[0];
  }
}

TEST(EpochsSaidTest, IgnoresOtherArguments) {
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"epochs", "3"}, Arguments{"--epochs"}, Arguments{"--epochs", "many"},
        Arguments{"--epochs", "0"}, Arguments{"--epochs", "-1"}, Arguments{"--epochs=3.5"},
        Arguments{"--warmup_epochs", "3"}, Arguments{"--eval-epochs=3"}, Arguments{"--epoch", "3"},
        Arguments{"-", "--", "="}}) {
    EXPECT_FALSE(EpochsIn(arguments));
  }
}

}  // namespace
}  // namespace autodist::progress
