#include "transport/known_hosts.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include "base/fd.h"
#include "transport/ssh_public_key.h"
#include "transport/ssh_wire.h"

namespace autodist::transport {
namespace {

constexpr size_t kLargestFile = 64 << 20;

// How known_hosts writes a host: bare on port 22, "[host]:port" elsewhere.
std::string NameOf(const std::string& host, uint16_t port) {
  return port == 22 ? absl::AsciiStrToLower(host)
                    : "[" + absl::AsciiStrToLower(host) + "]:" + std::to_string(port);
}

// '*' matches any run of characters, '?' one.
bool Glob(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// HMAC-SHA1(salt, name)
std::string HostHash(std::string_view salt, const std::string& name) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  HMAC(EVP_sha1(), salt.data(), static_cast<int>(salt.size()),
       reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest.data(), &size);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

// A field "|1|base64(salt)|base64(hash)".
bool MatchesHash(std::string_view field, const std::string& name) {
  const size_t bar = field.find('|', 3);
  if (bar == std::string_view::npos) return false;
  const auto salt = DecodeBase64(field.substr(3, bar - 3));
  const auto hash = DecodeBase64(field.substr(bar + 1));
  return salt && hash && *hash == HostHash(*salt, name);
}

std::string Hashed(const std::string& name) {
  std::string salt(SHA_DIGEST_LENGTH, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size()));
  return "|1|" + absl::Base64Escape(salt) + "|" + absl::Base64Escape(HostHash(salt, name));
}

std::string LineOf(const std::string& name, std::string_view key) {
  return name + " " + KnownHosts::KeyType(key) + " " + absl::Base64Escape({key.data(), key.size()});
}

}  // namespace

KnownHosts::KnownHosts(const std::vector<std::string>& paths)
    : first_path_(paths.empty() ? "" : paths.front()) {
  for (const std::string& path : paths) {
    if (const auto text = base::ReadFile(path, kLargestFile); text.ok()) Append(*text, path);
  }
}

KnownHosts::KnownHosts(const std::string& text, const std::string& name) { Append(text, name); }

void KnownHosts::Append(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream fields(line);
    std::string first;
    if (!(fields >> first) || first[0] == '#') continue;
    Entry entry;
    if (first[0] == '@') {
      if (first == "@revoked") {
        entry.kind = Entry::Kind::kRevoked;
      } else if (first == "@cert-authority") {
        entry.kind = Entry::Kind::kAuthority;
      } else {
        continue;
      }
      if (!(fields >> first)) continue;
    }
    if (first.starts_with("|1|")) {
      entry.patterns = {first};
    } else {
      std::istringstream patterns(absl::AsciiStrToLower(first));
      while (std::getline(patterns, first, ',')) entry.patterns.push_back(first);
    }
    std::string key;
    if (!(fields >> entry.type >> key)) continue;
    entry.key = DecodeBase64(key).value_or("");
    if (KeyType(entry.key) != entry.type) continue;
    entry.where = name + ":" + std::to_string(number);
    entries_.push_back(std::move(entry));
  }
}

bool KnownHosts::Matches(const Entry& entry, const std::string& name) {
  bool matched = false;
  for (const std::string& pattern : entry.patterns) {
    if (pattern.starts_with("|1|")) return MatchesHash(pattern, name);
    const bool negated = pattern.starts_with('!');
    if (!Glob(std::string_view(pattern).substr(negated ? 1 : 0), name)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

KnownHosts::Answer KnownHosts::CheckName(const std::string& name, std::string_view key) const {
  const std::string type = KeyType(key);
  Answer answer{Verdict::kUnknown, ""};
  for (const Entry& entry : entries_) {
    if (entry.kind == Entry::Kind::kRevoked) {
      if (entry.key == key && Matches(entry, name)) return {Verdict::kRevoked, entry.where};
    } else if (entry.kind == Entry::Kind::kKey && answer.verdict != Verdict::kTrusted &&
               entry.type == type && Matches(entry, name)) {
      answer = {entry.key == key ? Verdict::kTrusted : Verdict::kChanged, entry.where};
    }
  }
  return answer;
}

KnownHosts::Answer KnownHosts::Check(const std::string& host, uint16_t port,
                                     std::string_view key) const {
  const std::lock_guard lock(mutex_);
  Answer answer = CheckName(NameOf(host, port), key);
  if (answer.verdict == Verdict::kUnknown && port != 22) {
    // As ssh does: a key trusted for the host is trusted on its other ports.
    Answer plain = CheckName(NameOf(host, 22), key);
    if (plain.verdict != Verdict::kChanged) return plain;
  }
  return answer;
}

std::vector<std::string> KnownHosts::KeyTypes(const std::string& host, uint16_t port) const {
  const std::lock_guard lock(mutex_);
  const std::string name = NameOf(host, port);
  std::vector<std::string> types;
  for (const Entry& entry : entries_) {
    if (entry.kind == Entry::Kind::kKey && Matches(entry, name) &&
        std::find(types.begin(), types.end(), entry.type) == types.end()) {
      types.push_back(entry.type);
    }
  }
  return types;
}

bool KnownHosts::HasAuthority(const std::string& host, uint16_t port) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [name = NameOf(host, port)](const Entry& entry) {
    return entry.kind == Entry::Kind::kAuthority && Matches(entry, name);
  });
}

Status KnownHosts::Add(const std::string& host, uint16_t port, std::string_view key, bool hashed) {
  const std::lock_guard lock(mutex_);
  const std::string folder = first_path_.substr(0, first_path_.rfind('/'));
  mkdir(folder.c_str(), 0700);  // where it exists already, nothing happens
  const base::UniqueFd file(
      open(first_path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError(errno, "adding the host key to " + first_path_);
  const std::string name = NameOf(host, port);
  std::string line = LineOf(hashed ? Hashed(name) : name, key) + "\n";
  char last = '\n';
  const off_t size = lseek(file.get(), 0, SEEK_END);
  if (size > 0 && pread(file.get(), &last, 1, size - 1) == 1 && last != '\n') line.insert(0, "\n");
  const Status written = base::WriteAll(file.get(), line, base::Deadline::Never());
  if (!written.ok()) return Annotate(written, "adding the host key to " + first_path_);
  entries_.push_back(
      {{name}, KeyType(key), std::string(key), Entry::Kind::kKey, first_path_ + " (just added)"});
  return OkStatus();
}

std::string KnownHosts::Line(const std::string& host, uint16_t port, std::string_view key) {
  return LineOf(NameOf(host, port), key);
}

std::string KnownHosts::Fingerprint(std::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_Digest(key.data(), key.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string text = absl::Base64Escape({reinterpret_cast<const char*>(digest.data()), size});
  while (text.ends_with('=')) text.pop_back();
  return "SHA256:" + text;
}

std::string KnownHosts::KeyType(std::string_view key) {
  return std::string(WireReader(key).String());
}

}  // namespace autodist::transport
