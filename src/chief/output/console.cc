#include "chief/output/console.h"

namespace autodist::chief {
namespace {

// That all bytes up to the end of this piece have been dealt with.
v1::OutputAck AckOf(const v1::Output& output) {
  v1::OutputAck ack;
  ack.set_rank(output.rank());
  ack.set_stream(output.stream());
  ack.set_offset(output.offset() + output.data().size() + output.lost());
  return ack;
}

}  // namespace

void Console::Write(std::shared_ptr<RankLogs> logs, uint32_t node, v1::Output output) {
  const std::lock_guard lock(mutex_);
  queue_.pieces.push_back({std::move(logs), node, std::move(output)});
  if (queue_.pieces.size() == 1) changed_.notify_one();
}

void Console::EndLines(std::shared_ptr<RankLogs> logs) {
  const std::lock_guard lock(mutex_);
  queue_.pieces.push_back({std::move(logs), 0, {}, true});
  changed_.notify_one();
}

void Console::Tell(base::LogLevel level, std::string text) {
  const std::lock_guard lock(mutex_);
  queue_.messages.emplace_back(level, std::move(text));
  changed_.notify_one();
}

bool Console::Busy() const {
  const std::lock_guard lock(mutex_);
  return writing_ || !queue_.pieces.empty();
}

void Console::AskToFinish() {
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

void Console::Run() {
  for (bool finish = false; !finish;) {
    Queue taken;
    {
      std::unique_lock lock(mutex_);
      writing_ = false;
      changed_.wait(lock, [this] {
        return !queue_.pieces.empty() || !queue_.messages.empty() || queue_.finish;
      });
      std::swap(taken, queue_);
      writing_ = !taken.pieces.empty();
    }
    for (const Piece& piece : taken.pieces) {
      if (piece.last) {
        piece.logs->EndLines(terminal_);
      } else if (piece.logs) {
        piece.logs->Take(piece.output, terminal_);
        written_bytes_ += piece.output.data().size();
      }
    }
    terminal_.Flush();
    for (const auto& [level, text] : taken.messages) base::Log(level, text);
    for (const Piece& piece : taken.pieces) {
      if (!piece.last) written_(piece.node, AckOf(piece.output));
    }
    finish = taken.finish;
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

}  // namespace autodist::chief
