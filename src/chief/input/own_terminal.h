// Who sits at the terminal of `autodist run --stdin-rank`, or what is piped into it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "chief/input/escape_keys.h"
#include "chief/input/raw_terminal.h"
#include "chief/input/stdin_reader.h"
#include "control/terminal_user.h"

namespace autodist::chief {

// For the loop's thread; never blocks for long. The terminal is in raw mode only while the rank
// runs: before and after, Ctrl-C is what it ever was.
class OwnTerminal final : public control::TerminalUser {
 public:
  struct Events {
    // On the reader's thread.
    std::function<void(v1::TerminalInput input, bool end)> give;
    std::function<void()> leave;  // ~. was typed
    // On any.
    std::function<void(const std::string& text)> tell;
  };

  // `terminal`: stdin is one; else something is piped into it. `others`: where those ranks' output
  // is to be found that is not shown meanwhile.
  OwnTerminal(uint32_t rank, bool terminal, std::string others, Events events)
      : rank_(rank), terminal_(terminal), others_(std::move(others)), events_(std::move(events)) {}
  ~OwnTerminal() override { Close(); }

  std::string who() const override;
  v1::TerminalInput first() const override;
  void OnYours() override;
  void OnTaken(uint64_t bytes) override {
    if (reader_) reader_->Taken(bytes);
  }
  void OnEnd(const Status&) override { Close(); }

  // This process is about to be stopped: the terminal is the shell's until OnYours.
  void Suspend();

 private:
  size_t Typed(const std::string& bytes);
  void Close();

  const uint32_t rank_;
  const bool terminal_;
  const std::string others_;
  const Events events_;
  bool reported_ = false;
  EscapeKeys escapes_;  // the reader's thread's
  std::unique_ptr<RawTerminal> raw_;
  std::unique_ptr<StdinReader> reader_;
};

}  // namespace autodist::chief
