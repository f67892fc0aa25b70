//! Projects that need no packages: Go with a vendored module, CMake and make.

use crate::counts::{self, counts};
use crate::person::User;
use crate::story::{Project, Setting, Toolset, play};
use crate::workspace::Door;

const GO: &str = "\
package main

import (
	\"fmt\"
	\"strconv\"

	\"example.com/lines\"
)

func total(text string) int {
	sum := 0
	for _, line := range lines.Of(text) {
		number, _ := strconv.Atoi(line)
		sum += number
	}
	return sum
}

func main() {
	fmt.Println(total(\"1 2\"))
}
";

const GO_TESTS: &str = "\
package main

import \"testing\"

func TestNothing(t *testing.T) {
	if total(\"\") != 0 {
		t.Fatal(\"not zero\")
	}
}

func TestOne(t *testing.T) {
	if total(\"1\") != 1 {
		t.Fatal(\"not one\")
	}
}

func TestTwo(t *testing.T) {
	if total(\"1 2\") != 3 {
		t.Fatal(\"not three\")
	}
}

func TestAnotherDay(t *testing.T) {
	t.Skip(\"later\")
}
";

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn go_with_a_vendored_module() {
    let vendored = "package lines\n\nimport \"strings\"\n\n// Of splits a text.\nfunc Of(text string) []string {\n\
        \treturn strings.Fields(text)\n}\n";
    let modules = "# example.com/lines v1.0.0\n## explicit\nexample.com/lines\n";
    let project = Project {
        name: "go",
        files: vec![
            (
                "go.mod",
                "module example.com/ledger\n\ngo 1.19\n\nrequire example.com/lines v1.0.0\n"
                    .to_owned(),
            ),
            (".gitignore", "/bin/\n".to_owned()),
            ("main.go", GO.to_owned()),
            ("main_test.go", GO_TESTS.to_owned()),
            ("vendor/modules.txt", modules.to_owned()),
            ("vendor/example.com/lines/lines.go", vendored.to_owned()),
        ],
        toolchain: |_| (),
        prepare: "true",
        install: None,
        build: "go build -o bin/ledger .",
        built: "bin/ledger",
        test: "go test -v ./...",
        read: counts::go,
        counts: counts(3, 0, 1),
        breaks: ("main.go", "\t\tsum += number", "\t\tsum = number"),
        broken: counts(2, 1, 1),
    };
    play(
        &project,
        Setting { toolset: Toolset::Assistant, user: User::Current, door: Door::Server },
    );
}

const C: &str = "\
#include \"ledger.h\"

int total(const int *lines, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += lines[i];
    return sum;
}
";

/// Checks the case that its argument names; 77 is a test that is skipped.
const C_TESTS: &str = "\
#include \"ledger.h\"
#include <stdlib.h>

int main(int count, char **words) {
    const int lines[] = {1, 2};
    switch (count > 1 ? atoi(words[1]) : -1) {
    case 0: return total(lines, 0) != 0;
    case 1: return total(lines, 1) != 1;
    case 2: return total(lines, 2) != 3;
    default: return 77;
    }
}
";

const HEADER: &str = "int total(const int *lines, int count);\n";

const BREAKS: (&str, &str, &str) = ("ledger.c", "        sum += lines[i];", "        sum += 1;");

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn cmake() {
    let lists = "\
cmake_minimum_required(VERSION 3.16)
project(ledger C)
enable_testing()
add_library(ledger ledger.c)
add_executable(check check.c)
target_link_libraries(check ledger)
foreach(case RANGE 3)
  add_test(NAME case-${case} COMMAND check ${case})
  set_tests_properties(case-${case} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
";
    let project = Project {
        name: "cmake",
        files: vec![
            ("CMakeLists.txt", lists.to_owned()),
            (".gitignore", "/build/\n".to_owned()),
            ("ledger.c", C.to_owned()),
            ("ledger.h", HEADER.to_owned()),
            ("check.c", C_TESTS.to_owned()),
        ],
        toolchain: |_| (),
        prepare: "true",
        install: None,
        build: "cmake -S . -B build && cmake --build build",
        built: "build/check",
        test: "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
        read: counts::ctest,
        counts: counts(3, 0, 1),
        breaks: BREAKS,
        broken: counts(2, 1, 1),
    };
    play(&project, Setting { toolset: Toolset::Codex, user: User::Current, door: Door::Stdio });
}

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn make() {
    let makefile = "\
all: build/check

build/check: ledger.c check.c ledger.h
	mkdir -p build
	$(CC) -o $@ ledger.c check.c

test: all
	sh test.sh

.PHONY: all test
";
    let script = "\
passed=0 failed=0 skipped=0
for case in 0 1 2 3; do
    build/check $case
    case $? in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) ;;
    esac
done
echo \"$passed passed, $failed failed, $skipped skipped\"
[ $failed = 0 ]
";
    let project = Project {
        name: "make",
        files: vec![
            ("Makefile", makefile.to_owned()),
            (".gitignore", "/build/\n".to_owned()),
            ("test.sh", script.to_owned()),
            ("ledger.c", C.to_owned()),
            ("ledger.h", HEADER.to_owned()),
            ("check.c", C_TESTS.to_owned()),
        ],
        toolchain: |_| (),
        prepare: "true",
        install: None,
        build: "make",
        built: "build/check",
        test: "make test",
        read: counts::make,
        counts: counts(3, 0, 1),
        breaks: BREAKS,
        broken: counts(2, 1, 1),
    };
    play(
        &project,
        Setting { toolset: Toolset::Assistant, user: User::Ordinary, door: Door::Stdio },
    );
}
