// Which keys are offered to a server: those in files, those in ssh-agent, and certificates.
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
#include "ssh/private_ssh_agent.h"
#include "ssh/ssh_agent.h"
#include "ssh/ssh_identity.h"

namespace autodist::ssh {

struct IdentityOptions {
  std::vector<std::string> key_files;  // absolute, in order of preference
  // Whether the user named the files: then an issue with one of them is an error. Else they are
  // those that ssh looks for: what is not there is passed over.
  bool named_by_user = false;
  std::vector<std::string> certificate_files;  // besides KEY_FILE-cert.pub of each key file
  std::string agent_socket;                    // empty: no agent
  // Nothing else from the agent than the keys of `key_files` and `certificate_files`.
  bool only_these = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): the compiler compares its result with a literal 0
  auto operator<=>(const IdentityOptions&) const = default;
};

struct IdentityOffer {
  // In the order in which to offer them; at least one, at most five: sshd hangs up at the sixth.
  std::vector<std::shared_ptr<const SshIdentity>> identities;
  // What could not be used, and why: "/root/.ssh/id_rsa is encrypted and not in ssh-agent".
  std::vector<std::string> notes;
  // Whether keys were left out that only ssh itself can use.
  bool only_ssh_can_use_more = false;
};

// Reads each file once, has each that is encrypted decrypted once, and asks each agent once what it
// holds, however many nodes want them. Thread-safe; one call at a time goes on, the others wait.
class Identities {
 public:
  // Blocks for the agent's answer, and for the person's where a passphrase is needed: it is asked
  // for if the key is not in the agent, and the user named the file or there is nothing else to
  // offer. Fails, with a remedy, if there is nothing to offer; with kUnimplemented if ssh itself
  // may have something.
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

  std::mutex mutex_;                          // guards the rest
  std::optional<PrivateSshAgent> decrypted_;  // the keys of encrypted files
  std::map<std::string, Entry> files_;
  std::map<std::string, AgentKeys> agents_;
  std::map<IdentityOptions, Result<IdentityOffer>> offers_;
};

}  // namespace autodist::ssh
