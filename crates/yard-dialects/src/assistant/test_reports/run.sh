# Runs the tests of a project. $1: the runner; $2: the file or folder that the caller named; $3: the project's
# folder; $4: a filter, or nothing; after them the arguments of the runner, as below.
#
# The standard output begins with four lines: the framework, the workspace's folder, the project's folder
# in it, and the command. The output of the framework follows. If a program is missing, the framework is
# `missing`, the command is the name of the program, and nothing is run.
runner=$1 path=$2 folder=$3 filter=$4 root=$PWD
shift 4

begin() { # framework command
    printf '%s\n%s\n%s\n%s\n' "$1" "$root" "${PWD#"$root"}" "$2"
}

fail() { # problem and its object: in place of the framework and the command
    begin "$1" "$2"
    exit 127
}

need() {
    command -v "$1" >/dev/null 2>&1 || fail missing "$1"
}

is_installed() { # program: in a folder node_modules here or above, or on the machine
    dir=$PWD
    while :; do
        [ -e "$dir/node_modules/.bin/$1" ] && return 0
        [ "$dir" = "$root" ] && break
        dir=$(dirname -- "$dir")
    done
    command -v "$1" >/dev/null 2>&1
}

with_reports() { # file pattern, command: runs it, and then prints the reports that it wrote
    pattern=$1
    shift
    stamp=${TMPDIR:-/tmp}/started.$$
    : >"$stamp"
    "$@" 2>&1
    code=$?
    printf '\n:: reports ::\n'
    find . -path "$pattern" -newer "$stamp" -type f -exec cat {} + | head -c 8000000
    exit "$code"
}

[ -e "$path" ] || fail no_such_path "$path"
[ "$runner" = none ] && fail no_project "$path"
cd -- "$folder" || exit
# The file or folder in the project to test; empty for the whole project.
target=$root/$path
[ "$(cd -- "$target" 2>/dev/null && pwd)" = "$PWD" ] && target=

case $runner in
    cargo)
        need cargo
        if command -v cargo-nextest >/dev/null 2>&1; then
            begin cargo "cargo nextest run --no-fail-fast${filter:+ $filter} && cargo test --doc${filter:+ -- $filter}"
            cargo nextest run --no-fail-fast --no-tests=pass --status-level=skip --final-status-level=none \
                --failure-output=immediate --success-output=never ${filter:+"$filter"} 2>&1
            code=$?
            # nextest runs no tests in documentation; cargo fails for a project that cannot have any.
            docs=$(cargo test --doc --no-fail-fast ${filter:+-- "$filter"} 2>&1)
            docs_code=$?
            case $docs in
                *"no library targets found"*) ;;
                *) printf '%s\n' "$docs"; [ "$code" -eq 0 ] && code=$docs_code ;;
            esac
            exit "$code"
        fi
        begin cargo "cargo test --no-fail-fast${filter:+ -- $filter}"
        exec cargo test --no-fail-fast ${filter:+-- "$filter"} 2>&1
        ;;
    go)
        need go
        packages=./...
        [ -d "$target" ] && packages=.${target#"$PWD"}/...
        begin go "go test -json${filter:+ -run $filter} $packages"
        exec go test -json ${filter:+-run "$filter"} "$packages"
        ;;
    python) # run.py; pytest, unittest or either; another Python, or nothing; the command that starts Python
        script=$1 framework=$2 other=$3
        shift 3
        if [ -n "$other" ] && ! command -v "$1" >/dev/null 2>&1; then
            set -- "$other"
        fi
        [ "$1" = python3 ] && ! command -v python3 >/dev/null 2>&1 && set -- python
        need "$1"
        if [ "$framework" != unittest ]; then
            output=$("$@" -c 'import importlib.util as u; raise SystemExit(0 if u.find_spec("pytest") else 96)' 2>&1)
            case $? in
                0) framework=pytest ;;
                96) [ "$framework" = pytest ] && fail missing pytest; framework=unittest ;;
                *) begin broken "$*"; printf '%s\n' "$output"; exit 1 ;;
            esac
        fi
        begin "$framework" "$* -m $framework${target:+ ${target#"$PWD"/}}${filter:+ -k $filter}"
        exec "$@" "$script" "$framework" "$target" "$filter"
        ;;
    tox) # arguments for the tests
        need tox
        begin tox "tox run${1:+ -- $*}"
        exec tox run ${1:+-- "$@"} 2>&1
        ;;
    script) # the program that the script starts, or nothing; the command that runs the script
        program=$1
        shift
        need "$1"
        [ -z "$program" ] || is_installed "$program" || fail missing "$program"
        # The default format of Node's own runner depends on its version.
        export NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }--test-reporter=tap"
        begin npm "$*"
        exec "$@" 2>&1
        ;;
    maven) # the command that starts it
        [ "$1" = sh ] || need "$1"
        set -- "$@" --batch-mode test ${filter:+"-Dtest=*$filter*" -DfailIfNoTests=false}
        begin maven "$*"
        with_reports '*/target/surefire-reports/TEST-*.xml' "$@"
        ;;
    gradle) # the command that starts it
        [ "$1" = sh ] || need "$1"
        # Tests that passed are run again, too.
        set -- "$@" --console=plain --continue cleanTest test ${filter:+--tests "*$filter*"}
        begin gradle "$*"
        with_reports '*/build/test-results/*/TEST-*.xml' "$@"
        ;;
    make)
        need make
        begin make "make test"
        exec make test 2>&1
        ;;
    ctest) # the folder that it is built in
        need cmake
        need ctest
        begin ctest "cmake -S . -B $1 && cmake --build $1 && ctest --output-on-failure${filter:+ -R $filter}"
        [ -f "$1/CMakeCache.txt" ] || cmake -S . -B "$1" 2>&1 || exit
        cmake --build "$1" 2>&1 || exit
        cd -- "$1" || exit
        exec ctest --output-on-failure ${filter:+-R "$filter"} 2>&1
        ;;
esac
