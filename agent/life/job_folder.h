// A job's folder on its node, through which its agent is found: its sockets, its log, its lock.
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
  // The folder of this user's job: the existing one, or else one in /tmp, or in the home folder if
  // another user has taken the name in /tmp. Creates nothing.
  JobFolder(const std::string& job_id, const std::string& node_rank);
  // The same; but if this login does not see the folder of a running job, because each login has a
  // private /tmp, finds it through the job's processes (agent/life/keepers.h).
  static JobFolder Find(const std::string& job_id, const std::string& node_rank);
  // All folders on this host, by name: "JOB.NODE_RANK".
  static std::vector<JobFolder> All();
  // Also those of running jobs that this login does not see.
  static std::vector<JobFolder> AllOfAnyLogin();

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  std::string chief_socket() const { return path_ + "/agent.sock"; }
  // The agent's second address: an abstract name, for logins that do not see the folder, and in
  // case /tmp was emptied.
  std::string chief_name() const;
  std::string rank_socket() const { return path_ + "/ranks.sock"; }
  std::string log() const { return path_ + "/agent.log"; }
  std::string lock() const { return path_ + "/lock"; }
  std::string pmix() const { return path_ + "/pmix"; }      // a folder
  std::string files() const { return path_ + "/files"; }    // a folder for the plan's files
  std::string cgroup() const { return path_ + "/cgroup"; }  // the path of the cgroup, if any

  // The node's devices that the job uses.
  std::string devices() const { return path_ + "/devices"; }
  // The part of the name that all agents of a job have in common.
  std::string job_id() const { return name_.substr(0, name_.rfind('.')); }
  std::string node_rank() const { return name_.substr(name_.rfind('.') + 1); }

  // Creates the folder, private to this user. Every user can write to /tmp, so a link or another
  // user's folder of that name is refused, and also a path that is too long for sockets.
  Status Make() const;
  // Prevents the cleanup of old files in /tmp from removing the folders until the descriptor is
  // closed.
  base::UniqueFd KeepFromAgeing() const;
  // Whether it exists and belongs to this user.
  bool IsOurs() const;
  // Opens the lock file; if it was removed, or is in a folder that this login does not see, through
  // the descriptor of the job's watchdog. `flags`: see open(2).
  base::UniqueFd OpenLock(int flags) const;
  // Creates the folder if it is missing, and blocks others that start or clean the job here until
  // the descriptor is closed, including inherited copies. Blocks.
  Result<base::UniqueFd> Lock() const;
  // Removes the folder with all files of agents.
  void Remove() const;

  // Why the job has ended on this node, if not by an order to its agent: stored outside of the
  // folder, for a later chief.
  void WriteEndReason(const std::string& text) const;
  std::string ReadEndReason() const;  // "" without a reason
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

// Two locks in the folder's lock file show others which processes exist; the kernel releases them
// when their holders end.
enum class JobLock : int {
  // Held while processes of the job may exist: by the watchdog, or the agent in its place.
  kWatchdog,
  kChiefInCharge,  // shared by each `attach` with a connected chief
};
// Takes the lock until the process ends, Release, or the process closes any descriptor of the file.
bool TakeLock(int lock_file, JobLock which);
bool ShareLock(int lock_file, JobLock which);
void ReleaseLock(int lock_file, JobLock which);
// Blocks until no process holds it.
void AwaitLock(int lock_file, JobLock which);
// Returns a process that holds it.
std::optional<pid_t> LockHolder(int lock_file, JobLock which);
// Whether the watchdog of the job in this folder runs. Not for a process that itself holds a lock
// of the file.
bool HasWatchdog(const JobFolder& folder);

}  // namespace autodist::agent
