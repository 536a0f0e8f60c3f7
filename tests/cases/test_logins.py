"""Logins with configurations of OpenSSH: autodist can log in wherever `ssh NODE` can."""

import re

import pytest


def nodes_of(said):
    return re.findall(r"address: (\S+)", said)


# Names of machines

def test_one_machine_with_several_names_is_one_node(case):
    said = case(2, """
cat > ~/.ssh/config <<C
Host a2 a2.lab
    HostName 10.77.0.2
Host a2-vpn
    HostName 10.77.0.2
Host git.lab
    User git
C
autodist init --ssh-config --output all.yaml; grep address all.yaml
echo ---; autodist init --ssh-config 'a2*' --output a2.yaml; autodist validate a2.yaml
autodist run --spec a2.yaml -- hostname; echo "[$?]"
""")
    first, second = said.split("---\n")
    assert nodes_of(first) == ["a2"], said
    assert "a2  # also a2.lab, a2-vpn" in first, said
    assert "git.lab is left out, as a code host: it has User git" in first, said
    assert "valid: 1 node" in second and second.endswith("[0]\n"), said


def test_names_of_one_machine_with_several_addresses(case):
    said = case(2, """
ssh host2 ip addr add 10.77.0.102/16 dev eth0
cat > ~/.ssh/config <<C
Host a2
    HostName 10.77.0.2
Host a2-ib
    HostName 10.77.0.102
    HostKeyAlias 10.77.0.2
Host me here
    HostName 10.77.0.1
Host localhost
C
autodist init --ssh-config | grep address
""")
    assert nodes_of(said) == ["a2", "me"], said
    assert "a2  # also a2-ib" in said and "me  # also here, localhost" in said, said


def test_an_alias_of_this_machine(case):
    said = case(2, """
printf 'Host me\\n  HostName 10.77.0.1\\n' > ~/.ssh/config
autodist run --hosts me:1,10.77.0.2:1 -- hostname; echo "[$?]"
autodist run --hosts me:1 -- hostname; echo "[$?]"
""")
    assert "does not resolve" not in said, said
    assert said.count("host1\n") == 2 and said.count("host2\n") == 1 and said.count("[0]\n") == 2, said


def test_a_forwarded_port_of_this_machine_is_another_machine(case):
    said = case(2, """
ssh -fN -L 2222:10.77.0.2:22 host2
printf 'Host vm\\n  HostName 127.0.0.1\\n  Port 2222\\n  HostKeyAlias 10.77.0.2\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,vm:1 -- sh -c 'echo $(hostname) at $AUTODIST_NODE_ADDRESS'; echo "[$?]"
autodist run --hosts vm:1 --workdir /tmp -- hostname; echo "[$?]"
""")
    assert "vm: 127.0.0.1 port 2222 is treated as another machine" in said, said
    assert "host1 at 10.77.0.1\n" in said and "host2 at 10.77.0.2\n" in said, said
    assert said.count("host2") == 2 and said.count("[0]\n") == 2, said


def test_code_hosts_are_no_machines(case):
    said = case(1, """
cat > ~/.ssh/config <<C
Host github.com-work
    HostName github.com
    IdentityFile ~/.ssh/work
Host hub
    HostName ssh.github.com
    Port 443
Host gitlab.corp.example
Host forge
    User git
C
autodist init --offline --ssh-config; echo "[$?]"
""")
    assert said.count("is left out, as a code host") == 4, said
    assert "all hosts of it are left out" in said and said.endswith("[2]\n"), said


def test_include_is_followed_as_ssh_does(case):
    said = case(3, """
mkdir ~/.ssh/teams
printf 'Include teams/*.conf\\nHost gate\\n    HostName 10.77.0.9\\n    Include teams/late.inc\\n' > ~/.ssh/config
printf 'Include teams/vision.inc\\nHost shared\\n    HostName 10.77.0.2\\n' > ~/.ssh/teams/all.conf
printf 'Host vision1\\n    HostName 10.77.0.3\\n' > ~/.ssh/teams/vision.inc
printf 'Host behind-gate\\n    HostName 10.77.0.3\\n' > ~/.ssh/teams/late.inc
autodist init --offline --ssh-config | grep -v '^#'; echo "[$?]"
""")
    assert nodes_of(said) == ["vision1", "shared", "gate"], said
    assert "warning" not in said, said


def test_include_in_a_match_block_and_include_loops(case):
    said = case(1, """
cat > ~/.ssh/config <<C
Match originalhost gpu*
    Include ~/.ssh/gpus
Host "quoted" 'two' !two
    HostName 10.77.0.3
Host=equals
    HostName = 10.77.0.4
C
printf 'Host gpu1\\n  HostName 10.77.0.7\\nHost cpu1\\nInclude ~/.ssh/config\\n' > ~/.ssh/gpus
autodist init --offline --ssh-config; echo "[$?]"
""")
    assert nodes_of(said)[:1] == ["gpu1"] and "cpu1" not in nodes_of(said), said
    assert {"quoted", "equals"} <= set(nodes_of(said)) or "ssh refuses that" in said, said
    assert "/.ssh/gpus:4: not included: " in said and "includes itself" in said, said


# Files named with tokens

KEYS = """
key=$(ssh-keyscan -t ed25519 10.77.0.2 2> /dev/null | cut -d' ' -f2-)
mkdir ~/.ssh/keys; mv ~/.ssh/id_ed25519 ~/.ssh/keys/10.77.0.2; rm ~/.ssh/known_hosts
echo "vault-two $key" > ~/.ssh/kh_vault-two
cat > ~/.ssh/config <<C
Host by-*
  HostName 10.77.0.2
  HostKeyAlias vault-two
  UserKnownHostsFile ~/.ssh/kh_%k
  IdentitiesOnly yes
C
"""


def test_tokens_in_key_file_names(case):
    said = case(2, KEYS + """
cp ~/.ssh/keys/10.77.0.2 ~/.ssh/keys/$(hostname -s); export KEYS=$HOME/.ssh/keys
cat >> ~/.ssh/config <<C
Host by-h
  IdentityFile ~/.ssh/keys/%h
Host by-l
  IdentityFile ~/.ssh/keys/%L
Host by-env
  IdentityFile \\${KEYS}/10.77.0.2
C
for h in by-h by-l by-env; do
  autodist run --hosts 10.77.0.1:1,$h:1 -- hostname; echo "[$?]"
done
""")
    assert said.count("[0]\n") == 3 and said.count("host2") >= 3, said


def test_other_tokens_in_key_file_names(case):
    said = case(2, KEYS + """
cat >> ~/.ssh/config <<C
Host by-c
  IdentityFile "~/.ssh/my keys/%C"
Host by-i
  IdentityFile %d/.ssh/keys/%i-%u-%r-%p-%n-100%%
Host by-user
  IdentityFile ~$(id -un)/.ssh/keys/%h
C
mkdir "$HOME/.ssh/my keys"
cp ~/.ssh/keys/10.77.0.2 "$HOME/.ssh/my keys/$(printf %s $(hostname)10.77.0.222root | sha1sum | cut -d' ' -f1)"
cp ~/.ssh/keys/10.77.0.2 ~/.ssh/keys/$(id -u)-root-root-22-by-i-100%
for h in by-c by-i by-user; do
  autodist run --hosts 10.77.0.1:1,$h:1 -- hostname; echo "[$?]"
done
""")
    assert said.count("[0]\n") == 3, said


def test_a_missing_key_is_reported_with_its_expanded_name(case):
    said = case(2, KEYS + """
printf 'Host by-none\\n  IdentityFile ~/.ssh/keys/%%r@%%h\\n' >> ~/.ssh/config
autodist run --hosts 10.77.0.1:1,by-none:1 -- hostname; echo "[$?]"
""")
    assert "the configured key file /root/.ssh/keys/root@10.77.0.2 is not there" in said, said
    assert "there is no key file" not in said and said.endswith("[125]\n"), said


def test_an_unknown_token_is_quoted(case):
    said = case(2, KEYS + """
printf 'Host by-z\\n  IdentityFile ~/.ssh/keys/%%Z\\n' >> ~/.ssh/config
autodist run --hosts 10.77.0.1:1,by-z:1 -- hostname; echo "[$?]"
printf 'Host by-v\\n  IdentityFile ${NO_SUCH_VARIABLE}/key\\n' >> ~/.ssh/config
autodist run --hosts 10.77.0.1:1,by-v:1 -- hostname; echo "[$?]"
""")
    assert "identityfile ~/.ssh/keys/%Z: ssh cannot replace its tokens:" in said and "Pseudo-terminal" not in said, said
    assert "unknown key %Z" in said and "${NO_SUCH_VARIABLE} has no value" in said and said.count("[125]\n") == 2, said


# Keywords that only ssh supports

def test_bind_address(case):
    said = case(2, """
ip addr add 10.77.0.101/16 dev eth0
ssh -b 10.77.0.101 host2 iptables -A INPUT -p tcp --dport 22 ! -s 10.77.0.101 -j DROP
printf 'Host *\\n  BindAddress 10.77.0.101\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "host2" in said and said.endswith("[0]\n"), said


def test_bind_interface(case):
    said = case(2, """
ip link add other type dummy; ip addr add 10.77.0.101/32 dev other; ip link set other up
printf 'Host *\\n  BindInterface other\\n' > ~/.ssh/config
ssh -o BatchMode=yes -o ConnectTimeout=3 host2 true; echo "ssh [$?]"
printf 'Host *\\n  BindInterface eth0\\n  ConnectTimeout 3\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "host2" in said and said.endswith("[0]\n"), said


def test_a_revoked_host_key_is_refused(case):
    said = case(2, """
ssh-keyscan -t ed25519 10.77.0.2 2> /dev/null | cut -d' ' -f2- > ~/.ssh/revoked
printf "Host *\\n  RevokedHostKeys $HOME/.ssh/revoked\\n" > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "host key revoked: " in said and said.endswith("[125]\n"), said
    assert "new host key" in said and "accept-new" not in said, said


def test_a_file_of_revoked_keys_that_ssh_cannot_read(case):
    said = case(2, """
printf 'Host *\\n  RevokedHostKeys /nowhere/revoked\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "ssh cannot read the file of RevokedHostKeys" in said and "that file must exist" in said, said
    assert "absolute path" not in said, said
    assert "accept-new" not in said and said.endswith("[125]\n"), said


def test_a_known_hosts_command(case):
    said = case(2, """
ssh-keyscan -t ed25519 10.77.0.2 2> /dev/null > keys; rm ~/.ssh/known_hosts
printf "Host *\\n  KnownHostsCommand /usr/bin/cat $PWD/keys\\n" > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "host2" in said and said.endswith("[0]\n"), said


def test_disruptive_ssh_settings_are_overridden(case):
    said = case(2, """
cat > ~/.ssh/config <<C
Host *
  BindAddress 10.77.0.1
  ForkAfterAuthentication yes
  StdinNull yes
  SessionType none
  RemoteCommand tmux
  RequestTTY force
  LogLevel QUIET
C
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "host2" in said and said.endswith("[0]\n"), said


def test_unsupported_keywords_are_reported_once(case):
    said = case(3, """
printf 'Host *\\n  ForwardAgent yes\\n  LocalForward 8888 localhost:8888\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1,10.77.0.3:1 -- hostname; echo "[$?]"
""")
    assert said.count("ForwardAgent yes: ranks run longer than a login") == 1, said
    assert "LocalForward" not in said and said.endswith("[0]\n"), said


def test_the_address_family(case):
    said = case(2, """
printf 'Host *\\n  AddressFamily inet6\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "AddressFamily inet6" in said and said.endswith("[125]\n"), said


# Open control connections

CONTROL = """
cat > ~/.ssh/config <<C
Host gpu2
  HostName 10.77.0.2
  ControlMaster auto
  ControlPath ~/.ssh/cm-%C
  ControlPersist 10m
C
"""


def test_an_open_control_connection_is_used(case):
    said = case(2, CONTROL + """
ssh gpu2 true
: > "$(dirname "$1")/user_ed25519.pub"
autodist run --hosts 10.77.0.1:1,gpu2:1 -- hostname; echo "[$?]"
ssh -O exit gpu2
autodist run --hosts 10.77.0.1:1,gpu2:1 -- hostname; echo "[$?]"
""")
    first, second = said.split("Exit request sent.")
    assert "host2" in first and first.endswith("[0]\n"), said
    assert "key refused" in second and second.endswith("[125]\n"), said


def test_init_and_doctor_use_a_control_connection_too(case):
    said = case(2, CONTROL.replace("cm-%C", "cm-%r@%h:%p") + """
ssh gpu2 true
: > "$(dirname "$1")/user_ed25519.pub"
autodist init --ssh-config --output gpu2.yaml; autodist doctor --spec gpu2.yaml | head -4
ssh -O exit gpu2
""")
    assert "1 node" in said and "key refused" not in said, said
    assert re.search(r"gpu2 +✓", said), said


def test_a_stale_control_socket_is_ignored(case):
    said = case(2, CONTROL + """
python3 -c "import socket,sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])" \\
    $(ssh -T -G gpu2 2> /dev/null | sed -n 's/^controlpath //p')
autodist run --hosts 10.77.0.1:1,gpu2:1 -- hostname; echo "[$?]"
""")
    assert "host2" in said and said.endswith("[0]\n"), said


# Proxies

def test_a_proxy_command_that_fails_is_the_cause(case):
    said = case(2, """
cat > ~/.ssh/config <<C
Host i-02
  HostKeyAlias host2
  ProxyCommand ssh -W 10.77.0.2:22 host2
Host i-0bad
  ProxyCommand sh -c 'echo "TargetNotConnected: %h is not connected" >&2; sleep 0.2; exit 1'
C
autodist run --hosts i-02:1,i-0bad:1 -- true; echo "[$?]"
echo "--- beside the chief"; autodist run --hosts 10.77.0.1:1,i-02:1 -- hostname; echo "[$?]"
""")
    fails, beside = said.split("--- beside the chief\n")
    assert ("its ProxyCommand ended without a connection: "
            "TargetNotConnected: i-0bad is not connected") in fails, said
    assert "MaxStartups" not in fails and fails.endswith("[125]\n"), said
    assert "host2" in beside and beside.endswith("[0]\n"), said


def test_a_proxy_command_that_cannot_be_run(case):
    said = case(2, """
cat > ~/.ssh/config <<C
Host i-02
  ProxyCommand $PWD/proxy %h
C
echo 'exit 1' > proxy
autodist run --hosts 10.77.0.1:1,i-02:1 -- true; echo "[$?]"
""")
    assert "its ProxyCommand ended without a connection" in said, said
    assert "proxy: Permission denied" in said and "key refused" not in said, said
    assert "authorized_keys" not in said and said.endswith("[125]\n"), said


def test_a_jump_host_that_does_not_reach_the_node(case):
    said = case(2, """
printf 'Host gpu9\\n  HostName 10.77.0.2\\n  Port 2222\\n  ProxyJump host2\\n' > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,gpu9:1 -- true; echo "[$?]"
""")
    assert "gpu9: its jump host does not reach it: " in said, said
    assert "that the jump host reaches 10.77.0.2 at port 2222" in said, said
    assert "Connection refused" in said and said.endswith("[125]\n"), said


@pytest.mark.parametrize("config, fails, says", [
    ("Port 2223", "its jump host cannot be reached",
     "ssh: connect to host 10.77.0.2 port 2223: Connection refused"),
    ("HostName no.such.host", "its jump host cannot be reached",
     "ssh: Could not resolve hostname no.such.host"),
    ("IdentityFile ~/stranger", "the login to its jump host fails",
     "root@10.77.0.2: Permission denied (publickey"),
    ("UserKnownHostsFile /dev/null", "the login to its jump host fails",
     "Host key verification failed"),
], ids=["down", "unknown", "key", "host key"])
def test_the_hint_is_about_the_jump_host_that_refuses(case, config, fails, says):
    said = case(3, f"""
ssh-keygen -q -t ed25519 -N '' -f ~/stranger
printf 'Host gate\\n  {config}\\n  HostName 10.77.0.2\\n  IdentitiesOnly yes\\n' > ~/.ssh/config
printf 'Host gpu3\\n  HostName 10.77.0.3\\n  ProxyJump gate\\n' >> ~/.ssh/config
autodist run --hosts 10.77.0.1:1,gpu3:1 -- true; echo "[$?]"
""")
    assert f"gpu3: {fails}: " in said and says in said, said
    assert "make `ssh gate true` work here (ProxyJump in ~/.ssh/config)" in said and "reaches the node" not in said, said
    assert said.endswith("[125]\n"), said


# Fallback to ssh when autodist's own login fails

def test_ssh_is_used_where_only_it_can_log_in(case):
    said = case(2, """
mv ~/.ssh/id_ed25519 right
{ echo 'Host *'; for i in 1 2 3 4 5; do
  ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/key$i; echo "  IdentityFile ~/.ssh/key$i"; done
  echo "  IdentityFile $PWD/right"; } > ~/.ssh/config
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert said.count("reached through the ssh program, as autodist's own login fails") == 1, said
    assert "host2" in said and said.endswith("[0]\n"), said


def test_several_addresses_of_a_name_are_tried(case):
    said = case(2, """
{ cat /etc/hosts; echo '10.77.0.3 gpu2'; echo '10.77.0.2 gpu2'; } > hosts
mount --bind hosts /etc/hosts
ssh-keyscan -t ed25519 10.77.0.2 2> /dev/null | sed 's/^[^ ]*/gpu2/' >> ~/.ssh/known_hosts
autodist init --hosts 10.77.0.1:1,gpu2:1 --output two.yaml
autodist doctor --spec two.yaml | head -6
autodist run --hosts 10.77.0.1:1,gpu2:1 -- sh -c 'echo $(hostname) at $AUTODIST_NODE_ADDRESS'; echo "[$?]"
autodist run --hosts gpu2:1 --workdir /tmp -- sh -c 'echo master at $MASTER_ADDR'; echo "[$?]"
""")
    assert "not reached" not in said and "ssh program" not in said and "No route" not in said, said
    assert "host2 at 10.77.0.2\n" in said and "master at 10.77.0.2\n" in said, said
    assert re.search(r"gpu2 +✓", said) and said.count("[0]\n") == 2, said


# Errors of the configuration

@pytest.mark.parametrize("config, change, says, hint", [
    ("Host gpu2\n  HostName 10.77.0.2\n  UseKeychain yes\n", "true",
     "line 3: Bad configuration option: usekeychain",
     "`IgnoreUnknown usekeychain` at the top of the file"),
    ("Host gpu2\n  HostName 10.77.0.2\n", "chmod 666 ~/.ssh/config",
     "Bad owner or permissions on /root/.ssh/config", "chmod go-w /root/.ssh/config"),
    ("Host gpu2\n  HostName 10.77.0.2\n  Port x\n", "true", "config line 3: Bad ",
     "correct that line\n")],
    ids=["keyword", "permissions", "value"])
def test_an_error_of_the_configuration(case, config, change, says, hint):
    said = case(2, f"""
printf '{config}' > ~/.ssh/config; {change}
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
echo "--- doctor"; autodist doctor --spec "$1"; echo "[$?]"
echo "--- init"; autodist init --ssh-config; echo "[$?]"
""")
    for one in said.replace("--- doctor", "--- init").split("--- init\n"):
        assert one.count(says) == 1 and one.count("hint: ") == 1 and hint in one, said
        assert one.endswith("[2]\n") and "no GPU" not in one, said


# Variables of a scheduler's job that has ended

SLURM = """
mkdir bin; PATH=$PWD/bin:$PATH
printf '#!/bin/sh\\necho "slurm_load_jobs error: %s" >&2; exit 1\\n' 'Invalid job id specified' > bin/scontrol
chmod +x bin/scontrol
export SLURM_JOB_ID=771204 SLURM_JOB_NODELIST=gpu-[07-08] SLURM_JOB_NUM_NODES=2 SLURM_CONF=/etc/slurm.conf
"""


def test_the_variables_of_a_slurm_job_that_has_ended(case):
    said = case(2, SLURM + """
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- sh -c 'echo ${SLURM_JOB_ID:-none}'
echo "--- here"; autodist run -n 2 -- sh -c 'echo ${SLURM_JOB_ID:-none} $SLURM_CONF'; echo "[$?]"
echo "--- slurm"; autodist run --slurm -- true; echo "[$?]"
echo "--- init"; autodist init --slurm --offline; echo "[$?]"
""")
    spec, here, slurm, init = re.split("--- .*\n", said)
    assert spec.count("] none\n") == 2 and "Slurm job 771204" in spec, said
    assert here.count("] none /etc/slurm.conf\n") == 2 and "--slurm uses" not in here, said
    for one in (slurm, init):
        assert "Slurm job 771204 (SLURM_JOB_ID of this shell) has ended" in one, said
        assert "salloc or sbatch" in one and "new shell" not in one and one.endswith("[2]\n"), said


def test_ssh_is_not_tried_after_a_changed_host_key(case):
    said = case(2, """
ssh-keygen -q -t ed25519 -N '' -f other
echo "10.77.0.2 $(cut -d' ' -f1,2 other.pub)" > ~/.ssh/known_hosts
autodist run --hosts 10.77.0.1:1,10.77.0.2:1 -- hostname; echo "[$?]"
""")
    assert "host key changed" in said and "ssh program" not in said, said
    assert said.endswith("[125]\n"), said
