#include "pickle/pickled.h"

#include <map>
#include <utility>

#include "pickle/pickle_bytes.h"

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

}  // namespace autodist::pickle
