#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "pickle/pickled.h"

namespace autodist::pickle {
namespace {

using Kind = PickledValue::Kind;

constexpr int kMaxDepth = 32;  // of values within values

// Writes protocol 2. A value that is in several places is written once, so the result is not much
// larger than the pickle that was read.
class PickleWriter {
 public:
  Status Write(const PickledValue& value, int depth) {
    if (depth > kMaxDepth) return Error(StatusCode::kDataLoss, "its values are nested too deeply");
    if (const auto found = memo_.find(&value); found != memo_.end()) {
      PutNumber('j', found->second, 4);
      return OkStatus();
    }
    switch (value.kind) {
      case Kind::kNone:
        bytes_ += 'N';
        return OkStatus();
      case Kind::kBool:
        bytes_ += value.integer != 0 ? '\x88' : '\x89';
        return OkStatus();
      case Kind::kInteger:
        bytes_ += '\x8a';
        PutNumber(8, static_cast<uint64_t>(value.integer), 8);
        return OkStatus();
      case Kind::kFloat:
        PutFloat(value.number);
        return OkStatus();
      case Kind::kText:
        PutText(base::ToUtf8(value.text));
        Remember(value);
        return OkStatus();
      case Kind::kTuple:
        return WriteItems(value, 't', depth);
      case Kind::kList:
        bytes_ += ']';
        Remember(value);
        return WriteItems(value, 'e', depth);
      case Kind::kDict:
        bytes_ += '}';
        Remember(value);
        return WriteItems(value, 'u', depth);
    }
    return Error(StatusCode::kInternal, "a value of no kind");
  }

  std::string Take() { return std::move(bytes_); }
  void Put(std::string_view operations) { bytes_ += operations; }

 private:
  Status WriteItems(const PickledValue& value, char end, int depth) {
    bytes_ += '(';
    for (size_t i = 0; i < value.items.size(); ++i) {
      const PickledValue& item = *value.items[i];
      if (value.kind == Kind::kDict && i % 2 == 0 && item.kind >= Kind::kTuple) {
        return Error(StatusCode::kDataLoss, "the key of a dict is no scalar");
      }
      AD_RETURN_IF_ERROR(Write(item, depth + 1));
    }
    bytes_ += end;
    if (value.kind == Kind::kTuple) Remember(value);
    return OkStatus();
  }

  // Writes little-endian bytes.
  void PutNumber(char operation, uint64_t number, int size) {
    bytes_ += operation;
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(number >> (8 * i) & 0xff);
  }

  void PutFloat(double number) {
    const auto bits = std::bit_cast<uint64_t>(number);
    bytes_ += 'G';
    for (int shift = 56; shift >= 0; shift -= 8) bytes_ += static_cast<char>(bits >> shift & 0xff);
  }

  void PutText(const std::string& text) {
    PutNumber('X', text.size(), 4);
    bytes_ += text;
  }

  void Remember(const PickledValue& value) {
    PutNumber('r', memo_.emplace(&value, memo_.size()).first->second, 4);
  }

  std::string bytes_;
  std::unordered_map<const PickledValue*, uint64_t> memo_;
};

}  // namespace

Result<std::string> Rewrite(std::string_view bytes) {
  AD_ASSIGN_OR_RETURN(const Pickled pickled, Pickled::Read(bytes));
  PickleWriter writer;
  writer.Put("\x80\x02");
  AD_RETURN_IF_ERROR(writer.Write(pickled.root(), 0));
  writer.Put(".");
  return writer.Take();
}

}  // namespace autodist::pickle
