// The user of `autodist run --stdin-rank`: its terminal or piped stdin.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "chief/input/terminal_input.h"
#include "control/terminal_user.h"

namespace autodist::chief {

// Used on the loop's thread; blocks only briefly. The terminal is in raw mode only while the rank
// runs; at other times Ctrl-C has its usual meaning.
class OwnTerminal final : public control::TerminalUser {
 public:
  struct Events {
    // Called on the reader's thread.
    std::function<void(v1::TerminalInput input, bool end)> give;
    std::function<void()> leave;  // ~. was typed
    // Called on any thread.
    std::function<void(const std::string& text)> log;
  };

  // `terminal`: stdin is a terminal; else data is piped into it. `others`: the folder with output
  // of other ranks, which is not shown meanwhile; "": there are none.
  OwnTerminal(uint32_t rank, bool terminal, std::string others, Events events)
      : rank_(rank), terminal_(terminal), others_(std::move(others)), events_(std::move(events)) {}
  ~OwnTerminal() override { Close(); }

  std::string who() const override;
  v1::TerminalInput first() const override;
  void OnAttached() override;
  void OnTaken(uint64_t bytes) override {
    if (reader_) reader_->Taken(bytes);
  }
  void OnEnd(const Status&) override { Close(); }

  // Returns the terminal to the shell until OnAttached, because this process is about to be
  // stopped.
  void Suspend();

 private:
  size_t Typed(const std::string& bytes);
  void Close();

  const uint32_t rank_;
  const bool terminal_;
  const std::string others_;
  const Events events_;
  bool reported_ = false;
  EscapeKeys escapes_;  // used by the reader's thread
  std::unique_ptr<RawTerminal> raw_;
  std::unique_ptr<StdinReader> reader_;
};

}  // namespace autodist::chief
