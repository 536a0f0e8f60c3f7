#include "agent/stacks/pickled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace autodist::agent {
namespace {

using namespace std::string_view_literals;
using Kind = PickledValue::Kind;
using testing::HasSubstr;

// As Python would print it.
std::string Shown(const PickledValue& value) {
  std::string text;
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.integer != 0 ? "True" : "False";
    case Kind::kInteger:
      return std::to_string(value.integer);
    case Kind::kFloat:
      return std::to_string(value.number);
    case Kind::kText:
      return "'" + value.text + "'";
    case Kind::kList:
      for (const PickledValue* item : value.items)
        text += (text.empty() ? "" : ", ") + Shown(*item);
      return "[" + text + "]";
    case Kind::kDict:
      for (size_t i = 0; i < value.items.size(); i += 2) {
        text +=
            (text.empty() ? "" : ", ") + Shown(*value.items[i]) + ": " + Shown(*value.items[i + 1]);
      }
      return "{" + text + "}";
  }
  return "";
}

std::string Read(std::string_view bytes) {
  const auto pickled = Pickled::Read(bytes);
  return pickled.ok() ? Shown(pickled->root()) : Message(pickled.status());
}

TEST(PickledTest, ReadsPythonsOutput) {
  struct Case {
    std::string_view bytes;
    std::string_view value;
  };
  // pickle.dumps(value, protocol)
  for (
      const auto& [bytes, value] : {
          Case{"\x80\x02N."sv, "None"},
          Case{"\x80\x02]q\x00(\x88\x89\x65."sv, "[True, False]"},
          Case{"\x80\x02]q\x00(K\x01M,\x01J\xfe\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x65."sv,
               "[1, 300, -2, 1099511627776]"},
          Case{"\x80\x02\x8a\x05\x00\x00\x00\x00\xff."sv, "-4294967296"},
          Case{"\x80\x02G?\xf8\x00\x00\x00\x00\x00\x00."sv, "1.500000"},
          Case{"\x80\x02}q\x00(X\x01\x00\x00\x00\x61q\x01K\x01X\x01\x00\x00\x00\x62q\x02)u."sv,
               "{'a': 1, 'b': []}"},
          Case{"\x80\x02(K\x01K\x02K\x03K\x04tq\x00."sv, "[1, 2, 3, 4]"},
          Case{"\x80\x02X\x01\x00\x00\x00xq\x00h\x00\x86q\x01."sv, "['x', 'x']"},
          Case{
              "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01\x61\x94]\x94K\x07\x61u."sv,
              "{'a': [7]}"},
          Case{"\x80\x04\x95\x07\x00\x00\x00\x00\x00\x00\x00\x8c\x01y\x94h\x00\x86\x94."sv,
               "['y', 'y']"},
      }) {
    EXPECT_EQ(Read(bytes), value) << testing::PrintToString(std::string(bytes));
  }
}

TEST(PickledTest, MemoizedObjectsAreShared) {
  // x = []; [x, x] with x.append(1) in between
  EXPECT_EQ(Read("\x80\x02](]q\x00K\x01\x61h\x00\x65."sv), "[[1], [1]]");
}

TEST(PickledTest, CallsNothing) {
  // os.system("true"), by protocols 2 and 4
  for (const std::string_view bytes :
       {"\x80\x02\x63posix\nsystem\nq\x00X\x04\x00\x00\x00trueq\x01\x85q\x02Rq\x03."sv,
        "\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94."sv,
        "\x80\x02Q."sv, "\x80\x02\x82\x01."sv, "\x80\x02P1\n."sv}) {
    EXPECT_THAT(Read(bytes), HasSubstr("no pickle of plain data: operation "));
  }
}

TEST(PickledTest, RefusesInvalidData) {
  for (const std::string_view bytes : {""sv,
                                       "\x80\x02"sv,
                                       "\x80\x02N"sv,
                                       "."sv,
                                       "NN."sv,
                                       "X\xff\xff\xff\xffhello."sv,
                                       "X\x05\x00\x00\x00hell."sv,
                                       "\x8d\xff\xff\xff\xff\xff\xff\xff\xffhello."sv,
                                       "t."sv,
                                       "u."sv,
                                       "NN\x65."sv,
                                       "](NNu."sv,
                                       "}(Nu."sv,
                                       "(N\x61."sv,
                                       "h\x07."sv,
                                       "q\x01."sv,
                                       "\x86."sv,
                                       "0."sv,
                                       "\x8a\xffxx."sv,
                                       "G123."sv,
                                       "\x00."sv}) {
    EXPECT_THAT(Read(bytes), HasSubstr("no pickle")) << testing::PrintToString(std::string(bytes));
  }
}

TEST(PickledTest, AListMayContainItself) {
  const auto pickled = Pickled::Read("\x80\x02]q\x00h\x00\x61."sv);
  ASSERT_TRUE(pickled.ok());
  EXPECT_EQ(pickled->root().items[0], &pickled->root());
}

TEST(PickledTest, MemoryIsLimitedByTheInput) {
  EXPECT_THAT(Read(std::string(2'000'000, 'N') + "."), HasSubstr("it has no end"));
}

TEST(PickledTest, AMissingValueIsNone) {
  const auto pickled = Pickled::Read("\x80\x02}(X\x01\x00\x00\x00\x61]u."sv);
  ASSERT_TRUE(pickled.ok());
  EXPECT_EQ(pickled->root()["b"].kind, Kind::kNone);
  EXPECT_EQ(pickled->root()["a"].At(3).kind, Kind::kNone);
  EXPECT_EQ(pickled->root()["a"]["b"].kind, Kind::kNone);
}

}  // namespace
}  // namespace autodist::agent
