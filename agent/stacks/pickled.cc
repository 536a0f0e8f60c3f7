#include "agent/stacks/pickled.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace autodist::agent {

using Kind = PickledValue::Kind;

constexpr size_t kMostValues = 1'000'000;

const PickledValue& PickledValue::operator[](std::string_view key) const {
  static const PickledValue none;
  for (size_t i = 0; kind == Kind::kDict && i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::kText && items[i]->text == key) return *items[i + 1];
  }
  return none;
}

const PickledValue& PickledValue::At(size_t index) const {
  static const PickledValue none;
  return kind == Kind::kList && index < items.size() ? *items[index] : none;
}

// The stack machine that a pickle is a program for.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : left_(bytes) {}

  Result<Pickled> Read() {
    bool stopped = false;
    while (!stopped) {
      const std::string_view code = Take(1);
      if (code.empty() || pickled_.values_.size() > kMostValues) return Broken("it has no end");
      stopped = code[0] == '.';
      if (!stopped && !Do(static_cast<unsigned char>(code[0]))) {
        return Broken("operation " + std::to_string(static_cast<unsigned char>(code[0])));
      }
      if (failed_) return Broken("it is cut off, or takes what is not there");
    }
    if (stack_.size() != 1) return Broken("it leaves more than one value");
    pickled_.root_ = stack_[0];
    return std::move(pickled_);
  }

 private:
  static Status Broken(const std::string& why) {
    return Error(StatusCode::kDataLoss, "no pickle of plain data: " + why);
  }

  std::string_view Take(size_t size) {
    if (left_.size() < size) {
      failed_ = true;
      return "";
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  // Of little-endian bytes.
  uint64_t TakeNumber(size_t size) {
    uint64_t number = 0;
    const std::string_view bytes = Take(size);
    for (size_t i = 0; i < bytes.size(); ++i) {
      number |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return number;
  }

  PickledValue& Push(Kind kind) {
    pickled_.values_.emplace_back().kind = kind;
    stack_.push_back(&pickled_.values_.back());
    return *stack_.back();
  }

  void PushInteger(int64_t value, Kind kind = Kind::kInteger) { Push(kind).integer = value; }

  void PushText(size_t length_size) {
    const uint64_t length = TakeNumber(length_size);
    Push(Kind::kText).text = Take(length);
  }

  // A number of as many bytes as the first of them says, the last of which has the sign.
  void PushLong() {
    const size_t length = TakeNumber(1);
    if (length > 8) failed_ = true;
    const size_t size = std::min<size_t>(length, 8);
    const uint64_t bits = TakeNumber(size);
    const size_t unused = size == 0 ? 0 : 64 - size * 8;
    PushInteger(static_cast<int64_t>(bits << unused) >> unused);
  }

  void PushFloat() {
    uint64_t bits = 0;
    for (const char byte : Take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    Push(Kind::kFloat).number = std::bit_cast<double>(bits);
  }

  PickledValue* Pop() {
    const size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= bottom) {
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
    Push(Kind::kList).items = std::move(items);
  }

  void PushAll(Kind kind) {
    std::vector<const PickledValue*> items = PopToMark();
    if (kind == Kind::kDict && items.size() % 2 != 0) failed_ = true;
    Push(kind).items = std::move(items);
  }

  // To the list or dict below them.
  void Append(const std::vector<const PickledValue*>& items, Kind kind) {
    const size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= bottom || stack_.back()->kind != kind ||
        (kind == Kind::kDict && items.size() % 2 != 0)) {
      failed_ = true;
      return;
    }
    std::vector<const PickledValue*>& into = stack_.back()->items;
    into.insert(into.end(), items.begin(), items.end());
  }

  void Remember(uint64_t number) {
    if (stack_.empty()) {
      failed_ = true;
    } else {
      memo_[number] = stack_.back();
    }
  }

  void Recall(uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end() || stack_.size() > kMostValues) {
      failed_ = true;
    } else {
      stack_.push_back(found->second);
    }
  }

  // False: an operation that is none of plain data's.
  bool Do(unsigned char code) { return DoScalar(code) || DoContainer(code) || DoMemo(code); }

  bool DoScalar(unsigned char code) {
    switch (code) {
      case 'N':
        return Push(Kind::kNone), true;
      case 0x88:
      case 0x89:
        return PushInteger(code == 0x88, Kind::kBool), true;
      case 'J':
        return PushInteger(static_cast<int32_t>(TakeNumber(4))), true;
      case 'K':
        return PushInteger(static_cast<int64_t>(TakeNumber(1))), true;
      case 'M':
        return PushInteger(static_cast<int64_t>(TakeNumber(2))), true;
      case 0x8a:
        return PushLong(), true;
      case 'G':
        return PushFloat(), true;
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
        return marks_.push_back(stack_.size()), true;
      case '}':
        return Push(Kind::kDict), true;
      case ']':
      case ')':
        return Push(Kind::kList), true;
      case 't':
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
      case 0x80:  // the protocol's number
        return TakeNumber(1), true;
      case 0x95:  // how much follows
        return TakeNumber(8), true;
      case '0':
        return Pop(), true;
      case 'q':
        return Remember(TakeNumber(1)), true;
      case 'r':
        return Remember(TakeNumber(4)), true;
      case 0x94:
        return Remember(memo_.size()), true;
      case 'h':
        return Recall(TakeNumber(1)), true;
      case 'j':
        return Recall(TakeNumber(4)), true;
      default:
        return false;
    }
  }

  std::string_view left_;
  bool failed_ = false;
  PickledValue nothing_;
  Pickled pickled_;
  std::vector<PickledValue*> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, PickledValue*> memo_;
};

Result<Pickled> Pickled::Read(std::string_view bytes) { return PickleReader(bytes).Read(); }

}  // namespace autodist::agent
