"""Runs the tests of a Python project with pytest or unittest, and reports the results as lines of JSON on the
standard output; all other output goes to the standard error."""

import json
import os
import sys

results = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)
sys.dont_write_bytecode = True
sys.path[0] = os.getcwd()

counts = {"passed": 0, "failed": 0, "skipped": 0}


def report(result):
    results.write(json.dumps(result) + "\n")
    results.flush()


def report_failure(name, message, file=None, line=None):
    counts["failed"] += 1
    report({"name": name, "message": str(message)[:4000], "file": file, "line": line})


class Plugin:
    """What pytest calls."""

    def pytest_runtest_logreport(self, report):
        if report.failed:
            report_failure(report.nodeid, *self.crash(report))
        elif report.skipped:
            counts["skipped"] += 1
        elif report.when == "call":
            counts["passed"] += 1

    def pytest_collectreport(self, report):
        if report.failed:
            report_failure(report.nodeid or "collection", *self.crash(report))
        elif report.skipped:
            counts["skipped"] += 1

    def crash(self, report):
        crash = getattr(report.longrepr, "reprcrash", None)
        file, line = (report.location[0], (report.location[1] or 0) + 1) if hasattr(report, "location") else (None, None)
        if crash is None:
            return report.longreprtext, file, line
        if os.path.abspath(crash.path).startswith(os.getcwd() + os.sep):
            file, line = os.path.relpath(crash.path), crash.lineno
        return crash.message, file, line


def with_pytest(target, name_filter):
    import pytest

    arguments = ["-p", "no:cacheprovider", "--color=no", "--tb=short"]
    arguments += ["-k", name_filter] if name_filter else []
    arguments += [target] if target else []
    return int(pytest.main(arguments, plugins=[Plugin()]))


def last_own_line(trace):
    """The file and line of the innermost frame that is in the project."""
    own = (None, None)
    while trace is not None:
        file = os.path.abspath(trace.tb_frame.f_code.co_filename)
        if file.startswith(os.getcwd() + os.sep) and "site-packages" not in file:
            own = (os.path.relpath(file), trace.tb_lineno)
        trace = trace.tb_next
    return own


def import_root(folder):
    """The folder that the outermost package of a folder is in."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and folder != os.getcwd():
        folder = os.path.dirname(folder)
    return folder


def with_unittest(target, name_filter):
    import unittest

    class Result(unittest.TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            counts["passed"] += 1

        def addFailure(self, test, error):
            super().addFailure(test, error)
            report_failure(test.id(), error[1], *last_own_line(error[2]))

        def addError(self, test, error):
            super().addError(test, error)
            report_failure(test.id(), f"{error[0].__name__}: {error[1]}", *last_own_line(error[2]))

        def addSubTest(self, test, part, error):
            super().addSubTest(test, part, error)
            if error is not None:
                report_failure(part.id(), error[1], *last_own_line(error[2]))

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            counts["skipped"] += 1

        def addExpectedFailure(self, test, error):
            super().addExpectedFailure(test, error)
            counts["skipped"] += 1

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            report_failure(test.id(), "succeeded, and was expected to fail")

    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name_filter}*"] if name_filter else None
    if target and os.path.isfile(target):
        folder = os.path.dirname(target)
        suite = loader.discover(folder, pattern=os.path.basename(target), top_level_dir=import_root(folder))
    else:
        suite = loader.discover(target or ".", top_level_dir=import_root(target) if target else None)
        if not suite.countTestCases() and not target and os.path.isdir("tests"):
            suite = loader.discover("tests", top_level_dir="tests")
    ran = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    return 0 if ran.wasSuccessful() else 1


run = with_pytest if sys.argv[1] == "pytest" else with_unittest
code = run(sys.argv[2], sys.argv[3])
report(counts)
sys.exit(code)
