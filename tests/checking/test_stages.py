"""tests/check, with tests of ctest made for it."""

import functools
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))

from checking import stages  # noqa: E402

CONFTEST = f"import sys\nsys.path.append({str(TESTS / 'support')!r})\npytest_plugins = ['results']\n"
THREE_TESTS = """
import pathlib, pytest

def ran(name):
    with open(pathlib.Path(__file__).with_name(name), "a+") as file:
        file.write(".")
        return file.tell()

def test_passes():
    assert ran("passes") == 1

def test_passes_the_second_time():
    assert ran("flaky") == 2

def test_is_skipped():
    pytest.skip("no such device")
"""
ONCE = "test -e %s || { touch %s; exit 1; }"
SKIPPED_BY_GOOGLETEST = """
<testsuites><testsuite name="Gpus"><testcase name="Two" classname="Gpus"><skipped message="gpus_test.cc:3&#x0A;no driver"/></testcase>
<testcase name="One" classname="Gpus"/></testsuite></testsuites>
"""


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """Makes a stage with tests of ctest: stage(name=(label, shell command), ...); runs it, and failed tests
    again."""
    listed = tmp_path / "may_skip"
    monkeypatch.setattr(stages, "LIST", listed)
    monkeypatch.chdir(tmp_path)

    def run(may_skip="", **tests):
        listed.write_text(may_skip)
        (tmp_path / "CTestTestfile.cmake").write_text("".join(
            f"add_test({name} sh -c [==[{command}]==])\nset_tests_properties({name} PROPERTIES LABELS {label})\n"
            for name, (label, command) in tests.items()))
        made = stages.Tests("made", f"ctest --test-dir {tmp_path}", tmp_path)
        made.run()
        made.run_again()
        return made
    return run


def test_a_test_that_passes_alone_is_flaky_and_no_failure(stage):
    made = stage(shaky=("integration", ONCE % ("x", "x")), steady=("cluster", "true"))
    assert (made.issue, made.flaky, made.outcome()) == ("", ["shaky"], "FLAKY: shaky")


def test_a_test_that_fails_twice_has_failed(stage):
    made = stage(broken=("cluster", "false"), shaky=("smoke", ONCE % ("x", "x")))
    assert made.issue == "broken (Failed)" and made.flaky == ["shaky"]
    assert made.outcome() == "broken (Failed); FLAKY: shaky"


def test_a_test_that_failed_under_a_sanitizer_is_not_run_again(stage, monkeypatch):
    monkeypatch.setattr(stages.Tests, "__init__", functools.partialmethod(stages.Tests.__init__, again=""))
    assert stage(shaky=("cluster", ONCE % ("x", "x"))).issue == "shaky (Failed)"


def test_unreadable_results_are_a_failure(stage):
    made = stage(unit_cut_off=("unit", 'printf "<testsuites" > "${GTEST_OUTPUT#xml:}cut_off.xml"'))
    assert "ParseError" in made.issue and made.ended.is_set()


def test_a_stage_that_was_not_run_has_not_passed(tmp_path):
    assert stages.Stage("never", "true", tmp_path).issue == "not run"


def test_a_unit_test_is_not_run_again(stage):
    made = stage(unit_shaky=("unit", ONCE % ("x", "x")))
    assert made.issue == "unit_shaky (Failed)" and not made.flaky


def test_only_the_failed_tests_of_a_file_are_run_again(stage, tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_three.py").write_text(THREE_TESTS)
    command = f"{sys.executable} -B -m pytest -q -p no:cacheprovider {tmp_path}/test_three.py"
    made = stage("test_three.py::test_is_* | it needs a device\n", three=("integration", command))
    assert (made.issue, made.flaky) == ("", ["test_three.py::test_passes_the_second_time"])
    assert (tmp_path / "passes").read_text() == "."
    assert made.skipped == {"test_three.py::test_is_skipped": "it needs a device"}


def test_a_skipped_test_that_is_not_on_the_list_is_a_failure(stage):
    command = f"echo '{SKIPPED_BY_GOOGLETEST}' > ${{GTEST_OUTPUT#xml:}}/agent_test.xml"
    made = stage(gpus=("unit", command))
    assert made.issue == "agent_test::Gpus.Two (skipped: no driver; not in tests/may_skip)"
    made = stage("# of this machine\nagent_test::Gpus.* | no GPU here\n", gpus=("unit", command))
    assert made.issue == "" and made.skipped == {"agent_test::Gpus.Two": "no GPU here"}


def test_a_stage_with_a_failed_dependency_is_not_run(tmp_path):
    build = stages.Stage("build", "exit 3", tmp_path)
    tests = stages.Tests("test", "touch ran", tmp_path, [build])
    build.run()
    tests.run()
    assert build.issue == "exit code 3" and tests.issue == "not run, for build" and not Path("ran").exists()
    tests.run_again()
    assert tests.issue == "not run, for build"
