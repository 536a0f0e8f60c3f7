#include "base/shell_quote.h"

#include <gtest/gtest.h>

#include "support/shell.h"

namespace autodist::base {
namespace {

TEST(ShellQuoteTest, AShellParsesItUnchanged) {
  for (const std::string argument :
       {"plain", "", "two words", "$HOME", "`id`", "$(id)", "it's", "\"", "a\nb", "*", "-n", "\\",
        "a;b", "ü", "~", "!x", "#", "a=b"}) {
    EXPECT_EQ(test::Shell("printf %s_ " + ShellQuote(argument)), argument + "_");
  }
}

TEST(ShellQuoteTest, LeavesPlainWordsUnquoted) {
  EXPECT_EQ(ShellLine({"./train", "--lr=0.1", "two words"}), "./train --lr=0.1 'two words'");
}

}  // namespace
}  // namespace autodist::base
