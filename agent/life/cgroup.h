// A control group (cgroup v2) for one job, if the user may create one. Its processes can be ended
// even if they have changed their parents, session or environment, and after all processes that
// know them as descendants have ended. Format and rules: cgroups(7) and the kernel's cgroup-v2.rst.
#pragma once

#include <optional>
#include <string>

#include "agent/life/job_folder.h"

namespace autodist::agent {

class Cgroup {
 public:
  // Creates the group of the job in this folder, below that of this process. nullopt if the latter
  // is not delegated to this user; then processes are found only by descent.
  static std::optional<Cgroup> Make(const JobFolder& folder);
  // Finds an existing group; nullopt if it was not created, or has been removed.
  static std::optional<Cgroup> Find(const JobFolder& folder);

  // Moves this process, whose children inherit the group; and back to the parent group. The kernel
  // may refuse.
  void Enter() const;
  void Leave() const;
  // Sends SIGKILL to every process in it.
  void Kill() const;
  // Blocks until killed processes have left it, at most five seconds.
  void Remove() const;

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace autodist::agent
