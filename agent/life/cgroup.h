// A control group (cgroup v2) of a job's own, where the user has one in which to make it. What was
// started in it can be ended whatever it has done to its parents, its session or its environment,
// even when nobody is left who knows it by descent. Format and rules: cgroups(7) and the kernel's
// cgroup-v2.rst.
#pragma once

#include <optional>
#include <string>

#include "agent/life/job_folder.h"

namespace autodist::agent {

class Cgroup {
 public:
  // That of the job in this folder, below the one that this process is in. None where that is not
  // delegated to this user: descent has to do there.
  static std::optional<Cgroup> Make(const JobFolder& folder);
  // One that was made before. None if there was none, or it is gone.
  static std::optional<Cgroup> Find(const JobFolder& folder);

  // Moves this process, of which children inherit it; and back to the one above. The kernel may
  // refuse.
  void Enter() const;
  void Leave() const;
  // Sends SIGKILL to every process in it.
  void Kill() const;
  // Blocks until what was killed has left it, but for no more than five seconds.
  void Remove() const;

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace autodist::agent
