#include "json/plain_json.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/json_quote.h"
#include "json/proto_json.h"

namespace autodist::json {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kNull = "null";

// kProtobuf: protobuf's own form, with the message's field names and without unset fields.
enum class Form { kPlain, kProtobuf };

// "RankState" → "RANK_STATE_".
std::string PrefixOf(std::string_view enum_name) {
  std::string prefix;
  for (const char c : enum_name) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  return prefix + '_';
}

std::string EnumText(const EnumDescriptor& type, int number, Form form) {
  const EnumValueDescriptor* const value = type.FindValueByNumber(number);
  if (!value) return std::to_string(number);  // from a later version
  std::string_view name = value->name();
  if (form == Form::kProtobuf) return '"' + value->name() + '"';
  const std::string prefix = PrefixOf(type.name());
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (name == "UNSPECIFIED") return std::string(kNull);
  return '"' + absl::AsciiStrToLower(std::string(name)) + '"';
}

std::string NumberText(double number, Form form) {
  if (!std::isfinite(number) && form == Form::kPlain) return std::string(kNull);
  if (std::isnan(number)) return R"("NaN")";
  if (std::isinf(number)) return number > 0 ? R"("Infinity")" : R"("-Infinity")";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

// Protobuf writes them as text, because JavaScript has no 64-bit integers.
std::string LargeNumberText(std::string number, Form form) {
  return form == Form::kProtobuf ? '"' + std::move(number) + '"' : number;
}

std::string_view KeyOf(const FieldDescriptor& field, Form form) {
  const bool renamed = form == Form::kPlain && field.name() == "phase";
  return renamed ? std::string_view("state") : std::string_view(field.name());
}

// A time since 1970, of which 0 means that it is unknown.
bool IsTime(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 && !field.has_presence() &&
         std::string_view(field.name()).ends_with("_ms");
}

class Writer {
 public:
  Writer(bool indented, Form form) : indented_(indented), form_(form) {}

  void Write(const Message& message, const Style& style) {
    text_ += '{';
    ++depth_;
    bool first = true;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      const auto instead = style.instead.find(std::string_view(field.name()));
      if (instead != style.instead.end()) {
        Key(KeyOf(field, form_), first);
        text_ += instead->second;
      } else if (IsShown(message, field)) {
        Key(KeyOf(field, form_), first);
        Value(message, field);
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
  bool IsShown(const Message& message, const FieldDescriptor& field) const {
    const Reflection& reflection = *message.GetReflection();
    const bool set = field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                                         : reflection.HasField(message, &field);
    return set || (form_ == Form::kPlain && field.real_containing_oneof() == nullptr);
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

  void Value(const Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    if (field.is_repeated()) {
      List(message, field);
    } else if (!reflection.HasField(message, &field) && (field.has_presence() || IsTime(field))) {
      text_ += kNull;
    } else {
      One(message, field, -1);
    }
  }

  void List(const Message& message, const FieldDescriptor& field) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    text_ += '[';
    ++depth_;
    for (int i = 0; i < size; ++i) {
      if (i > 0) text_ += ',';
      if (of_messages) NewLine();
      if (!of_messages && i > 0 && indented_) text_ += ' ';
      One(message, field, i);
    }
    --depth_;
    if (of_messages && size > 0) NewLine();
    text_ += ']';
  }

  // The value at `index` of a list; -1: the field is not a list.
  void One(const Message& message, const FieldDescriptor& field, int index) {
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
        text_ += LargeNumberText(std::to_string(get(&R::GetInt64, &R::GetRepeatedInt64)), form_);
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        text_ += std::to_string(get(&R::GetUInt32, &R::GetRepeatedUInt32));
        return;
      case FieldDescriptor::CPPTYPE_UINT64:
        text_ += LargeNumberText(std::to_string(get(&R::GetUInt64, &R::GetRepeatedUInt64)), form_);
        return;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        text_ += NumberText(get(&R::GetDouble, &R::GetRepeatedDouble), form_);
        return;
      case FieldDescriptor::CPPTYPE_FLOAT:
        text_ += NumberText(static_cast<double>(get(&R::GetFloat, &R::GetRepeatedFloat)), form_);
        return;
      case FieldDescriptor::CPPTYPE_BOOL:
        text_ += get(&R::GetBool, &R::GetRepeatedBool) ? "true" : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        text_ +=
            EnumText(*field.enum_type(), get(&R::GetEnumValue, &R::GetRepeatedEnumValue), form_);
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
        return Write(inner, {});
    }
  }

  const bool indented_;
  const Form form_;
  size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string PlainJson(const Message& message, const Style& style) {
  Writer writer(style.indented, Form::kPlain);
  writer.Write(message, style);
  return writer.Take();
}

std::string JsonText(const Message& message) {
  Writer writer(/*indented=*/false, Form::kProtobuf);
  writer.Write(message, {});
  return writer.Take();
}

}  // namespace autodist::json
