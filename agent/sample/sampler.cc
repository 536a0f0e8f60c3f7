#include "agent/sample/sampler.h"

#include <algorithm>
#include <utility>

#include "agent/sample/clamp_sample.h"
#include "agent/sample/host.h"
#include "agent/sample/network.h"
#include "agent/sample/processes.h"
#include "base/deadline.h"
#include "base/wall_clock.h"

namespace autodist::agent {

using base::Deadline;

// The state of the sampling, from the start of an attempt's ranks to their end.
class Sampler::Collector {
 public:
  Collector(const Plan& plan, const SampleRoots& roots, const Events& events,
            Supervisor& supervisor)
      : events_(events),
        host_(roots.proc, roots.sys),
        disk_(plan.working_directory),
        interfaces_(roots.proc, roots.sys),
        infinibands_(roots.sys),
        processes_(roots.proc),
        cgroups_(roots.proc, roots.sys),
        gpus_({plan.gpus, plan.environment, plan.working_directory, plan.interval}, supervisor) {}

  GpuReader& gpus() { return gpus_; }

  v1::NodeSample Take(const std::map<uint32_t, pid_t>& ranks) {
    const SampleTime now = SampleTime::clock::now();
    v1::NodeSample sample;
    sample.set_time_ns(base::NanosecondsSince1970());
    *sample.mutable_host() = host_.Read(now);
    if (const auto space = disk_.Last()) {
      sample.mutable_host()->set_disk_free(space->free);
      sample.mutable_host()->set_disk_total(space->total);
    }
    interfaces_.Read(now, sample);
    infinibands_.Read(now, sample);
    gpus_.Read([this](pid_t pid) { return processes_.IsRanks(pid); }, sample);
    processes_.Read(ranks, now, sample);
    cgroups_.Read(ranks, now, sample);
    for (v1::RankSample& rank : *sample.mutable_ranks()) {
      const auto last = events_.last_output(rank.rank());
      if (!last) continue;
      const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(now - *last);
      rank.set_silent_ms(std::max<int64_t>(silent.count(), 0));
    }
    LimitSample(sample);
    return sample;
  }

 private:
  const Events& events_;
  HostReader host_;
  DiskSpace disk_;
  InterfaceReader interfaces_;
  InfinibandReader infinibands_;
  ProcessReader processes_;
  CgroupReader cgroups_;
  GpuReader gpus_;
};

Sampler::Sampler(Events events, Supervisor& supervisor, SampleRoots roots)
    : events_(std::move(events)),
      supervisor_(supervisor),
      roots_(std::move(roots)),
      thread_(&Sampler::Loop, this) {}

void Sampler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Sampler::Begin(Plan plan) {
  if (plan.interval.count() > 0) plan.interval = std::max(plan.interval, kShortest);
  const std::lock_guard lock(mutex_);
  plan_ = std::move(plan);
  ++attempt_;
}

void Sampler::RankStarted(uint32_t rank, pid_t pid) {
  const std::lock_guard lock(mutex_);
  ranks_[rank] = pid;
  changed_.notify_all();
}

void Sampler::RankEnded(uint32_t rank) {
  const std::lock_guard lock(mutex_);
  ranks_.erase(rank);
  if (ranks_.empty()) changed_.notify_all();
}

void Sampler::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || IsWanted(); });
    if (IsWanted()) Watch(lock);
  }
}

void Sampler::Watch(std::unique_lock<std::mutex>& lock) {
  const Plan plan = plan_;
  const uint64_t attempt = attempt_;
  const auto is_over = [&] { return !IsWanted() || attempt_ != attempt; };
  // Otherwise the first sample may cost more than a short program.
  if (changed_.wait_for(lock, kShortest, is_over)) return;
  lock.unlock();
  Collector collector(plan, roots_, events_, supervisor_);
  auto next = Deadline::Clock::now();
  lock.lock();
  while (!is_over()) {
    if (Deadline::Clock::now() < next) {
      collector.gpus().Update();
    } else {
      const std::map<uint32_t, pid_t> ranks = ranks_;
      lock.unlock();
      v1::NodeSample sample = collector.Take(ranks);
      lock.lock();
      if (is_over()) return;
      Forget(sample);
      events_.sample(std::move(sample));
      next += plan.interval;
      // Skips missed samples.
      if (next < Deadline::Clock::now()) next = Deadline::Clock::now() + plan.interval;
    }
    changed_.wait_until(lock, std::min(next, collector.gpus().next_look().when()), is_over);
  }
}

// Removes ranks that have ended meanwhile.
void Sampler::Forget(v1::NodeSample& sample) const {
  auto& reading = *sample.mutable_ranks();
  const auto has_ended = [this](const v1::RankSample& rank) {
    return !ranks_.contains(rank.rank());
  };
  reading.erase(std::remove_if(reading.begin(), reading.end(), has_ended), reading.end());
}

}  // namespace autodist::agent
