#include "control/job_socket.h"

#include <absl/strings/ascii.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "base/deadline.h"
#include "base/folder_entries.h"
#include "base/host_name.h"
#include "base/private_folder.h"
#include "base/unix_socket.h"
#include "control/job_record.h"
#include "control/silent_chief.h"

namespace autodist::control {
namespace {

constexpr size_t kMaxJobIdLength = 64;
constexpr char kSuffix[] = ".sock";
// Max wait for an autodist that accepts no connections: it is suspended or out of descriptors.
constexpr std::chrono::milliseconds kBusyLimit{2'000};
constexpr std::chrono::milliseconds kMinWait{1};  // 0 would mean no limit

// The runtime folder of the login session, or "".
std::string SessionFolder() {
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  return folder && folder[0] == '/' && base::IsPrivateFolder(folder) ? folder : "";
}

constexpr char kWhat[] = "jobs-";  // of base::SocketFolders

// All folders where a job of this user may have its socket: the job may have been started in a
// session with XDG_RUNTIME_DIR and be looked up in one without. `root`: the root folder of a
// process, whose view is used.
std::set<std::string> PrivateFolders(const std::string& root = "") {
  const std::vector<std::string> usual = base::SocketFolders(kWhat);
  std::set<std::string> folders(usual.begin(), usual.end());
  folders.insert("/run/user/" + std::to_string(geteuid()) + "/autodist");
  const std::string session = SessionFolder();
  if (!session.empty()) folders.insert(session + "/autodist");
  std::set<std::string> found;
  for (const std::string& folder : folders) {
    if (base::IsPrivateFolder(root + folder)) found.insert(root + folder);
  }
  return found;
}

// "/proc/PID/root" of the job's autodist, if it is on this machine; "": unknown.
std::string RootOfChief(const v1::JobStatus& job) {
  if (!base::IsThisHost(job.host())) return "";
  if (job.phase() == v1::JOB_PHASE_ENDED || job.chief_pid() <= 0) return "";
  return "/proc/" + std::to_string(job.chief_pid()) + "/root";
}

std::string SocketIn(const std::string& folder, const std::string& job_id) {
  return folder + "/" + job_id + kSuffix;
}

// Removes sockets in the folder on which no process listens, because their autodist was killed.
void RemoveAbandoned(const std::string& folder) {
  for (const std::string& name : base::EntriesOf(folder)) {
    const std::string path = folder + "/" + name;
    if (!path.ends_with(kSuffix)) continue;
    errno = 0;
    // Any other failure may be temporary: the listener may be too busy.
    if (!base::ConnectToThisUser(path, SOCK_NONBLOCK).valid() && errno == ECONNREFUSED) {
      unlink(path.c_str());
    }
  }
}

}  // namespace

bool IsJobId(std::string_view text) {
  const auto allowed = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-'; };
  return !text.empty() && text.size() <= kMaxJobIdLength && std::ranges::all_of(text, allowed);
}

Result<std::string> PlaceForSocket(const std::string& job_id) {
  if (!IsJobId(job_id)) return Error(StatusCode::kInvalidArgument, "not the name of a job");
  std::vector<std::string> folders = base::SocketFolders(kWhat);
  const std::string session = SessionFolder();
  if (!session.empty()) folders.insert(folders.begin(), session + "/autodist");
  Status refused = Error(StatusCode::kNotFound, "");
  for (const std::string& folder : folders) {
    if (!base::FitsUnixAddress(SocketIn(folder, job_id))) continue;
    const Status made = base::MakeSocketFolder(folder);
    if (made.ok()) return SocketIn(folder, job_id);
    if (refused.code() == StatusCode::kNotFound) refused = made;
  }
  return refused;
}

Result<base::UniqueFd> ListenAt(const std::string& path) {
  // Locked, so that no process removes a socket on which another is about to listen.
  const std::string folder = path.substr(0, path.rfind('/'));
  const base::UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return ErrnoError(errno, "locking " + folder);
  }
  RemoveAbandoned(folder);
  if (base::HasListener(path)) {
    return Error(StatusCode::kAlreadyExists, "another autodist listens at " + path);
  }
  return base::ListenAt(path);
}

Result<base::UniqueFd> ConnectTo(const std::string& job_id) {
  if (!IsJobId(job_id)) return Error(StatusCode::kInvalidArgument, "not the name of a job");
  const base::Deadline end = base::Deadline::After(kBusyLimit);
  bool busy = false;
  std::vector<std::string> folders;
  std::ranges::copy(PrivateFolders(), std::back_inserter(folders));
  // If each login has its own /tmp, the job's may not be visible here.
  const v1::JobStatus job = RecordOrId(job_id);
  const std::string root = RootOfChief(job);
  if (!root.empty()) std::ranges::copy(PrivateFolders(root), std::back_inserter(folders));
  for (const std::string& folder : folders) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end.when() - base::Deadline::Clock::now());
    errno = 0;
    base::UniqueFd fd = base::ConnectWithin(SocketIn(folder, job_id), std::max(left, kMinWait));
    if (fd.valid()) return fd;
    busy = busy || errno == EAGAIN;
  }
  if (busy) return NoAnswer(job);
  return Error(StatusCode::kNotFound, "no chief answers for job " + job_id);
}

std::set<std::string> JobsWithSocket() {
  std::set<std::string> jobs;
  for (const std::string& folder : PrivateFolders()) {
    for (std::string& name : base::EntriesOf(folder)) {
      if (!name.ends_with(kSuffix)) continue;
      name.resize(name.size() - (sizeof kSuffix - 1));
      if (IsJobId(name)) jobs.insert(std::move(name));
    }
  }
  return jobs;
}

}  // namespace autodist::control
