// Which host keys are trusted: OpenSSH's known_hosts files (format: sshd(8), SSH_KNOWN_HOSTS FILE
// FORMAT).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autodist/status.h"

namespace autodist::ssh {

// Thread-safe.
class KnownHosts {
 public:
  enum class Match { kTrusted, kUnknown, kChanged, kRevoked };
  struct Answer {
    Match match;
    std::string where;  // "file:line" of the entry that decided; empty for kUnknown
  };

  // Reads the files in this order. One that does not exist counts as empty; lines that make no
  // sense are skipped, as ssh does.
  explicit KnownHosts(const std::vector<std::string>& paths);

  // The same from the text of a file; `name` stands for the file in answers.
  KnownHosts(const std::string& text, const std::string& name);

  // Of a host that has these keys, each as "type base64", by whatever name and port it is asked
  // for.
  static std::shared_ptr<KnownHosts> OfOneHost(const std::vector<std::string>& keys);

  // The keys that are trusted for the host, each as "type base64".
  std::vector<std::string> KeysOf(const std::string& host, uint16_t port) const;

  // `key` is the public key as it travels on the wire.
  Answer Check(const std::string& host, uint16_t port, std::string_view key) const;

  // The key types known for the host, such as "ssh-ed25519"; to be asked of the server first.
  std::vector<std::string> KeyTypes(const std::string& host, uint16_t port) const;

  // Whether a certificate authority is trusted to vouch for the host.
  bool HasAuthority(const std::string& host, uint16_t port) const;

  // Trusts `key` from now on, and writes that to the first of the files, which is made if it does
  // not exist. `hashed`: the name is not readable there (HashKnownHosts).
  Status Add(const std::string& host, uint16_t port, std::string_view key, bool hashed);

  // The line to add to trust `key`.
  static std::string Line(const std::string& host, uint16_t port, std::string_view key);

  // "SHA256:...", as ssh-keygen -l prints it.
  static std::string Fingerprint(std::string_view key);
  // The same with the key's type before it: "ssh-ed25519 SHA256:...".
  static std::string Describe(std::string_view key);

 private:
  struct Entry {
    std::vector<std::string> patterns;  // in lower case; empty where the name is hashed
    std::string salt;                   // of a hashed name
    std::string hash;
    std::string type;
    std::string key;  // as on the wire
    enum class Kind { kKey, kAuthority, kRevoked } kind = Kind::kKey;
    std::string where;
  };
  void Append(const std::string& text, const std::string& name);
  void Append(Entry entry);
  // Their indices, in order; mutex_ held.
  const std::vector<size_t>& EntriesOf(const std::string& name) const;
  Answer CheckName(const std::string& name, std::string_view key) const;  // mutex_ held

  const std::string first_path_;  // where Add writes
  mutable std::mutex mutex_;
  // Guarded by mutex_. A file may have some lines for each of thousands of hosts, all of which are
  // asked for.
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::vector<size_t>> named_;  // indices of those without patterns
  std::vector<size_t> patterned_;
  mutable std::vector<size_t> hashed_;  // of which it is not known yet of what name
  mutable std::unordered_map<std::string, std::vector<size_t>> asked_;
};

}  // namespace autodist::ssh
