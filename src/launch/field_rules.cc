#include "launch/field_rules.h"

#include <string>
#include <vector>

#include "rpc/message_rules.h"

namespace autodist::launch {
namespace {

using google::protobuf::FieldDescriptor;

// `index`: of a repeated field.
Status CheckField(const google::protobuf::Message& message, const FieldDescriptor& field, int index,
                  const FieldLimits& limits) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return CheckFields(repeated ? reflection.GetRepeatedMessage(message, &field, index)
                                : reflection.GetMessage(message, &field),
                       limits);
  }
  if (field.type() == FieldDescriptor::TYPE_STRING) {
    std::string scratch;
    const size_t size =
        repeated ? reflection.GetRepeatedStringReference(message, &field, index, &scratch).size()
                 : reflection.GetStringReference(message, &field, &scratch).size();
    if (size > limits.text) {
      return rpc::BrokenRule(std::to_string(size) + " bytes of " + field.full_name());
    }
  }
  if (limits.numbers && field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    const double number = repeated ? reflection.GetRepeatedDouble(message, &field, index)
                                   : reflection.GetDouble(message, &field);
    if (!(number >= 0 && number <= rpc::kLargestAmount)) {  // also rejects NaN
      return rpc::BrokenRule(std::to_string(number) + " as " + field.full_name());
    }
  }
  if (limits.numbers && field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    const uint64_t number = repeated ? reflection.GetRepeatedUInt64(message, &field, index)
                                     : reflection.GetUInt64(message, &field);
    if (number > rpc::kLargestCount) {
      return rpc::BrokenRule("more of " + field.full_name() + " than there can be");
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckFields(const google::protobuf::Message& message, const FieldLimits& limits) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    if (count > limits.list) {
      return rpc::BrokenRule(std::to_string(count) + " of " + field->full_name());
    }
    for (int i = 0; i < count; ++i) AD_RETURN_IF_ERROR(CheckField(message, *field, i, limits));
  }
  return OkStatus();
}

}  // namespace autodist::launch
