#include "chief/input/own_terminal.h"

#include <unistd.h>

#include <utility>

namespace autodist::chief {
namespace {

constexpr char kHelp[] =
    "at the beginning of a line: ~. asks the job to end, and kills its ranks if repeated; ~~ is a "
    "~; `autodist stacks`, logs and stop work from another terminal";

}  // namespace

std::string OwnTerminal::who() const {
  return "its `autodist run`, process " + std::to_string(getpid()) + ",";
}

v1::TerminalInput OwnTerminal::first() const {
  v1::TerminalInput input;
  input.set_rank(rank_);
  if (terminal_) {
    const v1::TerminalSize size = RawTerminal::Size();
    input.set_rows(size.rows());
    input.set_columns(size.columns());
  }
  return input;
}

void OwnTerminal::OnAttached() {
  if (reader_ || (terminal_ && !RawTerminal::IsOurs())) return;
  if (terminal_ && !std::exchange(reported_, true)) {
    events_.log("this terminal belongs to rank " + std::to_string(rank_) +
                ", which also receives Ctrl-C; Enter ~. ends the job, Enter ~? shows help" +
                (others_.empty() ? "" : "; output of other ranks is only in " + others_));
  }
  StdinReader::Events events;
  events.bytes = [this](const std::string& bytes) { return Typed(bytes); };
  events.end = [this] { events_.give({}, true); };
  events.resized = [this](const v1::TerminalSize& size) {
    v1::TerminalInput input;
    input.set_rows(size.rows());
    input.set_columns(size.columns());
    events_.give(std::move(input), false);
  };
  auto reader = StdinReader::Start(std::move(events));
  if (!reader.ok()) {
    events_.log("rank " + std::to_string(rank_) +
                " receives no input: " + Message(reader.status()));
    return;
  }
  reader_ = *std::move(reader);
  auto raw = terminal_ ? RawTerminal::Enter() : Result<std::unique_ptr<RawTerminal>>(nullptr);
  if (raw.ok()) raw_ = *std::move(raw);  // else the terminal stays in line mode
}

size_t OwnTerminal::Typed(const std::string& bytes) {
  v1::TerminalInput input;
  if (!terminal_) {
    input.set_data(bytes);
    events_.give(std::move(input), false);
    return bytes.size();
  }
  EscapeKeys::Typed typed = escapes_.Take(bytes);
  const size_t for_rank = typed.bytes.size();
  input.set_data(std::move(typed.bytes));
  if (for_rank > 0) events_.give(std::move(input), false);
  for (const EscapeKeys::Key key : typed.keys) {
    if (key == EscapeKeys::Key::kLeave) events_.leave();
    if (key == EscapeKeys::Key::kHelp) events_.log(kHelp);
  }
  return for_rank;
}

void OwnTerminal::Suspend() {
  if (terminal_) Close();
}

void OwnTerminal::Close() {
  reader_.reset();
  raw_.reset();
}

}  // namespace autodist::chief
