#include "agent/sample/clamp_sample.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/utf8.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

void LimitList(const Reflection& reflection, google::protobuf::Message& message,
               const FieldDescriptor& field, const MessageLimits& limits) {
  while (!limits.whole_lists.contains(field.name()) &&
         reflection.FieldSize(message, &field) > rpc::kMaxListLength) {
    reflection.RemoveLast(&message, &field);
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      LimitMessage(*reflection.MutableRepeatedMessage(&message, &field, i), limits);
    } else if (field.type() == FieldDescriptor::TYPE_STRING) {
      reflection.SetRepeatedString(
          &message, &field, i,
          base::ToUtf8(reflection.GetRepeatedString(message, &field, i), limits.longest_text));
    }
  }
}

void LimitNumber(const Reflection& reflection, google::protobuf::Message& message,
                 const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    const double number = reflection.GetDouble(message, &field);
    if (std::isfinite(number) && number >= 0 && number <= rpc::kLargestAmount) return;
    reflection.ClearField(&message, &field);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    reflection.SetUInt64(&message, &field,
                         std::min(reflection.GetUInt64(message, &field), rpc::kLargestCount));
  }
}

}  // namespace

void LimitMessage(google::protobuf::Message& message, const MessageLimits& limits) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) {
      LimitList(reflection, message, *field, limits);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      LimitMessage(*reflection.MutableMessage(&message, field), limits);
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      reflection.SetString(&message, field,
                           base::ToUtf8(reflection.GetString(message, field), limits.longest_text));
    } else if (limits.numbers) {
      LimitNumber(reflection, message, *field);
    }
  }
}

void LimitSample(v1::NodeSample& sample) {
  LimitMessage(sample,
               {.longest_text = rpc::kMaxSampleTextLength, .numbers = true, .whole_lists = {}});
  // Such long lists are not useful.
  if (sample.ByteSizeLong() > rpc::kLargestSample) sample.clear_interfaces();
  if (sample.ByteSizeLong() > rpc::kLargestSample) sample.Clear();
}

}  // namespace autodist::agent
