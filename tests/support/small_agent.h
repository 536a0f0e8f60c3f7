// The parts of an agent, joined as in agent/life/serve.cc, without its doors, its lease and its
// guardian.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "agent/link/attempt_end.h"
#include "agent/link/event_queue.h"
#include "agent/link/rendezvous_service.h"
#include "agent/link/service.h"
#include "agent/mpi/pmix_service.h"
#include "agent/output/rank_output.h"
#include "agent/supervisor/supervisor.h"
#include "support/block_sigchld.h"
#include "support/grpc_server.h"
#include "support/temp_folder.h"

namespace autodist::test {

class SmallAgent {
 public:
  SmallAgent() {
    output = *agent::RankOutput::Create({[this] {
                                           end_->OutputChanged();
                                           events->OutputChanged();
                                         },
                                         [](const std::string&) {}});
    events = std::make_unique<agent::EventQueue>(*output);
    end_ = std::make_unique<agent::AttemptEnd>(*events, *output, [this] { events->Close(); });
    agent::SupervisorEvents told = agent::EventsInto(*events, *output);
    told.ended = [this] {
      pmix->Leave();
      end_->ProcessesGone();
    };
    rendezvous = std::make_unique<agent::RendezvousService>(*events);
    pmix = std::make_unique<agent::PmixService>(*events, *rendezvous, folder.path() + "/pmix");
    supervisor = *agent::Supervisor::Create(std::move(told));
    service_ = std::make_unique<agent::AgentService>(agent::AgentParts{
        *events, *output, *rendezvous, *supervisor, *pmix,
        agent::AgentPlace{"/socket", "/nowhere", "/agent"}, [this] { ++heard; },
        [this](bool held) { lease_held += held; }, [this](bool is_paused) { paused = is_paused; },
        [this](bool open) { sessions += open ? 1 : -1; },
        [this](std::string key) {
          const std::lock_guard lock(mutex_);
          key_ = std::move(key);
        },
        [this](bool leave) { end_->Begin(leave); }});
    server = std::make_unique<GrpcServer>(
        std::initializer_list<grpc::Service*>{service_.get(), rendezvous.get()});
  }
  SmallAgent(const SmallAgent&) = delete;
  SmallAgent& operator=(const SmallAgent&) = delete;
  // From the outside in, as the agent itself does.
  ~SmallAgent() {
    server.reset();
    service_.reset();
    supervisor.reset();
    pmix.reset();
    output->StopReading();
  }

  std::string key() const {  // that the chief gave last
    const std::lock_guard lock(mutex_);
    return key_;
  }

  const TempFolder folder;
  std::atomic<int> heard = 0;
  std::atomic<int> lease_held = 0;  // how often
  std::atomic<bool> paused = false;
  std::atomic<int> sessions = 0;  // opened and not closed
  std::unique_ptr<agent::RankOutput> output;
  std::unique_ptr<agent::EventQueue> events;
  std::unique_ptr<agent::RendezvousService> rendezvous;
  std::unique_ptr<agent::PmixService> pmix;
  std::unique_ptr<agent::Supervisor> supervisor;
  std::unique_ptr<GrpcServer> server;

 private:
  mutable std::mutex mutex_;
  std::string key_;  // guarded by mutex_
  std::unique_ptr<agent::AttemptEnd> end_;
  std::unique_ptr<agent::AgentService> service_;
};

}  // namespace autodist::test
