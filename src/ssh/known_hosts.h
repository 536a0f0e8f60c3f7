// Trusted host keys: OpenSSH's known_hosts files (format: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
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
    // "file:line" of the decisive entry; for kUnknown the file that Add writes to.
    std::string where;
  };

  // Reads the files in this order. A missing one counts as empty; invalid lines are skipped, as ssh
  // does.
  explicit KnownHosts(const std::vector<std::string>& paths);

  // The same for the text of a file; `name` stands for the file in answers.
  KnownHosts(const std::string& text, const std::string& name);

  // Makes an object in which every host name and port has these keys, each as "type base64".
  static std::shared_ptr<KnownHosts> OfOneHost(const std::vector<std::string>& keys);

  // Returns the keys that are trusted for the host, each as "type base64".
  std::vector<std::string> KeysOf(const std::string& host, uint16_t port) const;

  // `key` is the public key in wire format.
  Answer Check(const std::string& host, uint16_t port, std::string_view key) const;

  // Returns the key types known for the host, such as "ssh-ed25519"; the server is asked for these
  // first.
  std::vector<std::string> KeyTypes(const std::string& host, uint16_t port) const;

  // Whether a certificate authority is trusted for the host.
  bool HasAuthority(const std::string& host, uint16_t port) const;

  // Trusts `key` from now on, and writes it to the first of the files, which is created if missing.
  // `hashed`: hashes the host name (HashKnownHosts). kPermissionDenied: it may not be written;
  // kFailedPrecondition: it cannot.
  Status Add(const std::string& host, uint16_t port, std::string_view key, bool hashed);

  // Returns the line that adds trust in `key`.
  static std::string Line(const std::string& host, uint16_t port, std::string_view key);

  // "SHA256:...", as ssh-keygen -l prints it.
  static std::string Fingerprint(std::string_view key);
  // The same after the key's type: "ssh-ed25519 SHA256:...".
  static std::string Describe(std::string_view key);

 private:
  struct Entry {
    std::vector<std::string> patterns;  // in lower case; empty if the name is hashed
    std::string salt;                   // of a hashed name
    std::string hash;
    std::string type;
    std::string key;  // in wire format
    enum class Kind { kKey, kAuthority, kRevoked } kind = Kind::kKey;
    std::string where;
  };
  void Append(const std::string& text, const std::string& name);
  void Append(Entry entry);
  // Returns the indices of the entries, in order. Call with mutex_ held.
  const std::vector<size_t>& EntriesOf(const std::string& name) const;
  Answer CheckName(const std::string& name, std::string_view key) const;  // mutex_ held

  const std::string first_path_;  // the file that Add writes to
  mutable std::mutex mutex_;
  // Guarded by mutex_. Indexed, because a file may have several lines for each of thousands of
  // hosts, all of which are looked up.
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::vector<size_t>> named_;  // indices of those without patterns
  std::vector<size_t> patterned_;
  mutable std::vector<size_t> hashed_;  // of hashed entries whose name is not yet known
  mutable std::unordered_map<std::string, std::vector<size_t>> asked_;
};

}  // namespace autodist::ssh
