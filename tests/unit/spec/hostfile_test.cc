#include "spec/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/hostfile_form.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "[user@]host[:slots][/port]", with '?' after slots of a scheduler, and " key FILE", " by JUMP"
// and " also NAME", for each host; then the errors.
std::vector<std::string> HostsRead(const std::string& text) {
  std::vector<std::string> read;
  const HostList list = ParseHostfile(text, "h");
  for (const HostEntry& host : list.hosts) {
    read.push_back((host.user.empty() ? "" : host.user + "@") + host.host +
                   (host.slots ? ":" + std::to_string(*host.slots) : "") +
                   (host.counted ? "?" : "") + (host.port ? "/" + std::to_string(*host.port) : "") +
                   (host.key_file.empty() ? "" : " key " + host.key_file) +
                   (host.proxy_jump.empty() ? "" : " by " + host.proxy_jump));
    for (const std::string& name : host.also) read.back() += " also " + name;
  }
  for (const Issue& issue : list.issues) read.push_back(issue.ToString());
  return read;
}

TEST(HostfileFormTest, FormatsOfEachProgram) {
  const std::pair<const char*, HostfileForm> cases[] = {
      {"", HostfileForm::kHosts},
      {"gpu1", HostfileForm::kHosts},
      {"gpu1 slots=2\ngpu2:2", HostfileForm::kHosts},
      {"gpu1\ngpu2 4", HostfileForm::kHosts},
      {"hello world", HostfileForm::kHosts},
      {"please use these", HostfileForm::kHosts},
      {"start with:\n", HostfileForm::kHosts},
      {"gpu1 2 gpu2 2", HostfileForm::kCounts},
      {"gpu1 2\ngpu2 2", HostfileForm::kTable},
      {"10.0.0.1 22 gpu1 8", HostfileForm::kTable},
      {"gpu1 2 all.q@gpu1 UNDEFINED", HostfileForm::kGridEngine},
      {"gpu1 2 all.q@gpu1 <NULL>\ngpu2 2 all.q@gpu2 0,0:0,1", HostfileForm::kGridEngine},
      {"a a b", HostfileForm::kNames},
      {"gpu1 gpu2 gpu3", HostfileForm::kNames},
      {"gpu1 gpu2\ngpu3", HostfileForm::kNames},
      {"gpu1, gpu2", HostfileForm::kNames},
      {"gpu1,gpu2", HostfileForm::kNames},
      {"gpu1:22 ann", HostfileForm::kTable},
      {"10.0.0.1 ubuntu\n10.0.0.2 ubuntu", HostfileForm::kTable},
      {"10.0.0.1 gpu1\n10.0.0.2 gpu2", HostfileForm::kTable},
      {"10.0.0.1 gpu1", HostfileForm::kTable},
      {"10.0.0.1 gpu1 gpu1.lab", HostfileForm::kTable},
      {"host,ip\ngpu1,10.0.0.1", HostfileForm::kTable},
      {"server\nclient", HostfileForm::kHosts},
      {"hosts\ngpu1", HostfileForm::kTable},
      {"gpu[1-2] compute,ngpus=8", HostfileForm::kGenders},
      {"gpu[1-2] compute\nlogin1 compute,login", HostfileForm::kGenders},
      {"gpu[1-2] compute\nlogin login", HostfileForm::kHosts},
      {"gpu1 0,1\ngpu2 0,1", HostfileForm::kHosts},
      {"10.0.0.1 gpu1,gpu1.lab\n10.0.0.2 gpu2", HostfileForm::kHosts},
      {"head compute,gpu\ngpu compute", HostfileForm::kHosts},
      {"gpu[1-2] slots=4", HostfileForm::kHosts},
      {"gpu1 binding=user:0,1", HostfileForm::kHosts},
      {"gpu1 ssh-ed25519 AAAA", HostfileForm::kKnownHosts},
      {"@revoked * ssh-rsa AAAA", HostfileForm::kKnownHosts},
      {"Host gpu1\n  HostName 10.0.0.1\n", HostfileForm::kSshConfig},
      {"host *\n  user ann", HostfileForm::kSshConfig},
      {"host user\ngpu1 ann", HostfileForm::kTable},
      {"Include config.d/*\nHost gpu*\n  ForwardAgent yes", HostfileForm::kSshConfig},
      {"{% for h in hosts %}\n{{ h }}\n{% endfor %}", HostfileForm::kTemplate},
      {"| host | ip |\n|------|:--:|\n| gpu1 | 10.0.0.1 |", HostfileForm::kTable},
      {"10.0.0.1/24, 10.0.0.2/24", HostfileForm::kNames},
      {"ssh gpu1\ngpu2 4", HostfileForm::kHosts},
      {"10.0.0.1 10.0.0.1 10.0.0.2", HostfileForm::kNames},
      {"rank 0=gpu1 slot=0", HostfileForm::kRanks},
      {"[workers]\ngpu1", HostfileForm::kInventory},
      {"[workers:vars]\na=b", HostfileForm::kInventory},
      {"gpu1 ansible_user=ann", HostfileForm::kInventory},
      {"[fd00::1]:4", HostfileForm::kHosts},
      {"NodeName=gpu[1-4] CPUs=64 Gres=gpu:8", HostfileForm::kNodeNames},
  };
  for (const auto& [text, form] : cases) EXPECT_EQ(FormOf(HostfileLines(text)), form) << text;
}

TEST(HostfileTest, ListsOfSchedulers) {
  for (const char* text : {"a1 1 b2 2", "a1 1\nb2 2\n", "a1\nb2\nb2\n", "a1 b2 b2",
                           "export LSB_MCPU_HOSTS='a1 1 b2 2 '", "LSB_HOSTS=\"a1 b2 b2\"",
                           "a1 1 q@a1 UNDEFINED\nb2 2 q@b2 UNDEFINED\n", "a1/0+b2/0*2",
                           "rank 0=a1 slot=0\nrank 1=b2 slot=0\nrank 2=b2 slot=1"}) {
    const auto read = HostsRead(text);
    ASSERT_EQ(read.size(), 2u) << text;
    EXPECT_THAT(read[0], testing::AnyOf("a1", "a1:1?")) << text;
    EXPECT_EQ(read[1], "b2:2?") << text;
  }
  EXPECT_THAT(
      HostsRead("NodeName=DEFAULT CPUs=4\nNodeName=a[1-2] Gres=gpu:a100:4(S:0-1),gpu:v100:1\n"
                "PartitionName=x Nodes=ALL\nNodeName=c CPUs=8"),
      ElementsAre("a1:5", "a2:5", "c"));
}

TEST(HostfileTest, OptionsOfHosts) {
  EXPECT_THAT(
      HostsRead("a:2 binding=user:0,1\nb:2 user=ann\nc:4:mlx5_1\nd slots=2 port=2200\n"
                "e np=64 gpus=4\nf gpus=4 np=64\ng count = 3 max_slots= 5\nh cpu=2 slots_max =4"),
      ElementsAre("a:2", "ann@b:2", "c:4", "d:2/2200", "e:4", "f:4", "g:3", "h:2"));
  EXPECT_THAT(HostsRead("a,b:2,c[1-2]:3"), ElementsAre("a", "b:2", "c1:3", "c2:3"));
  EXPECT_THAT(HostsRead("a1:2200 ann\nb1 ann"), ElementsAre("ann@a1/2200", "ann@b1"));
  EXPECT_THAT(HostsRead("a port=x\nb user='\nc@d user=e\nf gpus=1 gpus=2\ng slos=1"),
              ElementsAre("h:1:8: 'x' is not the number of a port", "h:2:8: ''' is not a user name",
                          HasSubstr("h:3:1: the user is both 'c' and 'e'"),
                          HasSubstr("h:4:10: 'gpus' appears twice"),
                          HasSubstr("h:5:3: 'slos' is not an option of a hostfile; did you mean "
                                    "'slots=N'?")));
}

TEST(HostfileTest, OneWarningListsUnusedParts) {
  const HostList list = ParseHostfile("a:2:hca x=1\nb y=2\n", "h");
  EXPECT_THAT(list.warnings, ElementsAre("h: not used of this list: 'x=1' (line 1), ':…' (line "
                                         "1), 'y=2' (line 2)"));
  EXPECT_THAT(ParseHostfile("a max_slots=4\n", "h").warnings, IsEmpty());
}

TEST(HostfileTest, TheFirstInvalidLineEndsTheList) {
  EXPECT_THAT(HostsRead("a slots=1\nstart with:\nmpirun -np 4 x\n"),
              ElementsAre("a:1",
                          "h:2: 'start with:' is not a host with options, such as 'gpu1 "
                          "slots=4 user=ann port=2222'; put comments behind a '#'"));
}

TEST(HostfileTest, AWordThatIsNoOptionIsNamed) {
  EXPECT_THAT(HostsRead("gpu1\n     Mom = gpu1\n     ntype = PBS\n"),  // of pbsnodes
              ElementsAre("gpu1", HasSubstr("h:2: 'Mom = gpu1' is not a host with options")));
  EXPECT_THAT(HostsRead("gpu1 slots=2\ngpu2 fast slots=2\nann@b x\n"),
              ElementsAre("gpu1:2",
                          "h:2:6: 'fast' is not an option of the host 'gpu2'; options are such as "
                          "slots=4, user=ann and port=2222",
                          HasSubstr("h:3:7: 'x' is not an option of the host 'ann@b'")));
}

// Of the pages of vast.ai and RunPod, and of requests to pssh.
TEST(HostfileTest, CommandsOfSsh) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"ssh -p 41234 root@194.26.196.144 -L 8080:localhost:8080\n"
       "ssh root@74.48.78.46 -p 24182 -i ~/.ssh/id_ed25519\n",
       {"root@194.26.196.144/41234", "root@74.48.78.46/24182 key ~/.ssh/id_ed25519"}},
      {"ssh root@74.48.78.46 -p 24182\nssh root@74.48.78.47 -p 24183\n",
       {"root@74.48.78.46/24182", "root@74.48.78.47/24183"}},
      {"ssh -p 20544 root@142.214.185.187 -L 8080:localhost:8080", {"root@142.214.185.187/20544"}},
      {"ssh a1b2-64410d5b@ssh.runpod.io -i '~/.ssh/id'",
       {"a1b2-64410d5b@ssh.runpod.io key ~/.ssh/id"}},
      {"ssh -p 10022 root@connect.west.example.com", {"root@connect.west.example.com/10022"}},
      {"55.33.22.11 -p 12345 -l myuser -i mykey -C\n55.33.22.12 -l root",
       {"myuser@55.33.22.11/12345 key mykey", "root@55.33.22.12"}},
      {"ssh ann@gpu1\n/usr/bin/ssh -tt -p2222 gpu2\ngpu3 -p 22  # the third",
       {"ann@gpu1", "gpu2/2222", "gpu3/22"}},
      {"ssh -J ann@gate:22 gpu[1-2]", {"gpu1 by ann@gate:22", "gpu2 by ann@gate:22"}},
      {"ssh -oPort=2222 -o User=ann -o IdentityFile=k -o ProxyJump=gate gpu1",
       {"ann@gpu1/2222 key k by gate"}},
      {"ssh ssh://ann@gpu1:2222\nssh://root@ssh4.vast.ai:11234",
       {"ann@gpu1/2222", "root@ssh4.vast.ai/11234"}},
      {"ssh gpu1\ngpu2 slots=4\ngpu3 2", {"gpu1", "gpu2:4", "gpu3:2?"}},
      {"ssh gpu1 nvidia-smi -L",
       {"h:1:10: 'nvidia-smi' is a command for the host 'gpu1'; write the host alone"}},
      {"ssh -p 22", {"h:1: 'ssh -p 22' is a command without a host"}},
      {"ssh gpu1 -p", {"h:1:10: '-p' is not an option of ssh with its value"}},
      {"ssh -p ssh gpu1", {"h:1:8: 'ssh' is not the number of a port"}},
      {"ssh --port=22 gpu1", {"h:1:5: '--port=22' is not an option of ssh with its value"}},
      {"ssh slots=2\n", {"ssh:2"}},
      {"ssh -i $KEYS/id $USER@gpu1",
       {"h:1:8: '$KEYS/id': variables are not replaced here; write the value itself"}},
      {"ssh root@1.2.3.4 -p 1001\nssh root@1.2.3.4 -p 1002",
       {"root@1.2.3.4:2?/1001",
        "h:2:5: host '1.2.3.4' appears with the port 1002 and with 1001; give one of them, or, for "
        "two machines behind one address, a host name each, such as in /etc/hosts"}},
  };
  for (const auto& [text, read] : cases) {
    EXPECT_THAT(HostsRead(text), testing::ElementsAreArray(read)) << text;
  }
  EXPECT_THAT(ParseHostfile("ssh -A -p 22 gpu1 -L 8080:localhost:8080 -N", "h").warnings,
              ElementsAre("h: not used of this list: '-L 8080:localhost:8080' (line 1)"));
}

TEST(HostfileTest, Tables) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      // CSV.
      {"hostname,ip,gpus\nnode1,10.0.0.11,8\nnode2,10.0.0.12,8\n",
       {"10.0.0.11:8 also node1", "10.0.0.12:8 also node2"}},
      {"hostname,ip\nnode1,10.0.0.11\nnode2,10.0.0.12\nnode3\n",
       {"10.0.0.11 also node1", "10.0.0.12 also node2", "node3"}},
      {"Name; IP address; SSH port; Rack\ngpu1; 10.0.0.1; 2222; first rack\n",
       {"10.0.0.1/2222 also gpu1"}},
      {"\"host\",\"user\",\"key_file\"\n\"gpu1\",\"ann\",\"~/.ssh/lab\"\n",
       {"ann@gpu1 key ~/.ssh/lab"}},
      {"ip,user\n10.0.0.1,ann\n10.0.0.2,bob\n", {"ann@10.0.0.1", "bob@10.0.0.2"}},
      {"name,host\nfirst,gpu1\nsecond,gpu2\n", {"gpu1 also first", "gpu2 also second"}},
      {"gpu1,8\ngpu2,4\n", {"gpu1:8?", "gpu2:4?"}},
      {"node1,10.0.0.11\n", {"10.0.0.11 also node1"}},
      {"10.0.0.1,root,22\n", {"root@10.0.0.1/22"}},
      {"172.16.254.2,La Union (CCR1016)\n172.16.254.3,La Union PowerBox 1 (Vinculos)\n",
       {"172.16.254.2", "172.16.254.3"}},
      {"\"host\",\"rack\"\n\"gpu1\",\"2, left\"\n", {"gpu1"}},
      {"host;user\n'gpu1';\"ann\"\n", {"ann@gpu1"}},
      // Of Markdown and of a database.
      {"| gpu1 | 10.0.0.1 |\n| gpu2 | 10.0.0.2 |\n", {"10.0.0.1 also gpu1", "10.0.0.2 also gpu2"}},
      {"| Host | GPUs |\n|:-----|-----:|\n| gpu1 | 8 |\n| gpu2 |  |\n", {"gpu1:8", "gpu2"}},
      {"+------+----------+\n| name | ip       |\n+------+----------+\n| gpu1 | 10.0.0.1 |\n"
       "+------+----------+\n",
       {"10.0.0.1 also gpu1"}},
      {" host | port\n------+------\n gpu1 | 2222\n", {"gpu1/2222"}},
      // Columns between blanks.
      {"0 10.0.0.11\n1 10.0.0.12\n", {"10.0.0.11", "10.0.0.12"}},
      {"gpu1 0\ngpu2 1\n", {"gpu1", "gpu2"}},
      {"1 gpu1\n2 gpu2\n", {"gpu1", "gpu2"}},
      {"      8 gpu1\n      4 gpu2\n", {"gpu1:8?", "gpu2:4?"}},  // of uniq -c
      {"rank host\n0 gpu1\n1 gpu2\n", {"gpu1", "gpu2"}},
      {"node1 10.0.0.11 8\nnode2 10.0.0.12 8\n",
       {"10.0.0.11:8? also node1", "10.0.0.12:8? also node2"}},
      {"74.48.78.46 24182\n74.48.78.47 24183\n", {"74.48.78.46/24182", "74.48.78.47/24183"}},
      {"gpu1 22\ngpu2 22\n", {"gpu1/22", "gpu2/22"}},
      {"gpu1 22 ann\ngpu2 2222 ann\n", {"ann@gpu1/22", "ann@gpu2/2222"}},
      {"root@74.48.78.46 24182\n", {"root@74.48.78.46/24182"}},
      {"10.0.0.1 ubuntu\n10.0.0.2 ubuntu\n", {"ubuntu@10.0.0.1", "ubuntu@10.0.0.2"}},
      {"10.0.0.1 root\n10.0.0.2 ann\n", {"root@10.0.0.1", "ann@10.0.0.2"}},
      {"NODELIST   NODES PARTITION STATE\ngpu1           1      gpu* idle\n", {"gpu1"}},  // sinfo
      {"HOSTNAMES\ngpu1\ngpu2\n", {"gpu1", "gpu2"}},
      // /etc/hosts.
      {"127.0.0.1 localhost\n::1 ip6-localhost\n10.0.0.11 node1.lab.example node1\n"
       "10.0.0.12 node2.lab.example node2\n",
       {"10.0.0.11 also node1.lab.example also node1",
        "10.0.0.12 also node2.lab.example also node2"}},
      {"127.0.0.1\tlocalhost\n127.0.1.1\thead\n::1 localhost ip6-localhost ip6-loopback\n"
       "ff02::1 ip6-allnodes\n192.168.1.11\tSlave1\n192.168.1.12\tSlave2 # the second\n",
       {"192.168.1.11 also Slave1", "192.168.1.12 also Slave2"}},
      {"10.0.0.11 node1\n10.0.0.12 node2\n", {"10.0.0.11 also node1", "10.0.0.12 also node2"}},
      {"192.168.1.10 Master\n192.168.1.11 Slave1\n",
       {"192.168.1.10 also Master", "192.168.1.11 also Slave1"}},
      // A port that no machine has as devices.
      {"74.48.78.46:24182\nroot@74.48.78.47:24183\ngpu3 24184 x=1\n",
       {"74.48.78.46/24182", "root@74.48.78.47/24183",
        "h:3:6: '24184' is not an option of the host 'gpu3'; options are such as slots=4, user=ann "
        "and port=2222"}},
      {"gpu1\ngpu2 24182\n", {"gpu1", "gpu2/24182"}},
      {"ann@10.0.0.11:2222\n[fd00::1]:2222\ngpu1:512\n",
       {"ann@10.0.0.11/2222", "fd00::1/2222", "gpu1:512"}},
  };
  for (const auto& [text, read] : cases) {
    EXPECT_THAT(HostsRead(text), testing::ElementsAreArray(read)) << text;
  }
}

TEST(HostfileTest, TablesWithUnclearColumns) {
  const std::string first_line = "; put the names of the columns in the first line, such as ";
  const std::pair<const char*, std::string> cases[] = {
      {"node1,worker\nnode2,worker\n",
       "h:1:7: it is unclear what 'worker' is" + first_line + "'host,user,port'"},
      {"\"gpu1\",\"rack 1, left\"\n\"gpu2\",\"rack 2\"\n",
       "h:1:9: it is unclear what 'rack 1, left' is" + first_line + "'host,user,port'"},
      {"gpu1;2222;ann\ngpu2;2222;bob\n",
       "h:1:11: it is unclear what 'ann' is" + first_line + "'host;user;port'"},
      {"10.0.0.1 ann\n10.0.0.2 bob\n",
       "h:1:10: it is unclear what 'ann' is" + first_line + "'host user port'"},
      {"appliance,where\ngpu1,10.0.0.1\n", "h:1:11: it is unclear what 'where' is"},
      {"10.0.0.1 ann\n", "h:1:10: it is unclear what 'ann' is"},
      {"gpu1 rack1\ngpu2 rack1\n", "h:1:6: it is unclear what 'rack1' is"},
      {"gpu[1-2] compute\ngpu3 compute\n", "h:1:10: it is unclear what 'compute' is"},
      {"localhost, 10.0.0.1, gpu1\n", "h:1:22: it is unclear what 'gpu1' is"},
      {"10.0.0.1 22 a1\n10.0.0.2 22 b1 c1\n", "h:2:16: it is unclear what 'c1' is"},
      {"gpu1 22\ngpu2 8\n", "h:1:6: it is unclear what '22' is"},
      {"gpu1 8 64\ngpu2 8 64\n", "h:1:8: it is unclear what '64' is"},
      {"10.0.0.1 root geheim\n10.0.0.2 root geheim\n",
       "h:1:15: it is unclear what the text here is; put the names"},
      {"gpu1,10.0.0.1,54.1.1.1\n", "h:1:15: it is unclear what '54.1.1.1' is"},
      {"name,private_ip,public_ip\ngpu1,10.0.0.1,54.1.1.1\n",
       "h:1:17: 'public_ip' is a second column of addresses; keep the one that this machine "
       "reaches"},
      {"host,ip\ngpu1,10.0.0.1,8\n", "h:2: the line has 3 columns, and the first line names 2"},
      {"host,devices\ngpu{1,2},4\n", "h:2:1: 'gpu{1,2}' is neither"},
      {"host,gpus\ngpu1,8xA100\n", "h:2:6: '8xA100' is not a number of devices"},
      {"host,port\ngpu1,ssh\n", "h:2:6: 'ssh' is not the number of a port"},
      {"host,rack\n,first\n", "h:2: ',first' has no host"},
  };
  for (const auto& [text, issue] : cases) {
    EXPECT_THAT(HostsRead(text), ElementsAre(HasSubstr(issue))) << text;
  }
}

TEST(HostfileTest, LongLines) {
  EXPECT_THAT(HostsRead("gpu1," + std::string(1 << 20, ' ') + "8"), ElementsAre("gpu1:8?"));
  std::string numbers = "1";
  for (int i = 0; i < 100; ++i) numbers += ",1";
  EXPECT_THAT(HostsRead(numbers), testing::Each(testing::Not(HasSubstr("unclear"))));
}

TEST(HostfileTest, PasswordsAreRefused) {
  EXPECT_THAT(
      HostsRead("root:geheim@74.48.78.46:22\n"),
      ElementsAre("h:1:1: before the '@': 'root:…' is not a user name; a password cannot "
                  "be given, because autodist logs in with keys; `ssh-copy-id` installs one"));
  EXPECT_THAT(HostsRead("gpu1 user=ann password=geheim\n"),
              ElementsAre(HasSubstr("h:1:15: remove 'password': a password cannot be given")));
  // Of Termius.
  const std::string head =
      "Groups,Label,Tags,Hostname/IP,Protocol,Port,Username,Password,SSH_KEY\n";
  EXPECT_THAT(
      HostsRead(head + "Production,AT 5.181.21.111,,5.181.21.111,ssh,38444,root,123456,k\n"),
      ElementsAre("h:2:57: remove 'Password': a password cannot be given, because autodist logs "
                  "in with keys; `ssh-copy-id` installs one"));
  EXPECT_THAT(HostsRead(head + "Production,AT 5.181.21.111,,5.181.21.111,ssh,38444,root,,k\n"),
              ElementsAre("root@5.181.21.111/38444 key k also AT 5.181.21.111"));
}

TEST(HostfileTest, NoMessageShowsAPassword) {
  for (const char* text :
       {"root:geheim@gpu1 fast\n",
        "please use root:geheim@gpu1\n",
        "ssh root:geheim@gpu1 ls\n",
        "sshpass -p geheim ssh root@gpu1 -p 22\n",
        "ssh://root:geheim@gpu1:22\n",
        "host,user,pw\ngpu1,root,geheim,8\n",
        "gpu1 root_password=geheim\n",
        "10.0.0.1 root geheim\n10.0.0.2 root geheim\n",
        "[a]\nx ansible_password=geheim\n",
        "ann:geheim@gpu1:2222\n",
        "gpu1\nann:geheim@gpu1 2222\n",
        "gpu1 ann:geheim\n",
        "gpu1 user=ann passwd:geheim\n",
        "please use ann:geheim\n",
        "ann:geheim1 please\n",
        "ssh gpu1 ann:geheim\n",
        "user ann:geheim\n",
        "gpu1:4:geheim\n",
        "gpu1,ann:geheim\ngpu2,bob:geheim\n",
        "ann:geheim-geheim-geheim-geheim-geheim-geheim-geheim-geheim@gpu1:2222\n"}) {
    const HostList list = ParseHostfile(text, "h");
    EXPECT_FALSE(list.issues.empty() && list.warnings.empty()) << text;
    for (const Issue& issue : list.issues) EXPECT_EQ(issue.what.find("geheim"), std::string::npos);
    for (const std::string& warning : list.warnings) {
      EXPECT_EQ(warning.find("geheim"), std::string::npos) << warning;
    }
  }
}

TEST(HostfileTest, CharactersOfWebPages) {
  for (const char* text :
       {"gpu1\u3000slots=2\u00a0\r\ngpu2 slots\uff1d2", "\uff47\uff50\uff551:2\uff0cgpu2\uff1a2",
        "\u201cgpu1\u201d slots=2\ngpu2 slots=2", "\u2018gpu1\u2019 slots=2\ngpu2 slots=2",
        "gpu[1\u20132] slots=2", "-H gpu1:2,gpu2:2", "--host 'gpu1:2,gpu2:2'",
        "gpu1:2,\ngpu2:2,"}) {
    EXPECT_THAT(HostsRead(text), ElementsAre("gpu1:2", "gpu2:2")) << text;
  }
}

TEST(HostfileTest, TheReadingOfATableIsShown) {
  const std::pair<const char*, const char*> cases[] = {
      {"0 10.0.0.11\n1 10.0.0.12\n", "h: each line is read as: rank (not used), address"},
      {"node1 10.0.0.11 8\n", "h: each line is read as: name, address, devices"},
      {"gpu1:22 ann\n", "h: each line is read as: host, user"},
      {"74.48.78.46,24182,the third\n", "h: each line is read as: address, port, text (not used)"},
      {"127.0.0.1 localhost\n10.0.0.11 node1.lab node1\n",
       "h: each line is read as: address, name, name; loopback and multicast addresses are left "
       "out"},
      {"gpu0\nann@gpu1:2222\ngpu2:2223\n",
       "h: numbers above 512, as in 'ann@gpu1:2222' (line 2), are taken for ports of SSH servers"},
      {"host,rack,id\ngpu1,first,3\n", "h: columns that are not used: 'rack', 'id'"},
      {"hostname\ngpu1\n", "h: the first line, 'hostname', is taken for the name of the column"},
  };
  for (const auto& [text, warning] : cases) {
    EXPECT_THAT(ParseHostfile(text, "h").warnings, ElementsAre(warning)) << text;
  }
  EXPECT_THAT(ParseHostfile("ssh://ann@gpu1:2222\n", "h").warnings, IsEmpty());
  EXPECT_THAT(ParseHostfile("host,ip,gpus\ngpu1,10.0.0.1,8\n", "h").warnings, IsEmpty());
}

TEST(HostfileTest, ListsOnALine) {
  for (const char* text :
       {"gpu1, gpu2, gpu3, gpu4", "\"gpu1\", 'gpu2', gpu3, gpu4", "gpu1 , gpu2 ,gpu3,gpu4,",
        "gpu1,gpu2,\ngpu3,gpu4\n", "gpu1, gpu2\ngpu3, gpu4\n", "gpu1 gpu2\ngpu3 gpu4",
        "gpu1 gpu2\ngpu3\ngpu4", "gpu[1-2], gpu3, gpu4", "gpu1\ngpu2,gpu3\ngpu4"}) {
    EXPECT_THAT(HostsRead(text), ElementsAre("gpu1", "gpu2", "gpu3", "gpu4")) << text;
  }
  EXPECT_THAT(HostsRead("a:2, ann@b:24182"), ElementsAre("a:2", "ann@b/24182"));
  EXPECT_THAT(HostsRead("master, worker"), ElementsAre("master", "worker"));
}

TEST(HostfileTest, CommentsAndLineEnds) {
  EXPECT_THAT(
      HostsRead("\ufeff; machines\r\n// of the lab\r\n-- all\r\n--\r\n  # four\r\n\r\n"
                "gpu1 slots=2 ; first\r\ngpu2 slots=2 // second\r\ngpu3 slots=2 -- third\r\n"
                "gpu4 slots=2#fourth\r\n\r\n"),
      ElementsAre("gpu1:2", "gpu2:2", "gpu3:2", "gpu4:2"));
  EXPECT_THAT(HostsRead("; nothing\n-- more\n"), ElementsAre(HasSubstr("h: no host in it")));
}

TEST(HostfileTest, TextInAnotherFormIsNamedOnce) {
  const std::pair<const char*, const char*> cases[] = {
      {"# nodes\nnode[01-03]   gpu,compute,ngpus=8\nlogin1        login\n",
       "h:2: 'node[01-03]   gpu,compute,ngpus=8' is a line of a genders file; give the hosts of an "
       "attribute: --hosts \"$(nodeattr -c ATTRIBUTE)\""},
      {"gpu1\nProxyJump ann@gate\n",
       "h:2: 'ProxyJump ann@gate' names no host; write it after its host: 'gpu1 "
       "ProxyJump=ann@gate'"},
      {"gpu1\nPort 2222\n",
       "h:2: 'Port 2222' names no host; write it after its host: 'gpu1 Port=2222'"},
      {"{{ host }}\n",
       "h:1: '{{ host }}' is a line of a template that is not filled in; give the file that it "
       "makes"},
      {"10.0.0.11/24\n",
       "h:1:1: '10.0.0.11/24' has the length of a network's prefix after '/'; write '10.0.0.11'"},
      {"10.0.0.0/24\n",
       "h:1:1: '10.0.0.0/24' is a network, not a machine; write the address of each machine"},
      {"gpu1 10.0.0.1/24\ngpu2 10.0.0.2\n",
       "h:1:6: '10.0.0.1/24' has the length of a network's prefix after '/'; write '10.0.0.1'"},
      {"host,ip\ngpu1,fd00::1/64\n",
       "h:2:6: 'fd00::1/64' has the length of a network's prefix after '/'; write 'fd00::1'"},
      {"gpu{1,3}\n",
       "h:1:1: 'gpu{1,3}' is neither an IPv4 or IPv6 address nor a host name; a range of hosts is "
       "written gpu[1-4]"},
      {"$NODE\n",
       "h:1:1: '$NODE' is neither an IPv4 or IPv6 address nor a host name; variables are not "
       "replaced here; write the value itself"},
      {"gpu1/gpu2\n", "h:1:1: 'gpu1/gpu2' is neither an IPv4 or IPv6 address nor a host name"},
  };
  for (const auto& [text, issue] : cases) {
    const HostList list = ParseHostfile(text, "h");
    ASSERT_EQ(list.issues.size(), 1u) << text;
    EXPECT_EQ(list.issues[0].ToString(), issue);
  }
  for (const char* text :
       {"10.0.0.11 ssh-ed25519 AAAAC3Nz\n[10.0.0.12]:2222 ssh-ed25519 AAAAC3Nz\n",
        "# gpu1:22 SSH-2.0-OpenSSH_9.2\n@revoked [gpu1]:2222,a ecdsa-sha2-nistp256 AAAA x\n",
        "|1|Zm9v|YmFy ssh-rsa AAAA\n"}) {
    EXPECT_THAT(HostsRead(text),
                ElementsAre(HasSubstr(" is a line of a known_hosts file; it has every "
                                      "server that was reached; write the")));
  }
}

TEST(HostfileTest, AnSshConfigurationIsNamed) {
  for (const char* text : {"Host gpu1\n  HostName 10.0.0.1\n  User ann\n",
                           "Host worker\n  HostName 10.0.0.1\n  Port 2222\n"}) {
    EXPECT_THAT(HostsRead(text), ElementsAre(HasSubstr("is a line of a configuration of OpenSSH; "
                                                       "'autodist init --ssh-config' takes")));
  }
}

// Of LSF and of a cloud, and the hosts of mpirun.
TEST(HostfileTest, TablesOfPrograms) {
  EXPECT_THAT(HostsRead("HOST_NAME STATUS JL/U MAX NJOBS\ngpu1 ok - 8 0\n"), ElementsAre("gpu1"));
  EXPECT_THAT(HostsRead("NAME ZONE INTERNAL_IP EXTERNAL_IP STATUS\n"
                        "gpu-1 us-1a 10.128.0.2 34.1.2.3 RUNNING\n"),
              ElementsAre(HasSubstr("h:1:23: 'EXTERNAL_IP' is a second column of addresses")));
  EXPECT_THAT(HostsRead("farm22-gpu0103:2,farm22-gpu0104:2\n"),
              ElementsAre("farm22-gpu0103:2", "farm22-gpu0104:2"));
}

TEST(HostfileTest, InventoriesOfAnsible) {
  EXPECT_THAT(
      HostsRead("top ansible_user=root\n[w]\na ansible_host=10.0.0.1\nb[01:02]:2200\n"
                "[w:vars]\nansible_user=ann\n[both:children]\nw\nv\n[v]\nc\ntop\n"
                "[both:vars]\nansible_port = 22\nansible_user=bob\n[all:vars]\nansible_port=1\n"),
      ElementsAre("root@top/22", "ann@10.0.0.1/22", "ann@b01/2200", "ann@b02/2200", "bob@c/22"));
  EXPECT_THAT(HostsRead("[a]\nx ansible_port=y ansible_user='a b'\n"),
              ElementsAre(HasSubstr("h:2:1: ansible_user: 'a b' is not a user name")));
  EXPECT_THAT(HostsRead("[a]\nx ansible_ssh_private_key_file=$HOME/k\n"),
              ElementsAre(HasSubstr("h:2:1: the key file '$HOME/k': variables are not replaced")));
  EXPECT_THAT(HostsRead("; all\n[a]\nx ansible_user=ann  ; the first\n"), ElementsAre("ann@x"));
  EXPECT_THAT(HostsRead("[a]\n"), ElementsAre("h: an inventory of Ansible without hosts"));
}

}  // namespace
}  // namespace autodist::spec
