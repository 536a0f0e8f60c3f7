#include "base/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace autodist::base {
namespace {

using testing::HasSubstr;

std::string Utf16(std::string_view text, bool little) {
  std::string wide;
  for (const char c : text) {
    const std::string pair = little ? std::string({c, '\0'}) : std::string({'\0', c});
    wide += pair;
  }
  return wide;
}

TEST(TextFileTest, LinesEndWithALineFeed) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"a\nb", "a\nb"},
      {"\xEF\xBB\xBF"
       "a\r\nb",
       "a\nb"},
      {"a\rb\r", "a\nb\n"},
      {"Icon\r\r\nb\n", "Icon\r\nb\n"},  // a file name
      {"a\n\xEF\xBB\xBF"
       "b\n",
       "a\nb\n"},
      {"a \xEF\xBB\xBF", "a \xEF\xBB\xBF"},
      {"a\r\n\x1A", "a\n"},
  };
  for (const auto& [bytes, text] : cases) {
    const auto plain = PlainText(bytes);
    ASSERT_TRUE(plain.ok()) << Message(plain.status());
    EXPECT_EQ(*plain, text);
  }
}

TEST(TextFileTest, OtherEncodingsAreNamed) {
  const std::string text = "gpu1 slots=2\r\n";
  const std::pair<std::string, const char*> cases[] = {
      {"\xFF\xFE" + Utf16(text, true), "is UTF-16 (it begins with the bytes ff fe); save it as"},
      {"\xFE\xFF" + Utf16(text, false), "is UTF-16 (it begins with the bytes fe ff); save it as"},
      {std::string("\xFF\xFE\0\0", 4), "is UTF-32"},
      {std::string("\0\0\xFE\xFF", 4), "is UTF-32"},
      {Utf16(text, true), "is UTF-16 (every second byte is zero); save it as UTF-8"},
      {Utf16(text, false), "is UTF-16 (every second byte is zero)"},
      {std::string("a\nb\0c", 5), "a zero byte on line 2; this is not a text file"},
      {std::string("\0", 1), "a zero byte on line 1"},
  };
  for (const auto& [bytes, what] : cases) {
    const auto plain = PlainText(bytes);
    ASSERT_FALSE(plain.ok());
    EXPECT_THAT(Message(plain.status()), HasSubstr(what));
  }
}

TEST(TextFileTest, ErrorsNameTheFile) {
  const test::TempFolder folder;
  const std::string path = folder.Write("f", "\xFF\xFE");
  EXPECT_THAT(Message(ReadTextFile(path, 10).status()), HasSubstr(path + ": the file is UTF-16"));
  EXPECT_EQ(ReadTextFile(folder.path() + "/none", 10).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::base
