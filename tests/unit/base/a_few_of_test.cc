#include "base/a_few_of.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(AFewOfTest, NamesAllOrCountsSeveralOthers) {
  const struct {
    std::vector<std::string> names;
    size_t named;
    std::string text;
  } kCases[] = {
      {{}, 3, ""},
      {{"a"}, 3, "a"},
      {{"a", "b"}, 3, "a and b"},
      {{"a", "b", "c"}, 3, "a, b and c"},
      {{"a", "b", "c", "d"}, 3, "a, b, c and d"},
      {{"a", "b", "c", "d", "e"}, 3, "a, b, c and 2 others"},
      {{"a", "b"}, 1, "a and b"},
      {{"a", "b", "c"}, 1, "a and 2 others"},
  };
  for (const auto& [names, named, text] : kCases) EXPECT_EQ(AFewOf(names, named), text);
}

}  // namespace
}  // namespace autodist::base
