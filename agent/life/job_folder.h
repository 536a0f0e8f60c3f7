// A job's folder on its node, by which its agent is found: its sockets, its log, its lock.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

class JobFolder {
 public:
  // Of this user: where the job has one already, else in /tmp, or in the home folder where somebody
  // else has taken its name in /tmp. Makes nothing.
  JobFolder(const std::string& job_id, const std::string& node_rank);
  // The same; a folder of a running job that this login does not see, as each has a /tmp of its
  // own, is found by the processes that keep the job (agent/life/keepers.h).
  static JobFolder Find(const std::string& job_id, const std::string& node_rank);
  // All that there are on this host, by name: "JOB.NODE_RANK".
  static std::vector<JobFolder> All();
  // With those of running jobs that this login does not see.
  static std::vector<JobFolder> AllOfAnyLogin();

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  std::string chief_socket() const { return path_ + "/agent.sock"; }
  // Where the agent listens besides: an abstract name, for logins that do not see the folder, and
  // for when something has emptied /tmp.
  std::string chief_name() const;
  std::string rank_socket() const { return path_ + "/ranks.sock"; }
  std::string log() const { return path_ + "/agent.log"; }
  std::string lock() const { return path_ + "/lock"; }
  std::string pmix() const { return path_ + "/pmix"; }      // a folder
  std::string files() const { return path_ + "/files"; }    // a folder: what the plan gives ranks
  std::string cgroup() const { return path_ + "/cgroup"; }  // where there is one: its path

  std::string devices() const { return path_ + "/devices"; }  // which of the node's the job has
  // The part of the name that all agents of a job have.
  std::string job_id() const { return name_.substr(0, name_.rfind('.')); }
  std::string node_rank() const { return name_.substr(name_.rfind('.') + 1); }

  // Makes it, private to this user; /tmp is everybody's: somebody else's folder, or a link, that
  // already has the name is refused, as is a path too long for sockets.
  Status Make() const;
  // Keeps what looks for old files in /tmp away from all folders, until the descriptor is closed.
  base::UniqueFd KeepFromAgeing() const;
  // Whether it is there, and nobody else's.
  bool IsOurs() const;
  // The lock file; where it was removed, or is in a folder that this login does not see, the one
  // that the job's watchdog has open. `flags` as open(2) has them.
  base::UniqueFd OpenLock(int flags) const;
  // Makes it where it is missing, and keeps others that start or clean the job here waiting until
  // the descriptor is closed, also where it has been inherited. Blocks.
  Result<base::UniqueFd> Lock() const;
  // With all that agents put there.
  void Remove() const;

  // What became of the job on this node, where its agent was not told to end: kept outside the
  // folder, for a chief that comes later.
  void WriteEndReason(const std::string& text) const;
  std::string ReadEndReason() const;  // "" if there is none
  void RemoveEndReason() const;

 private:
  struct Place {
    std::string parent;
    std::string name;
  };
  static Place PlaceOf(const std::string& name);
  static std::optional<JobFolder> SeenBy(pid_t keeper, const std::string& name);
  explicit JobFolder(Place place);
  std::string end_reason() const;

  std::string parent_;
  std::string name_;
  std::string path_;
};

// Two locks in the folder's lock file tell others what is alive; the kernel takes them away with
// the process that holds them.
enum class JobLock : int {
  kWatchdog,  // held while anything of the job may be left: by the watchdog, or the agent for it
  kChiefInCharge,  // shared by each `attach` that has a chief at its other end
};
// Holds it until the process ends, Release, or the process closes any descriptor of the file.
bool TakeLock(int lock_file, JobLock which);
bool ShareLock(int lock_file, JobLock which);
void ReleaseLock(int lock_file, JobLock which);
// Blocks until nobody holds it.
void AwaitLock(int lock_file, JobLock which);
// Who holds it.
std::optional<pid_t> LockHolder(int lock_file, JobLock which);
// Whether the watchdog of the job in this folder is there. Not for a process that holds a lock of
// it.
bool HasWatchdog(const JobFolder& folder);

}  // namespace autodist::agent
