"""Differences between nodes: files, variables, home folders."""


def test_sync_copies_what_git_tracks(case):
    said = case(2, """
mkdir /tmp/p; cd /tmp/p; git init -q .; printf 'local*\\nmodels/\\n*.npy\\n' > .gitignore
mkdir -p conf models; echo 'lr: 0.1' > conf/local_lab.yaml; echo 'N = 7' > models/net.py; touch models/__init__.py
echo 'print(open("conf/local_lab.yaml").read())' > train.py; echo 'from models.net import N; print("N is", N)' > import.py
git add -f .gitignore conf models train.py import.py; git -c user.name=a -c user.email=a@b commit -qm x
echo big > data.npy; echo mine > conf/local_mine.yaml; echo 1 > models/cache
git config core.fsmonitor 'touch /tmp/ran'; git config core.hooksPath /tmp/p
autodist run --spec "$1" --sync -- python3 train.py; echo "[$?]"
autodist run --spec "$1" --sync -- python3 import.py; echo "[$?]"
autodist run --spec "$1" --sync -- sh -c 'ls data.npy conf/local_mine.yaml models/cache | wc -l'
ls /tmp/ran
""")
    assert said.count("lr: 0.1") == 2 and said.count("N is 7") == 2, said
    assert said.count("[0]\n") == 2, said
    assert "left out of --sync by .gitignore: 3 files, " in said, said
    assert ": conf/local_mine.yaml, data.npy, models/cache\n" in said, said
    assert "[10.77.0.2:1] 0\n" in said, said
    assert "'/tmp/ran'" in said, said  # the repository's configuration was not executed


def test_sync_of_a_subfolder_of_a_worktree(case):
    said = case(2, """
mkdir /tmp/main; cd /tmp/main; git init -q .; mkdir proj; echo '*.cfg' > proj/.gitignore; echo cfg > proj/a.cfg
git add -f proj; git -c user.name=a -c user.email=a@b commit -qm x; git worktree add -q /tmp/tree
cd /tmp/tree/proj; echo other > b.cfg
autodist run --spec "$1" --sync -- sh -c 'echo have *.cfg'; echo "[$?]"
echo a.cfg > .autodistignore; touch new; autodist run --spec "$1" --sync -- sh -c 'ls'
""")
    assert "[10.77.0.1:0] have a.cfg b.cfg" in said and "[10.77.0.2:1] have a.cfg\n" in said, said
    assert said.split("[0]\n")[1].count("left out of --sync") == 1, said


GATED = """
cat > gated.py <<P
import os, time
if "HF_TOKEN" not in os.environ: raise OSError("401 Client Error: access to model acme/large is restricted")
time.sleep(5)
P
"""


def test_variables_that_only_the_chief_has(case):
    said = case(2, GATED + """
unset $(compgen -e | grep -iE 'proxy|_(token|key|secret|credentials)$')
export HF_TOKEN=hf_0000 WANDB_API_KEY=0000 HTTPS_PROXY=http://proxy.lan:3128
autodist doctor --spec "$1" -- /usr/bin/python3 gated.py; echo "---"
autodist run --spec "$1" -- /usr/bin/python3 gated.py; echo "---"
autodist run --spec "$1" --pass-env HF_TOKEN -- /usr/bin/python3 gated.py
""")
    doctor, run, passed = said.split("---\n")
    assert "ranks there do not get HF_TOKEN, which the shell of the chief has" in doctor, said
    assert "the shell here has HF_TOKEN, which ranks of other nodes do not get: --pass-env HF_TOKEN\n" in run, said
    assert "do not get" not in passed, said
    assert "hf_0000" not in said and "proxy.lan" not in said, said


def test_the_message_names_the_variable(case):
    said = case(2, """
export MY_CORPUS=/data EDITOR=vi
cat > a.py <<P
import os, time
os.environ["MY_CORPUS"]; time.sleep(5)
P
cat > b.py <<P
import os, time
if os.environ["RANK"] == "1": raise ValueError("shapes differ")
time.sleep(5)
P
autodist run --spec "$1" -- python3 a.py; echo "--"; autodist run --spec "$1" -- python3 b.py
""")
    named, unrelated = said.split("--\n", 1)
    assert "the shell here has MY_CORPUS, which ranks of other nodes do not get: --pass-env MY_CORPUS" in named, said
    assert "MY_CORPUS" not in unrelated and "EDITOR" not in said, said


def test_an_unwritable_home(case):
    said = case(1, """
chmod 755 .; mkdir w; chmod 777 w; cd w
U() { setpriv --reuid 1000650000 --regid 0 --clear-groups env -i HOME=/ PATH="$PATH" "$@"; echo "[$?]"; }
U autodist run --name t -n 2 -- sh -c 'echo step $RANK'
U autodist logs t
U autodist ps --all
""")
    assert "[0]" in said and "other commands will not find" not in said and "//" not in said, said
    assert said.count("step 0") == 2 and " t  " in said.split("[0]\n")[2], said


def test_no_writable_folder_for_the_record(case):
    said = case(1, """
chmod 755 .; mkdir w; chmod 777 w; cd w; mkdir -m 0755 /tmp/autodist-state-1000650001
U() { setpriv --reuid 1000650001 --regid 0 --clear-groups env -i HOME=/ PATH="$PATH" "$@"; echo "[$?]"; }
U autodist run -n 1 -- true
U XDG_STATE_HOME=$PWD/state autodist run --name mine -n 1 -- true; U XDG_STATE_HOME=$PWD/state autodist ps --all
""")
    first, rest = said.split("[0]\n", 1)
    assert "other commands will not find this job" in first and "export XDG_STATE_HOME=FOLDER" in first, said
    assert "mine" in rest.split("[0]\n")[1], said
