// Why a node cannot be reached: a table with a row for each cause, in the order of the steps of a
// login. A row has the text that shows the cause, the sentence about it, and the hint. Everything
// that connects to nodes makes its errors here, so that a hint fits its cause. Pure functions.
#pragma once

#include <chrono>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"

namespace autodist::transport {

// Who prints the text that shows a cause.
enum class SaidBy {
  kNone,           // the cause is found by other means
  kConfiguration,  // the `ssh` program, about its configuration
  kSsh,            // the `ssh` program
  kJumpHost,       // the `ssh` program that logs in to a jump host, among the output of a proxy
  kServer,         // the server or the login shell, for people
};

struct Cause {
  StatusCode code;
  // Both have sections for sources (base/for_user.h), and placeholders such as {said}. {port} is
  // where the user sets the port of a node's sshd.
  const char* sentence;
  const char* hint;  // may be empty; also with the placeholders of WithLogin
  SaidBy said_by = SaidBy::kNone;
  const char* evidence = "";  // texts in lower case, separated by '|'; one of them is enough
};

namespace cause {

using enum StatusCode;
using enum SaidBy;

inline constexpr char kCheckAddress[] =
    "check that the machine is up, the address is right and no firewall blocks the port";
inline constexpr char kLimitsOfServer[] =
    "raise MaxStartups in sshd_config[spec,hosts| or lower --fan-out]; fail2ban or TCP wrappers "
    "may also refuse this machine (see the server's log)";
inline constexpr char kServersLog[] = "see the server's log (journalctl -u ssh)";
inline constexpr char kFolderHangs[] =
    "run `df ~/.cache /tmp` on the node: a file system may hang; if it is only slow, raise "
    "--start-timeout";
inline constexpr char kServerSays[] = "the server says: {said}";

// ssh reads its configuration.
inline constexpr Cause kNoSshProgram{
    kFailedPrecondition, "only the ssh program can log in there, and 'ssh' is not in PATH ({path})",
    "install OpenSSH's client, or correct PATH"};
inline constexpr Cause kOldSsh{
    kFailedPrecondition, "the ssh program of this machine is too old: {said}",
    "install a newer OpenSSH client", kConfiguration, "command-line: line 0: "};
inline constexpr Cause kNotPlainText{
    kInvalidArgument, "{said}", "save that file as plain UTF-8, without a byte order mark",
    kConfiguration,
    "bad configuration option: \\357|bad configuration option: \\376|"
    "bad configuration option: \\377"};
inline constexpr Cause kUnknownOption{kInvalidArgument, "{said}",
                                      "remove that line, or write `IgnoreUnknown {rest}` at the "
                                      "top of the file, before the first Host",
                                      kConfiguration, "bad configuration option: "};
inline constexpr Cause kConfigPermissions{kInvalidArgument, "{said}",
                                          "run `chmod go-w {rest}`; the file must be yours",
                                          kConfiguration, "bad owner or permissions on "};
inline constexpr Cause kWrongConfigLine{kInvalidArgument, "{before}", "correct that line",
                                        kConfiguration, ": terminating, "};
inline constexpr Cause kConfigFails{kFailedPrecondition, "`ssh -G {node}` fails:\n{said}",
                                    "correct ~/.ssh/config"};
inline constexpr Cause kNotExpanded{kFailedPrecondition, "ssh cannot replace its tokens:\n{said}",
                                    "correct ~/.ssh/config"};
inline constexpr Cause kConfigHangs{
    kDeadlineExceeded, "`ssh -G {node}` has not ended: {said}",
    "correct ~/.ssh/config: a program that `Match exec` runs may hang"};

// The name is resolved.
inline constexpr Cause kSilentNameService{
    kDeadlineExceeded, "name does not resolve: {said}",
    "check the name servers of /etc/resolv.conf[spec,hosts,init|, or give IP addresses]", kSsh,
    "temporary failure in name resolution|the name service does not answer"};
inline constexpr Cause kUnknownName{kNotFound, "name does not resolve: {said}",
                                    "[spec,hosts,init|correct the name][spec| in the "
                                    "spec][spec,hosts,init|, or give the IP address]",
                                    kSsh, "ssh: could not resolve hostname"};
inline constexpr Cause kWrongFamily{
    kNotFound,
    "'{name}' has no address of AddressFamily {family}, which OpenSSH's configuration asks for",
    "correct AddressFamily in ~/.ssh/config, or give an address of that kind"};
inline constexpr Cause kLoopbackName{
    kFailedPrecondition, "'{name}' resolves to {address} here, which is a loopback address",
    "[spec,hosts,init|give the IP address, or ]correct the line of /etc/hosts, or the HostName in "
    "~/.ssh/config"};

// A connection is made, also through a proxy.
inline constexpr Cause kConnectTimeout{kDeadlineExceeded, "connecting timed out after {limit}",
                                       kCheckAddress};
inline constexpr Cause kSshTimeout{kDeadlineExceeded, "{said}", kCheckAddress, kSsh, "timed out"};
inline constexpr Cause kRefused{kUnavailable, "{said}", "start sshd on the node, or correct {port}",
                                kSsh, "connection refused"};
// The kernel reports it if no machine of this network has the address; a firewall may cause it,
// too.
inline constexpr Cause kHostSilent{
    kUnavailable, "no answer: {said}",
    "check that the machine is up, the address is right and no firewall rejects the connection"};
inline constexpr char kConnectToNetwork[] =
    "correct the address, or connect this machine to that network (`ip route` shows its routes); "
    "behind a gateway, set [spec|proxy_jump in the spec, or ]ProxyJump in ~/.ssh/config";
inline constexpr Cause kNoRoute{kUnavailable, "no route: {said}", kConnectToNetwork};
inline constexpr char kCheckJumpHosts[] =
    "check that the machine and its jump hosts are up and the addresses are right";
inline constexpr Cause kSshHostSilent{kUnavailable, "no answer: {said}", kCheckJumpHosts, kSsh,
                                      "no route to host|host is unreachable"};
inline constexpr Cause kSshNoRoute{kUnavailable, "no route: {said}", kConnectToNetwork, kSsh,
                                   "network is unreachable"};
inline constexpr Cause kNoInterface{
    kInvalidArgument, "{said}",
    "the name after the % must be one of this machine's interfaces (`ip link`)"};
inline constexpr Cause kNotConnected{kUnavailable, "{said}", kCheckAddress};
inline constexpr char kJumpHostLoginFails[] = "the login to its jump host fails: {said}";
inline constexpr char kTestJumpHost[] = "make {jump} work here ({jump_from})";
inline constexpr Cause kJumpHostForbids{
    kUnavailable, "its jump host forbids connections to other machines: {said}",
    "permit them there: look at AllowTcpForwarding and PermitOpen in sshd_config, and at "
    "`no-port-forwarding` and `permitopen=` in authorized_keys",
    kJumpHost, "open failed: administratively prohibited"};
inline constexpr Cause kJumpHostFails{
    kUnavailable, "its jump host does not reach it: {said}",
    "check that the node is up, and that the jump host reaches {target}", kJumpHost,
    "stdio forwarding failed"};
inline constexpr Cause kJumpHostRefuses{
    kPermissionDenied, kJumpHostLoginFails, kTestJumpHost, kJumpHost,
    "permission denied (publickey|permission denied (gssapi-|permission denied (hostbased|"
    "permission denied (password|permission denied (keyboard-interactive|"
    "too many authentication failures|unable to negotiate with|host key verification failed"};
inline constexpr Cause kJumpHostUnreachable{kUnavailable, "its jump host cannot be reached: {said}",
                                            kTestJumpHost, kJumpHost,
                                            "ssh: connect to host|ssh: could not resolve hostname"};
inline constexpr Cause kJumpHostLogin{kUnavailable, kJumpHostLoginFails, kTestJumpHost};
inline constexpr Cause kProxyFails{
    kUnavailable, "its ProxyCommand ended without a connection: {said}",
    "make `ssh {login}` work; the text above is from the ProxyCommand in ~/.ssh/config"};
// The server behind it may have been too busy, which looks the same.
inline constexpr Cause kProxySilent{
    kResourceExhausted, "its {proxy} ended without a connection, and without a message",
    "test it with `ssh -v`, or raise MaxStartups on the server behind it"};

// The server's first text, and the handshake.
inline constexpr Cause kSilentServer{
    kDeadlineExceeded,
    "waiting for the banner of an SSH server timed out after {limit}: the port accepts connections",
    "if another service has the port, correct {port}; if the SSH server is slow (load, or UseDNS "
    "in its sshd_config), set a ConnectTimeout of more than {limit} in ~/.ssh/config"};
inline constexpr Cause kSshSilentServer{
    kDeadlineExceeded, "{said}",
    "if another service has the port, correct {port}; behind a jump host or ProxyCommand, check "
    "that the node is up; if its SSH server is slow, set a longer ConnectTimeout in ~/.ssh/config",
    kSsh, "timed out during banner exchange"};
inline constexpr Cause kClosedAtOnce{kResourceExhausted,
                                     "the server closed the connection before it said anything",
                                     kLimitsOfServer};
inline constexpr Cause kBusy{
    kResourceExhausted, "the server is refusing logins for now: {said}", kLimitsOfServer, kSsh,
    "kex_exchange_identification|exceeded maxstartups|not allowed at this time"};
inline constexpr char kGivePort[] = "if sshd listens at another port, correct {port}";
inline constexpr Cause kOtherServer{kFailedPrecondition,
                                    "not an SSH server: it says '{said}'{then}", kGivePort};
inline constexpr Cause kSshOtherServer{
    kFailedPrecondition, "not an SSH server: {said}", kGivePort, kSsh,
    "no ssh version received|banner line contains invalid characters|banner line too long"};
inline constexpr Cause kSlowHandshake{
    kDeadlineExceeded, "the SSH handshake timed out after {limit}",
    "look at the load of the machine; if `ssh {login}` hangs, too, the network may lose large "
    "packets: try a smaller MTU of this machine's interface"};
inline constexpr Cause kHandshakeAborted{
    kResourceExhausted, "the server aborted the SSH handshake: {said}", kServersLog};
inline constexpr Cause kHandshakeFails{kUnavailable, "SSH handshake: {said}",
                                       "test with `ssh`; see the server's log (journalctl -u ssh)"};
inline constexpr Cause kNoCommonKeyExchange{
    kUnimplemented, "no common key exchange: {said}",
    "allow ecdh-sha2-nistp256 with KexAlgorithms in its sshd_config, or one that it offers with "
    "KexAlgorithms in ~/.ssh/config",
    kSsh, "no matching key exchange"};
inline constexpr Cause kNoCommonHostKeyType{
    kUnimplemented, "no common type of host key: {said}",
    "give the server an Ed25519 host key (ssh-keygen -A) and allow it with HostKeyAlgorithms in "
    "its "
    "sshd_config, or allow one that it offers with HostKeyAlgorithms in ~/.ssh/config",
    kSsh, "no matching host key"};
inline constexpr Cause kNoCommonCipher{
    kUnimplemented, "no common cipher: {said}",
    "allow aes128-ctr with Ciphers in its sshd_config, or one that it offers with Ciphers in "
    "~/.ssh/config",
    kSsh, "no matching cipher"};
inline constexpr Cause kNoCommonMac{
    kUnimplemented, "no common MAC: {said}",
    "allow hmac-sha2-256 with MACs in its sshd_config, or one that it offers with MACs in "
    "~/.ssh/config",
    kSsh, "no matching mac"};
// libssh2 does not say which kind the two lack. The ssh program is used then, which says it.
inline constexpr Cause kNoCommonAlgorithm{kUnimplemented, "no common algorithm: {said}", "", kSsh,
                                          "unable to negotiate with"};

// The host key is verified.
inline constexpr Cause kChangedHostKey{
    kFailedPrecondition, "host key changed: the server has {key}, which is not the key on {where}",
    "this may be an attack; if the machine was reinstalled, replace that line by\n{line}"};
inline constexpr Cause kSshChangedHostKey{
    kFailedPrecondition, "host key changed: {said}",
    "this may be an attack; if the machine was reinstalled, remove its line", kSsh,
    "identification has changed"};
inline constexpr Cause kRevokedHostKey{kFailedPrecondition, "host key revoked{where}: {said}",
                                       "give the machine a new host key", kSsh,
                                       "revoked host key|is marked as revoked| revoked by file "};
inline constexpr char kRevokedKeysUnreadable[] =
    "ssh cannot read the file of RevokedHostKeys, so it refuses every key: {said}";
inline constexpr Cause kRevokedKeysInHome{
    kFailedPrecondition, kRevokedKeysUnreadable,
    "write its absolute path, without `~`, at RevokedHostKeys in ~/.ssh/config", kSsh,
    " in revoked keys file ~"};
inline constexpr Cause kNoRevokedKeys{
    kFailedPrecondition, kRevokedKeysUnreadable,
    "that file must exist and be readable: create it (an empty one revokes no key), or correct "
    "RevokedHostKeys in ~/.ssh/config",
    kSsh, " in revoked keys file "};
inline constexpr Cause kUnknownHostKey{
    kFailedPrecondition, "host key unknown: the server has {key}",
    "if that is its fingerprint (run `cat /etc/ssh/ssh_host_*_key.pub | ssh-keygen -lf -` on the "
    "machine), add to {file}:\n{line}\nor give --host-key-check accept-new"};
inline constexpr Cause kSshUnknownHostKey{
    kFailedPrecondition, "host key unknown: {said}",
    "log in once with `ssh` and confirm the fingerprint, or give --host-key-check accept-new", kSsh,
    "host key verification failed"};
inline constexpr Cause kOtherHostKey{
    kFailedPrecondition,
    "host key does not match [spec|'host_keys' in the spec][hosts,init,allocation,here|the known "
    "one]: {said}",
    "this may be an attack: `cat /etc/ssh/ssh_host_*_key.pub` on the machine shows its keys, and "
    "with "
    "`| ssh-keygen -lf -` their fingerprints; if they have changed, correct [spec|host_keys in the "
    "spec][hosts,init,allocation,here|known_hosts]"};

// The login with a key.
inline constexpr Cause kOtherMethod{
    kPermissionDenied, "the server wants a password or a code, too: {said}",
    "open a shared connection first: set ControlMaster and ControlPath in ~/.ssh/config, and log "
    "in with `ssh {login}`",
    kSsh,
    "permission denied (keyboard-interactive|permission denied (password)|"
    "permission denied (password,keyboard-interactive)"};
inline constexpr char kNameKey[] =
    "load a key with ssh-add, or name one: [spec|key_file in the spec, or ][init|--key-file, or ]"
    "IdentityFile in ~/.ssh/config";
inline constexpr Cause kNoKey{kPermissionDenied, "key refused: there is no key to offer{keys}",
                              kNameKey};
inline constexpr Cause kKeyRefused{
    kPermissionDenied, "key refused: the server does not accept for user {user}:{keys}",
    "add the public key to ~/.ssh/authorized_keys of that user on the node, or give another user "
    "or key ([spec|`username` or key_file in the spec; where it has none, ][init|--user or "
    "--key-file; without them, ]User or IdentityFile in ~/.ssh/config); if it is there, check "
    "AllowUsers and DenyUsers in "
    "sshd_config, and that only the user can write to the home folder and ~/.ssh (StrictModes)"};
inline constexpr Cause kWrongCertificate{
    kPermissionDenied,
    "key refused: {certificate}; the server does not accept for user {user}:{keys}",
    "get a certificate for {user} that is valid now (ssh-keygen -s, or the command of your site)"};
inline constexpr Cause kSshKeyRefused{
    kPermissionDenied, "key refused: {said}",
    "load the node's key with ssh-add, because ssh cannot ask for passphrases here, or add the "
    "public key to ~/.ssh/authorized_keys of that user on the node",
    kSsh,
    "permission denied (publickey|permission denied (gssapi-|permission denied (hostbased|"
    "permission denied ()"};
inline constexpr Cause kTooManyKeys{
    kPermissionDenied, "key refused: {said}",
    "name the node's key ([spec|key_file in the spec, or ][init|--key-file, or ]IdentityFile in "
    "~/.ssh/config), and set "
    "`IdentitiesOnly yes` in ~/.ssh/config: the server ends logins that offer many keys "
    "(MaxAuthTries)",
    kSsh, "too many authentication failures"};
inline constexpr Cause kSlowLogin{
    kDeadlineExceeded,
    "logging in timed out after {limit}: the server was reached, and is slow to accept the key",
    "raise --start-timeout; on the node, AuthorizedKeysCommand and PAM may be slow (journalctl -u "
    "ssh)"};
inline constexpr Cause kLoginEnded{kUnavailable, "the server ended the login: {said}", ""};
inline constexpr Cause kLoginLost{kUnavailable, "the connection was lost while logging in: {said}",
                                  kServersLog};
inline constexpr Cause kSlowSignature{
    kUnavailable, "the server closed the connection while ssh-agent was signing",
    "confirm the agent's question sooner; servers wait for LoginGraceTime (sshd_config)"};
inline constexpr Cause kSshFails{kUnavailable, "{said}", "make `ssh {login} true` work"};

// The server admits the user.
inline constexpr Cause kOtherUser{
    kPermissionDenied, kServerSays,
    "set [spec|`username: {user}` in the spec, or ]`User {user}` in ~/.ssh/config[hosts|, or write "
    "{user}@{node} in --hosts][init|, or give `--user {user}`]",
    kServer, "login as the |log in as the "};
inline constexpr Cause kPasswordExpired{
    kPermissionDenied, kServerSays,
    "log in with `ssh {login}` in a terminal, and set a new password", kServer,
    "password has expired|password is expired|password expired|password change required|"
    "required to change your password immediately|must change your password now"};
inline constexpr Cause kAccountClosed{
    kFailedPrecondition, kServerSays,
    "ask the administrators of the node to unlock or extend the account; a lock may also end by "
    "itself",
    kServer,
    "your account has expired; please contact|the account is locked due to|account locked due to|"
    "your account has been disabled"};
inline constexpr Cause kNoJobOnNode{
    kPermissionDenied, kServerSays, "get an allocation that has the node (salloc), and use --slurm",
    kServer,
    "access denied by pam_slurm|you have no active jobs on this node|) has no active jobs|"
    "no active slurm job"};
inline constexpr Cause kNoLogins{
    kUnavailable, kServerSays,
    "wait until the node permits logins, or remove /etc/nologin and /run/nologin there", kServer,
    "unprivileged users are not permitted to log in|system is booting up|system is going down|"
    "all logins are disabled|user logins are disabled|logins are currently disabled|"
    "logins are temporarily disabled|pam_nologin"};
inline constexpr Cause kMaintenance{
    kUnavailable, kServerSays, "wait for the end of the maintenance", kServer,
    "under maintenance|undergoing maintenance|down for maintenance|down for scheduled maintenance|"
    "closed for maintenance|maintenance mode|maintenance in progress|"
    "unavailable due to maintenance|maintenance until"};

// The login shell runs a command. kAborted: the command does not end; the code differs from that of
// a login that does not end.
inline constexpr Cause kNeedsTerminal{
    kFailedPrecondition, kServerSays,
    "use a login that runs commands without a terminal: `ssh {login} true` must return; a cloud "
    "service may have another address and port for it",
    kServer,
    "support pty|no pty|non-interactive ssh session|must have a tty|requires a tty|"
    "requires a terminal|require a terminal|requires a pty|pty allocation"};
inline constexpr Cause kChannelRefused{
    kUnavailable,
    "channel refused: the login succeeds, but the server runs no program for it ({said})",
    "check MaxSessions and ForceCommand in sshd_config, and `no-...` options in authorized_keys"};
inline constexpr Cause kSlowCommand{
    kDeadlineExceeded,
    "starting the program timed out after {limit}: the login succeeds, and the server is slow",
    "raise --start-timeout; on the node, session modules of PAM may be slow (journalctl -u ssh)"};
inline constexpr Cause kNoCommand{
    kFailedPrecondition, "the server says: {said}; the login succeeds, but runs no command",
    "make `ssh {login} echo works` print `works`: look at ForceCommand in sshd_config, `command=` "
    "in authorized_keys, the user's shell (getent passwd {user}) and ~/.bashrc there"};
inline constexpr Cause kShellExits{
    kFailedPrecondition,
    "no command runs: the login succeeds, and ends without running the command or printing "
    "anything",
    "make `ssh {login} echo works` print `works`: look at ForceCommand in sshd_config, `command=` "
    "in authorized_keys and the user's shell (getent passwd {user}); if its start-up files exit or "
    "start another shell, put `case $- in *i*) ;; *) return;; esac` first in ~/.bashrc there"};
inline constexpr Cause kShellWaits{
    kAborted, "the login shell has not run anything within {limit}{prints}",
    "its start-up files (~/.bashrc) may wait for input, start another shell or be slow: put `case "
    "$- in *i*) ;; *) return;; esac` first in ~/.bashrc there, so that `ssh {login} true` returns; "
    "if it is only slow, raise --start-timeout"};
inline constexpr Cause kContainerWaits{
    kAborted, "the container has not run anything within {limit}",
    "check that the container's runtime runs `true` in it; if it is only slow, raise "
    "--start-timeout"};
inline constexpr Cause kNoAnswer{
    kAborted, "a short command there has not ended within {limit}{prints}",
    "run `ssh {login} true`: if it does not return quickly, the login is slow, or something in the "
    "start-up files there (~/.bashrc) waits"};
inline constexpr Cause kEndlessOutput{
    kFailedPrecondition, "the login shell prints without end",
    "correct the start-up files there (~/.bashrc): `ssh {login} true` must print nothing"};

// The agent, or autodist itself, is found or sent, and started.
inline constexpr Cause kSlowFolder{
    kDeadlineExceeded, "the home folder or /tmp of the node has not answered within {limit}",
    kFolderHangs};
inline constexpr Cause kNoFolder{kFailedPrecondition, "no place for {program} on the node",
                                 "try `ls ~/.cache /tmp` on the node"};
inline constexpr Cause kFolderFails{kUnavailable, "{program} did not start: {said}",
                                    "try `ls ~/.cache /tmp` on the node"};
inline constexpr Cause kNotSent{kUnavailable, "{program} did not start: {said}",
                                "make room on the node: see `df -h ~/.cache /tmp`"};
inline constexpr Cause kSlowProgram{kDeadlineExceeded, "{program} did not start within {limit}",
                                    kFolderHangs};
inline constexpr Cause kProgramFails{
    kUnavailable, "{program} did not start: {said}",
    "check that /tmp of the node, which gets the socket, is writable and has room"};

// The connection is in use.
inline constexpr Cause kConnectionLost{kUnavailable, "connection lost: {said}",
                                       "check that the machine is up and reachable"};
inline constexpr Cause kStalled{kUnavailable,
                                "connection lost: the server has accepted no data for {limit}",
                                "check whether the machine or its sshd is stopped or overloaded"};
inline constexpr Cause kNoProgress{
    kUnavailable, "connection lost: it is always ready, but no data pass",
    "this is a protocol error of the server or autodist; see the server's log (journalctl -u ssh)"};
inline constexpr Cause kSlowEnd{kDeadlineExceeded, "closing timed out after {limit}", ""};

}  // namespace cause

// The values of placeholders: {{"{said}", said}}.
using CauseValues = std::initializer_list<std::pair<const char*, std::string>>;

// Makes the error of a cause, for the user of this process; one of a node that is off or booting
// carries NodeIsDown.
Status CauseError(const Cause& cause, CauseValues values = {});

// How a user logs in to a node as autodist does; empty for a node that is not reached over SSH.
struct Login {
  std::string node;         // as the spec writes it
  std::string ssh;          // arguments of `ssh`: "-p 2222 ann@gpu1"
  std::string user;         // "ann"
  std::string jump;         // the login to the last jump host: "`ssh gate true`"
  std::string jump_from;    // the setting that names it
  std::string target = {};  // to which the jump host connects: "10.0.0.7 at port 22"
};
// Fills in {node}, {login}, {user}, {jump}, {jump_from} and {target} of a hint, or removes a hint
// that needs them from the error of a node without SSH.
Status WithLogin(const Status& error, const Login& login);

// The causes that a text can show, in the order in which it is compared with them.
std::span<const Cause* const> CausesInTexts();
// Returns the first cause that the text shows, in upper or lower case; null: none.
const Cause* CauseIn(std::string_view text, SaidBy said_by);

// Returns the error that ssh prints about its configuration; OK: the text shows none.
Status ConfigurationError(std::string_view said);
// The same for the text of a server or a login shell.
Status SaidByServer(std::string_view text);
// Returns the error of a login that will never run a command, although it may not have ended.
Status EndOfLogin(std::string_view text);
// Returns the error of a login that ended without running a command, from everything it printed.
Status CommandNotRun(std::string_view printed);
// The same for one that has not ended within the limit; `cause` is that of other texts.
Status CommandLate(const Cause& cause, std::string_view printed, std::chrono::milliseconds limit);

// Indents all lines but the first, so that none of a server's looks like one of autodist.
std::string WithIndentedLines(std::string_view text);

// Returns the last part of a text as one line without frames such as "*****", for a message.
std::string OneSentence(std::string_view text);

}  // namespace autodist::transport
