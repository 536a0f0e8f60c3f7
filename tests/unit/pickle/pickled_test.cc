#include "pickle/pickled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::pickle {
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
    case Kind::kTuple:
    case Kind::kList:
      for (const PickledValue* item : value.items)
        text += (text.empty() ? "" : ", ") + Shown(*item);
      return value.kind == Kind::kList ? "[" + text + "]" : "(" + text + ")";
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
               "{'a': 1, 'b': ()}"},
          Case{"\x80\x02(K\x01K\x02K\x03K\x04tq\x00."sv, "(1, 2, 3, 4)"},
          Case{"\x80\x02X\x01\x00\x00\x00xq\x00h\x00\x86q\x01."sv, "('x', 'x')"},
          Case{
              "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01\x61\x94]\x94K\x07\x61u."sv,
              "{'a': [7]}"},
          Case{"\x80\x04\x95\x07\x00\x00\x00\x00\x00\x00\x00\x8c\x01y\x94h\x00\x86\x94."sv,
               "('y', 'y')"},
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
  EXPECT_THAT(Read(std::string(2'000'000, '(') + "."), HasSubstr("too large"));
  std::string remembers = "N";
  for (uint32_t i = 0; i < 2'000'000; ++i) {
    remembers += 'r';
    for (int shift = 0; shift < 32; shift += 8) remembers += static_cast<char>(i >> shift & 0xff);
  }
  EXPECT_THAT(Read(remembers + "."), HasSubstr("too large"));
  std::string recalls = "](Nq0";
  for (int i = 0; i < 5'000'000; ++i) recalls += "h0";
  EXPECT_THAT(Read(recalls + "e."), HasSubstr("too large"));
}

TEST(PickledTest, AMissingValueIsNone) {
  const auto pickled = Pickled::Read("\x80\x02}(X\x01\x00\x00\x00\x61]u."sv);
  ASSERT_TRUE(pickled.ok());
  EXPECT_EQ(pickled->root()["b"].kind, Kind::kNone);
  EXPECT_EQ(pickled->root()["a"].At(3).kind, Kind::kNone);
  EXPECT_EQ(pickled->root()["a"]["b"].kind, Kind::kNone);
}

// Whether Python loads equal values from both.
bool AreEqualForPython(const std::string& one, const std::string& other) {
  const test::TempFolder folder;
  const std::string command =
      "/usr/bin/python3 -c 'import pickle, sys\n"
      "one, other = (pickle.load(open(name, \"rb\")) for name in sys.argv[1:])\n"
      "sys.exit(repr(one) != repr(other))' " +
      folder.Write("one", one) + " " + folder.Write("other", other);
  return std::system(command.c_str()) == 0;
}

TEST(RewriteTest, PythonReadsTheSameValues) {
  for (const std::string_view bytes :
       {"\x80\x02N."sv,
        "\x80\x02](\x88\x89K\x01M,\x01J\xfe\xff\xff\xffG?\xf8\x00\x00\x00\x00\x00\x00\x65."sv,
        "\x80\x02\x8a\x05\x00\x00\x00\x00\xff."sv,
        "\x80\x02}q\x00(X\x01\x00\x00\x00\x61q\x01K\x01K\x02)u."sv,
        "\x80\x02(K\x01X\x02\x00\x00\x00\xc3\xa4K\x03K\x04tq\x00."sv,
        "\x80\x02](]q\x00K\x01\x61h\x00\x65."sv, "\x80\x02]q\x00h\x00\x61."sv}) {
    const auto rewritten = Rewrite(bytes);
    ASSERT_TRUE(rewritten.ok()) << rewritten.status();
    EXPECT_TRUE(AreEqualForPython(std::string(bytes), *rewritten))
        << testing::PrintToString(std::string(bytes));
  }
}

TEST(RewriteTest, PythonReadsARealFlightRecord) {
  const std::string record =
      base::ReadFile(TEST_SOURCE_DIR "/golden/flight_record.pickle", 1 << 20).value_or("");
  const auto rewritten = Rewrite(record);
  ASSERT_TRUE(rewritten.ok()) << rewritten.status();
  EXPECT_NE(*rewritten, record);
  EXPECT_TRUE(AreEqualForPython(record, *rewritten));
}

TEST(RewriteTest, SharedValuesAreWrittenOnce) {
  // Lists that contain the one before twice.
  std::string bytes = "]q0";
  for (char i = '0'; i < '@'; ++i) bytes += std::string("](h") + i + "h" + i + "eq" + char(i + 1);
  const auto nested = Rewrite("(" + bytes + "t.");
  ASSERT_TRUE(nested.ok()) << nested.status();
  EXPECT_LT(nested->size(), 20 * bytes.size());
}

TEST(RewriteTest, RefusesWhatPythonCannotLoadOrWouldExecute) {
  EXPECT_THAT(Message(Rewrite("\x80\x02\x63posix\nsystem\nX\x04\x00\x00\x00true\x85R."sv).status()),
              HasSubstr("operation 99"));
  EXPECT_THAT(Message(Rewrite("\x80\x02}]Ns."sv).status()), HasSubstr("no scalar"));
  EXPECT_THAT(Message(Rewrite(std::string(50, ']') + std::string(49, 'a') + ".").status()),
              HasSubstr("too deeply"));
  // Text that is not UTF-8 is repaired.
  EXPECT_EQ(*Rewrite("\x80\x02X\x01\x00\x00\x00\xff."sv),
            "\x80\x02X\x01\x00\x00\x00?r\x00\x00\x00\x00."sv);
}

}  // namespace
}  // namespace autodist::pickle
