// A minimal chief for tests of the agent's service.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "autodist/v1/agent.grpc.pb.h"

namespace autodist::test {

inline v1::ChiefMessage Start() {
  v1::ChiefMessage message;
  message.mutable_start();
  return message;
}

inline v1::ChiefMessage End() {
  v1::ChiefMessage message;
  message.mutable_end();
  return message;
}

inline v1::ChiefMessage Shutdown() {
  v1::ChiefMessage message;
  message.mutable_shutdown();
  return message;
}

inline v1::ChiefMessage Renew(uint64_t number) {
  v1::ChiefMessage message;
  message.mutable_renew_lease()->set_number(number);
  return message;
}

// The chief's end of a session.
class ChiefEnd {
 public:
  ChiefEnd(v1::AgentService::Stub& agent, uint64_t events_taken = 0)
      : stream_(agent.Session(&context_)), taken_(events_taken) {}
  ChiefEnd(const ChiefEnd&) = delete;
  ChiefEnd& operator=(const ChiefEnd&) = delete;
  ~ChiefEnd() {
    if (finished_) return;
    Cancel();
    Finish();
  }

  // `instance`: the agent whose events have been taken.
  void Resume(const std::string& next_key = "", uint64_t instance = 0) {
    v1::ChiefMessage message;
    message.mutable_resume()->set_next_key(next_key);
    message.mutable_resume()->set_instance(instance);
    Send(message);
    resumed_ = Next();
    EXPECT_TRUE(resumed_.has_resumed()) << resumed_.ShortDebugString();
  }
  void Order(v1::ChiefMessage message, uint64_t sequence) {
    message.set_sequence(sequence);
    Send(std::move(message));
  }
  void Send(v1::ChiefMessage message) {
    message.set_acknowledged(taken_);
    stream_->Write(message);
  }

  bool Read(v1::AgentEvent& event) { return stream_->Read(&event); }
  // Returns the next event that is no output. Output is kept, and acknowledged by default.
  v1::AgentEvent Next() {
    v1::AgentEvent event;
    while (stream_->Read(&event)) {
      if (!event.has_output()) {
        if (event.sequence() > 0) taken_ = event.sequence();
        return event;
      }
      output_ += event.output().data();
      if (acknowledge_output) AcknowledgeOutput();
    }
    return {};
  }
  void AcknowledgeOutput() {
    v1::ChiefMessage message;
    v1::OutputAck& ack = *message.mutable_output_ack();
    ack.set_rank(7);
    ack.set_stream(v1::OUTPUT_STREAM_STDOUT);
    ack.set_offset(output_.size());
    Send(message);
  }
  // Reads all events until the agent ends the session.
  grpc::Status Finish() {
    finished_ = true;
    for (v1::AgentEvent event; stream_->Read(&event);) {
    }
    return stream_->Finish();
  }
  void Cancel() { context_.TryCancel(); }

  bool acknowledge_output = true;
  const std::string& output() const { return output_; }
  const v1::AgentEvent& resumed() const { return resumed_; }
  uint64_t taken() const { return taken_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ChiefMessage, v1::AgentEvent>> stream_;
  uint64_t taken_;
  bool finished_ = false;
  v1::AgentEvent resumed_;
  std::string output_;  // of rank 7 on stdout
};

}  // namespace autodist::test
