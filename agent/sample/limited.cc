#include "agent/sample/limited.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

void LimitMessage(google::protobuf::Message& message);

void LimitList(const Reflection& reflection, google::protobuf::Message& message,
               const FieldDescriptor& field) {
  while (reflection.FieldSize(message, &field) > rpc::kLongestList) {
    reflection.RemoveLast(&message, &field);
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      LimitMessage(*reflection.MutableRepeatedMessage(&message, &field, i));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.SetRepeatedString(
          &message, &field, i,
          base::ToUtf8(reflection.GetRepeatedString(message, &field, i), rpc::kLongestSampleText));
    }
  }
}

void LimitValue(const Reflection& reflection, google::protobuf::Message& message,
                const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return LimitMessage(*reflection.MutableMessage(&message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(
          &message, &field,
          base::ToUtf8(reflection.GetString(message, &field), rpc::kLongestSampleText));
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double number = reflection.GetDouble(message, &field);
      if (std::isfinite(number) && number >= 0 && number <= rpc::kLargestAmount) return;
      return reflection.ClearField(&message, &field);
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(
          &message, &field, std::min(reflection.GetUInt64(message, &field), rpc::kLargestCount));
    default:
      return;
  }
}

void LimitMessage(google::protobuf::Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) {
      LimitList(reflection, message, *field);
    } else {
      LimitValue(reflection, message, *field);
    }
  }
}

}  // namespace

void LimitSample(v1::NodeSample& sample) {
  LimitMessage(sample);
  // Nobody looks at that many.
  if (sample.ByteSizeLong() > rpc::kLargestSample) sample.clear_interfaces();
  if (sample.ByteSizeLong() > rpc::kLargestSample) sample.Clear();
}

}  // namespace autodist::agent
