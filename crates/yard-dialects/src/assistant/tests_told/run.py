"""Runs the tests of a Python project with pytest or unittest, and tells what came of them as lines of JSON
on the standard output; whatever else is said goes to the standard error."""

import json
import os
import sys

told = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)
sys.dont_write_bytecode = True
sys.path[0] = os.getcwd()

counts = {"passed": 0, "failed": 0, "skipped": 0}


def tell(what):
    told.write(json.dumps(what) + "\n")
    told.flush()


def failed(name, message, file=None, line=None):
    counts["failed"] += 1
    tell({"name": name, "message": str(message)[:4000], "file": file, "line": line})


class Plugin:
    """What pytest calls."""

    def pytest_runtest_logreport(self, report):
        if report.failed:
            failed(report.nodeid, *self.crash(report))
        elif report.skipped:
            counts["skipped"] += 1
        elif report.when == "call":
            counts["passed"] += 1

    def pytest_collectreport(self, report):
        if report.failed:
            failed(report.nodeid or "collection", *self.crash(report))
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


def with_pytest(target, chosen):
    import pytest

    words = ["-p", "no:cacheprovider", "--color=no", "--tb=short"]
    words += ["-k", chosen] if chosen else []
    words += [target] if target else []
    return int(pytest.main(words, plugins=[Plugin()]))


def place(trace):
    """The last line of the project's own that a traceback leads through."""
    found = (None, None)
    while trace is not None:
        file = os.path.abspath(trace.tb_frame.f_code.co_filename)
        if file.startswith(os.getcwd() + os.sep) and "site-packages" not in file:
            found = (os.path.relpath(file), trace.tb_lineno)
        trace = trace.tb_next
    return found


def top_of(folder):
    """The folder that the packages are in to which a folder belongs."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and folder != os.getcwd():
        folder = os.path.dirname(folder)
    return folder


def with_unittest(target, chosen):
    import unittest

    class Result(unittest.TextTestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            counts["passed"] += 1

        def addFailure(self, test, error):
            super().addFailure(test, error)
            failed(test.id(), error[1], *place(error[2]))

        def addError(self, test, error):
            super().addError(test, error)
            failed(test.id(), f"{error[0].__name__}: {error[1]}", *place(error[2]))

        def addSubTest(self, test, part, error):
            super().addSubTest(test, part, error)
            if error is not None:
                failed(part.id(), error[1], *place(error[2]))

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            counts["skipped"] += 1

        def addExpectedFailure(self, test, error):
            super().addExpectedFailure(test, error)
            counts["skipped"] += 1

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            failed(test.id(), "succeeded, and was expected to fail")

    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{chosen}*"] if chosen else None
    if target and os.path.isfile(target):
        folder = os.path.dirname(target)
        suite = loader.discover(folder, pattern=os.path.basename(target), top_level_dir=top_of(folder))
    else:
        suite = loader.discover(target or ".", top_level_dir=top_of(target) if target else None)
        if not suite.countTestCases() and not target and os.path.isdir("tests"):
            suite = loader.discover("tests", top_level_dir="tests")
    ran = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    return 0 if ran.wasSuccessful() else 1


run = with_pytest if sys.argv[1] == "pytest" else with_unittest
code = run(sys.argv[2], sys.argv[3])
tell(counts)
sys.exit(code)
