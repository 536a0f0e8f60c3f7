"""Commands of a new user, and their output."""

import re

import pytest

# A job that runs until the file `end` exists.
WAITS = "sh -c 'echo up; while [ ! -e end ]; do sleep 0.05; done'"


@pytest.mark.parametrize("option, value", [
    ("--timeout", "10m"), ("--timeout", "2d"), ("--timeout", "200000"), ("--grace", "1h30m"), ("--grace", "1.5h"),
    ("--lease", "90"), ("--hang-timeout", "15m"), ("--sample-interval", "500ms"), ("--timeout", "'2 days'")])
def test_common_duration_formats(case, option, value):
    said = case(1, f"autodist run {option} {value} -- echo done; echo \"[$?]\"")
    assert "done" in said and said.endswith("[0]\n"), said


@pytest.mark.parametrize("option, value", [
    ("--timeout", "10x"), ("--grace", "soon"), ("--lease", "1h30"), ("--timeout", "01:30:00"), ("--lease", "0")])
def test_an_invalid_duration_is_quoted(case, option, value):
    said = case(1, f"autodist run {option}={value} -- echo done; echo \"[$?]\"")
    assert f"{option}: '{value}' is not a duration like 90, 10m, 1h30m or 2d" in said, said
    assert said.endswith("[2]\n"), said


def test_a_timeout_stops_the_job(case):
    said = case(1, "autodist run --timeout 500ms --grace 1s -- sleep 100; echo \"[$?]\"")
    assert said.endswith("[124]\n"), said


def test_the_default_is_the_running_job(case):
    said = case(1, f"""
autodist run --detach -- {WAITS} 2>/dev/null
for command in status logs stacks 'report --markdown' 'why' 'top --once'; do
    autodist $command >/dev/null 2>said || [ "$command" = why ] || {{ echo "$command:"; cat said; }}
done
touch end
{{ autodist attach; autodist stop; }} 2>&1 | sed 's/[0-9]*-[0-9]*-[0-9a-f]*/ID/'
""")
    assert said == "[localhost:0] up\n" + 2 * "autodist: job ID has ended with exit code 0\n", said


def test_one_of_several_jobs_has_to_be_named(case):
    said = case(1, f"""
autodist run --detach --name first -- {WAITS} 2>/dev/null
autodist run --detach --name second -- {WAITS} 2>/dev/null
for command in stop logs status attach why top report; do autodist $command 2>&1; echo "[$?]"; done
autodist stop ''; echo "[$?]"
autodist ps | grep -c running
touch end; autodist attach first >/dev/null; autodist attach second >/dev/null
""")
    assert said.count("2 jobs are running:\n") == 7 and said.count("(first): sh -c ") == 7 and said.count("(second): sh -c ") == 7, said
    assert said.count("name one of them, by its id or its name") == 6 and said.count("by its id or its name: `autodist stop JOB`") == 1, said
    assert "the value is empty" in said and "\n2\n" in said, said


def test_only_a_job_of_this_folder_is_stopped_without_its_name(case):
    said = case(1, f"""
mkdir other
autodist run --detach --name far -- {WAITS} 2>/dev/null
cd other; autodist status 2>&1 | grep -E '^autodist|^name' | sed 's/[0-9]*-[0-9]*-[0-9a-f]*/ID/'
autodist stop; echo "far: $?"
autodist ps | grep -c running
cd ..; autodist stop; echo "here: $?"
cd other; autodist stop; echo "none: $?"
""")
    far, here, none = re.split(r"^(?=far: |here: )", said, flags=re.M)
    assert "no job of this folder; using ID (far): sh -c" in far and ", in /" in far and "\nname " in far, said
    assert "no job of this folder is running; 1 job is running in other folders:\n" in far and "(far): sh -c" in far, said
    assert "`autodist stop JOB`" in far and here.startswith("far: 2\n1\n"), said
    assert "stopping job" in here and none.startswith("here: 0\n"), said
    assert "no job is running, and none was started in this folder" in none and none.endswith("none: 2\n"), said


def test_all_jobs_are_stopped(case):
    said = case(1, f"""
autodist stop --all; echo "none: $?"
mkdir other
autodist run --detach --name first -- {WAITS} 2>/dev/null
(cd other; autodist run --detach --name second -- {WAITS} 2>/dev/null)
autodist stop --all last; echo "wrong: $?"
autodist stop --all; echo "all: $?"
autodist ps
""")
    none, wrong, stopped, after = re.split(r"^(?=none: |wrong: |all: )", said, flags=re.M)
    assert "no job is running on this machine" in none and wrong.startswith("none: 0\n"), said
    assert stopped.startswith("wrong: 2\n") and "stopping 2 jobs:\n" in stopped, said
    assert "(first): sh -c" in stopped and "(second): sh -c" in stopped and stopped.count("has ended with exit code") == 2, said
    assert after.startswith("all: 0\n") and "no running jobs" in after, said


@pytest.mark.parametrize("word, answer", [
    ("list", "`autodist ps`"), ("kill last", "`autodist stop`"), ("rm last", "`autodist prune`"),
    ("squeue", "`autodist ps`"), ("srun hostname", "`autodist run -- PROGRAM`"), ("monitor", "`autodist top`")])
def test_option_names_of_other_programs_are_answered(case, word, answer):
    said = case(1, f"autodist {word}; echo \"[$?]\"; autodist version")
    assert answer in said and "[2]\n" in said, said
    assert re.search(r"^autodist \S+", said.split("[2]\n")[1]), said


@pytest.mark.parametrize("options, program, code", [
    ("", "./no-such-program", 127), ("--detach", "./no-such-program", 127), ("--no-preflight", "./no-such-program", 127),
    ("--log-dir deep/er", "./no-such-program", 127), ("--hosts no.such.host", "true", 125)])
def test_a_refused_start_leaves_no_files(case, options, program, code):
    said = case(1, f"""
autodist run {options} -- {program}; echo "[$?]"
ls -A | grep -v case.sh
autodist ps --all; echo "[$?]"
""")
    assert f"[{code}]\n" in said, said
    assert re.fullmatch(r"autodist: no jobs(; .* Slurm.*)?\n\[0\]\n", said.split(f"[{code}]\n")[1]), said
    assert "give the number of ranks" not in said, said
    assert "no such" in said.lower() or "does not exist" in said or "does not resolve" in said, said


def test_last_is_the_job_before_a_refused_start(case):
    said = case(1, """
autodist run --name good -- true 2>/dev/null
autodist run -- ./no-such-program 2>/dev/null
autodist status last | grep -E '^(name|exit code)'; ls autodist-runs | wc -l
""")
    assert said.split() == ["name", "good", "exit", "code", "0", "1"], said


def test_old_jobs_are_removed(case):
    said = case(1, """
for i in 1 2 3; do autodist run --name job-$i -- true 2>/dev/null; done
autodist prune; echo "[$?]"
autodist prune --keep 1 --dry-run | cut -d' ' -f1-2,4; ls autodist-runs | wc -l
autodist prune --older-than 1h | tail -1
autodist prune --keep 1 | tail -1 | cut -d, -f1; ls autodist-runs | wc -l
autodist prune job-3 | tail -1 | cut -d, -f1; ls autodist-runs | wc -l
autodist ps --all
""")
    assert "prune: no jobs given" in said and "[2]\n" in said, said
    assert said.split("[2]\n")[1].startswith("""would remove (job-1),
would remove (job-2),
would remove jobs,
3
removed 0 jobs, 0 bytes of logs
removed 2 jobs
1
removed 1 job
0
autodist: no jobs"""), said


def test_only_folders_of_ended_jobs_are_removed(case):
    said = case(1, f"""
autodist run --detach --name runs -- {WAITS} 2>/dev/null
autodist prune runs; echo "[$?]"
autodist prune --keep 0
mkdir precious; touch precious/file
autodist run --name moved -- true 2>/dev/null
job=$(autodist status moved --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["job_id"])')
mv autodist-runs/$job elsewhere; ln -s ../precious autodist-runs/$job
autodist prune moved; ls precious
autodist ps | grep -c running; touch end; autodist attach runs > /dev/null
""")
    assert "has not ended" in said and "[2]\nremoved 0 jobs" in said, said
    assert "\nfile\n1\n" in said, said


def test_a_removed_log_folder_is_no_job(case):
    said = case(1, """
autodist run --name first -- true 2>/dev/null
autodist run --name second -- true 2>/dev/null
rm -r autodist-runs/$(ls autodist-runs | tail -1)
autodist status last | grep ^name; autodist ps --all | tail -1 | cut -c 24-29
""")
    assert said.split() == ["name", "first", "first"], said


def test_a_crashed_job_is_cleaned_by_name(case):
    said = case(2, f"""
autodist run --spec "$1" --lease 1h --detach --name crashed -- {WAITS} 2>/dev/null
kill -9 $(autodist status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["chief_pid"])')
autodist status | grep -E 'unknown|running' | wc -l
autodist clean crashed; echo "[$?]"
""")
    assert said.startswith("2\n"), said
    assert said.count("ended job") == 2 and said.endswith("[0]\n"), said


def test_json_has_no_escape_sequences(case):
    said = case(1, f"""
read_json='import json, sys
job = json.load(sys.stdin)
print(job["state"], job["exit_code"], job["ended_ms"], type(job["started_ms"]).__name__, job["nodes"][0]["state"], job["report"], job["progress"])'
autodist run --detach -- {WAITS} 2>/dev/null
autodist status --json | python3 -c "$read_json"
autodist ps --json | python3 -c "$read_json"
touch end; autodist attach > /dev/null 2>&1
autodist status --json | python3 -c "$read_json" | cut -d' ' -f1-2
autodist why --json
autodist run --dry-run --json -- true | python3 -c 'import json, sys; print(json.load(sys.stdin)["program_kind"])'
cat autodist-runs/*/events.jsonl
""")
    assert said.startswith("running None None int running None None\n" * 2 + "ended 0\n"), said
    assert '"diagnosis":"' in said and '"kind":' in said and "per_device" in said, said
    assert '"job_phase":"running"' in said and re.search(r'"time_ms":\d', said) and "PHASE_" not in said, said


def test_the_list_of_jobs_fits_a_terminal(case):
    said = case(1, f"""
autodist run --detach --name sweep-3 -- sh -c 'for i in $(seq 12); do echo "step $i/50 loss 0.3"; sleep 0.1; done; while [ ! -e end ]; do sleep 0.05; done' {'long ' * 40} 2>/dev/null
for i in $(seq 100); do autodist ps | grep -q '24 %' && break; sleep 0.1; done
script -qc 'stty cols 80; autodist ps' /dev/null </dev/null
touch end; autodist attach > /dev/null; autodist ps --all
""")
    assert re.search(r"^JOB +NAME +STATE +RANKS +STARTED +ELAPSED +PROGRESS +COMMAND", said, re.M), said
    line = next(line for line in said.splitlines() if "24 %" in line)
    assert len(line) <= 80 and line.endswith("…"), said
    assert re.search(r"sweep-3 +exit 0 ", said), said


def test_the_dry_run_is_short(case):
    said = case(2, "autodist run --spec \"$1\" --dry-run -- ./train --lr 0.1 2>/dev/null; "
                   "autodist run --spec \"$1\" --dry-run --verbose -- ./train 2>/dev/null | wc -l")
    lines = said.splitlines()
    assert len(lines) <= 11 and int(lines[-1]) > 40, said
    assert re.search(r"^NODE +RANKS +DEVICES +REACHED BY$", said, re.M) and "./train --lr 0.1" in said, said


@pytest.mark.parametrize("config, typed, code", [
    ('[run]\ngrace = "1s"\ntimeout = "500ms"', "", 124), ('timeout = "500ms"\n[run]\ngrace = 1', "", 124),
    ('[run]\ntimeout = "500ms"', "--timeout 1h", 0), ('[run]\ntimeout = "500ms"', "--no-config", 0),
    ('[run]\nenv = [\n "CODE=7",\n]', "", 7), ('[run]\nenv = ["CODE=7"]', "--env CODE=8", 8),
    ('[top]\nsort = "silent"', "", 0)])
def test_defaults_of_the_user(case, config, typed, code):
    said = case(1, f"""
mkdir -p "$HOME/.config/autodist"; printf '%s\\n' '{config}' > "$HOME/.config/autodist/config.toml"
autodist run {typed} -- sh -c 'sleep 2; exit ${{CODE:-0}}'; echo "[$?]"
""")
    assert said.endswith(f"[{code}]\n"), said


@pytest.mark.parametrize("config, why", [
    ("[run]\ngrcae = 3", "config.toml: line 2: run has no option 'grcae'"),
    ("[run]\ngrace = 2m", "config.toml: line 2: '2m' is not a number"),
    ("[run]\ngrace = \"soon\"", "config.toml: run: --grace: 'soon' is not a duration"),
    ("run.grace = 3", "config.toml: line 1: 'run.grace = 3': a key with a dot is not supported; write")])
def test_errors_in_the_defaults_are_named(case, config, why):
    said = case(1, f"""
export XDG_CONFIG_HOME="$PWD/config"; mkdir -p config/autodist
printf '%s\\n' '{config}' > config/autodist/config.toml
autodist run -- true; echo "[$?]"
""")
    assert why in said and said.endswith("[2]\n"), said


def test_defaults_that_others_can_write_are_refused(case):
    said = case(1, """
export XDG_CONFIG_HOME="$PWD/config"; mkdir -p config/autodist
echo 'timeout = 1' > config/autodist/config.toml; chmod o+w config/autodist/config.toml
autodist run -- echo done; echo "[$?]"; autodist run --no-config -- echo done; echo "[$?]"
""")
    assert "all users can write to" in said and "[2]\n" in said and "] done\n" in said and said.endswith("[0]\n"), said


def test_the_dry_run_marks_values_from_the_defaults(case):
    said = case(1, """
export XDG_CONFIG_HOME="$PWD/config"; mkdir -p config/autodist
echo 'grace = "2m"' > config/autodist/config.toml
autodist run --dry-run --verbose -- true 2>&1 >/dev/null | sed "s|$PWD/||"
""")
    assert "autodist: from config/autodist/config.toml: --grace=2m\n" in said, said


READ_JSON = r"""python3 -c '
import json, sys
for line in sys.stdin:
    one = json.loads(line)
    kind = one.pop("type")
    if kind == "output":
        print(kind, one["rank"], one["stream"], repr(one["text"]), one["time_ms"] > 1e12, one["node"])
    elif kind == "progress":
        print(kind, one["step"], one["total"])
    elif kind == "event":
        print(kind, one.get("job_phase"), one.get("rank"), one.get("what"))
    elif kind == "end":
        print(kind, one["exit_code"], one["outcome"], one["report"] and one["report"].splitlines()[0])
    else:
        print(kind, one["world_size"], one["command"][0], bool(one["name"]))
'"""


def test_a_run_as_json_lines(case):
    said = case(1, f"""
autodist run --json -n 2 -- sh -c 'echo "out \\"$RANK\\""; printf "\\377 \\033[1mbold\\n" >&2' 2>/dev/null | {READ_JSON}
""")
    lines = said.splitlines()
    assert lines[0] == "start 2 sh False" and lines[-1] == "end 0 ended None", said
    for rank in (0, 1):
        assert f"output {rank} stdout 'out \"{rank}\"' True localhost" in lines, said
        assert f"output {rank} stderr '? \\x1b[1mbold' True localhost" in lines, said
    assert "event running None " in lines, said


def test_a_failure_and_steps_as_json_lines(case):
    said = case(1, f"""
autodist run --json -- python3 -c '
import time
for i in range(30):
    print(f"step {{i + 1}}/40 loss 0.5", flush=True)
    time.sleep(0.1)
raise ValueError("no such label")' 2>/dev/null | {READ_JSON}
""")
    assert re.search(r"^progress \d+ 40$", said, re.M), said
    assert re.search(r"^event None 0 .*exited with code 1", said, re.M), said
    assert re.search(r"^end 1 failed .*rank 0", said.splitlines()[-1]), said


def test_json_of_a_refused_start(case):
    said = case(1, f"autodist run --json -- ./no-such-program 2>/dev/null | {READ_JSON}; autodist run --json --detach -- true")
    assert re.search(r"^end 127 .*", said, re.M) and "--json cannot be used with --detach" in said, said
