#include "cli/field_option.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/duration.h"
#include "cli/help_text.h"
#include "cli/values.h"

namespace autodist::cli {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using ProtoMessage = google::protobuf::Message;

const FieldDescriptor& FieldOf(const ProtoMessage& message, const std::string& names) {
  const std::string name = names.substr(names.find("--") + 2);
  return *message.GetDescriptor()->FindFieldByName(absl::StrReplaceAll(name, {{"-", "_"}}));
}

// Returns the values that can be given: all except *_UNSPECIFIED.
std::vector<const EnumValueDescriptor*> ValuesOf(const EnumDescriptor& kind) {
  std::vector<const EnumValueDescriptor*> values;
  for (int i = 0; i < kind.value_count(); ++i) {
    if (!kind.value(i)->name().ends_with("_UNSPECIFIED")) values.push_back(kind.value(i));
  }
  return values;
}

// Returns the length of the common prefix of all names, up to its last '_'.
size_t LengthOfPrefix(const EnumDescriptor& kind) {
  const auto values = ValuesOf(kind);
  const std::string& first = values.front()->name();
  const auto differs = [&](size_t i) {
    return std::ranges::any_of(values, [&](const EnumValueDescriptor* value) {
      return i >= value->name().size() || value->name()[i] != first[i];
    });
  };
  size_t length = 0;
  for (size_t i = 0; i < first.size() && !differs(i); ++i) {
    if (first[i] == '_') length = i + 1;
  }
  return length;
}

std::string WordOf(const EnumValueDescriptor& value) {
  const std::string word =
      absl::AsciiStrToLower(value.name().substr(LengthOfPrefix(*value.type())));
  return absl::StrReplaceAll(word, {{"_", "-"}});
}

std::vector<std::string> ValueNames(const EnumDescriptor& kind) {
  std::vector<std::string> words;
  for (const EnumValueDescriptor* value : ValuesOf(kind)) words.push_back(WordOf(*value));
  return words;
}

template <class Number, class Parse>
Number NumberIn(const std::string& text, const FieldDescriptor& field, Parse parse) {
  Number number{};
  if (!parse(text, &number)) throw CLI::ConversionError(text, OptionName(field));
  return number;
}

// Expects text that the validators have accepted.
void Set(ProtoMessage& message, const FieldDescriptor& field, const std::string& text) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return fields.SetUInt32(&message, &field,
                              NumberIn<uint32_t>(text, field, absl::SimpleAtoi<uint32_t>));
    case FieldDescriptor::CPPTYPE_UINT64:
      return fields.SetUInt64(&message, &field,
                              NumberIn<uint64_t>(text, field, absl::SimpleAtoi<uint64_t>));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fields.SetDouble(&message, &field, NumberIn<double>(text, field, absl::SimpleAtod));
    case FieldDescriptor::CPPTYPE_ENUM:
      for (const EnumValueDescriptor* value : ValuesOf(*field.enum_type())) {
        if (WordOf(*value) == text) fields.SetEnum(&message, &field, value);
      }
      return;
    default:
      return fields.SetString(&message, &field, text);
  }
}

// Returns the value as an option's text; `index`: of a repeated field.
std::string TextOf(const ProtoMessage& message, const FieldDescriptor& field, int index = 0) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(fields.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::to_string(fields.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return base::DurationText(fields.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return WordOf(*fields.GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? fields.GetRepeatedString(message, &field, index)
                                 : fields.GetString(message, &field);
    default:
      return "";
  }
}

// Returns the value as the JSON of a request has it.
std::string JsonTextOf(const ProtoMessage& message, const FieldDescriptor& field, int index) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) return TextOf(message, field, index);
  return absl::StrFormat("%.15g", message.GetReflection()->GetDouble(message, &field));
}

std::string DefaultText(const ProtoMessage& message, const FieldDescriptor& field) {
  const std::unique_ptr<ProtoMessage> fresh(message.New());
  return field.has_default_value() ? TextOf(*fresh, field) : "";
}

// Returns why the option's validators reject the text; "" if they accept it.
std::string Refusal(CLI::Option& option, std::string text) {
  try {
    for (int i = 0;; ++i) {
      std::string refusal = (*option.get_validator(i))(text);
      if (!refusal.empty()) return refusal;
    }
  } catch (const CLI::OptionNotFound&) {
    return "";  // no more validators
  }
}

}  // namespace

std::string OptionName(const FieldDescriptor& field) {
  return "--" + absl::StrReplaceAll(field.name(), {{"_", "-"}});
}

bool MayTravel(const FieldDescriptor& field, v1::Travels way) {
  const v1::Travels travels = field.options().GetExtension(v1::travels);
  return travels == v1::TRAVELS_EVERYWHERE || travels == way;
}

CLI::Option* AddField(CLI::App& app, ProtoMessage& message, const std::string& group,
                      const std::string& names, const std::string& help) {
  const FieldDescriptor& field = FieldOf(message, names);
  const google::protobuf::Reflection& fields = *message.GetReflection();
  CLI::Option* const present = app.get_option_no_throw(OptionName(field));
  if (present && present->get_group() == group::kUnlisted) app.remove_option(present);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    const auto set = [&](int64_t count) { fields.SetBool(&message, &field, count > 0); };
    return app.add_flag_function(names, set, help)->group(group);
  }
  if (field.is_repeated()) {
    const auto set = [&](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) fields.AddString(&message, &field, text);
    };
    return app.add_option_function<std::vector<std::string>>(names, set, help)
        ->allow_extra_args(false)
        ->group(group);
  }
  const auto set = [&](const std::string& text) { Set(message, field, text); };
  CLI::Option* const option = app.add_option_function<std::string>(names, set, help)->group(group);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    option->check(OneOf(ValueNames(*field.enum_type())));
  }
  const std::string preset = DefaultText(message, field);
  return preset.empty() ? option : option->default_str(preset);
}

Status CheckFields(CLI::App& app, const ProtoMessage& message) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  std::vector<const FieldDescriptor*> given;
  fields.ListFields(message, &given);
  for (const FieldDescriptor* field : given) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated()) {
      AD_RETURN_IF_ERROR(CheckFields(app, fields.GetMessage(message, field)));
    }
    CLI::Option* const option = app.get_option_no_throw(OptionName(*field));
    if (!option) continue;
    const int count = field->is_repeated() ? fields.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string refusal = Refusal(*option, JsonTextOf(message, *field, i));
      if (!refusal.empty())
        return Error(StatusCode::kInvalidArgument, field->name() + ": " + refusal);
    }
  }
  return OkStatus();
}

}  // namespace autodist::cli
