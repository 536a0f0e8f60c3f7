// An agent without its sockets, its lease and its watchdog.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "agent/life/agent_core.h"
#include "support/block_sigchld.h"
#include "support/grpc_server.h"
#include "support/temp_folder.h"

namespace autodist::test {

class SmallAgent {
 public:
  SmallAgent()
      : core_(*agent::AgentCore::Create(
            {"/socket", "/nowhere", "/agent", folder.path() + "/devices",
             [this] {
               return std::vector<agent::OtherAgent>{{"other", folder.path() + "/other"}};
             }},
            folder.path() + "/pmix",
            {[this] { ++contacts; }, [this](auto) { ++receipts; },
             [this](bool expected) { silences_expected += expected; },
             [this](std::chrono::milliseconds hold) {
               paused = hold.count() > 0;
               if (when_paused) when_paused();
             },
             [this](bool open) { sessions += open ? 1 : -1; },
             [this](std::string key) {
               const std::lock_guard lock(mutex_);
               key_ = std::move(key);
             }},
            [] {})),
        server(std::make_unique<GrpcServer>(
            std::initializer_list<grpc::Service*>{&core_->service(), &core_->rendezvous()})) {}
  SmallAgent(const SmallAgent&) = delete;
  SmallAgent& operator=(const SmallAgent&) = delete;

  std::string key() const {  // the last one that the chief sent
    const std::lock_guard lock(mutex_);
    return key_;
  }

  const TempFolder folder;
  std::atomic<int> contacts = 0;
  std::atomic<int> receipts = 0;  // answers of which the chief reported that it received them
  std::atomic<int> silences_expected = 0;
  std::atomic<bool> paused = false;
  std::function<void()> when_paused;  // set it before the chief connects
  std::atomic<int> sessions = 0;      // opened and not closed

 private:
  mutable std::mutex mutex_;
  std::string key_;  // guarded by mutex_
  const std::unique_ptr<agent::AgentCore> core_;

 public:
  agent::RankOutput* const output = &core_->output();
  agent::EventQueue* const events = &core_->events();
  agent::RendezvousService* const rendezvous = &core_->rendezvous();
  agent::PmixService* const pmix = &core_->pmix();
  agent::Supervisor* const supervisor = &core_->supervisor();
  std::unique_ptr<GrpcServer> server;  // last: destroyed before the objects that it calls
};

}  // namespace autodist::test
