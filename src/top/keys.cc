#include "top/keys.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr char kEsc = '\x1b';
constexpr size_t kMaxSequenceLength = 32;
constexpr size_t kMaxFilterLength = 64;

std::optional<Key::Name> Final(char byte) {
  switch (byte) {
    case 'A':
      return Key::kUp;
    case 'B':
      return Key::kDown;
    case 'C':
      return Key::kRight;
    case 'D':
      return Key::kLeft;
    case 'H':
      return Key::kHome;
    case 'F':
      return Key::kEnd;
    case 'M':
      return Key::kEnter;  // of the numeric keypad
    default:
      return std::nullopt;
  }
}

// "ESC [ number ~"
std::optional<Key::Name> Numbered(std::string_view parameters) {
  struct Numbered {
    std::string_view number;
    Key::Name name;
  };
  static constexpr std::array<Numbered, 6> kKeys = {{{"1", Key::kHome},
                                                     {"7", Key::kHome},
                                                     {"4", Key::kEnd},
                                                     {"8", Key::kEnd},
                                                     {"5", Key::kPageUp},
                                                     {"6", Key::kPageDown}}};
  const std::string_view number = parameters.substr(0, parameters.find(';'));
  for (const Numbered& key : kKeys) {
    if (key.number == number) return key.name;
  }
  return std::nullopt;
}

// The length of the sequence that begins with ESC; 0: incomplete.
size_t SequenceLengthOf(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] == 'O') return text.size() < 3 ? 0 : 3;
  if (text[1] != '[') return 1;  // the Escape key, followed by another key
  for (size_t i = 2; i < text.size(); ++i) {
    if (text[i] >= 0x40 && text[i] <= 0x7E) return i + 1;
    if (text[i] < 0x20 || i >= kMaxSequenceLength) return i;
  }
  return 0;
}

Key ControlKey(char byte) {
  if (byte == '\r' || byte == '\n') return {Key::kEnter};
  if (byte == '\t') return {Key::kTab};
  if (byte == 0x7F || byte == 0x08) return {Key::kBackspace};
  return {Key::kControl, static_cast<uint32_t>(byte) + '@'};
}

// Selects another rank in order of display.
void Choose(const v1::JobSnapshot& snapshot, ViewState& view, int step) {
  const Facts facts = FactsOf(snapshot);
  const std::vector<size_t> order = RankOrder(snapshot, facts, view);
  if (order.empty()) return;
  int at = step > 0 ? -1 : static_cast<int>(order.size());
  for (size_t i = 0; view.selected && i < order.size(); ++i) {
    if (facts.ranks[order[i]].rank->rank() == *view.selected) at = static_cast<int>(i);
  }
  if (!view.selected && step < 0) at = 1;
  at = std::clamp(at + step, 0, static_cast<int>(order.size()) - 1);
  view.selected = facts.ranks[order[static_cast<size_t>(at)]].rank->rank();
}

size_t PageRows(const ViewState& view) {
  constexpr int kAround = 8;
  return static_cast<size_t>(std::max(view.rows - kAround, 1));
}

void Scroll(PanelView& panel, bool up, size_t lines) {
  if (up) {
    panel.above = std::min(panel.above + lines, panel.lines());
  } else {
    panel.above -= std::min(panel.above, lines);
  }
}

// Moves to the next match above, and continues at the end.
void SearchOn(ViewState& view) {
  PanelView& panel = view.panel;
  if (!panel.text || panel.search.empty()) return;
  const size_t count = panel.lines();
  for (size_t i = 1; i <= count; ++i) {
    const size_t above = (panel.above + i) % count;
    if ((*panel.text)[count - 1 - above].text.find(panel.search) == std::string::npos) continue;
    panel.above = above;
    return;
  }
  view.notice = "not found: " + panel.search;
}

Command TypeInto(const Key& key, ViewState& view) {
  const bool in_panel = view.panel.open();
  std::string& text = in_panel ? view.panel.search : view.filter;
  if (key.name == Key::kEscape) {
    text.clear();
    view.prompt = Prompt::kNone;
  } else if (key.name == Key::kEnter) {
    view.prompt = Prompt::kNone;
    if (in_panel) SearchOn(view);
  } else if (key.name == Key::kBackspace) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.pop_back();
    }
    if (!text.empty()) text.pop_back();
  } else if (key.name == Key::kCharacter && text.size() < kMaxFilterLength) {
    AppendCharacter(text, key.code);
  }
  return Command::kNone;
}

Command PressInPanel(const Key& key, ViewState& view) {
  const bool character = key.name == Key::kCharacter;
  const uint32_t code = character ? key.code : 0;
  if (code == 'q') return Command::kQuit;
  PanelView& panel = view.panel;
  if (panel.kind == Panel::kKeys || key.name == Key::kEscape) {
    panel.kind = Panel::kNone;
    panel.search.clear();
    return Command::kNone;
  }
  if (key.name == Key::kUp || code == 'k') Scroll(panel, true, 1);
  if (key.name == Key::kDown || code == 'j') Scroll(panel, false, 1);
  if (key.name == Key::kPageUp || code == 'b') Scroll(panel, true, PageRows(view));
  if (key.name == Key::kPageDown || code == ' ') Scroll(panel, false, PageRows(view));
  if (key.name == Key::kHome || code == 'g') panel.above = panel.lines();
  if (key.name == Key::kEnd || code == 'G' || code == 'f') panel.above = 0;
  if (code == '/') {
    view.prompt = Prompt::kText;
    panel.search.clear();
  }
  if (code == 'n') SearchOn(view);
  if (code == 'x' && panel.kind == Panel::kStacks) return Command::kTakeStacks;
  if (code == 'w' && panel.kind == Panel::kWhy) return Command::kAskWhy;
  if (code == '?') panel.kind = Panel::kKeys;
  return Command::kNone;
}

Command AskStop(const Key& key, ViewState& view) {
  view.prompt = Prompt::kNone;
  const bool yes = key.name == Key::kCharacter && (key.code == 'y' || key.code == 'Y');
  if (!yes) view.notice = "the job is not stopped";
  return yes ? Command::kStop : Command::kNone;
}

Command PressCharacter(uint32_t code, const v1::JobSnapshot& snapshot, ViewState& view) {
  const auto next = [](auto value, size_t count) {
    return static_cast<decltype(value)>((static_cast<size_t>(value) + 1) % count);
  };
  switch (code) {
    case 'q':
      return Command::kQuit;
    case 'j':
    case 'k':
      Choose(snapshot, view, code == 'j' ? 1 : -1);
      break;
    case 's':
      view.sort = next(view.sort, kSortNames.size());
      break;
    case 'm':
      view.fact = next(view.fact, kFactNames.size());
      break;
    case 't':
      view.range = next(view.range, kRanges.size());
      break;
    case 'o':
      view.by_name = !view.by_name;
      break;
    case 'w':
      return Command::kAskWhy;
    case 'e':
      view.evidence = !view.evidence;
      break;
    case '/':
      view.prompt = Prompt::kText;
      break;
    case '?':
    case 'h':
      view.panel.kind = Panel::kKeys;
      break;
    case 'x':
      if (Runs(snapshot.job())) return Command::kTakeStacks;
      view.notice = "the job has ended";
      break;
    case 'S':
      if (Runs(snapshot.job())) {
        view.prompt = Prompt::kStop;
      } else {
        view.notice = "the job has ended already";
      }
      break;
    default:
      if (code >= '1' && code <= '6') view.large = view.large == code - '0' ? 0 : code - '0';
  }
  return Command::kNone;
}

}  // namespace

size_t KeyReader::TakeOne(std::vector<Key>& keys) const {
  const std::string_view text = pending_;
  if (text[0] == kEsc) {
    const size_t length = SequenceLengthOf(text);
    if (length == 0) return 0;
    if (length == 1) {
      keys.push_back({Key::kEscape});
      return 1;
    }
    const char last = text[length - 1];
    const auto name = last == '~' ? Numbered(text.substr(2, length - 3)) : Final(last);
    if (name) keys.push_back({*name});
    return length;
  }
  if (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F) {
    keys.push_back(ControlKey(text[0]));
    return 1;
  }
  const size_t length = base::Utf8CharacterLength(text);
  if (length > 0) {
    keys.push_back({Key::kCharacter, base::CodePoint(text.substr(0, length))});
    return length;
  }
  constexpr size_t kMaxCharacterLength = 4;
  const auto lead = static_cast<unsigned char>(text[0]);
  const bool may_go_on = text.size() < kMaxCharacterLength && lead >= 0xC2 && lead <= 0xF4;
  return may_go_on ? 0 : 1;
}

void KeyReader::Take(std::string_view bytes, std::vector<Key>& keys) {
  pending_ += bytes;
  while (!pending_.empty()) {
    const size_t taken = TakeOne(keys);
    if (taken == 0) return;
    pending_.erase(0, taken);
  }
}

void KeyReader::EndWait(std::vector<Key>& keys) {
  if (pending_ == std::string(1, kEsc)) keys.push_back({Key::kEscape});
  pending_.clear();
}

Command Press(const Key& key, const v1::JobSnapshot& snapshot, ViewState& view) {
  view.notice.clear();
  if (key.name == Key::kControl) {
    if (key.code == 'C') return Command::kQuit;
    if (key.code == 'Z') return Command::kSuspend;
    if (key.code == 'L') return Command::kRedraw;
    return Command::kNone;
  }
  if (view.prompt == Prompt::kStop) return AskStop(key, view);
  if (view.prompt == Prompt::kText) return TypeInto(key, view);
  if (view.panel.open()) return PressInPanel(key, view);
  switch (key.name) {
    case Key::kCharacter:
      return PressCharacter(key.code, snapshot, view);
    case Key::kUp:
    case Key::kDown:
      Choose(snapshot, view, key.name == Key::kDown ? 1 : -1);
      return Command::kNone;
    case Key::kPageUp:
    case Key::kPageDown: {
      const auto page = static_cast<int>(PageRows(view) / 2);
      Choose(snapshot, view, key.name == Key::kPageDown ? page : -page);
      return Command::kNone;
    }
    case Key::kEnter:
      if (!view.selected) Choose(snapshot, view, 1);
      return view.selected ? Command::kOpenLog : Command::kNone;
    case Key::kEscape:
      view.filter.clear();
      view.large = 0;
      view.selected.reset();
      return Command::kNone;
    default:
      return Command::kNone;
  }
}

}  // namespace autodist::top
