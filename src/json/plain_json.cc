#include "json/plain_json.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/json_quote.h"

namespace autodist::json {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kNull = "null";

// "RankState" → "RANK_STATE_".
std::string PrefixOf(std::string_view enum_name) {
  std::string prefix;
  for (const char c : enum_name) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  return prefix + '_';
}

std::string EnumText(const EnumDescriptor& type, int number, Values values) {
  const EnumValueDescriptor* const value = type.FindValueByNumber(number);
  if (!value) return std::to_string(number);  // from a later version
  std::string_view name = value->name();
  if (values == Values::kProtobuf) return '"' + value->name() + '"';
  const std::string prefix = PrefixOf(type.name());
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name == "UNSPECIFIED") return std::string(kNull);
  return '"' + absl::AsciiStrToLower(std::string(name)) + '"';
}

std::string NumberText(double number, Values values) {
  if (!std::isfinite(number) && values == Values::kPlain) return std::string(kNull);
  if (std::isnan(number)) return R"("NaN")";
  if (std::isinf(number)) return number > 0 ? R"("Infinity")" : R"("-Infinity")";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

// Protobuf writes them as text, because JavaScript has no 64-bit integers.
std::string LargeNumberText(std::string number, Values values) {
  return values == Values::kProtobuf ? '"' + std::move(number) + '"' : number;
}

std::string_view KeyOf(const FieldDescriptor& field, Values values) {
  const bool renamed = values == Values::kPlain && field.name() == "phase";
  return renamed ? std::string_view("state") : std::string_view(field.name());
}

class Writer {
 public:
  Writer(bool indented, Values values) : indented_(indented), values_(values) {}

  void Write(const Message& message, const Style& style) {
    text_ += '{';
    ++depth_;
    bool first = true;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      const auto instead = style.instead.find(std::string_view(field.name()));
      if (instead != style.instead.end()) {
        Key(KeyOf(field, values_), first);
        text_ += instead->second;
      } else if (IsShown(message, field, style.absent)) {
        Key(KeyOf(field, values_), first);
        Value(message, field, style.absent);
      }
    }
    for (const auto& [key, value] : style.more) {
      Key(key, first);
      text_ += value;
    }
    --depth_;
    if (!first) NewLine();
    text_ += '}';
  }

  std::string Take() { return std::move(text_); }

 private:
  static bool IsShown(const Message& message, const FieldDescriptor& field, Absent absent) {
    const Reflection& reflection = *message.GetReflection();
    const bool set = field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                                         : reflection.HasField(message, &field);
    return set || (absent == Absent::kNull && field.real_containing_oneof() == nullptr);
  }

  void NewLine() {
    if (!indented_) return;
    text_ += '\n';
    text_.append(depth_, ' ');
  }

  void Key(std::string_view key, bool& first) {
    if (!std::exchange(first, false)) text_ += ',';
    NewLine();
    ((text_ += '"') += key) += indented_ ? "\": " : "\":";
  }

  void Value(const Message& message, const FieldDescriptor& field, Absent absent) {
    const Reflection& reflection = *message.GetReflection();
    if (field.is_repeated()) {
      List(message, field, absent);
    } else if (field.has_presence() && !reflection.HasField(message, &field)) {
      text_ += kNull;
    } else {
      One(message, field, -1, absent);
    }
  }

  void List(const Message& message, const FieldDescriptor& field, Absent absent) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    text_ += '[';
    ++depth_;
    for (int i = 0; i < size; ++i) {
      if (i > 0) text_ += ',';
      if (of_messages) NewLine();
      if (!of_messages && i > 0 && indented_) text_ += ' ';
      One(message, field, i, absent);
    }
    --depth_;
    if (of_messages && size > 0) NewLine();
    text_ += ']';
  }

  // The value at `index` of a list; -1: the field is not a list.
  void One(const Message& message, const FieldDescriptor& field, int index, Absent absent) {
    const Reflection& reflection = *message.GetReflection();
    const auto get = [&](auto single, auto repeated) {
      return index < 0 ? (reflection.*single)(message, &field)
                       : (reflection.*repeated)(message, &field, index);
    };
    using R = Reflection;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        text_ += std::to_string(get(&R::GetInt32, &R::GetRepeatedInt32));
        return;
      case FieldDescriptor::CPPTYPE_INT64:
        text_ += LargeNumberText(std::to_string(get(&R::GetInt64, &R::GetRepeatedInt64)), values_);
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        text_ += std::to_string(get(&R::GetUInt32, &R::GetRepeatedUInt32));
        return;
      case FieldDescriptor::CPPTYPE_UINT64:
        text_ +=
            LargeNumberText(std::to_string(get(&R::GetUInt64, &R::GetRepeatedUInt64)), values_);
        return;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        text_ += NumberText(get(&R::GetDouble, &R::GetRepeatedDouble), values_);
        return;
      case FieldDescriptor::CPPTYPE_FLOAT:
        text_ += NumberText(static_cast<double>(get(&R::GetFloat, &R::GetRepeatedFloat)), values_);
        return;
      case FieldDescriptor::CPPTYPE_BOOL:
        text_ += get(&R::GetBool, &R::GetRepeatedBool) ? "true" : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        text_ +=
            EnumText(*field.enum_type(), get(&R::GetEnumValue, &R::GetRepeatedEnumValue), values_);
        return;
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string value = get(&R::GetString, &R::GetRepeatedString);
        const bool bytes = field.type() == FieldDescriptor::TYPE_BYTES;
        text_ += base::JsonQuoted(bytes ? absl::Base64Escape(value) : value);
        return;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        const Message& inner = index < 0 ? reflection.GetMessage(message, &field, nullptr)
                                         : reflection.GetRepeatedMessage(message, &field, index);
        Style style;
        style.absent = absent;
        return Write(inner, style);
    }
  }

  const bool indented_;
  const Values values_;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string PlainJson(const Message& message, const Style& style) {
  Writer writer(style.indented, style.values);
  writer.Write(message, style);
  return writer.Take();
}

}  // namespace autodist::json
