#include "rpc/printable_text.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace autodist::rpc {
namespace {

using google::protobuf::FieldDescriptor;

// Strings that are compared, parsed or used as names.
constexpr std::string_view kNoTexts[] = {
    "autodist.v1.BarrierRequest.name", "autodist.v1.GatherRequest.name_space",
    "autodist.v1.GetRequest.key",      "autodist.v1.ModexRequest.name_space",
    "autodist.v1.ProgressLine.line",   "autodist.v1.SetRequest.key",
};
// Texts that may have several lines.
constexpr std::string_view kSeveralLines[] = {
    "autodist.v1.PrepareIssue.cause",
    "autodist.v1.PythonFact.error",
};
// Has a separate format, by lines, and is shown below a heading that begins with "====".
constexpr std::string_view kStacks = "autodist.v1.RankStacks.text";

std::string Escaped(const FieldDescriptor& field, const std::string& text) {
  const auto is_field = [&](std::string_view name) { return field.full_name() == name; };
  if (std::ranges::any_of(kNoTexts, is_field)) return text;
  if (is_field(kStacks)) {
    return absl::StrReplaceAll("\n" + base::PrintableLines(text), {{"\n====", "\n ===="}})
        .substr(1);
  }
  if (std::ranges::none_of(kSeveralLines, is_field)) return base::Printable(text);
  return absl::StrReplaceAll(base::PrintableLines(text), {{"\n", "\n  "}});
}

bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

void EscapeText(google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool list = field->is_repeated();
    for (int i = 0; i < (list ? reflection.FieldSize(message, field) : 1); ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        EscapeText(list ? *reflection.MutableRepeatedMessage(&message, field, i)
                        : *reflection.MutableMessage(&message, field));
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string text = list ? reflection.GetRepeatedString(message, field, i)
                                      : reflection.GetString(message, field);
        if (IsPlain(text)) continue;
        list ? reflection.SetRepeatedString(&message, field, i, Escaped(*field, text))
             : reflection.SetString(&message, field, Escaped(*field, text));
      }
    }
  }
}

}  // namespace autodist::rpc
