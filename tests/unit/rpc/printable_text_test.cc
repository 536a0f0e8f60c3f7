#include "rpc/printable_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "autodist/v1/agent.pb.h"

namespace autodist::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using testing::HasSubstr;
using testing::Not;

constexpr char kHostile[] = "a\x1b]0;b\x07\nautodist: error: c\xc2\x9b";

// Fields whose strings arrive unchanged: nothing shows them before it has escaped them.
const std::set<std::string> kUnchanged = {
    "autodist.v1.BarrierRequest.name", "autodist.v1.GatherRequest.name_space",
    "autodist.v1.GetRequest.key",      "autodist.v1.ModexRequest.name_space",
    "autodist.v1.ProgressLine.line",   "autodist.v1.SetRequest.key",
};

// Sets each string field within `message`, which is part of `whole`, escapes `whole`, and calls
// `check` with the name of the field and its text.
void EscapeEach(Message& whole, Message& message,
                const std::function<void(const std::string&, const std::string&)>& check) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const bool list = field->is_repeated();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      EscapeEach(whole,
                 *(list ? reflection.AddMessage(&message, field)
                        : reflection.MutableMessage(&message, field)),
                 check);
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      list ? reflection.AddString(&message, field, kHostile)
           : reflection.SetString(&message, field, kHostile);
      EscapeText(whole);
      check(field->full_name(), list ? reflection.GetRepeatedString(message, field, 0)
                                     : reflection.GetString(message, field));
    }
    reflection.ClearField(&message, field);
  }
}

// Returns the number of fields.
template <typename Whole>
int CheckAll() {
  Whole whole;
  int fields = 0;
  EscapeEach(whole, whole, [&](const std::string& field, const std::string& text) {
    ++fields;
    if (kUnchanged.contains(field)) {
      EXPECT_EQ(text, kHostile) << field;
      return;
    }
    EXPECT_THAT(text, HasSubstr("a\\x1b]0;b\\x07")) << field;
    EXPECT_THAT(text, HasSubstr("\\u009b")) << field;
    if (field != "autodist.v1.RankStacks.text") {
      EXPECT_THAT(text, Not(HasSubstr("\na"))) << field;
    }
  });
  return fields;
}

TEST(PrintableText, AllStringsOfAllMessagesOfAgentsAreEscaped) {
  EXPECT_GT(CheckAll<v1::AgentEvent>(), 20);
  EXPECT_GT(CheckAll<v1::PrepareResponse>(), 40);
  EXPECT_GT(CheckAll<v1::OpenPortsResponse>(), 0);
  EXPECT_GT(CheckAll<v1::TryPortsResponse>(), 0);
}

TEST(PrintableText, TextsOfSeveralLinesAreIndented) {
  v1::PrepareResponse response;
  response.add_issues()->set_cause("activate failed:\nno such file\r\n\x1b[1mhere");
  response.add_warnings("one\nline");
  EscapeText(response);
  EXPECT_EQ(response.issues(0).cause(), "activate failed:\n  no such file\n  \\x1b[1mhere");
  EXPECT_EQ(response.warnings(0), "one\\nline");
}

TEST(PrintableText, StacksKeepTheirLinesButMakeNoHeading) {
  v1::AgentEvent event;
  event.mutable_rank_stacks()->set_text("====a\n==== rank 0\n  b ====\n\tc\x1b\n");
  EscapeText(event);
  EXPECT_EQ(event.rank_stacks().text(), " ====a\n ==== rank 0\n  b ====\n\tc\\x1b\n");
}

TEST(PrintableText, OutputIsUnchanged) {
  v1::AgentEvent event;
  event.mutable_output()->set_data(kHostile);
  event.mutable_output()->set_lost_because("das Gerät\tfehlt");
  EscapeText(event);
  EXPECT_EQ(event.output().data(), kHostile);
  EXPECT_EQ(event.output().lost_because(), "das Gerät\\tfehlt");
}

}  // namespace
}  // namespace autodist::rpc
