#include "ssh/known_hosts.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <sstream>

#include "base/fd.h"
#include "base/for_user.h"
#include "base/ssh_pattern.h"
#include "ssh/ssh_public_key.h"

namespace autodist::ssh {
namespace {

constexpr size_t kLargestFile = 64 << 20;

// Formats a host as in known_hosts: bare on port 22, "[host]:port" elsewhere.
std::string NameOf(const std::string& host, uint16_t port) {
  return port == 22 ? absl::AsciiStrToLower(host)
                    : "[" + absl::AsciiStrToLower(host) + "]:" + std::to_string(port);
}

// HMAC-SHA1 of names. Every line has a different salt, so every name is hashed with every salt;
// work that does not depend on the salt is done once.
class HostHash {
 public:
  HostHash() {
    std::string digest = "SHA1";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string("digest", digest.data(), digest.size()),
        OSSL_PARAM_construct_end()};
    EVP_MAC_CTX_set_params(context_.get(), parameters);
  }
  std::string Of(const std::string& name, std::string_view salt) const {
    std::string hash(SHA_DIGEST_LENGTH, '\0');
    size_t size = 0;
    EVP_MAC_init(context_.get(), Bytes(salt), salt.size(), nullptr);
    EVP_MAC_update(context_.get(), Bytes(name), name.size());
    EVP_MAC_final(context_.get(), reinterpret_cast<unsigned char*>(hash.data()), &size,
                  hash.size());
    return hash;
  }

 private:
  struct Free {
    void operator()(EVP_MAC* algorithm) const { EVP_MAC_free(algorithm); }
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };
  static const unsigned char* Bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }
  const std::unique_ptr<EVP_MAC, Free> algorithm_{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  const std::unique_ptr<EVP_MAC_CTX, Free> context_{EVP_MAC_CTX_new(algorithm_.get())};
};

std::string Hashed(const std::string& name) {
  std::string salt(SHA_DIGEST_LENGTH, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size()));
  return "|1|" + absl::Base64Escape(salt) + "|" + absl::Base64Escape(HostHash().Of(name, salt));
}

std::string LineOf(const std::string& name, std::string_view key) {
  return name + " " + std::string(KeyType(key)) + " " +
         absl::Base64Escape({key.data(), key.size()});
}

}  // namespace

KnownHosts::KnownHosts(const std::vector<std::string>& paths)
    : first_path_(paths.empty() ? "" : paths.front()) {
  for (const std::string& path : paths) {
    if (const auto text = base::ReadFile(path, kLargestFile); text.ok()) Append(*text, path);
  }
}

KnownHosts::KnownHosts(const std::string& text, const std::string& name) { Append(text, name); }

std::shared_ptr<KnownHosts> KnownHosts::OfOneHost(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += "* " + key + "\n";
  return std::make_shared<KnownHosts>(
      text, base::ForUser(
                "[spec|host_keys in the spec][hosts,init,allocation,here|the known keys], number"));
}

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
    if (first.starts_with("|1|")) {  // "|1|base64(salt)|base64(hash)"
      const size_t bar = std::min(first.find('|', 3), first.size() - 1);
      entry.salt = DecodeBase64(std::string_view(first).substr(3, bar - 3)).value_or("");
      entry.hash = DecodeBase64(std::string_view(first).substr(bar + 1)).value_or("");
    } else {
      std::istringstream patterns(absl::AsciiStrToLower(first));
      while (std::getline(patterns, first, ',')) entry.patterns.push_back(first);
    }
    std::string key;
    if (!(fields >> entry.type >> key)) continue;
    entry.key = DecodeBase64(key).value_or("");
    if (KeyType(entry.key) != entry.type) continue;
    entry.where = name + ":" + std::to_string(number);
    Append(std::move(entry));
  }
}

void KnownHosts::Append(Entry entry) {
  const size_t index = entries_.size();
  if (entry.patterns.empty()) {
    hashed_.push_back(index);
  } else if (std::ranges::any_of(entry.patterns, [](const std::string& pattern) {
               return pattern.find_first_of("*?!") != std::string::npos;
             })) {
    patterned_.push_back(index);
  } else {
    for (const std::string& name : entry.patterns) named_[name].push_back(index);
  }
  entries_.push_back(std::move(entry));
}

const std::vector<size_t>& KnownHosts::EntriesOf(const std::string& name) const {
  const auto [known, is_new] = asked_.try_emplace(name);
  std::vector<size_t>& found = known->second;
  if (!is_new) return found;
  if (const auto named = named_.find(name); named != named_.end()) found = named->second;
  for (const size_t index : patterned_) {
    if (base::MatchesSshPatterns(name, entries_[index].patterns)) found.push_back(index);
  }
  const HostHash hash;
  std::erase_if(hashed_, [&](size_t index) {
    const Entry& entry = entries_[index];
    if (entry.hash != hash.Of(name, entry.salt)) return false;
    found.push_back(index);
    return true;  // it has only this name
  });
  std::ranges::sort(found);
  return found;
}

KnownHosts::Answer KnownHosts::CheckName(const std::string& name, std::string_view key) const {
  const std::string_view type = KeyType(key);
  Answer answer{Match::kUnknown, first_path_};
  for (const size_t index : EntriesOf(name)) {
    const Entry& entry = entries_[index];
    if (entry.kind == Entry::Kind::kRevoked) {
      if (entry.key == key) return {Match::kRevoked, entry.where};
    } else if (entry.kind == Entry::Kind::kKey && answer.match != Match::kTrusted &&
               entry.type == type) {
      answer = {entry.key == key ? Match::kTrusted : Match::kChanged, entry.where};
    }
  }
  return answer;
}

KnownHosts::Answer KnownHosts::Check(const std::string& host, uint16_t port,
                                     std::string_view key) const {
  const std::lock_guard lock(mutex_);
  Answer answer = CheckName(NameOf(host, port), key);
  if (answer.match == Match::kUnknown && port != 22) {
    // As in ssh, a key that is trusted for the host is trusted on its other ports.
    Answer plain = CheckName(NameOf(host, 22), key);
    if (plain.match != Match::kChanged) return plain;
  }
  return answer;
}

std::vector<std::string> KnownHosts::KeysOf(const std::string& host, uint16_t port) const {
  std::map<std::string, std::string> keys;  // with their text
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : {NameOf(host, port), NameOf(host, 22)}) {
      for (const size_t index : EntriesOf(name)) {
        const Entry& entry = entries_[index];
        keys[entry.key] = entry.type + " " + absl::Base64Escape(entry.key);
      }
    }
  }
  std::vector<std::string> trusted;
  for (const auto& [key, text] : keys) {
    if (Check(host, port, key).match == Match::kTrusted) trusted.push_back(text);
  }
  return trusted;
}

std::vector<std::string> KnownHosts::KeyTypes(const std::string& host, uint16_t port) const {
  const std::lock_guard lock(mutex_);
  const std::string name = NameOf(host, port);
  std::vector<std::string> types;
  for (const size_t index : EntriesOf(name)) {
    const Entry& entry = entries_[index];
    if (entry.kind == Entry::Kind::kKey &&
        std::find(types.begin(), types.end(), entry.type) == types.end()) {
      types.push_back(entry.type);
    }
  }
  return types;
}

bool KnownHosts::HasAuthority(const std::string& host, uint16_t port) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(EntriesOf(NameOf(host, port)), [this](size_t index) {
    return entries_[index].kind == Entry::Kind::kAuthority;
  });
}

Status KnownHosts::Add(const std::string& host, uint16_t port, std::string_view key, bool hashed) {
  const std::lock_guard lock(mutex_);
  const std::string what = "adding the host key to " + first_path_;
  const auto failed = [this](const Status& why) {
    // The ssh program logs in without writing it.
    if (why.code() == StatusCode::kPermissionDenied) return why;
    const bool full = why.code() == StatusCode::kResourceExhausted;
    return Status(StatusCode::kFailedPrecondition, Message(why),
                  full ? "make room on the disk of " + first_path_ : "");
  };
  const std::string folder = first_path_.substr(0, first_path_.rfind('/'));
  mkdir(folder.c_str(), 0700);  // may already exist
  const base::UniqueFd file(
      open(first_path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return failed(ErrnoError(errno, what));
  const std::string name = NameOf(host, port);
  std::string line = LineOf(hashed ? Hashed(name) : name, key) + "\n";
  char last = '\n';
  const off_t size = lseek(file.get(), 0, SEEK_END);
  if (size > 0 && pread(file.get(), &last, 1, size - 1) == 1 && last != '\n') line.insert(0, "\n");
  const Status written = base::WriteAll(file.get(), line, base::Deadline::Never());
  if (!written.ok()) {
    (void)!ftruncate(file.get(), size);  // the next line would continue a part of this one
    return failed(Annotate(written, what));
  }
  Entry entry;
  entry.patterns = {name};
  entry.type = KeyType(key);
  entry.key = key;
  entry.where = first_path_ + " (just added)";
  const auto asked = asked_.find(name);
  if (asked != asked_.end()) asked->second.push_back(entries_.size());
  Append(std::move(entry));
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

std::string KnownHosts::Describe(std::string_view key) {
  return std::string(KeyType(key)) + " " + Fingerprint(key);
}

}  // namespace autodist::ssh
