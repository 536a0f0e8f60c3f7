#include "chief/output/console.h"

#include <algorithm>

#include "base/exceptions.h"

namespace autodist::chief {
namespace {

// Acknowledges all bytes up to the end of this piece.
v1::OutputAck AckOf(const v1::Output& output) {
  v1::OutputAck ack;
  ack.set_rank(output.rank());
  ack.set_stream(output.stream());
  ack.set_offset(output.offset() + output.data().size() + output.lost());
  return ack;
}

// Limits the wait for a terminal that accepts no output.
constexpr std::chrono::milliseconds kClearLimit{200};

using Clock = std::chrono::steady_clock;

}  // namespace

Console::Console(Written written) : written_(std::move(written)) {
  base::SetLogWriter(
      [this](base::LogLevel level, std::string_view text) { Log(level, std::string(text)); });
}

void Console::Add(Piece piece) {
  const std::lock_guard lock(mutex_);
  if (piece.kind == Piece::kOutput) ++queue_.outputs;
  queue_.pieces.push_back(std::move(piece));
  if (queue_.pieces.size() == 1) changed_.notify_all();
}

void Console::Write(std::shared_ptr<RankLogs> logs, uint32_t node, v1::Output output) {
  Add({Piece::kOutput, std::move(logs), node, std::move(output)});
}

void Console::EndLines(std::shared_ptr<RankLogs> logs) { Add({Piece::kEnd, std::move(logs)}); }

void Console::ShowErrorsOf(std::shared_ptr<RankLogs> logs, uint32_t rank) {
  Add({Piece::kErrors, std::move(logs), rank});
}

void Console::Print(std::string line) {
  Add({.kind = Piece::kLine, .text = std::move(line) + "\n"});
}

void Console::Log(base::LogLevel level, std::string text) {
  Add({.kind = Piece::kMessage, .text = std::move(text), .level = level});
}

void Console::Clear() {
  std::unique_lock lock(mutex_);
  queue_.clear = true;
  changed_.notify_all();
  changed_.wait_for(lock, kClearLimit, [this, before = cleared_] { return cleared_ > before; });
}

bool Console::Busy() const {
  const std::lock_guard lock(mutex_);
  return writing_ || queue_.outputs > 0;
}

void Console::AskToFinish() {
  base::SetLogWriter(nullptr);
  const std::lock_guard lock(mutex_);
  queue_.finish = true;
  changed_.notify_all();
}

void Console::Finish() {
  if (!thread_.joinable()) return;
  AskToFinish();
  thread_.join();
}

bool Console::FinishWithin(std::chrono::milliseconds limit) {
  AskToFinish();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return finished_; });
}

// Waits until there is something to show, or to draw again.
Console::Queue Console::Await() {
  const auto lines_due = shown_ ? shown_->Due(screen_) : std::nullopt;
  const auto screen_due = screen_.Due();
  const auto due = lines_due && screen_due ? std::min(lines_due, screen_due)
                                           : (lines_due ? lines_due : screen_due);
  const auto anything = [this] { return !queue_.pieces.empty() || queue_.clear || queue_.finish; };
  Queue taken;
  std::unique_lock lock(mutex_);
  writing_ = false;
  if (due) {
    changed_.wait_until(lock, *due, anything);
  } else {
    changed_.wait(lock, anything);
  }
  std::swap(taken, queue_);
  writing_ = taken.outputs > 0;
  return taken;
}

void Console::Show(const Queue& taken) {
  const auto now = Clock::now();
  for (const Piece& piece : taken.pieces) {
    switch (piece.kind) {
      case Piece::kOutput:
        if (!piece.logs) break;
        piece.logs->Take(piece.output, now, screen_);
        written_bytes_ += piece.output.data().size();
        shown_ = piece.logs;
        break;
      case Piece::kLine:
        screen_.Append(display::kStdout, piece.text);
        break;
      case Piece::kMessage:
        screen_.Clear();
        base::WriteLog(piece.level, piece.text);
        break;
      case Piece::kEnd:
        piece.logs->EndLines(screen_);
        break;
      case Piece::kErrors:
        piece.logs->ShowErrorsOf(piece.number, screen_);
        break;
    }
  }
  if (shown_) shown_->Update(now, screen_);
  if (!taken.clear && !taken.finish) return screen_.Update(now);
  screen_.Clear();
}

void Console::Run() {
  for (bool finish = false; !finish;) {
    const Queue taken = Await();
    base::HandlingExceptions([&] {
      Show(taken);
      for (const Piece& piece : taken.pieces) {
        if (piece.kind == Piece::kOutput) written_(piece.number, AckOf(piece.output));
      }
    });
    finish = taken.finish;
    if (!taken.clear) continue;
    const std::lock_guard lock(mutex_);
    ++cleared_;
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

}  // namespace autodist::chief
