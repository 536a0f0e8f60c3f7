#include "pickle/pickled.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"

namespace autodist::pickle {

using Kind = PickledValue::Kind;

constexpr size_t kMaxValues = 1'000'000;  // also limits the memo and the marks
constexpr size_t kMaxRecalls = 4'000'000;

const PickledValue& PickledValue::operator[](std::string_view key) const {
  static const PickledValue none;
  for (size_t i = 0; kind == Kind::kDict && i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::kText && items[i]->text == key) return *items[i + 1];
  }
  return none;
}

const PickledValue& PickledValue::At(size_t index) const {
  static const PickledValue none;
  return kind != Kind::kDict && index < items.size() ? *items[index] : none;
}

namespace {

// Reads the operands of a pickle's operations sequentially. Not thread-safe.
class PickleBytes {
 public:
  explicit PickleBytes(std::string_view bytes) : left_(bytes) {}

  // Whether a read exceeded the input, or a number was too large.
  bool failed() const { return failed_; }

  std::string_view Take(size_t size) {
    if (left_.size() < size) {
      failed_ = true;
      return "";
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  // Reads little-endian bytes.
  uint64_t TakeNumber(size_t size) {
    uint64_t number = 0;
    const std::string_view bytes = Take(size);
    for (size_t i = 0; i < bytes.size(); ++i) {
      number |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return number;
  }

  // Reads a byte with the length, then that many bytes of a two's complement number.
  int64_t TakeLong() {
    const size_t length = TakeNumber(1);
    if (length > 8) failed_ = true;
    const size_t size = std::min<size_t>(length, 8);
    const uint64_t bits = TakeNumber(size);
    const size_t unused = size == 0 ? 0 : 64 - size * 8;
    return static_cast<int64_t>(bits << unused) >> unused;
  }

  double TakeFloat() {
    uint64_t bits = 0;
    for (const char byte : Take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    return std::bit_cast<double>(bits);
  }

  std::string_view TakeText(size_t length_size) { return Take(TakeNumber(length_size)); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

Status NoPickle(const std::string& why) {
  return Error(StatusCode::kDataLoss, "no pickle of plain data: " + why);
}

}  // namespace

// The stack machine that executes a pickle.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  Result<Pickled> Read() {
    bool stopped = false;
    while (!stopped) {
      const std::string_view code = bytes_.Take(1);
      if (code.empty() || pickled_.values_.size() > kMaxValues) return NoPickle("it has no end");
      stopped = code[0] == '.';
      if (!stopped && !Do(static_cast<unsigned char>(code[0]))) {
        return NoPickle("operation " + std::to_string(static_cast<unsigned char>(code[0])));
      }
      if (failed_ || bytes_.failed()) {
        return NoPickle("it is cut off, too large, or uses missing values");
      }
    }
    if (stack_.size() != 1) return NoPickle("it leaves more than one value");
    pickled_.root_ = stack_[0];
    return std::move(pickled_);
  }

 private:
  PickledValue& Push(Kind kind) {
    pickled_.values_.emplace_back().kind = kind;
    stack_.push_back(&pickled_.values_.back());
    return *stack_.back();
  }

  void PushInteger(int64_t value, Kind kind = Kind::kInteger) { Push(kind).integer = value; }

  void PushText(size_t length_size) { Push(Kind::kText).text = bytes_.TakeText(length_size); }

  // Whether the stack has nothing above the last mark.
  bool IsEmpty() const { return stack_.size() <= (marks_.empty() ? 0 : marks_.back()); }

  PickledValue* Pop() {
    if (IsEmpty()) {
      failed_ = true;
      return &nothing_;
    }
    PickledValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }

  std::vector<const PickledValue*> PopToMark() {
    if (marks_.empty()) {
      failed_ = true;
      return {};
    }
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<const PickledValue*> values(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return values;
  }

  void PushTuple(size_t size) {
    std::vector<const PickledValue*> items(size);
    for (size_t i = size; i > 0; --i) items[i - 1] = Pop();
    Push(Kind::kTuple).items = std::move(items);
  }

  void PushAll(Kind kind) {
    std::vector<const PickledValue*> items = PopToMark();
    if (kind == Kind::kDict && items.size() % 2 != 0) failed_ = true;
    Push(kind).items = std::move(items);
  }

  // Appends to the list or dict below them.
  void Append(const std::vector<const PickledValue*>& items, Kind kind) {
    if (IsEmpty() || stack_.back()->kind != kind ||
        (kind == Kind::kDict && items.size() % 2 != 0)) {
      failed_ = true;
      return;
    }
    std::vector<const PickledValue*>& into = stack_.back()->items;
    into.insert(into.end(), items.begin(), items.end());
  }

  void Remember(uint64_t number) {
    if (stack_.empty() || memo_.size() > kMaxValues) {
      failed_ = true;
    } else {
      memo_[number] = stack_.back();
    }
  }

  void Recall(uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end() || ++recalls_ > kMaxRecalls) {
      failed_ = true;
    } else {
      stack_.push_back(found->second);
    }
  }

  // Returns false for an operation that plain data do not need.
  bool Do(unsigned char code) { return DoScalar(code) || DoContainer(code) || DoMemo(code); }

  bool DoScalar(unsigned char code) {
    switch (code) {
      case 'N':
        return Push(Kind::kNone), true;
      case 0x88:
      case 0x89:
        return PushInteger(code == 0x88, Kind::kBool), true;
      case 'J':
        return PushInteger(static_cast<int32_t>(bytes_.TakeNumber(4))), true;
      case 'K':
        return PushInteger(static_cast<int64_t>(bytes_.TakeNumber(1))), true;
      case 'M':
        return PushInteger(static_cast<int64_t>(bytes_.TakeNumber(2))), true;
      case 0x8a:
        return PushInteger(bytes_.TakeLong()), true;
      case 'G':
        return Push(Kind::kFloat).number = bytes_.TakeFloat(), true;
      case 'X':
      case 'B':
      case 'T':
        return PushText(4), true;
      case 0x8c:
      case 'C':
      case 'U':
        return PushText(1), true;
      case 0x8d:
      case 0x8e:
        return PushText(8), true;
      default:
        return false;
    }
  }

  bool DoContainer(unsigned char code) {
    switch (code) {
      case '(':
        failed_ = marks_.size() > kMaxValues;
        return marks_.push_back(stack_.size()), true;
      case '}':
        return Push(Kind::kDict), true;
      case ']':
        return Push(Kind::kList), true;
      case ')':
        return Push(Kind::kTuple), true;
      case 't':
        return PushAll(Kind::kTuple), true;
      case 'l':
        return PushAll(Kind::kList), true;
      case 'd':
        return PushAll(Kind::kDict), true;
      case 0x85:
      case 0x86:
      case 0x87:
        return PushTuple(code - 0x84U), true;
      case 'a': {
        const PickledValue* item = Pop();
        return Append({item}, Kind::kList), true;
      }
      case 's': {
        const PickledValue* value = Pop();
        const PickledValue* key = Pop();
        return Append({key, value}, Kind::kDict), true;
      }
      case 'e':
      case 'u': {
        const auto items = PopToMark();
        return Append(items, code == 'e' ? Kind::kList : Kind::kDict), true;
      }
      default:
        return false;
    }
  }

  bool DoMemo(unsigned char code) {
    switch (code) {
      case 0x80:  // protocol number
        return bytes_.TakeNumber(1), true;
      case 0x95:  // length of the frame
        return bytes_.TakeNumber(8), true;
      case '0':
        return Pop(), true;
      case 'q':
        return Remember(bytes_.TakeNumber(1)), true;
      case 'r':
        return Remember(bytes_.TakeNumber(4)), true;
      case 0x94:
        return Remember(memo_.size()), true;
      case 'h':
        return Recall(bytes_.TakeNumber(1)), true;
      case 'j':
        return Recall(bytes_.TakeNumber(4)), true;
      default:
        return false;
    }
  }

  PickleBytes bytes_;
  bool failed_ = false;  // uses missing values of the stack or the memo, or too many
  size_t recalls_ = 0;
  PickledValue nothing_;
  Pickled pickled_;
  std::vector<PickledValue*> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, PickledValue*> memo_;
};

Result<Pickled> Pickled::Read(std::string_view bytes) { return PickleReader(bytes).Read(); }

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
