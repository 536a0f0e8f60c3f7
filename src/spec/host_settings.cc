#include "spec/host_settings.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/split.h"
#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

struct SettingNames {
  HostSetting setting;
  std::string_view text;   // for messages
  std::string_view names;  // in lower case, without the characters of kInNames
};

constexpr std::string_view kInNames = " _-./";
constexpr SettingNames kSettingNames[] = {
    {HostSetting::kAddress, "address", "ip ips ipaddress ipaddr ipv4 ipv6 address addr"},
    {HostSetting::kHost, "host",
     "host hosts hostname hostnames hostnameip fqdn dns dnsname node nodename nodelist server "
     "machine instance vm"},
    {HostSetting::kName, "name", "name label alias"},
    {HostSetting::kUser, "user", "user username login"},
    {HostSetting::kPort, "port", "port"},
    {HostSetting::kKeyFile, "key file",
     "keyfile identity identityfile sshkey privatekey privatekeyfile pem pemfile"},
    {HostSetting::kProxyJump, "jump host", "proxyjump jump jumphost bastion"},
    {HostSetting::kGpus, "GPUs", "gpus gpu ngpus numgpus gpuspernode gpucount numberofgpus"},
    {HostSetting::kSlots, "devices", "slots count cpu cpus np ncpus procs nprocs ppn numslots"},
    {HostSetting::kSlotLimit, "max devices", "maxslots slotsmax max maxcpus cpusmax"},
    {HostSetting::kRank, "rank (not used)", "rank id index idx no nr"},
    {HostSetting::kPassword, "password", "pass passphrase pw secret"},
};

// Other words at the beginning of a name: "private_ip", "ssh_port", "node_rank".
constexpr std::string_view kBeginnings[] = {"ssh",  "public", "private", "internal", "external",
                                            "node", "host",   "server",  "machine",  "instance"};

HostSetting KnownSetting(std::string_view plain) {
  if (plain.find("passw") != std::string_view::npos) return HostSetting::kPassword;
  for (const SettingNames& known : kSettingNames) {
    if (std::ranges::count(base::Split(known.names, ' '), plain) > 0) return known.setting;
  }
  return HostSetting::kUnknown;
}

}  // namespace

std::string_view SettingText(HostSetting setting) {
  const auto known = std::ranges::find(kSettingNames, setting, &SettingNames::setting);
  return known == std::end(kSettingNames) ? "text (not used)" : known->text;
}

HostSetting SettingNamed(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (kInNames.find(c) != std::string_view::npos) continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  HostSetting setting = KnownSetting(plain);
  for (const std::string_view beginning : kBeginnings) {
    std::string_view rest = plain;
    if (setting == HostSetting::kUnknown && base::TakePrefix(rest, beginning)) {
      setting = KnownSetting(rest);
    }
  }
  return setting;
}

bool IsLikeAPort(uint32_t number) {
  return number == 22 || number == 222 || number > kMaxDevicesOfAMachine;
}

std::string PartOfLine(std::string_view part, size_t line) {
  return Quoted(part) + " (line " + std::to_string(line) + ")";
}

HostSettings::Outcome HostSettings::Use(HostSetting setting, const Value& value) {
  const std::string text(value.text);
  switch (setting) {
    case HostSetting::kGpus:
    case HostSetting::kSlots:
      return UseDevices(setting == HostSetting::kGpus, value);
    case HostSetting::kPort:
      entry_.port = collector_.ReadPort(value.text, value.text_place);
      return entry_.port ? Outcome::kUsed : Outcome::kWrong;
    case HostSetting::kUser:
      return UseText(CheckUser(text), entry_.user, value);
    case HostSetting::kKeyFile:
      return UseText(CheckKeyFile(text), entry_.key_file, value);
    case HostSetting::kProxyJump:
      return UseText(CheckProxyJump(text), entry_.proxy_jump, value);
    case HostSetting::kPassword:
      collector_.Report(value.place, "remove " + Quoted(value.name) + ": " + kNoPassword);
      return Outcome::kWrong;
    case HostSetting::kSlotLimit:
      return Outcome::kUsed;
    default:
      return Outcome::kUnused;
  }
}

HostSettings::Outcome HostSettings::UseDevices(bool gpus, const Value& value) {
  if (has_gpus_ && !gpus) return Outcome::kUnused;
  if (entry_.slots && gpus == has_gpus_) {
    collector_.Report(value.place, Quoted(value.name) + " appears twice on this line; keep one");
    return Outcome::kWrong;
  }
  const uint32_t slots = collector_.ReadSlots(value.text, value.text_place);
  entry_.slots = slots;
  has_gpus_ = gpus;
  return slots > 0 ? Outcome::kUsed : Outcome::kWrong;
}

HostSettings::Outcome HostSettings::UseText(const Status& valid, std::string& to,
                                            const Value& value) {
  if (!valid.ok()) {
    collector_.Report(value.text_place, Message(valid));
    return Outcome::kWrong;
  }
  to = value.text;
  return Outcome::kUsed;
}

void HostSettings::AddLogin(std::string_view word, HostCollector::Place place) {
  const size_t size = word.size();
  if (base::TakePrefix(word, "ssh://")) place.column += size - word.size();
  if (const auto number = SplitHostWord(word).number) {
    entry_.port = collector_.ReadPort(*number, place);
    if (!entry_.port) return;
    word.remove_suffix(number->size() + 1);
  }
  collector_.AddWord(word, std::move(entry_), place);
}

}  // namespace autodist::spec
