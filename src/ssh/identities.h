// The keys that are offered to a server: those in files, those in ssh-agent, and certificates.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "ssh/key_file.h"
#include "ssh/ssh_agent.h"
#include "ssh/ssh_public_key.h"

namespace autodist::ssh {

struct IdentityOptions {
  std::vector<std::string> key_files;  // absolute, in order of preference
  // Whether the user named the files: then an issue with one of them is an error. Otherwise they
  // are ssh's default files, and missing ones are skipped.
  bool named_by_user = false;
  std::vector<std::string> certificate_files;  // in addition to KEY_FILE-cert.pub of each key file
  std::string agent_socket;                    // empty: no agent
  // Uses only those keys of the agent that are in `key_files` and `certificate_files`.
  bool only_these = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): the compiler compares its result with a literal 0
  auto operator<=>(const IdentityOptions&) const = default;
};

struct IdentityOffer {
  // In the order in which to offer them; one to five, because sshd hangs up at the sixth.
  std::vector<std::shared_ptr<const SshIdentity>> identities;
  // Why others could not be used: "/root/.ssh/id_rsa is encrypted and not in ssh-agent".
  std::vector<std::string> notes;
  // Whether keys were left out that only ssh itself can use.
  bool only_ssh_can_use_more = false;
};

// Reads each file once, decrypts each encrypted one once, and lists each agent's keys once,
// whatever the number of nodes. Thread-safe; calls wait for each other.
class Identities {
 public:
  // Blocks for the agent's answer, and for the user's if a passphrase is needed: that is the case
  // if the key is not in the agent, and the user named the file or there is no other key. Fails,
  // with a hint, if there is no key to offer; with kUnimplemented if ssh itself may have one.
  Result<IdentityOffer> For(const IdentityOptions& options);

 private:
  friend class IdentityCollector;
  struct Entry {
    Result<KeyFile> file;
    Status not_decrypted;
  };
  using AgentKeys = Result<std::vector<AgentKey>>;

  Entry& File(const std::string& path);
  Status Decrypt(Entry& entry);
  const AgentKeys& Agent(const std::string& socket);

  std::mutex mutex_;                          // guards the members below
  std::optional<PrivateSshAgent> decrypted_;  // holds the keys of encrypted files
  std::map<std::string, Entry> files_;
  std::map<std::string, AgentKeys> agents_;
  std::map<IdentityOptions, Result<IdentityOffer>> offers_;
};

}  // namespace autodist::ssh
