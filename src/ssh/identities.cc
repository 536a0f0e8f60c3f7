#include "ssh/identities.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/for_user.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "ssh/ssh_public_key.h"

namespace autodist::ssh {
namespace {

// sshd's MaxAuthTries is 6, and includes the request for the authentication methods.
constexpr size_t kMaxOffered = 5;

struct CertificateFile {
  std::string path;
  std::string blob;
  std::string plain_blob;
  bool has_key = false;
};

// A certificate, with the certified key to sign.
class CertifiedIdentity final : public SshIdentity {
 public:
  CertifiedIdentity(const CertificateFile& file, bool in_agent,
                    std::shared_ptr<const SshIdentity> signer)
      : blob_(file.blob),
        description_("certificate " + file.path + (in_agent ? " with its key in ssh-agent" : "")),
        signer_(std::move(signer)) {}

  const std::string& public_blob() const override { return blob_; }
  const std::string& description() const override { return description_; }
  bool slow() const override { return signer_->slow(); }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override {
    return signer_->SignRequest(request, stop);
  }

 private:
  const std::string blob_;
  const std::string description_;
  const std::shared_ptr<const SshIdentity> signer_;
};

// Describes a key that is in no file. Its comment is untrusted.
std::string Describe(const AgentKey& key) {
  return std::string(IsCertificate(key.blob) ? "certificate" : "key") +
         (key.comment.empty() ? "" : " '" + base::Printable(key.comment) + "'") + " in ssh-agent";
}

// Whether the file is one of ssh's default key files, which may be missing.
bool IsUsualKeyFile(const std::string& path) {
  constexpr const char* kNames[] = {"id_rsa",     "id_ecdsa",      "id_ecdsa_sk", "id_dsa",
                                    "id_ed25519", "id_ed25519_sk", "id_xmss"};
  return std::ranges::any_of(
      kNames, [&](const char* name) { return path.ends_with(std::string("/.ssh/") + name); });
}

// `remedies`: of the notes.
Status NothingToOffer(const IdentityOffer& offer, bool has_agent, const std::string& remedies) {
  std::string why;
  for (const std::string& note : offer.notes) why += (why.empty() ? ": " : "; ") + note;
  if (why.empty()) why = ": there is no key file";
  if (!has_agent) why += ", and no ssh-agent";
  return WithRemedy(
      Error(offer.only_ssh_can_use_more ? StatusCode::kUnimplemented
                                        : StatusCode::kFailedPrecondition,
            "no key to log in with" + why),
      !remedies.empty()
          ? remedies
          : base::ForUser("make a key (ssh-keygen), add one to ssh-agent (ssh-add), or name one: "
                          "[spec|key_file in the spec, or ][init|--key-file, or "
                          "]IdentityFile in ~/.ssh/config"));
}

}  // namespace

// Collects the keys for one offer. Used for one call, with the cache locked.
class IdentityCollector {
 public:
  IdentityCollector(Identities& cache, const IdentityOptions& options)
      : cache_(cache), options_(options) {}

  Result<IdentityOffer> Collect() {
    AskAgent();
    for (const std::string& path : options_.certificate_files) {
      const Status added = AddCertificateFile(path);
      if (added.code() == StatusCode::kNotFound && !options_.named_by_user) {
        Note(WithRemedy(Error(StatusCode::kNotFound,
                              "the configured certificate file " + path + " is not there"),
                        "correct CertificateFile in ~/.ssh/config"));
      }
      AD_RETURN_IF_ERROR(Issue(added));
    }
    for (const std::string& path : options_.key_files) AD_RETURN_IF_ERROR(AddKeyFile(path));
    AddOtherCertificates();
    if (!options_.only_these) AddOtherAgentKeys();
    UnlockDefaultKeys();
    return Offer();
  }

 private:
  using Group = std::vector<std::shared_ptr<const SshIdentity>>;

  void AskAgent() {
    if (options_.agent_socket.empty()) return;
    const auto& keys = cache_.Agent(options_.agent_socket);
    if (!keys.ok()) {
      Note(keys.status());
      return;
    }
    if (keys->empty()) {
      Note(WithRemedy(
          Error(StatusCode::kNotFound, "ssh-agent has no keys, or is locked"),
          "unlock it (ssh-add -X), or add a key (ssh-keygen makes one, ssh-add adds it)"));
    }
    for (const AgentKey& key : *keys) {
      if (!PlainKey(key.blob).empty()) {
        agent_keys_.push_back(key);
      } else if (IsSecurityKey(key.blob) && !options_.only_these) {
        offer_.notes.push_back(Describe(key) +
                               " belongs to a security key, which only ssh itself can use");
        offer_.only_ssh_can_use_more = true;
      }
    }
  }

  // Notes why a key cannot be used.
  void Note(const Status& why) {
    offer_.notes.push_back(Message(why));
    const std::string remedy = Remedy(why);
    if (remedy.empty() || remedies_.find(remedy) != std::string::npos) return;
    remedies_ += (remedies_.empty() ? "" : "; or ") + remedy;
  }

  // Returns `status`, or notes it if the user has not named the file.
  Status Issue(const Status& status) {
    offer_.only_ssh_can_use_more |= status.code() == StatusCode::kUnimplemented;
    if (status.ok() || options_.named_by_user) return status;
    if (status.code() != StatusCode::kNotFound) Note(status);
    return OkStatus();
  }

  // The same for a key file.
  Status KeyFileIssue(const Status& status, const std::string& path) {
    const bool is_missing = status.code() == StatusCode::kNotFound;
    if (is_missing && !options_.named_by_user && !IsUsualKeyFile(path)) {
      Note(WithRemedy(
          Error(StatusCode::kNotFound, "the configured key file " + path + " is not there"),
          "correct IdentityFile in ~/.ssh/config"));
    }
    return Issue(status);
  }

  Status AddCertificateFile(const std::string& path) {
    const std::string what = "certificate " + path;
    const auto blob = ReadPublicKeyFile(path);
    constexpr char kRemedy[] = "check the path of the certificate, or renew it (ssh-keygen -s)";
    if (!blob.ok()) return WithRemedy(Annotate(blob.status(), "certificate"), kRemedy);
    if (IsSecurityKey(*blob)) {
      return WithRemedy(Error(StatusCode::kUnimplemented,
                              what + " belongs to a security key, which only ssh itself can use"),
                        "use a key that is not on a security key");
    }
    const auto certificate = ReadCertificate(*blob);
    if (!certificate.ok()) return WithRemedy(Annotate(certificate.status(), what), kRemedy);
    if (!certificate->for_users) {
      return WithRemedy(Error(StatusCode::kInvalidArgument,
                              what + " is a host certificate, not a user certificate"),
                        kRemedy);
    }
    certificates_.push_back({path, *blob, certificate->plain_blob});
    return OkStatus();
  }

  Status AddKeyFile(const std::string& path) {
    Identities::Entry& entry = cache_.File(path);
    const size_t before = certificates_.size();
    if (const Status status = AddCertificateFile(path + "-cert.pub");
        status.code() != StatusCode::kNotFound) {
      AD_RETURN_IF_ERROR(Issue(status));
    }
    std::string blob = entry.file.ok() ? entry.file->public_blob : "";
    // The private key may be only in the agent.
    if (blob.empty()) blob = ReadPublicKeyFile(path + ".pub").value_or("");
    if (blob.empty()) blob = ReadPublicKeyFile(path).value_or("");
    if (blob.empty() && certificates_.size() > before) blob = certificates_.back().plain_blob;
    if (AddFromAgent(blob, path)) return OkStatus();
    if (!entry.file.ok()) return KeyFileIssue(entry.file.status(), path);
    if (!entry.file->key && !options_.named_by_user) {
      for (CertificateFile& certificate : certificates_) {
        certificate.has_key |= certificate.plain_blob == blob;
      }
      locked_.push_back(&entry);
      return OkStatus();
    }
    return AddFromFile(entry);
  }

  bool HasAgent(const std::string& blob) const {
    return std::ranges::find(agent_keys_, blob, &AgentKey::blob) != agent_keys_.end();
  }

  // Adds the key if the agent has it; returns whether it does.
  bool AddFromAgent(const std::string& blob, const std::string& path) {
    const auto certified = std::ranges::find_if(agent_keys_, [&](const AgentKey& key) {
      return IsCertificate(key.blob) && PlainKey(key.blob) == blob;
    });
    if (certified != agent_keys_.end()) {
      Add(from_agent_, InAgent(certified->blob, "certificate of " + path + " in ssh-agent"));
    }
    if (!HasAgent(blob)) return certified != agent_keys_.end();
    AddWithCertificates(from_agent_, InAgent(blob, path + " in ssh-agent"));
    return true;
  }

  Status AddFromFile(Identities::Entry& entry) {
    if (const Status decrypted = cache_.Decrypt(entry); !decrypted.ok()) return Issue(decrypted);
    AddWithCertificates(from_files_, entry.file->key);
    return OkStatus();
  }

  // Adds certificates in files whose key is in no file.
  void AddOtherCertificates() {
    for (const CertificateFile& certificate : certificates_) {
      if (certificate.has_key) continue;
      if (HasAgent(certificate.plain_blob)) {
        Add(from_agent_, std::make_shared<CertifiedIdentity>(
                             certificate, true, InAgent(certificate.plain_blob, certificate.path)));
      } else {
        Note(WithRemedy(
            Error(StatusCode::kNotFound, "the private key of certificate " + certificate.path +
                                             " is neither in a key file nor in "
                                             "ssh-agent"),
            "add that private key to ssh-agent (ssh-add)"));
      }
    }
  }

  void AddOtherAgentKeys() {
    for (const AgentKey& key : agent_keys_) Add(others_, InAgent(key.blob, Describe(key)));
  }

  // Unlocks one of ssh's encrypted default files, if there is no other key.
  void UnlockDefaultKeys() {
    const bool needed = from_agent_.empty() && others_.empty() && from_files_.empty();
    for (Identities::Entry* entry : locked_) {
      if (needed && from_files_.empty()) {
        (void)AddFromFile(*entry);
      } else {
        offer_.notes.push_back(entry->file->path + " is encrypted and not in ssh-agent");
      }
    }
  }

  Result<IdentityOffer> Offer() {
    const size_t named = std::min(from_agent_.size() + from_files_.size(), kMaxOffered);
    const size_t all = from_agent_.size() + others_.size() + from_files_.size();
    // Removes keys that the user did not name until the limit is met.
    others_.resize(std::min(others_.size(), kMaxOffered - named));
    auto& offered = offer_.identities;
    for (const Group* group : {&from_agent_, &others_, &from_files_}) {
      offered.insert(offered.end(), group->begin(), group->end());
    }
    offered.resize(std::min(offered.size(), kMaxOffered));
    if (all > kMaxOffered) {
      offer_.notes.push_back(base::Count(all - kMaxOffered, "more key") +
                             ", because servers limit the number of tries");
    }
    if (offered.empty()) {
      return NothingToOffer(offer_, !options_.agent_socket.empty(), remedies_);
    }
    return std::move(offer_);
  }

  std::shared_ptr<const SshIdentity> InAgent(const std::string& blob,
                                             const std::string& description) const {
    return std::make_shared<AgentIdentity>(options_.agent_socket, blob, description);
  }

  void Add(Group& group, std::shared_ptr<const SshIdentity> identity) {
    if (added_.insert(identity->public_blob()).second) group.push_back(std::move(identity));
  }

  void AddWithCertificates(Group& group, const std::shared_ptr<const SshIdentity>& plain) {
    for (CertificateFile& certificate : certificates_) {
      if (certificate.plain_blob != plain->public_blob()) continue;
      certificate.has_key = true;
      Add(group, std::make_shared<CertifiedIdentity>(certificate, &group == &from_agent_, plain));
    }
    Add(group, plain);
  }

  Identities& cache_;
  const IdentityOptions& options_;
  std::vector<AgentKey> agent_keys_;           // the ones usable here
  std::vector<CertificateFile> certificates_;  // from files
  std::vector<Identities::Entry*> locked_;     // encrypted, not in the agent, not named
  Group from_agent_;
  Group others_;  // only in the agent
  Group from_files_;
  std::set<std::string> added_;  // blobs
  IdentityOffer offer_;
  std::string remedies_;  // of the notes
};

Result<IdentityOffer> Identities::For(const IdentityOptions& options) {
  const std::lock_guard lock(mutex_);
  const auto [offer, is_new] = offers_.try_emplace(options);
  if (is_new) offer->second = IdentityCollector(*this, options).Collect();
  return offer->second;
}

Identities::Entry& Identities::File(const std::string& path) {
  const auto [entry, is_new] = files_.try_emplace(path);
  if (is_new) entry->second.file = ReadKeyFile(path);
  return entry->second;
}

Status Identities::Decrypt(Entry& entry) {
  if (entry.file->key || !entry.not_decrypted.ok()) return entry.not_decrypted;
  const std::string& path = entry.file->path;
  const auto decrypt = [&]() -> Result<std::string> {
    if (!decrypted_) {
      AD_ASSIGN_OR_RETURN(decrypted_, PrivateSshAgent::Start());
    }
    AD_RETURN_IF_ERROR(decrypted_->Add(path));
    AD_ASSIGN_OR_RETURN(const auto keys, SshAgent(decrypted_->socket()).Keys());
    // ssh-agent names a key without a comment after its file, and also keys of PEM files. The .pub
    // file of a PEM file may belong to another key, so its blob is no proof.
    auto added = std::ranges::find(keys, path, &AgentKey::comment);
    if (added == keys.end()) {
      added = std::ranges::find(keys, entry.file->public_blob, &AgentKey::blob);
    }
    if (added != keys.end()) return added->blob;
    return Error(StatusCode::kInternal, "ssh-agent does not have it");
  };
  const auto blob = decrypt();
  if (blob.ok()) {
    entry.file->public_blob = *blob;
    entry.file->key = std::make_shared<AgentIdentity>(decrypted_->socket(), *blob, path);
  } else {
    entry.not_decrypted = Annotate(blob.status(), "key file " + path + " is encrypted");
  }
  return entry.not_decrypted;
}

const Identities::AgentKeys& Identities::Agent(const std::string& socket) {
  const auto [keys, is_new] = agents_.try_emplace(socket);
  if (is_new) keys->second = SshAgent(socket).Keys();
  return keys->second;
}

}  // namespace autodist::ssh
