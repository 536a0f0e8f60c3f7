#include "chief/moved/run_there.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

TEST(DecodeWordsTest, WhatIsNotOurs) {
  for (const char* text : {"", "6", "zz00", "6c", "6c 00"}) {
    EXPECT_FALSE(DecodeWords(text).ok()) << text;
  }
}

TEST(DecodeWordsTest, Words) {
  EXPECT_EQ(*DecodeWords("707300"), std::vector<std::string>{"ps"});
  EXPECT_EQ(*DecodeWords("7073000000"), (std::vector<std::string>{"ps", "", ""}));
}

}  // namespace
}  // namespace autodist::chief
